//! The six kinds of work, and what each of them changes: prompt, context, permission, validation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::role::Role;

/// What kind of work a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskType {
    /// Something that was not there, with all its parts and tests.
    NewResource,
    /// Rename, extract, move; nothing behaves otherwise afterwards.
    Refactor,
    /// Something that goes wrong, from a description or a stack trace.
    Bugfix,
    /// Fields and tables change, and old data stays readable.
    SchemaMigration,
    /// Tests for code that is there.
    TestGen,
    /// Documents and comments.
    DocGen,
}

/// What the validation of a task type asks for beside the project's own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which files may be touched.
    pub touches: Touches,
    /// Whether the project's checks are run.
    pub checks: Checks,
    /// Whether a test has to fail without the change and pass with it.
    pub proof: Proof,
}

/// Which files a job may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Whatever the plan names.
    Anything,
    /// Tests and what only tests use.
    Tests,
    /// Documents, and comments in code.
    Words,
}

/// Whether the project's checks are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// All of them.
    All,
    /// None: words are not compiled.
    None,
}

/// Whether a change has to be proven by a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A test fails before and passes after.
    Wanted,
    /// It is not asked for.
    No,
}

/// How near a context file is to the work; nearer ones are shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// Directly related to the files of the plan.
    Related,
    /// An example of how such a thing is done here.
    Pattern,
    /// Anything else.
    General,
}

impl TaskType {
    /// All of them, in the order of the documents.
    pub const ALL: [TaskType; 6] = [
        TaskType::NewResource,
        TaskType::Refactor,
        TaskType::Bugfix,
        TaskType::SchemaMigration,
        TaskType::TestGen,
        TaskType::DocGen,
    ];

    /// The word in JSON, on the command line and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskType::NewResource => "new-resource",
            TaskType::Refactor => "refactor",
            TaskType::Bugfix => "bugfix",
            TaskType::SchemaMigration => "schema-migration",
            TaskType::TestGen => "test-gen",
            TaskType::DocGen => "doc-gen",
        }
    }

    /// The task type of this word.
    pub fn read(word: &str) -> Option<TaskType> {
        TaskType::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The system prompt: what holds for all of them, then what holds for this one.
    pub fn system_prompt(self) -> String {
        let base = include_str!("prompts/base.md").trim_end();
        format!("{base}\n\n{}\n", self.prompt().trim_end())
    }

    /// What its validation asks for.
    pub fn rules(self) -> Rules {
        let plain = Rules {
            touches: Touches::Anything,
            checks: Checks::All,
            proof: Proof::No,
        };
        match self {
            TaskType::NewResource | TaskType::Refactor | TaskType::SchemaMigration => plain,
            TaskType::Bugfix => Rules {
                proof: Proof::Wanted,
                ..plain
            },
            TaskType::TestGen => Rules {
                touches: Touches::Tests,
                ..plain
            },
            TaskType::DocGen => Rules {
                touches: Touches::Words,
                checks: Checks::None,
                ..plain
            },
        }
    }

    /// Which role of file is an example worth showing for this work, beside related ones.
    pub fn pattern_role(self) -> Option<Role> {
        match self {
            TaskType::TestGen | TaskType::Bugfix => Some(Role::Test),
            TaskType::DocGen => Some(Role::Document),
            TaskType::NewResource => Some(Role::Code),
            TaskType::Refactor | TaskType::SchemaMigration => None,
        }
    }

    /// The conventional commit type.
    pub fn commit_type(self) -> &'static str {
        match self {
            TaskType::NewResource | TaskType::SchemaMigration => "feat",
            TaskType::Refactor => "refactor",
            TaskType::Bugfix => "fix",
            TaskType::TestGen => "test",
            TaskType::DocGen => "docs",
        }
    }

    fn prompt(self) -> &'static str {
        match self {
            TaskType::NewResource => include_str!("prompts/new-resource.md"),
            TaskType::Refactor => include_str!("prompts/refactor.md"),
            TaskType::Bugfix => include_str!("prompts/bugfix.md"),
            TaskType::SchemaMigration => include_str!("prompts/schema-migration.md"),
            TaskType::TestGen => include_str!("prompts/test-gen.md"),
            TaskType::DocGen => include_str!("prompts/doc-gen.md"),
        }
    }
}

impl fmt::Display for TaskType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::TaskType;

    #[test]
    fn every_task_type_has_its_own_prompt_after_the_base() {
        let base = include_str!("prompts/base.md").trim_end();
        let mut seen = Vec::new();
        for kind in TaskType::ALL {
            let prompt = kind.system_prompt();
            let own = prompt.strip_prefix(base).unwrap_or_default().to_owned();
            assert!(own.contains(&format!("`{kind}`")), "{kind}: {own}");
            assert!(!seen.contains(&own), "{kind} has another's prompt");
            seen.push(own);
        }
    }

    #[test]
    fn words_and_types_are_the_same_in_json() {
        for kind in TaskType::ALL {
            assert_eq!(TaskType::read(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        assert_eq!(TaskType::read("feature"), None);
    }
}
