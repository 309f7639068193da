//! Schedules, with who may see and change them.

use std::path::Path;

use serde_json::Value;

use super::UseCases;
use super::access::Permission;
use crate::Error;
use crate::schedules::{NewSchedule, Schedule, Slug};

/// A schedule to add, of a workflow by name.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    pub slug: Slug,
    pub workflow: String,
    pub cron: String,
    pub time_zone: String,
    pub input: Value,
    pub is_enabled: bool,
    /// The rule for times that overlap or were missed.
    pub policy: store::SchedulePolicy,
}

impl UseCases {
    /// Lists all schedules, by slug.
    pub async fn schedules(&self) -> Result<Vec<Schedule>, Error> {
        self.permit(Permission::Look)?;
        self.app().calendar().list().await
    }

    /// Returns the schedule of this slug.
    pub async fn schedule(&self, slug: &Slug) -> Result<Schedule, Error> {
        self.permit(Permission::Look)?;
        self.app().calendar().find(slug).await
    }

    /// Adds a schedule of a workflow that can run.
    pub async fn add_schedule(&self, wish: ScheduleRequest) -> Result<Schedule, Error> {
        self.permit(Permission::ManageSchedules)?;
        // A name of the project, never a path.
        let sheet = self.sheet(&wish.workflow).await?;
        let project = self.project_now().await?;
        let surroundings = crate::ProcessEnvironment {
            cwd: project.folder().to_owned(),
            ..self.app().surroundings().clone()
        };
        let new = NewSchedule {
            slug: wish.slug,
            workflow: Path::new(&sheet.name),
            cron: &wish.cron,
            time_zone: &wish.time_zone,
            input: wish.input,
            is_enabled: wish.is_enabled,
            policy: wish.policy,
        };
        let calendar = self.app().calendar();
        calendar.add(&project, &surroundings, new).await
    }

    /// Switches a schedule on or off.
    pub async fn enable_schedule(&self, slug: &Slug, on: bool) -> Result<Schedule, Error> {
        self.permit(Permission::ManageSchedules)?;
        self.app().calendar().enable(slug, on).await
    }

    /// Removes a schedule. Runs it has started stay.
    pub async fn remove_schedule(&self, slug: &Slug) -> Result<(), Error> {
        self.permit(Permission::ManageSchedules)?;
        self.app().calendar().remove(slug).await
    }
}
