//! The binary `drawloom`: the command line in, use cases called, output and exit code out.
//!
//! Nothing is decided here that another door would need: commands read their arguments, call `app`
//! or a product, and print what comes back.

mod answering;
mod arguments;
mod asking_trust;
mod building;
mod command;
mod diff;
mod exit;
mod input;
mod interrupt;
mod live;
mod outcome;
mod output;
mod person;
mod progress;
mod report;
mod rerun;
mod respondent;
mod session;
mod sheet;
mod split;
mod table;
mod values;
mod watcher;
mod working;

#[cfg(test)]
mod reference;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::Reading;
use exit::Exit;
use output::Form;

fn run(words: Vec<OsString>) -> Result<Exit, exit::Trouble> {
    match arguments::read(words)? {
        Reading::Command(cli) => command::run(*cli),
        Reading::Text(text) => output::styled(&text).map(|()| Exit::Done),
    }
}

fn main() -> ExitCode {
    // Sandboxes are built by this program, started again: then this does not return.
    exec::sandbox::serve_stages();
    let words: Vec<OsString> = std::env::args_os().collect();
    let form = Form::from(words.iter().any(|word| word == "--json"));
    let ended = match run(words.clone()) {
        Err(trouble) => match asking_trust::ask(&trouble, form) {
            // What was decided is kept: the same command now finds it.
            Ok(asking_trust::Answer::Trusted) => run(words),
            Ok(asking_trust::Answer::NotAsked) => Err(trouble),
            Ok(asking_trust::Answer::Refused) => {
                output::say("nothing was done");
                Ok(Exit::Failed)
            }
            Err(other) => Err(other),
        },
        done => done,
    };
    match ended {
        _ if interrupt::was_interrupted() => {
            if !interrupt::was_told() {
                output::say("interrupted");
            }
            Exit::Interrupted.into()
        }
        Ok(exit) => exit.into(),
        Err(trouble) => {
            output::trouble(&trouble, form);
            trouble.exit.into()
        }
    }
}
