//! Checking a recipe without running it: every template it names, every sub-recipe, every text.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use workspace::{PathKind, RelPath, Root};

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::evaluate::{EngineSettings, is_plain};
use crate::file_finder::{TemplatePath, is_template};
use crate::frontmatter;
use crate::load::{self, Recipe};
use crate::loaded_recipe::{LoadedRecipe, RecipeLibrary, TemplateFile};
use crate::manifest::{
    AiPrompt, AiSchema, AiStep, ManifestText, ManifestValue, RecipeStep, ShellCommand, StepTool,
};

/// Reports everything that is wrong with a recipe and can be known without values: its manifest,
/// however broken, and everything that its readable parts name.
pub fn validate(path: &Path, root: &Root) -> Result<(), Error> {
    let (recipe, mut found) = load::load_with_problems(root, path)?;
    if let Some(recipe) = recipe {
        found.extend(check(&recipe, root)?);
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(load::sorted(found)),
    }
}

fn check(recipe: &Recipe, root: &Root) -> Result<Vec<Diagnostic>, Error> {
    let library = RecipeLibrary::new(root, EngineSettings::default())?;
    let mut check = RecipeValidator {
        library,
        found: Vec::new(),
        seen: BTreeSet::new(),
        chain: Vec::new(),
    };
    let unit = check.library.unit(&Rc::new(recipe.clone()))?;
    check.unit(&unit);
    Ok(check.found)
}

struct RecipeValidator {
    library: RecipeLibrary,
    found: Vec<Diagnostic>,
    seen: BTreeSet<String>,
    /// The recipes being checked, outermost first.
    chain: Vec<String>,
}

impl RecipeValidator {
    fn unit(&mut self, unit: &Rc<LoadedRecipe>) {
        if !self.seen.insert(unit.recipe.file.clone()) {
            return;
        }
        self.chain.push(unit.recipe.file.clone());
        self.note(unit.helpers().map(drop));
        self.steps(unit, &unit.recipe.manifest.steps);
        self.chain.pop();
        let manifest = &unit.recipe.manifest;
        for text in manifest.on_success.iter().chain(&manifest.on_error) {
            let compiled = unit.evaluator.check_text(unit.site(), text);
            self.note(compiled);
        }
    }

    fn steps(&mut self, unit: &Rc<LoadedRecipe>, steps: &[RecipeStep]) {
        for step in steps {
            if let Some(when) = &step.when {
                self.note(unit.evaluator.check_expression(unit.site(), when));
            }
            match &step.tool {
                StepTool::Template(tool) => {
                    for text in &tool.templates {
                        let checked = self.template(unit, text);
                        self.note(checked);
                    }
                }
                StepTool::Shell(tool) => {
                    self.note(match &tool.command {
                        ShellCommand::Line(text) => unit.evaluator.check_command(unit.site(), text),
                        ShellCommand::Words(texts) => {
                            unit.evaluator.check_words(unit.site(), texts)
                        }
                    });
                }
                StepTool::Action(tool) => {
                    self.note(match &tool.command[..] {
                        [text] => unit.evaluator.check_split(unit.site(), text),
                        texts => unit.evaluator.check_words(unit.site(), texts),
                    });
                }
                StepTool::Recipe(tool) if is_plain(&tool.recipe.text) => {
                    match self.library.sub(unit, tool.recipe.text.trim()) {
                        Ok(sub) => {
                            self.note(self.not_itself(unit, step, (&sub, tool.recipe.place)));
                            self.unit(&sub);
                        }
                        Err(error) => {
                            let (file, text) = (&unit.recipe.file, &unit.recipe.text);
                            self.note(Err(error.at(file, text, tool.recipe.place)));
                        }
                    }
                }
                StepTool::Sequence(group) | StepTool::Parallel(group) => {
                    self.steps(unit, &group.steps)
                }
                StepTool::Ai(tool) => self.ai(unit, tool),
                _ => {}
            }
        }
    }

    /// Refuses a recipe that always runs itself, which would never end. Under a condition it may.
    fn not_itself(
        &self,
        unit: &Rc<LoadedRecipe>,
        step: &RecipeStep,
        (sub, place): (&Rc<LoadedRecipe>, FileSpan),
    ) -> Result<(), Error> {
        let file = &sub.recipe.file;
        if step.when.is_some() || step.for_each.is_some() || !self.chain.contains(file) {
            return Ok(());
        }
        let from = self.chain.iter().skip_while(|link| *link != file);
        let chain: Vec<&str> = from.map(String::as_str).chain([file.as_str()]).collect();
        let message = format!("this recipe runs itself: {}", chain.join(" -> "));
        let error = unit.error(RecipeErrorKind::Manifest, place, message);
        Err(error.hint("give the step a `when` that ends it"))
    }

    /// Compiles every template that a name without `{{ }}` means.
    fn template(&mut self, unit: &Rc<LoadedRecipe>, text: &ManifestText) -> Result<(), Error> {
        if !is_plain(&text.text) {
            return unit.evaluator.check_text(unit.site(), text);
        }
        let paths = match unit.files.find(&text.text)? {
            Some(TemplatePath::File(path)) => vec![path],
            Some(TemplatePath::Dir(dir)) => {
                let entries = unit.files.base().walk(&dir)?.into_iter();
                let files = entries.filter(|entry| entry.kind == PathKind::File);
                let files = files.filter(|entry| is_template(entry.path.as_str()));
                files.map(|entry| entry.path).collect()
            }
            None => unit.files.glob(&text.text)?,
        };
        if paths.is_empty() {
            let message = format!("there is no template `{}`", text.text);
            let error = unit.error(RecipeErrorKind::NotFound, text.place, message);
            return Err(error.hint(unit.files.advice(&text.text)));
        }
        for path in paths {
            let checked = unit.template(&path).and_then(|file| {
                let (site, evaluator) = (file.site(), &unit.evaluator);
                match file.frontmatter.command() {
                    Some(ShellCommand::Line(text)) => evaluator.check_command(site, &text),
                    Some(ShellCommand::Words(texts)) => evaluator.check_words(site, &texts),
                    None => Ok(()),
                }
            });
            self.note(checked);
            let checked = unit.template(&path).and_then(|file| check_matter(&file));
            self.note(checked);
        }
        Ok(())
    }

    /// Compiles every text of a question, and looks at the files it names.
    fn ai(&mut self, unit: &Rc<LoadedRecipe>, tool: &AiStep) {
        let directives = tool.directives.attributes.values();
        let directives: Vec<ManifestText> = directives
            .filter_map(|datum| {
                let text = datum.value.as_str()?.to_owned();
                let place = datum.place;
                Some(ManifestText { text, place })
            })
            .collect();
        let examples = tool.examples.iter();
        let examples = examples.flat_map(|example| {
            let parts = [&example.label, &example.input].into_iter().flatten();
            parts.chain([&example.output])
        });
        let texts = tool.key.iter().chain(&tool.format);
        let texts = texts.chain(&tool.context.texts).chain(&tool.context.files);
        for text in texts.chain(examples).chain(&directives) {
            self.note(unit.evaluator.check_text(unit.site(), text));
        }
        match &tool.prompt {
            AiPrompt::Text(text) => self.note(unit.evaluator.check_text(unit.site(), text)),
            AiPrompt::File(name) => {
                let checked = self.template(unit, name);
                self.note(checked);
            }
        }
        match &tool.schema {
            Some(AiSchema::Inline(schema)) => self.note(check_schema(unit, schema)),
            Some(AiSchema::File(name)) => {
                let checked = self.named_file(unit, name);
                self.note(checked);
            }
            None => {}
        }
    }

    fn named_file(&self, unit: &Rc<LoadedRecipe>, name: &ManifestText) -> Result<(), Error> {
        if !is_plain(&name.text) || unit.files.find_file(&name.text)?.is_some() {
            return Ok(());
        }
        let message = format!("there is no file `{}` in the recipe", name.text);
        let error = unit.error(RecipeErrorKind::NotFound, name.place, message);
        Err(error.hint(unit.files.advice(&name.text)))
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.found.extend(error.diagnostics().iter().cloned());
        }
    }
}

/// Checks that the target is valid, and that frontmatter is at the top, where it counts.
fn check_matter(template: &TemplateFile) -> Result<(), Error> {
    let (file, text) = (&template.file, &template.text);
    if let Some(to) = template.frontmatter.attributes.get("to")
        && let Some(path) = to.value.as_str().filter(|path| is_plain(path))
        && !path.trim().is_empty()
    {
        RelPath::parse(path.trim()).map_err(|error| Error::from(error).at(file, text, to.place))?;
    }
    let Some(line) = frontmatter::misplaced(text) else {
        return Ok(());
    };
    let place = FileSpan {
        line,
        column: 1,
        width: 3,
    };
    let message = "this looks like frontmatter, and frontmatter counts only from the first line on";
    let hint = "remove what is above it, or put an empty one, two lines `---`, at the top";
    Err(Error::new(RecipeErrorKind::Template, message)
        .hint(hint)
        .at(file, text, place))
}

/// Checks that a schema without `{{ }}` is valid.
fn check_schema(unit: &LoadedRecipe, schema: &ManifestValue) -> Result<(), Error> {
    if schema.value.to_string().contains("{{") {
        return Ok(());
    }
    let source = prompt::QuestionSource {
        file: unit.recipe.file.clone(),
        line: schema.place.line,
    };
    let mut question = prompt::Question::new("schema", source);
    question.schema = Some(schema.value.clone());
    prompt::Questionnaire::new().ask(question).map_err(|error| {
        let message = match error {
            prompt::Error::SchemaBroken { detail, .. } => detail,
            other => other.to_string(),
        };
        let message = format!("this is not a usable JSON Schema: {message}");
        unit.error(RecipeErrorKind::Manifest, schema.place, message)
    })
}
