//! The parts that each version added: puts rows of each into a database, and finds them again.

use std::sync::Arc;
use std::time::Duration;

use builder::JobStore;
use flow::engine::{AttemptReport, EngineCommand, RunStart, RunStatus, TaskAnswer};
use flow::{ClaimRequest, RunId};
use serde_json::json;
use store::{
    AgentRuns, AuditLog, CostQueries, EventStream, IdempotencyKeys, PersonCredentials, SearchIndex,
    TaskNotes,
};
use store::{
    NewToken, NewView, ProjectKeys, RunFilter, RunQueries, Schedule, ScheduleFiring, ScheduleStore,
    TokenCheck, TriggerMemory, UserRole, UserStore, ViewedList,
};
use store::{Slug, TokenSecret, TokenStore, User, UserFilter, UserKind, ViewStore};
use store::{WebSessions, WebhookEndpoints, WorkflowVersions};

use crate::database::Opened;
use crate::reading;
use crate::server;
use crate::work;

/// One step of a schema.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Agent,
    Builds,
    Workflows,
    People,
    Access,
    /// Several events in a row.
    Pages,
    /// Names, tags and notices that are found by their run.
    Looking,
    /// The model calls of attempts.
    Calls,
    /// Room, what commands print, and what triggers have seen.
    Limits,
    /// Everything that a server needs.
    Server,
    /// Costs, and texts to search.
    Reading,
    /// The files of runs, and keys.
    RunFiles,
    /// Runs of agents and builds, which SQLite has had from the beginning.
    AgentOnServer,
}

/// By version: the first one brought the first part.
pub(crate) const IN_SQLITE: [Part; 11] = [
    Part::Agent,
    Part::Builds,
    Part::Workflows,
    Part::People,
    Part::Access,
    Part::Looking,
    Part::Calls,
    Part::Limits,
    Part::Server,
    Part::Reading,
    Part::RunFiles,
];
pub(crate) const IN_POSTGRES: [Part; 10] = [
    Part::Workflows,
    Part::People,
    Part::Access,
    Part::Pages,
    Part::Looking,
    Part::Calls,
    Part::Limits,
    Part::Server,
    Part::Reading,
    Part::AgentOnServer,
];

const WORKFLOW: &str = "graph TD
 A[List] --> E[[Each: Do]]
 E --> J[Join all] --> M(Look)
 A --> N(Note)
%% === WORKFLOW_CONFIG ===
%% @E: { \"stepType\": \"foreach\", \"itemsPath\": \"output.items\", \"itemVariable\": \"item\", \"prompt\": \"Do {{item}}.\", \"retry\": { \"attempts\": 9, \"delay\": 0.01, \"maxDelay\": 0.01 } }
%% @J: { \"stepType\": \"join\", \"timeout\": \"9d\" }
%% @M: { \"timeout\": \"9d\" }
%% @N: { \"defaultAssigneeId\": \"ada\" }
%% === END_CONFIG ===
";

impl Opened {
    pub(crate) fn parts(&self) -> &'static [Part] {
        match self {
            Opened::File(_) => &IN_SQLITE,
            Opened::Server(_) => &IN_POSTGRES,
        }
    }

    /// Puts something of a part into the database.
    pub(crate) async fn fill(&self, part: Part) {
        match part {
            Part::Agent => work::fill_agent(&*self.runs()).await,
            Part::Builds => work::fill_builds(&*self.jobs()).await,
            Part::Workflows => fill_workflows(&*self.workflows().await).await,
            Part::People => fill_people(&*self.people(), &*self.schedules()).await,
            Part::Access => fill_access(&*self.views(), &*self.tokens()).await,
            Part::Pages => fill_pages(&*self.workflows().await).await,
            Part::Looking => fill_looking(&*self.workflows().await).await,
            Part::Calls => fill_calls(&*self.workflows().await).await,
            Part::Limits => fill_limits(&*self.workflows().await, &*self.triggers()).await,
            Part::Server => server::fill(self).await,
            Part::Reading => reading::fill(self).await,
            Part::RunFiles => {
                work::fill_files(&*self.runs()).await;
                work::fill_key(&*self.project_keys()).await;
            }
            Part::AgentOnServer => {
                work::fill_agent(&*self.runs()).await;
                work::fill_builds(&*self.jobs()).await;
                work::fill_files(&*self.runs()).await;
                work::fill_key(&*self.project_keys()).await;
            }
        }
    }

    /// Finds what was put there, and goes on with it.
    pub(crate) async fn find(&self, part: Part) {
        match part {
            Part::Agent => work::find_agent(&*self.runs()).await,
            Part::Builds => work::find_builds(&*self.jobs()).await,
            Part::Workflows => find_workflows(&*self.workflows().await).await,
            Part::People => find_people(&*self.people(), &*self.schedules()).await,
            Part::Access => find_access(&*self.views(), &*self.tokens()).await,
            Part::Pages => find_pages(&*self.workflows().await).await,
            Part::Looking => find_looking(&*self.queries()).await,
            Part::Calls => find_calls(&*self.workflows().await).await,
            Part::Limits => find_limits(&*self.workflows().await, &*self.triggers()).await,
            Part::Server => server::find(self).await,
            Part::Reading => reading::find(self).await,
            Part::RunFiles => {
                work::find_files(&*self.runs()).await;
                work::find_key(&*self.project_keys()).await;
            }
            Part::AgentOnServer => {
                work::find_agent(&*self.runs()).await;
                work::find_builds(&*self.jobs()).await;
                work::find_files(&*self.runs()).await;
                work::find_key(&*self.project_keys()).await;
            }
        }
    }

    pub(crate) async fn workflows(&self) -> Arc<dyn flow::WorkflowStore> {
        let opened = match self {
            Opened::File(store) => store.workflows().await,
            Opened::Server(server) => server.workflows().await,
        };
        opened.unwrap()
    }
}

macro_rules! ports {
    ($($name:ident: $port:ident),+) => {
        impl Opened {
            $(pub(crate) fn $name(&self) -> Box<dyn $port> {
                match self {
                    Opened::File(store) => Box::new(store.clone()),
                    Opened::Server(server) => Box::new(server.clone()),
                }
            })+
        }
    };
}

ports!(
    runs: AgentRuns,
    jobs: JobStore,
    project_keys: ProjectKeys,
    people: UserStore,
    queries: RunQueries,
    schedules: ScheduleStore,
    triggers: TriggerMemory,
    views: ViewStore,
    tokens: TokenStore,
    audit: AuditLog,
    credentials: PersonCredentials,
    keys: IdempotencyKeys,
    notes: TaskNotes,
    sessions: WebSessions,
    stream: EventStream,
    versions: WorkflowVersions,
    webhooks: WebhookEndpoints,
    costs: CostQueries,
    search: SearchIndex
);

/// Claims one task and does it; `None` when nothing is ready.
async fn work(store: &dyn flow::WorkflowStore, lease_ms: u64) -> Option<(flow::TaskId, u64)> {
    let claim = ClaimRequest {
        worker: "w".to_owned(),
        max: 1,
        lease_ms,
        assignees: Vec::new(),
        runs: Vec::new(),
        rates: Vec::new(),
    };
    let claimed = store.claim(claim).await.unwrap().pop()?;
    Some((claimed.task.id, claimed.task.fence))
}

async fn report(store: &dyn flow::WorkflowStore, (task, fence): (flow::TaskId, u64)) {
    let output = match task.step.as_str() {
        "A" => json!({ "items": ["a", "b'\"\\ä", null] }),
        _ => json!({ "ok": true }),
    };
    let report = EngineCommand::Report {
        task,
        fence,
        report: AttemptReport::completed(output),
    };
    store.execute(report).await.unwrap().unwrap();
}

/// A run in the middle of a foreach: one item is done, one is in the hands of a worker that died, one
/// waits.
async fn fill_workflows(store: &dyn flow::WorkflowStore) {
    let hash = store.keep_workflow(WORKFLOW).await.unwrap();
    let start = RunStart::new("r1", json!({ "depth": 3 }));
    store.start(&hash, start).await.unwrap().unwrap();
    for _ in 0..2 {
        let claimed = work(store, 60_000).await.unwrap();
        report(store, claimed).await;
    }
    work(store, 1).await.unwrap();
}

async fn find_workflows(store: &dyn flow::WorkflowStore) {
    let run = RunId::new("r1");
    let input = store.input(&run).await.unwrap();
    assert_eq!(input, Some(json!({ "depth": 3 })));
    tokio::time::sleep(Duration::from_millis(5)).await;
    for (task, fence) in store.expired(9).await.unwrap() {
        let lost = EngineCommand::LeaseLost { task, fence };
        store.execute(lost).await.unwrap().unwrap();
    }
    for _ in 0..2 {
        let mut claimed = None;
        while claimed.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            claimed = work(store, 60_000).await;
        }
        report(store, claimed.unwrap()).await;
    }
    for step in ["N", "M"] {
        let task = format!("r1/{step}").parse().unwrap();
        let answer = EngineCommand::Answer {
            task,
            by: "ada".to_owned(),
            answer: TaskAnswer::Done { output: json!(1) },
        };
        store.execute(answer).await.unwrap().unwrap();
    }
    let row = store.run(&run).await.unwrap().unwrap();
    assert_eq!(row.status, RunStatus::Completed, "{row:?}");
    let events = store.events(&run, 0, 999).await.unwrap();
    flow::replay(&events).unwrap();
}

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

pub(crate) fn user(name: &str, nature: UserKind) -> User {
    User {
        slug: slug(name),
        display_name: "Ada ' Lovelace".to_owned(),
        role: UserRole::Reviewer,
        is_active: true,
        nature,
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    }
}

async fn fill_people(people: &dyn UserStore, schedules: &dyn ScheduleStore) {
    let email = "ada@example.org".to_owned();
    let ada = user("ada", UserKind::Person { email });
    people.add_user(&ada).await.unwrap();
    let prompt = "You review.\nBe kind.".to_owned();
    let agent = user("reviewer", UserKind::Agent { prompt });
    people.add_user(&agent).await.unwrap();
    let schedule = Schedule {
        slug: slug("night"),
        workflow: "nightly".to_owned(),
        cron: "0 3 * * *".to_owned(),
        time_zone: "Asia/Tokyo".to_owned(),
        input: json!({ "depth": 3 }),
        is_enabled: true,
        next_ms: Some(10),
        last: None,
        created_ms: 0,
        policy: store::SchedulePolicy::default(),
    };
    schedules.add_schedule(&schedule).await.unwrap();
}

async fn find_people(people: &dyn UserStore, schedules: &dyn ScheduleStore) {
    let names = people.users(UserFilter::Everybody).await.unwrap();
    let mut names: Vec<&str> = names.iter().map(|user| user.slug.as_str()).collect();
    // A later version has claimed the server as well.
    names.retain(|name| *name != "own");
    assert_eq!(names, ["ada", "reviewer"]);
    let agent = people.user(&slug("reviewer")).await.unwrap().unwrap();
    assert_eq!(agent.agent_prompt(), Some("You review.\nBe kind."));
    people.edit_user(&agent).await.unwrap();
    let due = schedules.due_schedules(10, 9).await.unwrap();
    assert_eq!(due[0].input, json!({ "depth": 3 }));
    let firing = ScheduleFiring {
        due_ms: 10,
        outcome: Ok("r1".to_owned()),
    };
    schedules
        .note_firing(&due[0], &firing, Some(70))
        .await
        .unwrap();
    assert!(schedules.due_schedules(10, 9).await.unwrap().is_empty());
}

async fn fill_access(views: &dyn ViewStore, tokens: &dyn TokenStore) {
    let view = NewView {
        owner: slug("ada"),
        name: "Mine".to_owned(),
        list: ViewedList::Tasks,
        filter: json!({ "status": "on_hold" }),
        is_shared: true,
    };
    views.add_view(&view).await.unwrap();
    let token = NewToken {
        user: slug("ada"),
        name: "ci".to_owned(),
        role: UserRole::Viewer,
        scopes: Vec::new(),
        expires_ms: None,
    };
    let secret = TokenSecret::new([7; 32]);
    tokens.add_token(&token, &secret).await.unwrap();
}

async fn find_access(views: &dyn ViewStore, tokens: &dyn TokenStore) {
    let seen = views.views(&slug("ada"), ViewedList::Tasks).await.unwrap();
    assert_eq!(seen[0].filter, json!({ "status": "on_hold" }));
    views.edit_view(&seen[0]).await.unwrap();
    let admitted = tokens.admit(&TokenSecret::new([7; 32])).await.unwrap();
    let TokenCheck::Granted(bearer) = admitted else {
        panic!("{admitted:?}");
    };
    tokens.revoke_token(bearer.token).await.unwrap();
}

async fn fill_pages(store: &dyn flow::WorkflowStore) {
    let hash = store.keep_workflow("graph TD\n A(Look)\n B(Note)\n");
    let start = RunStart::new("r2", json!({}));
    let started = store.start(&hash.await.unwrap(), start).await.unwrap();
    started.unwrap();
}

async fn find_pages(store: &dyn flow::WorkflowStore) {
    let run = RunId::new("r2");
    let all = store.events(&run, 0, 99).await.unwrap();
    assert_eq!(all.len(), 3, "{all:?}");
    for (event, after) in all.iter().zip(0..) {
        let next = store.events(&run, after, 1).await.unwrap();
        assert_eq!(next, std::slice::from_ref(event));
    }
    flow::replay(&all).unwrap();
}

async fn fill_looking(store: &dyn flow::WorkflowStore) {
    let hash = store.keep_workflow("graph TD\n A(Look)\n").await.unwrap();
    let start = RunStart {
        name: Some("looking".to_owned()),
        tags: vec!["seen".to_owned()],
        ..RunStart::new("r3", json!({}))
    };
    store.start(&hash, start).await.unwrap().unwrap();
}

async fn find_looking(queries: &dyn RunQueries) {
    for filter in [
        RunFilter {
            workflow: Some("looking".to_owned()),
            ..RunFilter::default()
        },
        RunFilter {
            tag: Some("seen".to_owned()),
            is_top: true,
            ..RunFilter::default()
        },
    ] {
        let listed = queries.list_runs(&filter, None, 9).await.unwrap();
        assert_eq!(listed.len(), 1, "{filter:?}");
        assert_eq!(listed[0].id, RunId::new("r3"));
    }
}

async fn fill_calls(store: &dyn flow::WorkflowStore) {
    let hash = store.keep_workflow("graph TD\n A(Say)\n").await.unwrap();
    let start = RunStart::new("r4", json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
    let output = json!({
        "status": "SUCCESS", "summary": "Said it.", "output": 1, "next_action": "COMPLETE",
    });
    let answer = EngineCommand::Answer {
        task: "r4/A".parse().unwrap(),
        by: "ann".to_owned(),
        answer: TaskAnswer::Done { output },
    };
    store.execute(answer).await.unwrap().unwrap();
}

async fn find_calls(store: &dyn flow::WorkflowStore) {
    let calls = store.calls(&"r4/A".parse().unwrap()).await.unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].call.summary.as_deref(), Some("Said it."));
    assert_eq!(calls[0].call.by.as_deref(), Some("ann"));
}

const LIMITED: &str = "graph TD
 A(Say)
%% === WORKFLOW_CONFIG ===
%% @concurrency: { \"max\": 1 }
%% === END_CONFIG ===
";

async fn fill_limits(store: &dyn flow::WorkflowStore, triggers: &dyn TriggerMemory) {
    let hash = store.keep_workflow(LIMITED).await.unwrap();
    for run in ["r5", "r6"] {
        let start = RunStart::new(run, json!({}));
        store.start(&hash, start).await.unwrap().unwrap();
    }
    store.keep_log(&[printed()]).await.unwrap();
    assert!(triggers.note_seen("files", None, "one").await.unwrap());
}

fn printed() -> flow::LogLine {
    flow::LogLine {
        task: "r5/A".parse().unwrap(),
        attempt: 1,
        number: 1,
        at_ms: 7,
        stream: flow::LogStream::Stderr,
        text: "a word".to_owned(),
    }
}

async fn find_limits(store: &dyn flow::WorkflowStore, triggers: &dyn TriggerMemory) {
    let task = printed().task;
    assert_eq!(store.log(&task, (0, 0), 9).await.unwrap(), [printed()]);
    assert_eq!(
        triggers.seen("files").await.unwrap().as_deref(),
        Some("one")
    );
    let cancel = EngineCommand::Cancel {
        run: task.run.clone(),
        reason: "Enough.".to_owned(),
    };
    store.execute(cancel).await.unwrap().unwrap();
    // The room that it held is for the one that waits.
    let due = store.due(99).await.unwrap();
    assert!(
        due.iter().any(|timer| timer.run.as_str() == "r6"),
        "{due:?}"
    );
}
