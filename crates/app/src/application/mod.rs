//! The application behind every door: the command line, the server, its pages and MCP.
//!
//! [`App`] is opened once in a process. [`App::acting`] gives the use cases of an actor
//! ([`UseCases`]): every method is `async`, asks the table of [`access`] first, and returns plain data.

pub mod access;
mod added_tasks;
mod all_runs;
mod backups;
mod building;
mod bulk;
mod calendar;
mod callbacks;
mod costs;
mod external;
mod finding;
mod health;
mod inbox;
mod moving;
mod named_texts;
pub mod passwords;
mod people;
mod ports;
mod recipe_answers;
mod recipe_runs;
mod recipe_updates;
mod run_view;
mod runs;
pub mod sign_in;
mod tasks;
mod texts;
mod webhooks;
mod work;

use std::sync::{Arc, OnceLock};

use flow::WorkflowStore;
use store::{
    Outbox, PostgresDatabase, RunQueries, ScheduleStore, TokenStore, UserStore, ViewStore,
};

use self::access::Actor;
use self::sign_in::AccessControl;
use crate::ai::{AiOverrides, CallPurpose, model};
use crate::executors::{ExecutorContext, UnreportedSpend};
use crate::people::ProjectUsers;
use crate::schedules::ProjectSchedules;
use crate::tasks::TaskWatch;
use crate::workflows::database::ProjectDatabase;
use crate::{Error, ProcessEnvironment, Project};

pub use added_tasks::{AddTaskRequest, AddedTask, TaskActivity, TaskEdit, TaskStory};
pub use all_runs::{ListedKind, ListedRun, RUNS_COUNTED_MAX, RunListPage, RunListRequest};
pub use backups::{RestoreReport, restore_database};
pub use bulk::{BULK_RUNS_MAX, BulkAct, BulkReport, BulkRequest};
pub use bulk::{RerunRequest, RerunText, TaskBulkAct, TaskBulkRequest};
pub use calendar::ScheduleRequest;
pub use callbacks::CallbackSignature;
pub use costs::{COST_DAYS_MAX, COST_PAGE_MAX, CostLine, CostReport, CostRequest};
pub use finding::{ResultKind, SEARCH_PAGE_MAX, SearchRequest, SearchResult, SearchResults};
pub use health::AppHealth;
pub use inbox::{INBOX_COUNT_MAX, INBOX_PAGE_MAX, InboxGroup, InboxPage, InboxRequest};
pub use inbox::{InboxScope, InboxTask};
pub use named_texts::{FileState, NamedWorkflow, TextMove};
pub use people::TokenRequest;
pub use ports::ServerPorts;
pub use recipe_answers::ProposedAnswers;
pub use recipe_runs::{RecipeOutcome, RecipePass, RecipeRunInput, TemplatePreview};
pub use recipe_updates::{RecipeUpdateInput, RecipeUpdateOutcome};
pub use run_view::{DecisionView, ITEMS_PAGE_MAX, ItemView, ItemsPage, ItemsRequest};
pub use run_view::{RunView, StepView};
pub use runs::RunRequest;
pub use texts::{TextSave, VERSIONS_MAX};
pub use webhooks::{NewWebhook, WebhookChange};

/// A project with its settings and its database, opened. Clones share everything.
#[derive(Clone)]
pub struct App {
    shared: Arc<AppState>,
}

/// Everything that clones of an [`App`] share.
struct AppState {
    store: Arc<dyn WorkflowStore>,
    database: ProjectDatabase,
    queries: Arc<dyn RunQueries>,
    outbox: Arc<dyn Outbox>,
    schedules: Arc<dyn ScheduleStore>,
    /// The server, where the database is on one.
    server: Option<PostgresDatabase>,
    hands: Arc<ExecutorContext>,
    /// Held while the text of a workflow is compared and written.
    saving: tokio::sync::Mutex<()>,
}

impl App {
    /// Opens the database: the one given, that of DRAWLOOM_DATABASE_URL or of the settings, or the
    /// project's own. The runtime that this is called in does the writing.
    pub async fn open(
        project: Arc<Project>,
        surroundings: &ProcessEnvironment,
        wish: AiOverrides,
        database: Option<&str>,
    ) -> Result<App, Error> {
        let source =
            model::ModelResolver::open(&project, surroundings, &wish, CallPurpose::Answer)?;
        let database_named = database.map(str::to_owned);
        let opening = ProjectDatabase::open(&project, surroundings, database, source.secrets());
        let database = opening.await?;
        let store = database.workflows().await?;
        let hands = ExecutorContext {
            project,
            surroundings: ProcessEnvironment {
                database: database_named.or_else(|| surroundings.database.clone()),
                ..surroundings.clone()
            },
            wish,
            store: Arc::clone(&store),
            till: UnreportedSpend::default(),
            people: database.people(),
            keys: database.keys(),
            callback_origin: OnceLock::new(),
            task_watch: OnceLock::new(),
        };
        let state = AppState {
            queries: database.queries(),
            outbox: database.outbox(),
            schedules: database.schedules(),
            server: match &database {
                ProjectDatabase::Server(server) => Some(server.clone()),
                ProjectDatabase::File(_) => None,
            },
            database,
            hands: Arc::new(hands),
            saving: tokio::sync::Mutex::default(),
            store,
        };
        Ok(App {
            shared: Arc::new(state),
        })
    }

    /// Returns the use cases of an actor.
    pub fn acting(&self, actor: Actor) -> UseCases {
        UseCases {
            app: self.clone(),
            actor,
        }
    }

    /// Returns the person at the terminal, named as the system names them.
    pub fn terminal(&self) -> Actor {
        let variable = |name| self.shared.hands.surroundings.variable(name);
        let named = variable("USER").or_else(|| variable("LOGNAME"));
        let name = named.filter(|name| !name.is_empty());
        Actor::Terminal {
            name: name.unwrap_or_else(|| "somebody".to_owned()),
        }
    }

    /// Names the server that callbacks of `http` steps come to, such as `https://drawloom.example.org`.
    pub fn set_callback_origin(&self, origin: &str) {
        // The first server of a process is the one.
        let _ = self.shared.hands.callback_origin.set(origin.to_owned());
    }

    /// Has the tasks of a file that this process works on shown, and ended when the person asks.
    pub(crate) fn watch_tasks(&self, watch: Arc<TaskWatch>) {
        // An application is opened for one run of a file.
        let _ = self.shared.hands.task_watch.set(watch);
    }

    pub fn project(&self) -> &Project {
        &self.shared.hands.project
    }

    /// Returns the environment that the application was opened in.
    pub fn surroundings(&self) -> &ProcessEnvironment {
        &self.shared.hands.surroundings
    }

    /// Returns the flags about answering from the command line.
    pub fn wish(&self) -> &AiOverrides {
        &self.shared.hands.wish
    }

    /// Returns the port for people's questions about runs and tasks.
    pub fn queries(&self) -> &Arc<dyn RunQueries> {
        &self.shared.queries
    }

    /// Returns the port of the engine: rows, events, commands.
    pub fn store(&self) -> &Arc<dyn WorkflowStore> {
        &self.shared.store
    }

    /// Returns the database behind all ports.
    pub fn database(&self) -> &ProjectDatabase {
        &self.shared.database
    }

    /// Users and agents.
    pub fn people(&self) -> Arc<dyn UserStore> {
        self.shared.database.people()
    }

    /// Users and agents, with the rules about names that `drawloom.toml` has taken.
    pub fn register(&self) -> ProjectUsers {
        ProjectUsers::of(&self.shared.database)
    }

    /// Workflows that the clock starts.
    pub fn calendar(&self) -> ProjectSchedules {
        ProjectSchedules::of(self.shared.database.clone())
    }

    /// Returns the port of the tokens that programs show instead of signing in.
    pub fn tokens(&self) -> Arc<dyn TokenStore> {
        self.shared.database.tokens()
    }

    /// Returns the ports of everything a server stores beside runs.
    pub fn ports(&self) -> Arc<dyn ServerPorts> {
        self.shared.database.ports()
    }

    /// Returns the access control, through which people and programs sign in.
    pub fn access_control(&self) -> AccessControl {
        AccessControl {
            ports: self.ports(),
            tokens: self.tokens(),
            users: self.shared.database.people(),
            keys: self.shared.database.keys(),
        }
    }

    /// Returns the time now, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        use agent::AgentClock as _;
        crate::tasks::clock::SystemClock.now_ms()
    }

    /// Returns the saved filters of lists.
    pub fn views(&self) -> Arc<dyn ViewStore> {
        self.shared.database.views()
    }
}

/// Everything that one actor may ask of the application.
#[derive(Clone)]
pub struct UseCases {
    app: App,
    actor: Actor,
}

impl UseCases {
    pub fn app(&self) -> &App {
        &self.app
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub fn project(&self) -> &Project {
        self.app.project()
    }

    /// Returns the default name under which answers are recorded.
    pub fn person(&self) -> String {
        self.actor.name().to_owned()
    }

    /// Refuses what the actor may not do.
    pub fn permit(&self, permission: access::Permission) -> Result<(), Error> {
        self.actor.permit(permission)
    }

    fn state(&self) -> &AppState {
        &self.app.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>(_: &T) {}

    /// A server runs use cases on many threads: their futures must be able to move between them.
    #[allow(dead_code, reason = "it only has to compile")]
    fn use_cases_can_move_between_threads(
        use_cases: &UseCases,
        sheet: &crate::workflows::LoadedWorkflow,
    ) {
        assert_send(use_cases);
        assert_send(&use_cases.start(sheet, RunRequest::default()));
        assert_send(&use_cases.find("last"));
        let order = crate::worker::WorkerOptions {
            name: String::new(),
            concurrency: 1,
            lease: std::time::Duration::from_secs(1),
            assignees: Vec::new(),
            until: crate::worker::StopCondition::Stopped,
        };
        let (mut nobody, cancel) = (crate::worker::NoWatcher, crate::CommandCancel::default());
        assert_send(&use_cases.work(&order, &mut nobody, &cancel));
        assert_send(
            &use_cases
                .app()
                .register()
                .list(store::UserFilter::Everybody),
        );
        assert_send(&use_cases.app().calendar().list());
    }
}
