//! `shell` and `action`: commands as effects, and exports that wait for them.
//!
//! A command whose result no step needs runs after all files are in place. One whose result is
//! exported is a barrier: while performing, everything decided before it is done first, then it
//! runs, then the walk goes on with what it gave. While planning nothing runs, and the exported
//! names are unknown.
// tidy: allow long-file, because it is one tool from its words to its exports

use std::rc::Rc;

use expr::Value;
use serde_json::{Map, Value as Json, json};
use workspace::RelPath;

use super::data::placed;
use super::file_placement::{FilePlacement, PlacementMode};
use super::{ExportAs, PassStage, StepContext, StepPass, ToolExport, ValueCertainty};
use crate::effect::{CommandInvocation, CommandTree, Effect, StepCommand};
use crate::error::{Error, RecipeErrorKind};
use crate::evaluate::{EvalInputs, SourceText};
use crate::loaded_recipe::LoadedRecipe;
use crate::manifest::{ActionStep, ManifestText, RecipeStep, ShellCommand, ShellStep, StepTool};
use crate::perform::CommandResult;
use crate::scope::VariableScope;
use crate::unknown_values::UnknownReason;

/// Exports that wait for a command.
pub(super) struct PendingExports {
    command: usize,
    unit: Rc<LoadedRecipe>,
    step: RecipeStep,
    scope: VariableScope,
    export_as: ExportAs,
}

/// A command before the step's own settings are added.
pub(super) struct CommandSpec {
    pub(super) what: CommandInvocation,
    pub(super) cwd: RelPath,
    pub(super) env: Vec<(String, ManifestText)>,
    pub(super) stdin: Option<String>,
    pub(super) may_fail: bool,
}

impl StepPass<'_> {
    pub(super) fn shell(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &ShellStep,
    ) -> Result<ToolExport, Error> {
        let what = match &tool.command {
            ShellCommand::Line(text) => self.line(at, at.unit.site(), text)?,
            ShellCommand::Words(texts) => self.words(at, at.unit.site(), texts)?,
        };
        let Some(cwd) = self.directory(at, tool.cwd.as_ref())? else {
            return Ok(ToolExport::Later);
        };
        let Some(what) = what else {
            return Ok(ToolExport::Later);
        };
        let env = tool.env.clone();
        self.command(
            at,
            CommandSpec {
                what,
                cwd,
                env,
                stdin: None,
                may_fail: false,
            },
        )
    }

    /// Makes a line for `sh` with its values, unless one of them is missing. A line with a place
    /// that no value may fill is refused while planning, before the values are known.
    fn line(
        &mut self,
        at: &StepContext<'_>,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<Option<CommandInvocation>, Error> {
        let evaluator = &at.unit.evaluator;
        evaluator.check_command(site, text)?;
        let answers = &self.known.answers;
        let (line, certainty) = self.guard(|| {
            let state = at.scope.state();
            evaluator.command(site, text, EvalInputs { state, answers })
        })?;
        Ok((certainty != ValueCertainty::Later).then_some(CommandInvocation::Shell(line)))
    }

    /// Renders a program and its arguments: each text is one word, and a text that is one `{{ }}`
    /// with a list gives a word for each item.
    fn words(
        &mut self,
        at: &StepContext<'_>,
        site: SourceText<'_>,
        texts: &[ManifestText],
    ) -> Result<Option<CommandInvocation>, Error> {
        at.unit.evaluator.check_words(site, texts)?;
        let mut words = Vec::new();
        for text in texts {
            let (value, certainty) =
                self.value(at, &Json::String(text.text.clone()), text.place)?;
            if certainty == ValueCertainty::Later {
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
                let error = Error::new(RecipeErrorKind::Manifest, message).hint(refusal.hint);
                error.at(
                    site.file,
                    site.source,
                    texts.first().map(|text| text.place).unwrap_or_default(),
                )
            })?;
        }
        Ok(Some(CommandInvocation::Program(words)))
    }

    /// Adds the command that a template's `sh` or `argv` asks for.
    pub(super) fn template_shell(
        &mut self,
        at: &StepContext<'_>,
        (site, command): (SourceText<'_>, &ShellCommand),
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
        let wish = CommandSpec {
            what,
            cwd,
            env: Vec::new(),
            stdin: Some(body),
            may_fail,
        };
        self.command(at, wish).map(drop)
    }

    pub(super) fn action(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &ActionStep,
    ) -> Result<ToolExport, Error> {
        let Some(mut words) = self.action_words(at, &tool.command)? else {
            return Ok(ToolExport::Later);
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
            return Ok(ToolExport::Later);
        };
        if certainty == ValueCertainty::Later {
            return Ok(ToolExport::Later);
        }
        let variables: Map<String, Json> = at.scope.variables();
        let input = json!({
            "parameters": parameters,
            "variables": variables,
            "project": self.project.root().path(),
            "step": at.step.name,
        });
        let stdin = Some(format!("{input}\n"));
        let what = CommandInvocation::Program(words);
        self.command(
            at,
            CommandSpec {
                what,
                cwd,
                env: Vec::new(),
                stdin,
                may_fail: false,
            },
        )
    }

    /// Renders the program of an action and its arguments; one text is split as a shell would.
    fn action_words(
        &mut self,
        at: &StepContext<'_>,
        texts: &[ManifestText],
    ) -> Result<Option<Vec<String>>, Error> {
        let (evaluator, site) = (&at.unit.evaluator, at.unit.site());
        let [text] = texts else {
            return Ok(match self.words(at, site, texts)? {
                Some(CommandInvocation::Program(words)) => Some(words),
                _ => None,
            });
        };
        evaluator.check_split(site, text)?;
        let answers = &self.known.answers;
        let (words, certainty) = self.guard(|| {
            let state = at.scope.state();
            evaluator.split_words(site, text, EvalInputs { state, answers })
        })?;
        Ok((certainty != ValueCertainty::Later).then_some(words))
    }

    fn directory(
        &mut self,
        at: &StepContext<'_>,
        text: Option<&ManifestText>,
    ) -> Result<Option<RelPath>, Error> {
        match text {
            Some(text) => self.data_path(at, text),
            None => Ok(Some(RelPath::root())),
        }
    }

    pub(super) fn command(
        &mut self,
        at: &StepContext<'_>,
        wish: CommandSpec,
    ) -> Result<ToolExport, Error> {
        let mut env = Vec::new();
        for (name, text) in at.step.environment.iter().chain(&wish.env) {
            let (value, certainty) = self.text(at, text)?;
            if certainty == ValueCertainty::Later {
                return Ok(ToolExport::Later);
            }
            env.push((name.clone(), value));
        }
        self.commands += 1;
        let id = self.commands;
        let command = StepCommand {
            id,
            step: at.step.name.clone(),
            what: wish.what,
            cwd: wish.cwd,
            env,
            stdin: wish.stdin,
            timeout: at.step.timeout,
            retries: at.step.retries,
            prints_data: matches!(at.step.tool, StepTool::Action(_)),
            continue_on_error: at.step.continue_on_error || wish.may_fail,
            outside: at.unit.is_foreign,
            file: at.unit.recipe.file.clone(),
            line: at.step.place.line,
        };
        let run = CommandTree::One(Box::new(command));
        self.found.effects.push(Effect::Run(run.clone()));
        self.push_run(run);
        Ok(ToolExport::Command(id))
    }

    /// Turns a step's result into variables, now or once its command has run.
    pub(super) fn export(
        &mut self,
        at: StepContext<'_>,
        outcome: ToolExport,
        scope: &mut VariableScope,
        export_as: ExportAs,
    ) -> Result<(), Error> {
        match outcome {
            ToolExport::Later => {
                self.found.unsettled = true;
                for (name, _) in &at.step.exports {
                    scope.set_unknown(name, UnknownReason::Asked, Value::from(""), &self.tracker);
                }
                Ok(())
            }
            ToolExport::Value(result) => self.exports(&at, &result, scope, export_as),
            ToolExport::Command(command) => {
                let gives_files = matches!(at.step.tool, StepTool::Action(_));
                if at.step.exports.is_empty() && !gives_files {
                    return Ok(());
                }
                let StepContext {
                    unit,
                    step,
                    scope: own,
                } = at;
                let (unit, step) = (unit.clone(), step.clone());
                self.waiting.push(PendingExports {
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
    pub(super) fn settle(&mut self, scope: &mut VariableScope) -> Result<(), Error> {
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
                    scope.set_unknown(name, UnknownReason::Command, stand_in, &self.tracker);
                }
            }
            return Ok(());
        }
        let runs = self.drain_runs();
        let changes = self.project.take_pending();
        let PassStage::Performing(performer) = &mut self.stage else {
            return Ok(());
        };
        performer.perform(&changes, &runs)?;
        for wait in waiting {
            let PassStage::Performing(performer) = &self.stage else {
                return Ok(());
            };
            let result = performer.result(wait.command).cloned().unwrap_or_default();
            self.deliver(wait, &result, scope)?;
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        wait: PendingExports,
        result: &CommandResult,
        scope: &mut VariableScope,
    ) -> Result<(), Error> {
        let PendingExports {
            unit,
            step,
            scope: own,
            export_as,
            ..
        } = wait;
        let at = StepContext {
            unit: &unit,
            step: &step,
            scope: own,
        };
        let mut value = json!({
            "exitCode": result.exit_code,
            "stdout": result.stdout,
            "stderr": result.stderr,
        });
        if matches!(step.tool, StepTool::Action(_)) && result.exit_code == Some(0) {
            value = self.action_result(&at, &result.stdout, scope)?;
        }
        self.exports(&at, &value, scope, export_as)
    }

    /// Reads what an action printed: `exports` become variables, `files` become files.
    fn action_result(
        &mut self,
        at: &StepContext<'_>,
        stdout: &str,
        scope: &mut VariableScope,
    ) -> Result<Json, Error> {
        if stdout.trim().is_empty() {
            return Ok(Json::Null);
        }
        let value: Json = serde_json::from_str(stdout).map_err(|error| {
            let message = format!(
                "the action of step `{}` printed no JSON: {error}",
                at.step.name
            );
            let error = at
                .unit
                .error(RecipeErrorKind::Template, at.step.place, message);
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
            let text = ManifestText {
                text: path,
                place: at.step.place,
            };
            let path = parsed.map_err(|error| placed(at, error, &text))?;
            let how = PlacementMode::Add {
                force: false,
                unless_exists: false,
            };
            let certainty = ValueCertainty::Sure;
            self.put(
                at,
                FilePlacement {
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
        at: &StepContext<'_>,
        result: &Json,
        scope: &mut VariableScope,
        export_as: ExportAs,
    ) -> Result<(), Error> {
        if at.step.exports.is_empty() {
            return Ok(());
        }
        let mut own = at.scope.clone();
        own.set_json("result", result);
        own.set("status", Value::from("completed"));
        let over = StepContext {
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
                ValueCertainty::Sure => scope.set(name, value),
                ValueCertainty::AfterCommand => {
                    scope.set_unknown(name, UnknownReason::Command, value, &self.tracker)
                }
                ValueCertainty::Later => {
                    scope.set_unknown(name, UnknownReason::Asked, value, &self.tracker)
                }
            }
        }
        Ok(())
    }
}

/// Adds an element to the list that a step's exports make, one for each item.
fn appended(scope: &VariableScope, name: &str, value: Value, index: usize) -> Value {
    match scope.state().get(name) {
        Some(Value::Array(items)) if index > 0 => {
            let mut items = items.borrow().clone();
            items.push(value);
            Value::array(items)
        }
        _ => Value::array(vec![value]),
    }
}

/// Reads `files: { "path": "text" }` or `files: [{ path, content, executable }]`.
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
