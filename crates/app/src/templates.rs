//! One template file rendered by itself, with partials and components from a folder.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use indexmap::IndexMap;
use template::{LoadedTemplate, RenderResult, TemplateEngine, TemplateLayout, TemplateLoader};
use workspace::{RelPath, Root, fs};

use crate::{AppErrorCode, Error, ProcessEnvironment};

/// A template to render, and its values.
#[derive(Debug)]
pub struct RenderRequest<'a> {
    pub file: &'a Path,
    /// The folder of partials and components; the template's own folder if `None`.
    pub templates: Option<&'a Path>,
    pub data: serde_json::Map<String, serde_json::Value>,
    pub limits: template::Limits,
    pub strict: bool,
}

/// Renders; every `@ai` block is left empty, and listed in the questionnaire.
pub fn render(
    job: &RenderRequest<'_>,
    surroundings: &ProcessEnvironment,
) -> Result<RenderResult, Error> {
    let path = surroundings.path(job.file);
    let text = read(&path, job.file)?;
    let own = job.file.parent().unwrap_or(Path::new(""));
    let folder = job.templates.unwrap_or(own);
    let loader = TemplateFolder::open(surroundings, folder)?;
    let mut engine = TemplateEngine::new(Rc::new(loader))
        .with_limits(job.limits)
        .with_now_ms(surroundings.now_ms);
    if job.strict {
        engine = engine.strict();
    }
    let name = job.file.display().to_string();
    let compiled = engine.compile(&name, &text, TemplateLayout::of_path(&name))?;
    let state = expr::JsObject::from_json_map(&job.data);
    Ok(engine.render(&compiled, &state, &IndexMap::new())?)
}

/// Renders the text of a template that has no folder, and so no partials.
pub fn render_text(
    text: &str,
    data: &serde_json::Map<String, serde_json::Value>,
    (limits, now_ms): (template::Limits, f64),
) -> Result<RenderResult, Error> {
    const NAME: &str = "template.jig";
    let engine = TemplateEngine::new(Rc::new(NoTemplates))
        .with_limits(limits)
        .with_now_ms(now_ms)
        .strict();
    let compiled = engine.compile(NAME, text, TemplateLayout::of_path(NAME))?;
    let state = expr::JsObject::from_json_map(data);
    Ok(engine.render(&compiled, &state, &IndexMap::new())?)
}

/// No folder of templates.
#[derive(Debug)]
struct NoTemplates;

impl TemplateLoader for NoTemplates {
    fn load(&self, _: &str) -> Result<Option<LoadedTemplate>, String> {
        Ok(None)
    }

    fn components(&self) -> Vec<String> {
        Vec::new()
    }
}

fn read(path: &Path, shown: &Path) -> Result<String, Error> {
    fs::read_text(path)?.ok_or_else(|| {
        Error::new(
            AppErrorCode::NotFound,
            format!("there is no file {}", shown.display()),
        )
    })
}

/// Templates below a folder, by their paths in it.
#[derive(Debug)]
struct TemplateFolder {
    root: Root,
    /// Name of the folder in errors.
    shown: PathBuf,
}

impl TemplateFolder {
    fn open(surroundings: &ProcessEnvironment, shown: &Path) -> Result<Self, Error> {
        let path = surroundings.path(shown);
        if !fs::is_dir(&path) {
            let message = format!("there is no folder {}", shown.display());
            return Err(Error::new(AppErrorCode::NotFound, message));
        }
        Ok(Self {
            root: Root::open(&path)?,
            shown: shown.to_owned(),
        })
    }
}

impl TemplateLoader for TemplateFolder {
    fn load(&self, name: &str) -> Result<Option<LoadedTemplate>, String> {
        let path = RelPath::parse(name).map_err(|error| error.to_string())?;
        let is_folder = self.root.is_dir(&path).map_err(|error| error.to_string())?;
        if is_folder {
            return Ok(None);
        }
        let text = self
            .root
            .read_text(&path)
            .map_err(|error| error.to_string())?;
        let path = self.shown.join(path.as_path()).display().to_string();
        Ok(text.map(|text| LoadedTemplate { text, path }))
    }

    /// Lists the components. A folder that cannot be listed has none; reading one by name reports
    /// why.
    fn components(&self) -> Vec<String> {
        let Ok(folder) = RelPath::parse("components") else {
            return Vec::new();
        };
        let found = self.root.walk(&folder).unwrap_or_default();
        found
            .into_iter()
            .map(|entry| entry.path.as_str().to_owned())
            .collect()
    }
}
