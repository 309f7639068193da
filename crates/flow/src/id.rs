//! Names of things: runs, steps, items of a foreach, and the executions of steps.
//!
//! An execution of a step is named by what it is, not by an assigned number: the run, the items
//! around it, the step, and the number of the visit. Creating it twice is therefore impossible
//! wherever the name is a unique key.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The id of a workflow run.
#[derive(Clone, Debug)]
pub struct RunId(Arc<str>);

/// The id of a step: that of its node in the diagram.
#[derive(Clone, Debug)]
pub struct StepId(Arc<str>);

/// The SHA-256 of a workflow's text, in hexadecimal.
#[derive(Clone, Debug)]
pub struct TextHash(Arc<str>);

/// One item of one foreach, as a part of the path from the run down to a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ForeachItem {
    pub foreach: StepId,
    /// The visit of the foreach, counted from 1.
    pub visit: u32,
    /// From 0.
    pub index: u32,
}

/// The items around a step, the outermost first; empty outside of every foreach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemPath(Arc<[ForeachItem]>);

/// The name of one execution of one step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId {
    pub run: RunId,
    pub path: ItemPath,
    pub step: StepId,
    /// The visit of the step under this path, counted from 1.
    pub visit: u32,
}

/// The error of a text that is not the name of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the name of a task: write RUN/STEP, RUN/STEP~VISIT or RUN/FOREACH[INDEX]/STEP."
)]
pub struct NoTaskId(String);

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                $name(text.into())
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // Compares pointers first, because most equal names are copies of each other.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                match Arc::ptr_eq(&self.0, &other.0) {
                    true => Ordering::Equal,
                    false => self.0.cmp(&other.0),
                }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name::new(text)
            }
        }

        impl FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok($name::new(text))
            }
        }
    };
}

text_id!(RunId);
text_id!(StepId);
text_id!(TextHash);

impl RunId {
    /// Returns the run that a subflow step starts: the same attempt of the same task always names
    /// the same run, so that starting it twice is harmless.
    #[must_use]
    pub fn child_of(task: &TaskId, fence: u64) -> RunId {
        let name = format!("{task}#{fence}");
        RunId::new(format!("s{}", &hex(name.as_bytes())[..24]))
    }
}

impl TextHash {
    #[must_use]
    pub fn of(text: &str) -> TextHash {
        TextHash::new(hex(text.as_bytes()))
    }
}

impl ItemPath {
    #[must_use]
    pub fn new(items: impl Into<Arc<[ForeachItem]>>) -> ItemPath {
        ItemPath(items.into())
    }

    #[must_use]
    pub fn items(&self) -> &[ForeachItem] {
        &self.0
    }

    #[must_use]
    pub fn last(&self) -> Option<&ForeachItem> {
        self.0.last()
    }

    /// Returns the path into one item of a foreach under this path.
    #[must_use]
    pub fn item(&self, foreach: &TaskId, index: u32) -> ItemPath {
        let item = ForeachItem {
            foreach: foreach.step.clone(),
            visit: foreach.visit,
            index,
        };
        self.0
            .iter()
            .cloned()
            .chain([item])
            .collect::<Vec<_>>()
            .into()
    }

    /// Returns the first items of the path.
    #[must_use]
    pub fn outer(&self, depth: usize) -> ItemPath {
        self.0
            .iter()
            .take(depth)
            .cloned()
            .collect::<Vec<_>>()
            .into()
    }

    /// Tells whether this is `other` or a path inside of it.
    #[must_use]
    pub fn is_within(&self, other: &ItemPath) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl From<Vec<ForeachItem>> for ItemPath {
    fn from(items: Vec<ForeachItem>) -> ItemPath {
        ItemPath(items.into())
    }
}

impl TaskId {
    /// Returns the foreach whose item the task belongs to, and the item's index.
    #[must_use]
    pub fn group(&self) -> Option<(TaskId, u32)> {
        group_of(&self.run, &self.path)
    }
}

/// Returns the foreach around a path, and the index of the item that the path leads into.
#[must_use]
pub(crate) fn group_of(run: &RunId, path: &ItemPath) -> Option<(TaskId, u32)> {
    let item = path.last()?;
    let foreach = TaskId {
        run: run.clone(),
        path: path.outer(path.items().len() - 1),
        step: item.foreach.clone(),
        visit: item.visit,
    };
    Some((foreach, item.index))
}

impl fmt::Display for ItemPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in self.items() {
            write!(f, "{}", EscapedId(item.foreach.as_str()))?;
            if item.visit != 1 {
                write!(f, "~{}", item.visit)?;
            }
            write!(f, "[{}]/", item.index)?;
        }
        Ok(())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TaskId {
            run,
            path,
            step,
            visit,
        } = self;
        write!(
            f,
            "{}/{path}{}",
            EscapedId(run.as_str()),
            EscapedId(step.as_str())
        )?;
        match visit {
            1 => Ok(()),
            visit => write!(f, "~{visit}"),
        }
    }
}

impl FromStr for ItemPath {
    type Err = NoTaskId;

    fn from_str(text: &str) -> Result<ItemPath, NoTaskId> {
        let parts = text.split_terminator('/').map(read_item);
        let items = parts.collect::<Option<Vec<ForeachItem>>>();
        items
            .map(ItemPath::from)
            .ok_or_else(|| NoTaskId(text.to_owned()))
    }
}

impl FromStr for TaskId {
    type Err = NoTaskId;

    fn from_str(text: &str) -> Result<TaskId, NoTaskId> {
        let no = || NoTaskId(text.to_owned());
        let (run, rest) = text.split_once('/').ok_or_else(no)?;
        let (path, last) = match rest.rfind('/') {
            Some(at) => rest.split_at(at + 1),
            None => ("", rest),
        };
        let (step, visit) = visited(last).ok_or_else(no)?;
        Ok(TaskId {
            run: RunId::new(unescaped(run).ok_or_else(no)?),
            path: path.parse().map_err(|_| no())?,
            step,
            visit,
        })
    }
}

fn read_item(part: &str) -> Option<ForeachItem> {
    let (name, index) = part.strip_suffix(']')?.rsplit_once('[')?;
    let (foreach, visit) = visited(name)?;
    Some(ForeachItem {
        foreach,
        visit,
        index: index.parse().ok()?,
    })
}

fn visited(text: &str) -> Option<(StepId, u32)> {
    let (step, visit) = match text.split_once('~') {
        Some((step, visit)) => (step, visit.parse().ok().filter(|visit| *visit > 0)?),
        None => (text, 1),
    };
    let step = unescaped(step).filter(|step| !step.is_empty())?;
    Some((StepId::new(step), visit))
}

/// Escapes the characters in node ids that separate the parts of a task's name.
struct EscapedId<'a>(&'a str);

impl fmt::Display for EscapedId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |c: char| matches!(c, '/' | '~' | '[' | ']' | '%');
        let mut rest = self.0;
        while let Some(at) = rest.find(divides) {
            let (plain, from) = rest.split_at(at);
            f.write_str(plain)?;
            let mut characters = from.chars();
            if let Some(c) = characters.next() {
                write!(f, "%{:02X}", u32::from(c))?;
            }
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let code = u8::from_str_radix(piece.get(..2)?, 16).ok()?;
        out.push(char::from(code));
        out.push_str(piece.get(2..)?);
    }
    Some(out)
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

as_text!(RunId);
as_text!(StepId);
as_text!(TextHash);
as_text!(ItemPath);
as_text!(TaskId);

#[cfg(test)]
mod tests {
    use super::TaskId;

    #[test]
    fn names_of_tasks_are_read_back_as_they_were() {
        for (text, fine) in [
            ("r1/A", true),
            ("r1/A~2", true),
            ("r1/C[3]/B", true),
            ("r1/C~2[3]/D[0]/B~4", true),
            ("r%2F1/a%7Eb%5B0%5D/C%25", false),
            ("r1/a%2Fb", true),
            ("r1", false),
            ("r1/", false),
            ("r1/A~0", false),
            ("r1/A~x", false),
            ("r1/C[x]/B", false),
            ("r1/C/B", false),
            ("r1/%zz", false),
        ] {
            match text.parse::<TaskId>() {
                Ok(task) => assert_eq!((task.to_string().as_str(), true), (text, fine)),
                Err(error) => assert!(!fine, "{error}"),
            }
        }
    }
}
