//! Files of the project as context of a question: which ones, as much as fits, and what was left
//! out.
//!
//! The document lists everything that is missing, for the person or model that answers: a file that
//! was cut says how much of it is there, and files that were left out are listed with their reason.

use std::collections::BTreeSet;

use diagnostics::nearest;
use globset::{GlobBuilder, GlobMatcher};
use workspace::{
    AccessPolicy, ChangeSet, Limits, PathChange, PathKind, PolicySettings, RelPath, Root,
    WalkOptions, Workspace, WorkspaceErrorKind,
};

use crate::error::{Error, RecipeErrorKind};
use crate::fields::ManifestText;
use crate::manifest::ContextOverflow;

/// Most files one question may have as context.
pub(crate) const CONTEXT_FILES_MAX: usize = 1000;
/// The smallest rest of a budget, in tokens, for which a file is cut instead of left out: the
/// beginning of a file says nothing below this.
const CUT_TOKENS_MIN: usize = 50;
/// Most left out files that are listed by name.
const LISTED_MAX: usize = 20;

/// Hint that names the settings of the policy.
const POLICY_HINT: &str =
    "`read_allow` and `read_deny` under `[agent.policy]` of `drawloom.toml` say what may be read";

/// Drawloom's own folder; its files are context only if a pattern names it.
const HOME: &str = ".drawloom/";

/// Estimates the number of tokens of a text.
pub(crate) fn tokens(text: &str) -> usize {
    diagnostics::tokens_of_bytes(text.len())
}

/// The project as it will be, under the policy that keeps secrets back.
pub(crate) struct ContextFiles {
    workspace: Workspace,
    pending: ChangeSet,
}

/// The context files a step asks for, and the budget for them.
pub(crate) struct ContextRequest {
    /// Paths and patterns, rendered, with their positions.
    pub(crate) patterns: Vec<ManifestText>,
    /// For files; what the step's own texts need is taken off already.
    pub(crate) tokens_left: usize,
    pub(crate) tokens_max: usize,
    pub(crate) overflow: ContextOverflow,
}

/// An error about a pattern; the caller adds the file the pattern is written in.
pub(crate) struct PatternError {
    pub(crate) error: Error,
    pub(crate) pattern: ManifestText,
}

/// The gathered context: a text for each file, and one that lists the missing files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ContextTexts {
    pub(crate) texts: Vec<String>,
    notes: Vec<String>,
}

impl ContextFiles {
    pub(crate) fn open(
        root: &Root,
        pending: ChangeSet,
        policy: &PolicySettings,
    ) -> Result<Self, Error> {
        let policy = AccessPolicy::new(policy)?;
        let workspace = Workspace::open(root.path(), policy, Limits::default())?;
        Ok(Self { workspace, pending })
    }

    /// Lists the files there will be, without those that git ignores or the policy refuses.
    fn files(&self) -> Result<BTreeSet<RelPath>, Error> {
        let tree = self.workspace.walk(&WalkOptions::new(RelPath::root()))?;
        let files = tree.entries.into_iter();
        let files = files.filter(|entry| entry.kind == PathKind::File);
        let mut files: BTreeSet<RelPath> = files.map(|entry| entry.path).collect();
        for (path, change) in self.pending.iter() {
            match change {
                PathChange::Write { .. } if self.workspace.policy().check_read(path).is_ok() => {
                    files.insert(path.clone());
                }
                PathChange::Delete => {
                    files.remove(path);
                }
                _ => {}
            }
        }
        Ok(files)
    }

    /// Reads a file, or returns why it cannot be context.
    fn read(&self, path: &RelPath) -> Result<String, ContextFileError> {
        let read = self.workspace.read_staged(&self.pending, path);
        let bytes = read.map_err(|error| {
            let kind = match error.kind() {
                WorkspaceErrorKind::Limit => RecipeErrorKind::Limit,
                WorkspaceErrorKind::Denied => RecipeErrorKind::Path,
                _ => RecipeErrorKind::Io,
            };
            let instead = error.denial().map(|_| POLICY_HINT);
            ContextFileError {
                instead,
                ..ContextFileError::new(kind, error.to_string())
            }
        })?;
        let Some(bytes) = bytes else {
            let why = format!("`{path}` does not exist");
            return Err(ContextFileError::new(RecipeErrorKind::NotFound, why));
        };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => {
                let why = format!("`{path}` is not text");
                Err(ContextFileError::new(RecipeErrorKind::Path, why))
            }
        }
    }

    /// Returns a similar name beside a file that does not exist.
    fn near(&self, path: &RelPath) -> Option<String> {
        let dir = path.parent().unwrap_or_else(RelPath::root);
        let beside = self.workspace.list(&dir).ok()?.entries;
        let names = beside.iter().map(|entry| entry.path.as_str());
        nearest(path.as_str(), names).map(str::to_owned)
    }
}

/// Finds the files that the patterns mean, each once, in the order of the patterns and then of
/// their paths. Files that are only `expected` are among them.
pub(crate) fn find(
    shelf: &ContextFiles,
    patterns: &[ManifestText],
    expected: &BTreeSet<RelPath>,
) -> Result<Vec<PatternMatch>, PatternError> {
    let mut found: Vec<PatternMatch> = Vec::new();
    let mut all: Option<BTreeSet<RelPath>> = None;
    for pattern in patterns {
        let refused = |error| PatternError {
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
            found.push(PatternMatch::Nothing(written.to_owned()));
        }
        for path in paths {
            if !found.iter().any(|known| known.path() == Some(&path)) {
                found.push(PatternMatch::File {
                    path,
                    named: named.then(|| pattern.clone()),
                });
            }
        }
        if found.len() > CONTEXT_FILES_MAX {
            let message = format!(
                "the patterns match more than CONTEXT_FILES_MAX = {CONTEXT_FILES_MAX} files"
            );
            let error = Error::new(RecipeErrorKind::Limit, message).hint("use narrower patterns");
            return Err(refused(error));
        }
    }
    Ok(found)
}

/// Result of matching one pattern.
#[derive(Debug)]
pub(crate) enum PatternMatch {
    File {
        path: RelPath,
        /// The pattern, if it is the path itself: then the file must be there and readable.
        named: Option<ManifestText>,
    },
    /// A pattern that matches no file.
    Nothing(String),
}

impl PatternMatch {
    pub(crate) fn path(&self) -> Option<&RelPath> {
        match self {
            PatternMatch::File { path, .. } => Some(path),
            PatternMatch::Nothing(_) => None,
        }
    }
}

/// Reads files until the budget is used up, and lists the files that did not fit.
pub(crate) fn gather(
    shelf: &ContextFiles,
    found: &[PatternMatch],
    wanted: &ContextRequest,
) -> Result<ContextTexts, PatternError> {
    let mut gathered = ContextTexts::default();
    let mut left = wanted.tokens_left;
    let mut over: Vec<(String, usize)> = Vec::new();
    for entry in found {
        let (path, named) = match entry {
            PatternMatch::File { path, named } => (path, named),
            PatternMatch::Nothing(pattern) => {
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
                return Err(PatternError { error, pattern });
            }
        };
        let needs = tokens(&text);
        if needs <= left {
            left -= needs;
            gathered.texts.push(whole(path, &text));
        } else {
            if wanted.overflow == ContextOverflow::Error {
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

/// Makes the error of `overflow: error`: lists all wanted files, with the tokens they would need.
fn too_much(shelf: &ContextFiles, found: &[PatternMatch], wanted: &ContextRequest) -> PatternError {
    let sizes = found
        .iter()
        .filter_map(PatternMatch::path)
        .filter_map(|path| {
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
    let error = Error::new(RecipeErrorKind::Limit, message)
        .hint("name fewer files, raise `maxTokens`, or use `overflow: truncate`");
    let pattern = wanted.patterns.first().cloned().unwrap_or_default();
    PatternError { error, pattern }
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

/// Returns as many whole lines from the beginning as fit, labelled; `None` if that is too little to
/// be useful.
fn cut(path: &RelPath, text: &str, left: usize) -> Option<String> {
    if left < CUT_TOKENS_MIN {
        return None;
    }
    let bytes_max = diagnostics::bytes_of_tokens(left);
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

/// Reason why a file cannot be context, as a sentence that names it.
struct ContextFileError {
    why: String,
    kind: RecipeErrorKind,
    /// Advice for the user, if the policy refuses the file.
    instead: Option<&'static str>,
}

impl ContextFileError {
    fn new(kind: RecipeErrorKind, why: String) -> Self {
        Self {
            why,
            kind,
            instead: None,
        }
    }

    fn error(self, path: &RelPath, shelf: &ContextFiles) -> Error {
        let error = Error::new(self.kind, self.why);
        if let Some(instead) = self.instead {
            return error.hint(instead);
        }
        match (self.kind, shelf.near(path)) {
            (RecipeErrorKind::NotFound, Some(near)) => {
                error.hint(format!("did you mean `{near}`?"))
            }
            (RecipeErrorKind::NotFound, None) => error.hint(
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
        Error::new(RecipeErrorKind::Manifest, message)
    })
}
