//! Files of a recipe: templates by name, partials and components for the template engine.

use std::rc::Rc;

use diagnostics::nearest;
use template::{LoadedTemplate, TemplateLoader};
use workspace::{PathKind, RelPath, Root};

use crate::error::Error;
use crate::load::Recipe;

/// Endings that a step may leave off a template's name.
const ENDINGS: [&str; 5] = ["", ".jig", ".jig.t", ".t", ".edge"];
/// Endings that make a file a template, longest first.
const TEMPLATE_ENDINGS: [&str; 4] = [".jig.t", ".jig", ".edge", ".t"];
/// The directory of a recipe that holds its templates.
pub(crate) const TEMPLATES_DIR: &str = "templates";
/// Folder of partials that a project's recipes share.
const SHARED_DIR: &str = ".drawloom/templates";
/// Most names a "not found" message lists.
const LISTED_MAX: usize = 8;

/// The file or folder that a template's name in a step refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePath {
    File(RelPath),
    Dir(RelPath),
}

/// Finds the files of one recipe.
#[derive(Clone)]
pub(crate) struct FileFinder {
    base: Rc<Root>,
    dir: RelPath,
    /// Folders that are searched for partials, in order.
    dirs: Vec<RelPath>,
    /// Put before a path to name it in messages.
    prefix: String,
}

impl FileFinder {
    pub(crate) fn of(recipe: &Recipe) -> Result<Self, Error> {
        let templates = recipe.dir.join(&RelPath::parse(TEMPLATES_DIR)?)?;
        let mut dirs = vec![recipe.dir.clone(), templates];
        dirs.push(match recipe.is_outside() {
            true => RelPath::root(),
            false => RelPath::parse(SHARED_DIR)?,
        });
        let shown = recipe.shown(&RelPath::root());
        let prefix = shown.trim_end_matches('.').to_owned();
        Ok(Self {
            base: recipe.base.clone(),
            dir: recipe.dir.clone(),
            dirs,
            prefix,
        })
    }

    pub(crate) fn base(&self) -> &Root {
        &self.base
    }

    pub(crate) fn shown(&self, path: &RelPath) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Returns the directory that templates without `to` are mirrored from.
    pub(crate) fn mirror_dir(&self, path: &RelPath) -> RelPath {
        let inside = self
            .dirs
            .get(1)
            .filter(|templates| path.is_within(templates));
        inside.unwrap_or(&self.dir).clone()
    }

    /// Finds the file or directory that a step's `template` names.
    pub(crate) fn find(&self, name: &str) -> Result<Option<TemplatePath>, Error> {
        for dir in &self.dirs[..2] {
            for ending in ENDINGS {
                let Some(path) = within(dir, &format!("{name}{ending}")) else {
                    continue;
                };
                if self.base.is_dir(&path)? {
                    if ending.is_empty() {
                        return Ok(Some(TemplatePath::Dir(path)));
                    }
                } else if self.base.exists(&path)? {
                    return Ok(Some(TemplatePath::File(path)));
                }
            }
        }
        Ok(None)
    }

    /// Finds the files that a glob of a step names.
    pub(crate) fn glob(&self, glob: &str) -> Result<Vec<RelPath>, Error> {
        for dir in &self.dirs[..2] {
            if self.base.is_dir(dir)? {
                let found = self.base.glob(dir, &[glob])?;
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        }
        Ok(Vec::new())
    }

    /// Finds a file named by `from:` or `action:`.
    pub(crate) fn find_file(&self, name: &str) -> Result<Option<RelPath>, Error> {
        Ok(self.find(name)?.and_then(|meant| match meant {
            TemplatePath::File(path) => Some(path),
            TemplatePath::Dir(_) => None,
        }))
    }

    /// Finds a file of the recipe's own directory by its exact path, such as a script that is an
    /// argument.
    pub(crate) fn find_own(&self, name: &str) -> Result<Option<RelPath>, Error> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let Ok(name) = RelPath::parse(name) else {
            return Ok(None);
        };
        let path = self.dir.join(&name)?;
        let is_file = self.base.exists(&path)? && !self.base.is_dir(&path)?;
        Ok(is_file.then_some(path))
    }

    /// Returns a hint for a template that is not there: the nearest name, or the names there are.
    pub(crate) fn advice(&self, name: &str) -> String {
        let entries = self.base.walk(&self.dir).unwrap_or_default();
        let names: Vec<String> = entries
            .iter()
            .filter_map(|entry| entry.path.strip_prefix(&self.dir))
            .map(|path| path.as_str().to_owned())
            .filter(|path| !matches!(path.as_str(), "recipe.yml" | "recipe.yaml"))
            .collect();
        let short = |path: &str| {
            let bare = path.strip_prefix("templates/").unwrap_or(path);
            without_ending(bare).to_owned()
        };
        let near = names.iter().find(|path| {
            nearest(name, [path.as_str(), &short(path)]).is_some()
                || path.rsplit('/').next().map(without_ending) == name.rsplit('/').next()
        });
        match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "the recipe's directory has no other files".to_owned(),
            None => {
                let more = names.len().saturating_sub(LISTED_MAX);
                let listed = names[..names.len().min(LISTED_MAX)].join(", ");
                let more = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                format!("the recipe's directory has: {listed}{more}")
            }
        }
    }
}

impl TemplateLoader for FileFinder {
    fn load(&self, name: &str) -> Result<Option<LoadedTemplate>, String> {
        for dir in &self.dirs {
            let Some(path) = within(dir, name) else {
                continue;
            };
            if self.base.is_dir(&path).unwrap_or(false) {
                continue;
            }
            if let Some(text) = self
                .base
                .read_text(&path)
                .map_err(|error| error.to_string())?
            {
                return Ok(Some(LoadedTemplate {
                    text,
                    path: self.shown(&path),
                }));
            }
        }
        Ok(None)
    }

    fn components(&self) -> Vec<String> {
        let mut names = Vec::new();
        for dir in &self.dirs {
            let Some(components) = within(dir, "components") else {
                continue;
            };
            if !self.base.is_dir(&components).unwrap_or(false) {
                continue;
            }
            let entries = self.base.walk(&components).unwrap_or_default();
            let files = entries.iter().filter(|entry| entry.kind == PathKind::File);
            names.extend(files.filter_map(|entry| Some(entry.path.strip_prefix(dir)?.to_string())));
        }
        names
    }
}

/// Returns true if a file of a directory tree is rendered; others are copied.
pub(crate) fn is_template(path: &str) -> bool {
    TEMPLATE_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Returns the path without the ending that makes it a template.
pub(crate) fn without_ending(path: &str) -> &str {
    let bare = TEMPLATE_ENDINGS
        .iter()
        .find_map(|ending| path.strip_suffix(ending));
    bare.unwrap_or(path)
}

/// Joins `dir/name`, with `.` and `..` resolved by their spelling; `None` if the path leaves the
/// base.
fn within(dir: &RelPath, name: &str) -> Option<RelPath> {
    if name.starts_with('/') {
        return None;
    }
    let mut names: Vec<&str> = dir.names().collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            part => names.push(part),
        }
    }
    RelPath::parse(&names.join("/")).ok()
}
