//! Kits: recipes shared between projects, how they are found, and how they are pinned.

mod catalog;
mod lock;
mod manifest;
mod resolve;

use workspace::RelPath;

pub use catalog::{Catalog, Cookbook, Kit, Listing, discover};
pub use lock::{Lock, Locked, hash_tree};
pub use manifest::{CookbookManifest, Defaults, KitManifest, parse_cookbook, parse_kit};
pub use resolve::{Resolved, resolve};

/// Where kits live in a project.
pub const KITS_DIR: &str = ".drawloom/kits";
/// Where a project's own recipes live.
pub const RECIPES_DIR: &str = ".drawloom/recipes";
/// Where kits are pinned.
pub const LOCK_FILE: &str = ".drawloom/kits.lock";
pub const KIT_FILE: &str = "kit.yml";
pub const COOKBOOK_FILE: &str = "cookbook.yml";

/// The kit a path of the project belongs to, and the kit's directory.
pub(crate) fn kit_of(path: &RelPath) -> Option<(String, RelPath)> {
    let inside = path.strip_prefix(&RelPath::parse(KITS_DIR).ok()?)?;
    let name = inside.names().next()?.to_owned();
    let dir = RelPath::parse(&format!("{KITS_DIR}/{name}")).ok()?;
    Some((name, dir))
}
