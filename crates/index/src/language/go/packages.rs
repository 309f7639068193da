//! Go's modules: which directory an import path means.

use crate::language::{ImportRequest, ImportResolver, SourceLanguage};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// The modules of a project, and the ones it replaces by a directory.
pub(super) struct GoModules {
    modules: Vec<GoModule>,
}

struct GoModule {
    /// The prefix of its import paths.
    path: String,
    dir: String,
}

impl GoModules {
    pub(super) fn new(project: &IndexedProject<'_>) -> Self {
        let mut modules = Vec::new();
        for (_, source) in project.files() {
            if matches!(source.path.file_name(), Some("go.mod" | "go.work")) {
                let path = source.path.as_str();
                let text = project.text(path).unwrap_or_default();
                read(&text, dir_of(path), &mut modules);
            }
        }
        Self { modules }
    }

    /// The directories that an import path may mean, the likeliest first.
    fn dirs(&self, from: &str, specifier: &str) -> Vec<String> {
        if specifier == "." || specifier.starts_with("./") || specifier.starts_with("../") {
            return join(dir_of(from), specifier).into_iter().collect();
        }
        let mut modules: Vec<(&GoModule, &str)> = self
            .modules
            .iter()
            .filter_map(|module| {
                let rest = specifier.strip_prefix(module.path.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then_some((module, rest))
            })
            .collect();
        // The longest path is the module; of two with the same, the one around the file.
        modules.sort_by_key(|(module, _)| {
            let around = is_within(from, &module.dir);
            std::cmp::Reverse((module.path.len(), around, module.dir.len()))
        });
        let local = modules
            .into_iter()
            .filter_map(|(module, rest)| join(&module.dir, rest));
        let vendored = self
            .modules
            .iter()
            .filter(|module| is_within(from, &module.dir))
            .filter_map(|module| join(&module.dir, &format!("vendor/{specifier}")));
        local.chain(vendored).collect()
    }
}

impl ImportResolver for GoModules {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let dirs = self.dirs(project.path(from), &import.specifier);
        let package = dirs.iter().map(|dir| {
            let files = project.files_in(dir).iter().copied();
            files
                .filter(|file| *file != from && is_source(project, *file))
                .collect::<Vec<_>>()
        });
        let mut package = package.skip_while(Vec::is_empty);
        package.next().unwrap_or_default()
    }
}

fn is_source(project: &IndexedProject<'_>, file: FileId) -> bool {
    let source = project.source(file);
    source.language == SourceLanguage::Go && !super::is_test(source.path.as_str())
}

fn is_within(path: &str, dir: &str) -> bool {
    dir.is_empty()
        || path
            .strip_prefix(dir)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Reads `module` and the `replace` lines that point to a directory.
fn read(text: &str, dir: &str, modules: &mut Vec<GoModule>) {
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let mut words = line.split_whitespace().map(unquote);
        let Some(first) = words.next() else {
            continue;
        };
        let (verb, rest): (&str, Vec<&str>) = match (block, first) {
            (_, ")") => {
                block = "";
                continue;
            }
            ("", verb) => (verb, words.collect()),
            (verb, word) => (verb, std::iter::once(word).chain(words).collect()),
        };
        match (verb, rest.as_slice()) {
            (verb, ["("]) => block = verb,
            ("module", [path]) => modules.push(GoModule {
                path: (*path).to_owned(),
                dir: dir.to_owned(),
            }),
            ("replace", [old, .., "=>", new]) => {
                let is_local = new.starts_with("./") || new.starts_with("../");
                if let Some(dir) = join(dir, new).filter(|_| is_local) {
                    modules.push(GoModule {
                        path: (*old).to_owned(),
                        dir,
                    });
                }
            }
            _ => {}
        }
    }
}

fn unquote(word: &str) -> &str {
    word.trim_matches(['"', '`'])
}
