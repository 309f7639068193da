//! A project whose recipe asks in two rounds, the scripted answers, and the
//! hunt for keys after every run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::project::{CliProject, ProgramOutput};

/// The key of every test; it must never be seen.
pub(crate) const KEY: &str = "sk-test-1234567890-SECRET/+=";

/// The scripted answers, in two rounds.
pub(crate) const FIRST: &str =
    r#"{"mainFields": ["name", "email"], "paged": true, "body": "return <Card/>;"}"#;
pub(crate) const SECOND: &str = r#"{"caption": "Name and email of a \"customer\"."}"#;

const RECIPE: &str = "\
name: card
variables:
  model: { type: string, required: true, position: 0 }
  fields: { type: array, default: [id, name, email] }
steps:
  - name: card
    template: card.jig
  - name: notes
    template: notes.jig
";

const CARD: &str = "\
---
to: \"src/{{ kebabCase(model) }}.tsx\"
---
@context()
{{ model }} is a table of a shop.
@end
// {{ model }}
@ai()
  @prompt()
    Write the body of the card.
  @end
  @output({ key: 'body', type: 'code', language: 'tsx' })
    One statement.
  @end
@end
";

const NOTES: &str = "\
---
to: src/notes.md
---
@ai()
  @prompt()
    Which fields of {{ model }} matter?
  @end
  @output({ key: 'mainFields', type: 'pick', from: fields })
    Two of them.
  @end
@end
@ai()
  @prompt()
    Is the list paged?
  @end
  @output({ key: 'paged', type: 'boolean' })
    Yes or no.
  @end
@end
@ai()
  @prompt()
    Write a caption for {{ answers.mainFields.join(' and ') }}.
  @end
  @output({ key: 'caption', type: 'text' })
    One sentence.
  @end
@end
";

/// Every file of the project that the recipe writes.
pub(crate) fn written(project: &CliProject) -> BTreeMap<PathBuf, Vec<u8>> {
    let tree = project.tree().into_iter();
    tree.filter(|(path, _)| path.starts_with("src")).collect()
}

/// The files that the recipe makes of the scripted answers.
pub(crate) fn expected() -> BTreeMap<PathBuf, Vec<u8>> {
    let shop = TestProject::with("");
    shop.project.write("answers.json", &both());
    let ran = shop.run("run card Customer --answers answers.json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let files = written(&shop.project);
    assert_eq!(files.len(), 2);
    files
}

/// The answers of both rounds in one object.
pub(crate) fn both() -> String {
    let (first, second) = (FIRST.trim_end_matches('}'), SECOND.trim_start_matches('{'));
    format!("{first}, {second}")
}

/// The project, and the variables its runs have.
pub(crate) struct TestProject {
    pub(crate) project: CliProject,
    variables: Vec<(&'static str, String)>,
}

impl TestProject {
    /// With these settings.
    pub(crate) fn with(settings: &str) -> Self {
        let project = CliProject::with(&[
            ("drawloom.toml", settings),
            (".drawloom/recipes/card/recipe.yml", RECIPE),
            (".drawloom/recipes/card/card.jig", CARD),
            (".drawloom/recipes/card/notes.jig", NOTES),
        ]);
        Self {
            project,
            variables: Vec::new(),
        }
    }

    /// A provider at an address, with waits that a test can afford.
    pub(crate) fn api(provider: &str, model: &str, url: &str) -> Self {
        let settings = format!(
            "[ai]\nmode = \"api\"\nprovider = \"{provider}\"\nmodel = \"{model}\"\n\
             api_key = \"$TEST_KEY\"\nbase_url = \"{url}\"\ntimeout_ms = 2500\n\
             [ai.retry]\nattempts_max = 2\nfirst_wait_ms = 10\nwait_ms_max = 1500\ntotal_ms_max = 5000\n"
        );
        Self::with(&settings).variable("TEST_KEY", KEY)
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.project.command(line);
        command.envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// Runs, and makes sure that no key is in anything that is shown or stored.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> ProgramOutput {
        let ran = ProgramOutput::from(self.command(line).output().unwrap());
        self.check_no_key(&ran);
        ran
    }

    #[track_caller]
    pub(crate) fn check_no_key(&self, ran: &ProgramOutput) {
        assert_no_key(&ran.out);
        assert_no_key(&ran.err);
        for (path, bytes) in self.project.tree() {
            if path != Path::new("drawloom.toml") {
                assert_no_key(&format!(
                    "{} {}",
                    path.display(),
                    String::from_utf8_lossy(&bytes)
                ));
            }
        }
    }

    /// Runs the recipe, which must write what the scripted answers say.
    #[track_caller]
    pub(crate) fn generates(&self, line: &str) -> ProgramOutput {
        let ran = self.run(line);
        assert_eq!(ran.exit, 0, "{line}\n{}\n{}", ran.out, ran.err);
        assert_eq!(written(&self.project), expected(), "{line}");
        ran
    }

    /// Runs the recipe, which must end with this code, say this, and write nothing.
    #[track_caller]
    pub(crate) fn fails(&self, line: &str, code: &str, said: &[&str]) -> ProgramOutput {
        let ran = self.run(line);
        assert_eq!(ran.exit, 1, "{line}\n{}\n{}", ran.out, ran.err);
        assert!(
            ran.err.contains(&format!("error[{code}]")),
            "{code}: {}",
            ran.err
        );
        assert!(ran.err.contains("hint:"), "{}", ran.err);
        for part in said {
            assert!(ran.err.contains(part), "{part:?} is not in {}", ran.err);
        }
        assert!(ran.out.is_empty(), "{}", ran.out);
        assert!(written(&self.project).is_empty(), "{line} wrote files");
        ran
    }

    /// The one file below a folder of `.drawloom`.
    #[track_caller]
    pub(crate) fn only_file(&self, folder: &str) -> String {
        let tree = self.project.tree();
        let mut files = tree.keys().filter(|path| path.starts_with(folder));
        let file = files
            .next()
            .unwrap_or_else(|| panic!("nothing is in {folder}"));
        assert_eq!(files.next(), None, "{folder}");
        file.to_str().unwrap().to_owned()
    }
}

#[track_caller]
pub(crate) fn assert_no_key(text: &str) {
    for form in [KEY, "1234567890-SECRET", "SECRET%2F%2B%3D"] {
        assert!(!text.contains(form), "the key is in: {text}");
    }
}

/// A file of these tests, or of the repository.
pub(crate) fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// The program that answers in the modes `command` and `stdio`, misbehaving as it is told.
pub(crate) fn program(what: &str) -> String {
    format!("python3 '{}' {what}", file("tests/ai/data/program.py"))
}

/// Installs a peer that tests of other crates use too.
pub(crate) fn installed(script: &str, peer: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let done = Command::new("bash")
        .arg(file(script))
        .arg(&folder)
        .arg(peer)
        .status();
    assert!(
        done.unwrap().success(),
        "{peer} could not be installed; what is missing is said above"
    );
    folder.join(peer)
}

/// aimock's address; it ends with the test.
pub(crate) fn mock() -> &'static str {
    static MOCK: OnceLock<(String, Child)> = OnceLock::new();
    &MOCK.get_or_init(start_mock).0
}

fn start_mock() -> (String, Child) {
    let folder = installed("../llm/tests/peers/install.sh", "aimock");
    let program = folder.join("node_modules/@copilotkit/aimock/dist/cli.js");
    // The pipe to the shell closes however the test ends, and the shell ends the mock.
    let mut child = Command::new("sh")
        .args([
            "-c",
            r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#,
            "sh",
            "node",
        ])
        .arg(program)
        .args(["--host", "127.0.0.1", "--port", "0", "--strict", "-f"])
        .arg(file("tests/ai/data/aimock.json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("listening on http"))
        .unwrap();
    // The rest must be read, or the mock stops when the pipe is full.
    std::thread::spawn(move || lines.for_each(drop));
    let url = line[line.find("http://").unwrap()..].trim().to_owned();
    (url, child)
}
