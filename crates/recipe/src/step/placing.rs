//! Where a text goes: its directives rendered, its target decided, and the text put there.

use indexmap::IndexMap;
use serde_json::Value as Json;
use workspace::RelPath;

use super::put::{Put, Putting};
use super::{At, Certainty, Walk};
use crate::error::{Error, Kind, Place};
use crate::evaluate::{Over, Site};
use crate::frontmatter::{Directives, Frontmatter, says_skip};
use crate::manifest::Text;

/// Directives and the file they stand in: a template's, or the manifest.
#[derive(Clone, Copy)]
pub(super) struct Sheet<'s> {
    pub(super) site: Site<'s>,
    pub(super) frontmatter: &'s Frontmatter,
    /// The text may be run whatever the directives say.
    pub(super) executable: bool,
}

const TOP: Place = Place {
    line: 1,
    column: 1,
    width: 1,
};

impl Sheet<'_> {
    fn place_of(&self, keys: &[&str]) -> Place {
        let attributes = &self.frontmatter.attributes;
        let found = keys.iter().find_map(|key| attributes.get(*key));
        found.map_or(TOP, |datum| datum.place)
    }

    fn at(&self, error: Error, keys: &[&str]) -> Error {
        error.at(self.site.file, self.site.source, self.place_of(keys))
    }

    /// An error about a target, shown where the target is named.
    pub(super) fn located(&self, error: Error, injecting: bool) -> Error {
        let keys: &[&str] = match (error.kind(), injecting) {
            (Kind::Inject, true) if !error.is_about_target() => {
                &["before", "after", "at_line", "to"]
            }
            _ => &["to"],
        };
        self.at(error, keys)
    }
}

impl Walk<'_> {
    /// The directives' values, rendered.
    pub(super) fn attributes(
        &mut self,
        at: &At<'_>,
        sheet: &Sheet<'_>,
    ) -> Result<(IndexMap<String, Json>, Certainty), Error> {
        let mut rendered = IndexMap::new();
        let mut certainty = Certainty::Sure;
        for (key, datum) in &sheet.frontmatter.attributes {
            let Json::String(text) = &datum.value else {
                rendered.insert(key.clone(), datum.value.clone());
                continue;
            };
            let text = Text {
                text: text.clone(),
                place: datum.place,
            };
            let answers = &self.known.answers;
            let (value, sure) = self.guard(|| {
                let over = Over {
                    state: at.scope.state(),
                    answers,
                };
                let mut rendered = at.unit.evaluator.text(sheet.site, &text, over)?;
                Ok((std::mem::take(&mut rendered.text), rendered))
            })?;
            certainty = certainty.max(sure);
            rendered.insert(key.clone(), Json::String(value));
        }
        Ok((rendered, certainty))
    }

    /// The path of a target below a directory, if it may be one.
    pub(super) fn target_path(
        &self,
        (dir, text): (&RelPath, &str),
        sheet: &Sheet<'_>,
    ) -> Result<RelPath, Error> {
        let path = RelPath::parse(text).and_then(|path| dir.join(&path));
        let path = path.map_err(|error| sheet.at(error.into(), &["to"]))?;
        if path.names().any(|name| name.eq_ignore_ascii_case(".git")) {
            let message = format!("`{path}` is inside git's own directory, which is never written");
            return Err(sheet.at(Error::new(Kind::Path, message), &["to"]));
        }
        Ok(path)
    }

    pub(super) fn is_skipped(
        &mut self,
        at: &At<'_>,
        path: &RelPath,
        directives: &Directives,
    ) -> Result<bool, Error> {
        if directives.inject.is_some() {
            return Ok(false);
        }
        if let Some(text) = directives.skip_if.as_deref().filter(|text| says_skip(text)) {
            self.skip(at, path.as_str(), format!("skip_if: {text}"));
            return Ok(true);
        }
        // Known before rendering, so that nobody is asked about a file that is not written.
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
        at: &At<'_>,
        path: RelPath,
        (sheet, directives): (&Sheet<'_>, &Directives),
        (body, certainty): (&str, Certainty),
    ) -> Result<(), Error> {
        let placed = match &directives.inject {
            Some(position) => {
                let skip_if = directives.skip_if.as_deref();
                self.inject(at, path, (body, position, skip_if), certainty)
            }
            None => self.put(
                at,
                Put {
                    path,
                    content: body.as_bytes().to_vec(),
                    executable: directives.executable || sheet.executable,
                    how: Putting::Add {
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

/// `eof_last` decides about the last line end; without it the body keeps what it has.
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
