//! The limits of a sandbox as kernel limits: set on this process, or on a stopped one.

use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Pid, Resource, Rlimit};

use super::spec::ResourceLimits;

/// Sets the limits of this process and of all that it starts.
pub(super) fn limit_ourselves(limits: &ResourceLimits) -> rustix::io::Result<()> {
    for (resource, limit) in kernel_limits(limits) {
        rustix::process::setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Sets the limits of another process, which must not have started anything yet.
pub(super) fn limit_process(pid: Pid, limits: &ResourceLimits) -> rustix::io::Result<()> {
    for (resource, limit) in kernel_limits(limits) {
        rustix::process::prlimit(Some(pid), resource, limit)?;
    }
    Ok(())
}

fn kernel_limits(limits: &ResourceLimits) -> [(Resource, Rlimit); 4] {
    [
        (Resource::Nproc, limits.processes_max),
        (Resource::Data, limits.memory_bytes_max),
        (Resource::Fsize, limits.file_bytes_max),
        (Resource::Core, 0),
    ]
    .map(|(resource, max)| {
        // Never more than the user has set for all programs.
        let known = rustix::process::getrlimit(resource).maximum;
        let max = Some(known.map_or(max, |known| known.min(max)));
        let limit = Rlimit {
            current: max,
            maximum: max,
        };
        (resource, limit)
    })
}

impl ResourceLimits {
    /// Returns the limits for a command that shares its namespaces with the user's other programs:
    /// there the kernel counts the threads of all of them.
    pub(super) fn beside_other_programs(self) -> Self {
        Self {
            processes_max: self.processes_max.saturating_add(threads_of_user()),
            ..self
        }
    }
}

/// Counts the threads of this user, by the directories of `/proc`.
fn threads_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    // A directory has two links of its own and one for each directory in it.
    const OWN_LINKS: u64 = 2;
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit())
        .filter_map(|entry| std::fs::metadata(entry.path().join("task")).ok())
        .filter(|tasks| tasks.uid() == user)
        .map(|tasks| tasks.nlink().saturating_sub(OWN_LINKS))
        .sum()
}
