//! Doing what a document says, block after block.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recipe::manifest::DataFormat;

use crate::blocks::{self, DocumentBlock, DocumentBlockKind};

/// Begins again in an empty directory.
const ANEW: &str = "<!-- a new directory -->";
/// Any lines, none included.
const ANY: &str = "…";

/// Plays a document of the repository.
pub(crate) fn play(name: &str) {
    let path = repository().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    play_text(name, &text);
}

pub(crate) fn play_text(name: &str, text: &str) {
    let mut stage = DocumentStage::new(name);
    for block in blocks::of(text) {
        if block.before.contains(ANEW) {
            stage = DocumentStage::new(name);
        }
        stage.play(&block);
    }
}

/// Returns every command that a document runs.
pub(crate) fn commands_of(name: &str) -> String {
    let text = std::fs::read_to_string(repository().join(name)).unwrap();
    let blocks = blocks::of(&text).into_iter();
    let run = blocks.filter(|block| {
        matches!(
            block.kind,
            DocumentBlockKind::Console | DocumentBlockKind::Commands
        )
    });
    run.map(|block| block.text).collect()
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory in which a document's commands run, as in one terminal.
struct DocumentStage {
    name: String,
    folder: tempfile::TempDir,
    here: PathBuf,
}

impl DocumentStage {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The examples of the repository are beside the reader's project.
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::os::unix::fs::symlink(
            repository().canonicalize().unwrap().join("examples"),
            folder.path().join("work/examples"),
        )
        .unwrap();
        let here = folder.path().join("work");
        let name = name.to_owned();
        Self { name, folder, here }
    }

    fn play(&mut self, block: &DocumentBlock) {
        let place = format!("{}:{}", self.name, block.line);
        match &block.kind {
            DocumentBlockKind::File(path) => self.write(path, block, &place),
            DocumentBlockKind::Console => self.console(&block.text, &place),
            DocumentBlockKind::Commands => {
                for line in commands(&block.text) {
                    let (exit, said) = self.run(&line);
                    assert_eq!(exit, 0, "{place}: `{line}` said\n{said}");
                }
            }
            DocumentBlockKind::Data(format) => check_data(format, &block.text, &place),
            DocumentBlockKind::Shown => assert_no_commands(&block.text, &place),
            DocumentBlockKind::Ignored => {}
        }
    }

    /// A reader must be told where the file goes: the text above a block names its path.
    fn write(&self, path: &str, block: &DocumentBlock, place: &str) {
        let named = format!("`{path}`");
        assert!(
            block.before.contains(&named),
            "{place}: the text above must name {named}"
        );
        let file = self.here.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, &block.text).unwrap();
    }

    fn console(&mut self, text: &str, place: &str) {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ");
            let mut command = command
                .unwrap_or_else(|| panic!("{place}: `{line}` is no `$ command`"))
                .to_owned();
            while command.ends_with('\\') {
                command.push('\n');
                command.push_str(lines.next().unwrap_or_default());
            }
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push(line);
            }
            let exit = expected.last().and_then(|last| exit_code(last));
            if exit.is_some() {
                expected.pop();
            }
            let (code, said) = self.run(uncommented(&command));
            assert_eq!(code, exit.unwrap_or(0), "{place}: `{command}` said\n{said}");
            let printed: Vec<&str> = said.lines().map(str::trim_end).collect();
            assert!(
                matches(&printed, &expected),
                "{place}: `{command}` must print\n{}\nand printed\n{said}",
                expected.join("\n")
            );
        }
    }

    /// Runs a line as a shell does, with the directory kept for the next one.
    fn run(&mut self, line: &str) -> (i32, String) {
        let binary = assert_cmd::cargo::cargo_bin!("drawloom");
        let path = format!(
            "{}:{}",
            binary.parent().unwrap().display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let script = format!("exec 2>&1\ntrap 'pwd > \"$STAGE/cwd\"' EXIT\n{line}\n");
        let mut command = Command::new("bash");
        command
            .args(["-c", &script])
            .current_dir(&self.here)
            .env_clear()
            .env("PATH", path)
            .env("STAGE", self.folder.path())
            .env("HOME", self.folder.path())
            // The text there is the reader's own work.
            .env("DRAWLOOM_TRUST_PROJECTS", self.folder.path())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Ok(cwd) = std::fs::read_to_string(self.folder.path().join("cwd")) {
            self.here = PathBuf::from(cwd.trim());
        }
        (output.status.code().unwrap_or(-1), said)
    }
}

/// Lines of a block, continued ones joined, comments left out.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| uncommented(line).to_owned());
    lines.filter(|line| !line.trim().is_empty()).collect()
}

/// The command without the remark behind it.
fn uncommented(line: &str) -> &str {
    match line.find("  #") {
        Some(at) => line[..at].trim_end(),
        None if line.trim_start().starts_with('#') => "",
        None => line,
    }
}

/// `[exit code 2]`
fn exit_code(line: &str) -> Option<i32> {
    let inside = line.trim().strip_prefix("[exit code ")?;
    inside.strip_suffix(']')?.parse().ok()
}

/// Whether lines are as expected, where `…` on its own stands for any lines and inside a line for any
/// characters.
fn matches(printed: &[&str], expected: &[&str]) -> bool {
    match (printed, expected) {
        ([], []) => true,
        (_, [first, rest @ ..]) if first.trim() == ANY => {
            (0..=printed.len()).any(|skipped| matches(&printed[skipped..], rest))
        }
        ([line, printed @ ..], [wanted, expected @ ..]) => {
            is_like(line, wanted.trim_end()) && matches(printed, expected)
        }
        _ => false,
    }
}

fn is_like(line: &str, wanted: &str) -> bool {
    match wanted.split_once(ANY) {
        None => line == wanted,
        Some((start, end)) => {
            let rest = line.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// Commands that are only shown would never be tried: their block says how they are run, or `ignore`.
fn assert_no_commands(text: &str, place: &str) {
    let is_command = |line: &&str| line.starts_with("drawloom ") || line.starts_with("$ ");
    if let Some(line) = text.lines().find(is_command) {
        panic!("{place}: `{line}` is a command: make the block `console`, `sh` or `sh ignore`");
    }
}

fn check_data(format: &str, text: &str, place: &str) {
    let format = match format {
        "yaml" => DataFormat::Yaml,
        "toml" => DataFormat::Toml,
        _ => DataFormat::Json,
    };
    if let Err(error) = recipe::structured::read(format, text) {
        panic!("{place}: {}", error.message);
    }
}
