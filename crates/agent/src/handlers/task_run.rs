//! One run of a handler: its task, its conversation, and the report as it grows.

use llm::SystemBlock;
use workspace::{ChangeSet, RelPath};

use super::context::{self, TaskContext};
use super::event::{TaskEvent, TaskObserver};
use super::handler_context::{ChosenModel, HandlerContext};
use super::result::{
    AiResult, ArtifactState, FailureKind, OverallStatus, TaskFailure, TaskReport, TaskResult,
};
use super::{TaskInput, artifact, validation};
use crate::conversation::{Conversation, ConversationConfig};
use crate::error::Error;
use crate::journal::TurnJournal;
use crate::reply::ReplyVerdict;
use crate::run::{self, LoopConfig};
use crate::tool::{FileChangeKind, ToolAction};
use crate::toolset::AgentTools;

pub(super) type HandlerResult = Result<TaskResult, TaskFailure>;

pub(super) struct TaskRun<'a> {
    pub(super) bench: &'a HandlerContext<'a>,
    pub(super) order: TaskInput<'a>,
    journal: &'a mut dyn TurnJournal,
    pub(super) observer: &'a mut dyn TaskObserver,
    pub(super) report: TaskReport,
    /// Files that the handler itself wrote.
    written: Vec<RelPath>,
}

/// A conversation with the model that was chosen for the task.
pub(super) struct TaskConversation {
    conversation: Conversation,
    chosen: ChosenModel,
    /// Times the model said that it is done, counted over the whole conversation.
    pub(super) answers: u32,
}

impl<'a> TaskRun<'a> {
    pub(super) fn new(
        bench: &'a HandlerContext<'a>,
        order: TaskInput<'a>,
        journal: &'a mut dyn TurnJournal,
        observer: &'a mut dyn TaskObserver,
    ) -> TaskRun<'a> {
        TaskRun {
            bench,
            order,
            journal,
            observer,
            report: TaskReport::default(),
            written: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self) {
        let task = self.order.task;
        self.observer.notice_task(&TaskEvent::TaskStarted {
            task: &task.subtask_id,
            name: task.title(),
            kind: task.kind,
        });
    }

    pub(super) fn end(&mut self, ended: &HandlerResult) {
        let task = &self.order.task.subtask_id;
        let event = match ended {
            Ok(result) => TaskEvent::TaskCompleted {
                task,
                message: &result.message,
                status: result.report.validation_details.overall_status,
            },
            Err(failure) => TaskEvent::TaskFailed {
                task,
                message: &failure.message,
            },
        };
        self.observer.notice_task(&event);
    }

    /// Ends the task as done.
    pub(super) fn result(&mut self, message: impl Into<String>) -> TaskResult {
        TaskResult {
            message: message.into(),
            report: std::mem::take(&mut self.report),
        }
    }

    /// Ends the task as failed.
    pub(super) fn fail(&mut self, kind: FailureKind, message: impl Into<String>) -> TaskFailure {
        TaskFailure::new(kind, message, std::mem::take(&mut self.report))
    }

    /// Ends the task as stopped.
    pub(super) fn stop(&mut self, error: &Error) -> TaskFailure {
        TaskFailure::stopped(error, std::mem::take(&mut self.report))
    }

    /// Reads the input artifacts; what cannot be shown becomes a note and an event.
    pub(super) fn gather_context(&mut self) -> TaskContext {
        let context = context::gather(self.bench, self.order);
        let task = &self.order.task.subtask_id;
        for note in &context.notes {
            self.observer
                .notice_task(&TaskEvent::ContextNoted { task, note });
        }
        self.observer.notice_task(&TaskEvent::ContextGathered {
            task,
            artifacts: context.artifacts,
            tokens: context.tokens,
        });
        self.report.context_notes.clone_from(&context.notes);
        context
    }

    /// Opens the task's conversation and says the prompt, unless that was said before.
    pub(super) async fn open(
        &mut self,
        system: Vec<SystemBlock>,
        prompt: String,
    ) -> Result<TaskConversation, TaskFailure> {
        let preference = self.order.task.model_preference.as_ref();
        let chosen = match self.bench.models.choose(preference) {
            Ok(chosen) => chosen,
            Err(error) => return Err(self.stop(&error)),
        };
        let history = match self.journal.load().await {
            Ok(history) => history,
            Err(error) => return Err(self.stop(&error)),
        };
        let turns = history.turns.iter();
        let finals = turns.filter(|turn| turn.reply.verdict() == ReplyVerdict::Final);
        let answers = u32::try_from(finals.count()).unwrap_or(u32::MAX);
        let setting = ConversationConfig {
            model: chosen.name.clone(),
            system,
            max_tokens: chosen.max_tokens,
            temperature: chosen.temperature,
        };
        let mut conversation = Conversation::open(setting, history);
        if conversation.is_fresh() {
            conversation.say(prompt);
        }
        Ok(TaskConversation {
            conversation,
            chosen,
            answers,
        })
    }

    /// Runs the loop until the model is done; its last words are in the report as well.
    pub(super) async fn ask(
        &mut self,
        talk: &mut TaskConversation,
        toolset: &AgentTools,
    ) -> Result<String, TaskFailure> {
        let had_answered = talk.conversation.answer().is_some();
        let is_first = talk.answers == 0 || (talk.answers == 1 && had_answered);
        let job = LoopConfig {
            model: &*talk.chosen.model,
            toolset,
            limits: self.bench.limits,
            clock: self.bench.clock,
            cancel: self.bench.cancel,
            phase: if is_first { "generate" } else { "repair" },
        };
        let ended = run::run(&job, &mut talk.conversation, self.journal, self.observer).await;
        self.report.usage = talk.conversation.totals().clone();
        self.note_written(&talk.conversation);
        match ended {
            Ok(finished) => {
                talk.answers += u32::from(!had_answered);
                let content = finished.text;
                self.report.ai_result = Some(AiResult {
                    content: content.clone(),
                });
                Ok(content)
            }
            Err(stopped) => Err(self.stop(&stopped.error)),
        }
    }

    /// Tells the model what is wrong.
    pub(super) fn feed_back(
        &mut self,
        talk: &mut TaskConversation,
        retries_max: u32,
        text: String,
    ) {
        self.observer.notice_task(&TaskEvent::FedBack {
            task: &self.order.task.subtask_id,
            retry: talk.answers,
            retries_max,
            text: &text,
        });
        talk.conversation.say(text);
    }

    /// Checks the criteria and the output artifacts. The words for the model, if something is
    /// wrong.
    pub(super) async fn validate(&mut self) -> Result<Option<String>, TaskFailure> {
        let checked = validation::check(self).await;
        self.report.validation_details = match checked {
            Ok(details) => details,
            Err(error) => return Err(self.stop(&error)),
        };
        let task = self.order.task;
        self.report.output_artifacts =
            artifact::states(self.bench.workspace, task, &self.report.files_written);
        Ok(validation::feedback(
            &self.report,
            self.bench.limits.output_bytes_max,
        ))
    }

    /// Turns the outcome of the checks into the end of the task: the message of its result, or of
    /// its failure.
    pub(super) fn verdict(&mut self, done: &str) -> HandlerResult {
        let missing = |state: &ArtifactState| *state == ArtifactState::Missing;
        let artifacts = self.report.output_artifacts.iter();
        let missing: Vec<String> = artifacts
            .filter(|artifact| missing(&artifact.state))
            .map(|artifact| format!("`{}`", artifact.path))
            .collect();
        let details = &self.report.validation_details;
        if details.overall_status == OverallStatus::Failed {
            let message = format!(
                "Task `{}` failed validation: {}",
                self.order.task.subtask_id,
                validation::failures(details)
            );
            return Err(self.fail(FailureKind::Validation, message));
        }
        if !missing.is_empty() {
            let message = format!(
                "Task `{}` left out output artifacts that have to be there: {}.",
                self.order.task.subtask_id,
                missing.join(", ")
            );
            return Err(self.fail(FailureKind::MissingArtifact, message));
        }
        let message = validation::message(done, details);
        Ok(self.result(message))
    }

    /// Writes one file, all of it or nothing, if the policy permits.
    pub(super) fn write(&mut self, path: &RelPath, text: &str) -> Result<(), TaskFailure> {
        let mut bytes = text.trim_end().to_owned();
        bytes.push('\n');
        let mut changes = ChangeSet::new();
        changes.write(path.clone(), bytes);
        if let Err(error) = self.bench.workspace.apply(&changes) {
            return Err(self.fail(FailureKind::Files, error.to_string()));
        }
        self.written.push(path.clone());
        self.report.files_written.push(path.clone());
        self.report.files_written.sort();
        self.report.files_written.dedup();
        Ok(())
    }

    /// Fails before the model is paid if a file that has to be written may not be.
    pub(super) fn check_writable(&mut self, path: &RelPath) -> Result<(), TaskFailure> {
        let mut changes = ChangeSet::new();
        changes.write(path.clone(), Vec::new());
        match self.bench.workspace.check(&changes) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fail(FailureKind::Files, error.to_string())),
        }
    }

    fn note_written(&mut self, conversation: &Conversation) {
        let deeds = conversation.deeds().iter();
        let wrote = deeds.filter_map(|deed| match deed {
            ToolAction::Wrote { path, change, .. } if *change != FileChangeKind::Deleted => {
                Some(path.clone())
            }
            _ => None,
        });
        let mut files: Vec<RelPath> = wrote.chain(self.written.iter().cloned()).collect();
        files.sort();
        files.dedup();
        self.report.files_written = files;
    }
}
