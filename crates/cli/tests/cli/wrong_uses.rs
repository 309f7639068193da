//! Wrong uses of each group of commands: what is wrong and what to do instead, and the exit code of wrong usage
//! or of something that is not there.

use crate::project::CliProject;

/// A command line, its exit code, and what its message must say.
type WrongUse = (&'static str, i32, &'static [&'static str]);

const GENERATE: &[WrongUse] = &[
    (
        "run nothing",
        1,
        &["there is no recipe `nothing`", "drawloom recipe list"],
    ),
    (
        "run hello",
        1,
        &["`name`", "--name VALUE", "--ask document"],
    ),
    ("run hello A B", 64, &["unexpected argument `B`", "--name"]),
    (
        "run hello A --lod",
        64,
        &["the recipe has no variable `lod`", "did you mean `loud`?"],
    ),
    (
        "update nope",
        1,
        &["there is no recipe `nope`", "drawloom recipe list"],
    ),
    (
        "update hello",
        1,
        &["`hello` has generated nothing here", "run the recipe first"],
    ),
    ("update", 64, &["<RECIPE>", "Usage: drawloom update"]),
    (
        "recipe info helo",
        1,
        &["there is no recipe `helo`", "did you mean `hello`?"],
    ),
    (
        "recipe new hello",
        1,
        &["exists already", "choose another name"],
    ),
    (
        "recipe new x --from nofile",
        1,
        &["there is no file", "nofile", "a path is taken from"],
    ),
    (
        "recipe validate ./nofolder",
        1,
        &["nofolder", "drawloom recipe list"],
    ),
    (
        "template render nofile.jig",
        1,
        &["there is no file nofile.jig"],
    ),
    ("template render", 64, &["<FILE>"]),
    (
        "template render drawloom.toml --data {",
        1,
        &["the data is not JSON"],
    ),
    ("ai ask", 64, &["<QUESTION>"]),
    ("ai ask --file nofile hi", 1, &["there is no file nofile"]),
    ("ai models", 1, &["ai.provider", "drawloom.toml"]),
    (
        "kit add nowhere",
        1,
        &["there is no folder nowhere", "git repository"],
    ),
    ("kit remove nope", 1, &["there is no kit `nope`", "no kits"]),
    ("kit update nope", 1, &["there is no kit `nope`", "no kits"]),
    (
        "import hygen",
        1,
        &["there is no folder _templates", "name the folder"],
    ),
    ("import hygen nofolder", 1, &["there is no folder nofolder"]),
    ("import plop", 64, &["unrecognized subcommand 'plop'"]),
];

const WORKFLOWS: &[WrongUse] = &[
    (
        "workflow check nope",
        1,
        &[
            "there is no file and no workflow `nope`",
            "workflows here: ship",
        ],
    ),
    ("workflow check shp", 1, &["did you mean `ship`?"]),
    (
        "workflow versions ship",
        1,
        &["the database has no workflow `ship`", "workflow push ship"],
    ),
    (
        "run ship --verison 1",
        64,
        &["no input `verison`", "did you mean `version`?"],
    ),
    (
        "run ship 1 2",
        64,
        &["no input for the value `2`", "version"],
    ),
    (
        "run ship",
        1,
        &["The input does not match the workflow's schema: \"version\" is a required property."],
    ),
    (
        "runs show last",
        1,
        &["there is no run of a workflow yet", "drawloom run FILE.mmd"],
    ),
    (
        "runs show zzz",
        1,
        &["there is no run `zzz`", "drawloom runs list"],
    ),
    (
        "runs list --status nope",
        64,
        &["running, paused, completed"],
    ),
    ("runs delete", 64, &["which runs", "--older-than"]),
    ("runs rerun last", 64, &["RUN/STEP", "drawloom tasks list"]),
    (
        "tasks answer last x",
        1,
        &["there is no run of a workflow yet"],
    ),
    ("tasks list --status foo", 64, &["pending, in_progress"]),
    ("tasks answer last {", 1, &["looks like JSON", "correct it"]),
    ("worker --until-idle --max-wait soon", 64, &["30s or 10m"]),
    ("worker extra", 64, &["unexpected argument 'extra'"]),
    ("worker --nam x", 64, &["--name"]),
    (
        "schedules add n ship --cron x",
        64,
        &["`x` is not a cron expression", "30 4 * * mon-fri"],
    ),
    (
        "schedules add n nofile.mmd --cron '0 * * * *'",
        1,
        &["no workflow `nofile.mmd`"],
    ),
    (
        "schedules remove nope",
        1,
        &["there is no schedule `nope`", "schedules list"],
    ),
    (
        "notices acknowledge 7",
        1,
        &["there is no notice 7", "drawloom notices list"],
    ),
    (
        "notices acknowledge x",
        64,
        &["a number that `drawloom notices list` shows"],
    ),
    ("notices acknowledge", 64, &["<NOTICES>"]),
    (
        "serve --listen nowhere",
        64,
        &["an address and a port, such as 127.0.0.1:7331"],
    ),
    ("serve --log loud", 64, &["text, json, off"]),
    ("serve extra", 64, &["unexpected argument 'extra'"]),
];

const BUILDS_AND_PEOPLE: &[WrongUse] = &[
    (
        "build x",
        64,
        &["the request has 1 character and", "PROMPT_CHARS_MIN"],
    ),
    ("build", 64, &["<SENTENCE>"]),
    (
        "builds show last",
        1,
        &["there is no build here yet", "drawloom build"],
    ),
    (
        "builds approve nope",
        1,
        &["there is no build `nope`", "drawloom builds list"],
    ),
    ("builds publish", 64, &["<ID>"]),
    (
        "task run nofile.json",
        1,
        &["there is no file nofile.json", "the folder you are in"],
    ),
    ("task run drawloom.toml", 1, &["drawloom.toml"]),
    ("task run", 64, &["<FILE>"]),
    ("plan run nofile.json", 1, &["there is no file nofile.json"]),
    ("plan create nofile.md", 1, &["there is no file nofile.md"]),
    ("plan show", 64, &["<FILE>"]),
    (
        "index nofile",
        1,
        &["there is no folder", "name a folder of a project"],
    ),
    (
        "impact nofile",
        1,
        &["there is no file nofile", "drawloom index"],
    ),
    ("impact", 64, &["<FILE>"]),
    ("users add 'A B' --email a@b.org", 64, &["small letters"]),
    (
        "users edit nope --name x",
        1,
        &["there is no user `nope`", "users list"],
    ),
    ("users add ann", 64, &["--email"]),
    ("agents add bob", 64, &["--prompt"]),
    (
        "agents edit nope --prompt x",
        1,
        &["there is no agent `nope`", "agents list"],
    ),
    ("agents add 'A B' --prompt x", 64, &["small letters"]),
    (
        "tokens revoke nope",
        64,
        &["the number that `drawloom tokens list` shows"],
    ),
    ("tokens revoke 7", 1, &["There is no token 7"]),
    ("tokens add x", 64, &["--user"]),
];

const PROJECT: &[WrongUse] = &[
    (
        "cost --since tomorrow",
        64,
        &["`tomorrow` is not a day", "7d"],
    ),
    ("cost --by dog", 64, &["day, model, purpose"]),
    ("cost extra", 64, &["unexpected argument 'extra'"]),
    ("restore nofile", 1, &["nofile"]),
    ("backup", 64, &["<FILE>"]),
    (
        "schema nope",
        64,
        &["there is no schema `nope`", "drawloom schema list"],
    ),
    ("schema", 64, &["<NAME>"]),
    ("completions dish", 64, &["a similar value exists: 'fish'"]),
    ("man nope", 64, &["there is no command `nope`"]),
    ("mcp install nope", 64, &["claude-code, codex"]),
    ("trust nofile.json", 1, &["nofile.json"]),
    ("init extra", 64, &["unexpected argument 'extra'"]),
    ("doctor extra", 64, &["unexpected argument 'extra'"]),
    ("rnu hello", 64, &["unrecognized subcommand 'rnu'"]),
    ("--cwd nowhere run hello", 1, &["nowhere"]),
];

const SHIP: &str = "graph TD\n  A(Ship)\n%% === WORKFLOW_CONFIG ===\n\
                    %% @input: { \"required\": [\"version\"], \"properties\": { \"version\": { \"type\": \"string\" } } }\n\
                    %% @A: { \"prompt\": \"Ship {{input.version}}?\" }\n%% === END_CONFIG ===\n";

#[track_caller]
fn check(uses: &[WrongUse]) {
    let project = CliProject::empty();
    assert_eq!(project.run("init").exit, 0);
    project.write(".drawloom/workflows/ship.mmd", SHIP);
    // All at once: a rewritten message shows every line that it is in.
    let mut wrong = Vec::new();
    for (line, exit, says) in uses {
        let ran = project.run(line);
        let lacks = says.iter().find(|piece| !ran.err.contains(**piece));
        let vague = ["invalid digit", "os error", "warning:", "panicked"];
        let vague = vague.iter().find(|piece| ran.err.contains(**piece));
        if ran.exit != *exit || lacks.is_some() || vague.is_some() {
            wrong.push(format!(
                "{line}: lacks {lacks:?}, has {vague:?}, ended with {}:\n{}",
                ran.exit, ran.err
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn of_a_folder_in_which_nothing_is_set_up() {
    let ran = CliProject::empty().run("run hello World");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(
        ran.err.contains("`drawloom init` sets up this folder"),
        "{}",
        ran.err
    );
}

#[test]
fn of_commands_that_generate() {
    check(GENERATE);
}

#[test]
fn of_workflows_their_runs_and_tasks() {
    check(WORKFLOWS);
}

#[test]
fn of_builds_and_people() {
    check(BUILDS_AND_PEOPLE);
}

#[test]
fn of_the_project_and_its_surroundings() {
    check(PROJECT);
}
