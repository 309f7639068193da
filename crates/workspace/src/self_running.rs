//! Files that run by themselves later: a hook, a CI job, an editor's task, a package's install
//! script.
//!
//! Writing one of them is like running a command, only later and unseen. A recipe from outside the
//! project needs the same permission for it.

use std::borrow::Cow;

use serde_json::Value;

use crate::descent::{LastLink, PathResolver};
use crate::{AccessPolicy, Denial, DenialRule, Error, RelPath, Root};

/// Scripts that npm and its kin run while packages are installed or published.
const LIFECYCLE: [&str; 11] = [
    "preinstall",
    "install",
    "postinstall",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublish",
    "prepublishOnly",
    "prepack",
    "postpack",
    "dependencies",
];

/// Keys of `package.json` and `composer.json` whose values are commands that a git hook or an
/// installation runs.
const HOOK_KEYS: [&str; 5] = [
    "husky",
    "simple-git-hooks",
    "lint-staged",
    "pre-commit",
    "gitHooks",
];

impl Root {
    /// Says why writing `after` to `path` would make something run later, or `None` for an ordinary
    /// file. Judges the path as spelled and the path it leads to through links.
    pub fn self_running(
        &self,
        path: &RelPath,
        before: Option<&[u8]>,
        after: &[u8],
    ) -> Result<Option<String>, Error> {
        let nothing = std::collections::BTreeSet::new();
        let led = PathResolver::new(self.fd(), &nothing).resolve(path, LastLink::Follow)?;
        for spelled in [path, &led.path] {
            let policy = AccessPolicy::default().check_write(spelled);
            if let Some(why) = policy.err().filter(acts).map(|denial| denial.why()) {
                return Ok(Some(why));
            }
            if let Some(why) = added_scripts(spelled, before, after) {
                return Ok(Some(why));
            }
        }
        Ok(None)
    }
}

/// Returns true if the rule is about programs and settings; lock files and build output are only
/// data.
fn acts(denial: &Denial) -> bool {
    !matches!(
        denial.rule(),
        DenialRule::LockFile | DenialRule::BuildOutput | DenialRule::Config
    )
}

/// Names the script of a package that the new text adds or changes.
fn added_scripts(path: &RelPath, before: Option<&[u8]>, after: &[u8]) -> Option<String> {
    let name = path.file_name()?;
    if !matches!(name, "package.json" | "composer.json") {
        return None;
    }
    // Another program may still read a file that is no valid JSON here, so treat it as one with
    // scripts.
    let Ok(after) = serde_json::from_slice::<Value>(after) else {
        return Some(format!("the scripts of `{name}` cannot be told"));
    };
    let old: Option<Value> = before.and_then(|bytes| serde_json::from_slice(bytes).ok());
    let old_key = |key: &str| old.as_ref().and_then(|old| old.get(key));
    if let Some(key) = HOOK_KEYS
        .iter()
        .find(|key| after.get(**key).is_some() && after.get(**key) != old_key(key))
    {
        return Some(format!("`{key}` of `{name}` is run by git hooks"));
    }
    let scripts = after.get("scripts")?.as_object()?;
    let changed = scripts.iter().find(|(script, line)| {
        let was = old_key("scripts").and_then(|scripts| scripts.get(*script));
        was != Some(*line) && (old.is_some() || runs_by_itself(name, script))
    });
    let (script, line) = changed?;
    let line = line
        .as_str()
        .map_or(Cow::Owned(line.to_string()), Cow::Borrowed);
    Some(format!("the script `{script}` of `{name}` runs `{line}`"))
}

/// In a new package, only scripts that an installation runs count; `composer` names its events
/// `post-…` and `pre-…`.
fn runs_by_itself(file: &str, script: &str) -> bool {
    match file {
        "composer.json" => script.starts_with("pre-") || script.starts_with("post-"),
        _ => LIFECYCLE.contains(&script),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, before: Option<&str>, after: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".github/workflows")).unwrap();
        std::os::unix::fs::symlink(".github", folder.path().join("docs")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let path = RelPath::parse(path).unwrap();
        let found = root
            .self_running(&path, before.map(str::as_bytes), after.as_bytes())
            .unwrap();
        assert_eq!(found.as_deref(), expected, "{path}");
    }

    #[test]
    fn names_that_act_are_told_as_spelled_and_through_links() {
        check("src/a.ts", None, "", None);
        check("package-lock.json", None, "{}", None);
        let own = "`drawloom.toml` belongs to Drawloom";
        check("drawloom.toml", None, "", Some(own));
        check(
            ".drawloom/recipes/x/recipe.yml",
            None,
            "",
            Some("`.drawloom` belongs to Drawloom"),
        );
        let ci = Some("`workflows` is run by a CI server");
        check(".github/workflows/x.yml", None, "", ci);
        check("docs/workflows/x.yml", None, "", ci);
        check(
            ".husky/pre-commit",
            None,
            "",
            Some("`.husky` is run by git on a commit or a push"),
        );
    }

    #[test]
    fn scripts_of_packages_count_when_they_are_new_to_the_project() {
        let test = r#"{"scripts":{"test":"vitest"}}"#;
        let install = r#"{"scripts":{"test":"vitest","postinstall":"node x"}}"#;
        check("package.json", None, test, None);
        check("package.json", Some(test), test, None);
        check(
            "package.json",
            Some("{}"),
            test,
            Some("the script `test` of `package.json` runs `vitest`"),
        );
        let found = Some("the script `postinstall` of `package.json` runs `node x`");
        check("package.json", None, install, found);
        check("apps/web/package.json", Some(test), install, found);
        check(
            "package.json",
            None,
            r#"{"lint-staged":{"*":"sh x"}}"#,
            Some("`lint-staged` of `package.json` is run by git hooks"),
        );
        check(
            "package.json",
            None,
            "{",
            Some("the scripts of `package.json` cannot be told"),
        );
    }
}
