//! The acts of a project's own settings: programs, addresses, keys and permissions.

use std::collections::BTreeMap;
use std::path::Path;

use super::act::ProjectAct;
use crate::Error;
use crate::settings::{McpServer, ProjectSettings, SandboxSettings, references};

/// Returns the acts that the file of a project asks for; the user's own settings need no question.
pub(crate) fn acts(file: Option<&Path>) -> Result<Vec<ProjectAct>, Error> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let settings = ProjectSettings::of_project(file)?;
    let mut acts = Vec::new();
    answering(&settings, &mut acts);
    servers(&settings, &mut acts);
    sandbox(&settings.agent.sandbox, &mut acts);
    policy(&settings, &mut acts);
    builds(&settings, &mut acts);
    notifications(&settings, &mut acts);
    if let Some(url) = &settings.workflows.database {
        let does = format!("keeps runs in {}", without_password(url));
        acts.push(ProjectAct::said("workflows.database", vec![does]));
    }
    Ok(acts)
}

fn answering(settings: &ProjectSettings, acts: &mut Vec<ProjectAct>) {
    let ai = &settings.ai;
    let programs = [
        ("ai.command", &ai.command),
        ("ai.stdio_command", &ai.stdio_command),
    ];
    for (subject, line) in programs {
        if let Some(line) = line {
            acts.push(ProjectAct::said(subject, vec![format!("starts `{line}`")]));
        }
    }
    if let Some(url) = &ai.base_url {
        let does = format!("sends questions and your key to {}", without_password(url));
        acts.push(ProjectAct::said("ai.base_url", vec![does]));
    }
    let key = ai.api_key.as_ref().map(|key| key.expose().to_owned());
    if let Some(name) = key.as_deref().and_then(|key| key.strip_prefix('$')) {
        let name = name.trim_matches(['{', '}']);
        let does = format!("sends the variable {name} as the key of the model");
        acts.push(ProjectAct::said("ai.api_key", vec![does]));
    }
}

fn servers(settings: &ProjectSettings, acts: &mut Vec<ProjectAct>) {
    for (name, server) in &settings.mcp {
        let does = match server {
            McpServer::Program { command, args, env } => starts(command, args, env),
            McpServer::Address { url, headers } => calls(url, headers),
        };
        acts.push(ProjectAct::said(format!("mcp.servers.{name}"), does));
    }
}

fn starts(command: &str, args: &[String], env: &BTreeMap<String, String>) -> Vec<String> {
    let line = std::iter::once(command).chain(args.iter().map(String::as_str));
    let line: Vec<&str> = line.collect();
    let line = shlex::try_join(line.iter().copied()).unwrap_or_else(|_| line.join(" "));
    let mut does = vec![format!("starts `{line}`, outside the sandbox")];
    does.extend(
        env.iter()
            .map(|(variable, value)| match value.strip_prefix('$') {
                Some(from) => format!("gives it the variable {from} as {variable}"),
                None => format!("sets {variable} to `{value}`"),
            }),
    );
    does
}

fn calls(url: &str, headers: &BTreeMap<String, String>) -> Vec<String> {
    let mut does = vec![format!("calls tools at {}", without_password(url))];
    does.extend(headers.iter().map(|(header, value)| {
        let names = references(value);
        match names.is_empty() {
            true => format!("sends it the header {header}: `{value}`"),
            false => format!(
                "sends it the variable {} in the header {header}",
                names.join(", ")
            ),
        }
    }));
    does
}

fn sandbox(sandbox: &SandboxSettings, acts: &mut Vec<ProjectAct>) {
    use exec::sandbox::{NetworkAccess, SandboxRequirement, UnixSockets};
    let mut add = |key: &str, does: String| {
        acts.push(ProjectAct::said(format!("agent.sandbox.{key}"), vec![does]));
    };
    if sandbox.requirement == SandboxRequirement::None {
        add(
            "kind",
            "runs commands of a model without a sandbox".to_owned(),
        );
    }
    if sandbox.network == NetworkAccess::On {
        add(
            "network",
            "lets commands of a model reach the network".to_owned(),
        );
    }
    if sandbox.unix_sockets == UnixSockets::On {
        let does = "lets commands of a model use UNIX sockets, a way out of the sandbox";
        add("unix_sockets", does.to_owned());
    }
    let paths = [
        (
            "writable",
            "lets commands of a model write",
            &sandbox.writable,
        ),
        ("shown", "lets commands of a model read", &sandbox.shown),
    ];
    for (key, does, paths) in paths {
        if !paths.is_empty() {
            let listed: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            add(key, format!("{does} {}", listed.join(", ")));
        }
    }
    if !sandbox.env.is_empty() {
        let does = format!(
            "shows commands of a model the variables {}",
            sandbox.env.join(", ")
        );
        add("env", does);
    }
}

fn policy(settings: &ProjectSettings, acts: &mut Vec<ProjectAct>) {
    let policy = &settings.agent.policy;
    let lists = [
        ("read_allow", "lets a model read", &policy.read_allow),
        ("write_allow", "lets a model write", &policy.write_allow),
    ];
    for (key, does, globs) in lists {
        if !globs.is_empty() {
            let does = format!("{does} {}", globs.join(", "));
            acts.push(ProjectAct::said(format!("agent.policy.{key}"), vec![does]));
        }
    }
    if policy.hard_links == workspace::HardLinks::Trusted {
        let does = "lets a model read files that have names outside the project".to_owned();
        acts.push(ProjectAct::said(
            "agent.policy.trust_hard_links",
            vec![does],
        ));
    }
}

fn builds(settings: &ProjectSettings, acts: &mut Vec<ProjectAct>) {
    let (builder, usual) = (&settings.builder, ProjectSettings::default().builder);
    let checks = builder.builds.checks.iter().flatten();
    acts.extend(checks.map(|check| {
        let does = format!("runs `{}` after a build, in the sandbox", check.run);
        ProjectAct::said(format!("builder.checks.{}", check.name), vec![does])
    }));
    let forge = &builder.forge;
    if forge.url != usual.forge.url || forge.token_env != usual.forge.token_env {
        let token = forge.token_env.as_deref().map_or_else(
            || "your token for pull requests".to_owned(),
            |name| format!("the variable {name}"),
        );
        let url = forge.url.as_deref().map(without_password);
        let url = url.unwrap_or_else(|| "the forge of the remote".to_owned());
        acts.push(ProjectAct::said(
            "builder.forge",
            vec![format!("sends {token} to {url}")],
        ));
    }
    if let Some(folder) = &builder.folder {
        let does = format!("makes worktrees in {}", folder.display());
        acts.push(ProjectAct::said("builder.folder", vec![does]));
    }
}

fn notifications(settings: &ProjectSettings, acts: &mut Vec<ProjectAct>) {
    for (name, rule) in &settings.workflows.notify {
        let does = format!(
            "runs `{}` when something happens to a run, outside the sandbox",
            rule.command
        );
        acts.push(ProjectAct::said(format!("notify.{name}"), vec![does]));
    }
}

/// Returns an address without the part before its `@`.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://…{}", &rest[at..]),
        None => url.to_owned(),
    }
}
