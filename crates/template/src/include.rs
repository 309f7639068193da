//! Includes: partials found, given their variables, and run one level deeper.

use std::rc::Rc;

use expr::EvalContext;

use crate::engine::NotFound;
use crate::error::{CompileFault, Error};
use crate::node::{CONTEXT_SLOT, CodeOrigin, IncludeNode, Template};
use crate::render::{Activation, first_in};

/// The tag that enters another template, and its kind for messages.
pub(crate) struct IncludeSite<'a> {
    pub(crate) origin: &'a CodeOrigin,
    pub(crate) what: &'static str,
}

impl Activation {
    pub(crate) fn include(
        &self,
        cx: &mut EvalContext<'_>,
        include: &IncludeNode,
        out: &mut String,
    ) -> Result<(), Error> {
        let enclosing = self.run.reads.enclosing();
        if let Some(condition) = &include.condition {
            let (truth, keys) = self.run.reads.measure(|| self.test(cx, condition));
            enclosing.add(keys);
            if !truth? {
                return Ok(());
            }
        }
        let (path, keys) = self.run.reads.measure(|| self.eval_text(cx, &include.path));
        enclosing.add(keys);
        let Some(template) = self.partial(include, &path?)? else {
            return Ok(());
        };
        let context = include.context.eval(cx, &self.frame).unwrap_or_default();
        let state = self.frame.state().clone();
        let partial = Activation::new(&self.run, template, state, context);
        for (at, value) in include.values.iter().enumerate() {
            // Reading a variable whose block has ended is an error; passing it on is not.
            let value = value.eval(cx, &self.frame).unwrap_or_default();
            partial.frame.set(CONTEXT_SLOT + 1 + at, value);
        }
        self.place(&include.placing, out, |out| {
            let site = IncludeSite {
                origin: &include.path.origin,
                what: "included",
            };
            self.enter(cx, &partial, &site, out)
        })
    }

    /// Finds the template an include names; `None` if its name depends on a missing answer.
    fn partial(
        &self,
        include: &IncludeNode,
        path: &Rc<str>,
    ) -> Result<Option<Rc<Template>>, Error> {
        if let Some((name, template)) = &*include.found.borrow()
            && name == path
        {
            return Ok(Some(template.clone()));
        }
        let origin = &include.path.origin;
        let found = self
            .run
            .core
            .partial(path, &include.locals, include.in_ai, &self.run.limits);
        let Some(template) = self.found(found, origin, "included")? else {
            return Ok(None);
        };
        self.run.know(&template, &self.frame);
        *include.found.borrow_mut() = Some((path.clone(), template.clone()));
        Ok(Some(template))
    }

    /// Adds the position of the tag to an error of finding a template.
    pub(crate) fn found(
        &self,
        found: Result<Rc<Template>, NotFound>,
        origin: &CodeOrigin,
        what: &'static str,
    ) -> Result<Option<Rc<Template>>, Error> {
        match found {
            Ok(template) => Ok(Some(template)),
            Err(NotFound::Broken(error)) => {
                Err(error.reached_by(what, self.place_of(origin.at(0))))
            }
            Err(NotFound::Missing { message, hint }) => {
                let at = first_in(origin);
                let mut fault = CompileFault::new("E_RUNTIME_EXCEPTION", message, at);
                fault.hint = hint;
                self.excuse_error(fault.in_file(&self.template.file, &self.template.source))?;
                Ok(None)
            }
        }
    }

    /// Runs another template, one level deeper.
    pub(crate) fn enter(
        &self,
        cx: &mut EvalContext<'_>,
        inner: &Activation,
        site: &IncludeSite<'_>,
        out: &mut String,
    ) -> Result<(), Error> {
        let entered = cx.deeper(|cx| Ok(inner.body(cx, &inner.template.body, out)));
        match entered {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(error.reached_by(site.what, self.place_of(first_in(site.origin))))
            }
            Err(limit) => Err(self.error(site.origin, &limit)),
        }
    }
}
