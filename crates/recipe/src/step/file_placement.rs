//! Putting a text into the project as it will be: added, injected, skipped, or in conflict.

use workspace::RelPath;

use super::{PassStage, StepContext, StepPass, ValueCertainty};
use crate::conflict::{FileConflict, OnConflict};
use crate::effect::{Effect, FileStatus, FileWrite};
use crate::error::{Error, RecipeErrorKind};
use crate::host::ConflictDecision;
use crate::inject::{self, InjectPosition, InjectResult, NoPlace};
use crate::regex::RecipeRegex;

/// A file on its way into the project.
pub(super) struct FilePlacement {
    pub(super) path: RelPath,
    pub(super) content: Vec<u8>,
    pub(super) executable: bool,
    pub(super) how: PlacementMode,
    pub(super) certainty: ValueCertainty,
}

/// The way a file is put into the project.
pub(super) enum PlacementMode {
    /// A whole file from a template.
    Add { force: bool, unless_exists: bool },
    /// An existing file with its new content; no question is asked.
    Replace(FileStatus),
}

impl StepPass<'_> {
    pub(super) fn put(&mut self, at: &StepContext<'_>, put: FilePlacement) -> Result<(), Error> {
        let existing = self.project.read(&put.path)?;
        let mut put = put;
        if let Some(existing) = &existing {
            put.content = like(existing, put.content);
        }
        let same = existing.as_deref() == Some(&put.content[..]);
        let lacks_bit = put.executable && !self.project.is_executable(&put.path)?;
        if same && !lacks_bit {
            let generated = matches!(put.how, PlacementMode::Add { .. }).then_some(put.content);
            self.note_unchanged(at, put.path, generated);
            return Ok(());
        }
        let status = match (put.how, existing) {
            (PlacementMode::Replace(status), _) => status,
            (PlacementMode::Add { .. }, None) => FileStatus::Created,
            (PlacementMode::Add { .. }, Some(_)) if same => FileStatus::Modified,
            (
                PlacementMode::Add {
                    force,
                    unless_exists,
                },
                Some(existing),
            ) => {
                let found = ExistingContent {
                    bytes: existing,
                    force: force && self.may_force(at, &put.path),
                    unless_exists: unless_exists && !force,
                };
                match self.replace(at, &put.path, &put.content, (found, put.certainty))? {
                    Some(status) => status,
                    None => return Ok(()),
                }
            }
        };
        let generated = !matches!(status, FileStatus::Injected | FileStatus::Modified);
        self.write(
            at,
            put.path,
            put.content,
            (status, put.executable, put.certainty, generated),
        )
    }

    /// Puts lines into a file that is there.
    pub(super) fn inject(
        &mut self,
        at: &StepContext<'_>,
        path: RelPath,
        (body, position, skip_if): (&str, &InjectPosition, Option<&str>),
        certainty: ValueCertainty,
    ) -> Result<(), Error> {
        let Some(target) = self.project.read_text(&path)? else {
            if certainty == ValueCertainty::AfterCommand && self.is_planning() {
                return Ok(());
            }
            let message = format!("there is no `{path}` to inject into");
            return Err(Error::new(RecipeErrorKind::Inject, message)
                .about_target()
                .hint("make it in an earlier step, or drop `inject`"));
        };
        if let Some(pattern) = skip_if {
            let regex = RecipeRegex::new(pattern).map_err(|error| broken(pattern, &error))?;
            if regex
                .is_match(&target)
                .map_err(|error| broken(pattern, &error))?
            {
                self.skip(at, path.as_str(), format!("skip_if: {pattern}"));
                return Ok(());
            }
        }
        let regex = match position {
            InjectPosition::Before(pattern) | InjectPosition::After(pattern) => {
                Some(RecipeRegex::new(pattern).map_err(|error| broken(pattern, &error))?)
            }
            _ => None,
        };
        let find = |text: &str| regex.as_ref().map_or(Ok(None), |regex| regex.find(text));
        match inject::inject(&target, body, position, &find) {
            Ok(InjectResult::Present) => {
                self.note_unchanged(at, path, None);
                Ok(())
            }
            Ok(InjectResult::Text(text)) => {
                let details = (FileStatus::Injected, false, certainty, false);
                self.write(at, path, text.into_bytes(), details)
            }
            Err(NoPlace::AnchorMissing(pattern)) => {
                let message = format!("`{path}` has no line that matches `{pattern}`");
                Err(Error::new(RecipeErrorKind::Inject, message).hint(
                    "check the pattern (a JavaScript regular expression), or use `prepend` or `append`",
                ))
            }
            Err(NoPlace::LineMissing { wanted, lines }) => {
                let message = format!("`{path}` has {lines} lines, and `at_line` is {wanted}");
                Err(Error::new(RecipeErrorKind::Inject, message).hint("lines are counted from 0"))
            }
            Err(NoPlace::Anchor(error)) => Err(broken("", &error)),
        }
    }

    pub(super) fn skip(&mut self, at: &StepContext<'_>, path: &str, reason: String) {
        let (path, step) = (path.to_owned(), at.step.name.clone());
        self.found
            .effects
            .push(Effect::Skipped { path, reason, step });
    }

    fn note_unchanged(&mut self, at: &StepContext<'_>, path: RelPath, generated: Option<Vec<u8>>) {
        let step = at.step.name.clone();
        self.found.effects.push(Effect::Unchanged {
            path,
            step,
            generated,
        });
    }

    /// Decides about a file that is there and differs; `None` when it stays as it is.
    fn replace(
        &mut self,
        at: &StepContext<'_>,
        path: &RelPath,
        content: &[u8],
        (existing, certainty): (ExistingContent, ValueCertainty),
    ) -> Result<Option<FileStatus>, Error> {
        if existing.unless_exists {
            self.skip(
                at,
                path.as_str(),
                "exists already (unless_exists)".to_owned(),
            );
            return Ok(None);
        }
        if existing.force {
            return Ok(Some(FileStatus::Forced));
        }
        if let Some(first) = self.written.get(path) {
            let message = format!(
                "two templates write `{path}`: step `{first}` and step `{}`",
                at.step.name
            );
            let error = at
                .unit
                .error(RecipeErrorKind::Manifest, at.step.place, message);
            return Err(error.hint("give them different targets, or `force: true` to one"));
        }
        // Content that depends on a command is compared once the command has run.
        if certainty == ValueCertainty::AfterCommand && self.is_planning() {
            return Ok(Some(FileStatus::Modified));
        }
        let conflict = FileConflict::new(
            path.clone(),
            &at.step.name,
            existing.bytes,
            content.to_vec(),
        );
        match self.decision(&conflict)? {
            Some(ConflictDecision::Overwrite) => Ok(Some(FileStatus::Forced)),
            Some(_) => {
                self.skip(at, path.as_str(), "exists already".to_owned());
                Ok(None)
            }
            None => {
                self.found.conflicts.push(conflict);
                Ok(Some(FileStatus::Conflict))
            }
        }
    }

    fn decision(&mut self, conflict: &FileConflict) -> Result<Option<ConflictDecision>, Error> {
        if let Some(decision) = self.known.decisions.get(&conflict.path) {
            return Ok(Some(*decision));
        }
        let decided = match (self.known.on_conflict, &mut self.stage) {
            (OnConflict::Force, _) => Some(ConflictDecision::Overwrite),
            (OnConflict::Skip, _) => Some(ConflictDecision::Skip),
            (_, PassStage::Planning) => return Ok(None),
            (OnConflict::Ask, PassStage::Performing(performer)) => performer.resolve(conflict),
            (OnConflict::Fail, PassStage::Performing(_)) => None,
        };
        match decided {
            Some(ConflictDecision::Abort) => Err(Error::new(RecipeErrorKind::Aborted, "stopped")),
            Some(decision) => Ok(Some(decision)),
            None => {
                let message = format!("`{}` exists and differs", conflict.path);
                Err(Error::new(RecipeErrorKind::Command, message)
                    .hint("use --force to overwrite or --skip-existing to keep such files"))
            }
        }
    }

    fn write(
        &mut self,
        at: &StepContext<'_>,
        path: RelPath,
        content: Vec<u8>,
        (status, executable, certainty, generated): (FileStatus, bool, ValueCertainty, bool),
    ) -> Result<(), Error> {
        let needs_trust = self.why_trust(at, &path, &content)?;
        self.project.write(&path, content.clone(), executable)?;
        self.written.insert(path.clone(), at.step.name.clone());
        let step = at.step.name.clone();
        let provisional = certainty == ValueCertainty::AfterCommand && self.is_planning();
        self.found.effects.push(Effect::Write(FileWrite {
            path,
            content,
            executable,
            status,
            step,
            provisional,
            generated,
            needs_trust,
        }));
        Ok(())
    }

    /// Returns true if the file may be overwritten. A recipe from outside may overwrite only files
    /// of this run; for the rest the person decides, by `--force` or when asked.
    fn may_force(&self, at: &StepContext<'_>, path: &RelPath) -> bool {
        !at.unit.is_foreign || self.written.contains_key(path)
    }

    /// Says why a recipe from outside needs trust to write this file; refuses it while performing,
    /// when the plan that was checked did not have it yet.
    fn why_trust(
        &self,
        at: &StepContext<'_>,
        path: &RelPath,
        content: &[u8],
    ) -> Result<Option<String>, Error> {
        if !at.unit.is_foreign {
            return Ok(None);
        }
        let before = self.project.read(path)?;
        let root = self.project.root();
        let why = root.self_running(path, before.as_deref(), content)?;
        if let (Some(why), PassStage::Performing(performer)) = (&why, &self.stage) {
            performer.check_write(path, &at.step.name, why)?;
        }
        Ok(why)
    }
}

struct ExistingContent {
    bytes: Vec<u8>,
    force: bool,
    unless_exists: bool,
}

/// Gives the content the line ends of the text it replaces.
fn like(existing: &[u8], content: Vec<u8>) -> Vec<u8> {
    let (Ok(old), Ok(new)) = (std::str::from_utf8(existing), std::str::from_utf8(&content)) else {
        return content;
    };
    match (inject::line_end(old), inject::line_end(new)) {
        ("\r\n", "\n") => inject::with_line_end(new, "\r\n").into_bytes(),
        _ => content,
    }
}

fn broken(pattern: &str, error: &expr::Error) -> Error {
    let message = format!(
        "the pattern `{pattern}` cannot be used: {}",
        error.message()
    );
    Error::new(RecipeErrorKind::Template, message)
}
