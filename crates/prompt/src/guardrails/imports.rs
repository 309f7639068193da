//! Finds the imports of a program, and checks them against the question's rules.

use super::Guardrails;
use super::syntax::{GuardedSyntax, ModuleStyle};
use crate::{fence, text};

/// One import of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerImport {
    pub module: ImportedModule,
    /// Both from 1.
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImportedModule {
    /// Its name as the language writes it: `react/jsx-runtime`, `serde::de`, `os.path`.
    Named(String),
    /// Everything a module has: `use std::*`.
    Everything(String),
    /// A path that needs no import: `std::process::exit(1)`. It can only be blocked.
    Path(String),
    /// Only running the program would tell: `import(name)`.
    Computed,
}

/// Why an import is refused, worded to follow "It".
pub(super) fn refused(
    rails: &Guardrails,
    syntax: GuardedSyntax,
    import: &AnswerImport,
) -> Option<String> {
    let modules = syntax.modules()?;
    let place = format!("line {}, column {}", import.line, import.column);
    let (name, whole) = match &import.module {
        ImportedModule::Computed => {
            let limits = rails.allowed_imports.is_some() || !rails.blocked_imports.is_empty();
            return limits.then(|| {
                format!("imports a module at {place} whose name is computed and cannot be checked")
            });
        }
        ImportedModule::Named(name) | ImportedModule::Path(name) => (name, false),
        ImportedModule::Everything(name) => (name, true),
    };
    let shown = fence::span(&text::shorten(name));
    let verb = match import.module {
        ImportedModule::Path(_) => "uses",
        _ => "imports",
    };
    let blocks = |pattern: &&String| {
        covers(pattern, name, modules) || (whole && covers(name, pattern, modules))
    };
    if let Some(pattern) = rails.blocked_imports.iter().find(blocks) {
        let pattern = fence::span(pattern);
        return Some(format!(
            "{verb} {shown} at {place}, and {pattern} is blocked"
        ));
    }
    let allowed = rails.allowed_imports.as_ref()?;
    let is_fine = matches!(import.module, ImportedModule::Path(_))
        || is_own(name, modules)
        || allowed.iter().any(|pattern| covers(pattern, name, modules));
    (!is_fine).then(|| {
        let instead = match allowed.is_empty() {
            true => "nothing may be imported".to_owned(),
            false => format!("only {} may be imported", super::listed(allowed)),
        };
        format!("{verb} {shown} at {place}, but {instead}")
    })
}

/// True for a module of the same project, which is as trusted as the answer.
fn is_own(name: &str, modules: ModuleStyle) -> bool {
    match modules {
        ModuleStyle::JavaScript => name.starts_with("./") || name.starts_with("../") || name == ".",
        ModuleStyle::Rust => ["crate", "self", "super"]
            .iter()
            .any(|own| covers(own, name, modules)),
        ModuleStyle::Python => name.starts_with('.'),
    }
}

/// True if a pattern covers a module. A pattern means a module and everything in it; `*` in it
/// matches any characters.
fn covers(pattern: &str, name: &str, modules: ModuleStyle) -> bool {
    let (pattern, name) = (bare(pattern, modules), bare(name, modules));
    if pattern.contains('*') {
        return matches_stars(pattern.as_bytes(), name.as_bytes());
    }
    let separator = match modules {
        ModuleStyle::JavaScript => "/",
        ModuleStyle::Rust => "::",
        ModuleStyle::Python => ".",
    };
    let rest = name.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(separator))
}

/// Spellings of one module: `node:fs` is `fs`, `::serde` is `serde`.
fn bare(name: &str, modules: ModuleStyle) -> &str {
    let prefix = match modules {
        ModuleStyle::JavaScript => "node:",
        ModuleStyle::Rust => "::",
        ModuleStyle::Python => return name,
    };
    name.strip_prefix(prefix).unwrap_or(name)
}

/// Linear: after a star only the latest one is ever tried again.
fn matches_stars(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if *byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, from)) = star else {
                    return false;
                };
                (p, n) = (after, from + 1);
                star = Some((after, from + 1));
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::{ModuleStyle, covers};

    #[test]
    fn a_pattern_means_a_module_and_what_is_in_it() {
        for (pattern, name, modules, expected) in [
            ("react", "react", ModuleStyle::JavaScript, true),
            ("react", "react/jsx-runtime", ModuleStyle::JavaScript, true),
            ("react", "react-dom", ModuleStyle::JavaScript, false),
            ("fs", "node:fs/promises", ModuleStyle::JavaScript, true),
            ("node:fs", "fs", ModuleStyle::JavaScript, true),
            ("@acme/*", "@acme/ui/button", ModuleStyle::JavaScript, true),
            ("@acme/*", "@acmes/ui", ModuleStyle::JavaScript, false),
            ("*-loader", "css-loader", ModuleStyle::JavaScript, true),
            ("a*b*c", "abbbbbbbbd", ModuleStyle::JavaScript, false),
            ("*", "", ModuleStyle::JavaScript, true),
            ("serde", "serde::de::Visitor", ModuleStyle::Rust, true),
            ("serde", "serde_json::Value", ModuleStyle::Rust, false),
            ("serde", "::serde", ModuleStyle::Rust, true),
            ("os", "os.path", ModuleStyle::Python, true),
            ("os", "ossaudiodev", ModuleStyle::Python, false),
        ] {
            assert_eq!(covers(pattern, name, modules), expected, "{pattern} {name}");
        }
    }
}
