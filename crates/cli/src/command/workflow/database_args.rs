//! Shared arguments of the commands about runs: the database, who answers, and values on the
//! command line.

use std::path::Path;
use std::sync::Arc;

use app::ai::AiOverrides;
use app::people::ProjectUsers;
use app::schedules::ProjectSchedules;
use app::{App, Project};
use clap::Args;
use serde_json::{Map, Value};

use crate::exit::CliError;
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;
use crate::{input, output};

/// The database of runs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DatabaseArgs {
    /// The database: sqlite:PATH or postgres://…; the project's by default
    #[arg(long, value_name = "URL", help_heading = "Storage")]
    database: Option<String>,
}

impl DatabaseArgs {
    /// The database that the command line names.
    pub(crate) fn url(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The session, in which everything uses the database that the command line names.
    pub(crate) fn session(&self, session: &CliSession) -> CliSession {
        self.warn_of_password();
        let mut session = session.clone();
        session.surroundings.database = self.database.clone();
        session
    }

    /// Says that a password on the command line can be seen by every user of the machine.
    fn warn_of_password(&self) {
        let address = self
            .database
            .as_deref()
            .and_then(|url| url.split_once("://"));
        let before = address.and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        if before.is_some_and(|(user, _)| user.contains(':')) {
            output::say(
                "note: other users of this machine can see a password in `--database`; \
                 set DRAWLOOM_DATABASE_URL instead",
            );
        }
    }

    pub(crate) fn open(
        &self,
        session: &CliSession,
        wish: AiOverrides,
    ) -> Result<TerminalUseCases, CliError> {
        self.open_project(session, session.project()?, wish)
    }

    /// Opens the application for a project that is open already.
    pub(crate) fn open_project(
        &self,
        session: &CliSession,
        project: Project,
        wish: AiOverrides,
    ) -> Result<TerminalUseCases, CliError> {
        let project = Arc::new(self.enlisted(session, project)?);
        let database = self.database.as_deref();
        let opening = App::open(project, &session.surroundings, wish, database);
        let app = session.wait(opening)?;
        let terminal = app.terminal();
        Ok(TerminalUseCases::new(
            app.acting(terminal),
            session.runtime(),
        ))
    }

    /// Opens the application in the current runtime.
    pub(crate) async fn open_app(
        &self,
        session: &CliSession,
        project: Project,
        wish: AiOverrides,
    ) -> Result<App, CliError> {
        let database = self.database.as_deref();
        let opening = App::open(Arc::new(project), &session.surroundings, wish, database);
        Ok(opening.await?)
    }

    /// Opens the project, with the agents of the database among those of its settings.
    pub(crate) fn project(&self, session: &CliSession) -> Result<Project, CliError> {
        self.enlisted(session, session.project()?)
    }

    /// True if there is a database: a file, or one that is named.
    pub(crate) fn is_there(&self, session: &CliSession, project: &Project) -> bool {
        app::workflows::has_database(project, &session.surroundings, self.url())
    }

    fn enlisted(&self, session: &CliSession, mut project: Project) -> Result<Project, CliError> {
        self.warn_of_password();
        let database = self.database.as_deref();
        session.wait(app::people::enlist(
            &mut project,
            &session.surroundings,
            database,
        ))?;
        Ok(project)
    }

    pub(crate) fn register(
        &self,
        session: &CliSession,
        project: &Project,
    ) -> Result<ProjectUsers, CliError> {
        let database = self.database.as_deref();
        let opening = ProjectUsers::open(project, &session.surroundings, database);
        Ok(session.wait(opening)?)
    }

    pub(crate) fn calendar(
        &self,
        session: &CliSession,
        project: &Project,
    ) -> Result<ProjectSchedules, CliError> {
        let database = self.database.as_deref();
        let opening = ProjectSchedules::open(project, &session.surroundings, database);
        Ok(session.wait(opening)?)
    }

    /// Opens the database to read and to steer runs: it never asks a question.
    pub(crate) fn look(&self, session: &CliSession) -> Result<TerminalUseCases, CliError> {
        self.open(session, AiOverrides::default())
    }
}

/// Reads a value from `JSON`, `@FILE` or `-`, or from `name=value` words.
pub(crate) fn input_value(
    session: &CliSession,
    given: Option<&str>,
    words: &[String],
) -> Result<Option<Value>, CliError> {
    let words = value_words(words)?.into_iter();
    let values = words.map(|(name, text)| (name.to_owned(), value_of(text)));
    input_of(session, given, values.collect())
}

/// Splits `name=value` words.
pub(crate) fn value_words(words: &[String]) -> Result<Vec<(&str, &str)>, CliError> {
    let split = words.iter().map(|word| {
        word.split_once('=').ok_or_else(|| {
            let message = format!("`{word}` is not NAME=VALUE");
            CliError::usage(message).hint("write name=value, or give `--input JSON`")
        })
    });
    split.collect()
}

/// Reads a value from `JSON`, `@FILE` or `-`, and adds values by name to it.
pub(crate) fn input_of(
    session: &CliSession,
    given: Option<&str>,
    values: Vec<(String, Value)>,
) -> Result<Option<Value>, CliError> {
    let mut whole = match given {
        Some(given) => Some(one_value(session, given)?),
        None => None,
    };
    for (name, value) in values {
        let fields = whole.get_or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(fields) = fields else {
            let message = "values by name can be added to a JSON object only";
            return Err(CliError::usage(message));
        };
        fields.insert(name, value);
    }
    Ok(whole)
}

/// Reads one value from each line of a file, or of stdin for `-`. All of them are read before one
/// is used.
pub(crate) fn input_lines(session: &CliSession, file: &Path) -> Result<Vec<Value>, CliError> {
    let given = match file.to_str() {
        Some("-") => "-".to_owned(),
        _ => format!("@{}", file.display()),
    };
    let (text, place) = text_of(session, &given)?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let values = lines.map(|(at, line)| {
        serde_json::from_str(line).map_err(|cause| {
            let message = format!("{place}:{}: this is not one JSON value: {cause}", at + 1);
            CliError::failed("E_DATA", message)
                .hint("write one value on each line; no run was started")
        })
    });
    values.collect()
}

/// Reads the text of `@FILE`, of stdin for `-`, or as given; also returns a name for its source.
pub(crate) fn text_of(session: &CliSession, given: &str) -> Result<(String, String), CliError> {
    Ok(match given.strip_prefix('@') {
        Some(file) => {
            let text = input::file_text(session, Path::new(file))?;
            (text, file.to_owned())
        }
        None if given == "-" => {
            let text = input::file_text(session, Path::new("-"))?;
            (text, "stdin".to_owned())
        }
        None => (given.to_owned(), "the command line".to_owned()),
    })
}

fn one_value(session: &CliSession, given: &str) -> Result<Value, CliError> {
    let (text, origin) = text_of(session, given)?;
    serde_json::from_str(&text).map_err(|cause| {
        CliError::failed(
            "E_DATA",
            format!("the value from {origin} is not JSON: {cause}"),
        )
        .hint("write {\"name\": 1}, @FILE, - for stdin, or name=value")
    })
}

/// JSON where it is some, else the text.
pub(crate) fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
