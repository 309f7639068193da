//! Files of the project as context of a question: which ones, as much as fits, and what was left out.
//!
//! Whoever answers is told about everything that is missing: a file that was cut says how much of it
//! is there, and files that were left out are listed with their reason.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};
use prompt::nearest;
use workspace::{
    Change, ChangeSet, ErrorKind, Kind as PathKind, Limits, Policy, PolicySettings, RelPath, Root,
    WalkOptions, Workspace,
};

use crate::error::{Error, Kind};
use crate::fields::Text;
use crate::manifest::Overflow;

/// Most files one question may have as context.
pub(crate) const CONTEXT_FILES_MAX: usize = 1000;
/// What is left of a budget is not worth the beginning of a file below this.
const CUT_TOKENS_MIN: usize = 50;
/// Most left out files that are listed by name.
const LISTED_MAX: usize = 20;
/// A token is three and a half bytes: bytes times this, over the next.
const TOKENS_PER_BYTES: (usize, usize) = (2, 7);

/// Where the policy is.
const POLICY_HINT: &str =
    "`read_allow` and `read_deny` under `[agent.policy]` of `drawloom.toml` say what may be read";

/// Ours; only a pattern that names it means what is in it.
const HOME: &str = ".drawloom/";

/// How many tokens a text is, estimated.
pub(crate) fn tokens(text: &str) -> usize {
    (text.len() * TOKENS_PER_BYTES.0).div_ceil(TOKENS_PER_BYTES.1)
}

/// The project as it will be, under the policy that keeps secrets back.
pub(crate) struct Shelf {
    workspace: Workspace,
    pending: ChangeSet,
}

/// What a step says about its files.
pub(crate) struct Wanted {
    /// Paths and patterns, rendered, with the places they stand at.
    pub(crate) patterns: Vec<Text>,
    /// For files; what the step's own texts need is taken off already.
    pub(crate) tokens_left: usize,
    pub(crate) tokens_max: usize,
    pub(crate) overflow: Overflow,
}

/// An error about a pattern, for whoever knows the file it stands in.
pub(crate) struct Refused {
    pub(crate) error: Error,
    pub(crate) pattern: Text,
}

/// What there is to say, a text for each file and one for what is missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Gathered {
    pub(crate) texts: Vec<String>,
    notes: Vec<String>,
}

impl Shelf {
    pub(crate) fn open(
        root: &Root,
        pending: ChangeSet,
        policy: &PolicySettings,
    ) -> Result<Self, Error> {
        let policy = Policy::new(policy)?;
        let workspace = Workspace::open(root.path(), policy, Limits::default())?;
        Ok(Self { workspace, pending })
    }

    /// The files there will be, without what git ignores and what the policy refuses.
    fn files(&self) -> Result<BTreeSet<RelPath>, Error> {
        let tree = self.workspace.walk(&WalkOptions::new(RelPath::root()))?;
        let files = tree.entries.into_iter();
        let files = files.filter(|entry| entry.kind == PathKind::File);
        let mut files: BTreeSet<RelPath> = files.map(|entry| entry.path).collect();
        for (path, change) in self.pending.iter() {
            match change {
                Change::Write { .. } if self.workspace.policy().check_read(path).is_ok() => {
                    files.insert(path.clone());
                }
                Change::Delete => {
                    files.remove(path);
                }
                _ => {}
            }
        }
        Ok(files)
    }

    /// The text of a file, or why it cannot be context.
    fn read(&self, path: &RelPath) -> Result<String, Unreadable> {
        let read = self.workspace.read_staged(&self.pending, path);
        let bytes = read.map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::Limit => Kind::Limit,
                ErrorKind::Denied => Kind::Path,
                _ => Kind::Io,
            };
            let instead = error.denial().map(|_| POLICY_HINT);
            Unreadable {
                instead,
                ..Unreadable::new(kind, error.to_string())
            }
        })?;
        let Some(bytes) = bytes else {
            let why = format!("`{path}` does not exist");
            return Err(Unreadable::new(Kind::NotFound, why));
        };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => {
                let why = format!("`{path}` is not text");
                Err(Unreadable::new(Kind::Path, why))
            }
        }
    }

    /// Something of that name beside it, for a file that is not there.
    fn near(&self, path: &RelPath) -> Option<String> {
        let dir = path.parent().unwrap_or_else(RelPath::root);
        let beside = self.workspace.list(&dir).ok()?.entries;
        let names = beside.iter().map(|entry| entry.path.as_str());
        nearest(path.as_str(), names).map(str::to_owned)
    }
}

/// The files that the patterns mean, each once, in the order of the patterns and then of their paths.
/// Files that are only `expected` are among them.
pub(crate) fn find(
    shelf: &Shelf,
    patterns: &[Text],
    expected: &BTreeSet<RelPath>,
) -> Result<Vec<Found>, Refused> {
    let mut found: Vec<Found> = Vec::new();
    let mut all: Option<BTreeSet<RelPath>> = None;
    for pattern in patterns {
        let refused = |error| Refused {
            error,
            pattern: pattern.clone(),
        };
        let written = pattern.text.trim();
        let written = written.strip_prefix("./").unwrap_or(written);
        let named = !written.contains(['*', '?', '[', '{']);
        let paths = match named {
            true => vec![RelPath::parse(written).map_err(|error| refused(error.into()))?],
            false => {
                let matcher = matcher(written).map_err(refused)?;
                let every = match &mut all {
                    Some(every) => every,
                    none => {
                        let mut every = shelf.files().map_err(refused)?;
                        every.extend(expected.iter().cloned());
                        none.insert(every)
                    }
                };
                let is_meant =
                    |path: &&RelPath| written.starts_with(HOME) || !path.as_str().starts_with(HOME);
                let matching = every.iter().filter(is_meant);
                let matching = matching.filter(|path| matcher.is_match(path.as_str()));
                matching.cloned().collect()
            }
        };
        if paths.is_empty() {
            found.push(Found::Nothing(written.to_owned()));
        }
        for path in paths {
            if !found.iter().any(|known| known.path() == Some(&path)) {
                found.push(Found::File {
                    path,
                    named: named.then(|| pattern.clone()),
                });
            }
        }
        if found.len() > CONTEXT_FILES_MAX {
            let message = format!(
                "the patterns match more than CONTEXT_FILES_MAX = {CONTEXT_FILES_MAX} files"
            );
            let error = Error::new(Kind::Limit, message).hint("use narrower patterns");
            return Err(refused(error));
        }
    }
    Ok(found)
}

/// What a pattern came to.
#[derive(Debug)]
pub(crate) enum Found {
    File {
        path: RelPath,
        /// The pattern, if it is the path itself: then the file must be there and readable.
        named: Option<Text>,
    },
    /// A pattern that matches no file.
    Nothing(String),
}

impl Found {
    pub(crate) fn path(&self) -> Option<&RelPath> {
        match self {
            Found::File { path, .. } => Some(path),
            Found::Nothing(_) => None,
        }
    }
}

/// Reads files until the budget is used up, and says what is missing.
pub(crate) fn gather(shelf: &Shelf, found: &[Found], wanted: &Wanted) -> Result<Gathered, Refused> {
    let mut gathered = Gathered::default();
    let mut left = wanted.tokens_left;
    let mut over: Vec<(String, usize)> = Vec::new();
    for entry in found {
        let (path, named) = match entry {
            Found::File { path, named } => (path, named),
            Found::Nothing(pattern) => {
                gathered.notes.push(format!("No file matches `{pattern}`."));
                continue;
            }
        };
        let text = match (shelf.read(path), named) {
            (Ok(text), _) => text,
            (Err(unreadable), None) => {
                gathered
                    .notes
                    .push(format!("Left out: {}.", unreadable.why));
                continue;
            }
            (Err(unreadable), Some(pattern)) => {
                let pattern = pattern.clone();
                let error = unreadable.error(path, shelf);
                return Err(Refused { error, pattern });
            }
        };
        let needs = tokens(&text);
        if needs <= left {
            left -= needs;
            gathered.texts.push(whole(path, &text));
        } else {
            if wanted.overflow == Overflow::Error {
                return Err(too_much(shelf, found, wanted));
            }
            match cut(path, &text, left) {
                Some(part) => {
                    gathered.texts.push(part);
                    left = 0;
                }
                None => over.push((path.to_string(), needs)),
            }
        }
    }
    gathered.notes.extend(left_out(&over, wanted.tokens_max));
    if !gathered.notes.is_empty() {
        gathered.texts.push(gathered.notes.join("\n"));
    }
    Ok(gathered)
}

/// `overflow: error`: everything that was wanted, with what it would need.
fn too_much(shelf: &Shelf, found: &[Found], wanted: &Wanted) -> Refused {
    let sizes = found.iter().filter_map(Found::path).filter_map(|path| {
        let text = shelf.read(path).ok()?;
        Some(tokens(&text))
    });
    let sizes: Vec<usize> = sizes.collect();
    let used = wanted.tokens_max - wanted.tokens_left;
    let message = format!(
        "the context is about {} tokens in {} files, more than `maxTokens` = {}",
        used + sizes.iter().sum::<usize>(),
        sizes.len(),
        wanted.tokens_max
    );
    let error = Error::new(Kind::Limit, message)
        .hint("name fewer files, raise `maxTokens`, or use `overflow: truncate`");
    let pattern = wanted.patterns.first().cloned().unwrap_or_default();
    Refused { error, pattern }
}

fn left_out(over: &[(String, usize)], tokens_max: usize) -> Option<String> {
    if over.is_empty() {
        return None;
    }
    let mut names: Vec<String> = over
        .iter()
        .take(LISTED_MAX)
        .map(|(path, tokens)| format!("`{path}` (about {tokens} tokens)"))
        .collect();
    let more = over.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    Some(format!(
        "Left out, because the context is limited to {tokens_max} tokens: {}.",
        names.join(", ")
    ))
}

fn whole(path: &RelPath, text: &str) -> String {
    format!("File `{path}`:\n\n{}", fenced(path, text))
}

/// As many whole lines from the beginning as fit, labelled; `None` when that says too little.
fn cut(path: &RelPath, text: &str, left: usize) -> Option<String> {
    if left < CUT_TOKENS_MIN {
        return None;
    }
    let bytes_max = left * TOKENS_PER_BYTES.1 / TOKENS_PER_BYTES.0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if end + line.len() > bytes_max {
            break;
        }
        end += line.len();
    }
    let part = text.get(..end).filter(|part| !part.trim().is_empty())?;
    let lines = (part.lines().count(), text.lines().count());
    Some(format!(
        "File `{path}`, cut to fit: the first {} of {} lines, {end} of {} bytes:\n\n{}",
        lines.0,
        lines.1,
        text.len(),
        fenced(path, part)
    ))
}

fn fenced(path: &RelPath, text: &str) -> String {
    let language = path.extension().unwrap_or_default();
    prompt::document::fenced(language, text)
}

/// Why a file cannot be context, as a sentence that names it.
struct Unreadable {
    why: String,
    kind: Kind,
    /// What to do, where it is the policy that refuses.
    instead: Option<&'static str>,
}

impl Unreadable {
    fn new(kind: Kind, why: String) -> Self {
        Self {
            why,
            kind,
            instead: None,
        }
    }

    fn error(self, path: &RelPath, shelf: &Shelf) -> Error {
        let error = Error::new(self.kind, self.why);
        if let Some(instead) = self.instead {
            return error.hint(instead);
        }
        match (self.kind, shelf.near(path)) {
            (Kind::NotFound, Some(near)) => error.hint(format!("did you mean `{near}`?")),
            (Kind::NotFound, None) => error.hint(
                "context files are named from the project's root; a pattern may match nothing",
            ),
            _ => error.hint("context is text that may be read; name another file"),
        }
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, Error> {
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| {
        let message = format!("`{pattern}` is not a glob: {}", error.kind());
        Error::new(Kind::Manifest, message)
    })
}
