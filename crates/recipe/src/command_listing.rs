//! Lists the commands a recipe would run, without running it, and hashes everything that decides
//! them.

use sha2::{Digest as _, Sha256};
use workspace::RelPath;

use crate::error::Error;
use crate::file_finder::TEMPLATES_DIR;
use crate::frontmatter;
use crate::kits;
use crate::load::Recipe;
use crate::manifest::{ManifestText, RecipeStep, ShellCommand, StepTool};

/// Largest number of a recipe's files that are searched for `sh`.
const TEMPLATES_MAX: usize = 10_000;

impl Recipe {
    /// Returns true if the manifest has a step that runs a command, or another recipe.
    pub fn may_run_commands(&self) -> bool {
        any_step(&self.manifest.steps, &|step| {
            let tool = &step.tool;
            matches!(
                tool,
                StepTool::Shell(_)
                    | StepTool::Action(_)
                    | StepTool::Install(_)
                    | StepTool::Recipe(_)
            )
        })
    }

    /// Lists the commands as they are written, those of templates included.
    pub fn commands(&self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        collect(&self.manifest.steps, &mut lines);
        for path in self.template_files()? {
            // A file that is not text, or whose frontmatter is broken, runs no command.
            let Ok(Some(text)) = self.base.read_text(&path) else {
                continue;
            };
            let Some(matter) = frontmatter::split(&text).matter else {
                continue;
            };
            let parsed = frontmatter::parse(path.as_str(), matter);
            let line = parsed
                .ok()
                .and_then(|parsed| parsed.attributes.get("sh").cloned());
            lines.extend(line.and_then(|line| line.value.as_str().map(str::to_owned)));
        }
        Ok(lines)
    }

    /// Hashes the recipe's files, and its manifest as it was read: a file that is exchanged between the
    /// reading and this gives a hash of its own.
    pub fn digest(&self) -> Result<String, Error> {
        let dir = match self.dir.is_root() {
            true => RelPath::parse(TEMPLATES_DIR)?,
            false => self.dir.clone(),
        };
        let files = kits::hash_tree(&self.base, &dir)?;
        let hash = Sha256::new().chain_update(&self.text).chain_update(files);
        let bytes = hash.finalize();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("sha256:{hex}"))
    }

    fn template_files(&self) -> Result<Vec<RelPath>, Error> {
        let dir = match self.dir.is_root() {
            true => RelPath::parse(TEMPLATES_DIR)?,
            false => self.dir.clone(),
        };
        if !self.base.is_dir(&dir)? {
            return Ok(Vec::new());
        }
        let entries = self.base.walk(&dir)?.into_iter().take(TEMPLATES_MAX);
        Ok(entries.map(|entry| entry.path).collect())
    }
}

fn any_step(steps: &[RecipeStep], wanted: &dyn Fn(&RecipeStep) -> bool) -> bool {
    steps.iter().any(|step| match &step.tool {
        StepTool::Sequence(group) | StepTool::Parallel(group) => any_step(&group.steps, wanted),
        _ => wanted(step),
    })
}

fn joined(words: &[ManifestText]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

fn collect(steps: &[RecipeStep], lines: &mut Vec<String>) {
    for step in steps {
        match &step.tool {
            StepTool::Shell(tool) => lines.push(match &tool.command {
                ShellCommand::Line(line) => line.text.clone(),
                ShellCommand::Words(words) => joined(words),
            }),
            StepTool::Action(tool) => lines.push(joined(&tool.command)),
            StepTool::Install(tool) => lines.push(format!("install {}", joined(&tool.packages))),
            StepTool::Sequence(group) | StepTool::Parallel(group) => collect(&group.steps, lines),
            _ => {}
        }
    }
}
