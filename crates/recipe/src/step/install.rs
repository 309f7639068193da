//! `install`: packages, by the package manager the project uses.

use serde_json::json;
use workspace::{PathKind, RelPath};

use super::command::CommandSpec;
use super::{StepContext, StepPass, ToolExport, ValueCertainty};
use crate::effect::CommandInvocation;
use crate::error::{Error, RecipeErrorKind};
use crate::manifest::InstallStep;

impl StepPass<'_> {
    pub(super) fn install(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &InstallStep,
    ) -> Result<ToolExport, Error> {
        let mut packages = Vec::new();
        for text in &tool.packages {
            let (package, certainty) = self.text(at, text)?;
            if certainty == ValueCertainty::Later {
                return Ok(ToolExport::Later);
            }
            if package.split_whitespace().any(|word| word.starts_with('-')) {
                let message = format!("`{package}` is an option, not a package");
                return Err(at
                    .unit
                    .error(RecipeErrorKind::Manifest, text.place, message));
            }
            packages.extend(package.split_whitespace().map(str::to_owned));
        }
        if packages.is_empty() {
            return Ok(ToolExport::Value(json!({ "packages": [] })));
        }
        let manager = match &tool.package_manager {
            Some(text) => self.text(at, text)?.0,
            None => self.package_manager(at)?,
        };
        let Some(mut words) = install_words(manager.trim(), tool.dev) else {
            let place = tool
                .package_manager
                .as_ref()
                .map_or(at.step.place, |text| text.place);
            let message = format!("`{manager}` is not a package manager that is known here");
            let error = at.unit.error(RecipeErrorKind::Manifest, place, message);
            return Err(error.hint(format!("known: {}", MANAGERS.join(", "))));
        };
        words.extend(packages);
        let (what, cwd) = (CommandInvocation::Program(words), RelPath::root());
        let wish = CommandSpec {
            what,
            cwd,
            env: Vec::new(),
            stdin: None,
            may_fail: tool.optional,
        };
        self.command(at, wish)
    }

    /// Returns the package manager whose files are in the project.
    fn package_manager(&self, at: &StepContext<'_>) -> Result<String, Error> {
        for (file, manager) in TRACES {
            if self.project.is(&RelPath::parse(file)?, PathKind::File)? {
                return Ok(manager.to_owned());
            }
        }
        let message = "the project does not say which package manager it uses";
        let error = at
            .unit
            .error(RecipeErrorKind::Manifest, at.step.place, message);
        Err(error.hint(format!(
            "add `packageManager:`, one of {}",
            MANAGERS.join(", ")
        )))
    }
}

const MANAGERS: [&str; 8] = ["npm", "pnpm", "yarn", "bun", "cargo", "uv", "poetry", "pip"];

/// Files that give a package manager away, the surest first.
const TRACES: [(&str, &str); 10] = [
    ("bun.lockb", "bun"),
    ("bun.lock", "bun"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
    ("package.json", "npm"),
    ("Cargo.toml", "cargo"),
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    ("pyproject.toml", "uv"),
];

fn install_words(manager: &str, dev: bool) -> Option<Vec<String>> {
    let words: &[&str] = match (manager, dev) {
        ("npm", false) => &["npm", "install"],
        ("npm", true) => &["npm", "install", "--save-dev"],
        ("pnpm", false) => &["pnpm", "add"],
        ("pnpm", true) => &["pnpm", "add", "--save-dev"],
        ("yarn", false) => &["yarn", "add"],
        ("yarn", true) => &["yarn", "add", "--dev"],
        ("bun", false) => &["bun", "add"],
        ("bun", true) => &["bun", "add", "--dev"],
        ("cargo", false) => &["cargo", "add"],
        ("cargo", true) => &["cargo", "add", "--dev"],
        ("uv", false) => &["uv", "add"],
        ("uv", true) => &["uv", "add", "--dev"],
        ("poetry", false) => &["poetry", "add"],
        ("poetry", true) => &["poetry", "add", "--group", "dev"],
        ("pip", _) => &["python3", "-m", "pip", "install"],
        _ => return None,
    };
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}
