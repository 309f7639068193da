//! `update`: a newer recipe merged three-way into what an older one generated.
//!
//! Whole files from templates are merged. Injections and patches were merged into the user's files
//! when they were made, and commands have run; neither is repeated.
// tidy: allow long-file, because an update is one decision, from the record to the settled conflicts

use serde::Serialize;
use serde_json::{Map, Value};
use workspace::diff::ContentDiff;
use workspace::merge::{ConflictLabels, three_way_labelled};
use workspace::{ChangeSet, PathChange, RelPath, Root};

use crate::conflict::OnConflict;
use crate::document;
use crate::effect::{Effect, FileWrite};
use crate::error::{Error, RecipeErrorKind};
use crate::generation_record::{GenerationRecord, RecordedRun};
use crate::host::RecipeHost;
use crate::load::Recipe;
use crate::manifest::RecipeMigration;
use crate::migrate::{self, MovedFiles};
use crate::perform::{GuardedAction, check_trust};
use crate::project::ObservedFiles;
use crate::request::{NeededAnswers, RecipeRunMode, RecipeRunRequest};
use crate::rounds::{self, RoundsOutcome};
use crate::run;
use crate::session::{RecipeSession, commands, with_prompts};
use crate::variables::assign;

/// Result of an update.
#[derive(Debug)]
pub enum UpdateOutcome {
    Done(UpdateReport),
    /// A dry run: the same report, nothing written.
    Shown(UpdateReport),
    /// The newer recipe asks something the recorded answers do not say.
    AnswersNeeded(NeededAnswers),
}

/// Report about an update that was made, or planned.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UpdateReport {
    pub recipe: String,
    pub files: Vec<UpdatedFile>,
    /// Number of conflict marks in files that a person must resolve.
    pub conflicts: usize,
    /// Commands of the recipe; an update runs none.
    pub commands_not_run: Vec<String>,
    /// Answers that were kept although their question reads differently now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers_kept: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct UpdatedFile {
    pub path: RelPath,
    pub status: UpdateStatus,
    /// The difference to the current file, as a unified diff.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// The whole text with conflict marks, where this update conflicts.
    #[serde(skip)]
    pub marked: Option<String>,
}

/// A file in which an update conflicts, as a person has settled it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledConflict {
    pub path: RelPath,
    /// The text with conflict marks that the person saw. If the file or the recipe has changed since, the
    /// resolution does not count.
    pub marked: String,
    pub text: String,
}

/// Result of the update for one generated file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateStatus {
    /// The newer recipe makes it for the first time.
    Created,
    /// The user had not edited it.
    Updated,
    /// Edits and the newer template went together.
    Merged,
    /// Both changed the same lines; the file has conflict marks.
    Conflicted,
    Unchanged,
    /// A migration put it elsewhere; nothing else changed.
    Moved,
    /// The user deleted it, so it stays deleted.
    DeletedByUser,
    /// The newer recipe would make it, and something else is there.
    Exists,
    /// The newer recipe does not make it any more; it is left alone.
    NoLongerGenerated,
}

const LABELS: ConflictLabels<'static> = ConflictLabels {
    ours: "your file",
    base: "generated before",
    theirs: "generated now",
};

/// Tells whether a recipe has generated files here that an update could merge into.
pub fn has_generated(recipe: &Recipe, root: &Root) -> Result<bool, Error> {
    Ok(GenerationRecord::read(root, recipe)?.is_some())
}

/// Merges the recipe's new output into the files it generated before.
pub fn update(
    recipe: &Recipe,
    root: &Root,
    request: &RecipeRunRequest,
    host: &mut dyn RecipeHost,
) -> Result<UpdateOutcome, Error> {
    root.recover()?;
    let first = match prepare(recipe, root, request, host)? {
        UpdatePreparation::Ready(prepared) => *prepared,
        UpdatePreparation::Needed(needed) => return Ok(UpdateOutcome::AnswersNeeded(*needed)),
    };
    if request.mode == RecipeRunMode::DryRun {
        return Ok(UpdateOutcome::Shown(first.report));
    }
    // Deciding may have waited for a person, and others could write meanwhile; then it decides once
    // more.
    let lock = run::lock_writer(root, request, host)?;
    let prepared = match first.observed.changed(root)?.is_empty() {
        true => first,
        false => match prepare(recipe, root, request, host)? {
            UpdatePreparation::Ready(prepared) => *prepared,
            UpdatePreparation::Needed(needed) => return Ok(UpdateOutcome::AnswersNeeded(*needed)),
        },
    };
    root.apply(&prepared.changes)?;
    drop(lock);
    Ok(UpdateOutcome::Done(prepared.report))
}

enum UpdatePreparation {
    Ready(Box<PreparedUpdate>),
    Needed(Box<NeededAnswers>),
}

/// An update that is decided and not yet made.
struct PreparedUpdate {
    report: UpdateReport,
    changes: ChangeSet,
    observed: ObservedFiles,
    resolutions: Vec<SettledConflict>,
}

fn prepare(
    recipe: &Recipe,
    root: &Root,
    request: &RecipeRunRequest,
    host: &mut dyn RecipeHost,
) -> Result<UpdatePreparation, Error> {
    let Some(mut record) = GenerationRecord::read(root, recipe)? else {
        let message = format!("`{}` has generated nothing here", recipe.manifest.name);
        return Err(Error::new(RecipeErrorKind::NotFound, message).hint("run the recipe first"));
    };
    let mut prepared = PreparedUpdate {
        report: UpdateReport {
            recipe: recipe.manifest.name.clone(),
            ..Default::default()
        },
        changes: ChangeSet::new(),
        observed: ObservedFiles::default(),
        resolutions: request.resolutions.clone(),
    };
    let mut guarded: Vec<FileWrite> = Vec::new();
    let path = GenerationRecord::path(recipe)?;
    let bytes = root.read(&path)?;
    prepared.observed.note_text(&path, bytes.as_deref());
    let pending = migrate::pending(&recipe.manifest, record.recipe_version.as_deref());
    for run in &mut record.runs {
        let moved = carry_over(recipe, root, (request, run), &pending)?;
        let now = match generate(recipe, root, (request, run), host)? {
            GenerationOutcome::Now(now) => now,
            GenerationOutcome::Needed(needed) => return Ok(UpdatePreparation::Needed(needed)),
        };
        record.templates.extend(now.templates.clone());
        let report = &mut prepared.report;
        report.commands_not_run.extend(now.commands);
        report.answers_kept.extend(now.answers_kept);
        guarded.extend(
            now.writes
                .iter()
                .filter(|write| write.needs_trust.is_some())
                .cloned(),
        );
        let before = std::mem::replace(run, now.run);
        merge_run(root, (&before, &moved), (run, now.writes), &mut prepared)?;
    }
    let changed = guarded
        .iter()
        .filter(|write| prepared.changes.get(&write.path).is_some());
    if request.mode == RecipeRunMode::Perform {
        check_trust(changed.filter_map(GuardedAction::write), request.trust)?;
    }
    prepared.report.commands_not_run.dedup();
    prepared.report.answers_kept.sort();
    prepared.report.answers_kept.dedup();
    record.recipe_version.clone_from(&recipe.manifest.version);
    record.write_to(&mut prepared.changes, recipe)?;
    Ok(UpdatePreparation::Ready(Box::new(prepared)))
}

/// Carries what an older version recorded over to this one; where files were that have moved.
fn carry_over(
    recipe: &Recipe,
    root: &Root,
    (request, run): (&RecipeRunRequest, &mut RecordedRun),
    pending: &[&RecipeMigration],
) -> Result<MovedFiles, Error> {
    let mut moved = MovedFiles::new();
    if pending.is_empty() {
        return Ok(moved);
    }
    let session = RecipeSession::with_values(recipe, root, request, Map::new())?;
    for migration in pending {
        migrate::rename_values(run, migration);
        moved.extend(migrate::move_files(&session, run, migration)?);
    }
    Ok(moved)
}

struct NewGeneration {
    run: RecordedRun,
    writes: Vec<FileWrite>,
    commands: Vec<String>,
    templates: std::collections::BTreeMap<String, String>,
    answers_kept: Vec<String>,
}

enum GenerationOutcome {
    Now(Box<NewGeneration>),
    Needed(Box<NeededAnswers>),
}

/// Runs the recipe of today with the values and answers of the recorded run.
fn generate(
    recipe: &Recipe,
    root: &Root,
    (request, run): (&RecipeRunRequest, &RecordedRun),
    host: &mut dyn RecipeHost,
) -> Result<GenerationOutcome, Error> {
    let mut request = request.clone();
    request.conflicts = OnConflict::Force;
    let declared = &recipe.manifest.variables;
    let known = run
        .values
        .iter()
        .filter(|(name, _)| declared.contains_key(*name));
    let mut assigned: Map<String, Value> = known
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // A newer recipe may declare more variables; values given now win over recorded ones.
    assigned.extend(assign(&with_prompts(recipe), &request.values)?);
    // The recipe sees the project as it was before it made its files.
    let hidden = run
        .files
        .keys()
        .map(|path| (path.clone(), PathChange::Delete))
        .collect();
    let dry = RecipeRunRequest {
        mode: RecipeRunMode::DryRun,
        ..request
    };
    let session = RecipeSession::with_values(recipe, root, &dry, assigned)?
        .hiding(hidden)
        .remembering(run.remembered());
    let mut known = session.known();
    let other = run
        .values
        .iter()
        .filter(|(name, _)| !declared.contains_key(*name));
    known
        .values
        .extend(other.map(|(name, value)| (name.clone(), value.clone())));
    match rounds::decide(&session, &mut known, host)? {
        RoundsOutcome::Needed(missing, round, walked) => {
            let provided = session.values(&walked).into_iter().collect();
            let told = (provided, known.asked.clone());
            let needed = document::write(missing, &round, &dry, told)?;
            Ok(GenerationOutcome::Needed(Box::new(needed)))
        }
        RoundsOutcome::Decided(walked) => {
            let lines = commands(&walked.found)
                .into_iter()
                .map(|command| command.what.line());
            let commands = lines.collect();
            let writes: Vec<FileWrite> = walked
                .found
                .effects
                .iter()
                .filter_map(|effect| match effect {
                    Effect::Write(write) if write.generated => Some(write.clone()),
                    _ => None,
                })
                .collect();
            let run = RecordedRun {
                values: session.values(&walked),
                answers: known.answers.into_iter().collect(),
                questions: known.questions,
                files: std::collections::BTreeMap::new(),
            };
            let answers_kept = known.answers_kept.into_iter().collect();
            let templates = walked.found.templates;
            Ok(GenerationOutcome::Now(Box::new(NewGeneration {
                run,
                writes,
                commands,
                templates,
                answers_kept,
            })))
        }
    }
}

/// Merges every file of one run and fills in its record.
fn merge_run(
    root: &Root,
    (before, moved): (&RecordedRun, &MovedFiles),
    (run, writes): (&mut RecordedRun, Vec<FileWrite>),
    prepared: &mut PreparedUpdate,
) -> Result<(), Error> {
    let PreparedUpdate {
        report,
        changes,
        observed,
        resolutions,
    } = prepared;
    for write in writes {
        let Ok(new) = String::from_utf8(write.content) else {
            continue;
        };
        let base = before.files.get(&write.path).map(String::as_str);
        let was = moved.get(&write.path);
        let here = was.unwrap_or(&write.path);
        let current = root.read_text(here)?;
        observed.note_text(here, current.as_deref().map(str::as_bytes));
        let marked = current.as_deref().map_or(0, conflict_marks);
        if marked > 0 {
            // Merging into marks would bury them; the old base waits until they are settled.
            report.conflicts += marked;
            report.files.push(UpdatedFile {
                path: write.path.clone(),
                status: UpdateStatus::Conflicted,
                diff: String::new(),
                marked: None,
            });
            let base = base.map_or(new, str::to_owned);
            run.files.insert(write.path, base);
            continue;
        }
        let mut merged = merge(base, current.as_deref(), &new)?;
        merged.settle(
            &write.path,
            &harmless_texts(root, resolutions, (&write.path, &current))?,
        );
        if let (Some(was), Some(text)) = (was, &current) {
            merged.text.get_or_insert_with(|| text.clone());
            if merged.status == UpdateStatus::Unchanged {
                merged.status = UpdateStatus::Moved;
            }
            changes.put(was.clone(), PathChange::Delete);
        }
        report.conflicts += merged.conflicts;
        let is_conflicted = merged.status == UpdateStatus::Conflicted;
        let marked = merged.text.clone().filter(|_| is_conflicted);
        let mut diff = String::new();
        if let Some(text) = merged.text {
            let old = current.as_deref().map(str::as_bytes);
            diff = ContentDiff::between(old, Some(text.as_bytes())).unified(write.path.as_str());
            let bytes = text.into_bytes();
            changes.put(
                write.path.clone(),
                PathChange::Write {
                    bytes,
                    executable: write.executable,
                },
            );
        }
        report.files.push(UpdatedFile {
            path: write.path.clone(),
            status: merged.status,
            diff,
            marked,
        });
        if merged.status != UpdateStatus::Exists {
            run.files.insert(write.path, new);
        }
    }
    note_no_longer_generated(before, run, report);
    Ok(())
}

/// Reports files that the older recipe generated and this one does not.
fn note_no_longer_generated(before: &RecordedRun, run: &RecordedRun, report: &mut UpdateReport) {
    for path in before
        .files
        .keys()
        .filter(|path| !run.files.contains_key(*path))
    {
        if report.files.iter().any(|file| file.path == *path) {
            continue;
        }
        let status = UpdateStatus::NoLongerGenerated;
        report.files.push(UpdatedFile {
            path: path.clone(),
            status,
            diff: String::new(),
            marked: None,
        });
    }
}

/// Counts the conflicts of an earlier update that are still in a text.
fn conflict_marks(text: &str) -> usize {
    let begin = format!("<<<<<<< {}", LABELS.ours);
    text.lines().filter(|line| *line == begin).count()
}

struct MergedFile {
    status: UpdateStatus,
    /// The new text, if the file changes.
    text: Option<String>,
    conflicts: usize,
}

/// Returns the texts for a file that make nothing run by itself. A person settles conflicts in such a file at
/// the machine: who may only run recipes on a server would add commands with them.
fn harmless_texts(
    root: &Root,
    resolutions: &[SettledConflict],
    (path, current): (&RelPath, &Option<String>),
) -> Result<Vec<SettledConflict>, Error> {
    let mut texts = Vec::new();
    for one in resolutions.iter().filter(|one| one.path == *path) {
        let before = current.as_deref().map(str::as_bytes);
        let runs = root.self_running(path, before, one.text.as_bytes())?;
        if runs.is_none() {
            texts.push(one.clone());
        }
    }
    Ok(texts)
}

impl MergedFile {
    /// Takes the text of a person who has settled exactly these conflicts.
    fn settle(&mut self, path: &RelPath, resolutions: &[SettledConflict]) {
        let Some(marked) = self.text.as_ref().filter(|_| self.conflicts > 0) else {
            return;
        };
        // Forms send lines with other endings than the file may have.
        let fits =
            |one: &&SettledConflict| one.path == *path && one.marked.lines().eq(marked.lines());
        let Some(found) = resolutions.iter().find(fits) else {
            return;
        };
        let text = match marked.contains("\r\n") {
            true => found.text.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => found.text.clone(),
        };
        self.conflicts = conflict_marks(&text);
        if self.conflicts == 0 {
            self.status = UpdateStatus::Merged;
        }
        self.text = Some(text);
    }
}

fn merge(base: Option<&str>, current: Option<&str>, new: &str) -> Result<MergedFile, Error> {
    let plain = |status, text: Option<&str>| {
        Ok(MergedFile {
            status,
            text: text.map(str::to_owned),
            conflicts: 0,
        })
    };
    match (base, current) {
        (None, None) => plain(UpdateStatus::Created, Some(new)),
        (None, Some(current)) if current == new => plain(UpdateStatus::Unchanged, None),
        (None, Some(_)) => plain(UpdateStatus::Exists, None),
        (Some(_), None) => plain(UpdateStatus::DeletedByUser, None),
        (Some(base), Some(current)) if current == new || base == new => {
            plain(UpdateStatus::Unchanged, None)
        }
        (Some(base), Some(current)) if current == base => plain(UpdateStatus::Updated, Some(new)),
        (Some(base), Some(current)) => {
            let merged = three_way_labelled(base, current, new, LABELS)?;
            let status = match merged.conflicts {
                0 if merged.text == current => return plain(UpdateStatus::Unchanged, None),
                0 => UpdateStatus::Merged,
                _ => UpdateStatus::Conflicted,
            };
            let (text, conflicts) = (Some(merged.text), merged.conflicts);
            Ok(MergedFile {
                status,
                text,
                conflicts,
            })
        }
    }
}
