//! A database in a folder of its own, and turns to put into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{Clock, Deed, FileChange, Note, Reply, Turn};
use llm::budget::{Counted, Entry};
use llm::{Arguments, Cost, Message, Outcome, Part, Provider, Stop, ToolCall, ToolResult, Usage};
use store::{NewRun, Options, RunKind, Store};
use workspace::RelPath;

pub(crate) struct Fixed;

impl Clock for Fixed {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

pub(crate) fn options() -> Options {
    Options {
        clock: Arc::new(Fixed),
        scrub: None,
        bytes_max: None,
        pid: std::process::id(),
    }
}

pub(crate) fn place(folder: &Path) -> PathBuf {
    folder.join(".drawloom").join("drawloom.db")
}

pub(crate) async fn opened(folder: &Path) -> Store {
    Store::open(&place(folder), options()).await.unwrap()
}

pub(crate) fn new_run(name: &str) -> NewRun {
    NewRun {
        kind: RunKind::Plan,
        name: name.to_owned(),
        digest: "d1".to_owned(),
    }
}

/// A turn with everything that a turn can have in it.
pub(crate) fn turn(number: u32) -> Turn {
    let result = ToolResult {
        id: format!("call-{number}"),
        name: "write_file".to_owned(),
        content: format!("{{\"written\":{number},\"text\":\"ä ␀ \\u0000 '\\\"\"}}"),
        outcome: Outcome::Done,
    };
    let deed = Deed::Wrote {
        path: RelPath::parse("src/a.rs").unwrap(),
        change: FileChange::Created,
        lines_added: 3,
        lines_removed: 0,
        bytes: 42,
    };
    Turn {
        reply: reply(number),
        results: vec![result],
        deeds: vec![deed],
        at_ms: 1_700_000_000_000 + u64::from(number),
        duration_ms: 12,
    }
}

pub(crate) fn reply(number: u32) -> Reply {
    let call = ToolCall {
        id: format!("call-{number}"),
        name: "write_file".to_owned(),
        arguments: Arguments::read("{\"path\":\"src/a.rs\",\"content\":\"half a"),
        signature: None,
    };
    let mut answer = Message::assistant(format!("answer {number}"));
    answer.parts.push(Part::ToolCall(call));
    Reply {
        turn: number,
        phase: "generate".to_owned(),
        asked: vec![Message::user(format!("question {number}"))],
        answer,
        stop: Stop::ToolUse,
        calls: vec![entry(Cost::Known(25))],
        duration_ms: 10,
    }
}

pub(crate) fn entry(cost: Cost) -> Entry {
    Entry {
        provider: Provider::Anthropic,
        model: "claude-sonnet-4-5".to_owned(),
        usage: Usage {
            input: 10,
            output: 5,
            cache_read: 3,
            cache_write: 2,
            reasoning: 1,
        },
        cost,
        counted: Counted::ByProvider,
    }
}

pub(crate) fn replied(number: u32) -> Note {
    Note::Replied {
        reply: Box::new(reply(number)),
    }
}

pub(crate) fn charged(turn: u32) -> Note {
    Note::Charged {
        turn,
        phase: "generate".to_owned(),
        calls: vec![entry(Cost::Unknown)],
    }
}

pub(crate) fn ended(turn: u32, call: u32) -> Note {
    Note::Ended {
        turn,
        call,
        result: self::turn(turn).results.remove(0),
        deeds: self::turn(turn).deeds,
    }
}
