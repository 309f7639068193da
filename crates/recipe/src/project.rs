//! The project as it will be: what is on disk, with everything decided so far laid over it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use expr::{Value, to_text};
use workspace::{Change, ChangeSet, Kind, RelPath, Root};

use crate::error::Error;

/// Most files one run writes.
pub(crate) const FILES_MAX: usize = 50_000;
/// Most bytes one run writes.
pub(crate) const BYTES_MAX: usize = 512 << 20;

/// A project and the changes that are pending.
pub(crate) struct Project {
    root: Root,
    pending: RefCell<ChangeSet>,
    bytes: Cell<usize>,
}

impl Project {
    /// A view of its own on the directory of `root`, which conditions can keep.
    pub(crate) fn open(root: &Root) -> Result<Rc<Self>, Error> {
        let root = Root::open(root.path())?;
        Ok(Rc::new(Self {
            root,
            pending: RefCell::default(),
            bytes: Cell::new(0),
        }))
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.pending.borrow().read(&self.root, path)?)
    }

    pub(crate) fn read_text(&self, path: &RelPath) -> Result<Option<String>, Error> {
        Ok(self.pending.borrow().read_text(&self.root, path)?)
    }

    /// Whether the path will be a file, and whether it will be a directory; symlinks followed.
    pub(crate) fn is(&self, path: &RelPath, wanted: Kind) -> Result<bool, Error> {
        let found = self.pending.borrow().kind(&self.root, path)?;
        Ok(match found {
            Some(Kind::Symlink) => match wanted {
                Kind::Dir => self.root.is_dir(path)?,
                _ => self.root.exists(path)? && !self.root.is_dir(path)?,
            },
            found => found == Some(wanted),
        })
    }

    pub(crate) fn is_executable(&self, path: &RelPath) -> Result<bool, Error> {
        match self.pending.borrow().get(path) {
            Some(Change::Write {
                executable: true, ..
            }) => Ok(true),
            _ => Ok(self.root.is_executable(path)?),
        }
    }

    pub(crate) fn exists(&self, path: &RelPath) -> Result<bool, Error> {
        Ok(self.pending.borrow().kind(&self.root, path)?.is_some())
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
        pending.put(path.clone(), Change::Write { bytes, executable });
        let limit = |what: String| Err(Error::new(crate::Kind::Limit, what));
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
            .put(path.clone(), Change::CreateDir);
    }

    /// The pending changes, to come back to.
    pub(crate) fn pending(&self) -> ChangeSet {
        self.pending.borrow().clone()
    }

    pub(crate) fn set_pending(&self, changes: ChangeSet) {
        self.pending.replace(changes);
    }

    /// Hands the pending changes to whoever applies them.
    pub(crate) fn take_pending(&self) -> ChangeSet {
        self.pending.take()
    }

    /// `fileExists(path)` and `dirExists(path)` for expressions.
    pub(crate) fn functions(self: &Rc<Self>) -> [(&'static str, Value); 2] {
        [
            self.function("fileExists", Kind::File),
            self.function("dirExists", Kind::Dir),
        ]
    }

    fn function(self: &Rc<Self>, name: &'static str, wanted: Kind) -> (&'static str, Value) {
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
