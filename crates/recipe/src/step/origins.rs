//! Which files of a recipe a `template` step means.

use globset::{Glob, GlobSet, GlobSetBuilder};
use workspace::{Kind as PathKind, RelPath};

use super::{At, Walk};
use crate::error::{Error, Kind};
use crate::loader::{Meant, is_template, without_ending};
use crate::manifest::{TemplateStep, Text};

/// A file of the recipe and where its path is mirrored from.
pub(super) struct Origin {
    pub(super) path: RelPath,
    /// The path a template without `to` gets, `{{ }}` in it still to be rendered.
    pub(super) mirror: String,
    /// Rendered, or copied as it is.
    pub(super) rendered: bool,
}

impl Walk<'_> {
    /// The files that a `template` means.
    pub(super) fn origins(
        &self,
        at: &At<'_>,
        text: &Text,
        name: &str,
    ) -> Result<Vec<Origin>, Error> {
        let files = &at.unit.files;
        let single = |path: RelPath, base: &RelPath| {
            let inside = path.strip_prefix(base).unwrap_or_else(|| path.clone());
            let mirror = without_ending(inside.as_str()).to_owned();
            Origin {
                path,
                mirror,
                rendered: true,
            }
        };
        if name.contains('*') {
            let found = files.glob(name)?;
            if !found.is_empty() {
                let origin = |path: RelPath| {
                    let base = files.mirror_dir(&path);
                    single(path, &base)
                };
                return Ok(found.into_iter().map(origin).collect());
            }
        }
        match files.find(name)? {
            Some(Meant::File(path)) => {
                let base = files.mirror_dir(&path);
                Ok(vec![single(path, &base)])
            }
            Some(Meant::Dir(dir)) => {
                let entries = files.base().walk(&dir)?;
                let entries = entries
                    .into_iter()
                    .filter(|entry| entry.kind != PathKind::Dir);
                Ok(entries
                    .map(|entry| {
                        let rendered = is_template(entry.path.as_str());
                        Origin {
                            rendered,
                            ..single(entry.path, &dir)
                        }
                    })
                    .collect())
            }
            None => {
                let message = format!("there is no template `{name}`");
                let error = at.unit.error(Kind::NotFound, text.place, message);
                Err(error.hint(files.advice(name)))
            }
        }
    }
}

/// The globs of files to leave out.
pub(super) fn excluded(at: &At<'_>, tool: &TemplateStep) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for text in &tool.exclude {
        let glob = Glob::new(&text.text).map_err(|error| {
            let message = format!("`{}` is not a glob: {}", text.text, error.kind());
            at.unit.error(Kind::Manifest, text.place, message)
        })?;
        set.add(glob);
    }
    set.build()
        .map_err(|error| Error::new(Kind::Limit, error.to_string()))
}
