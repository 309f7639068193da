//! Compares our readers of Rust and Python with syn and Ruff, on code found on the machine: the
//! registry of cargo and the standard library of Python. Without either there is nothing to
//! compare.
//!
//! Our readers stay because they take a fraction of the time and find the same names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use index::{ExportKind, IndexCache, SourceIndex};
use ruff_python_ast::Stmt;

use crate::project::open;

/// The most files that are compared, and the fewest that say anything.
const FILES_MAX: usize = 1_500;
const FILES_MIN: usize = 100;
/// The largest part of the names that may be missing, or too many.
const DIFFERENT_MAX: f64 = 0.005;
/// The speed-up that makes our reader worth its code, although it also reads the files and finds
/// their imports. Judged with optimisation only: without it, only our reader would be unoptimised.
const TIMES_FASTER_MIN: f64 = 2.0;

/// The results for one language.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    names: usize,
    missing: Vec<String>,
    extra: Vec<String>,
    ours_ms: u64,
    theirs_ms: u64,
}

impl Tally {
    /// Compares a folder; `theirs` returns the names of a text, or `None` if it cannot be parsed.
    fn add(&mut self, dir: &Path, ending: &str, theirs: fn(&str) -> Option<BTreeSet<String>>) {
        let begun = cpu_ms();
        let Ok(index) = SourceIndex::build(&open(dir), &IndexCache::none()) else {
            return;
        };
        self.ours_ms += cpu_ms() - begun;
        for file in index.files() {
            let path = dir.join(file.path.as_str());
            let text = match path.extension().is_some_and(|found| found == ending) {
                true => std::fs::read_to_string(&path).unwrap_or_default(),
                false => continue,
            };
            let begun = cpu_ms();
            let expected = theirs(&text);
            self.theirs_ms += cpu_ms() - begun;
            let Some(expected) = expected else {
                continue;
            };
            let plain = file.exports.iter().filter(|it| {
                let is_compared = match ending {
                    "py" => matches!(it.kind, ExportKind::Function | ExportKind::Class),
                    _ => it.kind != ExportKind::Reexport,
                };
                is_compared && !it.name.contains("::")
            });
            let found: BTreeSet<String> = plain.map(|it| it.name.clone()).collect();
            let all: BTreeSet<&str> = file.exports.iter().map(|it| it.name.as_str()).collect();
            let shown = |name: &String| format!("{}: {name}", path.display());
            let missing = expected.iter().filter(|name| !all.contains(name.as_str()));
            self.missing.extend(missing.map(shown));
            self.extra.extend(found.difference(&expected).map(shown));
            self.files += 1;
            self.names += expected.len();
        }
    }

    #[track_caller]
    #[allow(
        clippy::cast_precision_loss,
        clippy::print_stderr,
        reason = "names are few, and the figures are what the comparison is for"
    )]
    fn check(&self) {
        if self.files < FILES_MIN {
            return;
        }
        let part = |list: &[String]| list.len() as f64 / self.names as f64;
        let (missing, extra) = (part(&self.missing), part(&self.extra));
        let faster = self.theirs_ms as f64 / self.ours_ms.max(1) as f64;
        let figures = format!(
            "{} files, {} names, {missing:.4} missing, {extra:.4} too many, {faster:.1} times faster ({} ms, {} ms)\n{:#?}\n{:#?}",
            self.files,
            self.names,
            self.ours_ms,
            self.theirs_ms,
            &self.missing[..self.missing.len().min(20)],
            &self.extra[..self.extra.len().min(20)],
        );
        eprintln!("{figures}");
        assert!(
            missing <= DIFFERENT_MAX && extra <= DIFFERENT_MAX,
            "{figures}"
        );
        assert!(
            cfg!(debug_assertions) || faster >= TIMES_FASTER_MIN,
            "{figures}"
        );
    }
}

#[test]
#[ignore = "machine: it reads the crates of the machine with syn as well"]
fn rust_is_read_as_syn_reads_it() {
    let mut tally = Tally::default();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let registries = home.map(|home| folders(&home.join("registry/src")));
    let crates = registries.unwrap_or_default();
    let crates = crates.iter().flat_map(|registry| folders(registry));
    // Some from every corner of the alphabet.
    for dir in crates.step_by(9) {
        if tally.files >= FILES_MAX {
            break;
        }
        tally.add(&dir, "rs", |text| {
            let file = syn::parse_file(text).ok()?;
            // Our reader sees the content of `cfg_if! { … }` and the like; to syn that is no code.
            let is_call =
                |item: &syn::Item| matches!(item, syn::Item::Macro(it) if it.ident.is_none());
            (!file.items.iter().any(is_call)).then(|| rust_names(&file))
        });
    }
    tally.check();
}

/// Returns the public names at the top of a file, of any visibility.
fn rust_names(file: &syn::File) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in &file.items {
        let (visibility, name) = match item {
            syn::Item::Fn(it) => (&it.vis, &it.sig.ident),
            syn::Item::Struct(it) => (&it.vis, &it.ident),
            syn::Item::Enum(it) => (&it.vis, &it.ident),
            syn::Item::Union(it) => (&it.vis, &it.ident),
            syn::Item::Trait(it) => (&it.vis, &it.ident),
            syn::Item::TraitAlias(it) => (&it.vis, &it.ident),
            syn::Item::Type(it) => (&it.vis, &it.ident),
            syn::Item::Const(it) => (&it.vis, &it.ident),
            syn::Item::Static(it) => (&it.vis, &it.ident),
            syn::Item::Mod(it) => (&it.vis, &it.ident),
            syn::Item::ForeignMod(it) => {
                names.extend(it.items.iter().filter_map(public_foreign_name));
                continue;
            }
            syn::Item::Macro(it) => {
                let is_exported = it.attrs.iter().any(|it| it.path().is_ident("macro_export"));
                names.extend(
                    it.ident
                        .as_ref()
                        .filter(|_| is_exported)
                        .map(ToString::to_string),
                );
                continue;
            }
            _ => continue,
        };
        if !matches!(visibility, syn::Visibility::Inherited) {
            names.insert(name.to_string());
        }
    }
    names
}

/// The name of a public declaration in an `extern` block.
fn public_foreign_name(item: &syn::ForeignItem) -> Option<String> {
    let (visibility, name) = match item {
        syn::ForeignItem::Fn(it) => (&it.vis, &it.sig.ident),
        syn::ForeignItem::Static(it) => (&it.vis, &it.ident),
        syn::ForeignItem::Type(it) => (&it.vis, &it.ident),
        _ => return None,
    };
    (!matches!(visibility, syn::Visibility::Inherited)).then(|| name.to_string())
}

#[test]
#[ignore = "machine: it reads the Python of the machine with Ruff as well"]
fn python_is_read_as_ruff_reads_it() {
    let mut tally = Tally::default();
    let asked = Command::new("python3")
        .args(["-c", "import os; print(os.path.dirname(os.__file__))"])
        .output();
    let library = asked.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    for name in [
        "asyncio",
        "email",
        "http",
        "json",
        "unittest",
        "xml",
        "concurrent",
        "idlelib",
    ] {
        let Ok(library) = &library else {
            return;
        };
        let dir = Path::new(library).join(name);
        if dir.is_dir() {
            tally.add(&dir, "py", |text| {
                // A list of the names is the answer where there is one.
                if text.contains("__all__") {
                    return None;
                }
                let parsed = ruff_python_parser::parse_module(text).ok()?;
                Some(python_names(parsed.suite()))
            });
        }
    }
    tally.check();
}

/// The functions and classes at the top of a module that are not private, also under conditions.
fn python_names(statements: &[Stmt]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut pending: Vec<&[Stmt]> = vec![statements];
    while let Some(statements) = pending.pop() {
        for statement in statements {
            match statement {
                Stmt::FunctionDef(it) => drop(names.insert(it.name.to_string())),
                Stmt::ClassDef(it) => drop(names.insert(it.name.to_string())),
                Stmt::If(it) => {
                    pending.push(&it.body);
                    pending.extend(it.elif_else_clauses.iter().map(|it| &it.body[..]));
                }
                Stmt::Try(it) => {
                    pending.extend([&it.body[..], &it.orelse[..], &it.finalbody[..]]);
                    pending.extend(it.handlers.iter().map(|handler| {
                        let ruff_python_ast::ExceptHandler::ExceptHandler(it) = handler;
                        &it.body[..]
                    }));
                }
                Stmt::With(it) => pending.push(&it.body),
                Stmt::For(it) => pending.extend([&it.body[..], &it.orelse[..]]),
                Stmt::While(it) => pending.extend([&it.body[..], &it.orelse[..]]),
                _ => {}
            }
        }
    }
    names.retain(|name| !name.starts_with('_'));
    names
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|it| it.path())
        .filter(|it| it.is_dir())
        .collect();
    found.sort();
    found
}

/// The processor time of all threads so far.
fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = after_name.split(' ').skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum::<u64>()
        * 10
}
