//! The message to the stages: fields, each preceded by its length.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::filter::FilterOpenings;
use super::handles::FileIdentity;
use super::spec::ResourceLimits;

/// Everything the stages need to build a sandbox and to start the command in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxPlan {
    /// A stage ends if it is no longer a child of this process.
    pub(crate) parent: u32,
    /// Gives the command a user namespace. An administrator in another user's workspace gets none:
    /// in a namespace those files would belong to the overflow user.
    pub(crate) user_namespace: bool,
    pub(crate) network_namespace: bool,
    pub(crate) workspace: PathBuf,
    /// The directory that the workspace has to be.
    pub(crate) identity: FileIdentity,
    pub(crate) mounts: Vec<(MountStep, PathBuf)>,
    pub(crate) tmp_bytes_max: u64,
    pub(crate) limits: ResourceLimits,
    pub(crate) openings: FilterOpenings,
    pub(crate) command: SandboxedCommand,
}

/// The command itself, with only its program left to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxedCommand {
    pub(crate) cwd: PathBuf,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// The mount on a place, in the order of paths: outer ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountStep {
    /// An empty private directory.
    Fresh,
    /// The place itself, writable, inside a read-only one.
    Writable,
    /// The place itself on itself, so that it cannot be moved.
    Pinned,
    /// The place itself, read-only, inside an empty one.
    Shown,
    /// The place itself, read-only, inside a writable one.
    Held,
    /// An empty cover.
    Hidden,
}

const STEPS: [MountStep; 6] = [
    MountStep::Fresh,
    MountStep::Writable,
    MountStep::Pinned,
    MountStep::Shown,
    MountStep::Held,
    MountStep::Hidden,
];

impl SandboxPlan {
    /// Returns the places below which the command may write.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        let is_writable = |step| matches!(step, MountStep::Fresh | MountStep::Writable);
        let places = self.mounts.iter();
        let places = places.filter(move |(step, _)| is_writable(*step));
        places.map(|(_, path)| path.as_path())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = FieldWriter(Vec::new());
        out.number(self.parent.into());
        out.flag(self.user_namespace);
        out.flag(self.network_namespace);
        out.text(self.workspace.as_os_str());
        out.number(self.identity.device);
        out.number(self.identity.inode);
        out.number(self.mounts.len() as u64);
        for (step, path) in &self.mounts {
            let step = STEPS.iter().position(|known| known == step);
            out.number(step.unwrap_or_default() as u64);
            out.text(path.as_os_str());
        }
        out.number(self.tmp_bytes_max);
        out.number(self.limits.processes_max);
        out.number(self.limits.memory_bytes_max);
        out.number(self.limits.file_bytes_max);
        out.flag(self.openings.internet);
        out.flag(self.openings.unix);
        out.flag(self.openings.sessions);
        out.flag(self.openings.other_processes);
        let command = &self.command;
        out.text(command.cwd.as_os_str());
        out.text(&command.program);
        out.number(command.args.len() as u64);
        command.args.iter().for_each(|arg| out.text(arg));
        out.number(command.env.len() as u64);
        for (name, value) in &command.env {
            out.text(name);
            out.text(value);
        }
        out.0
    }

    /// Decodes a plan; `None` if these bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = FieldReader(bytes);
        let plan = SandboxPlan {
            parent: u32::try_from(from.number()?).ok()?,
            user_namespace: from.flag()?,
            network_namespace: from.flag()?,
            workspace: from.path()?,
            identity: FileIdentity {
                device: from.number()?,
                inode: from.number()?,
            },
            mounts: from.list(|from| {
                let step = usize::try_from(from.number()?).ok()?;
                Some((*STEPS.get(step)?, from.path()?))
            })?,
            tmp_bytes_max: from.number()?,
            limits: ResourceLimits {
                processes_max: from.number()?,
                memory_bytes_max: from.number()?,
                file_bytes_max: from.number()?,
            },
            openings: FilterOpenings {
                internet: from.flag()?,
                unix: from.flag()?,
                sessions: from.flag()?,
                other_processes: from.flag()?,
            },
            command: SandboxedCommand {
                cwd: from.path()?,
                program: from.text()?,
                args: from.list(FieldReader::text)?,
                env: from.list(|from| Some((from.text()?, from.text()?)))?,
            },
        };
        from.0.is_empty().then_some(plan)
    }
}

struct FieldWriter(Vec<u8>);

impl FieldWriter {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.number(flag.into());
    }

    fn text(&mut self, text: &OsStr) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }
}

struct FieldReader<'b>(&'b [u8]);

impl FieldReader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SandboxPlan {
        SandboxPlan {
            parent: 7,
            user_namespace: true,
            network_namespace: false,
            workspace: PathBuf::from("/w s"),
            identity: FileIdentity {
                device: 3,
                inode: u64::MAX,
            },
            mounts: STEPS.map(|step| (step, PathBuf::from("/a\nb"))).to_vec(),
            tmp_bytes_max: 5,
            limits: ResourceLimits::default(),
            openings: FilterOpenings {
                internet: true,
                unix: false,
                sessions: true,
                other_processes: true,
            },
            command: SandboxedCommand {
                cwd: PathBuf::from("/c"),
                program: "p".into(),
                args: vec!["".into(), OsString::from_vec(vec![0xff])],
                env: vec![("A".into(), "=\n".into())],
            },
        }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        assert_eq!(SandboxPlan::decode(&plan().encode()), Some(plan()));
    }

    #[test]
    fn a_cut_or_longer_message_is_no_plan() {
        let bytes = plan().encode();
        for length in 0..bytes.len() {
            assert_eq!(SandboxPlan::decode(&bytes[..length]), None, "{length}");
        }
        assert_eq!(SandboxPlan::decode(&[bytes, vec![0]].concat()), None);
    }
}
