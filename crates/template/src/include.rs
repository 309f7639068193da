//! Includes: partials found, given their variables, and run one level deeper.

use std::rc::Rc;

use expr::Context;

use crate::engine::NotFound;
use crate::error::{Error, Fault};
use crate::node::{CONTEXT_SLOT, Include, Origin, Template};
use crate::render::{Activation, first_in};

/// Where another template is entered, and how.
pub(crate) struct Site<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) what: &'static str,
}

impl Activation {
    pub(crate) fn include(
        &self,
        cx: &mut Context<'_>,
        include: &Include,
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
            // A variable whose block has ended is an error to read, and not one to pass on.
            let value = value.eval(cx, &self.frame).unwrap_or_default();
            partial.frame.set(CONTEXT_SLOT + 1 + at, value);
        }
        self.place(&include.placing, out, |out| {
            let site = Site {
                origin: &include.path.origin,
                what: "included",
            };
            self.enter(cx, &partial, &site, out)
        })
    }

    /// The template an include names; nothing when a missing answer keeps it unknown.
    fn partial(&self, include: &Include, path: &Rc<str>) -> Result<Option<Rc<Template>>, Error> {
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

    /// Places what went wrong when a template was looked for.
    pub(crate) fn found(
        &self,
        found: Result<Rc<Template>, NotFound>,
        origin: &Origin,
        what: &'static str,
    ) -> Result<Option<Rc<Template>>, Error> {
        match found {
            Ok(template) => Ok(Some(template)),
            Err(NotFound::Broken(error)) => {
                Err(error.reached_by(what, self.place_of(origin.at(0))))
            }
            Err(NotFound::Missing { message, hint }) => {
                let at = first_in(origin);
                let mut fault = Fault::new("E_RUNTIME_EXCEPTION", message, at);
                fault.hint = hint;
                self.excuse_error(fault.in_file(&self.template.file, &self.template.source))?;
                Ok(None)
            }
        }
    }

    /// Runs another template, one level deeper.
    pub(crate) fn enter(
        &self,
        cx: &mut Context<'_>,
        inner: &Activation,
        site: &Site<'_>,
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
