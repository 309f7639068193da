//! Recipes on pages: values, questions, differences, and the update of what was made.

use app::people::UserRole;

use crate::test_server::TestServer;
use crate::{TestBrowser, encoded};

const HERE: &str = "/recipes/hello";

#[tokio::test]
async fn what_does_not_fit_is_said_beside_what_was_typed() {
    let server = TestServer::start().await;
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let refused = browser.ask("POST", HERE, "f.name=&act=preview").await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    refused.has("hello needs other values");
    refused.has("name=\"f.name\"");
    let shown = browser.ask("POST", HERE, "f.name=Bo&act=preview").await;
    assert_eq!(
        (shown.status, shown.title()),
        (200, "hello would change these files")
    );
    shown.has("+Hello Bo");
    assert!(!server.folder.path().join("Bo.txt").exists());
    let done = browser.ask("POST", HERE, "f.name=Bo&act=apply").await;
    assert_eq!(done.title(), "hello is done");
    done.has("Bo.txt");
}

#[tokio::test]
async fn questions_are_answered_by_hand_and_without_a_model_it_says_so() {
    let server = TestServer::start().await;
    let template = server
        .folder
        .path()
        .join(".drawloom/recipes/hello/hello.edge");
    let text = "---\nto: \"{{ name }}.txt\"\n---\n@ai('greeting')\n@prompt()\nHow <b>shall</b> it greet?\n@end\n@end\n";
    std::fs::write(&template, text).unwrap();
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let asked = browser.ask("POST", HERE, "f.name=Bo&act=preview").await;
    assert_eq!(asked.title(), "hello has questions");
    asked.has("How &lt;b&gt;shall&lt;/b&gt; it greet?");
    asked.has("Let the model answer the rest");
    let nobody = browser.ask("POST", HERE, "f.name=Bo&act=ask").await;
    nobody.has("no model is set up");
    nobody.has("name=\"f.name\"");
    let form = format!(
        "f.name=Bo&q.greeting=Ahoy&l.greeting={}&act=preview",
        encoded("How?")
    );
    let shown = browser.ask("POST", HERE, &form).await;
    assert_eq!(shown.title(), "hello would change these files");
    // The answer can still be changed.
    shown.has("Ahoy</textarea>");
    shown.has(">How?</label>");
    let done = browser
        .ask("POST", HERE, &form.replace("preview", "apply"))
        .await;
    assert_eq!(done.title(), "hello is done");
    let written = std::fs::read_to_string(server.folder.path().join("Bo.txt")).unwrap();
    assert_eq!(written.trim(), "Ahoy");
}

#[tokio::test]
async fn an_update_shows_conflicts_and_writes_what_a_person_has_settled() {
    let server = TestServer::start().await;
    let path = |name: &str| server.folder.path().join(name);
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let nothing = browser.look("/recipes/hello/update").await;
    assert_eq!(nothing.status, 404, "{}", nothing.body);
    nothing.has("has generated nothing here");
    assert!(
        !browser
            .look(HERE)
            .await
            .body
            .contains("/recipes/hello/update")
    );
    browser.ask("POST", HERE, "f.name=Bo&act=apply").await;
    browser.look(HERE).await.has("/recipes/hello/update");
    std::fs::write(path("Bo.txt"), "Howdy Bo\n").unwrap();
    let newer = "---\nto: \"{{ name }}.txt\"\n---\nGood day {{ name }}\n";
    std::fs::write(path(".drawloom/recipes/hello/hello.edge"), newer).unwrap();
    let shown = browser.look("/recipes/hello/update").await;
    assert_eq!(
        shown.title(),
        "1 conflict of hello with your edits to settle"
    );
    shown.has("&lt;&lt;&lt;&lt;&lt;&lt;&lt; your file");
    assert_eq!(
        std::fs::read_to_string(path("Bo.txt")).unwrap(),
        "Howdy Bo\n"
    );
    let (_, marked) = shown.body.split_once("data-marked>\n").unwrap();
    let marked = marked.split("</textarea>").next().unwrap();
    let marked = marked.replace("&lt;", "<").replace("&gt;", ">");
    let settled = |act: &str| {
        let (marked, text) = (
            encoded(&marked.replace('\n', "\r\n")),
            encoded("Good howdy Bo\r\n"),
        );
        format!("r.0.path=Bo.txt&r.0.marked={marked}&r.0.text={text}&act={act}")
    };
    let again = browser
        .ask("POST", "/recipes/hello/update", &settled("preview"))
        .await;
    assert_eq!(again.title(), "hello would update 1 file", "{}", again.body);
    let viewer = TestBrowser::of(&server, UserRole::Viewer).await;
    let refused = viewer
        .ask("POST", "/recipes/hello/update", &settled("apply"))
        .await;
    assert_eq!(refused.status, 403);
    let done = browser
        .ask("POST", "/recipes/hello/update", &settled("apply"))
        .await;
    assert_eq!(done.title(), "hello is updated", "{}", done.body);
    assert_eq!(
        std::fs::read_to_string(path("Bo.txt")).unwrap(),
        "Good howdy Bo\n"
    );
}
