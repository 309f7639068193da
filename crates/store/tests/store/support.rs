//! A database in a folder of its own, and turns to put into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::{AgentClock, ConversationTurn, FileChangeKind, ModelReply, ToolAction, TurnNote};
use llm::budget::{SpendEntry, TokenCountSource};
use llm::{
    CallCost, ChatMessage, MessagePart, Provider, StopReason, ToolArguments, ToolCall, ToolOutcome,
    ToolResult, Usage,
};
use store::{NewRun, Options, RunKind, SqliteDatabase};
use workspace::RelPath;

pub(crate) struct Fixed;

impl AgentClock for Fixed {
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

pub(crate) async fn opened(folder: &Path) -> SqliteDatabase {
    SqliteDatabase::open(&place(folder), options())
        .await
        .unwrap()
}

pub(crate) fn new_run(name: &str) -> NewRun {
    NewRun {
        kind: RunKind::Plan,
        name: name.to_owned(),
        digest: "d1".to_owned(),
    }
}

/// A turn with everything that a turn can have in it.
pub(crate) fn turn(number: u32) -> ConversationTurn {
    let result = ToolResult {
        id: format!("call-{number}"),
        name: "write_file".to_owned(),
        content: format!("{{\"written\":{number},\"text\":\"ä ␀ \\u0000 '\\\"\"}}"),
        outcome: ToolOutcome::Done,
    };
    let deed = ToolAction::Wrote {
        path: RelPath::parse("src/a.rs").unwrap(),
        change: FileChangeKind::Created,
        lines_added: 3,
        lines_removed: 0,
        bytes: 42,
    };
    ConversationTurn {
        reply: reply(number),
        results: vec![result],
        deeds: vec![deed],
        at_ms: 1_700_000_000_000 + u64::from(number),
        duration_ms: 12,
    }
}

pub(crate) fn reply(number: u32) -> ModelReply {
    let call = ToolCall {
        id: format!("call-{number}"),
        name: "write_file".to_owned(),
        arguments: ToolArguments::read("{\"path\":\"src/a.rs\",\"content\":\"half a"),
        signature: None,
    };
    let mut answer = ChatMessage::assistant(format!("answer {number}"));
    answer.parts.push(MessagePart::ToolCall(call));
    ModelReply {
        turn: number,
        phase: "generate".to_owned(),
        asked: vec![ChatMessage::user(format!("question {number}"))],
        answer,
        stop: StopReason::ToolUse,
        calls: vec![entry(CallCost::Known(25))],
        duration_ms: 10,
    }
}

pub(crate) fn entry(cost: CallCost) -> SpendEntry {
    SpendEntry {
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
        counted: TokenCountSource::ByProvider,
    }
}

pub(crate) fn replied(number: u32) -> TurnNote {
    TurnNote::Replied {
        reply: Box::new(reply(number)),
    }
}

pub(crate) fn charged(turn: u32) -> TurnNote {
    TurnNote::Charged {
        turn,
        phase: "generate".to_owned(),
        calls: vec![entry(CallCost::Unknown)],
    }
}

pub(crate) fn ended(turn: u32, call: u32) -> TurnNote {
    TurnNote::Ended {
        turn,
        call,
        result: self::turn(turn).results.remove(0),
        deeds: self::turn(turn).deeds,
    }
}
