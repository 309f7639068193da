//! A workspace with a repository and secrets in it, and a world around it that must not change.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use exec::sandbox::{Sandbox, SandboxAvailability, SandboxProbe, SandboxRequirement};
use exec::{CommandOutcome, run, shell};

pub(crate) const SECRET: &str = "s3cr3t-contents";

/// Names a directory for the fields, for a user who may not write in the build directory of the
/// tests.
pub(crate) const PLACE: &str = "DRAWLOOM_TEST_PLACE";

/// The program that builds sandboxes, for a user who may not run the one that was built.
pub(crate) const STAGES: &str = "DRAWLOOM_TEST_STAGES";

/// The number of kinds of sandbox that must work.
pub(crate) const KINDS: &str = "DRAWLOOM_TEST_KINDS";

pub(crate) struct TestSandbox {
    _dir: tempfile::TempDir,
    /// The directory in which the command runs.
    pub(crate) workspace: PathBuf,
    /// Beside it: nothing here may be written.
    pub(crate) outside: PathBuf,
}

impl TestSandbox {
    /// Not in `/tmp`, which is private in a sandbox: a test there would prove nothing.
    pub(crate) fn new() -> Self {
        probed();
        let place = std::env::var_os(PLACE).map(PathBuf::from);
        let place = place.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        let dir = tempfile::tempdir_in(place).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let field = Self {
            workspace: root.join("workspace"),
            outside: root.join("outside"),
            _dir: dir,
        };
        for dir in ["src", "conf", ".git/hooks"] {
            std::fs::create_dir_all(field.workspace.join(dir)).unwrap();
        }
        std::fs::create_dir_all(field.outside.join("keys")).unwrap();
        field.put("workspace/.git/config", "[core]\n");
        field.put("workspace/.git/HEAD", "ref: refs/heads/main\n");
        field.put("workspace/notes", "notes\n");
        field.put("outside/victim", "original\n");
        field
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let root = self.workspace.parent().unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }

    /// Secrets in and beside the workspace, and a sandbox that hides them.
    pub(crate) fn with_secrets(&self, sandbox: Sandbox) -> Sandbox {
        for path in ["workspace/.env", "workspace/conf/.env", "outside/keys/id"] {
            self.put(path, &format!("{SECRET}\n"));
        }
        let missing = [PathBuf::from("no/.env"), PathBuf::from("conf/.env.local")];
        sandbox
            .hide(".env")
            .hide("conf/.env")
            .hide(self.outside.join("keys"))
            .hide(self.outside.join("keys/id"))
            .hide_all(missing)
    }

    /// All that is not the workspace.
    pub(crate) fn world(&self) -> FileSnapshot {
        snapshot_without(self.workspace.parent().unwrap(), &self.workspace)
    }

    pub(crate) fn sandbox(&self, requirement: SandboxRequirement) -> Sandbox {
        Sandbox::new(&self.workspace).requirement(requirement)
    }

    /// Runs a script in the workspace's `src`, with `$OUT` for the outside.
    pub(crate) fn run(&self, sandbox: &Sandbox, script: &str) -> CommandOutcome {
        let env = exec::ChildEnvironment::default()
            .set("OUT", &self.outside)
            .set("WS", &self.workspace);
        run(&shell(script)
            .env(env)
            .cwd(self.workspace.join("src"))
            .timeout(Duration::from_secs(20))
            .sandbox(sandbox.clone()))
        .unwrap()
    }
}

/// Probes with the program that this crate builds for its tests.
pub(crate) fn probed() -> &'static SandboxProbe {
    let stages = std::env::var_os(STAGES).map(PathBuf::from);
    let stages = stages.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_sandbox-stages")));
    exec::sandbox::use_stages_of(stages);
    exec::sandbox::probed()
}

/// The kinds of sandbox that hold here. Namespaces may be forbidden and Landlock may be missing,
/// but one of them has to be there, and the others have to say why they are not.
pub(crate) fn kinds() -> Vec<SandboxRequirement> {
    let probe = probed();
    let kinds: Vec<SandboxRequirement> = [
        (&probe.namespaces, SandboxRequirement::Namespaces),
        (&probe.bubblewrap, SandboxRequirement::Bubblewrap),
        (&probe.landlock, SandboxRequirement::Landlock),
    ]
    .into_iter()
    .filter(|(availability, _)| match availability {
        SandboxAvailability::Held { .. } => true,
        // A machine may lack a kind for a known reason; any other reason is a bug.
        SandboxAvailability::Unavailable { why } => {
            let known = [
                "forbids namespaces",
                "forbidden here",
                "forbids user namespaces",
                "hides parts of /proc",
                "the kernel",
            ];
            assert!(known.iter().any(|part| why.contains(part)), "{why}");
            false
        }
    })
    .map(|(_, requirement)| requirement)
    .collect();
    assert!(
        !kinds.is_empty(),
        "{}",
        probe.explain(SandboxRequirement::Auto)
    );
    // A kind that works for root works for an ordinary user.
    if let Some(count) = std::env::var_os(KINDS) {
        let held = kinds.len().to_string();
        assert_eq!(*held, *count, "{}", probe.explain(SandboxRequirement::Auto));
    }
    kinds
}

/// The kinds that hold back new names, too. Landlock cannot; its limits say so.
pub(crate) fn kinds_with_mounts() -> Vec<SandboxRequirement> {
    let mut kinds = kinds();
    kinds.retain(|kind| *kind != SandboxRequirement::Landlock);
    kinds
}

/// Returns true if signals to other processes are refused; older kernels cannot do that with
/// Landlock.
pub(crate) fn holds_signals(kind: SandboxRequirement) -> bool {
    let is_limit = |limit: &String| limit.starts_with("signals");
    match &probed().landlock {
        SandboxAvailability::Held { limits, .. } if kind == SandboxRequirement::Landlock => {
            !limits.iter().any(is_limit)
        }
        _ => true,
    }
}

/// Returns true if pipes of other programs cannot be written; without Landlock, mounts do not do that.
pub(crate) fn holds_pipes(kind: SandboxRequirement) -> bool {
    let availability = match kind {
        SandboxRequirement::Bubblewrap => &probed().bubblewrap,
        SandboxRequirement::Namespaces => &probed().namespaces,
        _ => return true,
    };
    let is_limit = |limit: &String| limit.starts_with("named pipes");
    !matches!(availability, SandboxAvailability::Held { limits, .. } if limits.iter().any(is_limit))
}

/// Every file below `dir` with its contents, mode and owner.
pub(crate) fn snapshot(dir: &Path) -> FileSnapshot {
    snapshot_without(dir, Path::new("/nothing"))
}

pub(crate) type FileSnapshot = BTreeMap<PathBuf, (Vec<u8>, u32, u32)>;

fn snapshot_without(dir: &Path, left_out: &Path) -> FileSnapshot {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path == left_out {
                continue;
            }
            let about = path.symlink_metadata().unwrap();
            let mut contents = Vec::new();
            if about.is_dir() {
                dirs.push(path.clone());
            } else if about.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                contents = target.into_os_string().into_encoded_bytes();
            } else if about.is_file() {
                contents = std::fs::read(&path).unwrap();
            }
            found.insert(path, (contents, about.mode(), about.uid()));
        }
    }
    found
}

/// Returns whether the tests run as root, of whom the kernel counts no processes.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
