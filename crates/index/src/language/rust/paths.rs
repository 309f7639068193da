//! Reads the imports of a Rust file: modules, uses, paths in the middle of code, included files.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::ImportKind;
use super::super::facts_builder::FactsBuilder;
use super::super::tokens::SourceTokens;
use super::uses::{SEGMENTS_MAX, leaves};
use workspace::RelPath;

/// First segments that are never a file of a project.
const FOREIGN: [&str; 6] = ["std", "core", "alloc", "proc_macro", "test", "Self"];

/// Adds every import, spelled from the file's module.
///
/// A `mod x;` is spelled `name` or, inside inline modules, `inner::name`; if an attribute gives it
/// a file, `name=file`, with the file relative to the directory of this one.
pub(super) fn imports(path: &RelPath, tokens: &SourceTokens<'_>, gather: &mut FactsBuilder<'_>) {
    let mut walk = RustPathReader {
        path,
        tokens,
        gather,
        frames: Vec::new(),
        paths_attributed: Vec::new(),
        aliases: FxHashMap::default(),
        bare: Vec::new(),
        seen: FxHashSet::default(),
    };
    walk.run();
    walk.finish();
}

struct RustPathReader<'w, 'a, 'g> {
    path: &'w RelPath,
    tokens: &'w SourceTokens<'a>,
    gather: &'w mut FactsBuilder<'g>,
    /// The inline modules around: the closing bracket and the name.
    frames: Vec<(usize, &'a str)>,
    /// The files that attributes give to the next module.
    paths_attributed: Vec<&'a str>,
    /// The names that `use` brought in, and their paths.
    aliases: FxHashMap<&'a str, Vec<&'a str>>,
    /// Paths whose first segment is an alias, a module beside this one, or a crate.
    bare: Vec<(Vec<&'a str>, usize)>,
    /// Paths in code that were met before.
    seen: FxHashSet<Vec<&'a str>>,
}

impl<'a> RustPathReader<'_, 'a, '_> {
    fn run(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            while self.frames.pop_if(|(close, _)| at >= *close).is_some() {}
            at = self.step(at);
        }
    }

    fn step(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let word = tokens.word(at);
        match tokens.mark(at) {
            b'#' => {
                self.attribute(at);
                return at + 1;
            }
            b';' | b'{' | b'}' => self.paths_attributed.clear(),
            _ => {}
        }
        match word {
            "" => at + 1,
            "mod" => self.module(at + 1),
            // `use<'a>` is a bound, not a request.
            "use" if tokens.mark(at + 1) != b'<' => self.uses(at),
            "extern" if tokens.word(at + 1) == "crate" => {
                let name = tokens.word(at + 2);
                let alias = if tokens.word(at + 3) == "as" {
                    tokens.word(at + 4)
                } else {
                    name
                };
                if name != "self" && !FOREIGN.contains(&name) {
                    self.aliases.insert(alias, vec![name]);
                    self.request(&[name], ImportKind::Static, at);
                }
                at + 3
            }
            "include" | "include_str" | "include_bytes"
                if tokens.mark(at + 1) == b'!' && tokens.mark(at + 2) == b'(' =>
            {
                if let Some(file) = tokens.string(at + 3) {
                    let offset = self.offset(at);
                    self.gather
                        .import(format!("={file}"), ImportKind::Part, offset);
                }
                at + 3
            }
            _ if tokens.colons(at + 1) => self.path(at),
            _ => at + 1,
        }
    }

    fn attribute(&mut self, at: usize) {
        let tokens = self.tokens;
        let open = at + 1;
        if tokens.mark(open) != b'[' || !matches!(tokens.word(open + 1), "path" | "cfg_attr") {
            return;
        }
        let close = tokens.close(open).unwrap_or(open);
        for inner in open + 1..close {
            if tokens.word(inner) == "path" && tokens.mark(inner + 1) == b'=' {
                self.paths_attributed.extend(tokens.string(inner + 2));
            }
        }
    }

    fn module(&mut self, at: usize) -> usize {
        let name = self.tokens.word(at);
        if name.is_empty() || name.starts_with('$') {
            return at;
        }
        match self.tokens.mark(at + 1) {
            b'{' => {
                let close = self.tokens.close(at + 1).unwrap_or(self.tokens.len());
                if self.frames.len() < SEGMENTS_MAX {
                    self.frames.push((close, name));
                }
            }
            b';' => self.part(name, at),
            _ => {}
        }
        at + 1
    }

    fn part(&mut self, name: &str, at: usize) {
        let mut full = String::new();
        for (_, frame) in &self.frames {
            full.push_str(frame);
            full.push_str("::");
        }
        full.push_str(name);
        let offset = self.offset(at);
        for file in std::mem::take(&mut self.paths_attributed) {
            let mut dir = String::new();
            if !self.frames.is_empty() {
                // Inside inline modules the attribute is relative to the modules' own directory.
                let stem = stem(self.path);
                if !matches!(stem, "mod" | "lib" | "main") {
                    dir = format!("{stem}/");
                }
                for (_, frame) in &self.frames {
                    dir.push_str(frame);
                    dir.push('/');
                }
            }
            let specifier = format!("{full}={dir}{file}");
            self.gather.import(specifier, ImportKind::Part, offset);
        }
        self.gather.import(full, ImportKind::Part, offset);
    }

    fn uses(&mut self, at: usize) -> usize {
        let is_visible = self.is_visible(at);
        let (leaves, end) = leaves(self.tokens, at + 1);
        for leaf in leaves {
            let kind = match (is_visible, leaf.glob) {
                (true, true) => ImportKind::ReexportAll,
                (true, false) => ImportKind::Reexport,
                (false, _) => ImportKind::Static,
            };
            if let Some(alias) = leaf.name() {
                self.aliases
                    .entry(alias)
                    .or_insert_with(|| leaf.path.clone());
            }
            self.as_spelled(leaf.path, kind, leaf.at);
        }
        end
    }

    /// Returns true if the `use` here re-exports its names: it follows `pub` or `pub(…)`.
    fn is_visible(&self, at: usize) -> bool {
        let tokens = self.tokens;
        let Some(before) = at.checked_sub(1) else {
            return false;
        };
        if tokens.word(before) == "pub" {
            return true;
        }
        // `pub(in a::b)` is as long as its path.
        let open = (before.saturating_sub(SEGMENTS_MAX)..before)
            .rev()
            .find(|open| tokens.close(*open) == Some(before));
        tokens.mark(before) == b')'
            && open.is_some_and(|open| open > 0 && tokens.word(open - 1) == "pub")
    }

    /// A path in the middle of code.
    fn path(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let mut path = vec![tokens.word(at)];
        let mut end = at + 1;
        while tokens.colons(end) && path.len() < SEGMENTS_MAX {
            let next = tokens.word(end + 2);
            if next.is_empty() {
                break;
            }
            // The segments after a type are its members.
            if !path.last().is_some_and(|last| is_type(last)) {
                path.push(next);
            }
            end += 3;
        }
        let is_range_of_visibility =
            at > 1 && tokens.word(at - 1) == "in" && tokens.mark(at - 2) == b'(';
        let is_request = path.len() > 1 && !is_type(path[0]) && !FOREIGN.contains(&path[0]);
        if !is_request || is_range_of_visibility {
            return end;
        }
        if self.frames.is_empty() && self.seen.contains(&path) {
            return end;
        }
        if self.frames.is_empty() {
            self.seen.insert(path.clone());
        }
        self.as_spelled(path, ImportKind::Static, at);
        end
    }

    /// Adds a path as spelled in the inline modules around it.
    fn as_spelled(&mut self, path: Vec<&'a str>, kind: ImportKind, at: usize) {
        let mut modules: Vec<&str> = self.frames.iter().map(|(_, name)| *name).collect();
        let mut rest = path.as_slice();
        match rest.first() {
            Some(&("crate" | "$crate")) => {
                let mut full = vec!["crate"];
                full.extend(&rest[1..]);
                return self.request(&full, kind, at);
            }
            Some(&("self" | "super")) => {}
            Some(_) => {
                if matches!(kind, ImportKind::Static) {
                    self.bare.push((path, at));
                } else {
                    self.request(&path, kind, at);
                }
                return;
            }
            None => return,
        }
        let mut ups = Vec::new();
        while let Some(&step @ ("self" | "super")) = rest.first() {
            if step == "super" && modules.pop().is_none() {
                ups.push("super");
            }
            rest = &rest[1..];
        }
        let mut full = if ups.is_empty() { vec!["self"] } else { ups };
        full.extend(modules);
        full.extend(rest);
        // A path inside this file is no import.
        if full.len() > 1 || full[0] == "super" {
            self.request(&full, kind, at);
        }
    }

    /// Expands the paths that begin with a name from a `use`.
    fn finish(mut self) {
        for (path, at) in std::mem::take(&mut self.bare) {
            let full = match self.aliases.get(path[0]) {
                Some(known) if known.len() > 1 || known[0] != path[0] => {
                    let mut full = known.clone();
                    full.extend(&path[1..]);
                    full
                }
                _ => path,
            };
            match full[0] {
                "self" | "super" | "crate" | "$crate" => {
                    // The alias may be from another inline module; its own import is exact.
                    self.frames.clear();
                    if full.len() <= SEGMENTS_MAX {
                        self.as_spelled(full, ImportKind::Static, at);
                    }
                }
                _ => self.request(&full, ImportKind::Static, at),
            }
        }
    }

    fn request(&mut self, path: &[&str], kind: ImportKind, at: usize) {
        if FOREIGN.contains(&path[0]) {
            return;
        }
        let offset = self.offset(at);
        self.gather.import(path.join("::"), kind, offset);
    }

    fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.start as usize)
    }
}

/// Returns true if a segment is spelled like a type, whose file is found by the segments before it.
fn is_type(segment: &str) -> bool {
    segment.starts_with(|first: char| first.is_uppercase())
}

fn stem(path: &RelPath) -> &str {
    let name = path.file_name().unwrap_or_default();
    name.strip_suffix(".rs").unwrap_or(name)
}
