//! `drawloom demo`: the two passes shown from beginning to end, offline.

use app::demo::{self, ANSWERS_FILE, RESULT_FILE};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};

use crate::exit::{CliError, CliExit};
use crate::output;

/// Show the two passes offline, in a temporary folder
///
/// Runs a recipe with two questions, shows the document it prints, answers from a prepared file,
/// and shows the generated files. Needs no network and no key.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom demo")]
pub(crate) struct DemoArgs {}

const TITLE: Style = AnsiColor::Green.on_default().bold();
const COMMAND: Style = AnsiColor::Cyan.on_default().bold();
const ASIDE: Style = Style::new().dimmed();

impl DemoArgs {
    pub(crate) fn run(&self) -> Result<CliExit, CliError> {
        let demo = demo::DemoFolder::prepare()?;
        title("1. A recipe asks. Nothing is written yet; the questions are one document.")?;
        expect(&demo, &["run", "card", "Customer"], CliExit::AnswersNeeded)?;

        title("2. You answer, or any model does. This file was written beforehand.")?;
        show(&demo, ANSWERS_FILE)?;

        let with_answers = ["run", "card", "Customer", "--answers", ANSWERS_FILE];
        title("3. With answers, a dry run shows what would change.")?;
        let dry_run: Vec<&str> = with_answers.iter().copied().chain(["--dry-run"]).collect();
        expect(&demo, &dry_run, CliExit::Done)?;

        title("4. The same without --dry-run checks the answers and writes all files together.")?;
        expect(&demo, &with_answers, CliExit::Done)?;
        show(&demo, RESULT_FILE)?;

        output::styled(&format!(
            "{TITLE}That was all.{TITLE:#} The project is in {}\n\
             Start your own: drawloom init\n",
            demo.folder.display()
        ))?;
        Ok(CliExit::Done)
    }
}

fn title(text: &str) -> Result<(), CliError> {
    output::styled(&format!("{TITLE}{text}{TITLE:#}\n\n"))
}

/// Runs a command, shows what it prints, and makes sure that it ends as it should.
fn expect(demo: &demo::DemoFolder, words: &[&str], exit: CliExit) -> Result<(), CliError> {
    let ran = demo.run(words)?;
    let code = ran
        .exit
        .map_or_else(|| "none".to_owned(), |code| code.to_string());
    output::styled(&format!("{COMMAND}$ {}{COMMAND:#}\n", ran.line))?;
    output::styled(&framed(&ran.out))?;
    output::styled(&framed(&ran.err))?;
    output::styled(&format!("{ASIDE}(exit code {code}){ASIDE:#}\n\n"))?;
    if ran.exit == Some(exit as i32) {
        return Ok(());
    }
    let message = format!(
        "`{}` ended with exit code {code}, not {}",
        ran.line, exit as i32
    );
    Err(CliError::failed("E_DEMO", message).hint("please report this"))
}

fn show(demo: &demo::DemoFolder, path: &str) -> Result<(), CliError> {
    let text = demo.read(path)?;
    output::styled(&format!(
        "{COMMAND}$ cat {path}{COMMAND:#}\n{}\n",
        framed(&text)
    ))
}

/// Set off from the demo's own words.
fn framed(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", format!("  {line}").trim_end()))
        .collect()
}
