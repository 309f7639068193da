//! `drawloom mcp install`: the settings that make a client start `drawloom mcp`.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use workspace::{ChangeSet, RelPath};

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Print the settings that connect a client, or write them
///
/// Without `--write` the settings and the name of their file are printed, and nothing is changed.
/// With it they are added to the project's file of that client; the rest of the file stays
/// unchanged.
#[derive(Args, Debug)]
pub(crate) struct McpInstallArgs {
    /// The client: claude-code, codex, cursor, vscode or zed
    #[arg(value_enum, hide_possible_values = true)]
    client: McpClient,
    /// Add the settings to the client's file in this project
    #[arg(long)]
    write: bool,
}

/// A program that speaks MCP as a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum McpClient {
    ClaudeCode,
    Codex,
    Cursor,
    Vscode,
    Zed,
}

impl McpClient {
    /// Returns the file in a project that the client reads.
    fn file(self) -> &'static str {
        match self {
            McpClient::ClaudeCode => ".mcp.json",
            McpClient::Codex => ".codex/config.toml",
            McpClient::Cursor => ".cursor/mcp.json",
            McpClient::Vscode => ".vscode/mcp.json",
            McpClient::Zed => ".zed/settings.json",
        }
    }

    /// Returns the key of the servers in that file.
    fn key(self) -> &'static str {
        match self {
            McpClient::ClaudeCode | McpClient::Cursor => "mcpServers",
            McpClient::Codex => "mcp_servers",
            McpClient::Vscode => "servers",
            McpClient::Zed => "context_servers",
        }
    }

    fn entry(self) -> Value {
        match self {
            McpClient::Vscode => {
                json!({ "type": "stdio", "command": "drawloom", "args": ["mcp"] })
            }
            _ => json!({ "command": "drawloom", "args": ["mcp"] }),
        }
    }
}

const CODEX_SECTION: &str = "[mcp_servers.drawloom]\ncommand = \"drawloom\"\nargs = [\"mcp\"]\n";

impl McpInstallArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let file = self.client.file();
        if !self.write {
            let text = added(self.client, None)?.unwrap_or_default();
            output::data(text.as_bytes())?;
            output::say(format!(
                "add this to {file}, or let `--write` do it; then restart the client"
            ));
            return Ok(CliExit::Done);
        }
        let project = session.project()?;
        let path = RelPath::parse(file)?;
        let before = project.root.read_text(&path)?;
        let Some(text) = added(self.client, before.as_deref())? else {
            output::say(format!("{file} has drawloom already; nothing was changed"));
            return Ok(CliExit::Done);
        };
        let mut changes = ChangeSet::new();
        changes.write(path, text);
        project.root.apply(&changes)?;
        output::say(format!("wrote {file}; restart the client"));
        Ok(CliExit::Done)
    }
}

/// Adds our server to the file; `None` if it has it already.
fn added(client: McpClient, before: Option<&str>) -> Result<Option<String>, CliError> {
    let before = before.unwrap_or_default();
    if client == McpClient::Codex {
        if before.contains("[mcp_servers.drawloom]") {
            return Ok(None);
        }
        let gap = match before.is_empty() || before.ends_with("\n\n") {
            true => "",
            false if before.ends_with('\n') => "\n",
            false => "\n\n",
        };
        return Ok(Some(format!("{before}{gap}{CODEX_SECTION}")));
    }
    let mut settings: Map<String, Value> = match before.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|cause| {
            let message = format!("{} cannot be read: {cause}", client.file());
            CliError::failed("E_DATA", message)
                .hint("add the settings by hand: run the command without `--write`")
        })?,
    };
    let servers = settings
        .entry(client.key())
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(servers) = servers else {
        let message = format!("`{}` in {} is not an object", client.key(), client.file());
        return Err(CliError::failed("E_DATA", message));
    };
    if servers.contains_key("drawloom") {
        return Ok(None);
    }
    servers.insert("drawloom".to_owned(), client.entry());
    let text = serde_json::to_string_pretty(&settings).unwrap_or_default();
    Ok(Some(format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(client: McpClient, before: Option<&str>, expected: Option<&str>) {
        let text = added(client, before).ok().flatten();
        assert_eq!(text.as_deref(), expected);
    }

    #[test]
    fn other_servers_and_settings_stay() {
        check(
            McpClient::Cursor,
            Some("{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"a\":1}"),
            Some(
                "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"x\"\n    },\n    \
                 \"drawloom\": {\n      \"command\": \"drawloom\",\n      \"args\": [\n        \
                 \"mcp\"\n      ]\n    }\n  },\n  \"a\": 1\n}\n",
            ),
        );
    }

    #[test]
    fn nothing_is_added_twice() {
        check(
            McpClient::ClaudeCode,
            Some("{\"mcpServers\":{\"drawloom\":{}}}"),
            None,
        );
        check(McpClient::Codex, Some(CODEX_SECTION), None);
    }

    #[test]
    fn a_section_is_put_behind_what_is_there() {
        let expected = format!("model = \"x\"\n\n{CODEX_SECTION}");
        check(McpClient::Codex, Some("model = \"x\"\n"), Some(&expected));
    }

    #[test]
    fn a_file_that_is_no_json_is_left_alone() {
        assert!(added(McpClient::Zed, Some("// comment\n{}")).is_err());
    }
}
