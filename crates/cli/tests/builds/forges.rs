//! GitLab and Gitea as emulated servers with a memory, beside a real git server: from a sentence to a merge
//! request, by way of a draft, a follow-up, and a token that may not write.

use serde_json::Value;

use crate::build_fixture::{
    BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, TestForge, well, writes,
};
use crate::model::{ModelScript, ScriptedLine};
use crate::project::ProgramOutput;
use crate::stateful::{Emulated, ForgeBranches, READER, StatefulForge, WRITER};
use crate::task_fixture::result;

/// A repository whose `origin` is on this forge.
struct ForgeProject {
    yard: BuildFixture,
    git_server: TestForge,
    server: StatefulForge,
    token_variable: &'static str,
}

impl ForgeProject {
    fn new(kind: Emulated, script: ModelScript) -> ForgeProject {
        let mut yard = BuildFixture::new(script);
        let git_server = TestForge::of(&mut yard);
        let branches = ForgeBranches::In(git_server.origin());
        let server = StatefulForge::with(kind, "octo/hello", branches);
        let (name, version, token_variable) = match kind {
            Emulated::GitLab => ("gitlab", "v4", "GITLAB_TOKEN"),
            Emulated::Gitea => ("forgejo", "v1", "GITEA_TOKEN"),
        };
        let settings = yard.project.read("drawloom.toml");
        let without = settings.split("\n[builder.forge]").next().unwrap();
        let url = format!("{}/api/{version}", server.url);
        let forge = format!("\n[builder.forge]\nkind = {name:?}\nurl = {url:?}\n");
        yard.project
            .write("drawloom.toml", &format!("{without}{forge}"));
        ForgeProject {
            yard,
            git_server,
            server,
            token_variable,
        }
    }

    /// Runs a command with this token, and returns the result.
    #[track_caller]
    fn result(&self, line: &str, token: &str, exit: i32) -> Value {
        let mut command = self.yard.command(line);
        command.env_remove("GITHUB_TOKEN");
        let output = command.env(self.token_variable, token).output();
        let ran = ProgramOutput::from(output.unwrap());
        assert_eq!(ran.exit, exit, "{line}\n{}\n{}", ran.out, ran.err);
        assert!(!ran.out.contains(token) && !ran.err.contains(token));
        result(&ran)
    }
}

const BOTH: [Emulated; 2] = [Emulated::GitLab, Emulated::Gitea];

#[test]
fn a_draft_becomes_a_finished_request_by_a_follow_up() {
    for kind in BOTH {
        let plans = vec![ScriptedLine::Text(PLAN), ScriptedLine::Text(PLAN)];
        let building = vec![
            writes("bad one\n"),
            ScriptedLine::Text("Done."),
            writes("bad one\n"),
            ScriptedLine::Text("It stays bad."),
            writes("good\n"),
            ScriptedLine::Text("It is good now."),
        ];
        let project = ForgeProject::new(kind, vec![(PLANNING, plans), (BUILDING, building)]);
        let line = format!("build '{PROMPT}' --yes --json");
        let draft = project.result(&line, WRITER, 1);
        assert_eq!(draft["status"], "completed_draft", "{kind:?}: {draft}");
        let kept = project.server.pulls();
        assert_eq!(kept.len(), 1, "{kind:?}");
        let prefixes = ["Draft: ", "WIP: "];
        let is_draft = |title: &str| prefixes.iter().any(|prefix| title.starts_with(prefix));
        assert!(is_draft(&kept[0].title), "{kind:?}: {kept:?}");
        assert_eq!(kept[0].labels, ["needs-manual-fix"], "{kind:?}");
        assert!(kept[0].body.contains("a.txt:1:1: bad one"), "{kept:?}");
        assert_eq!(project.git_server.branches(), [kept[0].head.as_str()]);

        let line = "build --follow-up last 'mend what is left to mend' --yes --json";
        let done = project.result(line, WRITER, 0);
        assert_eq!(done["status"], "completed", "{kind:?}: {done}");
        assert_eq!(done["result"]["prNumber"], kept[0].number);
        let kept = project.server.pulls();
        assert_eq!(kept.len(), 1, "{kind:?}: {kept:?}");
        assert!(!is_draft(&kept[0].title), "{kind:?}: {kept:?}");
        assert_eq!(kept[0].labels, [""; 0], "{kind:?}");
        assert!(kept[0].body.contains("It is good now."), "{kept:?}");
        assert!(!project.yard.last().to_string().contains(WRITER));
    }
}

#[test]
fn a_token_that_may_only_read_loses_nothing() {
    for kind in BOTH {
        let project = ForgeProject::new(kind, well());
        let line = format!("build '{PROMPT}' --yes --json");
        let refused = project.result(&line, READER, 1);
        assert_eq!(refused["status"], "failed", "{kind:?}: {refused}");
        assert_eq!(refused["error"]["code"], "forge", "{kind:?}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        for piece in ["the right to write", "builds publish"] {
            assert!(message.contains(piece), "{kind:?}: {message}");
        }
        assert_eq!(project.server.pulls().len(), 0);
        let asked = project.yard.model.received().len();
        let done = project.result("builds publish last --json", WRITER, 0);
        assert_eq!(done["status"], "completed", "{kind:?}: {done}");
        assert_eq!(project.server.pulls().len(), 1, "{kind:?}");
        assert_eq!(project.yard.model.received().len(), asked);
    }
}
