//! `drawloom doctor`: whether everything drawloom needs is there and in order.

use clap::Args;

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
    pub(crate) fn run(
        &self,
        _session: &crate::session::Session,
    ) -> Result<crate::exit::Exit, crate::exit::Trouble> {
        Ok(crate::exit::Exit::Done)
    }
}
