//! State shared by all commands: the working folder, the output settings, and the project once they
//! need it.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use app::settings::ColorSetting;
use app::{ProcessEnvironment, Project};
use tokio::runtime::Runtime;
use workspace::{RecoverOutcome, WriterRequest};

use crate::arguments::{ColorFlag, GlobalArgs};
use crate::exit::CliError;
use crate::outcome::CurrentFolder;
use crate::output;
use crate::retry_command::{self, RetryCommand};

#[derive(Clone)]
pub(crate) struct CliSession {
    pub(crate) surroundings: ProcessEnvironment,
    /// The one runtime of the process: one thread drives it, files and commands have their own.
    runtime: Rc<Runtime>,
    color: Option<ColorSetting>,
    has_cwd: bool,
}

impl CliSession {
    pub(crate) fn start(global: &GlobalArgs) -> Result<Self, CliError> {
        let color = global.color.map(color_of);
        output::set_color(color.unwrap_or(ColorSetting::Auto));
        let mut surroundings = ProcessEnvironment::read(global.cwd.as_deref())?;
        surroundings.trusts_once = global.trust;
        Ok(Self {
            runtime: Rc::new(runtime()?),
            surroundings,
            color,
            has_cwd: global.cwd.is_some(),
        })
    }

    /// Returns the session with the global options of a second reading of the command line.
    pub(crate) fn with_globals(&self, global: &GlobalArgs) -> Self {
        self.use_color(global);
        let mut surroundings = self.surroundings.clone();
        surroundings.trusts_once |= global.trust;
        Self {
            surroundings,
            runtime: Rc::clone(&self.runtime),
            color: global.color.map(color_of).or(self.color),
            has_cwd: self.has_cwd,
        }
    }

    /// Waits for a use case to end.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn runtime(&self) -> Rc<Runtime> {
        Rc::clone(&self.runtime)
    }

    /// Opens the project with its settings in force, and reports the recovery of an interrupted
    /// apply.
    pub(crate) fn project(&self) -> Result<Project, CliError> {
        let project = Project::open(&self.surroundings)?;
        output::set_color(self.color.unwrap_or(project.settings.output.color));
        for refused in &project.passed_over {
            output::say(format!("note: {refused}; {}", refused.fix()));
        }
        if let Some(recovered) = &project.recovered {
            output::say(match recovered.outcome {
                RecoverOutcome::Finished => "note: an interrupted run has been completed first",
                RecoverOutcome::Undone => "note: an interrupted run has been undone first",
            });
            for path in &recovered.kept {
                output::say(format!(
                    "note: {path} was changed since then and is left as it is"
                ));
            }
        }
        Ok(project)
    }

    /// Returns the command that runs again with answers.
    pub(crate) fn rerun(&self, words: &[OsString]) -> RetryCommand {
        let folder = self.has_cwd.then_some(self.surroundings.cwd.as_path());
        let is_taken = |path: &str| workspace::fs::exists(&self.surroundings.path(Path::new(path)));
        retry_command::rerun(words, folder, &is_taken)
    }

    /// Names this process to others while it writes, and sets how long it waits for them.
    pub(crate) fn writer(&self, project: &Project, words: &[OsString]) -> WriterRequest {
        WriterRequest {
            command: retry_command::shown(words),
            inside: self
                .surroundings
                .variables
                .get(recipe::WRITER_VARIABLE)
                .cloned(),
            wait_max: Duration::from_millis(project.settings.run.wait_ms_max),
        }
    }

    /// Colours as a second reading of the command line has them.
    pub(crate) fn use_color(&self, global: &GlobalArgs) {
        if let Some(flag) = global.color {
            output::set_color(color_of(flag));
        }
    }

    /// Returns the current folder within the project.
    pub(crate) fn here(&self, project: &Project) -> CurrentFolder {
        let cwd = workspace::fs::canonical(&self.surroundings.cwd).ok();
        let down = cwd
            .as_deref()
            .filter(|_| !self.has_cwd)
            .and_then(|cwd| cwd.strip_prefix(project.folder()).ok())
            .map(|down| {
                down.iter()
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect()
            });
        CurrentFolder {
            down: down.unwrap_or_default(),
        }
    }

    /// Returns a path as the person would type it where the command was started.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let here = workspace::fs::canonical(&self.surroundings.cwd).ok();
        let inside = here
            .as_deref()
            .and_then(|here| path.strip_prefix(here).ok());
        let shown = inside.filter(|_| !self.has_cwd).unwrap_or(path);
        shown.display().to_string()
    }

    pub(crate) fn path(&self, given: &Path) -> PathBuf {
        self.surroundings.path(given)
    }
}

fn runtime() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.map_err(|cause| {
        CliError::failed(
            "E_COMMAND",
            format!("the command cannot be set up: {cause}"),
        )
        .hint("close other programs: the system is out of handles")
    })
}

fn color_of(flag: ColorFlag) -> ColorSetting {
    match flag {
        ColorFlag::Auto => ColorSetting::Auto,
        ColorFlag::Always => ColorSetting::Always,
        ColorFlag::Never => ColorSetting::Never,
    }
}
