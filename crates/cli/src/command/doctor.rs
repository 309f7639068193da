//! `drawloom doctor`: whether everything drawloom needs is there and in order.

use std::path::PathBuf;

use app::doctor::{DoctorFinding, FindingState, TerminalPresence, examine, examine_server};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Check the installation and this project, or a server
///
/// Every line that needs action says what to do. The exit code is 1 only if something is broken.
///
/// With `--url` a running server is checked as its clients reach it: the certificate, readiness, the
/// headers, the host and origin that arrive through proxies, the clock, and, with a token, whether
/// events arrive when they are sent.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom doctor
  drawloom doctor --json
  drawloom doctor --url https://drawloom.example.org --token-file token")]
pub(crate) struct DoctorArgs {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
    /// Check the server at this address instead
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The file with a token of that server, to read its events
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

impl DoctorArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let terminal = if output::has_person() {
            TerminalPresence::There
        } else {
            TerminalPresence::Absent
        };
        let findings = match &self.url {
            Some(url) => {
                let token = self.token(session)?;
                session.wait(examine_server(url, token.as_deref()))
            }
            None => session.wait(examine(&session.surroundings, terminal)),
        };
        let broken = findings
            .iter()
            .filter(|finding| finding.state == FindingState::Bad)
            .count();
        if self.json {
            let checks: Vec<Value> = findings.iter().map(as_json).collect();
            let version = env!("CARGO_PKG_VERSION");
            let ok = broken == 0;
            output::json(&json!({ "ok": ok, "version": version, "checks": checks }))?;
        } else {
            let lines: String = findings.iter().map(as_text).collect();
            output::styled(&lines)?;
            output::say(match broken {
                0 if self.url.is_some() => "The server is reached as it should be.".to_owned(),
                0 => format!("drawloom {} is ready.", env!("CARGO_PKG_VERSION")),
                1 => "1 thing is broken.".to_owned(),
                count => format!("{count} things are broken."),
            });
        }
        Ok(if broken == 0 {
            CliExit::Done
        } else {
            CliExit::Failed
        })
    }
}

impl DoctorArgs {
    fn token(&self, session: &CliSession) -> Result<Option<String>, CliError> {
        let Some(file) = &self.token_file else {
            return Ok(None);
        };
        let text = workspace::fs::read_text_or_pipe(&session.path(file))?;
        let token = text.map(|text| text.trim().to_owned());
        match token.filter(|token| !token.is_empty()) {
            Some(token) => Ok(Some(token)),
            None => {
                let message = format!("there is no token in {}", file.display());
                Err(CliError::failed("E_FILE", message))
            }
        }
    }
}

fn as_text(finding: &DoctorFinding) -> String {
    let (mark, style) = match finding.state {
        FindingState::Good => ("✓", AnsiColor::Green.on_default()),
        FindingState::Note => ("•", AnsiColor::Yellow.on_default()),
        FindingState::Bad => ("✗", AnsiColor::Red.on_default().bold()),
    };
    let dimmed = Style::new().dimmed();
    let fix = finding.fix.as_ref();
    let fix = fix
        .map(|fix| format!("  {dimmed}→{dimmed:#} {fix}\n"))
        .unwrap_or_default();
    format!(
        "{style}{mark}{style:#} {}: {}\n{fix}",
        finding.about, finding.detail
    )
}

fn as_json(finding: &DoctorFinding) -> Value {
    let state = match finding.state {
        FindingState::Good => "good",
        FindingState::Note => "note",
        FindingState::Bad => "bad",
    };
    json!({
        "check": finding.about,
        "state": state,
        "detail": finding.detail,
        "fix": finding.fix,
    })
}
