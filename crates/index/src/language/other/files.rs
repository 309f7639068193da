//! The files that scripts, style sheets and schemas name by their path.

use crate::language::{ImportRequest, ImportResolver};
use crate::project::{FileId, IndexedProject, dir_of, join};

/// Looks beside the file, then from the directories above it.
pub(super) struct NearbyResolver;

impl ImportResolver for NearbyResolver {
    fn resolve(
        &self,
        project: &IndexedProject<'_>,
        from: FileId,
        import: &ImportRequest,
    ) -> Vec<FileId> {
        let path = project.path(from);
        let extension = project.source(from).path.extension().unwrap_or_default();
        let mut dir = dir_of(path);
        loop {
            let found = spellings(&import.specifier, extension)
                .into_iter()
                .find_map(|file| project.find(&join(dir, &file)?));
            if let Some(found) = found {
                return if found == from {
                    Vec::new()
                } else {
                    vec![found]
                };
            }
            if dir.is_empty() {
                return Vec::new();
            }
            dir = dir_of(dir);
        }
    }
}

/// Returns the path as written; for style sheets and Ruby also with the parts they omit.
fn spellings(file: &str, extension: &str) -> Vec<String> {
    let mut all = vec![file.to_owned()];
    if matches!(extension, "scss" | "less" | "css" | "rb" | "rake") {
        all.push(format!("{file}.{extension}"));
        let (dir, name) = file.rsplit_once('/').unwrap_or((".", file));
        all.push(format!("{dir}/_{name}.{extension}"));
        all.push(format!("lib/{file}.{extension}"));
    }
    all
}
