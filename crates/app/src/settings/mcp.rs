//! `[mcp.servers.NAME]`: servers whose tools a model may call.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::named::{SectionError, fields};

/// The section whose sections are servers.
pub(super) const SERVERS: &str = "mcp.servers";

/// Example of `[mcp.servers]`; commented out, because the names are the user's own.
pub(super) const EXAMPLE: &str = "
# MCP servers, whose tools a model may call as NAME__TOOL. They are programs that are started here and
# run outside the sandbox; a value such as \"$NAME\" is taken from that variable.
# [mcp.servers.docs]
# command = \"npx\"  # for example
# args = [\"-y\", \"@example/docs-mcp\"]  # for example
# env = { DOCS_TOKEN = \"$DOCS_TOKEN\" }  # for example
";

/// A server: a program that is started and talked to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServer {
    pub command: String,
    pub args: Vec<String>,
    /// Variables it gets; a value such as `$NAME` is read from that variable.
    pub env: BTreeMap<String, String>,
}

/// The keys there are, for hints.
pub(super) const KEYS: [&str; 3] = ["command", "args", "env"];

/// Returns true if the name can be a prefix of tool names.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

/// Providers limit the names of tools, of which this is the beginning.
pub(super) const NAME_BYTES_MAX: usize = 24;

pub(super) fn read(table: &DeTable<'_>) -> Result<McpServer, SectionError> {
    let mut server = McpServer::default();
    for field in fields(table) {
        let expected = |what: &str| {
            let (name, found) = (field.name(), field.kind());
            field.wrong(format!("`{name}` must be {what}, not {found}"))
        };
        match field.name() {
            "command" => {
                let text = field.text().map(str::trim).filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| expected("a string"))?;
                text.clone_into(&mut server.command);
            }
            "args" => server.args = field.texts().ok_or_else(|| expected("a list of strings"))?,
            "env" => {
                server.env = field
                    .pairs()
                    .ok_or_else(|| expected("a table of strings"))?
            }
            "url" => return Err(SectionError::Whole(BY_URL.to_owned())),
            _ => return Err(field.unknown()),
        }
    }
    if server.command.is_empty() {
        return Err(SectionError::Whole("needs a `command`".to_owned()));
    }
    Ok(server)
}

const BY_URL: &str = "has a `url`, and only servers that are started here can be used: give a \
                      `command`, such as a bridge to that address";
