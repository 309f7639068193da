//! The MCP servers of the settings: connected to, as programs or by their address.
//!
//! A program is started outside the sandbox; an address is reached under the rules of `outbound`. Either is an
//! act of the project, and callers ask for trust first.

use std::collections::HashMap;
use std::time::Duration;

use agent::mcp::{McpConnection, McpLimits, ServerAddress, ServerSettings};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use crate::outbound::{self, AddressRule};
use crate::settings::{McpServer, references};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// Connects to a server, and asks for its tools.
pub(crate) async fn connect(
    project: &Project,
    surroundings: &ProcessEnvironment,
    (name, server): (&str, &McpServer),
) -> Result<McpConnection, Error> {
    let variables = |key| ServerVariables {
        name,
        key,
        surroundings,
    };
    match server {
        McpServer::Program { command, args, env } => {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut settings = ServerSettings::new(command, &args);
            for (variable, value) in env {
                let value = variables("env").whole(value)?;
                settings.env.push((variable.clone(), value));
            }
            Ok(McpConnection::start(name, &settings, project.folder()).await?)
        }
        McpServer::Address { url, headers } => {
            let address = address(project, &variables("headers"), (url, headers))?;
            Ok(McpConnection::connect(name, &address).await?)
        }
    }
}

fn address(
    project: &Project,
    variables: &ServerVariables<'_>,
    (url, headers): (&str, &std::collections::BTreeMap<String, String>),
) -> Result<ServerAddress, Error> {
    let name = variables.name;
    let broken = |cause: String| {
        let message = format!("the MCP server `{name}`: {cause}");
        Error::new(AppErrorCode::Settings, message)
            .hint(format!("check `mcp.servers.{name}` in drawloom.toml"))
    };
    let parsed = Url::parse(url).map_err(|cause| broken(format!("`url` is no URL: {cause}")))?;
    let limits = McpLimits::default();
    let rule = AddressRule::read(&project.settings.workflows.http_allow).map_err(&broken)?;
    let patience = Duration::from_secs(limits.call_seconds_max);
    let client = outbound::prepare(&parsed, &rule, patience).map_err(&broken)?;
    let mut filled = HashMap::new();
    for (header, value) in headers {
        let value = variables.filled(value)?;
        let key = HeaderName::try_from(header.as_str());
        let key = key.map_err(|_| broken(format!("`{header}` cannot be the name of a header")))?;
        let value = HeaderValue::try_from(value).map(|mut value| {
            value.set_sensitive(true);
            value
        });
        let cannot = format!("the header `{header}` has a line break or a control character");
        filled.insert(key, value.map_err(|_| broken(cannot))?);
    }
    Ok(ServerAddress {
        url: url.to_owned(),
        headers: filled,
        client,
        limits,
    })
}

/// The variables that the settings of a server name.
struct ServerVariables<'s> {
    name: &'s str,
    /// The key of the section that names them.
    key: &'static str,
    surroundings: &'s ProcessEnvironment,
}

impl ServerVariables<'_> {
    /// Returns a value, or that of the variable it names.
    fn whole(&self, value: &str) -> Result<String, Error> {
        match value.strip_prefix('$') {
            Some(name) => self.variable(name),
            None => Ok(value.to_owned()),
        }
    }

    /// Returns a text with the values of the variables that it names.
    fn filled(&self, text: &str) -> Result<String, Error> {
        let mut filled = String::new();
        let mut rest = text;
        for name in references(text) {
            let (before, after) = rest.split_once(&format!("${name}")).unwrap_or((rest, ""));
            filled.push_str(before);
            filled.push_str(&self.variable(name)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn variable(&self, name: &str) -> Result<String, Error> {
        let (server, key) = (self.name, self.key);
        self.surroundings.variable(name).ok_or_else(|| {
            let message =
                format!("the MCP server `{server}` needs the variable {name}, which is not set");
            Error::new(AppErrorCode::Settings, message)
                .hint(format!("set it, or change `mcp.servers.{server}.{key}`"))
        })
    }
}
