//! Recordings as files of a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm::record::Tape;
use transport::RecordMode;
use workspace::fs;

use super::RecordingFlag;
use crate::{AppErrorCode, Error, ProcessEnvironment};

/// Opens the tape that the flags ask for.
pub(super) fn open(
    wish: &RecordingFlag,
    surroundings: &ProcessEnvironment,
) -> Result<RecordMode, Error> {
    Ok(match wish {
        RecordingFlag::No => RecordMode::Off,
        RecordingFlag::Record(folder) => {
            RecordMode::Record(Arc::new(TapeFolder(surroundings.path(folder))))
        }
        RecordingFlag::Replay(folder) => {
            let path = surroundings.path(folder);
            if !fs::is_dir(&path) {
                return Err(no_folder(folder));
            }
            RecordMode::Replay(Arc::new(TapeFolder(path)))
        }
    })
}

fn no_folder(folder: &Path) -> Error {
    let message = format!("there is no folder {} to replay", folder.display());
    Error::new(AppErrorCode::NotFound, message).hint("`--record DIR` makes one")
}

struct TapeFolder(PathBuf);

impl TapeFolder {
    /// Returns the file of a recording. Names are hashes, so they contain nothing that a path could
    /// be made of.
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }
}

impl Tape for TapeFolder {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        fs::read_text(&self.file(name)).map_err(|error| error.to_string())
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write_private(&self.file(name), text.as_bytes()).map_err(|error| error.to_string())
    }
}
