//! Recipes: a manifest, values and answers in; files and commands out.
//!
//! [`run`] is the spine: manifest → inputs → rounds of pass 1 (a [`prompt::Questionnaire`]) → answers,
//! or [`Outcome::AnswersNeeded`] → pass 2 ([`Effect`]s) → conflicts → perform, or show. Deciding is a
//! walk over the steps against the project *as it will be*; nothing is written, run or asked for
//! while it goes on. Performing then applies all files at once and runs the commands.
//!
//! Not here: the command line, the terminal, fetching kits, and who answers questions. The formats
//! are described in `docs/recipes.md`.

mod error;
mod fields;
pub mod kits;
mod load;
pub mod manifest;
mod yaml;

mod acts;
mod context;
mod frontmatter;
mod inject;
mod regex;
pub mod structured;
mod variables;

mod effect;
mod evaluate;
mod loader;
mod project;
mod scope;
mod step;
mod unit;
mod unknown;

mod conflict;
mod document;
mod host;
mod migrate;
mod perform;
mod record;
mod report;
mod request;
mod resume;
mod rounds;
mod run;
mod scaffold;
mod session;
mod unfinished;
mod update;
mod validate;

pub mod hygen;

pub use conflict::{Conflict, OnConflict};
pub use document::options;
pub use effect::{Command, Effect, FileStatus, Run, What, Write};
pub use error::{Diagnostic, Error, Kind, Place, WrongAnswer};
pub use host::{Ask, AskKind, Decision, Event, Host, Nobody};
pub use load::{Origin, RECIPE_FILE, Recipe, load};
pub use perform::{CommandReport, OwnRecipes, Trust};
pub use record::RECORDS_DIR;
pub use request::{
    AskMissing, ChangedQuestions, FileReport, Mode, Needed, Outcome, Plan, PlannedCommand,
    PlannedFile, Report, Request, Strictness, WRITER_VARIABLE,
};
pub use resume::resume;
pub use run::run;
pub use scaffold::{Scaffold, scaffold, scaffold_from};
pub use step::{StepReport, StepStatus};
pub use unfinished::{
    CommandState, UNFINISHED_DIR, UndoReport, Unfinished, UnfinishedCommand, undo, unfinished,
};
pub use update::{UpdateOutcome, UpdateReport, UpdateStatus, UpdatedFile, update};
pub use validate::validate;
pub use variables::Given;
