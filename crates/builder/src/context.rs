//! Selects the files that the model sees before it writes: the plan's context files, within a
//! budget.
//!
//! Near files come first: those related to the files of the plan, then examples of how the project
//! does such a thing, then the rest. A file that does not fit is cut or left out, and the text says
//! so; the model can read it with its tools. A plan without context files gets the nearest
//! neighbours of its files. Lock files, generated and binary files are never context, even if the
//! plan names them: they fill the budget of every turn and say nothing about how the project is
//! written.

use std::collections::BTreeSet;
use std::fmt::Write;

use workspace::{RelPath, Workspace};

use crate::plan::BuildPlan;
use crate::prompts::fenced;
use crate::role::FileRole;
use crate::task_type::ContextNearness;
use crate::tree_index::TreeIndex;

/// A smaller part of a file is of no use.
const SHARE_BYTES_MIN: usize = 400;
/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most neighbours shown if the plan names no context files.
const NEIGHBOURS_MAX: usize = 12;

/// The text for the model, and the files that were cut or left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromptContext {
    pub(crate) text: String,
    /// Files that are shown whole.
    pub(crate) whole: Vec<RelPath>,
    /// Files whose end is not shown.
    pub(crate) cut: Vec<RelPath>,
    /// Files that are not shown at all.
    pub(crate) left_out: Vec<RelPath>,
}

/// Collects the files that fit into `tokens_max`, at about 3.5 bytes a token.
pub(crate) fn gather(
    plan: &BuildPlan,
    tree: &Workspace,
    atlas: &TreeIndex,
    tokens_max: usize,
) -> PromptContext {
    let mut context = PromptContext::default();
    let mut left = diagnostics::bytes_of_tokens(tokens_max);
    for path in ordered(plan, atlas) {
        let body = read(tree, &path).filter(|body| !is_marked_generated(body));
        let Some(body) = body else {
            context.left_out.push(path);
            continue;
        };
        let lines = body.lines().count();
        let head = format!("File `{path}` ({lines} lines):\n");
        let language = path.extension().unwrap_or_default();
        let block = format!("{head}{}\n", fenced(language, &body));
        if block.len() <= left {
            left -= block.len();
            context.text.push_str(&block);
            context.whole.push(path);
        } else if left >= SHARE_BYTES_MIN + head.len() {
            let (shown, count) = first_lines(&body, left - head.len() - CUT_BYTES);
            let head = format!("File `{path}` (the first {count} of {lines} lines; cut):\n");
            let block = format!("{head}{}\n", fenced(language, shown));
            left = left.saturating_sub(block.len()).min(SHARE_BYTES_MIN - 1);
            context.text.push_str(&block);
            context.cut.push(path);
        } else {
            context.left_out.push(path);
        }
    }
    if !context.left_out.is_empty() {
        let names: Vec<String> = context
            .left_out
            .iter()
            .map(|path| format!("`{path}`"))
            .collect();
        writeln!(
            context.text,
            "Not shown for lack of room (context_max_tokens = {tokens_max}), or because they are \
             generated or no text; read what you need: {}",
            names.join(", ")
        )
        .ok();
    }
    context
}

/// Files in which projects write down their conventions, the more certain first.
const CONVENTIONS: [&str; 4] = ["AGENTS.md", "CLAUDE.md", ".cursorrules", "CONTRIBUTING.md"];
/// Bytes of conventions that are shown, beside the context files.
const CONVENTIONS_BYTES_MAX: usize = 8 * 1024;

/// Reads the project's written conventions, if it has any.
pub(crate) fn conventions(tree: &Workspace) -> Option<String> {
    let found = CONVENTIONS.iter().find_map(|name| {
        let path = RelPath::parse(name).ok()?;
        let text = read(tree, &path)?;
        (!text.trim().is_empty()).then_some((path, text))
    });
    let (path, text) = found?;
    let (shown, count) = first_lines(&text, CONVENTIONS_BYTES_MAX);
    let lines = text.lines().count();
    let cut = if count < lines {
        format!(" (the first {count} of {lines} lines; cut)")
    } else {
        String::new()
    };
    Some(format!("From `{path}`{cut}:\n{}", fenced("", shown)))
}

/// Bytes reserved for the line that reports a cut.
const CUT_BYTES: usize = 60;

/// The files in the order they are shown, each once.
fn ordered(plan: &BuildPlan, atlas: &TreeIndex) -> Vec<RelPath> {
    let targets: Vec<RelPath> = plan.existing().cloned().collect();
    let named = if plan.context_files.is_empty() {
        let touched: Vec<RelPath> = plan.touched().cloned().collect();
        atlas.nearest(&touched, NEIGHBOURS_MAX, |path| !is_made_by_tools(path))
    } else {
        plan.context_files.clone()
    };
    let touched: Vec<&RelPath> = plan.touched().collect();
    let neighbours: BTreeSet<RelPath> = touched
        .iter()
        .flat_map(|path| atlas.neighbours(path))
        .collect();
    let mut seen = BTreeSet::new();
    let mut files: Vec<(ContextNearness, RelPath)> = targets
        .into_iter()
        .map(|path| (ContextNearness::Related, path))
        .chain(named.into_iter().map(|path| {
            let is_neighbour = neighbours.contains(&path);
            (nearness(&path, plan, &touched, is_neighbour), path)
        }))
        .filter(|(_, path)| !is_made_by_tools(path) && seen.insert(path.clone()))
        .collect();
    // The sort is stable: within a tier the plan's own order remains.
    files.sort_by_key(|(nearness, _)| *nearness);
    files.into_iter().map(|(_, path)| path).collect()
}

fn nearness(
    path: &RelPath,
    plan: &BuildPlan,
    touched: &[&RelPath],
    is_neighbour: bool,
) -> ContextNearness {
    let shares_name = touched.iter().any(|other| {
        let (a, b) = (stem(path), stem(other));
        !a.is_empty() && (a == b || a.contains(&b) || b.contains(&a))
    });
    if is_neighbour || shares_name {
        return ContextNearness::Related;
    }
    let same_folder = touched.iter().any(|other| other.parent() == path.parent());
    if same_folder || plan.task_type.pattern_role() == Some(FileRole::of(path)) {
        return ContextNearness::Pattern;
    }
    ContextNearness::General
}

/// Returns the name without its extensions and `test_`, so that a file and its test have the same
/// one.
fn stem(path: &RelPath) -> String {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    let name = name.split('.').next().unwrap_or_default();
    let name = name.trim_start_matches("test_").trim_end_matches("_test");
    // Names that occur in every folder do not show a relation.
    let is_common = [
        "index", "mod", "lib", "main", "__init__", "package", "readme",
    ];
    if is_common.contains(&name) || name.len() < 3 {
        return String::new();
    }
    name.to_owned()
}

/// Names of files that package managers write.
const LOCK_FILES: [&str; 10] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "bun.lockb",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "packages.lock.json",
    "Package.resolved",
    "deno.lock",
];
/// Endings of files that programs write, or that are no text.
const TOOL_ENDINGS: [&str; 27] = [
    ".lock",
    ".min.js",
    ".min.css",
    ".map",
    ".snap",
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
    ".g.dart",
    ".designer.cs",
    ".tsbuildinfo",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".webp",
    ".ico",
    ".pdf",
    ".zip",
    ".gz",
    ".woff",
    ".woff2",
    ".ttf",
    ".wasm",
    ".so",
    ".exe",
    ".sqlite",
];

/// Returns true if the name shows that a program writes the file, or that it is not text.
pub(crate) fn is_made_by_tools(path: &RelPath) -> bool {
    let name = path.file_name().unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    LOCK_FILES.contains(&name) || TOOL_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Lines at the top of a file that are searched for a generated-file marker.
const MARK_LINES_MAX: usize = 12;

/// Returns true if the file is marked as generated: Go's `Code generated … DO NOT EDIT`,
/// `@generated`.
fn is_marked_generated(text: &str) -> bool {
    text.lines().take(MARK_LINES_MAX).any(|line| {
        let is_comment = ["//", "#", "/*", "*", "--", "<!--", ";", "\"\"\""]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark));
        is_comment && (line.contains("@generated") || line.contains("DO NOT EDIT"))
    })
}

fn read(tree: &Workspace, path: &RelPath) -> Option<String> {
    let bytes = tree.read_at_most(path, FILE_BYTES_MAX).ok()??;
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

/// Returns as many whole lines as fit, and their number.
fn first_lines(text: &str, bytes_max: usize) -> (&str, usize) {
    let mut end = 0;
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        if end + line.len() > bytes_max {
            break;
        }
        end += line.len();
        count += 1;
    }
    (&text[..end], count)
}
