//! The command line as clap sees it: the tree of commands, its look, and clap's errors as ours.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::command::{
    agents, ai, backup, build, builds, completions, cost, database, demo, doctor, impact, import,
    index, init, kit, man, mcp, notices, plan, recipe, run, runs, schedules, schema, serve, task,
    tasks, template, tokens, trust, update, users, worker, workflow,
};
use crate::exit::{CliError, CliExit};
use crate::split::{self, OwnOptions, SplitLine};

/// Code generation in which templates ask questions, a model or a person answers, and drawloom
/// writes the files.
///
/// A recipe is a folder with a `recipe.yml` and templates. Running it writes files. The question of
/// an `@ai` block in a template goes to a model, a command, a program of your own, or you, as
/// `ai.mode` says. Without one of these, the run prints the questions as one document and ends with
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
pub(crate) struct CliArgs {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Options that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Act as if started in this folder
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Trust this project, and a recipe from outside of it, for this command only
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
pub(crate) enum CliCommand {
    Run(Box<run::RunArgs>),
    Update(update::UpdateArgs),
    #[command(subcommand)]
    Recipe(recipe::RecipeCommand),
    #[command(subcommand)]
    Template(template::TemplateCommand),
    #[command(subcommand)]
    Ai(ai::AiCommand),
    Cost(cost::CostArgs),
    #[command(subcommand)]
    Task(task::TaskCommand),
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    Build(Box<build::BuildArgs>),
    #[command(subcommand)]
    Builds(builds::BuildsCommand),
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    #[command(subcommand)]
    Tasks(tasks::TasksCommand),
    Worker(worker::WorkerArgs),
    #[command(subcommand)]
    Notices(notices::NoticesCommand),
    #[command(subcommand)]
    Database(database::DatabaseCommand),
    Backup(backup::BackupDatabase),
    Restore(backup::RestoreDatabase),
    #[command(subcommand)]
    Users(users::UsersCommand),
    #[command(subcommand)]
    Agents(agents::AgentsCommand),
    #[command(subcommand)]
    Schedules(schedules::SchedulesCommand),
    Serve(serve::ServeArgs),
    #[command(subcommand)]
    Tokens(tokens::TokensCommand),
    Index(index::IndexArgs),
    Impact(impact::ImpactArgs),
    Schema(schema::SchemaArgs),
    #[command(subcommand)]
    Kit(kit::KitCommand),
    #[command(subcommand)]
    Import(import::ImportCommand),
    Init(init::InitArgs),
    Demo(demo::DemoArgs),
    Mcp(Box<mcp::McpArgs>),
    Doctor(doctor::DoctorArgs),
    Trust(trust::TrustArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The result of parsing the command line.
pub(crate) enum ParsedLine {
    Command(Box<CliArgs>),
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
            "serve",
        ],
    ),
    (
        "Builds",
        &["build", "builds", "task", "plan", "index", "impact"],
    ),
    ("People", &["users", "agents", "tokens"]),
    (
        "Project",
        &[
            "init", "trust", "doctor", "cost", "database", "backup", "restore", "schema",
        ],
    ),
    ("Set up", &["demo", "mcp", "completions", "man"]),
];

pub(crate) const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();
const STYLES: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(LITERAL)
    .placeholder(AnsiColor::Cyan.on_default());

/// Returns the whole tree, with the commands of the first page in groups.
pub(crate) fn tree() -> clap::Command {
    let tree = CliArgs::command();
    let grouped = grouped(&tree);
    tree.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{grouped}\n{HEADING}Global options:{HEADING:#}\n\
         {{options}}{{after-help}}"
    ))
}

/// Returns a tree with only the commands that run recipes. The whole tree has some hundred commands, and
/// making it would be a good part of what a plain run does.
fn small_tree() -> clap::Command {
    let tree = GlobalArgs::augment_args(clap::Command::new("drawloom")).styles(STYLES);
    tree.subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(run::RunArgs::augment_args(clap::Command::new("run")))
        .subcommand(update::UpdateArgs::augment_args(clap::Command::new(
            "update",
        )))
}

/// Returns the small tree if it has the command of this line, and else the whole one.
fn tree_of(words: &[OsString]) -> clap::Command {
    let small = small_tree();
    match split::takes_values(words, &small) {
        true => small,
        false => tree(),
    }
}

/// Reads words that clap knows. What is wrong with them, and help, is told by the whole tree.
fn parse(words: Vec<OsString>, tree: clap::Command) -> Result<CliArgs, clap::Error> {
    let read = |tree: clap::Command, words: Vec<OsString>| {
        let matches = tree.try_get_matches_from(words)?;
        CliArgs::from_arg_matches(&matches)
    };
    read(tree, words.clone()).or_else(|_| read(self::tree(), words))
}

/// Returns the long options that `run` itself has.
pub(crate) fn options_of_run() -> Vec<String> {
    options_in(&small_tree())
}

fn options_in(tree: &clap::Command) -> Vec<String> {
    let run = tree
        .find_subcommand("run")
        .into_iter()
        .flat_map(clap::Command::get_arguments);
    run.chain(tree.get_arguments())
        .filter_map(clap::Arg::get_long)
        .map(str::to_owned)
        .collect()
}

/// The page of `drawloom help agents`.
const AGENTS_PAGE: &str = include_str!("agents.md");

/// Reads the command line. Behind a recipe's name nothing but its place counts yet: the recipe may
/// declare a variable that is named like an option, so [`reread`] reads the rest once it is loaded.
pub(crate) fn read(words: Vec<OsString>) -> Result<ParsedLine, CliError> {
    if words.len() == 3 && words[1] == "help" && words[2] == "agents" {
        return Ok(ParsedLine::Text(AGENTS_PAGE.to_owned()));
    }
    let tree = tree_of(&words);
    let parts = split::split(words.clone(), &tree, OwnOptions::All)?;
    let head = split::split(words.clone(), &tree, OwnOptions::Place)?;
    let mut cli = match parse(head.known, tree) {
        Ok(cli) => cli,
        Err(error) => return shown_or_wrong(&error),
    };
    hand_over(&mut cli.command, parts, words);
    Ok(ParsedLine::Command(Box::new(cli)))
}

/// Reads the command line again, for a recipe with variables of these names: behind the recipe's
/// name they are the recipe's, whatever drawloom itself calls so.
pub(crate) fn reread(words: &[OsString], variables: &[&str]) -> Result<CliArgs, CliError> {
    let tree = tree_of(words);
    // A plain run pays for every tree that is made.
    let shadowed = shadowed_in(&tree, variables);
    let mut parts = split::split(words.to_vec(), &tree, OwnOptions::AllBut(&shadowed))?;
    let mut cli = match parse(std::mem::take(&mut parts.known), tree) {
        Ok(cli) => cli,
        Err(error) => {
            return match shown_or_wrong(&error)? {
                ParsedLine::Command(cli) => Ok(*cli),
                ParsedLine::Text(text) => Err(CliError::usage(text)),
            };
        }
    };
    hand_over(&mut cli.command, parts, words.to_vec());
    Ok(cli)
}

/// Gives the words that clap does not read to the command that does.
fn hand_over(command: &mut CliCommand, parts: SplitLine, words: Vec<OsString>) {
    if let CliCommand::Update(update) = command {
        update.values = parts.given;
        update.words = words;
        update.wants_recipe_help = parts.wants_recipe_help;
    } else if let Some(run) = recipe_line(command) {
        run.values = parts.given;
        run.words = words;
        run.wants_recipe_help = parts.wants_recipe_help;
        run.own_options = parts.own_options;
    }
}

/// Returns the part of a command line that is about a recipe.
pub(crate) fn recipe_line(command: &mut CliCommand) -> Option<&mut run::RecipeRunArgs> {
    match command {
        CliCommand::Run(run) => Some(&mut run.recipe),
        CliCommand::Recipe(recipe::RecipeCommand::Run(run)) => Some(run),
        _ => None,
    }
}

/// Returns the options of `run` that variables of these names hide behind a recipe's name.
pub(crate) fn shadowed_options(variables: &[&str]) -> Vec<String> {
    shadowed_in(&small_tree(), variables)
}

fn shadowed_in(tree: &clap::Command, variables: &[&str]) -> Vec<String> {
    let variables: Vec<String> = variables.iter().map(|name| folded(name)).collect();
    let options = options_in(tree).into_iter();
    let is_shadowed =
        |option: &String| option != split::PLACE && variables.contains(&folded(option));
    options.filter(is_shadowed).collect()
}

/// True if only `--set` can give a variable of this name.
pub(crate) fn needs_set(variable: &str) -> bool {
    matches!(folded(variable).as_str(), split::PLACE | "help")
}

/// Folds a name: `mainField`, `main_field` and `main-field` are one.
pub(crate) fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Help and version are text; everything else is wrong usage, which is 64 with us and not clap's 2.
fn shown_or_wrong(error: &clap::Error) -> Result<ParsedLine, CliError> {
    let rendered = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(ParsedLine::Text(rendered)),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(CliError {
            shown: Some(rendered),
            ..CliError::usage("a command is missing").hint("see `drawloom --help`")
        }),
        _ => {
            let plain = error.render().to_string();
            let lines = plain
                .lines()
                .map(str::trim)
                .take_while(|line| !line.is_empty());
            let message = lines.collect::<Vec<_>>().join(" ");
            let message = message.trim_start_matches("error: ");
            let mut trouble = CliError::new(CliExit::Usage, "E_USAGE", message);
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
        let tree = CliArgs::command();
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
    fn the_trees_are_sound() {
        tree().debug_assert();
        small_tree().debug_assert();
    }

    /// A line means the same whichever tree reads it.
    #[test]
    fn both_trees_read_the_commands_that_run_recipes_alike() {
        for line in [
            "run a --force",
            "--cwd x run --dry-run a",
            "run --color never a --json",
            "update a --trust",
            "run",
        ] {
            let words = || {
                std::iter::once("drawloom")
                    .chain(line.split(' '))
                    .map(OsString::from)
            };
            let read = |tree: clap::Command| {
                let matches = tree.try_get_matches_from(words()).unwrap();
                format!("{:?}", CliArgs::from_arg_matches(&matches).unwrap())
            };
            let words: Vec<OsString> = words().collect();
            assert!(split::takes_values(&words, &small_tree()), "{line}");
            assert_eq!(read(small_tree()), read(tree()), "{line}");
        }
        let words = ["drawloom", "recipe", "run", "a"].map(OsString::from);
        assert!(!split::takes_values(&words, &small_tree()));
    }
}
