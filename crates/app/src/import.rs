//! Generators of other tools turned into a kit of the project.

use std::path::Path;

use hygen::ConversionWarning;
use workspace::{ChangeSet, RelPath, Root, fs};

use crate::kits::{self, AddedKit, KitAddition};
use crate::{AppErrorCode, Error, Project};

/// A kit that was made of something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedKit {
    pub kit: AddedKit,
    /// The parts that were not carried over, or not exactly.
    pub warnings: Vec<ConversionWarning>,
}

/// Turns hygen's templates below `source`, relative to `cwd`, into the kit that `addition` names.
pub fn hygen(
    project: &Project,
    cwd: &Path,
    addition: &KitAddition<'_>,
) -> Result<ImportedKit, Error> {
    let folder = cwd.join(addition.source);
    if !fs::is_dir(&folder) {
        let message = format!("there is no folder {}", addition.source);
        return Err(Error::new(AppErrorCode::NotFound, message)
            .hint("name the folder with hygen's generators, usually `_templates`"));
    }
    let (files, mut warnings) = read(&Root::open(&folder)?)?;
    let name = addition.name.unwrap_or("hygen");
    let conversion = hygen::convert(&files, name);
    warnings.extend(conversion.warnings);
    // `kit.yml` alone means that there was nothing to convert.
    if conversion.files.len() < 2 {
        let message = format!("{} has no generators", addition.source);
        return Err(Error::new(AppErrorCode::NotFound, message)
            .hint("hygen's templates are at GENERATOR/ACTION/FILE below the folder"));
    }
    let scratch = fs::scratch_dir()?;
    let made = Root::open(scratch.path())?;
    let mut changes = ChangeSet::new();
    for (path, text) in conversion.files {
        changes.write(RelPath::parse(&path)?, text);
    }
    made.apply(&changes)?;
    let kit = kits::put(project, &made, addition, None)?;
    Ok(ImportedKit { kit, warnings })
}

type KitFiles = Vec<(String, String)>;

/// Reads every text file by its path; other files are warnings.
fn read(root: &Root) -> Result<(KitFiles, Vec<ConversionWarning>), Error> {
    let mut files = Vec::new();
    let mut warnings = Vec::new();
    for entry in root.walk(&RelPath::root())? {
        let path = entry.path.as_str().to_owned();
        let Some(bytes) = root.read(&entry.path)? else {
            continue;
        };
        match String::from_utf8(bytes) {
            Ok(text) => files.push((path, text)),
            Err(_) => {
                let message = "is not text; copy it into the kit by hand".to_owned();
                warnings.push(ConversionWarning {
                    file: path,
                    line: 1,
                    message,
                });
            }
        }
    }
    Ok((files, warnings))
}
