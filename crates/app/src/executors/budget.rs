//! Limits the spending of an attempt: checks the budgets of its step, its run and the day before
//! every call of a model, from any handler.
//!
//! The store knows the reported spending. The unreported spending of running attempts in this
//! process is added to it; that of other processes is known once they report it. A call is made
//! while anything is left, so the calls in flight may exceed a limit, but no later call is made.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::AgentClock as _;
use flow::engine::{
    AttemptOutcome, AttemptReport, BudgetScope, EventKind, RunRow, RunStatus, SpentAmount,
    StatusMove, TaskRow, TaskStatus,
};
use flow::{RunId, StoreError, TaskId, TaskSelection, WorkflowStore};
use llm::budget::SpendEntry;
use llm::usage::{CallCost, dollars};

use super::{ExecutorContext, FailureClass, StepAttempt, failed};
use crate::ai::AiOverrides;
use crate::tasks::clock::SystemClock;

/// Interval between refreshes of other processes' spending.
const LOOK_EVERY_MS: u64 = 2_000;
/// Number of the newest runs that are added up for a day: first, and at most. Runs that have not
/// ended are added up as well.
const RUNS_FIRST: usize = 1_000;
const RUNS_MAX: usize = 100_000;
/// Number of tasks of one of them.
const TASKS_MAX: usize = 20_000;
/// Number of events that are read at a time.
const EVENTS_MAX: usize = 5_000;
const DAY_MS: u64 = 86_400_000;
/// Beginning of the sentence about a step's own budget. Events of earlier versions name the budget
/// only there.
const OF_STEP: &str = "The step's `budget.";

/// The spending this process knows: the unreported payments of its attempts, and the day's spending
/// at the last refresh. If an attempt is stopped before it could report, its payments stay here
/// until the next attempt of its task reports them.
#[derive(Debug, Default)]
pub(crate) struct UnreportedSpend(Mutex<SpendState>);

#[derive(Debug, Default)]
struct SpendState {
    unreported: BTreeMap<TaskId, SpentAmount>,
    day: DailySpend,
}

/// The spending of all runs in a day.
#[derive(Clone, Copy, Debug, Default)]
struct DailySpend {
    looked_ms: u64,
    spent: SpentAmount,
}

impl UnreportedSpend {
    /// Takes the payments for a task; the caller must report them.
    pub(crate) fn take(&self, task: &TaskId) -> SpentAmount {
        let mut drawer = self.lock();
        let paid = drawer.unreported.remove(task).unwrap_or_default();
        // The store has it at the next refresh; until then it is counted here.
        drawer.day.spent = sum(drawer.day.spent, paid);
        paid
    }

    fn lock(&self) -> MutexGuard<'_, SpendState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Likelihood that a handler calls a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelUse {
    /// It is not begun without a budget.
    Surely,
    /// It is stopped at its first call.
    Perhaps,
}

/// Runs work that may spend, within the budgets, and adds the spending to its report. Work that
/// stopped because a budget is used up counts as over budget, not as failed.
///
/// A report that already has spending covers all attempts of the work, as far as they were
/// recorded: if a worker died, its attempt's spending is counted with the next one.
pub(super) async fn within_budget<W: Future<Output = AttemptReport>>(
    job: &StepAttempt,
    asks: ModelUse,
    work: impl FnOnce(AiOverrides) -> W,
) -> AttemptReport {
    let purse = match AttemptBudget::open(job).await {
        Ok(purse) => Arc::new(purse),
        Err(error) => return failed(FailureClass::Unavailable, error.message),
    };
    if asks == ModelUse::Surely
        && let Some(refusal) = purse.refusal(CallCost::NOTHING)
    {
        return AttemptReport::of(refusal.into());
    }
    let mut wish = job.hands.wish.clone();
    wish.purse = Some(Arc::<AttemptBudget>::clone(&purse));
    let mut work = pin!(work(wish));
    let mut report = loop {
        tokio::select! {
            report = &mut work => break report,
            () = tokio::time::sleep(Duration::from_millis(LOOK_EVERY_MS)) => {
                // If the store cannot be read, the last known figures hold until the next refresh.
                let _ = purse.look().await;
            }
        }
    };
    let paid = job.hands.till.take(&job.task.id);
    let whole = report.spent;
    report.spent = SpentAmount {
        tokens: paid
            .tokens
            .max(whole.tokens.saturating_sub(job.task.spent.tokens)),
        micros: paid
            .micros
            .max(whole.micros.saturating_sub(job.task.spent.micros)),
    };
    let refused = purse.books().refused.take();
    if let (AttemptOutcome::Failed(_) | AttemptOutcome::OverBudget { .. }, Some(refusal)) =
        (&report.outcome, refused)
    {
        report.outcome = refusal.into();
    }
    report
}

/// The budgets of one attempt, and its spending.
struct AttemptBudget {
    hands: Arc<ExecutorContext>,
    task: TaskId,
    /// The spending of the task before this attempt.
    before: SpentAmount,
    caps: Vec<BudgetLimit>,
    books: Mutex<AttemptTotals>,
}

#[derive(Clone, Debug, Default)]
struct AttemptTotals {
    run: SpentAmount,
    /// The refusal of the last call.
    refused: Option<BudgetRefusal>,
}

/// One limit.
#[derive(Clone, Debug)]
struct BudgetLimit {
    whose: BudgetScope,
    most: LimitAmount,
    /// Begins the sentence that says that it is used up.
    setting: String,
}

/// The refusal of a call: the budget that is used up, and a sentence about it.
#[derive(Clone, Debug)]
struct BudgetRefusal {
    scope: BudgetScope,
    reason: String,
}

impl From<BudgetRefusal> for AttemptOutcome {
    fn from(refusal: BudgetRefusal) -> AttemptOutcome {
        AttemptOutcome::OverBudget {
            reason: refusal.reason,
            budget: Some(refusal.scope),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitAmount {
    Tokens(u64),
    Micros(u64),
}

impl AttemptBudget {
    async fn open(job: &StepAttempt) -> Result<AttemptBudget, StoreError> {
        let purse = AttemptBudget {
            hands: Arc::clone(&job.hands),
            task: job.task.id.clone(),
            before: job.task.spent,
            caps: caps(job).await?,
            books: Mutex::new(AttemptTotals {
                run: job.run_spent,
                ..AttemptTotals::default()
            }),
        };
        purse.look_at_day().await?;
        Ok(purse)
    }

    /// Refreshes the spending of other processes, as far as a limit needs it.
    async fn look(&self) -> Result<(), StoreError> {
        if self.has(BudgetScope::Run) {
            let run = self.hands.store.run(&self.task.run).await?;
            self.books().run = run.map(|run| run.spent).unwrap_or_default();
        }
        self.look_at_day().await
    }

    /// Refreshes the day's spending. One refresh serves all attempts of this process for a while,
    /// unless a day has begun meanwhile.
    async fn look_at_day(&self) -> Result<(), StoreError> {
        let now_ms = SystemClock.now_ms();
        let known = self.hands.till.lock().day.looked_ms;
        let is_fresh = now_ms.abs_diff(known) < LOOK_EVERY_MS && now_ms / DAY_MS == known / DAY_MS;
        if self.has(BudgetScope::Day) && !is_fresh {
            let spent = of_day(&*self.hands.store, now_ms).await?;
            let looked_ms = now_ms;
            self.hands.till.lock().day = DailySpend { looked_ms, spent };
        }
        Ok(())
    }

    fn has(&self, whose: BudgetScope) -> bool {
        self.caps.iter().any(|cap| cap.whose == whose)
    }

    /// Returns the reason why a call that may cost this much is refused, or `None` if it may be
    /// made.
    fn refusal(&self, expected: CallCost) -> Option<BudgetRefusal> {
        let (mut task, mut run) = (self.before, self.books().run);
        let drawer = self.hands.till.lock();
        let mut day = drawer.day.spent;
        for (other, spent) in &drawer.unreported {
            day = sum(day, *spent);
            if other.run == self.task.run {
                run = sum(run, *spent);
            }
            if *other == self.task {
                task = sum(task, *spent);
            }
        }
        drop(drawer);
        self.caps.iter().find_map(|cap| {
            let spent = match cap.whose {
                BudgetScope::Task => task,
                BudgetScope::Run => run,
                BudgetScope::Day => day,
            };
            let reason = cap.refusal(spent, expected)?;
            let scope = cap.whose;
            Some(BudgetRefusal { scope, reason })
        })
    }

    fn books(&self) -> MutexGuard<'_, AttemptTotals> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl llm::budget::SpendGuard for AttemptBudget {
    fn allow(&self, expected: CallCost) -> Result<(), llm::Error> {
        let Some(refusal) = self.refusal(expected) else {
            return Ok(());
        };
        self.books().refused = Some(refusal.clone());
        Err(llm::Error::new(
            llm::AiErrorCode::BudgetExceeded,
            refusal.reason,
            "The work so far is kept.",
        ))
    }

    fn pay(&self, entry: &SpendEntry) {
        let micros = entry.cost.micro_usd().unwrap_or_default();
        let tokens = entry.usage.total();
        let mut drawer = self.hands.till.lock();
        let paid = drawer.unreported.entry(self.task.clone()).or_default();
        *paid = sum(*paid, SpentAmount { tokens, micros });
    }
}

impl fmt::Debug for AttemptBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse")
            .field("task", &self.task)
            .field("caps", &self.caps)
            .finish_non_exhaustive()
    }
}

impl BudgetLimit {
    fn refusal(&self, spent: SpentAmount, expected: CallCost) -> Option<String> {
        let setting = &self.setting;
        let (max, so_far) = match self.most {
            LimitAmount::Tokens(max) if spent.tokens >= max => {
                (format!("{max} tokens"), spent.tokens.to_string())
            }
            LimitAmount::Micros(_) if expected == CallCost::Unknown => {
                return Some(format!(
                    "{setting} cannot be checked, because the price of the next call is unknown: set \
                     `ai.prices` for the model, or limit tokens."
                ));
            }
            LimitAmount::Micros(max) if spent.micros >= max => {
                (dollars(max), dollars(spent.micros))
            }
            _ => return None,
        };
        let then = match self.whose {
            BudgetScope::Task => "`drawloom tasks retry` allows as much again",
            BudgetScope::Run => "raise it and resume the run",
            BudgetScope::Day => "raise it and resume the run, or resume it tomorrow (UTC)",
        };
        Some(format!(
            "{setting} of {max} is used up, {so_far} is spent: {then}."
        ))
    }
}

/// Collects every limit that concerns an attempt.
async fn caps(job: &StepAttempt) -> Result<Vec<BudgetLimit>, StoreError> {
    let settings = &job.hands.project.settings.workflows;
    let budget = job.step.config.budget.unwrap_or_default();
    let mut caps = Vec::new();
    let mut cap = |whose, setting: String, tokens: Option<u64>, money: Option<f64>| {
        let of = |unit: &str| setting.replace('*', unit);
        let money_name = if whose == BudgetScope::Task {
            "money"
        } else {
            "usd"
        };
        let tokens = tokens.map(|max| (LimitAmount::Tokens(max), of("tokens")));
        let money = money.map(|max| (LimitAmount::Micros(micros(max)), of(money_name)));
        let both = tokens.into_iter().chain(money);
        caps.extend(both.map(|(most, setting)| BudgetLimit {
            whose,
            most,
            setting,
        }));
    };
    cap(
        BudgetScope::Task,
        format!("{OF_STEP}*`"),
        budget.tokens,
        budget.money,
    );
    let named = |whose: &str| format!("The budget `workflows.{whose}_*_max`");
    cap(
        BudgetScope::Run,
        named("run"),
        settings.run_tokens_max,
        settings.run_usd_max,
    );
    cap(
        BudgetScope::Day,
        named("day"),
        settings.day_tokens_max,
        settings.day_usd_max,
    );
    let is_spent = |cap: &BudgetLimit| {
        cap.whose == BudgetScope::Task && cap.refusal(job.task.spent, CallCost::NOTHING).is_some()
    };
    if caps.iter().any(is_spent) {
        let times = allowed(&*job.hands.store, &job.task.id).await?;
        for cap in caps.iter_mut().filter(|cap| cap.whose == BudgetScope::Task) {
            cap.most = match cap.most {
                LimitAmount::Tokens(max) => LimitAmount::Tokens(max.saturating_mul(times)),
                LimitAmount::Micros(max) => LimitAmount::Micros(max.saturating_mul(times)),
            };
        }
    }
    Ok(caps)
}

/// Returns how many times a task may spend its step's budget. The text of a run is pinned, and with
/// it the budget, so a person allows more by trying the task again.
async fn allowed(store: &dyn WorkflowStore, task: &TaskId) -> Result<u64, StoreError> {
    let mut times = 1;
    let mut after = 0;
    loop {
        let events = store.events(&task.run, after, EVENTS_MAX).await?;
        let Some(last) = events.last() else {
            return Ok(times);
        };
        after = last.seq;
        let held = events.iter().filter(|event| match &event.what {
            EventKind::TaskMoved {
                task: moved,
                by: StatusMove::Hold,
                why,
                budget,
                ..
            } => moved == task && is_of_task(*budget, why.as_deref()),
            _ => false,
        });
        times += held.count() as u64;
    }
}

/// Tells whether a task was put on hold because of its step's budget.
fn is_of_task(budget: Option<BudgetScope>, why: Option<&str>) -> bool {
    match budget {
        Some(scope) => scope == BudgetScope::Task,
        None => why.is_some_and(|why| why.starts_with(OF_STEP)),
    }
}

/// Returns the spending of all runs of a store since midnight (UTC). A task of an older run counts
/// on the day of its last attempt.
async fn of_day(store: &dyn WorkflowStore, now_ms: u64) -> Result<SpentAmount, StoreError> {
    let today = now_ms - now_ms % DAY_MS;
    let mut newest = store.runs(None, RUNS_FIRST).await?;
    let mut max = RUNS_FIRST;
    while newest.len() == max && max < RUNS_MAX && newest.iter().all(|run| run.created_ms >= today)
    {
        max *= 10;
        newest = store.runs(None, max).await?;
    }
    let mut runs: BTreeMap<RunId, RunRow> = BTreeMap::new();
    for status in [RunStatus::Running, RunStatus::Paused] {
        newest.extend(store.runs(Some(status), RUNS_MAX).await?);
    }
    runs.extend(newest.into_iter().map(|run| (run.id.clone(), run)));
    let mut day = SpentAmount::default();
    for run in runs
        .into_values()
        .filter(|run| run.spent != SpentAmount::default())
    {
        if run.created_ms >= today {
            day = sum(day, run.spent);
        } else if run.ended_ms.is_none_or(|ended| ended >= today) {
            let tasks = store
                .tasks(Some(&run.id), TaskSelection::All, TASKS_MAX)
                .await?;
            let todays = tasks.iter().filter(|task| was_tried_since(task, today));
            day = todays.fold(day, |day, task| sum(day, task.spent));
        }
    }
    Ok(day)
}

fn was_tried_since(task: &TaskRow, today: u64) -> bool {
    match task.ended_ms {
        Some(ended) => ended >= today,
        None => task.status == TaskStatus::InProgress || task.ready_ms >= today,
    }
}

fn micros(money: f64) -> u64 {
    (money * 1e6).round() as u64
}

fn sum(one: SpentAmount, other: SpentAmount) -> SpentAmount {
    SpentAmount {
        tokens: one.tokens.saturating_add(other.tokens),
        micros: one.micros.saturating_add(other.micros),
    }
}
