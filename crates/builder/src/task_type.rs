//! The six kinds of work, and their differences: prompt, context, permission, validation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::role::FileRole;

/// The kind of work a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskType {
    /// Something that was not there, with all its parts and tests.
    NewResource,
    /// Rename, extract, move; the behaviour stays the same.
    Refactor,
    /// Repairs a bug, from a description or a stack trace.
    Bugfix,
    /// Fields and tables change, and old data stays readable.
    SchemaMigration,
    /// Tests for existing code.
    TestGen,
    /// Documents and comments.
    DocGen,
}

/// The rules that a task type adds to the project's own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationRules {
    /// The files that may be touched.
    pub touches: AllowedFiles,
    /// The project checks to run.
    pub checks: ChecksToRun,
    /// Requires a test that fails without the change and passes with it.
    pub proof: ProofRequirement,
}

/// The files a job may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedFiles {
    /// All files the plan names.
    Anything,
    /// Tests, and files that only tests use.
    Tests,
    /// Documents, and comments in code.
    Words,
}

/// The project checks to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksToRun {
    /// All checks.
    All,
    /// No checks: text is not compiled.
    None,
}

/// Requirement that a test proves the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofRequirement {
    /// A test fails before and passes after.
    Wanted,
    /// No proof required.
    No,
}

/// The relation of a context file to the work; nearer ones are shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextNearness {
    /// Directly related to the files of the plan.
    Related,
    /// An example of how the project does such a thing.
    Pattern,
    /// Anything else.
    General,
}

impl TaskType {
    /// All task types, in the order of the documents.
    pub const ALL: [TaskType; 6] = [
        TaskType::NewResource,
        TaskType::Refactor,
        TaskType::Bugfix,
        TaskType::SchemaMigration,
        TaskType::TestGen,
        TaskType::DocGen,
    ];

    /// The name in JSON, on the command line and in messages.
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

    /// Parses the name of a task type.
    pub fn read(word: &str) -> Option<TaskType> {
        TaskType::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The system prompt: the part for all task types, then the part for this one.
    pub(crate) fn system_prompt(self) -> String {
        let base = include_str!("prompts/base.md").trim_end();
        format!("{base}\n\n{}\n", self.prompt().trim_end())
    }

    /// The rules of this task type.
    pub fn rules(self) -> ValidationRules {
        let plain = ValidationRules {
            touches: AllowedFiles::Anything,
            checks: ChecksToRun::All,
            proof: ProofRequirement::No,
        };
        match self {
            TaskType::NewResource | TaskType::Refactor | TaskType::SchemaMigration => plain,
            TaskType::Bugfix => ValidationRules {
                proof: ProofRequirement::Wanted,
                ..plain
            },
            TaskType::TestGen => ValidationRules {
                touches: AllowedFiles::Tests,
                ..plain
            },
            TaskType::DocGen => ValidationRules {
                touches: AllowedFiles::Words,
                checks: ChecksToRun::None,
                ..plain
            },
        }
    }

    /// The role of the files that serve as examples for this work, beside related ones.
    pub(crate) fn pattern_role(self) -> Option<FileRole> {
        match self {
            TaskType::TestGen | TaskType::Bugfix => Some(FileRole::Test),
            TaskType::DocGen => Some(FileRole::Document),
            TaskType::NewResource => Some(FileRole::Code),
            TaskType::Refactor | TaskType::SchemaMigration => None,
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
