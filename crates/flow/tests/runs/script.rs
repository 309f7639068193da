//! Scripts over the store in memory: one line, one command or one expectation.
//!
//! After every command the events are replayed and held against the rows.

use std::collections::BTreeMap;

use flow::engine::{
    AttemptFailure, AttemptOutcome, AttemptReport, CommandRefusal, EngineCommand, EngineDecision,
    FailureClass, RunStart, TaskAnswer, TimerPurpose,
};
use flow::engine::{ChildEnd, EventKind};
use flow::{MemoryRows, RunId, RunSkeleton, TaskId, TextHash, Workflow, replay};
use serde_json::{Value, json};

/// A foreach between two tasks.
pub(crate) const EACH: &str = "A[List] --> C[[Each: Thing]]\n C --> J[Join all]\n J --> Z[End]";

/// A diagram with a config block.
pub(crate) fn with(diagram: &str, configs: &[(&str, &str)]) -> String {
    let mut text = format!("graph TD\n{diagram}\n%% === WORKFLOW_CONFIG ===\n");
    for (id, json) in configs {
        text.push_str(&format!("%% @{id}: {json}\n"));
    }
    text + "%% === END_CONFIG ===\n"
}

/// Runs a script and compares the final state of every task and of the run.
pub(crate) fn check(source: &str, script: &str, expected: &str) {
    check_with(&[("main", source)], json!({}), script, expected);
}

/// The same with an input and with workflows for subflows; the first is the one that runs.
pub(crate) fn check_with(sources: &[(&str, &str)], input: Value, script: &str, expected: &str) {
    let mut stage = Stage::new(sources, input);
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        stage.line(line);
    }
    assert_eq!(
        stage.shown(),
        expected.split_whitespace().collect::<Vec<_>>().join(" "),
        "\n{script}"
    );
}

pub(crate) struct Stage {
    pub(crate) workflows: BTreeMap<String, Workflow>,
    by_hash: BTreeMap<TextHash, Workflow>,
    pub(crate) memory: MemoryRows,
    pub(crate) now_ms: u64,
    children: Vec<RunId>,
}

impl Stage {
    pub(crate) fn new(sources: &[(&str, &str)], input: Value) -> Stage {
        let mut workflows = BTreeMap::new();
        for (name, source) in sources {
            let workflow = flow::parse(source);
            let workflow = workflow.unwrap_or_else(|e| panic!("{}", e.report(name, source)));
            workflows.insert((*name).to_owned(), workflow);
        }
        let by_hash = workflows
            .values()
            .map(|w| (w.hash().clone(), w.clone()))
            .collect();
        let mut stage = Stage {
            by_hash,
            memory: MemoryRows::new(),
            now_ms: 1_000,
            children: Vec::new(),
            workflows,
        };
        let workflow = stage.workflows[sources[0].0].clone();
        let start = EngineCommand::Start(RunStart::new("r", input));
        stage
            .memory
            .execute(&workflow, &start, stage.now_ms)
            .unwrap();
        stage.hold_to_events();
        stage
    }

    pub(crate) fn execute(
        &mut self,
        command: &EngineCommand,
    ) -> Result<EngineDecision, CommandRefusal> {
        let hash = match command {
            EngineCommand::Move { to, .. } => Some(to.clone()),
            _ => {
                let run = self.memory.runs.get(command.run());
                run.map(|run| run.workflow.clone())
            }
        };
        let workflow = hash.and_then(|hash| self.by_hash.get(&hash).cloned());
        let workflow = workflow.unwrap_or_else(|| self.workflows.values().next().unwrap().clone());
        let result = self.memory.execute(&workflow, command, self.now_ms);
        self.hold_to_events();
        result
    }

    fn ok(&mut self, command: &EngineCommand) {
        let result = self.execute(command);
        result.unwrap_or_else(|refusal| panic!("{command:?}: {refusal:?}"));
    }

    fn hold_to_events(&self) {
        for run in self.memory.runs.keys() {
            let replayed = replay(&self.memory.events[run]).unwrap();
            assert_eq!(replayed, RunSkeleton::of(&self.memory, run).unwrap());
        }
    }

    /// `A`, `C[0]/B`, or `@1/A` for a task of the first child run.
    fn task(&self, name: &str) -> TaskId {
        let (run, rest) = match name.strip_prefix('@') {
            Some(child) => {
                let (number, rest) = child.split_once('/').unwrap();
                (
                    self.children[number.parse::<usize>().unwrap() - 1].clone(),
                    rest,
                )
            }
            None => (RunId::new("r"), name),
        };
        format!("{run}/{rest}")
            .parse()
            .unwrap_or_else(|e| panic!("{e}"))
    }

    /// Returns the prompt of a task.
    pub(crate) fn prompt(&mut self, task: &str) -> String {
        let task = self.task(task);
        let workflow = self.workflows["main"].clone();
        let step = workflow.step(&task.step).unwrap();
        let text = step.config.prompt.clone().unwrap();
        let reads = flow::expression::text_reads(&text);
        let state = flow::engine::view(&workflow, &mut self.memory, &task, &reads).unwrap();
        flow::layers::prompt(step, &state).unwrap().text
    }

    fn claim(&mut self, task: &TaskId) -> u64 {
        self.ok(&EngineCommand::Claim {
            task: task.clone(),
            worker: "w".to_owned(),
            lease_ms: 60_000,
            rates: Vec::new(),
        });
        self.memory.tasks[task].fence
    }

    fn report(&mut self, task: TaskId, outcome: AttemptOutcome) {
        let row = &self.memory.tasks[&task];
        let fence = match row.status.name() {
            "in_progress" => row.fence,
            _ => self.claim(&task),
        };
        let report = AttemptReport::of(outcome);
        self.ok(&EngineCommand::Report {
            task,
            fence,
            report,
        });
    }

    pub(crate) fn line(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(outcome) = outcome(verb, more) {
            return self.report(self.task(name), outcome);
        }
        match verb {
            "claim" => {
                let task = self.task(name);
                self.claim(&task);
            }
            "wait" => self.now_ms += name.parse::<u64>().unwrap(),
            "fire" => self.fire(),
            "start" => self.start(name, more),
            "expire" => {
                for (task, fence) in self.memory.expired(self.now_ms) {
                    self.ok(&EngineCommand::LeaseLost { task, fence });
                }
            }
            "expect" => self.expect(name, more),
            "refused" => {
                let command = self.command(more);
                let refusal = self.execute(&command).expect_err(line);
                assert_eq!(json!(refusal.kind), json!(name), "{line}: {refusal}");
            }
            _ => {
                let command = self.command(line);
                self.ok(&command);
            }
        }
    }

    /// The commands that are nothing but one command.
    fn command(&self, line: &str) -> EngineCommand {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let run = RunId::new("r");
        match verb {
            "cancel" => EngineCommand::Cancel {
                run: match name.strip_prefix('@') {
                    Some(child) => self.children[child.parse::<usize>().unwrap() - 1].clone(),
                    None => run,
                },
                reason: "Enough.".to_owned(),
            },
            "pause" => EngineCommand::Pause {
                run,
                reason: "A break.".to_owned(),
            },
            "resume" => EngineCommand::Resume { run },
            "move" => EngineCommand::Move {
                to: self.workflows[name].hash().clone(),
                seq: match more {
                    "late" => 0,
                    _ => self.memory.runs[&run].seq,
                },
                run,
            },
            "signal" => EngineCommand::Signal {
                run,
                name: name.to_owned(),
                payload: value(more),
            },
            _ => self.command_of(verb, self.task(name), more),
        }
    }

    fn command_of(&self, verb: &str, task: TaskId, more: &str) -> EngineCommand {
        let answer = match verb {
            "answer" => Some(TaskAnswer::Done {
                output: value(more),
            }),
            "accept" => Some(TaskAnswer::Accept),
            "reject" => Some(TaskAnswer::Failed {
                message: more.to_owned(),
            }),
            _ => None,
        };
        if let Some(answer) = answer {
            return EngineCommand::Answer {
                task,
                by: "me".to_owned(),
                answer,
            };
        }
        match verb {
            "retry" => EngineCommand::Retry {
                task,
                with: (!more.is_empty()).then(|| value(more).as_object().unwrap().clone()),
            },
            "rerun" => EngineCommand::Rerun { task },
            "assign" => EngineCommand::Assign {
                task,
                assignee: Some(more.to_owned()),
            },
            "take" => EngineCommand::Claim {
                task,
                worker: "v".to_owned(),
                lease_ms: 1,
                rates: Vec::new(),
            },
            "late" => {
                let (fence, output) = more.split_once(' ').unwrap();
                let report = AttemptReport::completed(value(output));
                EngineCommand::Report {
                    task,
                    fence: fence.parse().unwrap(),
                    report,
                }
            }
            "beat" => EngineCommand::Heartbeat {
                task,
                fence: more.parse().unwrap(),
                lease_ms: 60_000,
            },
            "lost" => {
                let end = ChildEnd::Failed {
                    message: more.to_owned(),
                    class: None,
                };
                let child = RunId::child_of(&task, self.memory.tasks[&task].fence);
                EngineCommand::ChildEnded { task, child, end }
            }
            _ => panic!("{verb}"),
        }
    }

    /// Begins another run of the first workflow, which is then `@1` and so on.
    fn start(&mut self, name: &str, more: &str) {
        let (priority, input) = more.split_once(' ').unwrap_or((more, "{}"));
        let start = EngineCommand::Start(RunStart {
            priority: priority.parse().unwrap_or(0),
            ..RunStart::new(name, value(input))
        });
        self.ok(&start);
        self.children.push(RunId::new(name));
    }

    /// Fires every timer that is due, until none is.
    fn fire(&mut self) {
        while let Some(timer) = self.memory.due(self.now_ms).into_iter().next() {
            if let TimerPurpose::StartChild { child } = &timer.due {
                let workflow = self.workflows[&child.subflow].clone();
                let start = RunStart {
                    parent: Some(child.parent.clone()),
                    depth: child.depth,
                    ..RunStart::new(child.run.clone(), child.input.clone())
                };
                let start = EngineCommand::Start(start);
                let started = self.memory.execute(&workflow, &start, self.now_ms);
                if started.is_ok() {
                    self.children.push(child.run.clone());
                }
            }
            self.ok(&EngineCommand::Fire {
                run: timer.run,
                key: timer.key,
            });
        }
    }

    fn expect(&self, name: &str, more: &str) {
        let run = &self.memory.runs[&RunId::new("r")];
        match name {
            "reason" => assert_eq!(run.reason.as_deref().unwrap_or(""), more),
            "result" => {
                let result = run
                    .result
                    .as_ref()
                    .map(|task| self.memory.tasks[task].output.clone());
                let expected: Value = serde_json::from_str(more).unwrap();
                assert_eq!(result.flatten(), Some(expected));
            }
            "ready" => {
                let ready = self.memory.ready(self.now_ms, 99);
                let ready: Vec<String> = ready.iter().map(TaskId::to_string).collect();
                assert_eq!(ready.join(" "), more);
            }
            "room" => {
                let rows = self.memory.slots.values();
                let rows = rows.map(|row| match row.is_held {
                    true => row.holder.clone(),
                    false => format!("({})", row.holder),
                });
                assert_eq!(rows.collect::<Vec<_>>().join(" "), more);
            }
            "decided" => assert_eq!(self.decided(), more),
            "late" => {
                let late =
                    |e: &&flow::engine::RunEvent| matches!(e.what, EventKind::CameLate { .. });
                let count = self.memory.events[&run.id].iter().filter(late).count();
                assert_eq!(count.to_string(), more);
            }
            "notices" => {
                let kinds = self.memory.outbox.iter().map(|notice| json!(notice.kind));
                let kinds: Vec<String> = kinds
                    .map(|kind| kind.as_str().unwrap().to_owned())
                    .collect();
                assert_eq!(kinds.join(" "), more);
            }
            "input" => {
                let run = &self.children[0];
                let expected: Value = serde_json::from_str(more).unwrap();
                assert_eq!(self.memory.inputs[run], expected);
            }
            task => {
                let row = &self.memory.tasks[&self.task(task)];
                let (field, expected) = more.split_once(' ').unwrap();
                let found = match field {
                    "output" => row.output.clone().unwrap_or_default(),
                    "hold" => json!(row.hold.as_ref().map(|hold| hold.kind)),
                    "why" => json!(row.hold.as_ref().map(|hold| hold.reason.clone())),
                    "attempt" => json!(row.attempt),
                    "assignee" => json!(row.assignee),
                    "failure" => json!(row.failure.as_ref().map(|f| f.message.clone())),
                    _ => panic!("{field}"),
                };
                let expected =
                    serde_json::from_str(expected).unwrap_or_else(|_| Value::from(expected));
                assert_eq!(found, expected, "{task} {field}");
            }
        }
    }

    /// The branches that were taken, as `E>F`.
    fn decided(&self) -> String {
        let events = self.memory.events[&RunId::new("r")].iter();
        let decided = events.filter_map(|event| match &event.what {
            EventKind::Decided { decision, to, .. } => Some(format!("{decision}>{to}")),
            _ => None,
        });
        decided.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn shown(&self) -> String {
        let mut shown = Vec::new();
        for (number, run) in [RunId::new("r")].iter().chain(&self.children).enumerate() {
            let mark = if number == 0 {
                String::new()
            } else {
                format!("@{number}/")
            };
            let tasks = self.memory.tasks.values().filter(|row| row.id.run == *run);
            for row in tasks {
                let id = row.id.to_string();
                let id = id.split_once('/').unwrap().1;
                shown.push(format!("{mark}{id}:{}", row.status.name()));
            }
            shown.push(format!("{mark}run:{}", self.memory.runs[run].status.name()));
        }
        shown.join(" ")
    }
}

/// Reads the value after a verb: JSON, or the words as they are.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The outcome that a verb reports.
fn outcome(verb: &str, more: &str) -> Option<AttemptOutcome> {
    let reason = more.to_owned();
    Some(match verb {
        "done" => AttemptOutcome::Completed {
            output: value(more),
            partial: false,
        },
        "fail" => {
            let (class, message) = more.split_once(' ').unwrap_or((more, "It failed."));
            let class: FailureClass = serde_json::from_value(json!(class)).unwrap();
            AttemptOutcome::Failed(AttemptFailure {
                class,
                message: message.to_owned(),
            })
        }
        "ask" => AttemptOutcome::Asked {
            reason,
            output: None,
        },
        "unsure" => AttemptOutcome::Unsure {
            reason: "Not sure.".to_owned(),
            output: value(more),
        },
        "continue" => AttemptOutcome::Continue {
            note: reason,
            output: None,
        },
        "back" => AttemptOutcome::GivenBack,
        "budget" => AttemptOutcome::OverBudget {
            reason: "Too dear.".to_owned(),
            budget: None,
        },
        _ => return None,
    })
}
