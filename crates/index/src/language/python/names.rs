//! Reads the exports of a Python file, and its imports.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::facts_builder::FactsBuilder;
use super::super::{ExportKind, ImportKind, SourceFacts};
use super::lines::{LogicalLine, each};
use workspace::RelPath;

/// Statements that hold other statements without hiding their names.
const TRANSPARENT: [&str; 9] = [
    "if", "elif", "else", "try", "except", "finally", "with", "for", "while",
];

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let mut reading = PythonReader {
        is_package: matches!(path.file_name(), Some("__init__.py" | "__init__.pyi")),
        defined: Vec::new(),
        imported: Vec::new(),
        requests: Vec::new(),
        all: DunderAll::Absent,
        all_names: Vec::new(),
        body: None,
        types_only: None,
    };
    each(text, |line| reading.line(line));
    reading.finish(text)
}

/// The state of `__all__`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DunderAll {
    Absent,
    /// Every part of it was a list of strings.
    Literal,
    /// Code computes some part of it.
    Made,
}

/// A name that an import brought to the top level.
struct ImportedName<'a> {
    name: &'a str,
    offset: usize,
    is_handed_on: bool,
}

struct PythonImport {
    specifier: String,
    kind: ImportKind,
    offset: usize,
}

struct PythonReader<'a> {
    is_package: bool,
    defined: Vec<(&'a str, ExportKind, usize)>,
    imported: Vec<ImportedName<'a>>,
    requests: Vec<PythonImport>,
    all: DunderAll,
    all_names: Vec<(&'a str, usize)>,
    /// The indent of the current function or class.
    body: Option<usize>,
    /// The indent of the `if TYPE_CHECKING:` that is being read.
    types_only: Option<usize>,
}

impl<'a> PythonReader<'a> {
    fn line(&mut self, line: &LogicalLine<'_, 'a>) {
        if self.body.is_some_and(|indent| line.indent <= indent) {
            self.body = None;
        }
        if self.types_only.is_some_and(|indent| line.indent <= indent) {
            self.types_only = None;
        }
        self.dynamic(line);
        let mut from = 0;
        while from < line.len() {
            let (end, next) = statement(line, from);
            self.statement(&line.part(from, end), end < next && line.mark(end) == b':');
            from = next;
        }
    }

    /// Reads one statement, or the head of a compound one.
    fn statement(&mut self, line: &LogicalLine<'_, 'a>, is_head: bool) {
        let word = line.word(0);
        match word {
            "import" => return self.module_import(line),
            "from" => return self.names_import(line),
            _ => {}
        }
        if self.body.is_some() {
            return;
        }
        let definition = usize::from(word == "async");
        match line.word(definition) {
            "def" => {
                self.define(line, definition + 1, ExportKind::Function);
                self.body = Some(line.indent);
            }
            "class" => {
                self.define(line, 1, ExportKind::Class);
                self.body = Some(line.indent);
            }
            "if" if is_head && (1..line.len()).any(|at| line.word(at) == "TYPE_CHECKING") => {
                let is_negated = line.word(1) == "not";
                self.types_only = self.types_only.or((!is_negated).then_some(line.indent));
            }
            "type" if !line.word(1).is_empty() => self.define(line, 1, ExportKind::Type),
            "__all__" => self.list(line),
            _ if is_head => {}
            _ => self.assignment(line),
        }
    }

    fn define(&mut self, line: &LogicalLine<'_, 'a>, at: usize, kind: ExportKind) {
        let name = line.word(at);
        if !name.is_empty() {
            self.defined.push((name, kind, line.offset(at)));
        }
    }

    fn module_import(&mut self, line: &LogicalLine<'_, 'a>) {
        let mut at = 1;
        while at < line.len() {
            let offset = line.offset(at);
            let (module, next) = dotted(line, at);
            let first = line.word(at);
            at = next;
            if module.is_empty() {
                return;
            }
            let is_dotted = module.len() > first.len();
            let mut name = first;
            if line.word(at) == "as" {
                name = line.word(at + 1);
                at += 2;
                self.bring(name, offset, name == module);
            } else if !is_dotted {
                self.bring(name, offset, false);
            }
            self.ask(module, ImportKind::Static, offset);
            at += 1;
        }
    }

    fn names_import(&mut self, line: &LogicalLine<'_, 'a>) {
        let (module, mut at) = dotted(line, 1);
        if line.word(at) != "import" || module.is_empty() {
            return;
        }
        at += 1;
        let is_relative = module.starts_with('.');
        let separator = if module.ends_with('.') { "" } else { "." };
        while at < line.len() {
            let name = line.word(at);
            let offset = line.offset(at);
            if line.mark(at) == b'*' {
                let is_handed_on = self.body.is_none() && (self.is_package || is_relative);
                let kind = if is_handed_on {
                    ImportKind::ReexportAll
                } else {
                    ImportKind::Static
                };
                self.ask(format!("{module}{separator}*"), kind, offset);
            } else if !name.is_empty() {
                let mut alias = name;
                let mut is_handed_on = self.is_package && is_relative;
                if line.word(at + 1) == "as" {
                    alias = line.word(at + 2);
                    is_handed_on |= alias == name;
                    at += 2;
                }
                is_handed_on &= self.body.is_none();
                self.bring(alias, offset, is_handed_on);
                let kind = if is_handed_on {
                    ImportKind::Reexport
                } else {
                    ImportKind::Static
                };
                self.ask(format!("{module}{separator}{name}"), kind, offset);
            }
            at += 1;
        }
    }

    fn bring(&mut self, name: &'a str, offset: usize, is_handed_on: bool) {
        if self.body.is_none() && !name.is_empty() {
            self.imported.push(ImportedName {
                name,
                offset,
                is_handed_on,
            });
        }
    }

    fn ask(&mut self, specifier: String, kind: ImportKind, offset: usize) {
        let kind = match kind {
            ImportKind::Static if self.types_only.is_some() => ImportKind::Type,
            kind => kind,
        };
        self.requests.push(PythonImport {
            specifier,
            kind,
            offset,
        });
    }

    /// `import_module("a.b")` anywhere in a line.
    fn dynamic(&mut self, line: &LogicalLine<'_, 'a>) {
        for at in 0..line.len() {
            if matches!(line.word(at), "import_module" | "__import__") && line.mark(at + 1) == b'('
            {
                let is_whole = matches!(line.mark(at + 3), b')' | b',');
                if let Some(module) = line.string(at + 2).filter(|_| is_whole) {
                    self.ask(module.to_owned(), ImportKind::Dynamic, line.offset(at + 2));
                }
            }
        }
    }

    /// Reads a statement about `__all__`: an assignment, an addition, or another use.
    fn list(&mut self, line: &LogicalLine<'_, 'a>) {
        let from = match (line.mark(1), line.word(2)) {
            (b'.', "extend" | "append") if line.mark(3) == b'(' => 3,
            (b'+', _) if line.mark(2) == b'=' => 3,
            (b'=', _) if line.mark(2) != b'=' => 2,
            (b':', _) => match (2..line.len()).find(|at| line.mark(*at) == b'=') {
                Some(equals) => equals + 1,
                None => return,
            },
            _ => return,
        };
        if self.all == DunderAll::Absent {
            self.all = DunderAll::Literal;
        }
        // `[…] + other.__all__`: each part is a list of strings, or made by code.
        let mut part = from;
        while part < line.len() {
            let mut end = part;
            while end < line.len() && line.mark(end) != b'+' {
                end = line.after(end);
            }
            self.part_of_list(&line.part(part, end));
            part = end + 1;
        }
    }

    fn part_of_list(&mut self, part: &LogicalLine<'_, 'a>) {
        let is_sign = |at: usize| matches!(part.mark(at), b'[' | b']' | b'(' | b')' | b',');
        if (0..part.len()).all(|at| is_sign(at) || part.string(at).is_some()) {
            let strings =
                (0..part.len()).filter_map(|at| Some((part.string(at)?, part.offset(at))));
            self.all_names.extend(strings);
        } else {
            self.all = DunderAll::Made;
        }
    }

    /// Adds the names that a statement assigns, if any.
    fn assignment(&mut self, line: &LogicalLine<'_, 'a>) {
        let first = line.word(0);
        if is_keyword(first) {
            return;
        }
        if !first.is_empty() && line.mark(1) == b':' && line.mark(2) != b'=' {
            return self.define(line, 0, ExportKind::Value);
        }
        let mut from = 0;
        let mut at = 0;
        while at < line.len() {
            match line.mark(at) {
                b'(' | b'[' | b'{' => at = line.after(at),
                b'=' if line.mark(at + 1) == b'=' => at += 2,
                b'=' => {
                    // `+=` and its kin change an existing name; `<=` compares.
                    let before = if at > 0 { line.mark(at - 1) } else { 0 };
                    if !matches!(before, 0 | b')' | b']' | b',') {
                        return;
                    }
                    self.targets(&line.part(from, at));
                    at += 1;
                    from = at;
                }
                // Parameters and their values follow.
                _ if line.word(at) == "lambda" => return,
                _ => at += 1,
            }
        }
    }

    /// The plain names among the targets of an assignment.
    fn targets(&mut self, line: &LogicalLine<'_, 'a>) {
        let mut at = 0;
        while at < line.len() {
            let name = line.word(at);
            // The type of `a.b: int` follows.
            if line.mark(at) == b':' {
                return;
            }
            if name.is_empty() {
                at += 1;
                continue;
            }
            let start = at;
            at += 1;
            while matches!(line.mark(at), b'.' | b'[' | b'(') {
                at = match line.mark(at) {
                    b'.' => at + 2,
                    _ => line.after(at),
                };
            }
            if at == start + 1 && !is_keyword(name) {
                self.defined
                    .push((name, ExportKind::Value, line.offset(start)));
            }
        }
    }

    fn finish(self, text: &str) -> SourceFacts {
        let mut gather = FactsBuilder::new(text);
        if self.all == DunderAll::Absent {
            self.public(&mut gather);
        } else {
            self.listed(&mut gather);
            if self.all == DunderAll::Made {
                self.public(&mut gather);
            }
        }
        for request in self.requests {
            let kind = match request.kind {
                // A literal `__all__` already lists the re-exported names.
                ImportKind::ReexportAll if self.all == DunderAll::Literal => ImportKind::Static,
                kind => kind,
            };
            gather.import(request.specifier, kind, request.offset);
        }
        gather.finish(None)
    }

    /// The names that are public by their spelling.
    fn public(&self, gather: &mut FactsBuilder<'_>) {
        for (name, kind, offset) in &self.defined {
            if !name.starts_with('_') {
                gather.export(name, *kind, *offset);
            }
        }
        for imported in &self.imported {
            if imported.is_handed_on && !imported.name.starts_with('_') {
                gather.export(imported.name, ExportKind::Reexport, imported.offset);
            }
        }
    }

    /// Exports the names in `__all__`, each with the place of its definition.
    fn listed(&self, gather: &mut FactsBuilder<'_>) {
        let mut places = FxHashMap::default();
        for (name, kind, offset) in &self.defined {
            places.entry(*name).or_insert((*kind, *offset));
        }
        for imported in &self.imported {
            places
                .entry(imported.name)
                .or_insert((ExportKind::Reexport, imported.offset));
        }
        let mut seen = FxHashSet::default();
        for (name, offset) in &self.all_names {
            if seen.insert(*name) {
                let (kind, offset) = places
                    .get(name)
                    .copied()
                    .unwrap_or((ExportKind::Value, *offset));
                gather.export(name, kind, offset);
            }
        }
    }
}

/// Returns the end of the statement that begins at `from`, and the beginning of the next one.
fn statement(line: &LogicalLine<'_, '_>, from: usize) -> (usize, usize) {
    let word = line.word(from);
    let first = if word == "async" {
        line.word(from + 1)
    } else {
        word
    };
    // `match` and `case` are ordinary names, unless their line ends in a colon.
    let is_soft = matches!(first, "match" | "case") && line.mark(line.len() - 1) == b':';
    let holds = is_soft || matches!(first, "def" | "class") || TRANSPARENT.contains(&first);
    let mut at = from;
    let mut lambdas = 0_usize;
    while at < line.len() {
        match line.mark(at) {
            b'(' | b'[' | b'{' => {
                at = line.after(at);
                continue;
            }
            b';' => return (at, at + 1),
            b':' if lambdas > 0 => lambdas -= 1,
            b':' if holds && line.mark(at + 1) != b'=' => return (at, at + 1),
            _ if line.word(at) == "lambda" => lambdas += 1,
            _ => {}
        }
        at += 1;
    }
    (line.len(), line.len())
}

/// A module's name with its dots, and the place after it.
fn dotted(line: &LogicalLine<'_, '_>, from: usize) -> (String, usize) {
    let mut name = String::new();
    let mut at = from;
    let mut wants_word = true;
    while at < line.len() {
        let word = line.word(at);
        if line.mark(at) == b'.' {
            name.push('.');
            wants_word = true;
        } else if wants_word && !word.is_empty() && word != "import" {
            name.push_str(word);
            wants_word = false;
        } else {
            break;
        }
        at += 1;
    }
    (name, at)
}

/// Returns true for words that may come before an `=` without being its target.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "assert"
            | "await"
            | "del"
            | "global"
            | "lambda"
            | "nonlocal"
            | "raise"
            | "return"
            | "yield"
            | "not"
            | "in"
            | "is"
            | "and"
            | "or"
            | "if"
            | "else"
    )
}
