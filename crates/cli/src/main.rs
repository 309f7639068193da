//! The binary `drawloom`: the command line in, use cases called, output and exit code out.
//!
//! Nothing is decided here that another door would need: commands read their arguments, call `app`
//! or a product, and print what comes back.

mod agent_args;
mod agent_progress;
mod ai_args;
mod arguments;
mod ask_progress;
mod build_report;
mod build_run;
mod command;
mod diff;
mod error_report;
mod exit;
mod input;
mod interrupt;
mod log;
mod outcome;
mod output;
mod progress;
mod respondent;
mod retry_command;
mod session;
mod split;
mod table;
mod terminal_person;
mod trust_prompt;
mod use_cases;
mod values;

#[cfg(test)]
mod reference;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::ParsedLine;
use exit::CliExit;
use output::OutputFormat;

fn run(words: Vec<OsString>) -> Result<CliExit, exit::CliError> {
    match arguments::read(words)? {
        ParsedLine::Command(cli) => command::run(*cli),
        ParsedLine::Text(text) => output::styled(&text).map(|()| CliExit::Done),
    }
}

fn main() -> ExitCode {
    // Sandboxes are built by this program, started again: then this does not return.
    exec::sandbox::serve_stages();
    let words: Vec<OsString> = std::env::args_os().collect();
    let form = OutputFormat::from(words.iter().any(|word| word == "--json"));
    let ended = match run(words.clone()) {
        Err(trouble) => match trust_prompt::ask(&trouble, form) {
            // The decision is stored: the same command now finds it.
            Ok(trust_prompt::TrustAnswer::Trusted) => run(words),
            Ok(trust_prompt::TrustAnswer::NotAsked) => Err(trouble),
            Ok(trust_prompt::TrustAnswer::Refused) => {
                output::say("nothing was done");
                Ok(CliExit::Failed)
            }
            Err(other) => Err(other),
        },
        done => done,
    };
    match ended {
        _ if interrupt::was_interrupted() => {
            interrupt::show_cursor();
            if !interrupt::was_told() {
                output::say("interrupted");
            }
            CliExit::Interrupted.into()
        }
        Ok(exit) => exit.into(),
        Err(trouble) => {
            output::trouble(&trouble, form);
            trouble.exit.into()
        }
    }
}
