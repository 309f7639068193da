//! The one table of permissions and roles: it decides what an actor may do.
//!
//! Every use case asks [`Actor::permit`] before it does anything. The routes of the server, the
//! buttons of the pages and the tools of MCP read the same table through
//! [`Permission::least_role`].

use store::UserRole;

use crate::{AppErrorCode, Error};

/// The one on whose behalf a use case runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The person at the terminal, who owns the project and its database and may do everything.
    Terminal {
        /// The name that answers are kept under.
        name: String,
    },
    /// A person who has signed in, or a program with a person's token.
    Person {
        /// The user's slug.
        name: String,
        /// The role of the user, or of the token where that is lower.
        role: UserRole,
    },
    /// An agent: a model with tools. It never decides about work that is meant for people.
    Agent {
        /// The agent's slug, or the name of the program that speaks for it.
        name: String,
        /// The role of the agent, or of its token where that is lower.
        role: UserRole,
    },
}

/// A kind of action that a role may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// See runs, tasks, workflows, builds, recipes and costs.
    Look,
    /// Answer a task, send it back, or comment on it.
    AnswerTasks,
    /// Approve, reject or review a build.
    DecideBuilds,
    /// Create tasks, assign them, retry them.
    ManageTasks,
    /// Start runs of workflows, and cancel, pause, resume or rerun them.
    ControlRuns,
    /// Save new versions of workflows.
    EditWorkflows,
    /// Let workflows run commands and call addresses that no workflow of the project does yet.
    AllowActs,
    /// Run recipes, which write files of the project.
    RunRecipes,
    /// Ask for builds, cancel and publish them.
    StartBuilds,
    /// Add, switch and remove schedules.
    ManageSchedules,
    /// Delete runs that have ended.
    DeleteRuns,
    /// Add and change users and agents.
    ManagePeople,
    /// See and revoke the tokens and sessions of others.
    ManageAccess,
    /// Add and change webhooks.
    ManageWebhooks,
    /// Read the audit log and the health of workers.
    ReadAudit,
}

impl Permission {
    /// All of them.
    pub const ALL: [Permission; 15] = [
        Permission::Look,
        Permission::AnswerTasks,
        Permission::DecideBuilds,
        Permission::ManageTasks,
        Permission::ControlRuns,
        Permission::EditWorkflows,
        Permission::AllowActs,
        Permission::RunRecipes,
        Permission::StartBuilds,
        Permission::ManageSchedules,
        Permission::DeleteRuns,
        Permission::ManagePeople,
        Permission::ManageAccess,
        Permission::ManageWebhooks,
        Permission::ReadAudit,
    ];

    /// Returns the lowest role that may do this; higher roles may as well. This match is the table.
    pub fn least_role(self) -> UserRole {
        match self {
            Permission::Look => UserRole::Viewer,
            Permission::AnswerTasks | Permission::DecideBuilds => UserRole::Reviewer,
            Permission::ManageTasks
            | Permission::ControlRuns
            | Permission::EditWorkflows
            | Permission::RunRecipes
            | Permission::StartBuilds
            | Permission::ManageSchedules => UserRole::Operator,
            Permission::AllowActs
            | Permission::DeleteRuns
            | Permission::ManagePeople
            | Permission::ManageAccess
            | Permission::ManageWebhooks
            | Permission::ReadAudit => UserRole::Admin,
        }
    }

    /// Returns whether a role may do this.
    pub fn is_allowed(self, role: UserRole) -> bool {
        role.lower(self.least_role()) == self.least_role()
    }

    /// Returns the words for messages: "you may not …".
    pub fn words(self) -> &'static str {
        match self {
            Permission::Look => "look at this",
            Permission::AnswerTasks => "answer tasks",
            Permission::DecideBuilds => "decide about builds",
            Permission::ManageTasks => "create or change tasks",
            Permission::ControlRuns => "start or control runs",
            Permission::EditWorkflows => "save workflows",
            Permission::AllowActs => "add commands and calls to workflows",
            Permission::RunRecipes => "run recipes",
            Permission::StartBuilds => "ask for builds",
            Permission::ManageSchedules => "change schedules",
            Permission::DeleteRuns => "delete runs",
            Permission::ManagePeople => "change users",
            Permission::ManageAccess => "manage the access of others",
            Permission::ManageWebhooks => "change webhooks",
            Permission::ReadAudit => "read the audit log",
        }
    }
}

impl Actor {
    /// Returns the name under which answers, comments and events are stored.
    pub fn name(&self) -> &str {
        match self {
            Actor::Terminal { name } | Actor::Person { name, .. } | Actor::Agent { name, .. } => {
                name
            }
        }
    }

    /// Returns the role that decides what the actor may do.
    pub fn role(&self) -> UserRole {
        match self {
            Actor::Terminal { .. } => UserRole::Admin,
            Actor::Person { role, .. } | Actor::Agent { role, .. } => *role,
        }
    }

    /// Returns whether the actor is an agent.
    pub fn is_agent(&self) -> bool {
        matches!(self, Actor::Agent { .. })
    }

    /// Refuses what the actor's role may not do.
    pub fn permit(&self, permission: Permission) -> Result<(), Error> {
        if permission.is_allowed(self.role()) {
            return Ok(());
        }
        let message = format!(
            "{} is a {} and may not {}",
            self.name(),
            self.role().as_str(),
            permission.words()
        );
        Err(Error::new(AppErrorCode::Forbidden, message).hint(format!(
            "this takes the role {} or higher; ask an admin",
            permission.least_role().as_str()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as people read it: one row for each permission, one letter for each role that may.
    #[test]
    fn every_permission_has_a_row_in_the_table() {
        let rows = Permission::ALL.map(|permission| {
            let may: String = UserRole::ALL
                .into_iter()
                .filter(|role| permission.is_allowed(*role))
                .map(|role| &role.as_str()[..1])
                .collect();
            format!("{permission:?} {may}")
        });
        let expected = [
            "Look aorv",
            "AnswerTasks aor",
            "DecideBuilds aor",
            "ManageTasks ao",
            "ControlRuns ao",
            "EditWorkflows ao",
            "AllowActs a",
            "RunRecipes ao",
            "StartBuilds ao",
            "ManageSchedules ao",
            "DeleteRuns a",
            "ManagePeople a",
            "ManageAccess a",
            "ManageWebhooks a",
            "ReadAudit a",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_refusal_names_the_actor_and_the_role_it_takes() {
        let actor = Actor::Person {
            name: "eve".to_owned(),
            role: UserRole::Viewer,
        };
        let refused = actor
            .permit(Permission::ControlRuns)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("eve is a viewer"), "{refused}");
    }
}
