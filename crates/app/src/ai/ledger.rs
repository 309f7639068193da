//! What models cost, call by call: one file of JSON lines per day, shared by all processes.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use llm::budget::{Counted, Entry, Spent};
use llm::{Cost, Provider, Usage};
use serde::{Deserialize, Serialize};
use workspace::{RelPath, Root};

use super::Errand;
use crate::{Error, Project, ignoring};

/// Where the days are.
pub const LEDGER_DIR: &str = ".drawloom/ledger";

/// One call that was paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// When it was over, in UTC.
    pub(super) time: String,
    pub(super) purpose: String,
    pub(super) provider: Provider,
    pub(super) model: String,
    #[serde(flatten)]
    pub(super) usage: Usage,
    /// Millionths of a US dollar; nothing when nobody knows the price.
    pub(super) micro_usd: Option<u64>,
    pub(super) counted: Counted,
}

impl Line {
    fn new(entry: &Entry, errand: Errand, time: Timestamp) -> Self {
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

    pub(super) fn cost(&self) -> Cost {
        self.micro_usd.map_or(Cost::Unknown, Cost::Known)
    }
}

/// The lines of a day, and how many could not be read.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) lines: Vec<Line>,
    pub(super) unreadable: usize,
}

/// The time in UTC, which is the same for everybody who shares a project.
pub(super) fn utc(time: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(time)
}

/// What a day has, in the order it was written. A line that a dying process left unfinished is
/// passed over.
pub(super) fn page(root: &Root, day: Date) -> Result<Page, Error> {
    let text = root.read_text(&file(day)?)?.unwrap_or_default();
    let mut page = Page::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(line) => page.lines.push(line),
            Err(_) => page.unreadable += 1,
        }
    }
    Ok(page)
}

/// The days that have a page, the oldest first.
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

/// Why the ledger could not be written, for whoever asks later.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
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
pub(super) struct Ledger {
    root: Root,
    errand: Errand,
    trouble: Trouble,
}

impl Ledger {
    pub(super) fn open(project: &Project, errand: Errand, trouble: Trouble) -> Result<Self, Error> {
        Ok(Self {
            root: Root::open(project.folder())?,
            errand,
            trouble,
        })
    }

    fn write(&self, entry: &Entry) -> Result<(), Error> {
        let now = Timestamp::now();
        let line = Line::new(entry, self.errand, now);
        let text = serde_json::to_string(&line)
            .map_err(|cause| Error::new(crate::Code::Data, cause.to_string()))?;
        self.root.append_line(&file(utc(now).date())?, &text)?;
        ignoring::ignore_private(&self.root)
    }
}

impl llm::budget::Ledger for Ledger {
    fn day(&self) -> Result<Spent, String> {
        let today = utc(Timestamp::now()).date();
        let page = page(&self.root, today).map_err(|error| error.to_string())?;
        let mut spent = Spent::default();
        for line in &page.lines {
            spent.add(line.usage.total(), line.cost());
        }
        Ok(spent)
    }

    fn book(&self, entry: &Entry) {
        if let Err(error) = self.write(entry) {
            self.trouble.set(error.to_string());
        }
    }
}
