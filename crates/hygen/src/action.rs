//! One action of a generator: its files made a recipe.

use super::prompts::{self, HygenPrompt};
use super::template::{self, ConvertedTemplate};
use super::variables::declare;
use super::{
    ConversionWarning, HOOKS, HygenConversion, HygenFile, HygenFiles, IGNORED, file_name, write,
};

/// Converts an action.
pub(super) fn convert(
    (generator, action): (&str, &str),
    own: &[HygenFile<'_>],
    sources: &HygenFiles<'_>,
) -> HygenConversion {
    let mut made = ActionDraft {
        dir: format!("{generator}/{action}"),
        ..ActionDraft::default()
    };
    let hook = HOOKS.iter().find_map(|name| {
        own.iter()
            .find(|(path, _)| path.strip_prefix(&made.dir) == Some(&format!("/{name}")))
    });
    for (path, text) in own {
        let name = file_name(path);
        if IGNORED.contains(&name) {
            if name == ".hygenignore" {
                made.warn(
                    path,
                    1,
                    "left out: remove the templates it names from the recipe by hand",
                );
            }
        } else if hook.is_some_and(|(hook, _)| hook == path) {
            made.asked(path, text);
        } else if HOOKS.iter().any(|hook| name.ends_with(hook)) {
            made.warn(
                path,
                1,
                "hygen does not read this file either; it was left out",
            );
        } else {
            made.template(path, text, sources);
        }
    }
    made.finish(generator, action)
}

#[derive(Default)]
struct ActionDraft {
    dir: String,
    questions: Vec<HygenPrompt>,
    templates: Vec<ConvertedTemplate>,
    files: Vec<(String, String)>,
    warnings: Vec<ConversionWarning>,
}

impl ActionDraft {
    fn asked(&mut self, path: &str, text: &str) {
        let asked = prompts::read(path, text);
        for (line, message) in asked.warnings {
            self.warn(path, line, message);
        }
        self.questions.extend(asked.questions);
    }

    fn template(&mut self, path: &str, text: &str, sources: &HygenFiles<'_>) {
        let template = template::convert(path, text);
        for (line, message) in &template.warnings {
            self.warn(path, *line, message.clone());
        }
        if !template.does_something {
            if template.warnings.is_empty() && !sources.taken.iter().any(|taken| taken == path) {
                let message = "hygen does nothing with this file (it has no `to`, `sh`, `message` or `echo`); \
                               it was left out";
                self.warn(path, 1, message);
            }
            return;
        }
        if let Some((line, from)) = &template.from {
            match sources.files.iter().find(|(path, _)| path == from) {
                Some((_, text)) => {
                    let copy = (
                        format!("{}/{}", self.dir, template::copied(from)),
                        (*text).to_owned(),
                    );
                    if !self.files.contains(&copy) {
                        self.files.push(copy);
                    }
                }
                None => self.warn(
                    path,
                    *line,
                    format!(
                        "there is no `{from}` below _templates; put the file beside recipe.yml"
                    ),
                ),
            }
        }
        self.templates.push(template);
    }

    fn finish(mut self, generator: &str, action: &str) -> HygenConversion {
        if self.templates.is_empty() {
            return HygenConversion {
                files: Vec::new(),
                warnings: self.warnings,
            };
        }
        let mut uses = Vec::new();
        let mut places = Vec::new();
        for template in &self.templates {
            uses.extend(template.uses.iter().cloned());
            places.extend(
                template
                    .uses
                    .iter()
                    .map(|(used, line)| (&used.name, &template.path, *line)),
            );
        }
        let declared = declare(generator, action, &self.questions, &uses);
        for (line, message) in declared.warnings {
            let place = places
                .iter()
                .find(|(name, _, at)| *at == line && message.contains(name.as_str()));
            let file = place.map_or_else(|| self.dir.clone(), |(_, path, _)| (*path).clone());
            self.warnings.push(ConversionWarning {
                file,
                line,
                message,
            });
        }
        let names = self.names();
        let steps: Vec<&str> = names.iter().map(String::as_str).collect();
        let recipe = write::recipe((generator, action), &declared.variables, &steps);
        self.files
            .push((format!("{}/recipe.yml", self.dir), recipe));
        for (template, name) in self.templates.iter().zip(&names) {
            self.files.push((
                format!("{}/templates/{name}", self.dir),
                template.text.clone(),
            ));
        }
        HygenConversion {
            files: self.files,
            warnings: self.warnings,
        }
    }

    /// Returns a file name for each template: its own, made distinct if two would be the same.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for template in &self.templates {
            let inside = template
                .path
                .strip_prefix(&self.dir)
                .unwrap_or(&template.path);
            let base = inside.trim_start_matches('/').replace('/', "-");
            let base = base.strip_suffix(".t").unwrap_or(&base);
            let base = base.strip_suffix(".ejs").unwrap_or(base);
            let mut name = format!("{base}.jig");
            let mut count = 2;
            while names.contains(&name) {
                name = format!("{base}-{count}.jig");
                count += 1;
            }
            names.push(name);
        }
        names
    }

    fn warn(&mut self, file: &str, line: u32, message: impl Into<String>) {
        self.warnings.push(ConversionWarning {
            file: file.to_owned(),
            line,
            message: message.into(),
        });
    }
}
