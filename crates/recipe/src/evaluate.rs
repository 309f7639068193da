//! Everything a recipe writes as text and means as a value: templates, conditions, expressions.
//!
//! All of it goes through the template engine, so name helpers, filters and `answers` mean the same
//! everywhere, and reads of answers that are missing are seen everywhere.

mod command;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use expr::{JsObject, Value};
use indexmap::IndexMap;
use template::{CompiledTemplate, RenderResult, TemplateEngine, TemplateLayout};

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::file_finder::FileFinder;
use crate::manifest::ManifestText;

/// The name under which an expression's value leaves the engine.
const VALUE: &str = "value";

/// Answers by key, checked.
pub(crate) type AnswerValues = IndexMap<String, serde_json::Value>;

/// Evaluates the texts of one recipe, and caches what it compiled.
pub(crate) struct TextEvaluator {
    files: FileFinder,
    settings: EngineSettings,
    engine: TemplateEngine,
    compiled: RefCell<HashMap<String, CompiledTemplate>>,
}

/// The file that contains a text.
#[derive(Clone, Copy)]
pub(crate) struct SourceText<'s> {
    pub(crate) file: &'s str,
    pub(crate) source: &'s str,
}

/// The variables and answers a text is evaluated over.
#[derive(Clone, Copy)]
pub(crate) struct EvalInputs<'o> {
    pub(crate) state: &'o JsObject,
    pub(crate) answers: &'o AnswerValues,
}

/// Settings of a template engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineSettings {
    pub(crate) limits: template::Limits,
    pub(crate) now_ms: Option<f64>,
    pub(crate) strict: bool,
}

impl TextEvaluator {
    pub(crate) fn new(files: &FileFinder, settings: EngineSettings) -> Self {
        let mut engine = TemplateEngine::new(Rc::new(files.clone())).with_limits(settings.limits);
        if let Some(now_ms) = settings.now_ms {
            engine = engine.with_now_ms(now_ms);
        }
        if settings.strict {
            engine = engine.strict();
        }
        Self {
            files: files.clone(),
            settings,
            engine,
            compiled: RefCell::default(),
        }
    }

    /// Compiles a template file's body, or another text that is kept by its owner.
    pub(crate) fn compile(
        &self,
        name: &str,
        text: &str,
        layout: TemplateLayout,
    ) -> Result<CompiledTemplate, Error> {
        self.engine
            .compile(name, text, layout)
            .map_err(|error| from_template(&error))
    }

    pub(crate) fn render(
        &self,
        compiled: &CompiledTemplate,
        over: EvalInputs<'_>,
    ) -> Result<RenderResult, Error> {
        let rendered = self.engine.render(compiled, over.state, over.answers);
        rendered.map_err(|error| from_template(&error))
    }

    /// Renders a text of a manifest or of frontmatter.
    pub(crate) fn text(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<RenderResult, Error> {
        if is_plain(&text.text) {
            return Ok(RenderResult {
                text: text.text.clone(),
                ..RenderResult::default()
            });
        }
        let compiled = self
            .kept(site, &text.text)
            .map_err(|error| placed(&error, site, text))?;
        let rendered = self.engine.render(&compiled, over.state, over.answers);
        rendered.map_err(|error| placed(&error, site, text))
    }

    /// Returns the names in a text that nothing defines. Compiles it anew, for errors only.
    pub(crate) fn undefined_names(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<Vec<String>, Error> {
        let strict = EngineSettings {
            strict: true,
            ..self.settings
        };
        let rendered = TextEvaluator::new(&self.files, strict).text(site, text, over)?;
        Ok(rendered.undefined.into_iter().map(|one| one.name).collect())
    }

    /// Evaluates an expression; `{{ flag }}` is as good as `flag`.
    pub(crate) fn expression(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<(Value, RenderResult), Error> {
        let source = expression_source(text);
        let compiled = self
            .kept(site, &source)
            .map_err(|error| placed(&error, site, text))?;
        let rendered = self.engine.render(&compiled, over.state, over.answers);
        let mut rendered = rendered.map_err(|error| placed(&error, site, text))?;
        let value = rendered.provided.remove(VALUE).unwrap_or_default();
        Ok((value, rendered))
    }

    /// Checks that a text can be rendered, as far as that can be known without values.
    pub(crate) fn check_text(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<(), Error> {
        self.kept(site, &text.text)
            .map(drop)
            .map_err(|error| placed(&error, site, text))
    }

    pub(crate) fn check_expression(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<(), Error> {
        let source = expression_source(text);
        self.kept(site, &source)
            .map(drop)
            .map_err(|error| placed(&error, site, text))
    }

    fn kept(
        &self,
        site: SourceText<'_>,
        source: &str,
    ) -> Result<CompiledTemplate, template::Error> {
        let key = format!("{}\0{source}", site.file);
        if let Some(compiled) = self.compiled.borrow().get(&key) {
            return Ok(compiled.clone());
        }
        let compiled = self
            .engine
            .compile(site.file, source, TemplateLayout::Jig)?;
        self.compiled.borrow_mut().insert(key, compiled.clone());
        Ok(compiled)
    }
}

/// Makes a template that exports an expression's value.
fn expression_source(text: &ManifestText) -> String {
    let bare = mustache(&text.text).unwrap_or(text.text.trim());
    format!("{{{{ provide('{VALUE}', ({bare}\n)) }}}}")
}

/// Makes an error in a text, at the position of the text in its file.
fn placed(error: &template::Error, site: SourceText<'_>, text: &ManifestText) -> Error {
    if error.file() != site.file {
        return from_template(error);
    }
    let message = format!("{}: {}", error.code(), error.message());
    let diagnostic = Diagnostic::new(message).at(site.file, site.source, text.place);
    let hint = error.hint().map(str::to_owned);
    Error::of(RecipeErrorKind::Template, vec![diagnostic.maybe_hint(hint)])
}

/// Returns the inside of a text that is one `{{ }}` and nothing else.
pub(crate) fn mustache(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'))
        .unwrap_or(inner);
    let is_one = !inner.contains("{{") && !inner.contains("}}") && !inner.starts_with("--");
    (is_one && !inner.contains("::")).then_some(inner.trim())
}

/// Returns true if the text renders to itself.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains("{{") && !text.contains('@')
}

pub(crate) fn from_template(error: &template::Error) -> Error {
    let message = format!("{}: {}", error.code(), error.message());
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.file = Some(error.file().to_owned());
    if error.line() > 0 {
        let place = FileSpan {
            line: error.line(),
            column: error.column() + 1,
            width: 1,
        };
        diagnostic.place = Some(place);
        diagnostic.excerpt = error.excerpt().map(str::to_owned);
    }
    let chain = error
        .chain()
        .iter()
        .map(|link| format!("{} at {}", link.what, link.place));
    let hints: Vec<String> = error
        .hint()
        .map(str::to_owned)
        .into_iter()
        .chain(chain)
        .collect();
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    Error::of(RecipeErrorKind::Template, vec![diagnostic.maybe_hint(hint)])
}
