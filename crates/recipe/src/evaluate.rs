//! Everything a recipe writes as text and means as a value: templates, conditions, expressions.
//!
//! All of it goes through the template engine, so name helpers, filters and `answers` mean the same
//! everywhere, and reads of answers that are missing are seen everywhere.

mod command;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use expr::{Object, Value};
use indexmap::IndexMap;
use template::{Compiled, Engine, Layout, Rendered};

use crate::error::{Diagnostic, Error, Kind, Place};
use crate::loader::Files;
use crate::manifest::Text;

/// The name under which an expression's value leaves the engine.
const VALUE: &str = "value";

/// Answers by key, checked.
pub(crate) type Answers = IndexMap<String, serde_json::Value>;

/// Evaluates the texts of one recipe; what was compiled is kept.
pub(crate) struct Evaluator {
    engine: Engine,
    compiled: RefCell<HashMap<String, Compiled>>,
}

/// The file a text stands in.
#[derive(Clone, Copy)]
pub(crate) struct Site<'s> {
    pub(crate) file: &'s str,
    pub(crate) source: &'s str,
}

/// What a text is evaluated over.
#[derive(Clone, Copy)]
pub(crate) struct Over<'o> {
    pub(crate) state: &'o Object,
    pub(crate) answers: &'o Answers,
}

/// How an engine is set up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) limits: template::Limits,
    pub(crate) now_ms: Option<f64>,
    pub(crate) strict: bool,
}

impl Evaluator {
    pub(crate) fn new(files: &Files, settings: Settings) -> Self {
        let mut engine = Engine::new(Rc::new(files.clone())).with_limits(settings.limits);
        if let Some(now_ms) = settings.now_ms {
            engine = engine.with_now_ms(now_ms);
        }
        if settings.strict {
            engine = engine.strict();
        }
        Self {
            engine,
            compiled: RefCell::default(),
        }
    }

    /// Compiles a template file's body, or another text that is kept by its owner.
    pub(crate) fn compile(
        &self,
        name: &str,
        text: &str,
        layout: Layout,
    ) -> Result<Compiled, Error> {
        self.engine
            .compile(name, text, layout)
            .map_err(|error| from_template(&error))
    }

    pub(crate) fn render(&self, compiled: &Compiled, over: Over<'_>) -> Result<Rendered, Error> {
        let rendered = self.engine.render(compiled, over.state, over.answers);
        rendered.map_err(|error| from_template(&error))
    }

    /// Renders a text of a manifest or of frontmatter.
    pub(crate) fn text(
        &self,
        site: Site<'_>,
        text: &Text,
        over: Over<'_>,
    ) -> Result<Rendered, Error> {
        if is_plain(&text.text) {
            return Ok(Rendered {
                text: text.text.clone(),
                ..Rendered::default()
            });
        }
        let compiled = self
            .kept(site, &text.text)
            .map_err(|error| placed(&error, site, text))?;
        let rendered = self.engine.render(&compiled, over.state, over.answers);
        rendered.map_err(|error| placed(&error, site, text))
    }

    /// Evaluates an expression; `{{ flag }}` is as good as `flag`.
    pub(crate) fn expression(
        &self,
        site: Site<'_>,
        text: &Text,
        over: Over<'_>,
    ) -> Result<(Value, Rendered), Error> {
        let source = expression_source(text);
        let compiled = self
            .kept(site, &source)
            .map_err(|error| placed(&error, site, text))?;
        let rendered = self.engine.render(&compiled, over.state, over.answers);
        let mut rendered = rendered.map_err(|error| placed(&error, site, text))?;
        let value = rendered.provided.remove(VALUE).unwrap_or_default();
        Ok((value, rendered))
    }

    /// Whether a text can be rendered, as far as can be known without values.
    pub(crate) fn check_text(&self, site: Site<'_>, text: &Text) -> Result<(), Error> {
        self.kept(site, &text.text)
            .map(drop)
            .map_err(|error| placed(&error, site, text))
    }

    pub(crate) fn check_expression(&self, site: Site<'_>, text: &Text) -> Result<(), Error> {
        let source = expression_source(text);
        self.kept(site, &source)
            .map(drop)
            .map_err(|error| placed(&error, site, text))
    }

    fn kept(&self, site: Site<'_>, source: &str) -> Result<Compiled, template::Error> {
        let key = format!("{}\0{source}", site.file);
        if let Some(compiled) = self.compiled.borrow().get(&key) {
            return Ok(compiled.clone());
        }
        let compiled = self.engine.compile(site.file, source, Layout::Jig)?;
        self.compiled.borrow_mut().insert(key, compiled.clone());
        Ok(compiled)
    }
}

/// A template that hands an expression's value out.
fn expression_source(text: &Text) -> String {
    let bare = mustache(&text.text).unwrap_or(text.text.trim());
    format!("{{{{ provide('{VALUE}', ({bare}\n)) }}}}")
}

/// An error in a text, shown where the text stands.
fn placed(error: &template::Error, site: Site<'_>, text: &Text) -> Error {
    if error.file() != site.file {
        return from_template(error);
    }
    let message = format!("{}: {}", error.code(), error.message());
    let diagnostic = Diagnostic::new(message).at(site.file, site.source, text.place);
    let hint = error.hint().map(str::to_owned);
    Error::of(Kind::Template, vec![diagnostic.maybe_hint(hint)])
}

/// The inside of a text that is one `{{ }}` and nothing else.
pub(crate) fn mustache(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'))
        .unwrap_or(inner);
    let is_one = !inner.contains("{{") && !inner.contains("}}") && !inner.starts_with("--");
    (is_one && !inner.contains("::")).then_some(inner.trim())
}

/// Whether a text is itself, with nothing to render.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains("{{") && !text.contains('@')
}

pub(crate) fn from_template(error: &template::Error) -> Error {
    let message = format!("{}: {}", error.code(), error.message());
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.file = Some(error.file().to_owned());
    if error.line() > 0 {
        let place = Place {
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
    Error::of(Kind::Template, vec![diagnostic.maybe_hint(hint)])
}
