//! `query`, `patch` and `ensure-dirs`: data files and directories of the project.

use expr::Value;
use serde_json::{Value as Json, json};
use workspace::{PathKind, RelPath};

use super::file_placement::{FilePlacement, PlacementMode};
use super::{StepContext, StepPass, ToolExport, ValueCertainty};
use crate::effect::{Effect, FileStatus};
use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::manifest::{DataFormat, EnsureDirs, ManifestText, PatchStep, QueryStep, ReplaceStep};
use crate::regex::RecipeRegex;
use crate::scope::{VariableScope, to_json};
use crate::structured;

impl StepPass<'_> {
    pub(super) fn query(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &QueryStep,
        scope: &mut VariableScope,
    ) -> Result<ToolExport, Error> {
        let Some(path) = self.data_path(at, &tool.file)? else {
            return Ok(ToolExport::Later);
        };
        let format = format(at, tool.format, &path, &tool.file)?;
        let text = self
            .project
            .read_text(&path)
            .map_err(|error| placed(at, error, &tool.file))?;
        let value = match &text {
            Some(text) => {
                structured::read(format, text).map_err(|error| in_file(&path, text, error))?
            }
            None => Json::Null,
        };
        let mut checks = Vec::new();
        for check in &tool.checks {
            let found = lookup(&value, &check.path.text);
            if let Some(name) = &check.export {
                scope.set_json(name, found.unwrap_or(&Json::Null));
            }
            if let Some(name) = &check.export_exists {
                scope.set(name, Value::Bool(found.is_some()));
            }
            checks.push(json!({
                "path": check.path.text,
                "exists": found.is_some(),
                "value": found,
            }));
        }
        let mut result = Json::Null;
        if let Some(expression) = &tool.expression {
            at.scope.set_json("data", &value);
            let (value, certainty) = self.expression(at, expression)?;
            if certainty == ValueCertainty::Later {
                return Ok(ToolExport::Later);
            }
            result = to_json(&value).unwrap_or(Json::Null);
        }
        Ok(ToolExport::Value(json!({
            "file": path,
            "exists": text.is_some(),
            "checks": checks,
            "value": result,
            "data": value,
        })))
    }

    pub(super) fn patch(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &PatchStep,
    ) -> Result<ToolExport, Error> {
        let Some(path) = self.data_path(at, &tool.file)? else {
            return Ok(ToolExport::Later);
        };
        let format = format(at, tool.format, &path, &tool.file)?;
        let (merge, certainty) = self.value(at, &tool.merge.value, tool.merge.place)?;
        if certainty == ValueCertainty::Later {
            return Ok(ToolExport::Later);
        }
        let text = self
            .project
            .read_text(&path)
            .map_err(|error| placed(at, error, &tool.file))?;
        if text.is_none() && !tool.create_if_missing {
            let message = format!("there is no `{path}` to patch");
            let error = at
                .unit
                .error(RecipeErrorKind::NotFound, tool.file.place, message);
            return Err(error.hint("drop `createIfMissing: false` to make it"));
        }
        let old = text.as_deref().unwrap_or_default();
        let merged = structured::merge(format, old, &merge, tool.indent);
        let merged = merged.map_err(|error| match error.line {
            Some(_) => in_file(&path, old, error),
            None => placed(at, in_file(&path, old, error), &tool.file),
        })?;
        let created = text.is_none();
        self.put(
            at,
            FilePlacement {
                content: merged.into_bytes(),
                executable: false,
                how: PlacementMode::Replace(match created {
                    true => FileStatus::Created,
                    false => FileStatus::Modified,
                }),
                certainty,
                path: path.clone(),
            },
        )?;
        Ok(ToolExport::Value(
            json!({ "file": path, "created": created }),
        ))
    }

    /// Replaces the matches in a file. A second run finds the replacement in place and changes
    /// nothing more, unless the pattern matches the replacement.
    pub(super) fn replace_matches(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &ReplaceStep,
    ) -> Result<ToolExport, Error> {
        let Some(path) = self.data_path(at, &tool.file)? else {
            return Ok(ToolExport::Later);
        };
        let (pattern, of_pattern) = self.text(at, &tool.pattern)?;
        let (with, of_with) = self.text(at, &tool.with)?;
        let certainty = of_pattern.max(of_with);
        if certainty == ValueCertainty::Later {
            return Ok(ToolExport::Later);
        }
        let text = self
            .project
            .read_text(&path)
            .map_err(|error| placed(at, error, &tool.file))?;
        let Some(text) = text else {
            let message = format!("there is no `{path}` to replace anything in");
            let error = at
                .unit
                .error(RecipeErrorKind::NotFound, tool.file.place, message);
            return Err(error.hint("make it in an earlier step, or give the step a `when`"));
        };
        let (new, count) = RecipeRegex::new(&pattern)
            .and_then(|regex| regex.replace(&text, &with, tool.all))
            .map_err(|error| {
                let message = format!("`{pattern}` cannot be used: {}", error.message());
                at.unit
                    .error(RecipeErrorKind::Manifest, tool.pattern.place, message)
            })?;
        // A replacement that is already there is no error, so that a recipe can run twice.
        if count == 0 && !tool.optional && !text.contains(with.as_str()) {
            let message = format!("nothing in `{path}` matches `{pattern}`");
            let error = at
                .unit
                .error(RecipeErrorKind::Inject, tool.pattern.place, message);
            return Err(error.hint("correct the pattern, or add `optional: true`"));
        }
        self.put(
            at,
            FilePlacement {
                content: new.into_bytes(),
                executable: false,
                how: PlacementMode::Replace(FileStatus::Modified),
                certainty,
                path: path.clone(),
            },
        )?;
        Ok(ToolExport::Value(json!({ "file": path, "count": count })))
    }

    pub(super) fn ensure_dirs(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &EnsureDirs,
    ) -> Result<ToolExport, Error> {
        let (mut created, mut already) = (Vec::new(), Vec::new());
        for text in &tool.paths {
            let Some(path) = self.data_path(at, text)? else {
                return Ok(ToolExport::Later);
            };
            let exists = self.project.is(&path, PathKind::Dir);
            if exists.map_err(|error| placed(at, error, text))? {
                already.push(path);
                continue;
            }
            if self.project.exists(&path)? {
                let message = format!("`{path}` is a file, and a directory was wanted");
                return Err(at.unit.error(RecipeErrorKind::Path, text.place, message));
            }
            self.project.create_dir(&path);
            let step = at.step.name.clone();
            self.found.effects.push(Effect::EnsureDir {
                path: path.clone(),
                step,
            });
            created.push(path);
        }
        Ok(ToolExport::Value(
            json!({ "created": created, "alreadyExisted": already }),
        ))
    }

    /// Renders a path of the project that the manifest names; `None` while an answer is missing.
    pub(super) fn data_path(
        &mut self,
        at: &StepContext<'_>,
        text: &ManifestText,
    ) -> Result<Option<RelPath>, Error> {
        let (path, certainty) = self.text(at, text)?;
        if certainty == ValueCertainty::Later {
            return Ok(None);
        }
        let parsed = RelPath::parse(path.trim()).map_err(Error::from);
        parsed.map(Some).map_err(|error| placed(at, error, text))
    }
}

pub(super) fn placed(at: &StepContext<'_>, error: Error, text: &ManifestText) -> Error {
    error.at(&at.unit.recipe.file, &at.unit.recipe.text, text.place)
}

/// Makes an error about a data file, with its position there.
fn in_file(path: &RelPath, text: &str, error: structured::Error) -> Error {
    let diagnostic = match error.line.zip(error.column) {
        Some((line, column)) => {
            let place = FileSpan {
                line,
                column,
                width: 1,
            };
            Diagnostic::new(error.message).at(path.as_str(), text, place)
        }
        None => Diagnostic::new(format!("`{path}`: {}", error.message)),
    };
    Error::of(
        RecipeErrorKind::Manifest,
        vec![diagnostic.maybe_hint(error.hint)],
    )
}

fn format(
    at: &StepContext<'_>,
    given: Option<DataFormat>,
    path: &RelPath,
    text: &ManifestText,
) -> Result<DataFormat, Error> {
    given
        .or_else(|| DataFormat::of_path(path.as_str()))
        .ok_or_else(|| {
            let message = format!("the name `{path}` does not say what format the file has");
            let error = at
                .unit
                .error(RecipeErrorKind::Manifest, text.place, message);
            error.hint("add `format: json`, `yaml`, `toml` or `env`")
        })
}

/// Returns the value at a dotted path; digits index lists.
fn lookup<'v>(value: &'v Json, path: &str) -> Option<&'v Json> {
    if let Json::Object(map) = value
        && let Some(found) = map.get(path)
    {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, name| match value {
        Json::Object(map) => map.get(name),
        Json::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}
