//! The loom: a project's database of runs, opened for starting, looking and steering.

use std::sync::Arc;
use std::time::Duration;

use flow::Workflow;
use flow::engine::{CallRow, Command, Event, RefusalKind, RunRow, Start, TaskRow};
use flow::layers::{Asked, Prompted};
use flow::{Deletion, RunId, Step, Store, StoreError, StoreErrorKind, TaskId, TextHash, Which};
use serde_json::{Map, Value};
use store::{
    Attempt, KeptNotice, Outbox, Postgres, Queries, RunCursor, RunFilter, Schedules, TaskFilter,
};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::database::Database;
use super::reading::Sheet;
use super::standing::{self, Standing};
use super::token;
use crate::ai::{Errand, Wish, model};
use crate::executors::{Hands, Till, name_agent};
use crate::notices::NoticeReaders;
use crate::people::explained;
use crate::tasks::bench;
use crate::tasks::clock::SystemClock;
use crate::worker::leader::{Leader, Never};
use crate::worker::{self, Order, Until, Watcher};
use crate::{Cancel, Code, Error, Project, Surroundings, trust};

/// How many events are read at a time.
const EVENTS_MAX: usize = 5_000;
/// How many tasks of one run are listed.
const TASKS_MAX: usize = 20_000;
/// How often it is looked for notices to deliver.
const NOTICES_LOOK: Duration = Duration::from_millis(500);
/// How many times ten notices are delivered at most when a worker ends.
const REST_MAX: usize = 100;
/// How the newest run can be called.
const LAST: &str = "last";

/// The runs of a project, and whoever works on them.
pub struct Loom {
    runtime: Runtime,
    store: Arc<dyn Store>,
    database: Database,
    queries: Arc<dyn Queries>,
    outbox: Arc<dyn Outbox>,
    schedules: Arc<dyn Schedules>,
    /// The server, where the database is on one.
    server: Option<Postgres>,
    hands: Arc<Hands>,
}

/// A run to begin.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    pub input: Value,
    pub tags: Vec<String>,
    pub assignee: Option<String>,
}

impl Loom {
    /// Opens the database: the one given, that of DRAWLOOM_DATABASE_URL or of the settings, or the
    /// project's own.
    pub fn open(
        project: Arc<Project>,
        surroundings: &Surroundings,
        wish: Wish,
        database: Option<&str>,
    ) -> Result<Loom, Error> {
        let runtime = bench::runtime()?;
        let source = model::Source::open(&project, surroundings, &wish, Errand::Answer)?;
        let secrets = source.secrets();
        let (store, database) = runtime.block_on(async {
            let opening = Database::open(&project, surroundings, database, secrets);
            let database = opening.await?;
            Ok::<_, Error>((database.workflows().await?, database))
        })?;
        Ok(Loom {
            runtime,
            queries: database.queries(),
            outbox: database.outbox(),
            schedules: database.schedules(),
            server: match &database {
                Database::Server(server) => Some(server.clone()),
                Database::File(_) => None,
            },
            database,
            hands: Arc::new(Hands {
                project,
                surroundings: surroundings.clone(),
                wish,
                store: Arc::clone(&store),
                till: Till::default(),
            }),
            store,
        })
    }

    pub fn project(&self) -> &Project {
        &self.hands.project
    }

    /// Who answers here when nobody says who.
    pub fn person(&self) -> String {
        let variable = |name| self.hands.surroundings.variable(name);
        let named = variable("USER").or_else(|| variable("LOGNAME"));
        named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "somebody".to_owned())
    }

    /// Begins a run of a workflow that was found to be fine.
    pub fn start(&self, sheet: &Sheet, begin: Begin) -> Result<RunId, Error> {
        let mut runs = self.start_many(sheet, vec![begin])?;
        runs.pop()
            .ok_or_else(|| Error::new(Code::Database, "the run was not begun"))
    }

    /// Begins many, in as few transactions as may be; their names in the order of what they begin
    /// with.
    pub fn start_many(&self, sheet: &Sheet, begins: Vec<Begin>) -> Result<Vec<RunId>, Error> {
        trust::require_workflow(&self.hands.project, sheet)?;
        // What does not fit begins nothing, not even what fits beside it.
        for begin in &begins {
            let checked = sheet
                .workflow
                .as_ref()
                .map(|it| it.checked_input(begin.input.clone()));
            if let Some(Err(message)) = checked {
                let hint = "`drawloom workflow show` lists what the workflow takes";
                return Err(Error::new(Code::Data, message).hint(hint));
            }
        }
        self.runtime.block_on(async {
            let hash = keep_named(&*self.store, &*self.queries, sheet).await?;
            let mut runs = Vec::with_capacity(begins.len());
            let mut starting = JoinSet::new();
            for begin in begins {
                let id = new_id()?;
                let start = Start {
                    assignee: begin.assignee,
                    tags: begin.tags,
                    name: Some(sheet.title().to_owned()),
                    ..Start::new(id.as_str(), begin.input)
                };
                runs.push(id);
                let (store, hash) = (Arc::clone(&self.store), hash.clone());
                starting.spawn(async move { store.start(&hash, start).await });
            }
            while let Some(started) = starting.join_next().await {
                let broken = |_| Error::new(Code::Database, "a run was not begun");
                refused(started.map_err(broken)??)?;
            }
            Ok(runs)
        })
    }

    /// Works: on everything there is, or on one run until it ends or waits for somebody.
    pub fn work(
        &self,
        order: &Order,
        watcher: &mut dyn Watcher,
        cancel: &Cancel,
    ) -> Result<worker::Ended, Error> {
        let leader = Leader::new(self.server.clone(), &order.name);
        let (store, hands) = (Arc::clone(&self.store), Arc::clone(&self.hands));
        let queries = Arc::clone(&self.queries);
        let worker = worker::Worker::new((store, queries), hands, &leader, order);
        let readers = NoticeReaders::of(&self.hands.project, &self.hands.surroundings)?;
        self.runtime.block_on(async {
            if matches!(order.until, Until::Settled(_)) {
                let ended = worker.work(watcher, cancel).await;
                self.deliver_rest(&readers, &ended).await;
                return ended;
            }
            let around = (&*self.hands.project, &self.hands.surroundings);
            let tending =
                leader.tend_schedules(&*self.schedules, (&*self.store, &*self.queries), around);
            let ended = tokio::select! {
                // What is due is begun before it is seen that nothing is left to do.
                biased;
                never = tending => match never {},
                never = self.tend_notices(&readers) => match never {},
                ended = worker.work(watcher, cancel) => ended,
            };
            self.deliver_rest(&readers, &ended).await;
            ended
        })
    }

    /// Delivers notices for as long as somebody works. What fails is tried again: whoever works uses the
    /// same database and says so when it is gone.
    async fn tend_notices(&self, readers: &NoticeReaders) -> Never {
        loop {
            let now_ms = self.schedules.now_ms();
            let delivered = readers.deliver_due(&*self.outbox, &self.store, now_ms);
            if delivered.await.unwrap_or(0) == 0 {
                tokio::time::sleep(NOTICES_LOOK).await;
            }
        }
    }

    /// Tells of what happened last before a worker ends by itself; one that was asked to stop has no time.
    async fn deliver_rest(&self, readers: &NoticeReaders, ended: &Result<worker::Ended, Error>) {
        if matches!(ended, Err(_) | Ok(worker::Ended::Stopped { .. })) {
            return;
        }
        for _ in 0..REST_MAX {
            let now_ms = self.schedules.now_ms();
            let delivered = readers.deliver_due(&*self.outbox, &self.store, now_ms);
            if delivered.await.unwrap_or(0) == 0 {
                return;
            }
        }
    }

    /// Notices that were not delivered yet, in the order in which they were written.
    pub fn notices(&self, max: usize) -> Result<Vec<KeptNotice>, Error> {
        let listed = self.outbox.list_notices(max);
        self.runtime.block_on(listed).map_err(explained)
    }

    /// Removes notices from the outbox.
    pub fn acknowledge(&self, notices: &[u64]) -> Result<(), Error> {
        let acknowledged = self.outbox.acknowledge_notices(notices);
        self.runtime.block_on(acknowledged).map_err(explained)
    }

    /// Does something to a run or a task.
    pub fn execute(&self, command: Command) -> Result<(), Error> {
        self.runtime
            .block_on(async { refused(self.store.execute(command).await?) })
    }

    /// Refuses a token that is not the task's.
    pub fn check_token(&self, task: &TaskId, given: &str) -> Result<(), Error> {
        token::check(&self.hands.project, task, given)
    }

    /// The run that a person means: its id, the begin of one, or `last`.
    pub fn find(&self, text: &str) -> Result<RunRow, Error> {
        self.runtime.block_on(async {
            if let Some(run) = self.store.run(&RunId::new(text)).await? {
                return Ok(run);
            }
            let found = match text {
                LAST => {
                    let top = RunFilter {
                        is_top: true,
                        ..RunFilter::default()
                    };
                    self.queries.list_runs(&top, None, 1).await
                }
                _ => self.queries.runs_with_prefix(text, 2).await,
            };
            let mut fitting = found.map_err(explained)?.into_iter();
            match (fitting.next(), fitting.next().is_none()) {
                (Some(run), true) => Ok(run),
                (Some(_), false) => {
                    let message = format!("several runs begin with `{text}`");
                    Err(Error::new(Code::NotFound, message).hint("give more of the id"))
                }
                (None, _) => Err(
                    Error::new(Code::NotFound, format!("there is no run `{text}`"))
                        .hint("`drawloom runs list` lists them"),
                ),
            }
        })
    }

    /// The runs that a filter wants, the newest first.
    pub fn runs(&self, filter: &RunFilter, max: usize) -> Result<Vec<RunRow>, Error> {
        let listed = self.queries.list_runs(filter, None, max);
        self.runtime.block_on(listed).map_err(explained)
    }

    /// The same from behind a run.
    pub fn runs_after(
        &self,
        filter: &RunFilter,
        after: Option<&RunCursor>,
        max: usize,
    ) -> Result<Vec<RunRow>, Error> {
        let listed = self.queries.list_runs(filter, after, max);
        self.runtime.block_on(listed).map_err(explained)
    }

    /// How many runs a filter wants, counted up to `max`.
    pub fn count_runs(&self, filter: &RunFilter, max: usize) -> Result<usize, Error> {
        let counted = self.queries.count_runs(filter, max);
        self.runtime.block_on(counted).map_err(explained)
    }

    /// Deletes runs that have ended, each with the runs it has started.
    pub fn delete_runs(&self, runs: &[RunId]) -> Result<Vec<Deletion>, Error> {
        Ok(self.runtime.block_on(self.store.delete_runs(runs))?)
    }

    /// Gives the room of deleted rows back; how large the database was and is, in bytes.
    pub fn compact(&self) -> Result<(u64, u64), Error> {
        let compacted = self.runtime.block_on(self.database.compact());
        compacted.map_err(explained)
    }

    /// The tasks that a filter wants, the oldest first.
    pub fn list_tasks(&self, filter: &TaskFilter, max: usize) -> Result<Vec<TaskRow>, Error> {
        let listed = self.queries.list_tasks(filter, max);
        self.runtime.block_on(listed).map_err(explained)
    }

    /// How many tasks a filter wants, counted up to `max`.
    pub fn count_tasks(&self, filter: &TaskFilter, max: usize) -> Result<usize, Error> {
        let counted = self.queries.count_tasks(filter, max);
        self.runtime.block_on(counted).map_err(explained)
    }

    pub fn run(&self, run: &RunId) -> Result<Option<RunRow>, Error> {
        Ok(self.runtime.block_on(self.store.run(run))?)
    }

    pub fn input(&self, run: &RunId) -> Result<Value, Error> {
        let input = self.runtime.block_on(self.store.input(run))?;
        Ok(input.unwrap_or_default())
    }

    pub fn tasks(&self, run: Option<&RunId>, which: Which) -> Result<Vec<TaskRow>, Error> {
        Ok(self
            .runtime
            .block_on(self.store.tasks(run, which, TASKS_MAX))?)
    }

    /// The task of this name.
    pub fn task(&self, name: &str) -> Result<TaskRow, Error> {
        let id = self.task_id(name)?;
        let found = self.runtime.block_on(self.store.task(&id))?;
        found.ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no task `{id}`"))
                .hint("`drawloom tasks list` lists them")
        })
    }

    /// Who had a task when, and what came of it.
    pub fn attempts(&self, task: &TaskId) -> Result<Vec<Attempt>, Error> {
        let attempts = store::attempts(&*self.store, task);
        Ok(self.runtime.block_on(attempts)?)
    }

    /// The name of a task, whose run may be written as for [`Loom::find`].
    fn task_id(&self, name: &str) -> Result<TaskId, Error> {
        let wrong = |cause: flow::NoTaskId| Error::new(Code::Usage, cause.to_string());
        let mut id: TaskId = name.parse().map_err(wrong)?;
        id.run = self.find(id.run.as_str())?.id;
        Ok(id)
    }

    /// Everything that happened to a run.
    pub fn events(&self, run: &RunId) -> Result<Vec<Event>, Error> {
        self.runtime.block_on(async {
            let mut events: Vec<Event> = Vec::new();
            loop {
                let after = events.last().map_or(0, |event| event.seq);
                let more = self.store.events(run, after, EVENTS_MAX).await?;
                if more.is_empty() {
                    return Ok(events);
                }
                events.extend(more);
            }
        })
    }

    /// The text a run is pinned to.
    pub fn workflow(&self, run: &RunRow) -> Result<Arc<Workflow>, Error> {
        let found = self.runtime.block_on(self.store.workflow(&run.workflow))?;
        found.ok_or_else(|| {
            let message = format!(
                "the workflow of the run `{}` is not in the database",
                run.id
            );
            Error::new(Code::Database, message).hint("restore the database from a backup")
        })
    }

    /// What a task is asked, with its references filled in.
    pub fn prompt(&self, task: &TaskRow) -> Result<String, Error> {
        let Some(run) = self.run(&task.id.run)? else {
            return Ok(String::new());
        };
        let workflow = self.workflow(&run)?;
        let Some(step) = workflow.step(&task.id.step) else {
            return Ok(String::new());
        };
        let Some(prompt) = &step.config.prompt else {
            return Ok(step.config.description.clone().unwrap_or_default());
        };
        let state = self.state(task, step)?;
        let filled = flow::layers::prompt(step, &state);
        Ok(filled.map_or_else(|_| prompt.clone(), |filled| filled.text))
    }

    /// Everything that is said to whoever does a task, layer by layer; nothing where the task's step is
    /// nobody's work.
    pub fn layers(&self, task: &TaskRow) -> Result<Prompted, Error> {
        let Some(run) = self.run(&task.id.run)? else {
            return Ok(Prompted::default());
        };
        let workflow = self.workflow(&run)?;
        let step = workflow.step(&task.id.step).filter(|step| step.has_work());
        let Some(step) = step else {
            return Ok(Prompted::default());
        };
        let state = self.state(task, step)?;
        let agents = &self.hands.project.settings.workflows.agents;
        let agent = task.assignee.as_ref().and_then(|name| agents.get(name));
        let asked = Asked {
            agent: agent.map(|agent| agent.prompt.as_str()),
            ..Asked::default()
        };
        let prompted = flow::layers::of_task(step, task, &state, asked);
        Ok(prompted.unwrap_or_default())
    }

    fn state(&self, task: &TaskRow, step: &Step) -> Result<Map<String, Value>, Error> {
        let viewing = self.store.view(&task.id, &step.reads);
        let mut state = self.runtime.block_on(viewing)?;
        name_agent(&self.hands.project, &mut state);
        Ok(state)
    }

    /// What was said in the attempts of a task.
    pub fn calls(&self, task: &TaskId) -> Result<Vec<CallRow>, Error> {
        Ok(self.runtime.block_on(self.store.calls(task))?)
    }

    pub fn standing(&self, run: &RunId) -> Result<Standing, Error> {
        let (standing, _) = self.runtime.block_on(standing::of(&*self.store, run))?;
        Ok(standing)
    }
}

/// Keeps a workflow's text under its title and under the name of its file.
pub(crate) async fn keep_named(
    store: &dyn Store,
    queries: &dyn Queries,
    sheet: &Sheet,
) -> Result<TextHash, Error> {
    let hash = store.keep_workflow(&sheet.source).await?;
    // The title is kept with the first run.
    if sheet.name != sheet.title() {
        queries.name_workflow(&hash, &sheet.name).await?;
    }
    Ok(hash)
}

/// Ids sort by time and are short enough to be typed.
fn new_id() -> Result<RunId, Error> {
    use agent::Clock as _;
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::new(
            Code::Command,
            format!("the system gives no random bytes: {cause}"),
        )
    })?;
    let now_ms = SystemClock.now_ms();
    Ok(RunId::new(format!(
        "{:09x}{:08x}",
        now_ms / 100,
        u32::from_be_bytes(bytes)
    )))
}

fn refused(executed: flow::Executed) -> Result<(), Error> {
    executed.map(|_| ()).map_err(|refusal| {
        let code = match refusal.kind {
            RefusalKind::NoSuchRun | RefusalKind::NoSuchTask => Code::NotFound,
            RefusalKind::BadOutput | RefusalKind::BadInput => Code::Data,
            RefusalKind::Limit => Code::Limit,
            RefusalKind::Broken | RefusalKind::WrongWorkflow => Code::Database,
            _ => Code::Conflict,
        };
        Error::new(code, refusal.message)
    })
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let code = match error.kind {
            StoreErrorKind::NoSuchWorkflow => Code::NotFound,
            _ => Code::Database,
        };
        Error::new(code, error.message)
    }
}
