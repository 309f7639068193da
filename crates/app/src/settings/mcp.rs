//! `[mcp.servers.NAME]`: servers whose tools a model may call.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// The section whose sections are servers.
pub(super) const SERVERS: &str = "mcp.servers";

/// How `[mcp.servers]` is shown; commented out, because the names are the user's own.
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
    /// Variables it gets; a value such as `$NAME` stands for that variable's.
    pub env: BTreeMap<String, String>,
}

const KEYS: [&str; 3] = ["command", "args", "env"];

/// What is wrong with a server's section.
pub(super) enum Wrong {
    /// No such key; where it stands.
    Unknown(usize, String),
    /// A value that does not fit; where it stands.
    Value(usize, String),
    /// Something about the section as a whole.
    Whole(String),
}

/// The keys there are, for hints.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter()
}

/// Whether a name can stand before the names of tools.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

/// Providers limit the names of tools, of which this is the beginning.
pub(super) const NAME_BYTES_MAX: usize = 24;

pub(super) fn read(table: &DeTable<'_>) -> Result<McpServer, Wrong> {
    let mut server = McpServer::default();
    for (name, value) in table {
        let at = value.span().start;
        let value = value.get_ref();
        let expected = |what: &str| {
            let found = value.type_str();
            Wrong::Value(
                at,
                format!("`{}` must be {what}, not {found}", name.get_ref()),
            )
        };
        match name.get_ref().as_ref() {
            "command" => server.command = text(value).ok_or_else(|| expected("a string"))?,
            "args" => server.args = texts(value).ok_or_else(|| expected("a list of strings"))?,
            "env" => server.env = pairs(value).ok_or_else(|| expected("a table of strings"))?,
            "url" => return Err(Wrong::Whole(BY_URL.to_owned())),
            other => return Err(Wrong::Unknown(name.span().start, other.to_owned())),
        }
    }
    if server.command.is_empty() {
        return Err(Wrong::Whole("needs a `command`".to_owned()));
    }
    Ok(server)
}

const BY_URL: &str = "has a `url`, and only servers that are started here can be used: give a \
                      `command`, such as a bridge to that address";

fn text(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items
        .map(|item| item.get_ref().as_str().map(str::to_owned))
        .collect()
}

fn pairs(value: &DeValue<'_>) -> Option<BTreeMap<String, String>> {
    let items = value.as_table()?.iter();
    items
        .map(|(name, value)| {
            let value = value.get_ref().as_str()?;
            Some((name.get_ref().as_ref().to_owned(), value.to_owned()))
        })
        .collect()
}
