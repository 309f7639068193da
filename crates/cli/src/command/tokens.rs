//! `drawloom tokens`: what programs show instead of signing in.

use std::time::Duration;

use app::TokenRequest;
use app::people::{Slug, UserRole};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::{AccessToken, TokenId};

use super::runs::when;
use super::workflow::DatabaseArgs;
use crate::agent_progress::shown;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{output, table};

/// Manage tokens for programs that use the API of `drawloom serve`
///
/// A token belongs to a user and gives a program that user's permissions, or fewer.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    Add(TokensAddArgs),
    List(TokensListArgs),
    Revoke(TokensRevokeArgs),
}

/// Create a token, and print its secret once
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tokens add ci --user ada --role operator
  drawloom tokens add dashboard --user ada --role viewer --expires 365d --scope runs.read")]
pub(crate) struct TokensAddArgs {
    /// Its purpose
    name: String,
    /// Its owner
    #[arg(long)]
    user: Slug,
    /// Its highest role: admin, operator, reviewer or viewer
    #[arg(long, default_value = "viewer")]
    role: UserRole,
    /// Time until it expires, such as 90d or 12h
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = life)]
    expires: Duration,
    /// Limit it to this scope, such as `runs` or `tasks.read`; may be repeated
    #[arg(long, value_name = "WORD")]
    scope: Vec<String>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// List tokens, newest first, revoked ones included
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tokens list
  drawloom tokens list --user ada --json")]
pub(crate) struct TokensListArgs {
    /// Only tokens of this user
    #[arg(long)]
    user: Option<Slug>,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Revoke a token permanently
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tokens revoke 3")]
pub(crate) struct TokensRevokeArgs {
    /// Its number, as `drawloom tokens list` shows it
    #[arg(value_parser = token_number)]
    id: i64,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

fn token_number(text: &str) -> Result<i64, String> {
    let number = text.parse();
    number.map_err(|_| "write the number that `drawloom tokens list` shows".to_owned())
}

impl TokensCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Revoke(revoke) => revoke.run(session),
        }
    }
}

impl TokensAddArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let wish = TokenRequest {
            user: self.user.clone(),
            name: self.name.clone(),
            role: self.role,
            scopes: self.scope.clone(),
            life: Some(self.expires),
        };
        let (token, secret) = use_cases.wait(use_cases.add_token(&wish))?;
        if self.json {
            let mut added = document(&token);
            added["secret"] = json!(secret.reveal());
            output::json(&added)?;
            return Ok(CliExit::Done);
        }
        output::say(format!(
            "token {} of {}, until {}; it is shown this once:",
            token.id,
            token.user,
            token
                .expires_ms
                .map_or_else(|| "it is revoked".to_owned(), when)
        ));
        output::data(format!("{}\n", secret.reveal()).as_bytes())?;
        Ok(CliExit::Done)
    }
}

impl TokensListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let tokens = use_cases.wait(use_cases.tokens(self.user.as_ref()))?;
        if self.json {
            let tokens: Vec<Value> = tokens.iter().map(document).collect();
            output::json(&json!({ "tokens": tokens }))?;
            return Ok(CliExit::Done);
        }
        if tokens.is_empty() {
            output::say("There are no tokens here; `drawloom tokens add` makes one.");
        }
        let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
        output::styled(&table::render(&rows))?;
        Ok(CliExit::Done)
    }
}

impl TokensRevokeArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let token = use_cases.wait(use_cases.revoke_token(TokenId(self.id)))?;
        match self.json {
            true => output::json(&document(&token))?,
            false => output::say(format!("revoked the token {}", token.id)),
        }
        Ok(CliExit::Done)
    }
}

fn row(token: &AccessToken) -> Vec<String> {
    let standing = match (token.revoked_ms, token.expires_ms) {
        (Some(at), _) => format!("revoked {}", when(at)),
        (None, Some(at)) => format!("until {}", when(at)),
        (None, None) => "does not end".to_owned(),
    };
    vec![
        token.id.to_string(),
        token.user.to_string(),
        token.role.as_str().to_owned(),
        standing,
        token.used_ms.map_or_else(
            || "never used".to_owned(),
            |at| format!("used {}", when(at)),
        ),
        shown(&token.name),
        token.scopes.join(" "),
    ]
}

fn document(token: &AccessToken) -> Value {
    json!({
        "id": token.id.0,
        "user": token.user.as_str(),
        "name": token.name,
        "role": token.role.as_str(),
        "scopes": token.scopes,
        "createdMs": token.created_ms,
        "expiresMs": token.expires_ms,
        "usedMs": token.used_ms,
        "revokedMs": token.revoked_ms,
    })
}

fn life(text: &str) -> Result<Duration, String> {
    let read = flow::TimeSpan::read(text).filter(|span| span.ms > 0);
    read.map(|span| Duration::from_millis(span.ms))
        .ok_or_else(|| "write a time such as 90d or 12h".to_owned())
}
