//! GitLab and Gitea, as their API documentation has them, over real HTTP.

use serde_json::{Value, json};
use vcs::{
    BranchName, Error, Forge, ForgeLimits, ForgeProject, ForgeToken, GitLab, Gitea,
    MANUAL_FIX_LABEL, NewPullRequest, PublishOutcome, PullReadiness, VcsErrorKind,
};

use crate::scripted::{Act, Scripted, reply};

const TOKEN: &str = "the-tests-own-token";

const LIMITS: ForgeLimits = ForgeLimits {
    connect_ms_max: 2000,
    call_ms_max: 1500,
    response_bytes_max: 256 * 1024,
    attempts_max: 3,
    wait_ms_max: 2000,
    wait_ms_first: 10,
};

fn project() -> ForgeProject {
    ForgeProject::new("git.example.com", "team/sub/app").unwrap()
}

fn gitlab(url: &str) -> Box<dyn Forge> {
    let base = format!("{url}/api/v4");
    Box::new(GitLab::new(&base, &project(), ForgeToken::new(TOKEN), LIMITS).unwrap())
}

fn gitea(url: &str) -> Box<dyn Forge> {
    let project = ForgeProject::new("git.example.com", "octo/hello").unwrap();
    let base = format!("{url}/api/v1");
    Box::new(Gitea::new(&base, &project, ForgeToken::new(TOKEN), LIMITS).unwrap())
}

fn pull(readiness: PullReadiness) -> NewPullRequest {
    let labels = match readiness {
        PullReadiness::Ready => Vec::new(),
        PullReadiness::Draft => vec![MANUAL_FIX_LABEL.to_owned()],
    };
    NewPullRequest {
        title: "feat: x".to_owned(),
        body: "Body.".to_owned(),
        head: BranchName::parse("builder/j1-x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        readiness,
        labels,
    }
}

type Make = fn(&str) -> Box<dyn Forge>;

async fn publish(
    make: Make,
    acts: Vec<Act>,
    how: PullReadiness,
) -> (Result<PublishOutcome, Error>, Scripted) {
    let server = Scripted::start(acts);
    let published = make(&server.url).publish(&pull(how)).await;
    for request in server.received() {
        let bearer = format!("authorization: bearer {TOKEN}");
        assert!(request.headers.contains(&bearer), "{request:?}");
        assert!(
            request.headers.contains("accept: application/json"),
            "{request:?}"
        );
    }
    (published, server)
}

fn answers(status: u16, body: &Value) -> Act {
    reply(status, &body.to_string())
}

/// A merge request as GitLab answers it.
fn merge_request(draft: bool) -> Value {
    json!({
        "id": 901, "iid": 7, "state": "opened", "draft": draft, "source_branch": "builder/j1-x",
        "target_branch": "main", "source_project_id": 3, "target_project_id": 3,
        "web_url": "https://git.example.com/team/sub/app/-/merge_requests/7",
    })
}

/// A pull request as Gitea and Forgejo answer it.
fn pull_request(title: &str) -> Value {
    json!({
        "id": 44, "number": 7, "state": "open", "title": title,
        "html_url": "https://git.example.com/octo/hello/pulls/7",
        "head": {"ref": "builder/j1-x", "repo": {"full_name": "octo/hello"}},
    })
}

const MERGE_REQUESTS: &str = "/api/v4/projects/team%2Fsub%2Fapp/merge_requests";

#[tokio::test]
async fn gitlab_opens_a_merge_request_once_and_brings_it_up_to_date() {
    let acts = vec![answers(200, &json!([])), answers(201, &merge_request(true))];
    let (published, server) = publish(gitlab, acts, PullReadiness::Draft).await;
    let published = published.unwrap();
    assert_eq!(
        (
            published.pull.number,
            published.pull.draft,
            published.was_there
        ),
        (7, true, false)
    );
    assert!(published.pull.url.ends_with("/-/merge_requests/7"));
    let (list, open) = (
        format!("GET {MERGE_REQUESTS}"),
        format!("POST {MERGE_REQUESTS}"),
    );
    assert_eq!(server.lines(), [list.as_str(), &open]);
    let asked = server.received();
    assert!(
        asked[0]
            .line
            .contains("state=opened&source_branch=builder%2Fj1-x"),
        "{}",
        asked[0].line
    );
    let body = &asked[1].body;
    assert_eq!(body["title"], "Draft: feat: x");
    assert_eq!(body["description"], "Body.");
    assert_eq!(
        (&body["source_branch"], &body["target_branch"]),
        (&json!("builder/j1-x"), &json!("main"))
    );
    assert_eq!(body["labels"], MANUAL_FIX_LABEL);

    // One of a fork has the same branch name; ours is updated and loses its `Draft:`.
    let mut fork = merge_request(false);
    (fork["iid"], fork["source_project_id"]) = (json!(6), json!(9));
    let found = json!([fork, merge_request(true)]);
    let acts = vec![answers(200, &found), answers(200, &merge_request(false))];
    let (published, server) = publish(gitlab, acts, PullReadiness::Ready).await;
    let published = published.unwrap();
    assert_eq!((published.pull.draft, published.was_there), (false, true));
    assert_eq!(server.lines()[1], format!("PUT {MERGE_REQUESTS}/7"));
    assert_eq!(server.received()[1].body["title"], "feat: x");
}

#[tokio::test]
async fn an_answer_that_was_lost_opens_nothing_twice() {
    let acts = vec![
        answers(200, &json!([])),
        Act::Break,
        answers(200, &json!([merge_request(false)])),
    ];
    let (published, server) = publish(gitlab, acts, PullReadiness::Ready).await;
    assert_eq!(published.unwrap().pull.number, 7);
    assert_eq!(
        server
            .lines()
            .iter()
            .filter(|line| line.starts_with("POST"))
            .count(),
        1
    );
    // Another process was faster.
    let taken = json!({"message": ["Another open merge request already exists for this source branch: !7"]});
    let acts = vec![
        answers(200, &json!([])),
        answers(409, &taken),
        answers(200, &json!([merge_request(false)])),
        answers(200, &merge_request(false)),
    ];
    let (published, _) = publish(gitlab, acts, PullReadiness::Ready).await;
    assert!(published.unwrap().was_there);
}

#[tokio::test]
async fn gitea_opens_a_pull_request_and_makes_the_label_it_lacks() {
    let wip = pull_request("WIP: feat: x");
    let labels = json!([{"id": 1, "name": "bug"}]);
    let made = json!({"id": 5, "name": MANUAL_FIX_LABEL});
    let acts = vec![
        answers(200, &json!([])),
        answers(201, &wip),
        answers(200, &labels),
        answers(201, &made),
        answers(200, &json!([made])),
    ];
    let (published, server) = publish(gitea, acts, PullReadiness::Draft).await;
    let published = published.unwrap();
    assert_eq!((published.pull.number, published.pull.draft), (7, true));
    assert_eq!(published.notes, [""; 0]);
    let hello = "/api/v1/repos/octo/hello";
    assert_eq!(
        server.lines(),
        [
            format!("GET {hello}/pulls"),
            format!("POST {hello}/pulls"),
            format!("GET {hello}/labels"),
            format!("POST {hello}/labels"),
            format!("POST {hello}/issues/7/labels"),
        ]
    );
    let asked = server.received();
    assert_eq!(asked[1].body["title"], "WIP: feat: x");
    assert_eq!(
        (&asked[1].body["head"], &asked[1].body["base"]),
        (&json!("builder/j1-x"), &json!("main"))
    );
    assert_eq!(asked[4].body, json!({"labels": [5]}));
}

#[tokio::test]
async fn gitea_finds_its_pull_request_on_a_later_page() {
    let mut other = pull_request("other");
    other["head"]["ref"] = json!("other");
    let full: Vec<Value> = std::iter::repeat_n(other, 50).collect();
    let acts = vec![
        answers(200, &json!(full)),
        answers(200, &json!([pull_request("WIP: feat: x")])),
        answers(200, &pull_request("feat: x")),
    ];
    let (published, server) = publish(gitea, acts, PullReadiness::Ready).await;
    let published = published.unwrap();
    assert_eq!((published.was_there, published.pull.draft), (true, false));
    assert!(server.received()[1].line.contains("page=2"));
    assert_eq!(server.lines()[2], "PATCH /api/v1/repos/octo/hello/pulls/7");
}

#[tokio::test]
async fn a_label_that_cannot_be_made_is_a_note_and_the_pull_request_is_open() {
    let refused = json!({"message": "user should have a permission to write to a repo"});
    let acts = vec![
        answers(200, &json!([])),
        answers(201, &pull_request("WIP: feat: x")),
        answers(200, &json!([])),
        answers(403, &refused),
    ];
    let (published, _) = publish(gitea, acts, PullReadiness::Draft).await;
    let published = published.unwrap();
    assert_eq!(published.pull.number, 7);
    assert!(
        published.notes[0].contains("needs-manual-fix"),
        "{:?}",
        published.notes
    );
}

#[tokio::test]
async fn refusals_quote_the_forge_and_name_the_variable_to_set() {
    let field = json!({"message": {"source_branch": ["is invalid"]}});
    for (make, status, body, kind, parts) in [
        (
            gitlab as Make,
            401,
            json!({"message": "401 Unauthorized"}),
            VcsErrorKind::Unauthorized,
            ["401 Unauthorized", "GITLAB_TOKEN"],
        ),
        (
            gitlab,
            404,
            json!({"message": "404 Project Not Found"}),
            VcsErrorKind::NotFound,
            ["404 Project Not Found", "team/sub/app"],
        ),
        (
            gitlab,
            422,
            field,
            VcsErrorKind::Refused,
            ["source_branch is invalid", "has been pushed"],
        ),
        (
            gitlab,
            403,
            json!({"error": "insufficient_scope"}),
            VcsErrorKind::Unauthorized,
            ["insufficient_scope", "right to write"],
        ),
        (
            gitea,
            401,
            json!({"message": "token is required"}),
            VcsErrorKind::Unauthorized,
            ["token is required", "GITEA_TOKEN"],
        ),
        (
            gitea,
            200,
            json!({"not": "a list"}),
            VcsErrorKind::BadAnswer,
            ["Gitea", "builder.forge"],
        ),
    ] {
        let (published, _) =
            publish(make, vec![answers(status, &body)], PullReadiness::Ready).await;
        let error = published.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        for part in parts {
            assert!(
                error.to_string().contains(part),
                "{part:?} is not in: {error}"
            );
        }
        assert!(!error.to_string().contains(TOKEN), "{error}");
    }
}

#[tokio::test]
async fn the_default_branch_is_asked_for() {
    for make in [gitlab as Make, gitea] {
        let server = Scripted::start(vec![answers(200, &json!({"default_branch": "trunk"}))]);
        let branch = make(&server.url).default_branch().await.unwrap();
        assert_eq!(branch.as_str(), "trunk");
    }
}
