//! The engine: compiles templates, keeps compiled partials, and renders.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use expr::{EvalContext, JsObject, Value};
use indexmap::IndexMap;
use prompt::{QuestionSource, Questionnaire};

use crate::answer_reads::AnswerReads;
use crate::error::Error;
use crate::globals;
use crate::layout::TemplateLayout;
use crate::limits::Limits;
use crate::loader::{ComponentTags, ENDINGS, LoadedTemplate, TemplateLoader};
use crate::node::Template;
use crate::parser::{self, CompileUnit};
use crate::render::{Activation, RenderState};
use crate::separated_values::{PrintedValue, SeparatedValues};
use crate::stack::StackTexts;

/// Renders templates. Partials are compiled once per engine.
pub struct TemplateEngine {
    core: Rc<EngineCore>,
    limits: Limits,
    now_ms: Option<f64>,
    strict: bool,
}

/// A template that is ready to render.
#[derive(Clone)]
pub struct CompiledTemplate {
    template: Rc<Template>,
}

/// A template to compile and render in one step.
pub struct RenderInput<'a> {
    /// Name of the template in errors and in `$filename`.
    pub name: &'a str,
    pub text: &'a str,
    pub layout: TemplateLayout,
    pub state: &'a JsObject,
    /// Checked answers by key.
    pub answers: &'a IndexMap<String, serde_json::Value>,
}

/// Result of a render.
#[derive(Default)]
pub struct RenderResult {
    pub text: String,
    /// The values [`TemplateEngine::render_apart`] kept out of the text, in the order of their numbers.
    pub values: Vec<PrintedValue>,
    /// Every question the template asks, answered or not.
    pub questionnaire: Questionnaire,
    /// Questions whose text depends on answers that are missing; another round will ask them.
    pub postponed: Vec<Postponed>,
    /// Values that the template exported with `provide(key, value)`.
    pub provided: JsObject,
    /// Free names that nothing defines, in strict mode.
    pub undefined: Vec<UndefinedVariable>,
    /// Keys that were read and have no answer yet; the text is not final while there are any.
    pub unanswered: Vec<String>,
    /// Errors that missing answers may explain. They are real if they are still there in the end.
    pub provisional: Vec<Error>,
}

impl fmt::Debug for RenderResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("text", &self.text)
            .field("questionnaire", &self.questionnaire)
            .field("postponed", &self.postponed)
            .field("provided", &self.provided.keys())
            .field("undefined", &self.undefined)
            .field("unanswered", &self.unanswered)
            .field("provisional", &self.provisional)
            .finish()
    }
}

/// A question that cannot be asked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// Empty when even the key depends on an answer.
    pub key: String,
    /// The keys it waits for.
    pub needs: Vec<String>,
    pub source: QuestionSource,
}

/// A name that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UndefinedVariable {
    pub name: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// State that the engine and its renders share.
pub(crate) struct EngineCore {
    loader: Rc<dyn TemplateLoader>,
    components: ComponentTags,
    globals: JsObject,
    files: RefCell<HashMap<Rc<str>, Rc<LoadedTemplate>>>,
    partials: RefCell<HashMap<PartialKey, Rc<Template>>>,
}

/// Cache key of a compiled partial: everything it depends on besides its text.
#[derive(PartialEq, Eq, Hash)]
struct PartialKey {
    path: String,
    locals: Rc<[Rc<str>]>,
    in_ai: bool,
}

/// Reason why a partial cannot be used.
pub(crate) enum NotFound {
    Missing {
        message: String,
        hint: Option<String>,
    },
    Broken(Error),
}

impl TemplateEngine {
    pub fn new(loader: Rc<dyn TemplateLoader>) -> Self {
        let components = ComponentTags::of(&*loader);
        let core = EngineCore {
            loader,
            components,
            globals: globals::all(),
            files: RefCell::default(),
            partials: RefCell::default(),
        };
        TemplateEngine {
            core: Rc::new(core),
            limits: Limits::default(),
            now_ms: None,
            strict: false,
        }
    }

    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Hands in the time, without which `new Date()` is an error.
    #[must_use]
    pub fn with_now_ms(mut self, now_ms: f64) -> Self {
        self.now_ms = Some(now_ms);
        self
    }

    /// Lists undefined names in [`RenderResult::undefined`]; they still print `undefined`.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    pub fn compile(
        &self,
        name: &str,
        text: &str,
        layout: TemplateLayout,
    ) -> Result<CompiledTemplate, Error> {
        let unit = CompileUnit {
            file: name,
            text,
            layout,
            locals: &[],
            in_ai: false,
        };
        let template = parser::parse(&unit, &self.core.components, &self.limits)?;
        Ok(CompiledTemplate {
            template: Rc::new(template),
        })
    }

    /// Compiles and renders.
    pub fn render_text(&self, input: &RenderInput<'_>) -> Result<RenderResult, Error> {
        let compiled = self.compile(input.name, input.text, input.layout)?;
        self.render(&compiled, input.state, input.answers)
    }

    /// Renders over a state. Properties the template assigns are gone afterwards; objects it
    /// changes stay changed, so hand in fresh ones where that matters.
    pub fn render(
        &self,
        compiled: &CompiledTemplate,
        state: &JsObject,
        answers: &IndexMap<String, serde_json::Value>,
    ) -> Result<RenderResult, Error> {
        self.render_run(compiled, state, self.run(answers))
    }

    /// Renders like [`TemplateEngine::render`], with every printed value kept apart: the text has only what
    /// the template's author wrote, and [`split_apart`](crate::split_apart) finds the places.
    pub fn render_apart(
        &self,
        compiled: &CompiledTemplate,
        state: &JsObject,
        answers: &IndexMap<String, serde_json::Value>,
    ) -> Result<RenderResult, Error> {
        let mut run = self.run(answers);
        run.apart = Some(RefCell::default());
        self.render_run(compiled, state, run)
    }

    fn render_run(
        &self,
        compiled: &CompiledTemplate,
        state: &JsObject,
        run: RenderState,
    ) -> Result<RenderResult, Error> {
        let provided = Rc::new(RefCell::new(JsObject::new()));
        let run = Rc::new(run);
        let mut globals = self.core.globals.clone();
        globals.insert("answers", Value::Object(run.answers.clone()));
        globals.insert("provide", globals::provide(provided.clone()));
        let mut state = state.clone();
        for (key, answer) in &run.given {
            if !state.contains(key) {
                state.insert(key.as_str(), Value::from_json(answer));
            }
        }
        let state = Rc::new(RefCell::new(state));
        let mut cx = EvalContext::new(self.limits.expr, &globals);
        if let Some(now_ms) = self.now_ms {
            cx = cx.with_now_ms(now_ms);
        }
        if self.strict {
            cx = cx.strict();
        }
        let template = compiled.template.clone();
        let context = Value::object(JsObject::new());
        let activation = Activation::new(&run, template, state, context);
        run.know(&activation.template, &activation.frame);
        let mut out = String::new();
        // One level down, so that there is stack enough for the deepest template.
        let ran = cx.deeper(|cx| Ok(activation.body(cx, &activation.template.body, &mut out)));
        ran.unwrap_or(Ok(()))?;
        let text = finished(out, &activation.template, run.stacks.take());
        activation.check_output(&text)?;
        drop(activation);
        Ok(RenderResult {
            text,
            values: run
                .apart
                .as_ref()
                .map(|apart| apart.take().values)
                .unwrap_or_default(),
            questionnaire: run.questionnaire.take(),
            postponed: run.postponed.take(),
            provided: provided.take(),
            undefined: run.undefined.take().into_iter().collect(),
            unanswered: run.reads.all(),
            provisional: run.provisional.take(),
        })
    }

    fn run(&self, answers: &IndexMap<String, serde_json::Value>) -> RenderState {
        let values = answers.iter();
        let values = values.map(|(key, value)| (Rc::from(key.as_str()), Value::from_json(value)));
        RenderState {
            core: self.core.clone(),
            limits: self.limits,
            strict: self.strict,
            observing: Cell::new(self.strict),
            reads: Rc::new(AnswerReads::default()),
            answers: Rc::new(RefCell::new(values.collect())),
            given: answers.clone(),
            questionnaire: RefCell::default(),
            postponed: RefCell::default(),
            block: RefCell::default(),
            stacks: RefCell::default(),
            apart: None,
            undefined: RefCell::default(),
            provisional: RefCell::default(),
            pending: RefCell::default(),
        }
    }
}

impl CompiledTemplate {
    /// Returns the name the template was compiled under.
    pub fn name(&self) -> &str {
        &self.template.file
    }

    /// Returns the author's text with a placeholder for every value: all branches, one after the
    /// other. Used to check a text before there are values.
    pub fn outline(&self) -> (String, Vec<PrintedValue>) {
        SeparatedValues::outline(&self.template.body)
    }
}

/// Takes one newline off either end, as Edge does; a template that ends its last line keeps that
/// end.
fn finished(mut out: String, template: &Template, stacks: StackTexts) -> String {
    if template.layout == TemplateLayout::Jig {
        out = stacks.fill(out);
        trim_newlines(&mut out);
    } else {
        trim_newlines(&mut out);
        out = stacks.fill(out);
    }
    let ends_line = template.source.ends_with(['\n', '\r']);
    if ends_line && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn trim_newlines(out: &mut String) {
    if out.starts_with('\n') {
        out.remove(0);
    }
    if out.ends_with('\n') {
        out.pop();
    }
}

impl EngineCore {
    /// Finds and compiles the partial or component with this name.
    pub(crate) fn partial(
        &self,
        name: &Rc<str>,
        locals: &Rc<[Rc<str>]>,
        in_ai: bool,
        limits: &Limits,
    ) -> Result<Rc<Template>, NotFound> {
        let loaded = self.load(name)?;
        let key = PartialKey {
            path: loaded.path.clone(),
            locals: locals.clone(),
            in_ai,
        };
        if let Some(template) = self.partials.borrow().get(&key) {
            return Ok(template.clone());
        }
        let unit = CompileUnit {
            file: &loaded.path,
            text: &loaded.text,
            layout: TemplateLayout::of_path(&loaded.path),
            locals,
            in_ai,
        };
        let template = parser::parse(&unit, &self.components, limits).map_err(NotFound::Broken)?;
        let template = Rc::new(template);
        self.partials.borrow_mut().insert(key, template.clone());
        Ok(template)
    }

    fn load(&self, name: &Rc<str>) -> Result<Rc<LoadedTemplate>, NotFound> {
        if let Some(loaded) = self.files.borrow().get(name) {
            return Ok(loaded.clone());
        }
        // Names count from the root of the templates, with or without saying so.
        let bare = name.strip_prefix("./").unwrap_or(name);
        for ending in ENDINGS {
            let loaded = self.loader.load(&format!("{bare}{ending}"));
            match loaded {
                Ok(None) => {}
                Ok(Some(loaded)) => {
                    let loaded = Rc::new(loaded);
                    self.files.borrow_mut().insert(name.clone(), loaded.clone());
                    return Ok(loaded);
                }
                Err(message) => {
                    return Err(NotFound::Missing {
                        message,
                        hint: None,
                    });
                }
            }
        }
        let message = format!("Cannot resolve \"{name}\". Make sure the file exists");
        let tried = ENDINGS.iter().map(|ending| format!("{name}{ending}"));
        let hint = format!("looked for {}", tried.collect::<Vec<_>>().join(", "));
        Err(NotFound::Missing {
            message,
            hint: Some(hint),
        })
    }
}
