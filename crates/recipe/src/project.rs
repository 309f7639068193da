//! The project as it will be: the disk, overlaid with everything decided so far.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use expr::{Value, to_text};
use workspace::{ChangeSet, PathChange, PathKind, RelPath, Root};

use crate::error::Error;

/// Most files one run writes.
pub(crate) const FILES_MAX: usize = 50_000;
/// Most bytes one run writes.
pub(crate) const BYTES_MAX: usize = 512 << 20;

/// A project and the changes that are pending.
pub(crate) struct PendingProject {
    root: Root,
    pending: RefCell<ChangeSet>,
    observed: RefCell<ObservedFiles>,
    bytes: Cell<usize>,
}

/// The state of the disk that decisions were based on: hashes of the texts that were read, and the
/// kinds of the paths.
///
/// Another process may write between deciding and performing. The run compares the two states under
/// the writer lock and decides again if they differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedFiles {
    /// A hash of each text, `None` for a file that was not there.
    texts: BTreeMap<RelPath, Option<u64>>,
    kinds: BTreeMap<RelPath, Option<PathKind>>,
}

impl ObservedFiles {
    pub(crate) fn note_text(&mut self, path: &RelPath, bytes: Option<&[u8]>) {
        self.texts.insert(path.clone(), bytes.map(hash));
    }

    /// Returns the paths that have changed since they were read.
    pub(crate) fn changed(&self, root: &Root) -> Result<Vec<RelPath>, Error> {
        let mut changed = Vec::new();
        for (path, seen) in &self.texts {
            if root.read(path)?.as_deref().map(hash) != *seen {
                changed.push(path.clone());
            }
        }
        for (path, seen) in &self.kinds {
            if root.kind(path)? != *seen {
                changed.push(path.clone());
            }
        }
        Ok(changed)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl PendingProject {
    /// Opens a view of its own on the directory of `root`, which conditions can keep.
    pub(crate) fn open(root: &Root) -> Result<Rc<Self>, Error> {
        let root = Root::open(root.path())?;
        Ok(Rc::new(Self {
            root,
            pending: RefCell::default(),
            observed: RefCell::default(),
            bytes: Cell::new(0),
        }))
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        let pending = self.pending.borrow();
        let bytes = pending.read(&self.root, path)?;
        if pending.get(path).is_none() {
            let mut observed = self.observed.borrow_mut();
            observed.note_text(path, bytes.as_deref());
        }
        Ok(bytes)
    }

    pub(crate) fn read_text(&self, path: &RelPath) -> Result<Option<String>, Error> {
        let pending = self.pending.borrow();
        let text = pending.read_text(&self.root, path)?;
        if pending.get(path).is_none() {
            let mut observed = self.observed.borrow_mut();
            observed.note_text(path, text.as_deref().map(str::as_bytes));
        }
        Ok(text)
    }

    /// Returns the kind of the path itself, not of the target of a link.
    fn kind(&self, path: &RelPath) -> Result<Option<PathKind>, Error> {
        let pending = self.pending.borrow();
        let kind = pending.kind(&self.root, path)?;
        if pending.get(path).is_none() {
            // An earlier step of this run may have made the directory; the record needs the kind on
            // the disk, which another process can change.
            let on_disk = self.root.kind(path)?;
            let mut observed = self.observed.borrow_mut();
            observed.kinds.insert(path.clone(), on_disk);
        }
        Ok(kind)
    }

    /// Returns true if the path will be of the wanted kind, a file or a directory; follows
    /// symlinks.
    pub(crate) fn is(&self, path: &RelPath, wanted: PathKind) -> Result<bool, Error> {
        Ok(match self.kind(path)? {
            Some(PathKind::Symlink) => match wanted {
                PathKind::Dir => self.root.is_dir(path)?,
                _ => self.root.exists(path)? && !self.root.is_dir(path)?,
            },
            found => found == Some(wanted),
        })
    }

    pub(crate) fn is_executable(&self, path: &RelPath) -> Result<bool, Error> {
        match self.pending.borrow().get(path) {
            Some(PathChange::Write {
                executable: true, ..
            }) => Ok(true),
            _ => Ok(self.root.is_executable(path)?),
        }
    }

    pub(crate) fn exists(&self, path: &RelPath) -> Result<bool, Error> {
        Ok(self.kind(path)?.is_some())
    }

    /// Puts a file into the pending changes, within the run's limits.
    pub(crate) fn write(
        &self,
        path: &RelPath,
        bytes: Vec<u8>,
        executable: bool,
    ) -> Result<(), Error> {
        self.bytes.set(self.bytes.get() + bytes.len());
        let mut pending = self.pending.borrow_mut();
        pending.put(path.clone(), PathChange::Write { bytes, executable });
        let limit = |what: String| Err(Error::new(crate::RecipeErrorKind::Limit, what));
        if pending.len() > FILES_MAX {
            return limit(format!(
                "the run writes more than FILES_MAX = {FILES_MAX} files"
            ));
        }
        if self.bytes.get() > BYTES_MAX {
            return limit(format!(
                "the run writes more than BYTES_MAX = {BYTES_MAX} bytes"
            ));
        }
        Ok(())
    }

    pub(crate) fn create_dir(&self, path: &RelPath) {
        self.pending
            .borrow_mut()
            .put(path.clone(), PathChange::CreateDir);
    }

    /// Returns a copy of the pending changes, to restore later.
    pub(crate) fn pending(&self) -> ChangeSet {
        self.pending.borrow().clone()
    }

    pub(crate) fn set_pending(&self, changes: ChangeSet) {
        self.pending.replace(changes);
    }

    /// Takes the record of everything read from the disk so far.
    pub(crate) fn take_observed(&self) -> ObservedFiles {
        self.observed.take()
    }

    /// Takes the pending changes, so that the caller can apply them.
    pub(crate) fn take_pending(&self) -> ChangeSet {
        self.pending.take()
    }

    /// Makes `fileExists(path)` and `dirExists(path)` for expressions.
    pub(crate) fn functions(self: &Rc<Self>) -> [(&'static str, Value); 2] {
        [
            self.function("fileExists", PathKind::File),
            self.function("dirExists", PathKind::Dir),
        ]
    }

    fn function(self: &Rc<Self>, name: &'static str, wanted: PathKind) -> (&'static str, Value) {
        let project = self.clone();
        let value = Value::host(name, move |cx, arguments| {
            let path = to_text(cx, arguments.first().unwrap_or(&Value::Undefined))?;
            let path =
                RelPath::parse(&path).map_err(|error| expr::Error::runtime(error.to_string()))?;
            let found = project.is(&path, wanted);
            found
                .map(Value::Bool)
                .map_err(|error| expr::Error::runtime(error.to_string()))
        });
        (name, value)
    }
}
