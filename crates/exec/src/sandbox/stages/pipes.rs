//! Keeps a command from writing into the named pipes of other programs, which a read-only mount does
//! not: a pipe takes orders without any change to the file system.

use std::path::Path;

use ::landlock::{
    AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetStatus,
};

use super::super::handles::open_place;
use super::failed;

/// Restricts this process, and what it starts, to writing below these places and among devices and
/// processes. Without a Landlock that can do it, nothing happens, and the probe lists that among its
/// limits.
pub(super) fn close_pipes_outside<'p>(
    writable: impl Iterator<Item = &'p Path>,
) -> Result<(), String> {
    // A domain without a rule about moving files to other directories forbids it.
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::WriteFile | AccessFs::Refer);
    let Ok(handled) = handled else {
        return Ok(());
    };
    let own = ["/dev", "/proc"].map(Path::new).into_iter();
    // A place that is not there, or that was exchanged for a link meanwhile, is not written.
    let places: Vec<_> = own
        .chain(writable)
        .filter_map(|path| open_place(path).ok())
        .collect();
    let everywhere = open_place(Path::new("/")).map_err(failed("opening `/`"))?;
    let restricted = handled
        .create()
        .and_then(|created| created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer)))
        .and_then(|created| {
            let rule = |created: RulesetCreated, place| {
                created.add_rule(PathBeneath::new(place, AccessFs::WriteFile))
            };
            places.into_iter().try_fold(created, rule)
        })
        .and_then(RulesetCreated::restrict_self);
    match restricted.map_err(failed("Landlock"))?.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock did not hold".to_owned()),
        _ => Ok(()),
    }
}
