//! Records of the files a recipe generated, so that an update can merge a newer version:
//! `.drawloom/generated/`.

use std::collections::BTreeMap;

use prompt::Question;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use workspace::{ChangeSet, RelPath, Root};

use crate::effect::Effect;
use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::load::{Recipe, RecipeOrigin};
use crate::session::{PassResult, RecipeSession};
use crate::step::KnownInputs;

/// Folder of the records in a project.
pub const RECORDS_DIR: &str = ".drawloom/generated";
const VERSION: u32 = 1;

/// Everything one recipe generated in a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GenerationRecord {
    version: u32,
    pub(crate) recipe: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recipe_version: Option<String>,
    /// The hashes of the templates it was made from.
    pub(crate) templates: BTreeMap<String, String>,
    /// One for each set of values the recipe was run with.
    pub(crate) runs: Vec<RecordedRun>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedRun {
    pub(crate) values: Map<String, Value>,
    pub(crate) answers: Map<String, Value>,
    /// A hash of the question that each answer belongs to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) questions: BTreeMap<String, String>,
    /// Each file's text as it was generated: the base of a merge.
    pub(crate) files: BTreeMap<RelPath, String>,
}

/// An answer of an earlier run, and a hash of its question.
#[derive(Clone, Debug)]
pub(crate) struct RecordedAnswer {
    pub(crate) value: Value,
    /// Absent in records of older versions.
    pub(crate) question: Option<String>,
}

impl RecordedRun {
    pub(crate) fn remembered(&self) -> BTreeMap<String, RecordedAnswer> {
        let answers = self.answers.iter().map(|(key, value)| {
            let remembered = RecordedAnswer {
                value: value.clone(),
                question: self.questions.get(key).cloned(),
            };
            (key.clone(), remembered)
        });
        answers.collect()
    }
}

/// Hashes a question. The context is left out: the files shown with a question may change without
/// making its answer wrong.
pub(crate) fn question_hash(question: &Question) -> String {
    let asked = serde_json::json!({
        "prompt": question.prompt,
        "format": question.format,
        "kind": format!("{:?}", question.kind),
        "schema": question.schema,
    });
    let digest = Sha256::digest(asked.to_string().as_bytes());
    digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
}

impl GenerationRecord {
    /// Returns the path of a recipe's record.
    pub(crate) fn path(recipe: &Recipe) -> Result<RelPath, Error> {
        path_of(recipe)
    }

    /// Reads the record of a recipe, if it has generated anything here.
    pub(crate) fn read(root: &Root, recipe: &Recipe) -> Result<Option<Self>, Error> {
        let path = path_of(recipe)?;
        let Some(text) = root.read_text(&path)? else {
            return Ok(None);
        };
        let record: GenerationRecord = serde_json::from_str(&text).map_err(|error| {
            let place = FileSpan {
                line: u32::try_from(error.line()).unwrap_or(1),
                column: u32::try_from(error.column()).unwrap_or(1),
                width: 1,
            };
            let diagnostic = Diagnostic::new(format!("the record cannot be read: {error}"))
                .at(path.as_str(), &text, place)
                .hint("restore it from version control, or delete it to begin anew");
            Error::of(RecipeErrorKind::Manifest, vec![diagnostic])
        })?;
        if record.version != VERSION {
            let message = format!("`{path}` has version {}, not {VERSION}", record.version);
            return Err(
                Error::new(RecipeErrorKind::Unsupported, message).hint("use a newer drawloom")
            );
        }
        Ok(Some(record))
    }

    /// Adds the record of a run to the changes that make its files, so both are there or neither.
    pub(crate) fn add_to(
        changes: &mut ChangeSet,
        session: &RecipeSession<'_>,
        known: &KnownInputs,
        walked: &PassResult,
    ) -> Result<(), Error> {
        let recipe = &session.unit.recipe;
        let mut files = BTreeMap::new();
        for effect in &walked.found.effects {
            let (path, bytes) = match effect {
                Effect::Write(write) if write.generated => (&write.path, &write.content),
                Effect::Unchanged {
                    path,
                    generated: Some(bytes),
                    ..
                } => (path, bytes),
                _ => continue,
            };
            if let Ok(text) = std::str::from_utf8(bytes) {
                files.insert(path.clone(), text.to_owned());
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let run = RecordedRun {
            values: session.values(walked),
            answers: known
                .answers
                .iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            questions: known.questions.clone(),
            files,
        };
        let record = Self::read(session.root, recipe)?;
        let mut record = record.unwrap_or_else(|| Self::new(recipe));
        record.templates.extend(walked.found.templates.clone());
        record.recipe_version.clone_from(&recipe.manifest.version);
        record.put(run);
        record.write_to(changes, recipe)
    }

    pub(crate) fn write_to(&self, changes: &mut ChangeSet, recipe: &Recipe) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::new(RecipeErrorKind::Io, error.to_string()))?;
        text.push('\n');
        changes.write(path_of(recipe)?, text);
        Ok(())
    }

    fn new(recipe: &Recipe) -> Self {
        Self {
            version: VERSION,
            recipe: recipe.id.clone(),
            recipe_version: None,
            templates: BTreeMap::new(),
            runs: Vec::new(),
        }
    }

    /// Takes over a run; the newest word about a file counts.
    fn put(&mut self, mut run: RecordedRun) {
        // A file that was skipped this time keeps the base it had.
        for (path, base) in self
            .runs
            .iter()
            .filter(|other| other.values == run.values)
            .flat_map(|o| &o.files)
        {
            run.files
                .entry(path.clone())
                .or_insert_with(|| base.clone());
        }
        self.runs.retain(|other| other.values != run.values);
        for other in &mut self.runs {
            other.files.retain(|path, _| !run.files.contains_key(path));
        }
        self.runs.retain(|other| !other.files.is_empty());
        self.runs.push(run);
    }
}

fn path_of(recipe: &Recipe) -> Result<RelPath, Error> {
    let id = recipe.id.as_str();
    let own = [".drawloom/recipes/", ".drawloom/kits/"];
    let short = own
        .iter()
        .find_map(|prefix| id.strip_prefix(prefix))
        .unwrap_or(id);
    let name = match &recipe.origin {
        // A path of this machine says nothing on another; its end and a hash do.
        RecipeOrigin::Outside { kit: None } => {
            let digest = Sha256::digest(id.as_bytes());
            let hash: String = digest
                .iter()
                .take(4)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let end = id
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or("recipe");
            format!("{end}-{hash}")
        }
        _ if short.is_empty() || short == "." => "recipe".to_owned(),
        _ => short
            .trim_end_matches(".yml")
            .trim_end_matches(".yaml")
            .to_owned(),
    };
    Ok(RelPath::parse(&format!("{RECORDS_DIR}/{name}.json"))?)
}
