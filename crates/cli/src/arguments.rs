//! The command line as clap sees it: the tree of commands, its look, and clap's errors as ours.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::command::{
    agents, ai, build, builds, completions, cost, database, demo, doctor, impact, import, index,
    init, kit, man, notices, plan, recipe, run, runs, schedules, schema, task, tasks, template,
    trust, update, users, worker, workflow,
};
use crate::exit::{Exit, Trouble};
use crate::split::{self, Own};

/// Code generation in which templates ask, somebody answers, and drawloom writes.
///
/// A recipe is a folder with a `recipe.yml` and templates. Running it writes files. Where a template
/// has an `@ai` block, its question goes to whoever is set up to answer: a model, a command, a program
/// of your own, or you. With nobody set up, the run prints the questions as one document and ends with
/// exit code 2; run again with `--answers FILE`, it checks the answers and writes the files.
#[derive(Debug, Parser)]
#[command(
    name = "drawloom",
    version,
    styles = STYLES,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  drawloom init                         start in this folder, with an example recipe
  drawloom run hello World              run the recipe `hello`
  drawloom run hello World --dry-run    show what it would do, and do nothing
  drawloom demo                         watch the two passes, offline

Exit codes: 0 done, 1 error, 2 answers needed (and nothing else), 64 wrong usage.
Data goes to stdout, everything else to stderr. With `--json`, an error is one JSON
document on stderr: {\"error\": {code, message, file, line, column, hint, …}}."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Act as if started in this folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Let this project, and a recipe from outside of it, act for this once
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        hide_possible_values = true
    )]
    #[arg(help = "When to use colours: auto, always or never")]
    pub(crate) color: Option<ColorFlag>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ColorFlag {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Run>),
    Update(update::Update),
    #[command(subcommand)]
    Recipe(recipe::Recipe),
    #[command(subcommand)]
    Template(template::Template),
    #[command(subcommand)]
    Ai(ai::Ai),
    Cost(cost::Cost),
    #[command(subcommand)]
    Task(task::Task),
    #[command(subcommand)]
    Plan(plan::Plan),
    Build(Box<build::Build>),
    #[command(subcommand)]
    Builds(builds::Builds),
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    #[command(subcommand)]
    Runs(runs::Runs),
    #[command(subcommand)]
    Tasks(tasks::Tasks),
    Worker(worker::Worker),
    #[command(subcommand)]
    Notices(notices::Notices),
    #[command(subcommand)]
    Database(database::Database),
    #[command(subcommand)]
    Users(users::Users),
    #[command(subcommand)]
    Agents(agents::Agents),
    #[command(subcommand)]
    Schedules(schedules::Schedules),
    Index(index::Index),
    Impact(impact::Impact),
    Schema(schema::Schema),
    #[command(subcommand)]
    Kit(kit::Kit),
    #[command(subcommand)]
    Import(import::Import),
    Init(init::Init),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Trust(trust::Trust),
    Completions(completions::Completions),
    Man(man::Man),
}

/// What the command line asks for.
pub(crate) enum Reading {
    Command(Box<Cli>),
    /// Help or version.
    Text(String),
}

/// The groups of the first page of help; a test sees to it that no command is left out.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Generate",
        &["run", "update", "recipe", "template", "ai", "kit", "import"],
    ),
    (
        "Workflows",
        &[
            "workflow",
            "runs",
            "tasks",
            "worker",
            "schedules",
            "notices",
        ],
    ),
    (
        "Builds",
        &["build", "builds", "task", "plan", "index", "impact"],
    ),
    ("People", &["users", "agents"]),
    (
        "Project",
        &["init", "trust", "doctor", "cost", "database", "schema"],
    ),
    ("Set up", &["demo", "completions", "man"]),
];

pub(crate) const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();
const STYLES: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(LITERAL)
    .placeholder(AnsiColor::Cyan.on_default());

/// The whole tree, with the commands of the first page in groups.
pub(crate) fn tree() -> clap::Command {
    let tree = Cli::command();
    let grouped = grouped(&tree);
    tree.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{grouped}\n{HEADING}Everywhere:{HEADING:#}\n\
         {{options}}{{after-help}}"
    ))
}

/// The long options that `run` itself has.
pub(crate) fn options_of_run() -> Vec<String> {
    let tree = Cli::command();
    let run = tree
        .find_subcommand("run")
        .into_iter()
        .flat_map(clap::Command::get_arguments);
    run.chain(tree.get_arguments())
        .filter_map(clap::Arg::get_long)
        .map(str::to_owned)
        .collect()
}

/// Reads the command line. Behind a recipe's name nothing but its place counts yet: the recipe may
/// declare a variable that is named like an option, so [`reread`] reads the rest once it is loaded.
pub(crate) fn read(words: Vec<OsString>) -> Result<Reading, Trouble> {
    let tree = tree();
    let parts = split::split(words.clone(), &tree, Own::All)?;
    let head = split::split(words.clone(), &tree, Own::Place)?;
    let matches = tree.try_get_matches_from(head.known);
    let mut cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return shown_or_wrong(&error),
    };
    match &mut cli.command {
        Command::Run(run) | Command::Recipe(recipe::Recipe::Run(run)) => {
            run.values = parts.given;
            run.words = words;
            run.wants_recipe_help = parts.wants_recipe_help;
        }
        Command::Update(update) => {
            update.values = parts.given;
            update.words = words;
            update.wants_recipe_help = parts.wants_recipe_help;
        }
        _ => {}
    }
    Ok(Reading::Command(Box::new(cli)))
}

/// Reads the command line again, for a recipe with variables of these names: behind the recipe's
/// name they are the recipe's, whatever drawloom itself calls so.
pub(crate) fn reread(words: &[OsString], variables: &[&str]) -> Result<Cli, Trouble> {
    let tree = tree();
    let shadowed = shadowed_options(variables);
    let parts = split::split(words.to_vec(), &tree, Own::AllBut(&shadowed))?;
    let matches = tree.try_get_matches_from(parts.known);
    let mut cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            return match shown_or_wrong(&error)? {
                Reading::Command(cli) => Ok(*cli),
                Reading::Text(text) => Err(Trouble::usage(text)),
            };
        }
    };
    match &mut cli.command {
        Command::Run(run) | Command::Recipe(recipe::Recipe::Run(run)) => {
            run.values = parts.given;
            run.words = words.to_vec();
        }
        Command::Update(update) => {
            update.values = parts.given;
            update.words = words.to_vec();
        }
        _ => {}
    }
    Ok(cli)
}

/// The options of `run` that variables of these names hide behind a recipe's name.
pub(crate) fn shadowed_options(variables: &[&str]) -> Vec<String> {
    let variables: Vec<String> = variables.iter().map(|name| folded(name)).collect();
    let options = options_of_run().into_iter();
    let is_shadowed =
        |option: &String| option != split::PLACE && variables.contains(&folded(option));
    options.filter(is_shadowed).collect()
}

/// Whether only `--set` can give a variable of this name.
pub(crate) fn needs_set(variable: &str) -> bool {
    matches!(folded(variable).as_str(), split::PLACE | "help")
}

/// `mainField`, `main_field` and `main-field` are one name.
pub(crate) fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Help and version are text; everything else is wrong usage, which is 64 with us and not clap's 2.
fn shown_or_wrong(error: &clap::Error) -> Result<Reading, Trouble> {
    let rendered = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Reading::Text(rendered)),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Trouble {
            shown: Some(rendered),
            ..Trouble::usage("a command is missing").hint("see `drawloom --help`")
        }),
        _ => {
            let plain = error.render().to_string();
            let lines = plain
                .lines()
                .map(str::trim)
                .take_while(|line| !line.is_empty());
            let message = lines.collect::<Vec<_>>().join(" ");
            let message = message.trim_start_matches("error: ");
            let mut trouble = Trouble::new(Exit::Usage, "E_USAGE", message);
            trouble.shown = Some(rendered);
            Err(trouble)
        }
    }
}

fn grouped(tree: &clap::Command) -> String {
    let width = tree
        .get_subcommands()
        .map(|command| command.get_name().len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{HEADING}{heading}:{HEADING:#}\n");
        for command in names.iter().filter_map(|name| tree.find_subcommand(name)) {
            let name = command.get_name();
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            let gap = " ".repeat(width - name.len());
            let _ = writeln!(text, "  {LITERAL}{name}{LITERAL:#}{gap}  {about}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_on_the_first_page_once() {
        let tree = Cli::command();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut existing: Vec<&str> = tree
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        listed.sort_unstable();
        existing.sort_unstable();
        assert_eq!(listed, existing);
    }

    #[test]
    fn the_tree_is_sound() {
        tree().debug_assert();
    }
}
