//! Tools: what each kind of step needs to know.

use prompt::{nearest, suggestion};
use serde_json::{Map, Value};

use super::ai::{self, AiStep};
use super::order::Order;
use super::prompt_step::{PromptStep, read_prompt};
use super::step::{self, Step};
use crate::fields::{Datum, Fields, Foreign, Problems, Text};
use crate::yaml::Data;

/// What a step does.
#[derive(Clone, Debug)]
pub enum Tool {
    Template(TemplateStep),
    Shell(Shell),
    Action(Action),
    Prompt(PromptStep),
    Query(Query),
    Patch(Patch),
    Replace(Replace),
    EnsureDirs(EnsureDirs),
    Install(Install),
    Recipe(SubRecipe),
    Sequence(Group),
    Parallel(Group),
    Ai(Box<AiStep>),
}

/// Renders a file, several files, or a directory tree.
#[derive(Clone, Debug)]
pub struct TemplateStep {
    pub templates: Vec<Text>,
    /// Where a single template goes, instead of its frontmatter's `to`.
    pub to: Option<Text>,
    /// Where relative targets begin, instead of the project's root.
    pub output_dir: Option<Text>,
    pub overwrite: bool,
    pub exclude: Vec<Text>,
}

#[derive(Clone, Debug)]
pub struct Shell {
    pub command: ShellCommand,
    pub cwd: Option<Text>,
    pub env: Vec<(String, Text)>,
}

/// What a `shell` step runs.
#[derive(Clone, Debug)]
pub enum ShellCommand {
    /// `command`: a line for `sh`, in which values are data.
    Line(Text),
    /// `argv`: a program and its arguments, without a shell.
    Words(Vec<Text>),
}

/// A program that reads JSON and writes JSON.
#[derive(Clone, Debug)]
pub struct Action {
    /// The program and its arguments; one text is split as a shell would.
    pub command: Vec<Text>,
    pub parameters: Map<String, Value>,
    pub cwd: Option<Text>,
}

/// Reads values out of a file of the project.
#[derive(Clone, Debug)]
pub struct Query {
    pub file: Text,
    pub format: Option<Format>,
    pub checks: Vec<Check>,
    pub expression: Option<Text>,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub path: Text,
    pub export: Option<String>,
    pub export_exists: Option<String>,
}

/// Merges values into a file of the project.
#[derive(Clone, Debug)]
pub struct Patch {
    pub file: Text,
    pub format: Option<Format>,
    pub merge: Datum,
    pub create_if_missing: bool,
    /// Spaces of indentation in a file that has none yet.
    pub indent: usize,
}

/// Replaces what matches a regular expression in a file of the project.
#[derive(Clone, Debug)]
pub struct Replace {
    pub file: Text,
    /// A JavaScript regular expression in which `^` and `$` match at every line.
    pub pattern: Text,
    /// What takes its place; `$1` is the first group, as in JavaScript.
    pub with: Text,
    /// Whether every match is replaced, or the first alone.
    pub all: bool,
    /// Whether it is fine that nothing matches.
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
    Toml,
    Env,
}

#[derive(Clone, Debug)]
pub struct EnsureDirs {
    pub paths: Vec<Text>,
}

#[derive(Clone, Debug)]
pub struct Install {
    pub packages: Vec<Text>,
    pub dev: bool,
    /// A failure is reported and the run goes on.
    pub optional: bool,
    pub package_manager: Option<Text>,
}

#[derive(Clone, Debug)]
pub struct SubRecipe {
    pub recipe: Text,
    pub inherit: bool,
    pub args: Map<String, Value>,
    /// The parent's name of a value → the child's.
    pub mapping: Vec<(String, Text)>,
}

/// Steps within a step.
#[derive(Clone, Debug)]
pub struct Group {
    pub steps: Vec<Step>,
    pub order: Order,
    /// Most commands at a time; `parallel` only.
    pub limit: Option<u32>,
}

/// Spaces a patch indents with in a file that shows no indentation.
const INDENT_DEFAULT: usize = 2;

/// Each tool, the key that gives it away, and the keys it may have.
const TOOLS: [(&str, Option<&str>, &[&str]); 13] = [
    ("shell", Some("command"), &["command", "argv", "cwd", "env"]),
    (
        "recipe",
        Some("recipe"),
        &[
            "recipe",
            "inheritVariables",
            "variableOverrides",
            "args",
            "variableMapping",
        ],
    ),
    (
        "prompt",
        Some("promptType"),
        &[
            "variable",
            "promptType",
            "message",
            "default",
            "options",
            "validate",
        ],
    ),
    ("sequence", Some("sequence"), &["steps", "sequence"]),
    ("parallel", None, &["steps", "parallel", "limit"]),
    (
        "template",
        Some("template"),
        &["template", "to", "outputDir", "overwrite", "exclude"],
    ),
    ("action", Some("action"), &["action", "parameters", "cwd"]),
    (
        "install",
        Some("packages"),
        &["packages", "dev", "optional", "packageManager"],
    ),
    (
        "patch",
        Some("merge"),
        &["file", "format", "merge", "createIfMissing", "indent"],
    ),
    (
        "replace",
        Some("replace"),
        &["file", "replace", "with", "all", "optional"],
    ),
    (
        "query",
        Some("file"),
        &["file", "format", "checks", "expression"],
    ),
    ("ensure-dirs", Some("paths"), &["paths"]),
    ("ai", Some("prompt"), &ai::KEYS),
];

const FORMATS: [(&str, Format); 4] = [
    ("json", Format::Json),
    ("yaml", Format::Yaml),
    ("toml", Format::Toml),
    ("env", Format::Env),
];

impl Tool {
    pub fn name(&self) -> &'static str {
        match self {
            Tool::Template(_) => "template",
            Tool::Shell(_) => "shell",
            Tool::Action(_) => "action",
            Tool::Prompt(_) => "prompt",
            Tool::Query(_) => "query",
            Tool::Patch(_) => "patch",
            Tool::Replace(_) => "replace",
            Tool::EnsureDirs(_) => "ensure-dirs",
            Tool::Install(_) => "install",
            Tool::Recipe(_) => "recipe",
            Tool::Sequence(_) => "sequence",
            Tool::Parallel(_) => "parallel",
            Tool::Ai(_) => "ai",
        }
    }
}

/// What a tool's steps may not have, and what to do instead.
pub(super) fn foreign(tool: &str) -> &'static [Foreign] {
    match tool {
        "ai" => &ai::FOREIGN,
        _ => &[],
    }
}

pub(super) fn keys(tool: &str) -> &'static [&'static str] {
    let found = TOOLS.iter().find(|(name, ..)| *name == tool);
    found.map_or(&[], |(_, _, keys)| keys)
}

/// The tool a step names, or the one its keys give away.
pub(super) fn name_of(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<&'static str> {
    let is_list = |key| {
        fields
            .node(key)
            .is_some_and(|node| matches!(node.data, Data::List(_)))
    };
    if let Some(text) = fields.text("tool", problems) {
        let found = TOOLS.iter().find(|(name, ..)| *name == text.text);
        match found {
            Some((name, ..)) => return Some(name),
            None if text.text == "codemod" => {
                let hint = "use `replace`, `inject` in a template's frontmatter, or an `action`"
                    .to_owned();
                problems.note_at(text.place, "there is no tool `codemod`", Some(hint));
            }
            None => {
                let hint = suggestion(&text.text, TOOLS.iter().map(|(name, ..)| *name));
                let message = format!("there is no tool `{}`", text.text);
                problems.note_at(text.place, message, hint);
            }
        }
        return None;
    }
    if is_list("parallel") {
        return Some("parallel");
    }
    if fields.has("argv") {
        return Some("shell");
    }
    let inferred = TOOLS
        .iter()
        .find(|(_, mark, _)| mark.is_some_and(|mark| fields.has(mark)));
    match inferred {
        Some((name, ..)) => Some(name),
        None if fields.has("steps") => Some("sequence"),
        None => {
            let marks: Vec<&str> = TOOLS.iter().filter_map(|(_, mark, _)| *mark).collect();
            let slip = fields
                .keys()
                .find_map(|key| nearest(key, marks.iter().copied()));
            let hint = match slip {
                Some(mark) => format!("did you mean `{mark}`?"),
                None => format!("add `tool:`, or one of: {}", marks.join(", ")),
            };
            problems.note_with_hint(fields.at, "this step says nothing to do", Some(hint));
            None
        }
    }
}

pub(super) fn read(tool: &str, fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Tool> {
    match tool {
        "template" => read_template(fields, problems).map(Tool::Template),
        "shell" => read_shell(fields, problems).map(Tool::Shell),
        "action" => read_action(fields, problems).map(Tool::Action),
        "prompt" => read_prompt(fields, problems).map(Tool::Prompt),
        "query" => read_query(fields, problems).map(Tool::Query),
        "patch" => read_patch(fields, problems).map(Tool::Patch),
        "replace" => read_replace(fields, problems).map(Tool::Replace),
        "ensure-dirs" => {
            let paths = at_least_one("paths", fields, problems)?;
            Some(Tool::EnsureDirs(EnsureDirs { paths }))
        }
        "install" => read_install(fields, problems).map(Tool::Install),
        "recipe" => read_recipe(fields, problems).map(Tool::Recipe),
        "sequence" => read_group("sequence", fields, problems).map(Tool::Sequence),
        "parallel" => read_group("parallel", fields, problems).map(Tool::Parallel),
        "ai" => ai::read(fields, problems).map(|step| Tool::Ai(Box::new(step))),
        _ => None,
    }
}

fn read_template(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<TemplateStep> {
    Some(TemplateStep {
        templates: at_least_one("template", fields, problems)?,
        to: fields.text("to", problems),
        output_dir: fields.text("outputDir", problems),
        overwrite: fields.flag("overwrite", problems).unwrap_or(false),
        exclude: fields.texts("exclude", problems),
    })
}

fn read_shell(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Shell> {
    let command = match fields.has("argv") {
        true if fields.has("command") => {
            let message = "a step has `command` or `argv`, not both";
            problems.note(fields.key_at("argv"), message);
            return None;
        }
        true => ShellCommand::Words(at_least_one("argv", fields, problems)?),
        false => ShellCommand::Line(fields.required("command", problems)?),
    };
    Some(Shell {
        command,
        cwd: fields.text("cwd", problems),
        env: fields.text_map("env", problems),
    })
}

fn read_action(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Action> {
    Some(Action {
        command: at_least_one("action", fields, problems)?,
        parameters: fields.json_map("parameters", problems),
        cwd: fields.text("cwd", problems),
    })
}

fn read_query(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Query> {
    let mut checks = Vec::new();
    for node in fields.list("checks", problems) {
        let Some(check) = Fields::open(node, "a check", problems) else {
            continue;
        };
        check.only(&[&["path", "export", "exportExists"]], &[], problems);
        let Some(path) = check.required("path", problems) else {
            continue;
        };
        checks.push(Check {
            path,
            export: check.string("export", problems),
            export_exists: check.string("exportExists", problems),
        });
    }
    Some(Query {
        file: fields.required("file", problems)?,
        format: fields.word("format", &FORMATS, problems),
        checks,
        expression: fields.text("expression", problems),
    })
}

fn read_patch(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Patch> {
    let file = fields.required("file", problems);
    let Some(merge) = fields.datum("merge", problems) else {
        problems.note(fields.at, "`merge` is missing in a patch");
        return None;
    };
    if !merge.value.is_object() {
        problems.note_at(merge.place, "`merge` must be a map", None);
        return None;
    }
    Some(Patch {
        file: file?,
        format: fields.word("format", &FORMATS[..3], problems),
        merge,
        create_if_missing: fields.flag("createIfMissing", problems).unwrap_or(true),
        indent: fields
            .count("indent", problems)
            .map_or(INDENT_DEFAULT, |indent| indent as usize),
    })
}

fn read_replace(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Replace> {
    let (file, pattern) = (
        fields.required("file", problems),
        fields.required("replace", problems),
    );
    if !fields.has("with") {
        problems.note(fields.at, "`with` is missing in a replacement");
    }
    Some(Replace {
        file: file?,
        pattern: pattern?,
        with: fields.text("with", problems)?,
        all: fields.flag("all", problems).unwrap_or(true),
        optional: fields.flag("optional", problems).unwrap_or(false),
    })
}

fn read_install(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Install> {
    Some(Install {
        packages: at_least_one("packages", fields, problems)?,
        dev: fields.flag("dev", problems).unwrap_or(false),
        optional: fields.flag("optional", problems).unwrap_or(false),
        package_manager: fields.text("packageManager", problems),
    })
}

fn read_recipe(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<SubRecipe> {
    let mut args = fields.json_map("variableOverrides", problems);
    args.extend(fields.json_map("args", problems));
    Some(SubRecipe {
        recipe: fields.required("recipe", problems)?,
        inherit: fields.flag("inheritVariables", problems).unwrap_or(true),
        args,
        mapping: fields.text_map("variableMapping", problems),
    })
}

fn read_group(key: &str, fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Group> {
    let key = if fields.has(key) { key } else { "steps" };
    if !fields.has(key) {
        problems.note(fields.at, "`steps` is missing in this step");
        return None;
    }
    let (steps, order) = step::read_ordered(fields, key, problems);
    Some(Group {
        steps,
        order: order?,
        limit: fields.count("limit", problems).map(|limit| limit.max(1)),
    })
}

fn at_least_one(key: &str, fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Vec<Text>> {
    let texts = fields.texts(key, problems);
    if texts.is_empty() {
        problems.note(
            fields.at,
            format!("`{key}` is missing or empty in this step"),
        );
        return None;
    }
    Some(texts)
}
