//! `shell` and `action`: commands as effects, and exports that wait for them.
//!
//! A command whose result nobody needs runs after all files are in place. One whose result is
//! exported is a barrier: while performing, everything decided before it is done first, then it
//! runs, then the walk goes on with what it gave. While planning nothing runs, and the exported
//! names are unknown.

use std::rc::Rc;

use expr::Value;
use serde_json::{Map, Value as Json, json};
use workspace::RelPath;

use super::data::placed;
use super::put::{Put, Putting};
use super::{At, Certainty, ExportAs, Outcome, Stage, Walk};
use crate::effect::{Command, Effect, Run, What};
use crate::error::{Error, Kind};
use crate::evaluate::{Over, Site};
use crate::manifest::{Action, Shell, ShellCommand, Step, Text, Tool};
use crate::perform::CommandResult;
use crate::scope::Scope;
use crate::unit::Unit;
use crate::unknown::Why;

/// Exports that wait for a command.
pub(super) struct Waiting {
    command: usize,
    unit: Rc<Unit>,
    step: Step,
    scope: Scope,
    export_as: ExportAs,
}

/// A command before the step's own settings are added.
pub(super) struct Wish {
    pub(super) what: What,
    pub(super) cwd: RelPath,
    pub(super) env: Vec<(String, Text)>,
    pub(super) stdin: Option<String>,
    pub(super) may_fail: bool,
}

impl Walk<'_> {
    pub(super) fn shell(&mut self, at: &mut At<'_>, tool: &Shell) -> Result<Outcome, Error> {
        let what = match &tool.command {
            ShellCommand::Line(text) => self.line(at, at.unit.site(), text)?,
            ShellCommand::Words(texts) => self.words(at, at.unit.site(), texts)?,
        };
        let Some(cwd) = self.directory(at, tool.cwd.as_ref())? else {
            return Ok(Outcome::Later);
        };
        let Some(what) = what else {
            return Ok(Outcome::Later);
        };
        let env = tool.env.clone();
        self.command(
            at,
            Wish {
                what,
                cwd,
                env,
                stdin: None,
                may_fail: false,
            },
        )
    }

    /// A line for `sh` with its values, unless one of them is missing. A line that no value can be
    /// put into is refused while planning, whatever the values are.
    fn line(&mut self, at: &At<'_>, site: Site<'_>, text: &Text) -> Result<Option<What>, Error> {
        let evaluator = &at.unit.evaluator;
        evaluator.check_command(site, text)?;
        let answers = &self.known.answers;
        let (line, certainty) = self.guard(|| {
            let state = at.scope.state();
            evaluator.command(site, text, Over { state, answers })
        })?;
        Ok((certainty != Certainty::Later).then_some(What::Shell(line)))
    }

    /// A program and its arguments: each text is one word, and a text that is one `{{ }}` with a list
    /// gives a word for each item.
    fn words(
        &mut self,
        at: &At<'_>,
        site: Site<'_>,
        texts: &[Text],
    ) -> Result<Option<What>, Error> {
        at.unit.evaluator.check_words(site, texts)?;
        let mut words = Vec::new();
        for text in texts {
            let (value, certainty) =
                self.value(at, &Json::String(text.text.clone()), text.place)?;
            if certainty == Certainty::Later {
                return Ok(None);
            }
            let items = match value {
                Json::Array(items) => items,
                one => vec![one],
            };
            words.extend(items.into_iter().map(|item| match item {
                Json::String(word) => word,
                other => other.to_string(),
            }));
        }
        for word in &words {
            expr::shell::check_value(0, word).map_err(|refusal| {
                let message = format!("a word of this command cannot be used: {refusal}");
                let error = Error::new(Kind::Manifest, message).hint(refusal.hint);
                error.at(
                    site.file,
                    site.source,
                    texts.first().map(|text| text.place).unwrap_or_default(),
                )
            })?;
        }
        Ok(Some(What::Program(words)))
    }

    /// The command a template's `sh` or `argv` asks for.
    pub(super) fn template_shell(
        &mut self,
        at: &At<'_>,
        (site, command): (Site<'_>, &ShellCommand),
        body: String,
        may_fail: bool,
    ) -> Result<(), Error> {
        let what = match command {
            ShellCommand::Line(text) => self.line(at, site, text)?,
            ShellCommand::Words(texts) => self.words(at, site, texts)?,
        };
        let Some(what) = what else {
            return Ok(());
        };
        let cwd = RelPath::root();
        let wish = Wish {
            what,
            cwd,
            env: Vec::new(),
            stdin: Some(body),
            may_fail,
        };
        self.command(at, wish).map(drop)
    }

    pub(super) fn action(&mut self, at: &mut At<'_>, tool: &Action) -> Result<Outcome, Error> {
        let Some(mut words) = self.action_words(at, &tool.command)? else {
            return Ok(Outcome::Later);
        };
        // A file of the recipe's own is named by its path in the recipe, in every place.
        for (index, word) in words.iter_mut().enumerate() {
            let found = match index {
                0 => at.unit.files.find_file(word)?,
                _ => at.unit.files.find_own(word)?,
            };
            if let Some(file) = found {
                let path = at.unit.files.base().path().join(file.as_path());
                *word = path.display().to_string();
            }
        }
        let parameters = Json::Object(tool.parameters.clone());
        let (parameters, certainty) = self.value(at, &parameters, at.step.place)?;
        let Some(cwd) = self.directory(at, tool.cwd.as_ref())? else {
            return Ok(Outcome::Later);
        };
        if certainty == Certainty::Later {
            return Ok(Outcome::Later);
        }
        let variables: Map<String, Json> = at.scope.variables();
        let input = json!({
            "parameters": parameters,
            "variables": variables,
            "project": self.project.root().path(),
            "step": at.step.name,
        });
        let stdin = Some(format!("{input}\n"));
        let what = What::Program(words);
        self.command(
            at,
            Wish {
                what,
                cwd,
                env: Vec::new(),
                stdin,
                may_fail: false,
            },
        )
    }

    /// The program of an action and its arguments; one text is split as a shell would.
    fn action_words(&mut self, at: &At<'_>, texts: &[Text]) -> Result<Option<Vec<String>>, Error> {
        let (evaluator, site) = (&at.unit.evaluator, at.unit.site());
        let [text] = texts else {
            return Ok(match self.words(at, site, texts)? {
                Some(What::Program(words)) => Some(words),
                _ => None,
            });
        };
        evaluator.check_split(site, text)?;
        let answers = &self.known.answers;
        let (words, certainty) = self.guard(|| {
            let state = at.scope.state();
            evaluator.split_words(site, text, Over { state, answers })
        })?;
        Ok((certainty != Certainty::Later).then_some(words))
    }

    fn directory(&mut self, at: &At<'_>, text: Option<&Text>) -> Result<Option<RelPath>, Error> {
        match text {
            Some(text) => self.data_path(at, text),
            None => Ok(Some(RelPath::root())),
        }
    }

    pub(super) fn command(&mut self, at: &At<'_>, wish: Wish) -> Result<Outcome, Error> {
        let mut env = Vec::new();
        for (name, text) in at.step.environment.iter().chain(&wish.env) {
            let (value, certainty) = self.text(at, text)?;
            if certainty == Certainty::Later {
                return Ok(Outcome::Later);
            }
            env.push((name.clone(), value));
        }
        self.commands += 1;
        let id = self.commands;
        let command = Command {
            id,
            step: at.step.name.clone(),
            what: wish.what,
            cwd: wish.cwd,
            env,
            stdin: wish.stdin,
            timeout: at.step.timeout,
            retries: at.step.retries,
            prints_data: matches!(at.step.tool, Tool::Action(_)),
            continue_on_error: at.step.continue_on_error || wish.may_fail,
            outside: at.unit.is_foreign,
            file: at.unit.recipe.file.clone(),
            line: at.step.place.line,
        };
        let run = Run::One(Box::new(command));
        self.found.effects.push(Effect::Run(run.clone()));
        self.push_run(run);
        Ok(Outcome::Command(id))
    }

    /// Turns a step's result into variables, now or once its command has run.
    pub(super) fn export(
        &mut self,
        at: At<'_>,
        outcome: Outcome,
        scope: &mut Scope,
        export_as: ExportAs,
    ) -> Result<(), Error> {
        match outcome {
            Outcome::Later => {
                self.found.unsettled = true;
                for (name, _) in &at.step.exports {
                    scope.set_unknown(name, Why::Asked, Value::from(""), &self.tracker);
                }
                Ok(())
            }
            Outcome::Value(result) => self.exports(&at, &result, scope, export_as),
            Outcome::Command(command) => {
                let gives_files = matches!(at.step.tool, Tool::Action(_));
                if at.step.exports.is_empty() && !gives_files {
                    return Ok(());
                }
                let At {
                    unit,
                    step,
                    scope: own,
                } = at;
                let (unit, step) = (unit.clone(), step.clone());
                self.waiting.push(Waiting {
                    command,
                    unit,
                    step,
                    scope: own,
                    export_as,
                });
                if self.is_in_parallel() {
                    Ok(())
                } else {
                    self.settle(scope)
                }
            }
        }
    }

    /// Lets everything that waits for commands have its results.
    pub(super) fn settle(&mut self, scope: &mut Scope) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        if self.is_planning() {
            self.found.barriers += waiting.len();
            for wait in &waiting {
                for (name, _) in &wait.step.exports {
                    let stand_in = format!("<{name}, known once `{}` has run>", wait.step.name);
                    let stand_in = Value::from(stand_in);
                    let stand_in = match wait.export_as {
                        ExportAs::Value => stand_in,
                        ExportAs::Item(_) => Value::array(vec![stand_in]),
                    };
                    scope.set_unknown(name, Why::Command, stand_in, &self.tracker);
                }
            }
            return Ok(());
        }
        let runs = self.drain_runs();
        let changes = self.project.take_pending();
        let Stage::Performing(performer) = &mut self.stage else {
            return Ok(());
        };
        performer.perform(&changes, &runs)?;
        for wait in waiting {
            let Stage::Performing(performer) = &self.stage else {
                return Ok(());
            };
            let result = performer.result(wait.command).cloned().unwrap_or_default();
            self.deliver(wait, &result, scope)?;
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        wait: Waiting,
        result: &CommandResult,
        scope: &mut Scope,
    ) -> Result<(), Error> {
        let Waiting {
            unit,
            step,
            scope: own,
            export_as,
            ..
        } = wait;
        let at = At {
            unit: &unit,
            step: &step,
            scope: own,
        };
        let mut value = json!({
            "exitCode": result.exit_code,
            "stdout": result.stdout,
            "stderr": result.stderr,
        });
        if matches!(step.tool, Tool::Action(_)) && result.exit_code == Some(0) {
            value = self.action_result(&at, &result.stdout, scope)?;
        }
        self.exports(&at, &value, scope, export_as)
    }

    /// Reads what an action printed: `exports` become variables, `files` become files.
    fn action_result(
        &mut self,
        at: &At<'_>,
        stdout: &str,
        scope: &mut Scope,
    ) -> Result<Json, Error> {
        if stdout.trim().is_empty() {
            return Ok(Json::Null);
        }
        let value: Json = serde_json::from_str(stdout).map_err(|error| {
            let message = format!(
                "the action of step `{}` printed no JSON: {error}",
                at.step.name
            );
            let error = at.unit.error(Kind::Template, at.step.place, message);
            error.hint("an action prints one JSON object; messages belong on stderr")
        })?;
        for (name, value) in value
            .get("exports")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            scope.set_json(name, value);
        }
        for (path, content, executable) in action_files(&value) {
            let parsed = RelPath::parse(&path).map_err(Error::from);
            let text = Text {
                text: path,
                place: at.step.place,
            };
            let path = parsed.map_err(|error| placed(at, error, &text))?;
            let how = Putting::Add {
                force: false,
                unless_exists: false,
            };
            let certainty = Certainty::Sure;
            self.put(
                at,
                Put {
                    path,
                    content: content.into_bytes(),
                    executable,
                    how,
                    certainty,
                },
            )?;
        }
        Ok(value)
    }

    fn exports(
        &mut self,
        at: &At<'_>,
        result: &Json,
        scope: &mut Scope,
        export_as: ExportAs,
    ) -> Result<(), Error> {
        if at.step.exports.is_empty() {
            return Ok(());
        }
        let mut own = at.scope.clone();
        own.set_json("result", result);
        own.set("status", Value::from("completed"));
        let over = At {
            unit: at.unit,
            step: at.step,
            scope: own,
        };
        for (name, text) in &at.step.exports {
            let is_template =
                text.text.contains("{{") && crate::evaluate::mustache(&text.text).is_none();
            let (value, certainty) = match is_template {
                true => {
                    let (text, certainty) = self.text(&over, text)?;
                    (Value::from(text.trim()), certainty)
                }
                false => self.expression(&over, text)?,
            };
            let value = match export_as {
                ExportAs::Value => value,
                ExportAs::Item(index) => appended(scope, name, value, index),
            };
            match certainty {
                Certainty::Sure => scope.set(name, value),
                Certainty::AfterCommand => {
                    scope.set_unknown(name, Why::Command, value, &self.tracker)
                }
                Certainty::Later => scope.set_unknown(name, Why::Asked, value, &self.tracker),
            }
        }
        Ok(())
    }
}

/// The list a step's exports make, one element for each item.
fn appended(scope: &Scope, name: &str, value: Value, index: usize) -> Value {
    match scope.state().get(name) {
        Some(Value::Array(items)) if index > 0 => {
            let mut items = items.borrow().clone();
            items.push(value);
            Value::array(items)
        }
        _ => Value::array(vec![value]),
    }
}

/// `files: { "path": "text" }` or `files: [{ path, content, executable }]`.
fn action_files(value: &Json) -> Vec<(String, String, bool)> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    match value.get("files") {
        Some(Json::Object(map)) => map
            .iter()
            .filter_map(|(path, content)| Some((path.clone(), text(content)?, false)))
            .collect(),
        Some(Json::Array(files)) => files
            .iter()
            .filter_map(|file| {
                let executable = file.get("executable").and_then(Json::as_bool);
                let (path, content) = (text(file.get("path")?)?, text(file.get("content")?)?);
                Some((path, content, executable.unwrap_or(false)))
            })
            .collect(),
        _ => Vec::new(),
    }
}
