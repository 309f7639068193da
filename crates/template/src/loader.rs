//! The source of partials and components. An implementation of [`TemplateLoader`] decides where the files
//! are.

use std::rc::Rc;

use indexmap::IndexMap;

/// Endings that may be left off a template's name, in the order they are tried.
pub(crate) const ENDINGS: [&str; 5] = ["", ".edge", ".jig", ".jig.t", ".t"];

/// The folder whose templates become tags.
const COMPONENTS: &str = "components/";

/// Finds templates by name.
pub trait TemplateLoader {
    /// Returns the template with exactly this name, if there is one; the error is a message that
    /// says why it cannot be read.
    fn load(&self, name: &str) -> Result<Option<LoadedTemplate>, String>;

    /// Returns the names of all templates below `components/`, with their endings.
    fn components(&self) -> Vec<String>;
}

/// A template's text and how errors call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTemplate {
    pub text: String,
    pub path: String,
}

/// Templates handed in as text.
#[derive(Clone, Debug, Default)]
pub struct MapLoader {
    templates: IndexMap<String, String>,
}

impl MapLoader {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn insert(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.templates.insert(name.into(), text.into());
    }
}

impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for MapLoader {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(iter: I) -> Self {
        let mut loader = MapLoader::new();
        for (name, text) in iter {
            loader.insert(name, text);
        }
        loader
    }
}

impl TemplateLoader for MapLoader {
    fn load(&self, name: &str) -> Result<Option<LoadedTemplate>, String> {
        let text = self.templates.get(name);
        Ok(text.map(|text| LoadedTemplate {
            text: text.clone(),
            path: name.to_owned(),
        }))
    }

    fn components(&self) -> Vec<String> {
        let names = self.templates.keys();
        names
            .filter(|name| name.starts_with(COMPONENTS))
            .cloned()
            .collect()
    }
}

/// The tags that components make: `components/form/in_put.edge` is `form.inPut`.
#[derive(Debug, Default)]
pub(crate) struct ComponentTags {
    by_tag: IndexMap<String, Rc<str>>,
}

impl ComponentTags {
    pub(crate) fn of(loader: &dyn TemplateLoader) -> Self {
        let mut by_tag = IndexMap::new();
        for name in loader.components() {
            let bare = without_ending(&name);
            let Some(inside) = bare.strip_prefix(COMPONENTS) else {
                continue;
            };
            by_tag.insert(tag_name(inside), Rc::from(name.as_str()));
        }
        Self { by_tag }
    }

    /// Returns the template behind a tag.
    pub(crate) fn get(&self, tag: &str) -> Option<Rc<str>> {
        self.by_tag.get(tag).cloned()
    }
}

fn without_ending(name: &str) -> &str {
    let endings = ENDINGS.iter().rev().filter(|ending| !ending.is_empty());
    let mut bare = name;
    for ending in endings {
        if let Some(shorter) = bare.strip_suffix(ending) {
            bare = shorter;
        }
    }
    bare
}

fn tag_name(inside: &str) -> String {
    let segments = inside.split('/').enumerate();
    let kept = segments.filter(|(at, segment)| *at == 0 || *segment != "index");
    let camel: Vec<String> = kept
        .map(|(_, segment)| expr::text_functions::edge_case::camel(segment))
        .collect();
    camel.join(".")
}

#[cfg(test)]
mod tests {
    use super::{ComponentTags, MapLoader};

    #[test]
    fn component_files_become_tags() {
        let files = [
            "components/card.edge",
            "components/form/in_put.edge",
            "components/modal/index.jig",
            "components/user-list.jig.t",
            "components/index.edge",
            "partials/other.edge",
        ];
        let loader: MapLoader = files.iter().map(|name| (*name, "")).collect();
        let components = ComponentTags::of(&loader);
        for (tag, file) in [
            ("card", Some(files[0])),
            ("form.inPut", Some(files[1])),
            ("modal", Some(files[2])),
            ("userList", Some(files[3])),
            ("index", Some(files[4])),
            ("other", None),
        ] {
            assert_eq!(components.get(tag).as_deref(), file, "{tag}");
        }
    }
}
