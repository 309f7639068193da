//! What an attempt may spend: the budgets of its step, its run and the day, looked at before every
//! call, whoever makes it.
//!
//! The store knows what was reported. What attempts under way in this process have paid so far is
//! added to it; what is under way in other processes is known when it is reported. A call is made
//! while anything is left, so that the calls in flight may go over a limit, and no later one does.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::Clock as _;
use flow::engine::{Move, Outcome, Report, RunRow, RunStatus, Spent, TaskRow, TaskStatus, What};
use flow::{RunId, Store, StoreError, TaskId, Which};
use llm::budget::Entry;
use llm::usage::{Cost, dollars};

use super::{FailureClass, Hands, Job, failed, over_budget};
use crate::ai::Wish;
use crate::tasks::clock::SystemClock;

/// How often it is looked what others have spent meanwhile.
const LOOK_EVERY_MS: u64 = 2_000;
/// How many of the newest runs are added up for a day: first, and at most. Those that have not ended
/// are added up as well.
const RUNS_FIRST: usize = 1_000;
const RUNS_MAX: usize = 100_000;
/// How many tasks of one of them.
const TASKS_MAX: usize = 20_000;
/// How many events are read at a time.
const EVENTS_MAX: usize = 5_000;
const DAY_MS: u64 = 86_400_000;
/// How the sentence about a step's own budget begins, by which it is found among the events.
const OF_STEP: &str = "The step's `budget.";

/// What this process knows of spending: what its attempts have paid and no report says yet, and what
/// the day had spent when it was last looked up. What an attempt paid that was stopped before it could
/// say so stays until the next attempt of its task reports it.
#[derive(Debug, Default)]
pub(crate) struct Till(Mutex<Drawer>);

#[derive(Debug, Default)]
struct Drawer {
    unreported: BTreeMap<TaskId, Spent>,
    day: Day,
}

/// What all runs have spent in a day.
#[derive(Clone, Copy, Debug, Default)]
struct Day {
    looked_ms: u64,
    spent: Spent,
}

impl Till {
    /// What was paid for a task; whoever takes it reports it.
    pub(crate) fn take(&self, task: &TaskId) -> Spent {
        let mut drawer = self.lock();
        let paid = drawer.unreported.remove(task).unwrap_or_default();
        // It is in the store the next time somebody looks.
        drawer.day.spent = sum(drawer.day.spent, paid);
        paid
    }

    fn lock(&self) -> MutexGuard<'_, Drawer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How sure it is that a handler asks a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// It is not begun without a budget.
    Surely,
    /// It is stopped at its first call.
    Perhaps,
}

/// Does work that may spend, within the budgets. The report then says what was spent; work that
/// failed because a budget is used up is over it and has not failed.
///
/// A report that comes with spending says what the work took in all its attempts, as far as that
/// is kept: what an attempt paid whose worker died is counted with the next one.
pub(super) async fn within_budget<W: Future<Output = Report>>(
    job: &Job,
    asks: Asks,
    work: impl FnOnce(Wish) -> W,
) -> Report {
    let purse = match Purse::open(job).await {
        Ok(purse) => Arc::new(purse),
        Err(error) => return failed(FailureClass::Unavailable, error.message),
    };
    if asks == Asks::Surely
        && let Some(reason) = purse.refusal(Cost::NOTHING)
    {
        return over_budget(reason);
    }
    let mut wish = job.hands.wish.clone();
    wish.purse = Some(Arc::<Purse>::clone(&purse));
    let mut work = pin!(work(wish));
    let mut report = loop {
        tokio::select! {
            report = &mut work => break report,
            () = tokio::time::sleep(Duration::from_millis(LOOK_EVERY_MS)) => {
                // What was known before holds until the store can be asked again.
                let _ = purse.look().await;
            }
        }
    };
    let paid = job.hands.till.take(&job.task.id);
    let whole = report.spent;
    report.spent = Spent {
        tokens: paid
            .tokens
            .max(whole.tokens.saturating_sub(job.task.spent.tokens)),
        micros: paid
            .micros
            .max(whole.micros.saturating_sub(job.task.spent.micros)),
    };
    let refused = purse.books().refused.take();
    // In our words, by which it is known later whose budget it was.
    if let (Outcome::Failed(_) | Outcome::OverBudget { .. }, Some(reason)) =
        (&report.outcome, refused)
    {
        report.outcome = Outcome::OverBudget { reason };
    }
    report
}

/// What one attempt is paid from.
struct Purse {
    hands: Arc<Hands>,
    task: TaskId,
    /// What the task had spent before this attempt.
    before: Spent,
    caps: Vec<Cap>,
    books: Mutex<Books>,
}

#[derive(Clone, Debug, Default)]
struct Books {
    run: Spent,
    /// Why a call was not made.
    refused: Option<String>,
}

/// One limit.
#[derive(Clone, Debug)]
struct Cap {
    whose: Whose,
    most: Most,
    /// Begins the sentence that says that it is used up.
    setting: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Task,
    Run,
    Day,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Most {
    Tokens(u64),
    Micros(u64),
}

impl Purse {
    async fn open(job: &Job) -> Result<Purse, StoreError> {
        let purse = Purse {
            hands: Arc::clone(&job.hands),
            task: job.task.id.clone(),
            before: job.task.spent,
            caps: caps(job).await?,
            books: Mutex::new(Books {
                run: job.run_spent,
                ..Books::default()
            }),
        };
        purse.look_at_day().await?;
        Ok(purse)
    }

    /// Looks up what was spent elsewhere, as far as a limit asks for it.
    async fn look(&self) -> Result<(), StoreError> {
        if self.has(Whose::Run) {
            let run = self.hands.store.run(&self.task.run).await?;
            self.books().run = run.map(|run| run.spent).unwrap_or_default();
        }
        self.look_at_day().await
    }

    /// One look serves all attempts of this process for a while, unless a day has begun meanwhile.
    async fn look_at_day(&self) -> Result<(), StoreError> {
        let now_ms = SystemClock.now_ms();
        let known = self.hands.till.lock().day.looked_ms;
        let is_fresh = now_ms.abs_diff(known) < LOOK_EVERY_MS && now_ms / DAY_MS == known / DAY_MS;
        if self.has(Whose::Day) && !is_fresh {
            let spent = of_day(&*self.hands.store, now_ms).await?;
            let looked_ms = now_ms;
            self.hands.till.lock().day = Day { looked_ms, spent };
        }
        Ok(())
    }

    fn has(&self, whose: Whose) -> bool {
        self.caps.iter().any(|cap| cap.whose == whose)
    }

    /// Why a call that may cost this much is not to be made, if it is not.
    fn refusal(&self, expected: Cost) -> Option<String> {
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
                Whose::Task => task,
                Whose::Run => run,
                Whose::Day => day,
            };
            cap.refusal(spent, expected)
        })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl llm::budget::Purse for Purse {
    fn allow(&self, expected: Cost) -> Result<(), llm::Error> {
        let Some(reason) = self.refusal(expected) else {
            return Ok(());
        };
        self.books().refused = Some(reason.clone());
        Err(llm::Error::new(
            llm::Code::BudgetExceeded,
            reason,
            "What is done so far is kept.",
        ))
    }

    fn pay(&self, entry: &Entry) {
        let micros = entry.cost.micro_usd().unwrap_or_default();
        let tokens = entry.usage.total();
        let mut drawer = self.hands.till.lock();
        let paid = drawer.unreported.entry(self.task.clone()).or_default();
        *paid = sum(*paid, Spent { tokens, micros });
    }
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse")
            .field("task", &self.task)
            .field("caps", &self.caps)
            .finish_non_exhaustive()
    }
}

impl Cap {
    fn refusal(&self, spent: Spent, expected: Cost) -> Option<String> {
        let setting = &self.setting;
        let (max, so_far) = match self.most {
            Most::Tokens(max) if spent.tokens >= max => {
                (format!("{max} tokens"), spent.tokens.to_string())
            }
            Most::Micros(_) if expected == Cost::Unknown => {
                return Some(format!(
                    "{setting} cannot be kept, because nobody knows what the next call costs: set \
                     `ai.prices` for the model, or limit tokens."
                ));
            }
            Most::Micros(max) if spent.micros >= max => (dollars(max), dollars(spent.micros)),
            _ => return None,
        };
        let then = match self.whose {
            Whose::Task => "`drawloom tasks retry` allows as much again",
            Whose::Run => "raise it and resume the run",
            Whose::Day => "raise it and resume the run, or resume it tomorrow (UTC)",
        };
        Some(format!(
            "{setting} of {max} is used up, {so_far} is spent: {then}."
        ))
    }
}

/// Every limit that concerns an attempt.
async fn caps(job: &Job) -> Result<Vec<Cap>, StoreError> {
    let settings = &job.hands.project.settings.workflows;
    let budget = job.step.config.budget.unwrap_or_default();
    let mut caps = Vec::new();
    let mut cap = |whose, setting: String, tokens: Option<u64>, money: Option<f64>| {
        let of = |unit: &str| setting.replace('*', unit);
        let money_name = if whose == Whose::Task { "money" } else { "usd" };
        let tokens = tokens.map(|max| (Most::Tokens(max), of("tokens")));
        let money = money.map(|max| (Most::Micros(micros(max)), of(money_name)));
        let both = tokens.into_iter().chain(money);
        caps.extend(both.map(|(most, setting)| Cap {
            whose,
            most,
            setting,
        }));
    };
    cap(
        Whose::Task,
        format!("{OF_STEP}*`"),
        budget.tokens,
        budget.money,
    );
    let named = |whose: &str| format!("The budget `workflows.{whose}_*_max`");
    cap(
        Whose::Run,
        named("run"),
        settings.run_tokens_max,
        settings.run_usd_max,
    );
    cap(
        Whose::Day,
        named("day"),
        settings.day_tokens_max,
        settings.day_usd_max,
    );
    let is_spent = |cap: &Cap| {
        cap.whose == Whose::Task && cap.refusal(job.task.spent, Cost::NOTHING).is_some()
    };
    if caps.iter().any(is_spent) {
        let times = allowed(&*job.hands.store, &job.task.id).await?;
        for cap in caps.iter_mut().filter(|cap| cap.whose == Whose::Task) {
            cap.most = match cap.most {
                Most::Tokens(max) => Most::Tokens(max.saturating_mul(times)),
                Most::Micros(max) => Most::Micros(max.saturating_mul(times)),
            };
        }
    }
    Ok(caps)
}

/// How often a task may spend its step's budget. The text of a run is pinned, and with it the
/// budget, so that trying it again is how a person allows more.
async fn allowed(store: &dyn Store, task: &TaskId) -> Result<u64, StoreError> {
    let mut times = 1;
    let mut after = 0;
    loop {
        let events = store.events(&task.run, after, EVENTS_MAX).await?;
        let Some(last) = events.last() else {
            return Ok(times);
        };
        after = last.seq;
        let held = events.iter().filter(|event| match &event.what {
            What::TaskMoved {
                task: moved,
                by: Move::Hold,
                why: Some(why),
                ..
            } => moved == task && why.starts_with(OF_STEP),
            _ => false,
        });
        times += held.count() as u64;
    }
}

/// What all runs of a store have spent since midnight (UTC). A task of an older run counts on the
/// day of its last attempt.
async fn of_day(store: &dyn Store, now_ms: u64) -> Result<Spent, StoreError> {
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
    let mut day = Spent::default();
    for run in runs
        .into_values()
        .filter(|run| run.spent != Spent::default())
    {
        if run.created_ms >= today {
            day = sum(day, run.spent);
        } else if run.ended_ms.is_none_or(|ended| ended >= today) {
            let tasks = store.tasks(Some(&run.id), Which::All, TASKS_MAX).await?;
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

fn sum(one: Spent, other: Spent) -> Spent {
    Spent {
        tokens: one.tokens.saturating_add(other.tokens),
        micros: one.micros.saturating_add(other.micros),
    }
}
