//! `drawloom doctor`: whether everything drawloom needs is there and in order.

use app::doctor::{DoctorFinding, FindingState, TerminalPresence, examine};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Check the installation and this project
///
/// Every line that needs action says what to do. The exit code is 1 only if something is broken.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom doctor
  drawloom doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let terminal = match output::has_person() {
            true => TerminalPresence::There,
            false => TerminalPresence::Absent,
        };
        let findings = session.wait(examine(&session.surroundings, terminal));
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
