//! `[mcp]`: the tools that programs get through MCP; `[mcp.servers.NAME]`: servers whose tools a model may call.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::keys::{SettingKey, SettingValueKind};
use super::named::{SectionError, fields};

/// The sets of tools of `drawloom mcp` and of `/mcp`.
pub const TOOL_SETS: [&str; 5] = ["generate", "runs", "author", "build", "look"];
/// The sets that are on when nothing else is said.
pub const TOOL_SETS_DEFAULT: [&str; 2] = ["generate", "runs"];

pub(super) const KEYS: &[SettingKey] = &[SettingKey {
    section: "mcp",
    name: "tools",
    kind: SettingValueKind::Choices(&TOOL_SETS, |settings, words| settings.mcp_tools = words),
    about: &[
        "The sets of tools of `drawloom mcp` and of /mcp in `drawloom serve`: \"generate\", \"runs\",",
        "\"author\", \"build\", \"look\". An empty list switches /mcp off.",
    ],
    default: r#"["generate", "runs"]"#,
}];

/// The section whose sections are servers.
pub(super) const SERVERS: &str = "mcp.servers";

/// Example of `[mcp.servers]`; commented out, because the names are the user's own.
pub(super) const EXAMPLE: &str = "
# MCP servers, whose tools a model may call as NAME__TOOL, and steps with the handler `mcp`. They are programs
# that are started here and run outside the sandbox, or addresses; $NAME is the value of that variable.
# [mcp.servers.docs]
# command = \"npx\"  # for example
# args = [\"-y\", \"@example/docs-mcp\"]  # for example
# env = { DOCS_TOKEN = \"$DOCS_TOKEN\" }  # for example
# [mcp.servers.search]
# url = \"https://search.example.org/mcp\"  # for example
# headers = { Authorization = \"Bearer $SEARCH_TOKEN\" }  # for example
";

/// A server whose tools are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServer {
    /// A program that is started and talked to.
    Program {
        command: String,
        args: Vec<String>,
        /// Variables it gets; a value such as `$NAME` is read from that variable.
        env: BTreeMap<String, String>,
    },
    /// A server that is reached over HTTP.
    Address {
        url: String,
        /// Headers of every request; `$NAME` in a value is read from that variable.
        headers: BTreeMap<String, String>,
    },
}

/// Returns the names of the variables that a text names as `$NAME`, in its order.
pub(crate) fn references(text: &str) -> Vec<&str> {
    let after = text.split('$').skip(1);
    let names = after.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    });
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    names.filter(is_name).collect()
}

/// The keys there are, for hints.
pub(super) const SERVER_KEYS: [&str; 5] = ["command", "args", "env", "url", "headers"];
/// Headers that the protocol itself sets.
const OWN_HEADERS: [&str; 7] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "transfer-encoding",
];
/// The beginning of headers that are the protocol's.
const OWN_PREFIX: &str = "mcp-";

/// Returns true if the name can be a prefix of tool names.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

/// Providers limit the names of tools, of which this is the beginning.
pub(super) const NAME_BYTES_MAX: usize = 24;

/// Everything that a section can say.
#[derive(Default)]
struct GivenServer {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
}

pub(super) fn read(table: &DeTable<'_>) -> Result<McpServer, SectionError> {
    let mut given = GivenServer::default();
    for field in fields(table) {
        let expected = |what: &str| {
            let (name, found) = (field.name(), field.kind());
            field.wrong(format!("`{name}` must be {what}, not {found}"))
        };
        let text = || {
            let text = field.text().map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| expected("a string"))
        };
        let pairs = || field.pairs().ok_or_else(|| expected("a table of strings"));
        match field.name() {
            "command" => given.command = Some(text()?),
            "args" => {
                let listed = field.texts().ok_or_else(|| expected("a list of strings"))?;
                given.args = Some(listed);
            }
            "env" => given.env = Some(pairs()?),
            "url" => {
                let url = text()?;
                check_url(&url).map_err(|problem| field.wrong(problem))?;
                given.url = Some(url);
            }
            "headers" => {
                let headers = pairs()?;
                let wrong = headers.keys().find_map(|name| header_problem(name));
                if let Some(problem) = wrong {
                    return Err(field.wrong(problem));
                }
                given.headers = Some(headers);
            }
            _ => return Err(field.unknown()),
        }
    }
    given.server()
}

impl GivenServer {
    fn server(self) -> Result<McpServer, SectionError> {
        let whole = |problem: &str| Err(SectionError::Whole(problem.to_owned()));
        match self {
            GivenServer {
                command: Some(command),
                args,
                env,
                url: None,
                headers: None,
            } => Ok(McpServer::Program {
                command,
                args: args.unwrap_or_default(),
                env: env.unwrap_or_default(),
            }),
            GivenServer {
                command: None,
                args: None,
                env: None,
                url: Some(url),
                headers,
            } => Ok(McpServer::Address {
                url,
                headers: headers.unwrap_or_default(),
            }),
            GivenServer {
                command: None,
                url: None,
                ..
            } => whole("needs a `command` or a `url`"),
            _ => whole(
                "mixes a program and an address: give `command`, `args` and `env`, or `url` and `headers`",
            ),
        }
    }
}

fn check_url(url: &str) -> Result<(), String> {
    let parsed = reqwest::Url::parse(url).map_err(|cause| format!("`url` is no URL: {cause}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err("`url` must begin with https:// or http://".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("`url` must not have a password: send it in `headers`, as $NAME".to_owned());
    }
    Ok(())
}

fn header_problem(name: &str) -> Option<String> {
    let small = name.to_ascii_lowercase();
    if reqwest::header::HeaderName::try_from(small.as_str()).is_err() {
        return Some(format!("`{name}` cannot be the name of a header"));
    }
    let is_own = OWN_HEADERS.contains(&small.as_str()) || small.starts_with(OWN_PREFIX);
    is_own.then(|| format!("the protocol sets the header `{name}` itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_texts() {
        for (text, names) in [
            ("Bearer $TOKEN", &["TOKEN"][..]),
            ("$A$B_2-$c", &["A", "B_2", "c"]),
            ("costs $5 or $", &[]),
            ("plain", &[]),
        ] {
            assert_eq!(references(text), names, "{text}");
        }
    }
}
