//! The one way into a test: [`Case`] describes the project and the request, [`Ran`] the outcome.

use std::collections::BTreeMap;
use std::path::Path;

use recipe::{
    ConflictDecision, Error, FileConflict, GivenValues, RecipeEvent, RecipeHost, RecipeRunOutcome,
    RecipeRunReport, RecipeRunRequest, RecipeTrust, ValueCheck, VariablePrompt, load, run,
};
use serde_json::Value;
use workspace::Root;

/// Where a case's recipe is, unless it says otherwise.
pub(crate) const RECIPE: &str = ".drawloom/recipes/it";

/// A project, a command line and answers.
pub(crate) struct Case {
    files: BTreeMap<String, String>,
    pub(crate) recipe: String,
    pub(crate) request: RecipeRunRequest,
    pub(crate) host: Person,
}

/// A person who answers from a list.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) answers: Vec<(&'static str, Value)>,
    pub(crate) asked: Vec<VariablePrompt>,
    /// Why values were refused.
    pub(crate) refused: Vec<String>,
    pub(crate) decision: Option<ConflictDecision>,
    pub(crate) events: Vec<String>,
}

/// The outcome of a case. The project lives as long as this does.
pub(crate) struct Ran {
    pub(crate) outcome: Result<RecipeRunOutcome, Error>,
    pub(crate) host: Person,
    dir: tempfile::TempDir,
    before: BTreeMap<String, String>,
}

/// A case whose recipe has these steps.
pub(crate) fn steps(steps: &str) -> Case {
    recipe(&format!("name: it\nsteps:\n{steps}"))
}

/// A case with this manifest.
pub(crate) fn recipe(manifest: &str) -> Case {
    let mut request = RecipeRunRequest {
        rerun_command: "drawloom run it --answers answers.json".to_owned(),
        answers_path: "answers.json".to_owned(),
        ..RecipeRunRequest::default()
    };
    request.trust = RecipeTrust::Asked;
    let case = Case {
        files: BTreeMap::new(),
        recipe: RECIPE.to_owned(),
        request,
        host: Person::default(),
    };
    case.file(&format!("{RECIPE}/recipe.yml"), manifest)
}

impl Case {
    /// A file of the project.
    pub(crate) fn file(mut self, path: &str, content: &str) -> Self {
        self.files.insert(path.to_owned(), content.to_owned());
        self
    }

    /// A template of the recipe.
    pub(crate) fn template(self, name: &str, content: &str) -> Self {
        self.file(&format!("{RECIPE}/templates/{name}"), content)
    }

    pub(crate) fn args(mut self, line: &str) -> Self {
        self.request.values = given(line);
        self
    }

    pub(crate) fn answers(mut self, answers: Value) -> Self {
        let read = prompt::Answers::read(&answers.to_string(), "answers.json").unwrap();
        self.request.answers = Some(read);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut RecipeRunRequest)) -> Self {
        change(&mut self.request);
        self
    }

    pub(crate) fn person(mut self, host: Person) -> Self {
        self.request.ask_missing = recipe::AskMissing::Person;
        self.host = host;
        self
    }

    pub(crate) fn run(self) -> Ran {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in &self.files {
            write(dir.path(), path, content);
        }
        self.run_in(dir)
    }

    /// Runs in a project that is there already.
    pub(crate) fn run_in(mut self, dir: tempfile::TempDir) -> Ran {
        let before = read_all(dir.path());
        let root = Root::open(dir.path()).unwrap();
        let outcome = load(&root, &dir.path().join(&self.recipe))
            .and_then(|recipe| run(&recipe, &root, &self.request, &mut self.host));
        Ran {
            outcome,
            host: self.host,
            dir,
            before,
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn done(&self) -> &RecipeRunReport {
        match &self.outcome {
            Ok(RecipeRunOutcome::Done(report)) => report,
            Ok(RecipeRunOutcome::AnswersNeeded(needed)) => {
                panic!("answers needed:\n{}", needed.document)
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => panic!("{}", error.report()),
        }
    }

    #[track_caller]
    pub(crate) fn needed(&self) -> &recipe::NeededAnswers {
        match &self.outcome {
            Ok(RecipeRunOutcome::AnswersNeeded(needed)) => needed,
            Ok(other) => panic!("{other:?}"),
            Err(error) => panic!("{}", error.report()),
        }
    }

    #[track_caller]
    pub(crate) fn shown(&self) -> &recipe::DryRunPlan {
        match &self.outcome {
            Ok(RecipeRunOutcome::Shown(plan)) => plan,
            Ok(other) => panic!("{other:?}"),
            Err(error) => panic!("{}", error.report()),
        }
    }

    /// The error, on the way making sure that the project is as it was.
    #[track_caller]
    pub(crate) fn failed(&self) -> &Error {
        match &self.outcome {
            Err(error) => {
                self.is_untouched();
                error
            }
            Ok(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn is_untouched(&self) {
        assert_eq!(
            read_all(self.path()),
            self.before,
            "the project is not as before"
        );
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn into_dir(self) -> tempfile::TempDir {
        self.dir
    }

    #[track_caller]
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}\n{}", self.statuses()))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// `created a.ts, skipped b.ts`
    #[track_caller]
    pub(crate) fn statuses(&self) -> String {
        let Ok(RecipeRunOutcome::Done(report)) = &self.outcome else {
            return format!("{:?}", self.outcome);
        };
        let files = report
            .files
            .iter()
            .map(|f| format!("{} {}", f.status.as_str(), f.path));
        files.collect::<Vec<_>>().join(", ")
    }

    #[track_caller]
    pub(crate) fn assert_files(&self, expected: &[(&str, &str)]) {
        self.done();
        for (path, content) in expected {
            assert_eq!(self.text(path), *content, "{path}");
        }
    }
}

impl RecipeHost for Person {
    fn ask(&mut self, ask: &VariablePrompt, check: &ValueCheck<'_>) -> Option<Value> {
        self.asked.push(ask.clone());
        let at = self
            .answers
            .iter()
            .position(|(name, _)| *name == ask.name)?;
        let value = self.answers.remove(at).1;
        self.refused.extend(check(&value).err());
        Some(value)
    }

    fn resolve(&mut self, _: &FileConflict) -> Option<ConflictDecision> {
        self.decision
    }

    fn event(&mut self, event: RecipeEvent<'_>) {
        self.events.push(match event {
            RecipeEvent::CommandLine { line, .. } => line.to_owned(),
            other => format!("{other:?}"),
        });
    }
}

pub(crate) fn write(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Every file below a directory, without what an apply leaves behind.
pub(crate) fn read_all(dir: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(current) = open.pop() {
        for entry in std::fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            if name.starts_with(".drawloom/apply") {
                continue;
            }
            if path.is_symlink() {
                files.insert(name, "<symlink>".to_owned());
            } else if path.is_dir() {
                files.insert(format!("{name}/"), String::new());
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    // A project that had no `.drawloom` may have an empty one afterwards.
    files.remove(".drawloom/");
    files
}

fn given(line: &str) -> GivenValues {
    let mut given = GivenValues::default();
    let mut words = shlex(line).into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else {
            given.positional.push(word);
            continue;
        };
        let (name, values) = match name.split_once('=') {
            Some((name, value)) => (name.to_owned(), vec![value.to_owned()]),
            None => {
                let value = words.next_if(|next| !next.starts_with("--"));
                (name.to_owned(), value.into_iter().collect())
            }
        };
        given.named.push((name, values));
    }
    given
}

fn shlex(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
