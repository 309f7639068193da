//! The engine: compiles templates, keeps compiled partials, and renders.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use expr::{Context, Object, Value};
use indexmap::IndexMap;
use prompt::{Questionnaire, Source};

use crate::apart::{Apart, Printed};
use crate::error::Error;
use crate::globals;
use crate::layout::Layout;
use crate::limits::Limits;
use crate::loader::{Components, ENDINGS, Loaded, Loader};
use crate::node::Template;
use crate::parser::{self, Unit};
use crate::reads::Reads;
use crate::render::{Activation, Run};
use crate::stack::Stacks;

/// Renders templates. Partials are compiled once per engine.
pub struct Engine {
    core: Rc<Core>,
    limits: Limits,
    now_ms: Option<f64>,
    strict: bool,
}

/// A template that is ready to render.
#[derive(Clone)]
pub struct Compiled {
    template: Rc<Template>,
}

/// A template to compile and render in one step.
pub struct Input<'a> {
    /// How errors and `$filename` call the template.
    pub name: &'a str,
    pub text: &'a str,
    pub layout: Layout,
    pub state: &'a Object,
    /// Checked answers by key.
    pub answers: &'a IndexMap<String, serde_json::Value>,
}

/// What a render gave.
#[derive(Default)]
pub struct Rendered {
    pub text: String,
    /// The values [`Engine::render_apart`] kept out of the text, in the order of their numbers.
    pub values: Vec<Printed>,
    /// Every question the template asks, answered or not.
    pub questionnaire: Questionnaire,
    /// Questions whose text depends on answers that are missing; another round will ask them.
    pub postponed: Vec<Postponed>,
    /// What `provide(key, value)` handed out.
    pub provided: Object,
    /// Free names that nothing defines, in strict mode.
    pub undefined: Vec<Undefined>,
    /// Keys that were read and have no answer yet; the text is not final while there are any.
    pub unanswered: Vec<String>,
    /// Errors that missing answers may explain. They are real if they are still there in the end.
    pub provisional: Vec<Error>,
}

impl fmt::Debug for Rendered {
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
    pub source: Source,
}

/// A name that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undefined {
    pub name: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// What engine and renders share.
pub(crate) struct Core {
    loader: Rc<dyn Loader>,
    components: Components,
    globals: Object,
    files: RefCell<HashMap<Rc<str>, Rc<Loaded>>>,
    partials: RefCell<HashMap<PartialKey, Rc<Template>>>,
}

/// What a compiled partial depends on beside its text.
#[derive(PartialEq, Eq, Hash)]
struct PartialKey {
    path: String,
    locals: Rc<[Rc<str>]>,
    in_ai: bool,
}

/// Why a partial cannot be used.
pub(crate) enum NotFound {
    Missing {
        message: String,
        hint: Option<String>,
    },
    Broken(Error),
}

impl Engine {
    pub fn new(loader: Rc<dyn Loader>) -> Self {
        let components = Components::of(&*loader);
        let core = Core {
            loader,
            components,
            globals: globals::all(),
            files: RefCell::default(),
            partials: RefCell::default(),
        };
        Engine {
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

    /// Lists undefined names in [`Rendered::undefined`]; they still print `undefined`.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    pub fn compile(&self, name: &str, text: &str, layout: Layout) -> Result<Compiled, Error> {
        let unit = Unit {
            file: name,
            text,
            layout,
            locals: &[],
            in_ai: false,
        };
        let template = parser::parse(&unit, &self.core.components, &self.limits)?;
        Ok(Compiled {
            template: Rc::new(template),
        })
    }

    /// Compiles and renders.
    pub fn render_text(&self, input: &Input<'_>) -> Result<Rendered, Error> {
        let compiled = self.compile(input.name, input.text, input.layout)?;
        self.render(&compiled, input.state, input.answers)
    }

    /// Renders over a state. Properties the template assigns are gone afterwards; objects it
    /// changes stay changed, so hand in fresh ones where that matters.
    pub fn render(
        &self,
        compiled: &Compiled,
        state: &Object,
        answers: &IndexMap<String, serde_json::Value>,
    ) -> Result<Rendered, Error> {
        self.render_run(compiled, state, self.run(answers))
    }

    /// Renders like [`Engine::render`], with every printed value kept apart: the text has only what
    /// the template's author wrote, and [`split_apart`](crate::split_apart) finds the places.
    pub fn render_apart(
        &self,
        compiled: &Compiled,
        state: &Object,
        answers: &IndexMap<String, serde_json::Value>,
    ) -> Result<Rendered, Error> {
        let mut run = self.run(answers);
        run.apart = Some(RefCell::default());
        self.render_run(compiled, state, run)
    }

    fn render_run(&self, compiled: &Compiled, state: &Object, run: Run) -> Result<Rendered, Error> {
        let provided = Rc::new(RefCell::new(Object::new()));
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
        let mut cx = Context::new(self.limits.expr, &globals);
        if let Some(now_ms) = self.now_ms {
            cx = cx.with_now_ms(now_ms);
        }
        if self.strict {
            cx = cx.strict();
        }
        let template = compiled.template.clone();
        let context = Value::object(Object::new());
        let activation = Activation::new(&run, template, state, context);
        run.know(&activation.template, &activation.frame);
        let mut out = String::new();
        // One level down, so that there is stack enough for the deepest template.
        let ran = cx.deeper(|cx| Ok(activation.body(cx, &activation.template.body, &mut out)));
        ran.unwrap_or(Ok(()))?;
        let text = finished(out, &activation.template, run.stacks.take());
        activation.check_output(&text)?;
        drop(activation);
        Ok(Rendered {
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

    fn run(&self, answers: &IndexMap<String, serde_json::Value>) -> Run {
        let values = answers.iter();
        let values = values.map(|(key, value)| (Rc::from(key.as_str()), Value::from_json(value)));
        Run {
            core: self.core.clone(),
            limits: self.limits,
            strict: self.strict,
            observing: Cell::new(self.strict),
            reads: Rc::new(Reads::default()),
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

impl Compiled {
    /// The name the template was compiled under.
    pub fn name(&self) -> &str {
        &self.template.file
    }

    /// What the author wrote, with a place for every value: all branches, one after the other. For
    /// checking a text before there are values.
    pub fn outline(&self) -> (String, Vec<Printed>) {
        Apart::outline(&self.template.body)
    }
}

/// Edge takes one newline off either end; a template that ends its last line keeps that end.
fn finished(mut out: String, template: &Template, stacks: Stacks) -> String {
    if template.layout == Layout::Jig {
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

impl Core {
    /// The compiled partial or component with this name.
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
        let unit = Unit {
            file: &loaded.path,
            text: &loaded.text,
            layout: Layout::of_path(&loaded.path),
            locals,
            in_ai,
        };
        let template = parser::parse(&unit, &self.components, limits).map_err(NotFound::Broken)?;
        let template = Rc::new(template);
        self.partials.borrow_mut().insert(key, template.clone());
        Ok(template)
    }

    fn load(&self, name: &Rc<str>) -> Result<Rc<Loaded>, NotFound> {
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
