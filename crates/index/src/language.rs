//! The facts of one file, read from its text by the parser of its language.
//!
//! One file for each language, all with the same two functions: [`facts`] (the exports and imports
//! of a text) and [`resolver`] (the files of the project that an import means). Facts depend on the
//! text and the name alone, so they are cached with the file; resolving depends on the whole
//! project and is repeated for every index.

mod facts_builder;
mod tokens;

#[cfg(test)]
mod trial;

mod c;
mod go;
mod java;
mod javascript;
mod other;
mod python;
mod rust;

use serde::{Deserialize, Serialize};

use super::project::{FileId, IndexedProject};
use workspace::RelPath;

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceLanguage {
    /// TypeScript and JavaScript, with and without JSX, and the scripts of Vue, Svelte and Astro.
    JavaScript,
    /// Rust.
    Rust,
    /// Python, stubs among it.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C and C++, headers among it.
    C,
    /// Any other text.
    Other,
}

impl SourceLanguage {
    /// Every language, in the order of this list.
    pub const ALL: [Self; 7] = [
        Self::JavaScript,
        Self::Rust,
        Self::Python,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Other,
    ];

    /// The language of a file of this name.
    #[must_use]
    pub fn of(path: &RelPath) -> Self {
        match path.extension().unwrap_or_default() {
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" | "vue" | "svelte"
            | "astro" => Self::JavaScript,
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl"
            | "ipp" | "tpp" => Self::C,
            _ => Self::Other,
        }
    }
}

/// The exports and imports of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceFacts {
    /// The exports, in the order of the text, no name twice.
    pub(crate) exports: Vec<ExportedName>,
    /// The imports, in the order of the text.
    pub(crate) imports: Vec<ImportRequest>,
    /// The unit the text declares to belong to: a Java or Go package, a C++ namespace.
    pub(crate) package: Option<String>,
}

/// A name that others may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedName {
    /// The name, as others write it.
    pub name: String,
    /// The kind of item it names.
    pub kind: ExportKind,
    /// The line of the definition, from 1.
    pub line: u32,
}

/// The kind of item that an exported name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportKind {
    /// A function, method or macro.
    Function,
    /// A class, struct or union.
    Class,
    /// An interface, trait, alias or other type.
    Type,
    /// An enumeration.
    Enum,
    /// A constant or variable.
    Value,
    /// A namespace, package or module.
    Module,
    /// Something that another file defines.
    Reexport,
    /// The counterpart in a document: a heading, a key, a target.
    Section,
}

/// A request for another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportRequest {
    /// The specifier, as the language spells it: `./user.js`, `crate::user::User`, `..models.user`,
    /// `a.b.C`, `user.h`.
    pub(crate) specifier: String,
    /// The form of the import.
    pub(crate) kind: ImportKind,
    /// The line of the request, from 1.
    pub(crate) line: u32,
}

/// The form of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ImportKind {
    /// By the ordinary statement of the language.
    Static,
    /// For types only.
    Type,
    /// While the program runs: `import()`, `importlib`.
    Dynamic,
    /// `require`, and `import x = require()`.
    Require,
    /// To hand on some of its names; they are in [`SourceFacts::exports`].
    Reexport,
    /// Re-exports all names of the other file; they become exports of this one when it is resolved.
    ReexportAll,
    /// As a part of this file: Rust's `mod x;`.
    Part,
    /// From the places of the system first: C's `#include <…>`.
    System,
}

/// Finds the files that the imports of one language mean. Made once for an index.
pub(crate) trait ImportResolver: Send + Sync {
    /// Returns the files of the project that `import` in the file `from` means; empty if it means
    /// the language's own library or a package from elsewhere.
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId>;
}

/// Reads the facts of a file. Skips a part that cannot be parsed, and reads the rest.
pub(crate) fn facts(language: SourceLanguage, path: &RelPath, text: &str) -> SourceFacts {
    match language {
        SourceLanguage::JavaScript => javascript::facts(path, text),
        SourceLanguage::Rust => rust::facts(path, text),
        SourceLanguage::Python => python::facts(path, text),
        SourceLanguage::Go => go::facts(path, text),
        SourceLanguage::Java => java::facts(path, text),
        SourceLanguage::C => c::facts(path, text),
        SourceLanguage::Other => other::facts(path, text),
    }
}

/// Creates the resolver for imports of `language` in this project.
pub(crate) fn resolver<'p>(
    language: SourceLanguage,
    project: &'p IndexedProject<'p>,
) -> Box<dyn ImportResolver + 'p> {
    match language {
        SourceLanguage::JavaScript => javascript::resolver(project),
        SourceLanguage::Rust => rust::resolver(project),
        SourceLanguage::Python => python::resolver(project),
        SourceLanguage::Go => go::resolver(project),
        SourceLanguage::Java => java::resolver(project),
        SourceLanguage::C => c::resolver(project),
        SourceLanguage::Other => other::resolver(project),
    }
}
