//! Tools: what each kind of step needs to know.

use diagnostics::{nearest, suggestion};
use serde_json::{Map, Value};

use super::ai::{self, AiStep};
use super::order::StepOrder;
use super::prompt_step::{PromptStep, read_prompt};
use super::step::{self, RecipeStep};
use crate::fields::{FileProblems, ManifestFields, ManifestText, ManifestValue, UnsupportedKey};
use crate::yaml::ManifestData;

/// The tool of a step, with its settings.
#[derive(Clone, Debug)]
pub enum StepTool {
    Template(TemplateStep),
    Shell(ShellStep),
    Action(ActionStep),
    Prompt(PromptStep),
    Query(QueryStep),
    Patch(PatchStep),
    Replace(ReplaceStep),
    EnsureDirs(EnsureDirs),
    Install(InstallStep),
    Recipe(SubRecipe),
    Sequence(GroupStep),
    Parallel(GroupStep),
    Ai(Box<AiStep>),
}

/// Renders a file, several files, or a directory tree.
#[derive(Clone, Debug)]
pub struct TemplateStep {
    pub templates: Vec<ManifestText>,
    /// Target of a single template, instead of its frontmatter's `to`.
    pub to: Option<ManifestText>,
    /// Folder that relative targets begin at, instead of the project's root.
    pub output_dir: Option<ManifestText>,
    pub overwrite: bool,
    pub exclude: Vec<ManifestText>,
}

#[derive(Clone, Debug)]
pub struct ShellStep {
    pub command: ShellCommand,
    pub cwd: Option<ManifestText>,
    pub env: Vec<(String, ManifestText)>,
}

/// The command of a `shell` step.
#[derive(Clone, Debug)]
pub enum ShellCommand {
    /// `command`: a line for `sh`, in which values are data.
    Line(ManifestText),
    /// `argv`: a program and its arguments, without a shell.
    Words(Vec<ManifestText>),
}

/// A program that reads JSON and writes JSON.
#[derive(Clone, Debug)]
pub struct ActionStep {
    /// The program and its arguments; one text is split as a shell would.
    pub command: Vec<ManifestText>,
    pub parameters: Map<String, Value>,
    pub cwd: Option<ManifestText>,
}

/// Reads values out of a file of the project.
#[derive(Clone, Debug)]
pub struct QueryStep {
    pub file: ManifestText,
    pub format: Option<DataFormat>,
    pub checks: Vec<QueryCheck>,
    pub expression: Option<ManifestText>,
}

#[derive(Clone, Debug)]
pub struct QueryCheck {
    pub path: ManifestText,
    pub export: Option<String>,
    pub export_exists: Option<String>,
}

/// Merges values into a file of the project.
#[derive(Clone, Debug)]
pub struct PatchStep {
    pub file: ManifestText,
    pub format: Option<DataFormat>,
    pub merge: ManifestValue,
    pub create_if_missing: bool,
    /// Spaces of indentation in a file that has none yet.
    pub indent: usize,
}

/// Replaces what matches a regular expression in a file of the project.
#[derive(Clone, Debug)]
pub struct ReplaceStep {
    pub file: ManifestText,
    /// A JavaScript regular expression in which `^` and `$` match at every line.
    pub pattern: ManifestText,
    /// Replacement of the match; `$1` is the first group, as in JavaScript.
    pub with: ManifestText,
    /// True if every match is replaced, not only the first.
    pub all: bool,
    /// True if a pattern without a match is no error.
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    Json,
    Yaml,
    Toml,
    Env,
}

#[derive(Clone, Debug)]
pub struct EnsureDirs {
    pub paths: Vec<ManifestText>,
}

#[derive(Clone, Debug)]
pub struct InstallStep {
    pub packages: Vec<ManifestText>,
    pub dev: bool,
    /// A failure is reported and the run goes on.
    pub optional: bool,
    pub package_manager: Option<ManifestText>,
}

#[derive(Clone, Debug)]
pub struct SubRecipe {
    pub recipe: ManifestText,
    pub inherit: bool,
    pub args: Map<String, Value>,
    /// The parent's name of a value → the child's.
    pub mapping: Vec<(String, ManifestText)>,
}

/// Steps within a step.
#[derive(Clone, Debug)]
pub struct GroupStep {
    pub steps: Vec<RecipeStep>,
    pub order: StepOrder,
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

const FORMATS: [(&str, DataFormat); 4] = [
    ("json", DataFormat::Json),
    ("yaml", DataFormat::Yaml),
    ("toml", DataFormat::Toml),
    ("env", DataFormat::Env),
];

impl StepTool {
    pub fn name(&self) -> &'static str {
        match self {
            StepTool::Template(_) => "template",
            StepTool::Shell(_) => "shell",
            StepTool::Action(_) => "action",
            StepTool::Prompt(_) => "prompt",
            StepTool::Query(_) => "query",
            StepTool::Patch(_) => "patch",
            StepTool::Replace(_) => "replace",
            StepTool::EnsureDirs(_) => "ensure-dirs",
            StepTool::Install(_) => "install",
            StepTool::Recipe(_) => "recipe",
            StepTool::Sequence(_) => "sequence",
            StepTool::Parallel(_) => "parallel",
            StepTool::Ai(_) => "ai",
        }
    }
}

/// Returns the keys that a tool's steps may not have, each with advice on what to write instead.
pub(super) fn foreign(tool: &str) -> &'static [UnsupportedKey] {
    match tool {
        "ai" => &ai::FOREIGN,
        _ => &[],
    }
}

pub(super) fn keys(tool: &str) -> &'static [&'static str] {
    let found = TOOLS.iter().find(|(name, ..)| *name == tool);
    found.map_or(&[], |(_, _, keys)| keys)
}

/// Returns the tool a step names, or the one its keys belong to.
pub(super) fn name_of(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<&'static str> {
    let is_list = |key| {
        fields
            .node(key)
            .is_some_and(|node| matches!(node.data, ManifestData::List(_)))
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
                .find_map(|key| nearest(key, marks.iter().copied().chain(["tool"])));
            let hint = match slip {
                Some(mark) => format!("did you mean `{mark}`?"),
                None => format!("add `tool:`, or one of: {}", marks.join(", ")),
            };
            problems.note_with_hint(fields.at, "this step says nothing to do", Some(hint));
            None
        }
    }
}

pub(super) fn read(
    tool: &str,
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<StepTool> {
    match tool {
        "template" => read_template(fields, problems).map(StepTool::Template),
        "shell" => read_shell(fields, problems).map(StepTool::Shell),
        "action" => read_action(fields, problems).map(StepTool::Action),
        "prompt" => read_prompt(fields, problems).map(StepTool::Prompt),
        "query" => read_query(fields, problems).map(StepTool::Query),
        "patch" => read_patch(fields, problems).map(StepTool::Patch),
        "replace" => read_replace(fields, problems).map(StepTool::Replace),
        "ensure-dirs" => {
            let paths = at_least_one("paths", fields, problems)?;
            Some(StepTool::EnsureDirs(EnsureDirs { paths }))
        }
        "install" => read_install(fields, problems).map(StepTool::Install),
        "recipe" => read_recipe(fields, problems).map(StepTool::Recipe),
        "sequence" => read_group("sequence", fields, problems).map(StepTool::Sequence),
        "parallel" => read_group("parallel", fields, problems).map(StepTool::Parallel),
        "ai" => ai::read(fields, problems).map(|step| StepTool::Ai(Box::new(step))),
        _ => None,
    }
}

fn read_template(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<TemplateStep> {
    Some(TemplateStep {
        templates: at_least_one("template", fields, problems)?,
        to: fields.text("to", problems),
        output_dir: fields.text("outputDir", problems),
        overwrite: fields.flag("overwrite", problems).unwrap_or(false),
        exclude: fields.texts("exclude", problems),
    })
}

fn read_shell(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<ShellStep> {
    let command = match fields.has("argv") {
        true if fields.has("command") => {
            let message = "a step has `command` or `argv`, not both";
            problems.note(fields.key_at("argv"), message);
            return None;
        }
        true => ShellCommand::Words(at_least_one("argv", fields, problems)?),
        false => ShellCommand::Line(fields.required("command", problems)?),
    };
    Some(ShellStep {
        command,
        cwd: fields.text("cwd", problems),
        env: fields.text_map("env", problems),
    })
}

fn read_action(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<ActionStep> {
    Some(ActionStep {
        command: at_least_one("action", fields, problems)?,
        parameters: fields.json_map("parameters", problems),
        cwd: fields.text("cwd", problems),
    })
}

fn read_query(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<QueryStep> {
    let mut checks = Vec::new();
    for node in fields.list("checks", problems) {
        let Some(check) = ManifestFields::open(node, "a check", problems) else {
            continue;
        };
        check.only(&[&["path", "export", "exportExists"]], &[], problems);
        let Some(path) = check.required("path", problems) else {
            continue;
        };
        checks.push(QueryCheck {
            path,
            export: check.string("export", problems),
            export_exists: check.string("exportExists", problems),
        });
    }
    Some(QueryStep {
        file: fields.required("file", problems)?,
        format: fields.word("format", &FORMATS, problems),
        checks,
        expression: fields.text("expression", problems),
    })
}

fn read_patch(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<PatchStep> {
    let file = fields.required("file", problems);
    let Some(merge) = fields.datum("merge", problems) else {
        problems.note(fields.at, "`merge` is missing in a patch");
        return None;
    };
    if !merge.value.is_object() {
        problems.note_at(merge.place, "`merge` must be a map", None);
        return None;
    }
    Some(PatchStep {
        file: file?,
        format: fields.word("format", &FORMATS[..3], problems),
        merge,
        create_if_missing: fields.flag("createIfMissing", problems).unwrap_or(true),
        indent: fields
            .count("indent", problems)
            .map_or(INDENT_DEFAULT, |indent| indent as usize),
    })
}

fn read_replace(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<ReplaceStep> {
    let (file, pattern) = (
        fields.required("file", problems),
        fields.required("replace", problems),
    );
    if !fields.has("with") {
        problems.note(fields.at, "`with` is missing in a replacement");
    }
    Some(ReplaceStep {
        file: file?,
        pattern: pattern?,
        with: fields.text("with", problems)?,
        all: fields.flag("all", problems).unwrap_or(true),
        optional: fields.flag("optional", problems).unwrap_or(false),
    })
}

fn read_install(
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<InstallStep> {
    Some(InstallStep {
        packages: at_least_one("packages", fields, problems)?,
        dev: fields.flag("dev", problems).unwrap_or(false),
        optional: fields.flag("optional", problems).unwrap_or(false),
        package_manager: fields.text("packageManager", problems),
    })
}

fn read_recipe(fields: &ManifestFields<'_>, problems: &mut FileProblems<'_>) -> Option<SubRecipe> {
    let mut args = fields.json_map("variableOverrides", problems);
    args.extend(fields.json_map("args", problems));
    Some(SubRecipe {
        recipe: fields.required("recipe", problems)?,
        inherit: fields.flag("inheritVariables", problems).unwrap_or(true),
        args,
        mapping: fields.text_map("variableMapping", problems),
    })
}

fn read_group(
    key: &str,
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<GroupStep> {
    let key = if fields.has(key) { key } else { "steps" };
    if !fields.has(key) {
        problems.note(fields.at, "`steps` is missing in this step");
        return None;
    }
    let (steps, order) = step::read_ordered(fields, key, problems);
    Some(GroupStep {
        steps,
        order: order?,
        limit: fields.count("limit", problems).map(|limit| limit.max(1)),
    })
}

fn at_least_one(
    key: &str,
    fields: &ManifestFields<'_>,
    problems: &mut FileProblems<'_>,
) -> Option<Vec<ManifestText>> {
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
