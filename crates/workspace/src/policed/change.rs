//! Changing files under the policy: judged when staged, and again when applied.

use crate::apply::guard::{ApplyGuard, ChangeTarget, TargetAction};
use crate::descent::kind_of;
use crate::policy::{Denial, GrantedAction, WriteScope};
use crate::{
    AccessPolicy, ApplyReport, ChangeSet, Durability, Error, PathChange, PathKind, RecoveryReport,
    RelPath, Root, Workspace, WriteCounter,
};

impl Workspace {
    /// Adds a change to a set if it is permitted together with those already in it; otherwise
    /// leaves the set unchanged.
    pub fn stage(
        &self,
        changes: &mut ChangeSet,
        path: &RelPath,
        change: PathChange,
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

    /// Returns the effects of applying the changes, or the reason for refusing them, without
    /// writing anything.
    pub fn check(&self, changes: &ChangeSet) -> Result<ApplyReport, Error> {
        let ledger = self.lock_ledger();
        ledger.check(changes, &self.limits)?;
        self.root.foresee(changes, &self.judge(&ledger))
    }

    /// Makes every change or none. All are judged again, against the present disk, and then made in
    /// exactly the directories that were judged.
    pub fn apply(&self, changes: &ChangeSet) -> Result<ApplyReport, Error> {
        self.apply_surviving(changes, Durability::default())
    }

    /// Works like [`Workspace::apply`], with a choice of the failures to survive.
    pub fn apply_surviving(
        &self,
        changes: &ChangeSet,
        durability: Durability,
    ) -> Result<ApplyReport, Error> {
        let mut ledger = self.lock_ledger();
        ledger.check(changes, &self.limits)?;
        let judge = self.judge(&ledger);
        let applied = self.root.apply_guarded(changes, &judge, durability)?;
        ledger.record(changes, &applied);
        Ok(applied)
    }

    /// Finishes or undoes an apply that was interrupted; see [`Root::recover`].
    pub fn recover(&self) -> Result<Option<RecoveryReport>, Error> {
        self.root.recover()
    }

    fn judge<'w>(&'w self, ledger: &'w WriteCounter) -> PolicyGuard<'w> {
        PolicyGuard {
            root: &self.root,
            policy: &self.policy,
            ledger,
        }
    }
}

/// The policy as the guard of an apply.
struct PolicyGuard<'w> {
    root: &'w Root,
    policy: &'w AccessPolicy,
    ledger: &'w WriteCounter,
}

impl ApplyGuard for PolicyGuard<'_> {
    fn check(&self, target: &ChangeTarget<'_>) -> Result<(), Error> {
        // The path as spelled is judged by the rules; the plan names real paths.
        self.policy.check_write(target.spelled)?;
        let is_dir = target
            .found
            .is_some_and(|found| kind_of(found) == PathKind::Dir);
        let judged = match target.act {
            TargetAction::CreateDir if is_dir => Ok(()),
            TargetAction::CreateDir => self.policy.check_create_dir(target.real),
            TargetAction::Write if target.found.is_some() => {
                self.check(target.real, GrantedAction::Modify)
            }
            TargetAction::Write => self.check(target.real, GrantedAction::Create),
            TargetAction::DeleteTree if is_dir => return self.check_tree(target),
            TargetAction::Delete | TargetAction::DeleteTree => {
                self.check(target.real, GrantedAction::Delete)
            }
        };
        Ok(judged.map_err(|denial| denial.asked_as(target.spelled))?)
    }
}

impl PolicyGuard<'_> {
    /// A job that may create a file may also change and delete it after creating it.
    fn check(&self, real: &RelPath, action: GrantedAction) -> Result<(), Denial> {
        let is_its_own = self.ledger.created.contains(real);
        match self.policy.check_action(real, action) {
            Err(_) if is_its_own => self.policy.check_action(real, GrantedAction::Create),
            verdict => verdict,
        }
    }

    /// Refuses to remove a tree unless everything in it may be removed.
    fn check_tree(&self, target: &ChangeTarget<'_>) -> Result<(), Error> {
        let told = |denial: Denial| denial.inside(target.spelled);
        if let WriteScope::Nothing = self.policy.writes() {
            self.check(target.real, GrantedAction::Delete)
                .map_err(told)?;
        }
        self.policy.check_write(target.real).map_err(told)?;
        for entry in self.root.walk(target.real)? {
            self.check(&entry.path, GrantedAction::Delete)
                .map_err(told)?;
        }
        Ok(())
    }
}
