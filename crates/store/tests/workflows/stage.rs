//! The same commands to a store and to plain maps in memory, and all that can be read held against
//! each other: whatever the maps say is right.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::AgentClock as _;
use flow::engine::{
    AttemptFailure, AttemptOutcome, AttemptReport, ChildEnd, EngineCommand, FailureClass,
    RefusalKind, RunStart, TaskAnswer, TimerPurpose, view,
};
use flow::{
    ClaimedTask, FinishedTask, MemoryRows, RunId, RunSkeleton, TaskId, TaskSelection, TextHash,
    Workflow, WorkflowStore, replay,
};
use serde_json::{Value, json};

use crate::place::Now;

pub(crate) struct Stage {
    store: Arc<dyn WorkflowStore>,
    memory: MemoryRows,
    workflows: BTreeMap<TextHash, Workflow>,
    hashes: BTreeMap<String, TextHash>,
    children: Vec<RunId>,
}

impl Stage {
    /// Keeps the workflows and begins the run `r` of the first.
    pub(crate) async fn new(store: Arc<dyn WorkflowStore>, sources: &[(&str, &str)]) -> Stage {
        let mut stage = Stage {
            store,
            memory: MemoryRows::new(),
            workflows: BTreeMap::new(),
            hashes: BTreeMap::new(),
            children: Vec::new(),
        };
        for (name, source) in sources {
            let workflow = flow::parse(source);
            let workflow = workflow.unwrap_or_else(|e| panic!("{}", e.report(name, source)));
            let hash = stage.store.keep_workflow(source).await.unwrap();
            assert_eq!(&hash, workflow.hash());
            stage.hashes.insert((*name).to_owned(), hash.clone());
            stage.workflows.insert(hash, workflow);
        }
        let hash = stage.hashes[sources[0].0].clone();
        stage
            .start(&hash, RunStart::new("r", json!({ "who": "ä\u{0}\"" })))
            .await;
        stage
    }

    async fn start(&mut self, hash: &TextHash, start: RunStart) {
        let command = EngineCommand::Start(start.clone());
        let model = self
            .memory
            .execute(&self.workflows[hash], &command, Now.now_ms());
        let stored = self.store.start(hash, start).await.unwrap();
        assert_eq!(
            stored.map(|_| ()).map_err(|refusal| refusal.kind),
            model.map(|_| ()).map_err(|refusal| refusal.kind)
        );
    }

    /// Gives what the store said, after seeing that the model says the same.
    async fn execute(&mut self, command: &EngineCommand) -> Result<(), RefusalKind> {
        let run = self.memory.runs.get(command.run());
        let workflow = match (command, run) {
            (EngineCommand::Move { to, .. }, _) => &self.workflows[to],
            (_, Some(run)) => &self.workflows[&run.workflow],
            (_, None) => self.workflows.values().next().unwrap(),
        };
        let model = self.memory.execute(workflow, command, Now.now_ms());
        let model = model.map(|_| ()).map_err(|refusal| refusal.kind);
        let stored = self.store.execute(command.clone()).await.unwrap();
        let stored = stored.map(|_| ()).map_err(|refusal| refusal.kind);
        assert_eq!(stored, model, "{command:?}");
        stored
    }

    async fn ok(&mut self, command: &EngineCommand) {
        let said = self.execute(command).await;
        said.unwrap_or_else(|kind| panic!("{command:?}: {kind:?}"));
    }

    /// `A`, `C[0]/B`, or `@1/A` for a task of the first child run.
    fn task(&self, name: &str) -> TaskId {
        let name = match name.strip_prefix('@') {
            Some(child) => {
                let (number, rest) = child.split_once('/').unwrap();
                let child = &self.children[number.parse::<usize>().unwrap() - 1];
                format!("{child}/{rest}")
            }
            None => format!("r/{name}"),
        };
        name.parse().unwrap()
    }

    async fn report(&mut self, task: TaskId, outcome: AttemptOutcome) {
        if self.memory.tasks[&task].status.name() != "in_progress" {
            let claim = EngineCommand::Claim {
                task: task.clone(),
                worker: "w".to_owned(),
                lease_ms: 60_000,
                rates: Vec::new(),
            };
            self.ok(&claim).await;
        }
        let fence = self.memory.tasks[&task].fence;
        let report = AttemptReport::of(outcome);
        let report = EngineCommand::Report {
            task,
            fence,
            report,
        };
        self.ok(&report).await;
    }

    pub(crate) async fn line(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let value = || serde_json::from_str::<Value>(more).unwrap();
        match verb {
            "done" => {
                let output = value();
                let partial = false;
                let outcome = AttemptOutcome::Completed { output, partial };
                self.report(self.task(name), outcome).await;
            }
            "fail" => {
                let class: FailureClass = serde_json::from_value(json!(more)).unwrap();
                let message = "No luck.".to_owned();
                let failure = AttemptOutcome::Failed(AttemptFailure { class, message });
                self.report(self.task(name), failure).await;
            }
            "all" => self.work_off(&serde_json::from_str(rest).unwrap()).await,
            "lapse" => self.lapse(name).await,
            "fire" => self.fire().await,
            "start" => {
                let hash = self.hashes["main"].clone();
                let start = RunStart {
                    priority: more.parse().unwrap_or(0),
                    ..RunStart::new(name, json!({ "key": "k" }))
                };
                self.start(&hash, start).await;
                self.children.push(RunId::new(name));
            }
            "beats" => self.beat(name, more.parse().unwrap()).await,
            "refused" => {
                let kind = self.execute(&self.command(more)).await.unwrap_err();
                assert_eq!(json!(kind), json!(name), "{line}");
            }
            "acknowledge" => {
                let first = self.store.notices(1).await.unwrap();
                self.store.acknowledge(&[first[0].0]).await.unwrap();
                self.memory.outbox.remove(0);
            }
            _ => self.ok(&self.command(line)).await,
        }
    }

    fn command(&self, line: &str) -> EngineCommand {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let run = RunId::new("r");
        let by = "me".to_owned();
        let reason = "Enough.".to_owned();
        match verb {
            "answer" => {
                let output = serde_json::from_str(more).unwrap();
                let answer = TaskAnswer::Done { output };
                let task = self.task(name);
                EngineCommand::Answer { task, by, answer }
            }
            "take" => EngineCommand::Claim {
                task: self.task(name),
                worker: "v".to_owned(),
                lease_ms: 60_000,
                rates: Vec::new(),
            },
            "late" => EngineCommand::Report {
                task: self.task(name),
                fence: more.parse().unwrap(),
                report: AttemptReport::completed(json!("late")),
            },
            "beat" => EngineCommand::Heartbeat {
                task: self.task(name),
                fence: more.parse().unwrap(),
                lease_ms: 60_000,
            },
            "assign" => {
                let assignee = Some(more.to_owned());
                let task = self.task(name);
                EngineCommand::Assign { task, assignee }
            }
            "lost" => {
                let message = more.to_owned();
                let end = ChildEnd::Failed {
                    message,
                    class: None,
                };
                let task = self.task(name);
                let child = RunId::child_of(&task, 1);
                EngineCommand::ChildEnded { task, child, end }
            }
            "retry" => EngineCommand::Retry {
                task: self.task(name),
                with: serde_json::from_str(more).ok(),
            },
            "move" => EngineCommand::Move {
                to: self.hashes[name].clone(),
                seq: self.memory.runs[&run].seq,
                run,
            },
            "rerun" => EngineCommand::Rerun {
                task: self.task(name),
            },
            "pause" => EngineCommand::Pause { run, reason },
            "resume" => EngineCommand::Resume { run },
            "cancel" => EngineCommand::Cancel { run, reason },
            _ => panic!("{line}"),
        }
    }

    /// Claims and does whatever is ready, until nothing is. The store's turn is the one that is
    /// tried here: it gives what the model has ready, with what the model sees, and each task once.
    async fn work_off(&mut self, output: &Value) {
        let mut done: Vec<FinishedTask> = Vec::new();
        loop {
            for FinishedTask {
                task,
                fence,
                report,
            } in done.clone()
            {
                let workflow = &self.workflows[&self.memory.runs[&task.run].workflow];
                let report = EngineCommand::Report {
                    task,
                    fence,
                    report,
                };
                let model = self.memory.execute(workflow, &report, Now.now_ms());
                model.unwrap();
            }
            let claim = crate::working::claim(64, 60_000);
            let worker = claim.worker.clone();
            let claimed = self.store.turn(done, claim).await.unwrap();
            if claimed.is_empty() {
                assert!(self.memory.ready(Now.now_ms(), 1).is_empty());
                return;
            }
            for one in &claimed {
                self.model_claim(one, &worker);
            }
            let completed = claimed.into_iter().map(|one| FinishedTask {
                task: one.task.id,
                fence: one.task.fence,
                report: AttemptReport::completed(output.clone()),
            });
            done = completed.collect();
        }
    }

    fn model_claim(&mut self, one: &ClaimedTask, worker: &str) {
        let task = one.task.id.clone();
        let hash = &self.memory.runs[&task.run].workflow;
        assert_eq!(one.workflow.hash(), hash);
        let workflow = &self.workflows[hash];
        let claim = EngineCommand::Claim {
            task: task.clone(),
            worker: worker.to_owned(),
            lease_ms: 60_000,
            rates: Vec::new(),
        };
        let model = self.memory.execute(workflow, &claim, Now.now_ms());
        model.unwrap();
        let reads = &workflow.step(&task.step).unwrap().reads;
        let seen = view(workflow, &mut self.memory, &task, reads);
        assert_eq!(one.state.clone().ok(), seen.ok(), "{task}");
        assert_eq!(one.run_spent, self.memory.runs[&task.run].spent);
    }

    /// A worker takes a task and is never heard of again.
    async fn lapse(&mut self, name: &str) {
        let task = self.task(name);
        self.ok(&EngineCommand::Claim {
            task: task.clone(),
            worker: "gone".to_owned(),
            lease_ms: 1,
            rates: Vec::new(),
        })
        .await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let expired = self.store.expired(10).await.unwrap();
        let fence = self.memory.tasks[&task].fence;
        assert_eq!(expired, [(task.clone(), fence)]);
        self.ok(&EngineCommand::LeaseLost { task, fence }).await;
        assert!(self.store.expired(10).await.unwrap().is_empty());
    }

    /// A heartbeat through the port, for a task that is the worker's and for one that is not.
    async fn beat(&mut self, name: &str, fence: u64) {
        let task = self.task(name);
        let mine = [(task.clone(), fence), (task.clone(), fence + 7)];
        let lost = self.store.heartbeat(&mine, 90_000).await.unwrap();
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].0, task);
        assert_eq!(lost[0].1.kind, RefusalKind::StaleFence);
        let workflow = &self.workflows[&self.memory.runs[&task.run].workflow];
        let command = EngineCommand::Heartbeat {
            task,
            fence,
            lease_ms: 90_000,
        };
        let model = self.memory.execute(workflow, &command, Now.now_ms());
        model.unwrap();
    }

    /// Fires every timer that is due, until none is.
    async fn fire(&mut self) {
        while let Some(timer) = self.store.due(1).await.unwrap().pop() {
            if let TimerPurpose::StartChild { child } = &timer.due {
                let hash = self.hashes[&child.subflow].clone();
                let start = RunStart {
                    parent: Some(child.parent.clone()),
                    depth: child.depth,
                    ..RunStart::new(child.run.clone(), child.input.clone())
                };
                self.start(&hash, start).await;
                self.children.push(child.run.clone());
            }
            let (run, key) = (timer.run, timer.key);
            self.ok(&EngineCommand::Fire { run, key }).await;
        }
        let due = self.memory.due(Now.now_ms());
        assert!(due.is_empty(), "the store lost {due:?}");
    }

    /// Everything that the store has, against everything there should be.
    pub(crate) async fn compare(&self) {
        for (run, row) in &self.memory.runs {
            let stored = self.store.run(run).await.unwrap().unwrap();
            assert_eq!(timeless(&stored), timeless(row));
            let input = self.store.input(run).await.unwrap();
            assert_eq!(input.as_ref(), self.memory.inputs.get(run));
            let events = self.store.events(run, 0, usize::MAX).await.unwrap();
            assert_eq!(timeless(&events), timeless(&self.memory.events[run]));
            let skeleton = RunSkeleton::of(&self.memory, run).unwrap();
            assert_eq!(replay(&events).unwrap(), skeleton);
            for task in self.memory.tasks.keys().filter(|task| task.run == *run) {
                let kept = self.memory.calls.iter().filter(|row| row.task == *task);
                let kept: Vec<_> = kept.map(|row| (row.seq, &row.call.summary)).collect();
                let calls = self.store.calls(task).await.unwrap();
                let calls: Vec<_> = calls
                    .iter()
                    .map(|row| (row.seq, &row.call.summary))
                    .collect();
                assert_eq!(calls, kept);
            }
            let after = self.store.events(run, 1, 1).await.unwrap();
            assert_eq!(after.first(), events.get(1));
            self.compare_tasks(run).await;
        }
        let listed = self.store.runs(None, 100).await.unwrap();
        assert_eq!(listed.len(), self.memory.runs.len());
        let notices = self.store.notices(1_000).await.unwrap();
        let notices: Vec<_> = notices.into_iter().map(|(_, notice)| notice).collect();
        assert_eq!(json!(notices), json!(self.memory.outbox));
    }

    async fn compare_tasks(&self, run: &RunId) {
        let mine = self.memory.tasks.values().filter(|row| row.id.run == *run);
        let all = self
            .store
            .tasks(Some(run), TaskSelection::All, usize::MAX)
            .await;
        let all = all.unwrap();
        assert_eq!(all.len(), mine.clone().count());
        for row in mine {
            let stored = self.store.task(&row.id).await.unwrap().unwrap();
            assert_eq!(timeless(&stored), timeless(row));
            assert!(all.contains(&stored));
        }
        let active = self
            .store
            .tasks(Some(run), TaskSelection::Active, usize::MAX)
            .await;
        let model = all.iter().filter(|row| !row.status.is_terminal()).count();
        assert_eq!(active.unwrap().len(), model);
    }

    pub(crate) fn shown(&self) -> String {
        let runs = self.memory.runs.values();
        let runs = runs.map(|run| run.status.name()).collect::<Vec<_>>();
        runs.join(" ")
    }
}

/// A row without its times, which are never the same twice.
fn timeless(row: &impl serde::Serialize) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    match name.ends_with("_ms") && field.is_u64() {
                        true => *field = json!(0),
                        false => clear(field),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(clear),
            _ => {}
        }
    }
    let mut value = json!(row);
    clear(&mut value);
    value
}
