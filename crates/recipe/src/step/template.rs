//! `template`: one file, several, or a directory tree, rendered into the project.

use expr::Value;
use serde_json::{Value as Json, json};
use template::Rendered;
use workspace::RelPath;

use super::origins::{Origin, excluded};
use super::placing::{Sheet, with_end};
use super::put::{Put, Putting};
use super::{At, Certainty, Outcome, Walk};
use crate::effect::Effect;
use crate::error::{Error, Kind};
use crate::evaluate::{Over, Site};
use crate::frontmatter::{Directives, To};
use crate::manifest::{TemplateStep, Text};
use crate::unit::TemplateFile;

/// Where a file goes.
enum Goes {
    To(RelPath),
    Nowhere,
    /// An answer decides.
    Later,
}

/// Where a step puts its files.
struct Target {
    dir: RelPath,
    /// Instead of the frontmatter's `to`.
    file: Option<String>,
}

impl TemplateFile {
    /// Where its directives stand.
    pub(crate) fn site(&self) -> Site<'_> {
        Site {
            file: &self.file,
            source: &self.text,
        }
    }

    /// Its directives.
    fn sheet(&self) -> Sheet<'_> {
        Sheet {
            site: self.site(),
            frontmatter: &self.frontmatter,
            executable: self.executable,
        }
    }
}

impl Walk<'_> {
    pub(super) fn template(
        &mut self,
        at: &mut At<'_>,
        tool: &TemplateStep,
    ) -> Result<Outcome, Error> {
        let exclude = excluded(at, tool)?;
        let Some(target) = self.target(at, tool)? else {
            return Ok(Outcome::Later);
        };
        let first = self.found.effects.len();
        let mut later = false;
        for text in &tool.templates {
            let (name, certainty) = self.text(at, text)?;
            if certainty == Certainty::Later {
                later = true;
                continue;
            }
            for origin in self.origins(at, text, name.trim())? {
                if exclude.is_match(&origin.mirror) {
                    continue;
                }
                later |= self.file(at, tool, &target, &origin)? == Certainty::Later;
            }
        }
        if later {
            return Ok(Outcome::Later);
        }
        let written = self.found.effects[first..]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Write(write) => Some(Json::String(write.path.to_string())),
                _ => None,
            });
        let files: Vec<Json> = written.collect();
        Ok(Outcome::Value(
            json!({ "filesGenerated": files, "files": files }),
        ))
    }

    fn target(&mut self, at: &At<'_>, tool: &TemplateStep) -> Result<Option<Target>, Error> {
        let mut target = Target {
            dir: RelPath::root(),
            file: None,
        };
        if let Some(text) = &tool.output_dir {
            match self.data_path(at, text)? {
                Some(dir) => target.dir = dir,
                None => return Ok(None),
            }
        }
        let Some(text) = &tool.to else {
            return Ok(Some(target));
        };
        let (to, certainty) = self.text(at, text)?;
        if certainty == Certainty::Later {
            return Ok(None);
        }
        // One template goes to a file; several, or a path that ends in `/`, to a directory.
        if tool.templates.len() > 1 || to.trim_end().ends_with('/') {
            let dir = self.data_path(at, text)?.unwrap_or_else(RelPath::root);
            target.dir = target.dir.join(&dir)?;
        } else {
            target.file = Some(to.trim().to_owned());
        }
        Ok(Some(target))
    }

    /// Renders or copies one file.
    fn file(
        &mut self,
        at: &mut At<'_>,
        tool: &TemplateStep,
        target: &Target,
        origin: &Origin,
    ) -> Result<Certainty, Error> {
        if !origin.rendered {
            return self.copy(at, tool, target, origin);
        }
        let file = at.unit.template(&origin.path)?;
        self.found
            .templates
            .insert(file.file.clone(), file.hash.clone());
        let (rendered, certainty) = self.attributes(at, &file.sheet())?;
        let directives = file.frontmatter.directives(&file.file, &rendered);
        let mut directives = match directives {
            Ok(directives) => directives,
            // An attribute that waits for an answer may read as anything.
            Err(_) if certainty == Certainty::Later => Directives::default(),
            Err(error) => return Err(error),
        };
        directives.force |= tool.overwrite;
        at.scope
            .set_json("attributes", &Json::Object(rendered.into_iter().collect()));
        let goes = match certainty {
            Certainty::Later => Goes::Later,
            _ => self.destination(at, target, origin, (&file, &directives))?,
        };
        if let Goes::To(path) = &goes
            && self.is_skipped(at, path, &directives)?
        {
            return Ok(certainty);
        }
        // Rendered even when its place is not known yet: its questions are to be asked.
        let (body, sure) = self.body(at, &file, &directives)?;
        let path = match goes {
            Goes::To(path) => Some(path),
            Goes::Nowhere => None,
            Goes::Later => return Ok(Certainty::Later),
        };
        let certainty = certainty.max(sure);
        if certainty == Certainty::Later {
            self.expected.extend(path);
            return Ok(certainty);
        }
        if let Some(path) = path {
            let sheet = file.sheet();
            self.place(at, path, (&sheet, &directives), (&body, certainty))?;
        }
        self.afterwards(at, &file, directives, body)?;
        Ok(certainty)
    }

    /// Where the file goes.
    fn destination(
        &mut self,
        at: &At<'_>,
        target: &Target,
        origin: &Origin,
        (file, directives): (&TemplateFile, &Directives),
    ) -> Result<Goes, Error> {
        let text = match (&target.file, &directives.to) {
            (Some(path), _) => path.clone(),
            (None, To::Nowhere) => {
                self.skip(at, &origin.mirror, "`to` is empty".to_owned());
                return Ok(Goes::Nowhere);
            }
            (None, To::Path(path)) => path.clone(),
            // A template that only runs or says something has no file.
            (None, To::Mirror) if directives.runs || directives.message.is_some() => {
                return Ok(Goes::Nowhere);
            }
            (None, To::Mirror) => match self.mirrored(at, origin)? {
                (_, Certainty::Later) => return Ok(Goes::Later),
                (path, _) => path,
            },
        };
        let path = self.target_path((&target.dir, &text), &file.sheet())?;
        Ok(Goes::To(path))
    }

    /// The template's own path with `{{ }}` in its names rendered.
    fn mirrored(&mut self, at: &At<'_>, origin: &Origin) -> Result<(String, Certainty), Error> {
        let text = Text {
            text: origin.mirror.clone(),
            place: at.step.place,
        };
        match text.text.contains("{{") {
            true => self.text(at, &text),
            false => Ok((text.text, Certainty::Sure)),
        }
    }

    fn body(
        &mut self,
        at: &mut At<'_>,
        file: &TemplateFile,
        directives: &Directives,
    ) -> Result<(String, Certainty), Error> {
        if let Some(name) = &directives.from {
            let files = &at.unit.files;
            let Some(path) = files.find_file(name)? else {
                let place = file
                    .frontmatter
                    .attributes
                    .get("from")
                    .map(|datum| datum.place);
                let message = format!("there is no file `{name}` to take the text from");
                let error = Error::new(Kind::NotFound, message).hint(files.advice(name));
                return Err(error.at(&file.file, &file.text, place.unwrap_or_default()));
            };
            let text = files.base().read_text(&path)?.unwrap_or_default();
            return Ok((text, Certainty::Sure));
        }
        let answers = &self.known.answers;
        let scope = &at.scope;
        let ((text, provided), certainty) = self.guard(|| {
            let over = Over {
                state: scope.state(),
                answers,
            };
            let mut rendered: Rendered = at.unit.evaluator.render(&file.body, over)?;
            let provided = rendered.provided.entries();
            Ok(((std::mem::take(&mut rendered.text), provided), rendered))
        })?;
        let provided: Vec<(std::rc::Rc<str>, Value)> = provided;
        self.provided.extend(
            provided
                .into_iter()
                .map(|(name, value)| (name.to_string(), value)),
        );
        Ok((with_end(text, directives.eof_last), certainty))
    }

    /// What a template does besides its file.
    fn afterwards(
        &mut self,
        at: &At<'_>,
        file: &TemplateFile,
        directives: Directives,
        body: String,
    ) -> Result<(), Error> {
        if let Some(text) = directives.message {
            let step = at.step.name.clone();
            self.found.effects.push(Effect::Message { text, step });
        }
        match file.frontmatter.command().filter(|_| directives.runs) {
            Some(command) => {
                let command = (file.site(), &command);
                self.template_shell(at, command, body, directives.sh_ignore_exit)
            }
            None => Ok(()),
        }
    }

    fn copy(
        &mut self,
        at: &At<'_>,
        tool: &TemplateStep,
        target: &Target,
        origin: &Origin,
    ) -> Result<Certainty, Error> {
        let (mirror, certainty) = self.mirrored(at, origin)?;
        if certainty == Certainty::Later {
            return Ok(certainty);
        }
        let path = target.dir.join(&RelPath::parse(&mirror)?)?;
        let base = at.unit.files.base();
        let content = base.read(&origin.path)?.unwrap_or_default();
        let executable = base.is_executable(&origin.path)?;
        let how = Putting::Add {
            force: tool.overwrite,
            unless_exists: false,
        };
        self.put(
            at,
            Put {
                path,
                content,
                executable,
                how,
                certainty,
            },
        )?;
        Ok(certainty)
    }
}
