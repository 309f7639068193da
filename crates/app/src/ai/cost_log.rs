//! The cost log: one file of JSON lines per day with every call of a model, shared by all
//! processes.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use llm::budget::{SpendEntry, SpentTotal, TokenCountSource};
use llm::{CallCost, Provider, Usage};
use serde::{Deserialize, Serialize};
use workspace::{RelPath, Root};

use super::CallPurpose;
use crate::{Error, Project, ignoring};

/// Folder of the daily files.
pub const LEDGER_DIR: &str = ".drawloom/ledger";

/// One call that was paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CostEntry {
    /// End of the call, in UTC.
    pub(super) time: String,
    pub(super) purpose: String,
    pub(super) provider: Provider,
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) usage: Usage,
    /// Millionths of a US dollar; `None` if the price is unknown.
    pub(super) micro_usd: Option<u64>,
    pub(super) counted: TokenCountSource,
}

impl CostEntry {
    fn new(entry: &SpendEntry, errand: CallPurpose, time: Timestamp) -> Self {
        Self {
            time: utc(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            purpose: errand.name().to_owned(),
            provider: entry.provider,
            model: entry.model.clone(),
            usage: entry.usage,
            micro_usd: entry.cost.micro_usd(),
            counted: entry.counted,
        }
    }

    pub(super) fn cost(&self) -> CallCost {
        self.micro_usd.map_or(CallCost::Unknown, CallCost::Known)
    }
}

/// The lines of a day, and how many could not be read.
#[derive(Debug, Default)]
pub(super) struct CostDay {
    pub(super) lines: Vec<CostEntry>,
    pub(super) unreadable: usize,
}

/// Returns the time in UTC, which is the same for all users of a project.
pub(super) fn utc(time: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(time)
}

/// Reads the calls of a day, in the order they were written. Skips a line that a dying process left
/// unfinished.
pub(super) fn page(root: &Root, day: Date) -> Result<CostDay, Error> {
    let text = root.read_text(&file(day)?)?.unwrap_or_default();
    let mut page = CostDay::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(line) => page.lines.push(line),
            Err(_) => page.unreadable += 1,
        }
    }
    Ok(page)
}

/// Returns the days that have a page, the oldest first.
pub(super) fn days(root: &Root) -> Result<Vec<Date>, Error> {
    let files = root.walk(&RelPath::parse(LEDGER_DIR)?)?;
    let days = files.iter().filter_map(|entry| {
        let name = entry.path.file_name()?.strip_suffix(".jsonl")?;
        name.parse::<Date>().ok()
    });
    let mut days: Vec<Date> = days.collect();
    days.sort_unstable();
    Ok(days)
}

fn file(day: Date) -> Result<RelPath, Error> {
    Ok(RelPath::parse(&format!("{LEDGER_DIR}/{day}.jsonl"))?)
}

/// The reason why the ledger could not be written, kept until the caller asks for it.
#[derive(Clone, Debug, Default)]
pub(super) struct CostLogError(Arc<Mutex<Option<String>>>);

impl CostLogError {
    pub(super) fn get(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, why: String) {
        let mut trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(why);
    }
}

/// The ledger of a project, as the meter of a run uses it.
pub(super) struct CostLog {
    root: Root,
    errand: CallPurpose,
    trouble: CostLogError,
}

impl CostLog {
    pub(super) fn open(
        project: &Project,
        errand: CallPurpose,
        trouble: CostLogError,
    ) -> Result<Self, Error> {
        Ok(Self {
            root: Root::open(project.folder())?,
            errand,
            trouble,
        })
    }

    fn write(&self, entry: &SpendEntry) -> Result<(), Error> {
        let now = Timestamp::now();
        let line = CostEntry::new(entry, self.errand, now);
        let text = serde_json::to_string(&line)
            .map_err(|cause| Error::new(crate::AppErrorCode::Data, cause.to_string()))?;
        self.root.append_line(&file(utc(now).date())?, &text)?;
        ignoring::ignore_private(&self.root)
    }
}

impl llm::budget::SpendLog for CostLog {
    fn day(&self) -> Result<SpentTotal, String> {
        let today = utc(Timestamp::now()).date();
        let page = page(&self.root, today).map_err(|error| error.to_string())?;
        let mut spent = SpentTotal::default();
        for line in &page.lines {
            spent.add(line.usage.total(), line.cost());
        }
        Ok(spent)
    }

    fn book(&self, entry: &SpendEntry) {
        if let Err(error) = self.write(entry) {
            self.trouble.set(error.to_string());
        }
    }
}
