//! What new users ran into: each case as it was found, and how it must end.

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Has, Lacks, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

fn recipe(manifest: &str, templates: &[(&str, &str)]) -> CliProject {
    let project = CliProject::with(&[(".drawloom/recipes/it/recipe.yml", manifest)]);
    for (name, text) in templates {
        project.write(&format!(".drawloom/recipes/it/{name}"), text);
    }
    project
}

fn ends<'a>(exit: i32, err: &'a [&'a str]) -> ExpectedRun<'a> {
    ExpectedRun {
        exit,
        out: Anything,
        err: Has(err),
    }
}

const ASKS: &str = "---\nto: a.txt\n---\n@ai('word')\n@prompt()\nA word?\n@end\n@output({ type: 'text' })\n@end\n@end\n";

#[test]
fn patch_renders_keys() {
    let project = recipe(
        "name: it\nvariables: { name: { position: 0 } }\nsteps:\n  - file: package.json\n    merge: { scripts: { 'gen:{{ name }}': 'drawloom run {{ name }}' } }\n",
        &[],
    );
    project.write("package.json", "{\n  \"scripts\": {}\n}\n");
    check(&project, "run it a", ends(0, &[]));
    check(&project, "run it b", ends(0, &[]));
    let text = project.read("package.json");
    assert!(text.contains("\"gen:a\": \"drawloom run a\""), "{text}");
    assert!(text.contains("\"gen:b\": \"drawloom run b\""), "{text}");
}

#[test]
fn yaml_is_read_alike_by_readers_of_1_1_and_1_2() {
    let project = recipe(
        "name: it\nsteps:\n  - file: a.yml\n    merge: { ports: { $append: ['22:22'] }, date: '2020-01-01', eq: '=', new: { at: '12:30' }, v: 1.2.3 }\n",
        &[],
    );
    project.write("a.yml", "ports:\n  - \"80:80\"\n");
    check(&project, "run it", ends(0, &[]));
    let text = project.read("a.yml");
    for quoted in ["- \"22:22\"", "date: '2020-01-01'", "eq: '='", "v: 1.2.3"] {
        assert!(text.contains(quoted), "{quoted} in\n{text}");
    }
    assert!(!text.contains("at: 12:30"), "{text}");
}

#[test]
fn validate_finds_everything_at_once() {
    let project = recipe(
        "name: it\nvariables:\n  a: { type: number, default: abc }\n  b: { type: enum, values: [x, y], default: z }\n  c: { type: string, pattern: '([' }\nsteps:\n  - template: [key.jig, out.jig, late.jig]\n    when: 'a ==='\n",
        &[
            ("key.jig", "@ai()\n@prompt()\nWhat?\n@end\n@end\n"),
            ("out.jig", "---\nto: ../../x\n---\n"),
            ("late.jig", "# a comment\n---\nto: x.txt\n---\nbody\n"),
        ],
    );
    let found = [
        "the default must be a number",
        "the default must be one of: x, y",
        "this is not a regular expression",
    ];
    let ran = check(&project, "recipe validate it", ends(1, &found));
    for also in [
        "this @ai block has no key",
        "out.jig",
        "late.jig:2",
        "frontmatter counts only from the first line on",
    ] {
        assert!(ran.err.contains(also), "{also} in\n{}", ran.err);
    }
    // A step that cannot be read takes no other step's problems away.
    let project = recipe(
        "name: it\nsteps:\n  - tol: shell\n  - template: none.jig\n    when: 'a ==='\n  - command: '{{ c }}'\n",
        &[],
    );
    let ran = check(
        &project,
        "recipe validate it",
        ends(1, &["this step says nothing to do", "did you mean `tool`?"]),
    );
    for also in [
        "there is no template `none.jig`",
        "recipe.yml:5",
        "recipe.yml:6",
    ] {
        assert!(ran.err.contains(also), "{also} in\n{}", ran.err);
    }
    let project = recipe("name: it\nsteps:\n  - recipe: it\n", &[]);
    let chain = "this recipe runs itself: .drawloom/recipes/it/recipe.yml -> .drawloom/recipes/it/recipe.yml";
    check(&project, "recipe validate it", ends(1, &[chain]));
    check(
        &project,
        "run it",
        ends(1, &["RECIPE_DEPTH_MAX = 16", "again and again"]),
    );
}

#[test]
fn an_action_finds_files_of_its_recipe_in_every_word() {
    let project = recipe(
        "name: it\nvariables: { name: { default: n } }\nsteps:\n  - file: x.json\n    checks: [{ path: a, export: found }]\n  - action: [sh, scripts/plan.sh]\n",
        &[(
            "scripts/plan.sh",
            "cat > given.json\nprintf '%s' '{\"files\": {\"made.txt\": \"made\\n\"}}'\n",
        )],
    );
    project.write("x.json", "{\"a\": 1}");
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Lacks(&["\"files\""]),
    };
    check(&project, "run it", expect);
    assert_eq!(project.read("made.txt"), "made\n");
    let given: Value = serde_json::from_str(&project.read("given.json")).unwrap();
    assert_eq!(given["variables"]["found"], 1);
    assert_eq!(given["variables"]["name"], "n");
}

#[test]
fn empty_answers_are_no_answers() {
    let project = recipe(
        "name: it\nsteps:\n  - template: a.jig\n",
        &[("a.jig", ASKS)],
    );
    project.write("empty.json", "{\"word\": \"\"}");
    check(
        &project,
        "run it --answers empty.json",
        ends(1, &["E_ANSWERS", "`word` is empty"]),
    );
    let project = recipe(
        "name: it\nvariables: { name: { required: true, position: 0 } }\nsteps:\n  - template: a.jig\n",
        &[("a.jig", "---\nto: '{{ name }}.md'\n---\n")],
    );
    check(&project, "run it ''", ends(64, &["`name` needs a value"]));
}

#[test]
fn wrong_answers_are_data_for_programs() {
    let project = recipe(
        "name: it\nsteps:\n  - template: a.jig\n",
        &[("a.jig", ASKS)],
    );
    let needed = project.run("run it --json");
    let needed: Value = serde_json::from_str(&needed.out).unwrap();
    assert_eq!(needed["outcome"], "answers-needed");
    project.write("wrong.json", "{\"word\": 5}");
    let wrong = project.run("run it --answers wrong.json --json");
    let wrong: Value = serde_json::from_str(&wrong.err).unwrap();
    assert_eq!(wrong["error"]["key"], "word");
    assert_eq!(wrong["error"]["rule"], "text");
    assert_eq!(wrong["error"]["found"], 5);
    project.write("extra.json", "{\"word\": \"x\", \"wrod\": 1}");
    let extra = project.run("run it --answers extra.json --json");
    let extra: Value = serde_json::from_str(&extra.err).unwrap();
    assert_eq!(extra["error"]["rule"], "unknown-key");
}

#[test]
fn the_way_on_is_exact() {
    let project = recipe(
        "name: it\nvariables: { name: { required: true } }\nsteps:\n  - template: a.jig\n",
        &[("a.jig", &ASKS.replace("a.txt", "{{ name }}.txt"))],
    );
    check(
        &project,
        "run it",
        ends(1, &["E_MISSING_VALUES", "--ask document"]),
    );
    // The file is there and says something else.
    project.write("answers.json", "{}");
    let ran = check(
        &project,
        "run it --name x",
        ends(
            2,
            &["answers-2.json, then run\n  drawloom run it --name x --answers ./answers-2.json"],
        ),
    );
    assert!(
        ran.out
            .contains("drawloom run it --name x --answers ./answers-2.json"),
        "{}",
        ran.out
    );
    project.write("fifo.sh", "drawloom_answers='{\"word\": \"w\"}'\n");
    let mut command = project.command("run it --name x --answers /dev/stdin");
    command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"{\"word\": \"w\"}").unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(project.read("x.txt"), "w\n");
}

#[test]
fn what_stderr_says_of_a_second_answers_file_works() {
    let why = ASKS
        .replace("a.txt", "b.txt")
        .replace("'word'", "'why'")
        .replace("A word?", "Why?");
    let project = recipe(
        "name: it\nsteps:\n  - template: [a.jig, b.jig]\n",
        &[("a.jig", ASKS), ("b.jig", &why)],
    );
    project.write("answers.json", "{\"word\": \"w\"}");
    let line = "run it --answers ./answers.json --answers ./answers-2.json";
    let said = format!("save it to ./answers-2.json, then run\n  drawloom {line}");
    check(
        &project,
        "run it --answers ./answers.json",
        ends(2, &["1 answer is needed", &said]),
    );
    project.write("answers-2.json", "{\"why\": \"y\"}");
    check(&project, line, ends(0, &["a.txt", "b.txt"]));
}

#[test]
fn update_says_when_a_question_has_changed_and_while_marks_are_left() {
    let project = recipe(
        "name: it\nsteps:\n  - template: a.jig\n",
        &[("a.jig", ASKS)],
    );
    project.write("a.json", "{\"word\": \"w\"}");
    check(&project, "run it --answers a.json", ends(0, &[]));
    project.write(
        ".drawloom/recipes/it/a.jig",
        &ASKS.replace("A word?", "Two words?"),
    );
    check(
        &project,
        "update it",
        ends(
            0,
            &["kept the old answer to `word`, whose question has changed"],
        ),
    );
    project.write(
        ".drawloom/recipes/it/a.jig",
        &ASKS.replace("A word?", "Three words?"),
    );
    check(
        &project,
        "update it --ask-again",
        ends(2, &["1 answer is needed"]),
    );

    let project = recipe(
        "name: it\nsteps:\n  - template: a.jig\n",
        &[("a.jig", "---\nto: a.txt\n---\none\n")],
    );
    check(&project, "run it", ends(0, &[]));
    project.write("a.txt", "mine\n");
    project.write(".drawloom/recipes/it/a.jig", "---\nto: a.txt\n---\ntwo\n");
    check(&project, "update it", ends(1, &["conflict"]));
    let marked = project.read("a.txt");
    check(&project, "update it", ends(1, &["conflict", "a.txt"]));
    assert_eq!(project.read("a.txt"), marked);
    project.write("a.txt", "mine and two\n");
    check(&project, "update it", ends(0, &["unchanged"]));
}

#[test]
fn update_takes_values_for_new_variables() {
    let project = recipe(
        "name: it\nsteps:\n  - template: a.jig\n",
        &[("a.jig", "---\nto: a.txt\n---\none\n")],
    );
    check(&project, "run it", ends(0, &[]));
    project.write(
        ".drawloom/recipes/it/recipe.yml",
        "name: it\nvariables: { owner: { required: true } }\nsteps:\n  - template: a.jig\n",
    );
    project.write(
        ".drawloom/recipes/it/a.jig",
        "---\nto: a.txt\n---\none of {{ owner }}\n",
    );
    check(
        &project,
        "update it",
        ends(1, &["E_MISSING_VALUES", "--owner VALUE"]),
    );
    check(
        &project,
        "update it --owner me",
        ends(0, &["updated", "a.txt"]),
    );
    assert_eq!(project.read("a.txt"), "one of me\n");
}

#[test]
fn variables_are_conditional_computed_and_secret() {
    let project = recipe(
        "name: it\nvariables:\n  db: { type: boolean, default: false }\n  url: { required: true, when: db }\n  token: { secret: true, default: none }\n  slug: { computed: '{{ kebabCase(token) }}-x' }\n  size: { pattern: '^[0-9]+$', message: give digits only, default: '1' }\nsteps:\n  - template: a.jig\n",
        &[(
            "a.jig",
            "---\nto: a.txt\n---\n{{ url }} {{ slug }} {{ size }}\n",
        )],
    );
    check(&project, "run it --token SECRET", ends(0, &[]));
    assert!(project.read("a.txt").contains("secret-x 1"));
    assert!(
        !project
            .read(".drawloom/generated/it.json")
            .contains("SECRET")
    );
    check(&project, "run it --db", ends(1, &["`url`"]));
    check(
        &project,
        "run it --slug s",
        ends(64, &["`slug` is computed"]),
    );
    check(&project, "run it --size x", ends(64, &["give digits only"]));
}

#[test]
fn replace_works_in_any_file_and_once() {
    let project = recipe(
        "name: it\nvariables: { v: { position: 0 } }\nsteps:\n  - file: a.ini\n    replace: '^(version)=.*$'\n    with: '$1={{ v }}'\n",
        &[],
    );
    project.write("a.ini", "name=x\nversion=1\n");
    check(&project, "run it 2", ends(0, &["modified", "a.ini"]));
    assert_eq!(project.read("a.ini"), "name=x\nversion=2\n");
    project.write("a.ini", "name=x\n");
    check(
        &project,
        "run it 2",
        ends(1, &["nothing in `a.ini` matches"]),
    );
}

#[test]
fn a_recipe_is_made_of_a_file() {
    let project = CliProject::with(&[
        ("drawloom.toml", ""),
        (
            "src/UserCard.tsx",
            "export const UserCard = () => <p style={{ a: 1 }} className=\"user-card\" />;\n",
        ),
    ]);
    check(
        &project,
        "recipe new card --from src/UserCard.tsx",
        ends(0, &["wrote .drawloom/recipes/card/recipe.yml"]),
    );
    check(
        &project,
        "recipe validate card",
        ends(0, &["card is valid"]),
    );
    check(
        &project,
        "run card OrderList",
        ends(0, &["created   src/OrderList.tsx"]),
    );
    assert_eq!(
        project.read("src/OrderList.tsx"),
        "export const OrderList = () => <p style={{ a: 1 }} className=\"order-list\" />;\n"
    );
    check(&project, "recipe new card", ends(1, &["exists already"]));
    check(&project, "recipe new page", ends(0, &["wrote"]));
    check(
        &project,
        "run page 'My page'",
        ends(0, &["created   my-page.md"]),
    );
}

#[test]
fn recipes_of_the_user_are_found_in_every_project() {
    let home = recipe("name: x\nsteps: []\n", &[]);
    home.write(
        "drawloom/recipes/mine/recipe.yml",
        "name: mine\ndescription: My own\nsteps:\n  - template: a.jig\n  - command: touch ran\n",
    );
    home.write("drawloom/recipes/mine/a.jig", "---\nto: a.txt\n---\nx\n");
    let project = CliProject::with(&[("drawloom.toml", "")]);
    let run = |line: &str| {
        let mut command = project.command(line);
        command.env("XDG_CONFIG_HOME", home.path());
        command.output().unwrap()
    };
    let listed = run("recipe list");
    assert!(
        String::from_utf8_lossy(&listed.stdout).contains("My own"),
        "{listed:?}"
    );
    let ran = run("run mine");
    assert!(ran.status.success(), "{ran:?}");
    assert!(project.path().join("ran").exists());
}

/// A kit in a repository of one commit, with the tag `v1`.
fn kit_in_git() -> CliProject {
    let kit = CliProject::with(&[
        ("kit.yml", "name: k\n"),
        (
            "page/recipe.yml",
            "name: page\nsteps:\n  - template: a.jig\n",
        ),
        ("page/a.jig", "---\nto: a.txt\n---\none\n"),
    ]);
    git(&kit, &["init", "-q"]);
    git(&kit, &["add", "-A"]);
    git(&kit, &["commit", "-qm", "one"]);
    git(&kit, &["tag", "v1"]);
    kit
}

#[track_caller]
fn git(kit: &CliProject, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(args)
        .current_dir(kit.path());
    assert!(command.output().unwrap().status.success());
}

#[test]
fn a_kit_that_is_locked_is_restored_and_updated() {
    let kit = kit_in_git();
    let project = CliProject::with(&[("drawloom.toml", "")]);
    let address = format!("file://{}", kit.path().display());
    check(
        &project,
        &format!("kit add {address}"),
        ends(0, &["added k"]),
    );
    std::fs::remove_dir_all(project.path().join(".drawloom/kits/k")).unwrap();
    check(
        &project,
        "run k/page",
        ends(
            1,
            &[
                "the kit `k` is in .drawloom/kits.lock",
                "drawloom kit restore",
            ],
        ),
    );
    check(&project, "kit restore", ends(0, &["fetched   k"]));
    check(&project, "run k/page", ends(0, &["a.txt"]));
    kit.write("page/a.jig", "---\nto: a.txt\n---\ntwo\n");
    git(&kit, &["commit", "-qam", "two"]);
    check(&project, "kit update", ends(0, &["updated   k from"]));
    check(&project, "kit update k", ends(0, &["unchanged k at"]));
    check(&project, "update k/page", ends(0, &["updated"]));
    assert_eq!(project.read("a.txt"), "two\n");
}

#[test]
fn a_recipe_of_a_repository_runs_without_becoming_part_of_the_project() {
    let kit = kit_in_git();
    kit.write("page/a.jig", "---\nto: a.txt\n---\ntwo\n");
    git(&kit, &["commit", "-qam", "two"]);
    let address = format!("file://{}", kit.path().display());
    let other = CliProject::with(&[("drawloom.toml", "")]);
    check(
        &other,
        &format!("run {address} page"),
        ends(0, &["created   a.txt"]),
    );
    check(
        &other,
        &format!("run {address}"),
        ends(1, &["name one after the address: page"]),
    );
    // A tag is a version.
    check(
        &other,
        &format!("run --force '{address}#v1' page"),
        ends(0, &["overwritten a.txt"]),
    );
    assert_eq!(other.read("a.txt"), "one\n");
    check(
        &other,
        &format!("run '{address}#v9' page"),
        ends(1, &["v9"]),
    );
}

#[test]
fn paths_are_those_a_person_would_type() {
    let project = recipe(
        "name: it\nsteps:\n  - template: [a.jig, b.jig]\n",
        &[
            ("a.jig", "---\nto: a.txt\n---\nx\n"),
            ("b.jig", "---\nto: sub/b.txt\n---\nx\n"),
        ],
    );
    std::fs::create_dir_all(project.path().join("sub/deep")).unwrap();
    let mut command = project.command("run it");
    let output = command
        .current_dir(project.path().join("sub/deep"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("created   ../../a.txt\ncreated   ../b.txt\n"),
        "{said}"
    );
}

#[test]
fn migrations_carry_over_what_an_older_version_recorded() {
    let project = recipe(
        "name: it\nversion: 1.0.0\nvariables: { title: { required: true, position: 0 } }\nsteps:\n  - template: a.jig\n",
        &[(
            "a.jig",
            "---\nto: '{{ title }}.txt'\n---\none {{ title }}\ntwo\nthree\n",
        )],
    );
    check(&project, "run it x", ends(0, &[]));
    project.write("x.txt", "one x\ntwo\nthree, edited\n");
    project.write(
        ".drawloom/recipes/it/recipe.yml",
        "name: it\nversion: 2.0.0\nvariables: { name: { required: true, position: 0 } }\nsteps:\n  - template: a.jig\nmigrations:\n  - version: 2.0.0\n    variables: { title: name }\n    files: { '{{ name }}.txt': 'docs/{{ name }}.txt' }\n",
    );
    project.write(
        ".drawloom/recipes/it/a.jig",
        "---\nto: 'docs/{{ name }}.txt'\n---\nONE {{ name }}\ntwo\nthree\n",
    );
    check(&project, "update it", ends(0, &["merged", "docs/x.txt"]));
    assert_eq!(project.read("docs/x.txt"), "ONE x\ntwo\nthree, edited\n");
    assert!(!project.path().join("x.txt").exists());
    check(&project, "update it", ends(0, &["unchanged", "docs/x.txt"]));
}
