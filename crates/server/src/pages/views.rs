//! Saved views: named filters beside the lists of runs and tasks, each with how much it has now.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};
use store::{NewView, SavedView, ViewId, ViewedList};

use super::form::{FormData, shown};
use super::parts::line;
use super::runs::{filter, query_with};
use super::visit::{PageResult, PageVisit};
use crate::problem::{ApiProblem, ProblemCode};

/// How many views are shown.
const VIEWS_MAX: usize = 20;
/// How far the runs and tasks of a view are counted.
const COUNTED_MAX: usize = 99;

/// The views of a list as chips, and a form that keeps the filter of the address as another one.
pub(super) async fn bar(
    visit: &PageVisit,
    list: ViewedList,
    names: &[&str],
) -> Result<Markup, ApiProblem> {
    let Some(owner) = visit.use_cases.own_slug() else {
        return Ok(html! {});
    };
    let views = visit.state.app().views().views(&owner, list).await;
    let mut shown = Vec::new();
    for view in views.map_err(refused)?.into_iter().take(VIEWS_MAX) {
        let number = counted(visit, &view).await?;
        shown.push((view, number));
    }
    let query = query_with(&visit.query, names, ("", ""));
    let path = format!("/{}", list.as_str());
    let is_own = |view: &SavedView| view.owner == owner;
    Ok(html! {
        @if !shown.is_empty() || !query.is_empty() {
            div class="chips views" {
                @for (view, number) in &shown {
                    @let of_view = query_with(&query_of(view), names, ("", ""));
                    @let is_here = of_view == query;
                    a class="chip" href={ (path) "?" (of_view) } aria-current=[is_here.then_some("true")] dir="auto" {
                        (line(&view.name)) " " span class="num" { @if *number > COUNTED_MAX { (COUNTED_MAX) "+" } @else { (number) } }
                        @if !is_own(view) { " · " (view.owner.as_str()) }
                    }
                    @if is_here && is_own(view) {
                        form method="post" action="/views/remove" { input type="hidden" name="view" value=(view.id); input type="hidden" name="list" value=(list.as_str()); button class="quiet small" { "Remove this view" } }
                    }
                }
                @if !query.is_empty() && !shown.iter().any(|(view, _)| query_with(&query_of(view), names, ("", "")) == query) {
                    details class="pop" {
                        summary class="chip" { "Keep this filter…" }
                        form method="post" action="/views" class="menu" {
                            input type="hidden" name="list" value=(list.as_str());
                            @for name in names { @if let Some(value) = visit.query.text(name) { input type="hidden" name={ "p." (name) } value=(value); } }
                            div class="field" { label for="view-name" { "Name of the view" } input id="view-name" name="name" required maxlength=(store::VIEW_NAME_CHARS_MAX); }
                            div class="field" { label class="flag" { input type="checkbox" name="shared" value="true"; " Others see it, too" } }
                            button { "Keep it" }
                        }
                    }
                }
            }
        }
    })
}

/// The parameters that a view keeps.
fn query_of(view: &SavedView) -> FormData {
    let kept = view.filter.as_object().into_iter().flatten();
    FormData(
        kept.map(|(name, value)| (name.clone(), shown(value)))
            .collect(),
    )
}

async fn counted(visit: &PageVisit, view: &SavedView) -> Result<usize, ApiProblem> {
    let query = query_of(view);
    let use_cases = &visit.use_cases;
    Ok(match view.list {
        ViewedList::Runs => {
            let filter = filter(&query, visit.now_ms);
            use_cases.count_runs(&filter, COUNTED_MAX + 1).await?
        }
        ViewedList::Tasks => {
            let filter = super::tasks::filter(&query, &use_cases.person());
            use_cases.count_tasks(&filter, COUNTED_MAX + 1).await?
        }
    })
}

/// Keeps a filter under a name.
pub(super) async fn save(visit: PageVisit) -> PageResult {
    let form = &visit.form;
    let list: ViewedList = form.required("list")?.parse().map_err(refused)?;
    let kept = form.0.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("p.")?;
        Some((name.to_owned(), Value::from(value.as_str())))
    });
    let kept: Map<String, Value> = kept.collect();
    let view = NewView {
        owner: owner(&visit)?,
        name: form.required("name")?.to_owned(),
        list,
        filter: Value::Object(kept),
        is_shared: form.get("shared").is_some(),
    };
    let added = visit.state.app().views().add_view(&view).await;
    let added = added.map_err(refused)?;
    let names = names_of(list);
    let query = query_with(&query_of(&added), names, ("", ""));
    let to = format!("/{}?{query}", list.as_str());
    visit
        .done(("views.add", &view.name), &to, "view-saved")
        .await
}

/// Removes one of the person's own views.
pub(super) async fn remove(visit: PageVisit) -> Result<Response, super::visit::PageProblem> {
    let list: ViewedList = visit.form.required("list")?.parse().map_err(refused)?;
    let id = visit.form.required("view")?;
    let gone = || ApiProblem::new(ProblemCode::NotFound, format!("you have no view `{id}`"));
    let number = id.parse().map_err(|_| gone())?;
    let owner = owner(&visit)?;
    let views = visit.state.app().views();
    let found = views.view(ViewId(number)).await.map_err(refused)?;
    let view = found.filter(|view| view.owner == owner).ok_or_else(gone)?;
    views.remove_view(&view).await.map_err(refused)?;
    let to = format!("/{}", list.as_str());
    visit
        .done(("views.remove", &view.name), &to, "view-removed")
        .await
}

fn names_of(list: ViewedList) -> &'static [&'static str] {
    match list {
        ViewedList::Runs => &super::runs::PARAMETERS,
        ViewedList::Tasks => &super::tasks::PARAMETERS,
    }
}

fn owner(visit: &PageVisit) -> Result<store::Slug, ApiProblem> {
    visit
        .use_cases
        .own_slug()
        .ok_or_else(|| ApiProblem::new(ProblemCode::Forbidden, "views belong to users who sign in"))
}

fn refused(error: store::Error) -> ApiProblem {
    match error.kind() {
        store::DatabaseErrorKind::Invalid => {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
        }
        store::DatabaseErrorKind::Conflict => {
            ApiProblem::new(ProblemCode::Conflict, error.to_string())
        }
        _ => app::Error::from(error).into(),
    }
}
