//! `drawloom kit`: recipes shared between projects.

pub(crate) mod add;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod refresh;
pub(crate) mod remove;

use clap::Subcommand;
use recipe::kits::{Kit as Found, Locked};
use serde_json::{Value, json};

use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// Add, list and remove kits of recipes
///
/// A kit is a folder with a `kit.yml` and recipes. Kits live in `.drawloom/kits`; where each came from
/// and at which commit is kept in `.drawloom/kits.lock`. Commit both.
#[derive(Debug, Subcommand)]
pub(crate) enum Kit {
    Add(add::Add),
    List(list::List),
    Info(info::Info),
    Update(refresh::Update),
    Restore(refresh::Restore),
    Remove(remove::Remove),
}

impl Kit {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Info(info) => info.run(session),
            Self::Update(update) => update.run(session),
            Self::Restore(restore) => restore.run(session),
            Self::Remove(remove) => remove.run(session),
        }
    }
}

/// A kit as data; one that was put there by hand has no lock.
fn as_json(kit: &Found, locked: Option<&Locked>) -> Value {
    json!({
        "name": kit.name,
        "description": kit.manifest.description,
        "version": kit.manifest.version,
        "source": locked.map(|locked| &locked.source),
        "rev": locked.and_then(|locked| locked.rev.as_ref()),
        "commit": locked.and_then(|locked| locked.commit.as_ref()),
        "hash": locked.map(|locked| &locked.hash),
        "recipes": kit.all().map(|listing| json!(listing)).collect::<Vec<Value>>(),
    })
}

/// Where a kit came from, in a few words.
fn origin(locked: Option<&Locked>) -> String {
    let Some(locked) = locked else {
        return "not in the lock file".to_owned();
    };
    let commit = locked.commit.as_ref().and_then(|commit| commit.get(..12));
    match commit {
        Some(commit) => format!("{} at {commit}", locked.source),
        None => locked.source.clone(),
    }
}
