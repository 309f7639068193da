//! Kits: recipes shared between projects, how they are found, and how they are pinned.

mod catalog;
mod lock;
mod manifest;
mod resolve;

use workspace::RelPath;

pub use catalog::{Cookbook, Kit, RecipeCatalog, RecipeListing, discover};
pub use lock::{KitLock, LockedKit, hash_tree};
pub use manifest::{CookbookManifest, KitDefaults, KitManifest, parse_cookbook, parse_kit};
pub use resolve::{ResolvedRecipe, resolve};

/// Folder of a project's kits.
pub const KITS_DIR: &str = ".drawloom/kits";
/// Folder of a project's own recipes.
pub const RECIPES_DIR: &str = ".drawloom/recipes";
/// File that pins the kits.
pub const LOCK_FILE: &str = ".drawloom/kits.lock";
pub const KIT_FILE: &str = "kit.yml";
pub(crate) const COOKBOOK_FILE: &str = "cookbook.yml";

/// Returns the kit a path of the project belongs to, and the kit's directory.
pub(crate) fn kit_of(path: &RelPath) -> Option<(String, RelPath)> {
    let inside = path.strip_prefix(&RelPath::parse(KITS_DIR).ok()?)?;
    let name = inside.names().next()?.to_owned();
    let dir = RelPath::parse(&format!("{KITS_DIR}/{name}")).ok()?;
    Some((name, dir))
}
