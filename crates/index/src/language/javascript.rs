//! TypeScript and JavaScript: exports and imports by the tree of `oxc`, files by `oxc_resolver`.
//!
//! `statements` reads the top level of a module, `calls` finds `require`, `import()` and CommonJS
//! exports anywhere (and is skipped if a text has none), `typedefs` finds the types that comments
//! define, `components` the scripts of Vue, Svelte and Astro, `resolve` finds the files, through
//! the file system that `view` provides.

mod calls;
mod components;
mod packages;
mod resolve;
mod resolver_files;
mod statements;
mod typedefs;

use std::cell::RefCell;
use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;
use rustc_hash::FxBuildHasher;

use super::{ExportKind, ExportedName, ImportKind, ImportRequest, ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

/// The most lines with syntax errors that are skipped in one text.
const LINES_PASSED_OVER_MAX: usize = 8;

/// Memory for all attempts to parse such a text; no more are made beyond it.
const ATTEMPTS_BYTES_MAX: usize = 8 << 20;
const ATTEMPTS_PER_BYTE: usize = 256;

/// Room for the tree of all but the largest texts, so that the arena need not grow, and be mapped
/// anew, on the way there. Only touched pages take memory.
const ARENA_BYTES: usize = 4 << 20;

thread_local! {
    /// The arena of the syntax trees; each file reuses its memory.
    static ARENA: RefCell<Allocator> = RefCell::new(Allocator::with_capacity(ARENA_BYTES));
}

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let name = path.file_name().unwrap_or_default();
    ARENA.with_borrow_mut(|arena| {
        let facts = match components::ComponentKind::of(name) {
            Some(component) => component.facts(text, |name, script| read(arena, name, script)),
            None => read(arena, name, text),
        };
        arena.reset();
        facts
    })
}

pub(super) fn resolver<'p>(project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(resolve::JavaScriptModules::new(project))
}

fn read(arena: &Allocator, name: &str, text: &str) -> SourceFacts {
    let kind = source_type(name);
    let parse = |text| {
        let options = ParseOptions {
            allow_return_outside_function: true,
            preserve_parens: false,
            enable_ident_hashes: false,
            ..ParseOptions::default()
        };
        Parser::new(arena, text, kind).with_options(options).parse()
    };
    let parsed = parse(text);
    if !parsed.panicked {
        return JavaScriptFacts::of(text, name, &parsed.program);
    }
    // The parser gives up at a line it cannot recover from, but the lines around it still count.
    let mut mended = text.to_owned();
    let mut failed = parsed;
    for _ in 0..LINES_PASSED_OVER_MAX {
        if arena.used_bytes() > ATTEMPTS_BYTES_MAX.max(ATTEMPTS_PER_BYTE * text.len()) {
            break;
        }
        let place = failed.diagnostics.iter().next();
        let offset = place.and_then(|first| first.labels.first());
        let offset = offset.map_or(0, |label| label.offset() as usize);
        blank_line(&mut mended, offset);
        let again = parse(arena.alloc_str(&mended));
        if !again.panicked {
            return JavaScriptFacts::of(&mended, name, &again.program);
        }
        failed = again;
    }
    SourceFacts::default()
}

/// Treats a file as a module unless it is a script by its name; allows JSX wherever possible.
fn source_type(name: &str) -> SourceType {
    match SourceType::from_path(name) {
        Ok(kind) if kind.is_typescript() => kind,
        _ => SourceType::unambiguous().with_jsx(true),
    }
}

/// Replaces the line at `offset` by spaces, so that all other offsets stay.
fn blank_line(text: &mut String, offset: usize) {
    let offset = text.floor_char_boundary(offset.min(text.len().saturating_sub(1)));
    // The error may point at a line that was blanked before, or at the empty last line: then blank
    // the one above.
    let is_blank = |line: &str| line.trim().is_empty();
    let mut start = text[..offset].rfind('\n').map_or(0, |cut| cut + 1);
    let mut end = text[offset..]
        .find('\n')
        .map_or(text.len(), |cut| offset + cut);
    while is_blank(&text[start..end]) && start > 0 {
        end = start - 1;
        start = text[..end].rfind('\n').map_or(0, |cut| cut + 1);
    }
    text.replace_range(start..end, &" ".repeat(end - start));
}

/// The facts found so far, with offsets in place of lines.
#[derive(Default)]
struct JavaScriptFacts {
    exports: Vec<(u32, String, ExportKind)>,
    imports: Vec<(u32, String, ImportKind)>,
    /// True if there is an `import` or `export` statement.
    is_module: bool,
}

impl JavaScriptFacts {
    fn of(text: &str, name: &str, program: &Program<'_>) -> SourceFacts {
        let mut reading = Self::default();
        statements::read(&mut reading, program, is_declaration(name));
        reading.references(text, program);
        if !program.source_type.is_typescript() {
            typedefs::read(&mut reading, text, program);
        }
        calls::read(&mut reading, text, program);
        reading.finish(text)
    }

    fn export(&mut self, offset: u32, name: &str, kind: ExportKind) {
        self.exports.push((offset, name.to_owned(), kind));
    }

    fn import(&mut self, offset: u32, specifier: &str, kind: ImportKind) {
        if !specifier.is_empty() {
            self.imports.push((offset, specifier.to_owned(), kind));
        }
    }

    /// Reads `/// <reference path="…" />`, which comes before everything else.
    fn references(&mut self, text: &str, program: &Program<'_>) {
        let first = program.body.first().map_or(u32::MAX, |first| {
            use oxc_span::GetSpan as _;
            first.span().start
        });
        for comment in &program.comments {
            if comment.span.start > first {
                break;
            }
            let line = comment.span.source_text(text);
            let Some(tag) = line.strip_prefix("///").map(str::trim_start) else {
                continue;
            };
            let path = tag
                .strip_prefix("<reference")
                .and_then(|tag| tag.split_once("path="))
                .and_then(|(_, value)| value.split(['"', '\'']).nth(1));
            if let Some(path) = path {
                let specifier = match path.starts_with('.') {
                    true => path.to_owned(),
                    false => format!("./{path}"),
                };
                self.import(comment.span.start, &specifier, ImportKind::Type);
            }
        }
    }

    fn finish(mut self, text: &str) -> SourceFacts {
        let mut lines = LineCounter::new(text);
        self.imports.sort_by_key(|import| import.0);
        self.exports.sort_by_key(|export| export.0);
        let imports = self
            .imports
            .into_iter()
            .map(|(offset, specifier, kind)| ImportRequest {
                line: lines.at(offset),
                specifier,
                kind,
            });
        let imports = imports.collect();
        let mut lines = LineCounter::new(text);
        let mut known: HashSet<&str, FxBuildHasher> = HashSet::default();
        let mut is_first = Vec::with_capacity(self.exports.len());
        // Overloads, and a type beside a value of the same name, are one name to others.
        for (_, name, _) in &self.exports {
            is_first.push(known.insert(name));
        }
        drop(known);
        let exports = self
            .exports
            .into_iter()
            .zip(is_first)
            .filter(|(_, is_first)| *is_first)
            .map(|((offset, name, kind), _)| ExportedName {
                line: lines.at(offset),
                name,
                kind,
            });
        SourceFacts {
            exports: exports.collect(),
            imports,
            package: None,
        }
    }
}

/// Returns true if the file only declares names that are defined elsewhere.
fn is_declaration(name: &str) -> bool {
    [".d.ts", ".d.mts", ".d.cts"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Counts lines on the way from one offset to a later one.
struct LineCounter<'t> {
    text: &'t [u8],
    offset: usize,
    line: u32,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            offset: 0,
            line: 1,
        }
    }

    fn at(&mut self, offset: u32) -> u32 {
        let offset = (offset as usize).clamp(self.offset, self.text.len());
        let between = &self.text[self.offset..offset];
        let passed = memchr::memchr_iter(b'\n', between).count();
        self.line = self
            .line
            .saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.offset = offset;
        self.line
    }
}
