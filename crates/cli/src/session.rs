//! What commands share: where they run, how they print, and the project once they need it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use app::settings::Color;
use app::{Project, Surroundings};
use workspace::{RecoverOutcome, WriterRequest};

use crate::arguments::{ColorFlag, Global};
use crate::exit::Trouble;
use crate::outcome::Here;
use crate::output;
use crate::rerun::{self, Rerun};

pub(crate) struct Session {
    pub(crate) surroundings: Surroundings,
    color: Option<Color>,
    has_cwd: bool,
}

impl Session {
    pub(crate) fn start(global: &Global) -> Result<Self, Trouble> {
        let color = global.color.map(color_of);
        output::set_color(color.unwrap_or(Color::Auto));
        let mut surroundings = Surroundings::read(global.cwd.as_deref())?;
        surroundings.trusts_once = global.trust;
        Ok(Self {
            surroundings,
            color,
            has_cwd: global.cwd.is_some(),
        })
    }

    /// The project, with its settings in force; says what became of an interrupted apply.
    pub(crate) fn project(&self) -> Result<Project, Trouble> {
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

    /// The command that runs again with answers.
    pub(crate) fn rerun(&self, words: &[OsString]) -> Rerun {
        let folder = self.has_cwd.then_some(self.surroundings.cwd.as_path());
        let is_taken = |path: &str| workspace::fs::exists(&self.surroundings.path(Path::new(path)));
        rerun::rerun(words, folder, &is_taken)
    }

    /// How this process is named to others while it writes, and how long it waits for them.
    pub(crate) fn writer(&self, project: &Project, words: &[OsString]) -> WriterRequest {
        WriterRequest {
            command: rerun::shown(words),
            inside: self
                .surroundings
                .variables
                .get(recipe::WRITER_VARIABLE)
                .cloned(),
            wait_max: Duration::from_millis(project.settings.run.wait_ms_max),
        }
    }

    /// Colours as a second reading of the command line has them.
    pub(crate) fn use_color(&self, global: &Global) {
        if let Some(flag) = global.color {
            output::set_color(color_of(flag));
        }
    }

    /// Where the person is in the project.
    pub(crate) fn here(&self, project: &Project) -> Here {
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
        Here {
            down: down.unwrap_or_default(),
        }
    }

    /// A path as the person would type it where the command was started.
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

fn color_of(flag: ColorFlag) -> Color {
    match flag {
        ColorFlag::Auto => Color::Auto,
        ColorFlag::Always => Color::Always,
        ColorFlag::Never => Color::Never,
    }
}
