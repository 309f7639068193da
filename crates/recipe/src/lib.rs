//! Recipes: a manifest, values and answers in; files and commands out.
//!
//! [`run`] is the spine: manifest → inputs → rounds of pass 1 (a [`prompt::Questionnaire`]) → answers,
//! or [`RecipeRunOutcome::AnswersNeeded`] → pass 2 ([`Effect`]s) → conflicts → perform, or show. Deciding is a
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

mod command_listing;
mod context;
mod frontmatter;
mod inject;
mod regex;
pub mod structured;
mod variables;

mod effect;
mod evaluate;
mod file_finder;
mod loaded_recipe;
mod project;
mod scope;
mod step;
mod unknown_values;

mod conflict;
mod document;
mod generation_record;
mod host;
mod migrate;
mod perform;
mod report;
mod request;
mod resume;
mod rounds;
mod run;
mod run_journal;
mod scaffold;
mod session;
mod update;
mod validate;

pub use conflict::{FileConflict, OnConflict};
pub use document::options;
pub use effect::{CommandInvocation, CommandTree, Effect, FileStatus, FileWrite, StepCommand};
pub use error::{Diagnostic, Error, FileSpan, RecipeErrorKind, WrongAnswer};
pub use generation_record::RECORDS_DIR;
pub use host::{
    AskKind, ConflictDecision, RecipeEvent, RecipeHost, SilentHost, ValueCheck, VariablePrompt,
};
pub use load::{RECIPE_FILE, Recipe, RecipeOrigin, load};
pub use perform::{CommandReport, OwnRecipes, RecipeTrust};
pub use request::{
    AskMissing, ChangedQuestions, DryRunCommand, DryRunFile, DryRunPlan, FileReport, NeededAnswers,
    RecipeRunMode, RecipeRunOutcome, RecipeRunReport, RecipeRunRequest, UndefinedPolicy,
    WRITER_VARIABLE,
};
pub use resume::resume;
pub use run::run;
pub use run_journal::{
    CommandState, UndoReport, UnfinishedCommand, UnfinishedRun, undo, unfinished,
};
pub use scaffold::{ScaffoldFiles, scaffold, scaffold_from};
pub use step::{StepReport, StepStatus};
pub use update::{
    SettledConflict, UpdateOutcome, UpdateReport, UpdateStatus, UpdatedFile, has_generated, update,
};
pub use validate::validate;
pub use variables::GivenValues;
pub use yaml::{YamlEntry, read_entries};
