//! `template`: one file, several, or a directory tree, rendered into the project.

use expr::Value;
use serde_json::{Value as Json, json};
use template::RenderResult;
use workspace::RelPath;

use super::directives::{DirectiveSource, with_end};
use super::file_placement::{FilePlacement, PlacementMode};
use super::template_files::{TemplateOrigin, excluded};
use super::{StepContext, StepPass, ToolExport, ValueCertainty};
use crate::effect::Effect;
use crate::error::{Error, RecipeErrorKind};
use crate::evaluate::{EvalInputs, SourceText};
use crate::frontmatter::{FileDirectives, ToDirective};
use crate::loaded_recipe::TemplateFile;
use crate::manifest::{ManifestText, TemplateStep};

/// Target of one file.
enum FileDestination {
    To(RelPath),
    Nowhere,
    /// An answer decides.
    Later,
}

/// Target of a step's files.
struct OutputTarget {
    dir: RelPath,
    /// Instead of the frontmatter's `to`.
    file: Option<String>,
}

impl TemplateFile {
    /// Returns the file that its directives are written in.
    pub(crate) fn site(&self) -> SourceText<'_> {
        SourceText {
            file: &self.file,
            source: &self.text,
        }
    }

    /// Returns its directives.
    fn sheet(&self) -> DirectiveSource<'_> {
        DirectiveSource {
            site: self.site(),
            frontmatter: &self.frontmatter,
            executable: self.executable,
        }
    }
}

impl StepPass<'_> {
    pub(super) fn template(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &TemplateStep,
    ) -> Result<ToolExport, Error> {
        let exclude = excluded(at, tool)?;
        let Some(target) = self.target(at, tool)? else {
            return Ok(ToolExport::Later);
        };
        let first = self.found.effects.len();
        let mut later = false;
        for text in &tool.templates {
            let (name, certainty) = self.text(at, text)?;
            if certainty == ValueCertainty::Later {
                later = true;
                continue;
            }
            for origin in self.origins(at, text, name.trim())? {
                if exclude.is_match(&origin.mirror) {
                    continue;
                }
                later |= self.file(at, tool, &target, &origin)? == ValueCertainty::Later;
            }
        }
        if later {
            return Ok(ToolExport::Later);
        }
        let written = self.found.effects[first..]
            .iter()
            .filter_map(|effect| match effect {
                Effect::Write(write) => Some(Json::String(write.path.to_string())),
                _ => None,
            });
        let files: Vec<Json> = written.collect();
        Ok(ToolExport::Value(
            json!({ "filesGenerated": files, "files": files }),
        ))
    }

    fn target(
        &mut self,
        at: &StepContext<'_>,
        tool: &TemplateStep,
    ) -> Result<Option<OutputTarget>, Error> {
        let mut target = OutputTarget {
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
        if certainty == ValueCertainty::Later {
            return Ok(None);
        }
        self.check_path(at, at.unit.site(), (text, &to))?;
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
        at: &mut StepContext<'_>,
        tool: &TemplateStep,
        target: &OutputTarget,
        origin: &TemplateOrigin,
    ) -> Result<ValueCertainty, Error> {
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
            Err(_) if certainty == ValueCertainty::Later => FileDirectives::default(),
            Err(error) => return Err(error),
        };
        directives.force |= tool.overwrite;
        at.scope
            .set_json("attributes", &Json::Object(rendered.into_iter().collect()));
        let goes = match certainty {
            ValueCertainty::Later => FileDestination::Later,
            _ => self.destination(at, target, origin, (&file, &directives))?,
        };
        if let FileDestination::To(path) = &goes
            && self.is_skipped(at, path, &directives)?
        {
            return Ok(certainty);
        }
        // Rendered even before its target is known, because its questions must be asked.
        let (body, sure) = self.body(at, &file, &directives)?;
        let path = match goes {
            FileDestination::To(path) => Some(path),
            FileDestination::Nowhere => None,
            FileDestination::Later => return Ok(ValueCertainty::Later),
        };
        let certainty = certainty.max(sure);
        if certainty == ValueCertainty::Later {
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

    /// Decides the target of a file.
    fn destination(
        &mut self,
        at: &StepContext<'_>,
        target: &OutputTarget,
        origin: &TemplateOrigin,
        (file, directives): (&TemplateFile, &FileDirectives),
    ) -> Result<FileDestination, Error> {
        let text = match (&target.file, &directives.to) {
            (Some(path), _) => path.clone(),
            (None, ToDirective::Nowhere) => {
                self.skip(at, &origin.mirror, "`to` is empty".to_owned());
                return Ok(FileDestination::Nowhere);
            }
            (None, ToDirective::Path(path)) => path.clone(),
            // A template that only runs or says something has no file.
            (None, ToDirective::Mirror) if directives.runs || directives.message.is_some() => {
                return Ok(FileDestination::Nowhere);
            }
            (None, ToDirective::Mirror) => match self.mirrored(at, origin)? {
                (_, ValueCertainty::Later) => return Ok(FileDestination::Later),
                (path, _) => path,
            },
        };
        let path = self.target_path((&target.dir, &text), &file.sheet())?;
        Ok(FileDestination::To(path))
    }

    /// Renders the `{{ }}` in the template's own path.
    fn mirrored(
        &mut self,
        at: &StepContext<'_>,
        origin: &TemplateOrigin,
    ) -> Result<(String, ValueCertainty), Error> {
        let text = ManifestText {
            text: origin.mirror.clone(),
            place: at.step.place,
        };
        match text.text.contains("{{") {
            true => self.text(at, &text),
            false => Ok((text.text, ValueCertainty::Sure)),
        }
    }

    fn body(
        &mut self,
        at: &mut StepContext<'_>,
        file: &TemplateFile,
        directives: &FileDirectives,
    ) -> Result<(String, ValueCertainty), Error> {
        if let Some(name) = &directives.from {
            let files = &at.unit.files;
            let Some(path) = files.find_file(name)? else {
                let place = file
                    .frontmatter
                    .attributes
                    .get("from")
                    .map(|datum| datum.place);
                let message = format!("there is no file `{name}` to take the text from");
                let error = Error::new(RecipeErrorKind::NotFound, message).hint(files.advice(name));
                return Err(error.at(&file.file, &file.text, place.unwrap_or_default()));
            };
            let text = files.base().read_text(&path)?.unwrap_or_default();
            return Ok((text, ValueCertainty::Sure));
        }
        let answers = &self.known.answers;
        let scope = &at.scope;
        let ((text, provided), certainty) = self.guard(|| {
            let over = EvalInputs {
                state: scope.state(),
                answers,
            };
            let mut rendered: RenderResult = at.unit.evaluator.render(&file.body, over)?;
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

    /// Does the rest of a template's work, besides its file.
    fn afterwards(
        &mut self,
        at: &StepContext<'_>,
        file: &TemplateFile,
        directives: FileDirectives,
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
        at: &StepContext<'_>,
        tool: &TemplateStep,
        target: &OutputTarget,
        origin: &TemplateOrigin,
    ) -> Result<ValueCertainty, Error> {
        let (mirror, certainty) = self.mirrored(at, origin)?;
        if certainty == ValueCertainty::Later {
            return Ok(certainty);
        }
        let path = target.dir.join(&RelPath::parse(&mirror)?)?;
        let base = at.unit.files.base();
        let content = base.read(&origin.path)?.unwrap_or_default();
        let executable = base.is_executable(&origin.path)?;
        let how = PlacementMode::Add {
            force: tool.overwrite,
            unless_exists: false,
        };
        self.put(
            at,
            FilePlacement {
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
