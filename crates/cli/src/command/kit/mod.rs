//! `drawloom kit`: recipes shared between projects.

pub(crate) mod add;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod refresh;
pub(crate) mod remove;

use clap::Subcommand;
use recipe::kits::{Kit as Found, LockedKit};
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// Add, list and remove kits of recipes
///
/// A kit is a folder with a `kit.yml` and recipes. Kits live in `.drawloom/kits`;
/// `.drawloom/kits.lock` records the source and the commit of each. Commit both.
#[derive(Debug, Subcommand)]
pub(crate) enum KitCommand {
    Add(add::KitAddArgs),
    List(list::KitListArgs),
    Info(info::KitInfoArgs),
    Update(refresh::KitUpdateArgs),
    Restore(refresh::KitRestoreArgs),
    Remove(remove::KitRemoveArgs),
}

impl KitCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
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

/// Returns a kit as data; one that was put there by hand has no lock.
fn as_json(kit: &Found, locked: Option<&LockedKit>) -> Value {
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

/// Describes the origin of a kit in a few words.
fn origin(locked: Option<&LockedKit>) -> String {
    let Some(locked) = locked else {
        return "not in the lock file".to_owned();
    };
    let commit = locked.commit.as_ref().and_then(|commit| commit.get(..12));
    match commit {
        Some(commit) => format!("{} at {commit}", locked.source),
        None => locked.source.clone(),
    }
}
