//! Builds for doors that do not wait: asked for, decided about, and worked on in the background.

use agent::AgentClock as _;
use builder::decide::PlanApproval;
use builder::review::BuildReview;
use builder::{BuildProgress, JobId, JobStatus, Options};
use exec::CommandCancel;

use super::UseCases;
use super::access::Permission;
use crate::builds::deciding::{self, BuildDecision};
use crate::builds::{self, BuildRequest, BuildSnapshot};
use crate::tasks::clock::SystemClock;
use crate::{AppErrorCode, Error};

impl UseCases {
    /// Lists the newest builds, of this status or of any.
    pub async fn builds(
        &self,
        status: Option<JobStatus>,
        max: usize,
    ) -> Result<Vec<BuildSnapshot>, Error> {
        self.builds_after(status, None, max).await
    }

    /// Lists the newest builds from behind one.
    pub async fn builds_after(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        max: usize,
    ) -> Result<Vec<BuildSnapshot>, Error> {
        self.permit(Permission::Look)?;
        let around = (self.project(), self.app().surroundings());
        builds::list_after(around, status, after, max).await
    }

    /// Returns the build of this id, and what happened to it.
    pub async fn build(&self, id: &str) -> Result<(BuildSnapshot, Vec<BuildProgress>), Error> {
        self.permit(Permission::Look)?;
        let id = JobId::parse(id)?;
        let shown = builds::show(self.project(), self.app().surroundings(), &id).await?;
        let progress = builds::progress(self.project(), self.app().surroundings(), &id).await?;
        Ok((shown, progress))
    }

    /// Asks for a build. It is kept and waits for [`UseCases::work_on_build`].
    pub async fn ask_for_build(&self, prompt: &str, options: Options) -> Result<JobId, Error> {
        self.permit(Permission::StartBuilds)?;
        let mut salt = [0; 8];
        // The time still tells builds apart where the system gives no random bytes.
        let _ = getrandom::fill(&mut salt);
        let id = JobId::new(SystemClock.now_ms(), u64::from_be_bytes(salt));
        let prompt = prompt.to_owned();
        let kept = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            let order = use_cases.order(&mut silent);
            builds::ask(order, kept, &prompt, options).await
        })
        .await?;
        Ok(id)
    }

    /// Approves a plan, with an edited one in its place where one is given.
    pub async fn approve_build(
        &self,
        id: &JobId,
        plan: Option<String>,
    ) -> Result<JobStatus, Error> {
        self.permit(Permission::DecideBuilds)?;
        if self.actor().is_agent() {
            let message = "an agent may not approve what an agent builds";
            return Err(Error::new(AppErrorCode::Forbidden, message).hint("a person approves it"));
        }
        let id = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            if let Some(plan) = plan {
                builds::edit(use_cases.order(&mut silent), &id, &plan).await?;
            }
            let order = use_cases.order(&mut silent);
            let done = builds::accept(order, &id, PlanApproval::default()).await?;
            Ok(done.job.status())
        })
        .await
    }

    /// Ends a build without building it.
    pub async fn reject_build(&self, id: &JobId) -> Result<JobStatus, Error> {
        self.permit(Permission::DecideBuilds)?;
        let id = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            let order = use_cases.order(&mut silent);
            Ok(builds::reject(order, &id).await?.job.status())
        })
        .await
    }

    /// Ends a build in any state.
    pub async fn cancel_build(&self, id: &JobId) -> Result<JobStatus, Error> {
        self.permit(Permission::StartBuilds)?;
        let id = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            let order = use_cases.order(&mut silent);
            Ok(builds::cancel(order, &id).await?.job.status())
        })
        .await
    }

    /// Decides about work that waits for a review; [`UseCases::work_on_build`] goes on with it.
    pub async fn review_build(&self, id: &JobId, review: BuildReview) -> Result<JobStatus, Error> {
        self.decide_on_build(id, BuildDecision::Review(review))
            .await
    }

    /// Asks for more in the branch of a build that has come to its end.
    pub async fn follow_up_build(&self, id: &JobId, prompt: &str) -> Result<JobStatus, Error> {
        self.permit(Permission::StartBuilds)?;
        let wish = BuildDecision::FollowUp(prompt.to_owned());
        self.decide_on_build(id, wish).await
    }

    /// Lets the work of a build be published.
    pub async fn publish_build(&self, id: &JobId) -> Result<JobStatus, Error> {
        self.decide_on_build(id, BuildDecision::Publish).await
    }

    async fn decide_on_build(
        &self,
        id: &JobId,
        decision: BuildDecision,
    ) -> Result<JobStatus, Error> {
        self.permit(Permission::DecideBuilds)?;
        if self.actor().is_agent() {
            let message = "an agent may not decide about what an agent builds";
            return Err(Error::new(AppErrorCode::Forbidden, message).hint("a person decides"));
        }
        let id = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            let order = use_cases.order(&mut silent);
            let done = deciding::decide_on(order, &id, decision).await?;
            Ok(done.job.status())
        })
        .await
    }

    /// Works on a build until it waits for a decision or has come to its end.
    pub async fn work_on_build(
        &self,
        id: &JobId,
        cancel: CommandCancel,
    ) -> Result<JobStatus, Error> {
        self.permit(Permission::StartBuilds)
            .or_else(|_| self.permit(Permission::DecideBuilds))?;
        let id = id.clone();
        self.on_own_thread(move |use_cases| async move {
            let mut silent = agent::NoAgentObserver;
            let order = BuildRequest {
                cancel,
                ..use_cases.order(&mut silent)
            };
            Ok(builds::resume(order, &id).await?.job.status())
        })
        .await
    }

    fn order<'a>(&'a self, observer: &'a mut agent::NoAgentObserver) -> BuildRequest<'a> {
        BuildRequest {
            project: self.project(),
            surroundings: self.app().surroundings(),
            wish: self.app().wish().clone(),
            observer,
            cancel: CommandCancel::default(),
        }
    }

    /// Runs work on a thread of its own: what a build does may not move between threads.
    async fn on_own_thread<T, F>(
        &self,
        work: impl FnOnce(UseCases) -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>>,
    {
        let use_cases = self.clone();
        let runtime = tokio::runtime::Handle::current();
        let done = tokio::task::spawn_blocking(move || runtime.block_on(work(use_cases))).await;
        done.map_err(|cause| {
            let message = format!("the work on the build ended: {cause}");
            Error::new(AppErrorCode::Build, message)
        })?
    }
}
