//! Tells a command: the notice is JSON on its stdin and in its variables.

use std::path::PathBuf;
use std::time::Duration;

use exec::{ChildEnvironment, InheritedVariables};

use super::{DeliveryFuture, NoticeMessage, NoticeReader};
use crate::settings::NotifyRule;
use crate::{ProcessEnvironment, Project};

/// Time limit of a command.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of bytes of a command's output that are read.
const OUTPUT_BYTES_MAX: usize = 4_096;

pub(super) struct CommandReader {
    rule: NotifyRule,
    folder: PathBuf,
}

impl CommandReader {
    pub(super) fn new(rule: NotifyRule, project: &Project, _around: &ProcessEnvironment) -> Self {
        Self {
            rule,
            folder: project.folder().to_owned(),
        }
    }
}

impl NoticeReader for CommandReader {
    fn wants(&self, message: &NoticeMessage) -> bool {
        let NotifyRule {
            on,
            workflow,
            person,
            ..
        } = &self.rule;
        let named = message.workflow.to_lowercase();
        let is_theirs = |person: &String| match &message.notice.assignee {
            Some(assignee) => assignee == person,
            None => true,
        };
        (on.is_empty()
            || on
                .iter()
                .any(|word| message.occasions.contains(word.as_str())))
            && workflow
                .as_ref()
                .is_none_or(|name| named.contains(&name.to_lowercase()))
            && person.as_ref().is_none_or(is_theirs)
    }

    fn deliver<'a>(&'a self, message: &'a NoticeMessage) -> DeliveryFuture<'a> {
        let on: Vec<&str> = message.occasions.iter().copied().collect();
        let notice = &message.notice;
        let task = notice.task.as_ref().map(ToString::to_string);
        let env = ChildEnvironment::inherit(InheritedVariables::All)
            .set("DRAWLOOM_NOTICE", message.id.to_string())
            .set("DRAWLOOM_ON", on.join(","))
            .set("DRAWLOOM_RUN", notice.run.as_str())
            .set("DRAWLOOM_TASK", task.unwrap_or_default())
            .set("DRAWLOOM_WORKFLOW", &message.workflow)
            .set("DRAWLOOM_MESSAGE", &notice.message);
        let invocation = exec::shell(&self.rule.command)
            .cwd(&self.folder)
            .env(env)
            .stdin(format!("{}\n", message.to_json()))
            .timeout(TIMEOUT)
            .output_bytes_max(OUTPUT_BYTES_MAX);
        Box::pin(async move {
            let ran = tokio::task::spawn_blocking(move || exec::run(&invocation)).await;
            let outcome = ran.map_err(|cause| cause.to_string())?;
            let outcome = outcome.map_err(|cause| cause.to_string())?;
            match outcome.is_success() {
                true => Ok(()),
                false => Err(format!("it ended with {:?}", outcome.status)),
            }
        })
    }
}
