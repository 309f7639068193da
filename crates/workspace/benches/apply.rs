//! The cost of applying: one file, 200 files, 10 000 files, new and replaced.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark builds its own fixtures"
)]

use divan::Bencher;
use tempfile::TempDir;
use workspace::{ChangeSet, Durability, RelPath, Root};

fn main() {
    divan::main();
}

/// Small files, ten to a directory.
fn changes(files: usize) -> ChangeSet {
    let mut changes = ChangeSet::new();
    for n in 0..files {
        let path = RelPath::parse(&format!("src/m{}/f{n}.ts", n / 10)).unwrap();
        changes.write(path, format!("export const n = {n};\n").repeat(20));
    }
    changes
}

fn project(applied: Option<&ChangeSet>) -> (TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    if let Some(changes) = applied {
        root.apply_surviving(changes, Durability::Kill).unwrap();
    }
    (dir, root)
}

#[divan::bench(args = [1, 200, 10_000], sample_count = 5, sample_size = 1)]
fn create(bencher: Bencher<'_, '_>, files: usize) {
    let changes = changes(files);
    bencher
        .with_inputs(|| project(None))
        .bench_values(|(dir, root)| {
            root.apply_surviving(&changes, Durability::Kill).unwrap();
            dir
        });
}

#[divan::bench(args = [1, 200, 10_000], sample_count = 5, sample_size = 1)]
fn create_for_power_loss(bencher: Bencher<'_, '_>, files: usize) {
    let changes = changes(files);
    bencher
        .with_inputs(|| project(None))
        .bench_values(|(dir, root)| {
            root.apply(&changes).unwrap();
            dir
        });
}

#[divan::bench(args = [1, 200, 10_000], sample_count = 5, sample_size = 1)]
fn replace(bencher: Bencher<'_, '_>, files: usize) {
    let changes = changes(files);
    bencher
        .with_inputs(|| project(Some(&changes)))
        .bench_values(|(dir, root)| {
            root.apply_surviving(&changes, Durability::Kill).unwrap();
            dir
        });
}

#[divan::bench]
fn recover_nothing(bencher: Bencher<'_, '_>) {
    let (_dir, root) = project(None);
    bencher.bench_local(|| root.recover().unwrap());
}
