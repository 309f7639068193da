//! The files that Python's dotted names mean: packages, single modules, namespaces, stubs.

use toml::{Table, Value};

use crate::language::{ImportRequest, ImportResolver, SourceLanguage};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// The directories in which absolute names are searched.
pub(super) struct PythonModules {
    /// Directories in which packages begin, by `pyproject.toml` or by convention.
    roots: Vec<String>,
}

impl PythonModules {
    pub(super) fn new(project: &IndexedProject<'_>) -> Self {
        let mut roots = Vec::new();
        let mut add = |dir: Option<String>| {
            if let Some(dir) = dir.filter(|dir| !roots.contains(dir)) {
                roots.push(dir);
            }
        };
        let has_python = project
            .files()
            .any(|(_, source)| source.language == SourceLanguage::Python);
        for (_, source) in project.files().filter(|_| has_python) {
            let path = source.path.as_str();
            let dir = dir_of(path);
            match source.path.file_name().unwrap_or_default() {
                "pyproject.toml" => {
                    let text = project.text(path).unwrap_or_default();
                    for hint in text.parse().map(|table| hints(&table)).unwrap_or_default() {
                        add(join(dir, &hint));
                    }
                }
                "setup.py" | "setup.cfg" => {}
                _ => continue,
            }
            add(join(dir, "src"));
            add(join(dir, "lib"));
            add(Some(dir.to_owned()));
        }
        for usual in ["", "src", "lib", "python"] {
            add(Some(usual.to_owned()));
        }
        Self { roots }
    }

    fn absolute(&self, project: &IndexedProject<'_>, from: &str, name: &str) -> Option<FileId> {
        let path = name.replace('.', "/");
        let mut own = own_roots(project, from);
        // A single word is too often a module of the standard library to be searched far away.
        own.truncate(if name.contains('.') { own.len() } else { 1 });
        own.into_iter()
            .chain(self.roots.iter().map(String::as_str))
            .find_map(|root| module(project, &join(root, &path)?))
    }
}

impl ImportResolver for PythonModules {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let path = project.path(from);
        let name = import.specifier.as_str();
        let name = name.strip_suffix('*').unwrap_or(name);
        let dots = name.len() - name.trim_start_matches('.').len();
        let name_absolute = name[dots..].trim_end_matches('.');
        let find = |name: &str| {
            if dots == 0 {
                return self.absolute(project, path, name);
            }
            let mut dir = dir_of(path);
            for _ in 1..dots {
                if dir.is_empty() {
                    return None;
                }
                dir = dir_of(dir);
            }
            module(project, &join(dir, &name.replace('.', "/"))?)
        };
        // The last part is a module, or a name in the module before it.
        let found = find(name_absolute).or_else(|| match name_absolute.rsplit_once('.') {
            Some((package, _)) => find(package),
            None if dots > 0 => find(""),
            None => None,
        });
        found.into_iter().filter(|file| *file != from).collect()
    }
}

/// The module at this path without an extension: a file, or a directory's `__init__`.
fn module(project: &IndexedProject<'_>, path: &str) -> Option<FileId> {
    let package = |name: &str| join(path, name).and_then(|file| project.find(&file));
    package("__init__.py")
        .or_else(|| project.find(&format!("{path}.py")))
        .or_else(|| package("__init__.pyi"))
        .or_else(|| project.find(&format!("{path}.pyi")))
}

/// Returns the directories suggested by a file's place: its own, as for a script, and the one
/// around its outermost package and those above, as for installed code.
fn own_roots<'p>(project: &IndexedProject<'_>, path: &'p str) -> Vec<&'p str> {
    let mut roots = Vec::new();
    let mut dir = dir_of(path);
    let is_package = |dir: &str| {
        ["__init__.py", "__init__.pyi"]
            .iter()
            .any(|name| join(dir, name).is_some_and(|file| project.find(&file).is_some()))
    };
    while !dir.is_empty() && is_package(dir) {
        dir = dir_of(dir);
    }
    loop {
        roots.push(dir);
        if dir.is_empty() {
            return roots;
        }
        dir = dir_of(dir);
    }
}

/// The directories that a `pyproject.toml` names as the place of packages.
fn hints(table: &Table) -> Vec<String> {
    let tool = |path: &[&str]| {
        let mut value = table.get("tool")?;
        for key in path {
            value = value.get(key)?;
        }
        Some(value)
    };
    let mut dirs = Vec::new();
    let mut add = |value: &Value| match value {
        Value::String(dir) => dirs.push(dir.clone()),
        Value::Array(list) => {
            dirs.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        Value::Table(table) => {
            dirs.extend(table.values().filter_map(Value::as_str).map(str::to_owned));
        }
        _ => {}
    };
    for path in [
        ["setuptools", "packages", "find", "where"].as_slice(),
        &["setuptools", "package-dir"],
        &["pytest", "ini_options", "pythonpath"],
        &["hatch", "build", "sources"],
        &["maturin", "python-source"],
        &["pdm", "build", "package-dir"],
        &["uv", "build-backend", "module-root"],
    ] {
        if let Some(value) = tool(path) {
            add(value);
        }
    }
    let poetry = tool(&["poetry", "packages"]).and_then(Value::as_array);
    for package in poetry.into_iter().flatten() {
        if let Some(from) = package.get("from") {
            add(from);
        }
    }
    dirs
}
