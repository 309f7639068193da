//! Finds the files of a recipe that a `template` step means.

use globset::{Glob, GlobSet, GlobSetBuilder};
use workspace::{PathKind, RelPath};

use super::{StepContext, StepPass};
use crate::error::{Error, RecipeErrorKind};
use crate::file_finder::{TemplatePath, is_template, without_ending};
use crate::manifest::{ManifestText, TemplateStep};

/// A file of the recipe and where its path is mirrored from.
pub(super) struct TemplateOrigin {
    pub(super) path: RelPath,
    /// The path a template without `to` gets, `{{ }}` in it still to be rendered.
    pub(super) mirror: String,
    /// Rendered, or copied as it is.
    pub(super) rendered: bool,
}

impl StepPass<'_> {
    /// Finds the files that a `template` means.
    pub(super) fn origins(
        &self,
        at: &StepContext<'_>,
        text: &ManifestText,
        name: &str,
    ) -> Result<Vec<TemplateOrigin>, Error> {
        let files = &at.unit.files;
        let single = |path: RelPath, base: &RelPath| {
            let inside = path.strip_prefix(base).unwrap_or_else(|| path.clone());
            let mirror = without_ending(inside.as_str()).to_owned();
            TemplateOrigin {
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
            Some(TemplatePath::File(path)) => {
                let base = files.mirror_dir(&path);
                Ok(vec![single(path, &base)])
            }
            Some(TemplatePath::Dir(dir)) => {
                let entries = files.base().walk(&dir)?;
                let entries = entries
                    .into_iter()
                    .filter(|entry| entry.kind != PathKind::Dir);
                Ok(entries
                    .map(|entry| {
                        let rendered = is_template(entry.path.as_str());
                        TemplateOrigin {
                            rendered,
                            ..single(entry.path, &dir)
                        }
                    })
                    .collect())
            }
            None => {
                let message = format!("there is no template `{name}`");
                let error = at
                    .unit
                    .error(RecipeErrorKind::NotFound, text.place, message);
                Err(error.hint(files.advice(name)))
            }
        }
    }
}

/// Returns the globs of files to leave out.
pub(super) fn excluded(at: &StepContext<'_>, tool: &TemplateStep) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for text in &tool.exclude {
        let glob = Glob::new(&text.text).map_err(|error| {
            let message = format!("`{}` is not a glob: {}", text.text, error.kind());
            at.unit
                .error(RecipeErrorKind::Manifest, text.place, message)
        })?;
        set.add(glob);
    }
    set.build()
        .map_err(|error| Error::new(RecipeErrorKind::Limit, error.to_string()))
}
