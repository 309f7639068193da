//! Recordings as files of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm::record::Tape;
use transport::Taping;
use workspace::fs;

use super::TapeWish;
use crate::{Code, Error, Surroundings};

/// The tape that was asked for.
pub(super) fn open(wish: &TapeWish, surroundings: &Surroundings) -> Result<Taping, Error> {
    Ok(match wish {
        TapeWish::No => Taping::Off,
        TapeWish::Record(folder) => Taping::Record(Arc::new(Folder(surroundings.path(folder)))),
        TapeWish::Replay(folder) => {
            let path = surroundings.path(folder);
            if !fs::is_dir(&path) {
                return Err(no_folder(folder));
            }
            Taping::Replay(Arc::new(Folder(path)))
        }
    })
}

fn no_folder(folder: &Path) -> Error {
    let message = format!("there is no folder {} to replay", folder.display());
    Error::new(Code::NotFound, message).hint("`--record DIR` makes one")
}

struct Folder(PathBuf);

impl Folder {
    /// Names come as hashes, with nothing in them that a path could be made of.
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }
}

impl Tape for Folder {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        fs::read_text(&self.file(name)).map_err(|error| error.to_string())
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write_private(&self.file(name), text.as_bytes()).map_err(|error| error.to_string())
    }
}
