//! `drawloom doctor`: whether everything drawloom needs is there and in order.

use app::doctor::{Finding, State, Terminal, examine};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// Check the installation and this project
///
/// Every line that needs you says what to do. The exit code is 1 only if something is broken.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom doctor
  drawloom doctor --json")]
pub(crate) struct Doctor {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let terminal = match output::has_person() {
            true => Terminal::There,
            false => Terminal::Absent,
        };
        let findings = examine(&session.surroundings, terminal);
        let broken = findings
            .iter()
            .filter(|finding| finding.state == State::Bad)
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
                0 => format!("drawloom {} is ready.", env!("CARGO_PKG_VERSION")),
                1 => "1 thing is broken.".to_owned(),
                count => format!("{count} things are broken."),
            });
        }
        Ok(if broken == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

fn as_text(finding: &Finding) -> String {
    let (mark, style) = match finding.state {
        State::Good => ("✓", AnsiColor::Green.on_default()),
        State::Note => ("•", AnsiColor::Yellow.on_default()),
        State::Bad => ("✗", AnsiColor::Red.on_default().bold()),
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

fn as_json(finding: &Finding) -> Value {
    let state = match finding.state {
        State::Good => "good",
        State::Note => "note",
        State::Bad => "bad",
    };
    json!({
        "check": finding.about,
        "state": state,
        "detail": finding.detail,
        "fix": finding.fix,
    })
}
