//! Changing files under the policy: judged when staged, and again when applied.

use crate::apply::guard::{Act, Guard, Target};
use crate::descent::kind_of;
use crate::policy::{Action, Denial, Writes};
use crate::{
    Applied, Change, ChangeSet, Durability, Error, Kind, Ledger, Policy, Recovered, RelPath, Root,
    Workspace,
};

impl Workspace {
    /// Adds a change to a set if it may be made, beside those already in it;
    /// else the set stays as it was.
    pub fn stage(
        &self,
        changes: &mut ChangeSet,
        path: &RelPath,
        change: Change,
    ) -> Result<(), Error> {
        let before = changes.put(path.clone(), change);
        let judged = self.check(changes);
        if judged.is_err() {
            match before {
                Some(before) => changes.put(path.clone(), before),
                None => changes.forget(path),
            };
        }
        judged.map(|_| ())
    }

    /// What applying the changes would do, or why they may not be made.
    /// Nothing is written.
    pub fn check(&self, changes: &ChangeSet) -> Result<Applied, Error> {
        let ledger = self.lock_ledger();
        ledger.check(changes, &self.limits)?;
        self.root.foresee(changes, &self.judge(&ledger))
    }

    /// Makes every change or none. All are judged again, against the disk as
    /// it is now, and then made in the very directories that were judged.
    pub fn apply(&self, changes: &ChangeSet) -> Result<Applied, Error> {
        self.apply_surviving(changes, Durability::default())
    }

    /// As [`Workspace::apply`], saying what the changes must survive.
    pub fn apply_surviving(
        &self,
        changes: &ChangeSet,
        durability: Durability,
    ) -> Result<Applied, Error> {
        let mut ledger = self.lock_ledger();
        ledger.check(changes, &self.limits)?;
        let judge = self.judge(&ledger);
        let applied = self.root.apply_guarded(changes, &judge, durability)?;
        ledger.record(changes, &applied);
        Ok(applied)
    }

    /// Finishes or undoes an apply that was interrupted; see [`Root::recover`].
    pub fn recover(&self) -> Result<Option<Recovered>, Error> {
        self.root.recover()
    }

    fn judge<'w>(&'w self, ledger: &'w Ledger) -> Judge<'w> {
        Judge {
            root: &self.root,
            policy: &self.policy,
            ledger,
        }
    }
}

/// The policy as the guard of an apply.
struct Judge<'w> {
    root: &'w Root,
    policy: &'w Policy,
    ledger: &'w Ledger,
}

impl Guard for Judge<'_> {
    fn check(&self, target: &Target<'_>) -> Result<(), Error> {
        // The path as spelled is judged by the rules; the plan names real paths.
        self.policy.check_write(target.spelled)?;
        let is_dir = target
            .found
            .is_some_and(|found| kind_of(found) == Kind::Dir);
        let judged = match target.act {
            Act::CreateDir if is_dir => Ok(()),
            Act::CreateDir => self.policy.check_create_dir(target.real),
            Act::Write if target.found.is_some() => self.check(target.real, Action::Modify),
            Act::Write => self.check(target.real, Action::Create),
            Act::DeleteTree if is_dir => return self.check_tree(target),
            Act::Delete | Act::DeleteTree => self.check(target.real, Action::Delete),
        };
        Ok(judged.map_err(|denial| denial.asked_as(target.spelled))?)
    }
}

impl Judge<'_> {
    /// A job that may make a file may also change and delete what it made.
    fn check(&self, real: &RelPath, action: Action) -> Result<(), Denial> {
        let is_its_own = self.ledger.created.contains(real);
        match self.policy.check_action(real, action) {
            Err(_) if is_its_own => self.policy.check_action(real, Action::Create),
            verdict => verdict,
        }
    }

    /// A tree goes only if everything in it may go.
    fn check_tree(&self, target: &Target<'_>) -> Result<(), Error> {
        let told = |denial: Denial| denial.inside(target.spelled);
        if let Writes::Nothing = self.policy.writes() {
            self.check(target.real, Action::Delete).map_err(told)?;
        }
        self.policy.check_write(target.real).map_err(told)?;
        for entry in self.root.walk(target.real)? {
            self.check(&entry.path, Action::Delete).map_err(told)?;
        }
        Ok(())
    }
}
