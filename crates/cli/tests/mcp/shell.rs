//! An agent with only a shell: every command here is one of `drawloom help agents`, with its words filled in.

use serde_json::Value;

use crate::project;
use crate::project::{CliProject, ProgramOutput};

/// The page, and the commands it says.
struct ShellAgent {
    project: CliProject,
    page: String,
}

impl ShellAgent {
    fn new() -> ShellAgent {
        let project = project();
        let page = project.run("help agents");
        assert_eq!(page.exit, 0, "{}", page.err);
        ShellAgent {
            page: page.out,
            project,
        }
    }

    /// Does what the page says, with the words of this case; it must end so.
    #[track_caller]
    fn does(&self, said: &str, line: &str, exit: i32) -> ProgramOutput {
        assert!(self.page.contains(said), "{said}: {}", self.page);
        let ran = self.project.run(line);
        assert_eq!(ran.exit, exit, "{line}: {}{}", ran.out, ran.err);
        ran
    }

    #[track_caller]
    fn reads(&self, said: &str, line: &str, exit: i32) -> Value {
        let ran = self.does(said, line, exit);
        let last = ran.out.lines().last().unwrap_or_default();
        let document = serde_json::from_str(&ran.out).or_else(|_| serde_json::from_str(last));
        document.unwrap_or_else(|cause| panic!("{line}: {cause}: {}", ran.out))
    }
}

#[test]
fn a_recipe_with_questions_becomes_files() {
    let agent = ShellAgent::new();
    let listed = agent.reads("drawloom recipe list --json", "recipe list --json", 0);
    assert!(listed.to_string().contains("\"note\""), "{listed}");
    let said = "drawloom recipe info NAME --json";
    let info = agent.reads(said, "recipe info note --json", 0);
    assert!(info.to_string().contains("title"), "{info}");
    let said = "drawloom run NAME var=value --json";
    let asked = agent.reads(said, "run note title=Looms --json", 2);
    assert!(asked.to_string().contains("\"summary\""), "{asked}");
    assert!(!agent.project.path().join("note.md").exists());
    let answers = r#"{"summary": "They weave."}"#;
    agent.project.write("answers.json", answers);
    let said = "drawloom run NAME var=value --dry-run";
    let line = "run note title=Looms --answers answers.json --dry-run";
    agent.does(said, line, 0);
    assert!(!agent.project.path().join("note.md").exists());
    let said = "drawloom run NAME var=value --answers answers.json --json";
    agent.reads(
        said,
        "run note title=Looms --answers answers.json --json",
        0,
    );
    assert!(agent.project.read("note.md").contains("They weave."));
}

#[test]
fn a_workflow_waits_for_a_person_and_ends() {
    let agent = ShellAgent::new();
    let said = "drawloom workflow check FILE.mmd --json";
    let line = "workflow check .drawloom/workflows/review.mmd --json";
    agent.reads(said, line, 0);
    let said = "drawloom run NAME --json key=value";
    agent.does(said, "run review --json", 2);
    let tasks = agent.reads("drawloom tasks list --json", "tasks list --json", 0);
    let listed = tasks.get("tasks").unwrap_or(&tasks);
    let task = listed[0]["id"].as_str().unwrap().to_owned();
    assert!(task.ends_with("/B"), "{tasks}");
    let run = task.split('/').next().unwrap().to_owned();
    // The agent tells the person this command, and the person runs it.
    let said = "the person which command to run";
    agent.does(said, &format!("tasks answer {task} yes"), 0);
    let worked = agent.project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    let said = "drawloom runs show RUN --json";
    let shown = agent.reads(said, &format!("runs show {run} --json"), 0);
    assert!(shown.to_string().contains("\"completed\""), "{shown}");
}

#[test]
fn what_went_wrong_names_the_next_command() {
    let agent = ShellAgent::new();
    let said = "with a code, a sentence, and a hint that names the next command";
    let failed = agent.does(said, "runs show nothing --json", 1);
    let failed: Value = serde_json::from_str(&failed.err).unwrap();
    let hint = failed["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("drawloom runs list"), "{failed}");
}
