//! Scripts over the store in memory: one line, one command.
#![allow(clippy::disallowed_methods, reason = "tests build their own fixtures")]

use flow::engine::{Answer, Command, Report, Start};
use flow::{Memory, TaskId, Workflow};
use serde_json::{Value, json};

/// Runs a script and compares what has become of every task and of the run.
pub(crate) fn check(source: &str, script: &str, expected: &str) {
    let mut stage = Stage::new(source, json!({}));
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        stage.line(line);
    }
    assert_eq!(stage.shown(), expected, "\n{source}\n{script}");
}

pub(crate) struct Stage {
    pub(crate) workflow: Workflow,
    pub(crate) memory: Memory,
    pub(crate) now_ms: u64,
}

impl Stage {
    pub(crate) fn new(source: &str, input: Value) -> Stage {
        let workflow =
            flow::parse(source).unwrap_or_else(|e| panic!("{}", e.report("w.mmd", source)));
        let mut stage = Stage {
            workflow,
            memory: Memory::new(),
            now_ms: 1_000,
        };
        stage.ok(&Command::Start(Start::new("r", input)));
        stage
    }

    pub(crate) fn ok(&mut self, command: &Command) {
        let result = self.memory.execute(&self.workflow, command, self.now_ms);
        result.unwrap_or_else(|refusal| panic!("{command:?}: {refusal:?}"));
    }

    pub(crate) fn line(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ');
        let verb = words.next().unwrap();
        let task: TaskId = format!("r/{}", words.next().unwrap()).parse().unwrap();
        let value = words
            .next()
            .map_or(Value::Null, |json| serde_json::from_str(json).unwrap());
        match verb {
            "done" => {
                self.ok(&Command::Claim {
                    task: task.clone(),
                    worker: "w".into(),
                    lease_ms: 1000,
                });
                let fence = self.memory.tasks[&task].fence;
                self.ok(&Command::Report {
                    task,
                    fence,
                    report: Report::completed(value),
                });
            }
            "answer" => self.ok(&Command::Answer {
                task,
                by: "me".into(),
                answer: Answer::Done { output: value },
            }),
            _ => panic!("{line}"),
        }
    }

    pub(crate) fn shown(&self) -> String {
        let tasks = self.memory.tasks.values().map(|row| {
            let id = row.id.to_string();
            format!("{}:{}", id.trim_start_matches("r/"), row.status.name())
        });
        let run = self.memory.runs.values().next().unwrap();
        let mut shown: Vec<String> = tasks.collect();
        shown.push(format!("run:{}", run.status.name()));
        shown.join(" ")
    }
}
