//! `ai`: asks one question of the recipe itself, and writes or exports the answer.
//!
//! The question joins those of the templates: it is asked in the same rounds, answered in the same
//! document and checked by the same rules. A step whose words depend on an answer that is missing
//! waits for it, whatever word it is.

use prompt::{AnswerKind, GuardedSyntax, Guardrails, Question, QuestionSource};
use serde_json::{Value as Json, json};
use workspace::RelPath;

use super::directives::{DirectiveSource, with_end};
use super::{StepContext, StepPass, ToolExport, ValueCertainty};
use crate::context::{self, ContextFiles, ContextRequest};
use crate::effect::Effect;
use crate::error::{Error, FileSpan, RecipeErrorKind};
use crate::evaluate::EvalInputs;
use crate::frontmatter::{FileDirectives, ToDirective};
use crate::manifest::{AiExample, AiPrompt, AiSchema, AiStep, CONTEXT_TOKENS_DEFAULT, SyntaxRule};
use crate::manifest::{ManifestText, RecipeStep};
use crate::structured;

/// Longest item of a `forEach` that becomes part of a key.
const ITEM_KEY_BYTES_MAX: usize = 64;

/// Target of the answer.
enum AnswerDestination {
    /// To variables only.
    Nowhere,
    To(RelPath),
    /// There is a file already, or a condition says no.
    Skipped,
}

/// Renders the texts of a step, as far as their values are known.
struct StepTexts<'w, 'a, 's> {
    walk: &'w mut StepPass<'a>,
    at: &'w StepContext<'s>,
    certainty: ValueCertainty,
}

impl StepPass<'_> {
    pub(super) fn ai(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &AiStep,
    ) -> Result<ToolExport, Error> {
        let sheet = DirectiveSource {
            site: at.unit.site(),
            frontmatter: &tool.directives,
            executable: false,
        };
        let key = self.ai_key(at, tool)?;
        let (rendered, certainty) = self.attributes(at, &sheet)?;
        if certainty == ValueCertainty::Later {
            return Ok(self.ai_later(key));
        }
        let directives = tool.directives.directives(sheet.site.file, &rendered)?;
        let goes = self.ai_target(at, &sheet, &directives)?;
        if matches!(goes, AnswerDestination::Skipped) {
            return Ok(ToolExport::Value(
                json!({ "value": null, "text": null, "files": [] }),
            ));
        }
        let Some(key) = key else {
            return Ok(self.ai_later(None));
        };
        let question = self.ai_question(at, tool, (&key, &goes, directives.inject.is_some()))?;
        let Some(question) = question else {
            return Ok(self.ai_later(Some(key)));
        };
        let asked = self.found.questionnaire.ask(question);
        asked.map_err(|error| {
            let kind = match error {
                prompt::Error::TooLarge { .. } => RecipeErrorKind::Limit,
                _ => RecipeErrorKind::Manifest,
            };
            at.unit.error(kind, at.step.place, error.to_string())
        })?;
        let Some(value) = self.known.answers.get(&key).cloned() else {
            if let AnswerDestination::To(path) = goes {
                self.expected.insert(path);
            }
            return Ok(ToolExport::Later);
        };
        self.ai_answered(at, value, (&sheet, &directives, goes), certainty)
    }

    /// Postpones the step, because a text of it depends on a missing answer.
    fn ai_later(&mut self, key: Option<String>) -> ToolExport {
        self.found.postponed.insert(key.unwrap_or_default());
        self.found.unsettled = true;
        ToolExport::Later
    }

    /// Puts an answer where it goes.
    fn ai_answered(
        &mut self,
        at: &StepContext<'_>,
        value: Json,
        (sheet, directives, goes): (&DirectiveSource<'_>, &FileDirectives, AnswerDestination),
        certainty: ValueCertainty,
    ) -> Result<ToolExport, Error> {
        let first = self.found.effects.len();
        let text = match &value {
            Json::Null => None,
            Json::String(text) => Some(text.clone()),
            other => Some(format!("{other:#}")),
        };
        match (goes, &text) {
            (AnswerDestination::To(path), Some(text)) => {
                let body = with_end(text.clone(), directives.eof_last.or(Some(true)));
                self.place(at, path, (sheet, directives), (&body, certainty))?;
            }
            (AnswerDestination::To(path), None) => {
                self.skip(at, path.as_str(), "the question was left out".to_owned());
            }
            _ => {}
        }
        let written = self.found.effects[first..]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Write(write) => Some(write.path.as_str()),
                _ => None,
            });
        let files: Vec<&str> = written.collect();
        Ok(ToolExport::Value(
            json!({ "value": value, "text": text, "files": files }),
        ))
    }

    fn ai_target(
        &mut self,
        at: &StepContext<'_>,
        sheet: &DirectiveSource<'_>,
        directives: &FileDirectives,
    ) -> Result<AnswerDestination, Error> {
        let ToDirective::Path(text) = &directives.to else {
            return Ok(match directives.to {
                ToDirective::Nowhere => AnswerDestination::Skipped,
                _ => AnswerDestination::Nowhere,
            });
        };
        let path = self.target_path((&RelPath::root(), text), sheet)?;
        match self.is_skipped(at, &path, directives)? {
            true => Ok(AnswerDestination::Skipped),
            false => Ok(AnswerDestination::To(path)),
        }
    }

    /// Returns the key of the answer; `None` while it depends on another answer.
    fn ai_key(&mut self, at: &StepContext<'_>, tool: &AiStep) -> Result<Option<String>, Error> {
        let Some(text) = &tool.key else {
            return Ok(Some(default_key(at, tool)));
        };
        let (key, certainty) = self.text(at, text)?;
        match certainty {
            ValueCertainty::Later => Ok(None),
            ValueCertainty::AfterCommand if self.is_planning() => {
                let message = "the key of a question cannot depend on what a command prints";
                let error = at
                    .unit
                    .error(RecipeErrorKind::Manifest, text.place, message);
                Err(error.hint("questions are asked before commands run"))
            }
            _ => Ok(Some(key.trim().to_owned())),
        }
    }

    /// Makes the question, unless something in it waits for an answer.
    fn ai_question(
        &mut self,
        at: &StepContext<'_>,
        tool: &AiStep,
        (key, goes, injects): (&str, &AnswerDestination, bool),
    ) -> Result<Option<Question>, Error> {
        let source = QuestionSource {
            file: at.unit.recipe.file.clone(),
            line: at.step.place.line,
        };
        let mut question = Question::new(key, source);
        let path = match goes {
            AnswerDestination::To(path) => Some(path),
            _ => None,
        };
        question.guardrails = guardrails(at, tool, path.filter(|_| !injects))?;
        let mut words = StepTexts {
            walk: self,
            at,
            certainty: ValueCertainty::Sure,
        };
        question.prompt = words.prompt(&tool.prompt)?;
        question.kind = words.kind(tool, path, question.guardrails.syntax)?;
        question.schema = words.schema(tool)?;
        question.contexts = words.contexts(tool)?;
        question.format = words.format(tool, &question)?;
        for example in &tool.examples {
            question.examples.push(words.example(example)?);
        }
        let certainty = words.certainty;
        question.required = tool.required;
        question.retries = tool.retries;
        if certainty == ValueCertainty::Later {
            return Ok(None);
        }
        if question.prompt.trim().is_empty() {
            let place = match &tool.prompt {
                AiPrompt::Text(text) | AiPrompt::File(text) => text.place,
            };
            let message = format!("the prompt of the question `{key}` is empty");
            return Err(at.unit.error(RecipeErrorKind::Template, place, message));
        }
        Ok(Some(question))
    }
}

impl StepTexts<'_, '_, '_> {
    fn text(&mut self, text: &ManifestText) -> Result<String, Error> {
        let (text, certainty) = self.walk.text(self.at, text)?;
        self.certainty = self.certainty.max(certainty);
        Ok(text)
    }

    fn value(&mut self, value: &Json, place: FileSpan) -> Result<Json, Error> {
        let (value, certainty) = self.walk.value(self.at, value, place)?;
        self.certainty = self.certainty.max(certainty);
        Ok(value)
    }

    fn prompt(&mut self, prompt: &AiPrompt) -> Result<String, Error> {
        let name = match prompt {
            AiPrompt::Text(text) => return self.text(text),
            AiPrompt::File(name) => name,
        };
        let unit = self.at.unit;
        let written = self.text(name)?;
        if self.certainty == ValueCertainty::Later {
            return Ok(String::new());
        }
        let path = recipe_file(self.at, name, written.trim())?;
        let file = unit.template(&path)?;
        if let Some(key) = file.frontmatter.attributes.keys().next() {
            let message = format!("`{}` is a prompt and cannot have `{key}`", file.file);
            let error = unit.error(RecipeErrorKind::Manifest, name.place, message);
            return Err(error.hint("say where the answer goes in the step"));
        }
        let hash = file.hash.clone();
        self.walk.found.templates.insert(file.file.clone(), hash);
        let answers = &self.walk.known.answers;
        let state = self.at.scope.state();
        let (text, certainty) = self.walk.guard(|| {
            let mut rendered = unit
                .evaluator
                .render(&file.body, EvalInputs { state, answers })?;
            Ok((std::mem::take(&mut rendered.text), rendered))
        })?;
        self.certainty = self.certainty.max(certainty);
        Ok(text)
    }

    /// Returns the kind the step names, or the one its target wants.
    fn kind(
        &mut self,
        tool: &AiStep,
        path: Option<&RelPath>,
        syntax: Option<GuardedSyntax>,
    ) -> Result<AnswerKind, Error> {
        let of_file = path
            .and_then(RelPath::extension)
            .and_then(GuardedSyntax::of_extension);
        let syntax = syntax.or(of_file);
        let language = tool.language.clone();
        let language = language.or(syntax.map(|syntax| syntax.name().to_owned()));
        let Some(name) = &tool.kind else {
            return Ok(match syntax {
                // A model that answers in JSON gives data, not a text with JSON in it.
                Some(GuardedSyntax::Json) if tool.language.is_none() => AnswerKind::Json,
                Some(_) => AnswerKind::Code { language },
                None if language.is_some() => AnswerKind::Code { language },
                None if tool.schema.is_some() => AnswerKind::Json,
                None => AnswerKind::Text,
            });
        };
        let from = match &tool.from {
            Some(from) => self.value(&from.value, from.place)?,
            None => Json::Array(Vec::new()),
        };
        let place = tool.from.as_ref().map_or(name.place, |from| from.place);
        let (unit, later) = (self.at.unit, self.certainty == ValueCertainty::Later);
        let from = match from {
            Json::Array(from) => from,
            _ if later => Vec::new(),
            _ => return Err(unit.error(RecipeErrorKind::Template, place, "`from` must be a list")),
        };
        let kind = AnswerKind::named(&name.text, from, language);
        kind.map_err(|error| unit.error(RecipeErrorKind::Manifest, name.place, error.to_string()))
    }

    fn schema(&mut self, tool: &AiStep) -> Result<Option<Json>, Error> {
        match &tool.schema {
            None => Ok(None),
            Some(AiSchema::Inline(schema)) => self.value(&schema.value, schema.place).map(Some),
            Some(AiSchema::File(name)) => {
                let written = self.text(name)?;
                if self.certainty == ValueCertainty::Later {
                    return Ok(None);
                }
                let path = recipe_file(self.at, name, written.trim())?;
                let text = self.at.unit.files.base().read_text(&path)?;
                let format = crate::manifest::DataFormat::Json;
                let schema = structured::read(format, &text.unwrap_or_default());
                schema.map(Some).map_err(|error| {
                    let message = format!("`{}` is no schema: {}", name.text, error.message);
                    self.at
                        .unit
                        .error(RecipeErrorKind::Manifest, name.place, message)
                })
            }
        }
    }

    /// Returns the step's own texts, then files within the rest of the budget.
    fn contexts(&mut self, tool: &AiStep) -> Result<Vec<String>, Error> {
        let unit = self.at.unit;
        let mut contexts = Vec::new();
        for text in &tool.context.texts {
            contexts.push(self.text(text)?);
        }
        let mut patterns = Vec::new();
        for pattern in &tool.context.files {
            let text = self.text(pattern)?;
            let place = pattern.place;
            patterns.push(ManifestText { text, place });
        }
        if self.certainty == ValueCertainty::Later {
            return Ok(contexts);
        }
        let tokens_max = tool.context.tokens_max.unwrap_or(CONTEXT_TOKENS_DEFAULT);
        let used: usize = contexts.iter().map(|text| context::tokens(text)).sum();
        if used > tokens_max {
            let place = tool.context.texts.first().map(|text| text.place);
            let message = format!(
                "the context's own text is about {used} tokens, more than `maxTokens` = {tokens_max}"
            );
            let place = place.unwrap_or(self.at.step.place);
            return Err(unit.error(RecipeErrorKind::Limit, place, message));
        }
        if patterns.is_empty() {
            return Ok(contexts);
        }
        let project = &self.walk.project;
        let shelf = ContextFiles::open(project.root(), project.pending(), self.walk.policy)?;
        let wanted = ContextRequest {
            tokens_left: tokens_max - used,
            tokens_max,
            overflow: tool.context.overflow,
            patterns,
        };
        let expected = &self.walk.expected;
        let located = |refused: context::PatternError| {
            let (file, text) = (&unit.recipe.file, &unit.recipe.text);
            refused.error.at(file, text, refused.pattern.place)
        };
        let found = context::find(&shelf, &wanted.patterns, expected).map_err(located)?;
        // A file that another answer makes is worth waiting for.
        let waits =
            |file: &context::PatternMatch| file.path().is_some_and(|path| expected.contains(path));
        if found.iter().any(waits) {
            self.certainty = ValueCertainty::Later;
            return Ok(contexts);
        }
        let gathered = context::gather(&shelf, &found, &wanted).map_err(located)?;
        contexts.extend(gathered.texts);
        Ok(contexts)
    }

    /// Returns the author's description of the answer, and the rules it must keep.
    fn format(&mut self, tool: &AiStep, question: &Question) -> Result<String, Error> {
        let mut parts = Vec::new();
        if let Some(text) = &tool.format {
            parts.push(self.text(text)?);
        }
        let rules = question.guardrails.rules();
        if !rules.is_empty() {
            let rules: Vec<String> = rules.iter().map(|rule| format!("- {rule}")).collect();
            parts.push(rules.join("\n"));
        }
        Ok(parts.join("\n\n"))
    }

    fn example(&mut self, example: &AiExample) -> Result<String, Error> {
        let output = self.text(&example.output)?;
        let Some(input) = &example.input else {
            return Ok(output);
        };
        let input = self.text(input)?;
        let label = match &example.label {
            Some(label) => format!("{}\n\n", self.text(label)?.trim_end()),
            None => String::new(),
        };
        let (input, output) = (input.trim_end(), output.trim_end());
        Ok(format!("{label}Input:\n\n{input}\n\nOutput:\n\n{output}"))
    }
}

/// Returns the step's name as a key, with the item of a `forEach` to tell the keys apart.
fn default_key(at: &StepContext<'_>, tool: &AiStep) -> String {
    let RecipeStep { name, for_each, .. } = at.step;
    let key = match &tool.variable {
        Some(variable) => variable.text.clone(),
        None => expr::text_functions::change_case::camel(name),
    };
    let Some(for_each) = for_each else {
        return key;
    };
    let item = match at.scope.json(&for_each.item) {
        Some(Json::String(item)) if item.len() <= ITEM_KEY_BYTES_MAX => Some(item),
        Some(Json::Number(item)) => Some(item.to_string()),
        _ => None,
    };
    let index = || at.scope.json(&for_each.index).unwrap_or_default();
    let item = item.filter(|item| !item.trim().is_empty());
    format!("{key}-{}", item.unwrap_or_else(|| index().to_string()))
}

/// Makes the rules for the answer; those of the language of a whole file unless the step says
/// otherwise.
fn guardrails(
    at: &StepContext<'_>,
    tool: &AiStep,
    whole_file: Option<&RelPath>,
) -> Result<Guardrails, Error> {
    let rails = &tool.guardrails;
    let names = |texts: &Vec<ManifestText>| texts.iter().map(|text| text.text.clone()).collect();
    let kind = tool.kind.as_ref().map(|kind| kind.text.as_str());
    let of_file = whole_file
        .and_then(RelPath::extension)
        .and_then(GuardedSyntax::of_extension)
        .filter(|_| matches!(kind, None | Some("code" | "json")));
    let of_language = tool
        .language
        .as_deref()
        .and_then(|name| GuardedSyntax::named(name).ok());
    let syntax = match rails.syntax {
        SyntaxRule::Of(syntax) => Some(syntax),
        SyntaxRule::Unchecked => None,
        SyntaxRule::OfTarget => of_file,
    };
    let limits_imports = rails.allowed_imports.is_some() || !rails.blocked_imports.is_empty();
    let syntax = match (syntax, limits_imports) {
        // Imports are read off the tree, so there has to be one.
        (None, true) if rails.syntax == SyntaxRule::OfTarget => of_language,
        (syntax, _) => syntax,
    };
    if limits_imports && !syntax.is_some_and(GuardedSyntax::has_imports) {
        let message = "imports can only be checked in a language that has them";
        let error = at
            .unit
            .error(RecipeErrorKind::Manifest, at.step.place, message);
        return Err(error.hint("add `syntax: typescript`, `rust`, `python` or the like"));
    }
    let speaks = matches!(kind, None | Some("text" | "code"));
    Ok(Guardrails {
        syntax,
        allowed_imports: rails.allowed_imports.as_ref().map(names),
        blocked_imports: names(&rails.blocked_imports),
        // An empty answer is refused, unless the step allows it.
        length_min: rails.length_min.or(speaks.then_some(1)),
        length_max: rails.length_max,
    })
}

/// Finds a file of the recipe that the step names.
fn recipe_file(at: &StepContext<'_>, name: &ManifestText, written: &str) -> Result<RelPath, Error> {
    let files = &at.unit.files;
    files.find_file(written)?.ok_or_else(|| {
        let message = format!("there is no file `{written}` in the recipe");
        let error = at
            .unit
            .error(RecipeErrorKind::NotFound, name.place, message);
        error.hint(files.advice(written))
    })
}
