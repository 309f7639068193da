//! Creates a file under a name that no other process may have taken, such as saved answers.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::OpenOptions;

use crate::protected_paths::check_write;
use crate::{Error, RelPath, Root};

/// Drafts made by this process, so that two threads never share one.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

impl Root {
    /// Writes a file that must not exist yet, with its directories; returns false if it exists.
    ///
    /// The text is written under another name and then linked, which fails if the name is taken: of
    /// several processes one gets the name, and none reads half a file.
    pub fn create_new(&self, path: &RelPath, text: &str) -> Result<bool, Error> {
        check_write(path)?;
        let failed = |source: io::Error| Error::io("writing", path, source);
        if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
            self.dir().create_dir_all(&parent).map_err(failed)?;
        }
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = format!("{path}.{}-{number}.tmp", std::process::id());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let written = self
            .dir()
            .open_with(&draft, &options)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| self.dir().hard_link(&draft, self.dir(), path));
        let removed = self.dir().remove_file(&draft);
        match written {
            Ok(()) => removed.map(|()| true).map_err(failed),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(failed(source)),
        }
    }

    /// Removes a file, and its directory if that is now empty. A missing file is fine.
    pub fn remove_own(&self, path: &RelPath) -> Result<(), Error> {
        check_write(path)?;
        match self.dir().remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("removing", path, source));
            }
            _ => {}
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.is_root()) {
            // Fails, as it should, while the directory is not empty.
            self.dir().remove_dir(&parent).ok();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{RelPath, Root};

    #[test]
    fn a_name_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let path = RelPath::parse("a/b.json").unwrap();
        assert!(root.create_new(&path, "first").unwrap());
        assert!(!root.create_new(&path, "second").unwrap());
        assert_eq!(root.read_text(&path).unwrap().unwrap(), "first");
        let names = std::fs::read_dir(folder.path().join("a")).unwrap();
        assert_eq!(names.count(), 1);
        root.remove_own(&path).unwrap();
        root.remove_own(&path).unwrap();
        assert!(!folder.path().join("a").exists());
    }
}
