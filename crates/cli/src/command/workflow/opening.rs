//! What commands about runs share: which database, who answers, and values on the command line.

use std::path::Path;
use std::sync::Arc;

use app::Project;
use app::ai::Wish;
use app::people::Register;
use app::schedules::Calendar;
use app::workflows::Loom;
use clap::Args;
use serde_json::{Map, Value};

use crate::exit::Trouble;
use crate::session::Session;
use crate::{input, output};

/// Where runs are kept.
#[derive(Args, Debug, Default)]
pub(crate) struct Keeping {
    /// The database: sqlite:PATH or postgres://…; that of the project if left out
    #[arg(long, value_name = "URL", help_heading = "Keeping")]
    database: Option<String>,
}

impl Keeping {
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

    pub(crate) fn open(&self, session: &Session, wish: Wish) -> Result<Loom, Trouble> {
        let project = Arc::new(self.project(session)?);
        let database = self.database.as_deref();
        Ok(Loom::open(project, &session.surroundings, wish, database)?)
    }

    /// The project, with the agents of the database among those of its settings.
    pub(crate) fn project(&self, session: &Session) -> Result<Project, Trouble> {
        let mut project = session.project()?;
        self.warn_of_password();
        let database = self.database.as_deref();
        app::people::enlist(&mut project, &session.surroundings, database)?;
        Ok(project)
    }

    pub(crate) fn register(
        &self,
        session: &Session,
        project: &Project,
    ) -> Result<Register, Trouble> {
        let database = self.database.as_deref();
        Ok(Register::open(project, &session.surroundings, database)?)
    }

    pub(crate) fn calendar(
        &self,
        session: &Session,
        project: &Project,
    ) -> Result<Calendar, Trouble> {
        let database = self.database.as_deref();
        Ok(Calendar::open(project, &session.surroundings, database)?)
    }

    /// For looking and steering: nobody is asked anything.
    pub(crate) fn look(&self, session: &Session) -> Result<Loom, Trouble> {
        self.open(session, Wish::default())
    }
}

/// A value from `JSON`, `@FILE` or `-`, or from `name=value` words.
pub(crate) fn input_value(
    session: &Session,
    given: Option<&str>,
    words: &[String],
) -> Result<Option<Value>, Trouble> {
    let mut value = match given {
        Some(given) => Some(one_value(session, given)?),
        None => None,
    };
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            let message = format!("`{word}` is not NAME=VALUE");
            return Err(Trouble::usage(message).hint("write name=value, or give `--input JSON`"));
        };
        let fields = value.get_or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(fields) = fields else {
            let message = "values by name can be added to a JSON object only";
            return Err(Trouble::usage(message));
        };
        fields.insert(name.to_owned(), value_of(text));
    }
    Ok(value)
}

/// One value for each line of a file, or of stdin for `-`. All of them are read before one is used.
pub(crate) fn input_lines(session: &Session, file: &Path) -> Result<Vec<Value>, Trouble> {
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
            Trouble::failed("E_DATA", message)
                .hint("write one value on each line; no run was begun")
        })
    });
    values.collect()
}

/// The text of `@FILE`, of stdin for `-`, or as it is given; and what to call where it is from.
pub(crate) fn text_of(session: &Session, given: &str) -> Result<(String, String), Trouble> {
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

fn one_value(session: &Session, given: &str) -> Result<Value, Trouble> {
    let (text, origin) = text_of(session, given)?;
    serde_json::from_str(&text).map_err(|cause| {
        Trouble::failed(
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
