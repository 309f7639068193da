//! Appends lines to a file that several processes write to, such as a cost log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::root::special;
use crate::{Error, RelPath, Root};

impl Root {
    /// Adds one line to the end of a private file, which is created with its directories if
    /// missing.
    ///
    /// Lines of several processes never mix. If a dying process left its line unfinished, that line
    /// is ended first, so that it spoils only itself.
    pub fn append_line(&self, path: &RelPath, line: &str) -> Result<(), Error> {
        let failed = |source: io::Error| Error::io("writing", path, source);
        let (dir, name) = self.enter_private(path)?;
        // Without NONBLOCK, opening a FIFO waits for a reader that may never come.
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&dir, name, flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(opened.map_err(|errno| failed(errno.into()))?);
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(special(path));
        }
        // Narrows the permissions of a file that an earlier version made.
        rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR).ok();
        // Locked for one short write; closing the file releases the lock.
        flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed(errno.into()))?;
        let mut text = String::with_capacity(line.len() + 2);
        if is_torn(&mut file).map_err(failed)? {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(failed)
    }
}

/// Returns true if the last line has no line feed.
fn is_torn(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use crate::{RelPath, Root, WorkspaceErrorKind};

    #[test]
    fn lines_are_added_and_a_torn_one_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let path = RelPath::parse("a/b/lines.txt").unwrap();
        root.append_line(&path, "one").unwrap();
        root.append_line(&path, "two").unwrap();
        assert_eq!(root.read_text(&path).unwrap().unwrap(), "one\ntwo\n");
        std::fs::write(folder.path().join("a/b/lines.txt"), "one\ntw").unwrap();
        root.append_line(&path, "three").unwrap();
        assert_eq!(root.read_text(&path).unwrap().unwrap(), "one\ntw\nthree\n");
    }

    #[test]
    fn lines_of_many_writers_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = RelPath::parse("lines.txt").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (path, folder) = (&path, folder.path());
                scope.spawn(move || {
                    let root = Root::open(folder).unwrap();
                    let line = writer.to_string().repeat(5_000);
                    for _ in 0..20 {
                        root.append_line(path, &line).unwrap();
                    }
                });
            }
        });
        let text = Root::open(folder.path()).unwrap().read_text(&path).unwrap();
        let text = text.unwrap();
        assert_eq!(text.lines().count(), 160);
        for line in text.lines() {
            assert_eq!(line, line[..1].repeat(5_000));
        }
    }

    #[test]
    fn a_link_out_of_the_root_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        root.append_line(&RelPath::parse("out/x").unwrap(), "x")
            .unwrap_err();
        assert!(std::fs::read_dir(outside.path()).unwrap().next().is_none());
        let git = root.append_line(&RelPath::parse(".git/hooks/x").unwrap(), "x");
        assert_eq!(git.unwrap_err().kind(), WorkspaceErrorKind::Denied);
    }
}
