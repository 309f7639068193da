//! Places a text: renders its directives, decides its target, and puts it there.

use diagnostics::nearest;
use indexmap::IndexMap;
use serde_json::Value as Json;
use workspace::RelPath;

use super::file_placement::{FilePlacement, PlacementMode};
use super::{StepContext, StepPass, ValueCertainty};
use crate::error::{Error, FileSpan, RecipeErrorKind};
use crate::evaluate::{EvalInputs, SourceText};
use crate::frontmatter::{FileDirectives, Frontmatter, says_skip};
use crate::manifest::ManifestText;

/// Directives and the file that contains them: a template, or the manifest.
#[derive(Clone, Copy)]
pub(super) struct DirectiveSource<'s> {
    pub(super) site: SourceText<'s>,
    pub(super) frontmatter: &'s Frontmatter,
    /// The text may be executable whatever the directives say.
    pub(super) executable: bool,
}

/// How templates print what is not there.
const UNDEFINED: &str = "undefined";

const TOP: FileSpan = FileSpan {
    line: 1,
    column: 1,
    width: 1,
};

impl DirectiveSource<'_> {
    fn place_of(&self, keys: &[&str]) -> FileSpan {
        let attributes = &self.frontmatter.attributes;
        let found = keys.iter().find_map(|key| attributes.get(*key));
        found.map_or(TOP, |datum| datum.place)
    }

    fn at(&self, error: Error, keys: &[&str]) -> Error {
        error.at(self.site.file, self.site.source, self.place_of(keys))
    }

    /// Adds the position of a target to an error about it.
    pub(super) fn located(&self, error: Error, injecting: bool) -> Error {
        let keys: &[&str] = match (error.kind(), injecting) {
            (RecipeErrorKind::Inject, true) if !error.is_about_target() => {
                &["before", "after", "at_line", "to"]
            }
            _ => &["to"],
        };
        self.at(error, keys)
    }
}

impl StepPass<'_> {
    /// Renders the directives' values.
    pub(super) fn attributes(
        &mut self,
        at: &StepContext<'_>,
        sheet: &DirectiveSource<'_>,
    ) -> Result<(IndexMap<String, Json>, ValueCertainty), Error> {
        let mut rendered = IndexMap::new();
        let mut certainty = ValueCertainty::Sure;
        for (key, datum) in &sheet.frontmatter.attributes {
            let Json::String(text) = &datum.value else {
                rendered.insert(key.clone(), datum.value.clone());
                continue;
            };
            let text = ManifestText {
                text: text.clone(),
                place: datum.place,
            };
            let answers = &self.known.answers;
            let (value, sure) = self.guard(|| {
                let over = EvalInputs {
                    state: at.scope.state(),
                    answers,
                };
                let mut rendered = at.unit.evaluator.text(sheet.site, &text, over)?;
                Ok((std::mem::take(&mut rendered.text), rendered))
            })?;
            if key == "to" && sure == ValueCertainty::Sure {
                self.check_path(at, sheet.site, (&text, &value))?;
            }
            certainty = certainty.max(sure);
            rendered.insert(key.clone(), Json::String(value));
        }
        Ok((rendered, certainty))
    }

    /// Refuses a path in which `undefined` stands for a name that nothing defines.
    pub(super) fn check_path(
        &self,
        at: &StepContext<'_>,
        site: SourceText<'_>,
        (text, path): (&ManifestText, &str),
    ) -> Result<(), Error> {
        if !path.contains(UNDEFINED) || text.text.contains(UNDEFINED) {
            return Ok(());
        }
        let over = EvalInputs {
            state: at.scope.state(),
            answers: &self.known.answers,
        };
        let names = at.unit.evaluator.undefined_names(site, text, over)?;
        let Some(name) = names.first() else {
            return Ok(());
        };
        let path = path.trim();
        let message = format!("`{name}` is not defined, so the path would be `{path}`");
        let known = at.scope.state().keys();
        let hint = match nearest(name, known.iter().map(|known| &**known)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare `{name}` under `variables` of the recipe"),
        };
        let error = Error::new(RecipeErrorKind::Template, message).hint(hint);
        Err(error.at(site.file, site.source, text.place))
    }

    /// Makes the path of a target below a directory, if it may be one.
    pub(super) fn target_path(
        &self,
        (dir, text): (&RelPath, &str),
        sheet: &DirectiveSource<'_>,
    ) -> Result<RelPath, Error> {
        let path = RelPath::parse(text).and_then(|path| dir.join(&path));
        let path = path.map_err(|error| sheet.at(error.into(), &["to"]))?;
        if path.names().any(|name| name.eq_ignore_ascii_case(".git")) {
            let message = format!("`{path}` is inside git's own directory, which is never written");
            return Err(sheet.at(Error::new(RecipeErrorKind::Path, message), &["to"]));
        }
        Ok(path)
    }

    pub(super) fn is_skipped(
        &mut self,
        at: &StepContext<'_>,
        path: &RelPath,
        directives: &FileDirectives,
    ) -> Result<bool, Error> {
        if directives.inject.is_some() {
            return Ok(false);
        }
        if let Some(text) = directives.skip_if.as_deref().filter(|text| says_skip(text)) {
            self.skip(at, path.as_str(), format!("skip_if: {text}"));
            return Ok(true);
        }
        // Checked before rendering, so that no question is asked about a file that is not written.
        if directives.unless_exists && !directives.force && self.project.exists(path)? {
            self.skip(
                at,
                path.as_str(),
                "exists already (unless_exists)".to_owned(),
            );
            return Ok(true);
        }
        Ok(false)
    }

    /// Puts the text where it goes, as a file or into one.
    pub(super) fn place(
        &mut self,
        at: &StepContext<'_>,
        path: RelPath,
        (sheet, directives): (&DirectiveSource<'_>, &FileDirectives),
        (body, certainty): (&str, ValueCertainty),
    ) -> Result<(), Error> {
        let placed = match &directives.inject {
            Some(position) => {
                let skip_if = directives.skip_if.as_deref();
                self.inject(at, path, (body, position, skip_if), certainty)
            }
            None => self.put(
                at,
                FilePlacement {
                    path,
                    content: body.as_bytes().to_vec(),
                    executable: directives.executable || sheet.executable,
                    how: PlacementMode::Add {
                        force: directives.force,
                        unless_exists: directives.unless_exists,
                    },
                    certainty,
                },
            ),
        };
        placed.map_err(|error| sheet.located(error, directives.inject.is_some()))
    }
}

/// Sets the last line end as `eof_last` says; without it the body stays unchanged.
pub(super) fn with_end(mut text: String, eof_last: Option<bool>) -> String {
    match eof_last {
        Some(true) if !text.ends_with('\n') => text.push('\n'),
        Some(false) => {
            let bare = text.trim_end_matches(['\n', '\r']).len();
            text.truncate(bare);
        }
        _ => {}
    }
    text
}
