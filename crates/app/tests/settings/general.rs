//! `drawloom.toml` and its variables: what they set, and how each mistake is reported.

use std::path::PathBuf;

use app::ProjectSettings;
use app::settings::{ColorSetting, OnConflict, commented_file};
use flow::{RateScope, StepHandler};

use super::{check_error, resolve};

/// The written file with the lines that `is_wanted` uncommented.
fn uncommented(is_wanted: impl Fn(&str) -> bool) -> String {
    let file = commented_file();
    let lines = file.lines().map(|line| {
        let key = line.strip_prefix("# ").filter(|rest| {
            let is_key = rest.contains(" = ") || rest.starts_with('[');
            is_key && is_wanted(rest)
        });
        format!("{}\n", key.unwrap_or(line))
    });
    lines.collect()
}

#[test]
fn the_written_file_is_valid_and_says_the_defaults() {
    assert_eq!(
        resolve(&commented_file(), &[]).unwrap(),
        ProjectSettings::default()
    );
    let defaults = uncommented(|line| !line.ends_with("# for example") && !line.starts_with('['));
    assert_eq!(resolve(&defaults, &[]).unwrap(), ProjectSettings::default());
}

#[test]
fn the_examples_of_the_written_file_are_valid() {
    let settings = resolve(&uncommented(|_| true), &[]).unwrap();
    assert_eq!(settings.ai.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(settings.ai.temperature, Some(0.2));
    assert_eq!(settings.ai.budget.run.micro_usd_max, Some(1_000_000));
    assert_eq!(settings.ai.prices["my-model"].cache_write, Some(1.25));
}

#[test]
fn the_manual_lists_every_key_of_ai() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ai.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let file = commented_file();
    let mut is_ai = false;
    let ai = file.lines().filter(|line| {
        let section = line.trim_start_matches("# ");
        if section.starts_with('[') {
            is_ai = section.starts_with("[ai");
        }
        is_ai
    });
    let keys = ai.filter_map(|line| {
        let (name, _) = line.strip_prefix("# ")?.split_once(" = ")?;
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        name.chars().all(is_name).then_some(name)
    });
    for key in keys {
        assert!(
            manual.contains(&format!("# {key} = ")),
            "docs/ai.md lacks `{key}`"
        );
    }
}

#[test]
fn variables_override_the_file() {
    let file = "[run]\non_conflict = 'skip'\n[limits]\nfuel_max = 1_000\n";
    let variables = [
        ("DRAWLOOM_RUN_ON_CONFLICT", "force"),
        ("DRAWLOOM_RUN_TRUST", "true"),
        ("DRAWLOOM_RECIPES_DIRS", "a:b/c"),
        ("DRAWLOOM_OUTPUT_COLOR", "never"),
        ("DRAWLOOM_SOMETHING_ELSE", "kept out of it"),
    ];
    let settings = resolve(file, &variables).unwrap();
    assert_eq!(settings.run.on_conflict, OnConflict::Force);
    assert!(settings.run.trust);
    assert_eq!(settings.limits.expr.fuel_max, 1000);
    assert_eq!(
        settings.recipes.dirs,
        [PathBuf::from("a"), PathBuf::from("b/c")]
    );
    assert_eq!(settings.output.color, ColorSetting::Never);
}

#[test]
fn mistakes_in_the_file_are_shown_where_they_are() {
    check_error(
        "[run]\non_conflit = 'ask'\n",
        &[],
        "2:1 unknown key `on_conflit` (did you mean `on_conflict`?)",
    );
    check_error(
        "[recipe]\n",
        &[],
        "1:2 unknown section `recipe` (did you mean `recipes`?)",
    );
    check_error(
        "[network]\n",
        &[],
        "1:2 unknown section `network` (known here: `recipes`, `run`, `limits`, `output`, `ai`, `agent`, \
         `builder`, `workflows`, `server`, `mcp`, `agents`, `notify`, `rates`)",
    );
    check_error(
        "[agents.ann]\nname = 3\n",
        &[],
        "2:8 agents.ann: `name` must be a string",
    );
    check_error(
        "[agents.ann]\npromt = \"x\"\n",
        &[],
        "2:1 unknown key `promt` (did you mean `prompt`?)",
    );
    check_error(
        "run = 3\n",
        &[],
        "1:1 `run` is a section: write it as [run]",
    );
    check_error(
        "[agent.sandbox]\nnetwork = 'yes'\n",
        &[],
        "2:11 `agent.sandbox.network` must be true or false, not string",
    );
    check_error(
        "[run]\ntrust = true\n",
        &[],
        "2:1 `run.trust` is not a project's to set (it gives permission, so it belongs in your own \
         settings (~/.config/drawloom/config.toml) or in DRAWLOOM_RUN_TRUST)",
    );
    check_error(
        "[run]\n\non_conflict = 'merge'\n",
        &[],
        "3:15 `run.on_conflict` must be one of \"ask\", \"force\", \"skip\", \"fail\", not \"merge\"",
    );
    check_error(
        "[limits]\nfuel_max = -1\n",
        &[],
        "2:12 `limits.fuel_max` must be a whole number of at least 1, not -1",
    );
    check_error(
        "[recipes]\ndirs = 'a'\n",
        &[],
        "2:8 `recipes.dirs` must be a list of strings, not string",
    );
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    let error = resolve("[run]\ntrust = \n", &[]).unwrap_err();
    let place = error.place.unwrap();
    assert_eq!(place.line, 2);
    assert!(
        error
            .message
            .starts_with("drawloom.toml is not valid TOML: "),
        "{}",
        error.message
    );
}

#[test]
fn a_duplicate_section_is_an_error() {
    check_error(
        "[ai]\nmode = 'off'\n[ai]\nmodel = 'x'\n",
        &[],
        "3:2 drawloom.toml is not valid TOML: duplicate key (it is defined further up: write \
         all of it there)",
    );
}

#[test]
fn mistakes_in_variables_name_the_variable_and_its_key() {
    check_error(
        "",
        &[("DRAWLOOM_LIMITS_DEPTH_MAX", "many")],
        "DRAWLOOM_LIMITS_DEPTH_MAX must be a whole number of at least 1, not many \
         (it overrides `limits.depth_max` of drawloom.toml)",
    );
}

#[test]
fn ai_is_read_with_all_that_is_inside_it() {
    let file = r#"
[ai]
mode = "command"
provider = "gemini"
model = "gemini-2.5-pro"
api_key = "$MY_KEY"
fallbacks = ["gpt-5", "claude-sonnet-4-5"]
max_tokens = 100
temperature = 1
command_mode = "per-block"
timeout_ms = 2_000
[ai.models]
plan = "p"
answer = "a"
[ai.retry]
attempts_max = 2
[ai.budget]
day_usd_max = 2.5
run_tokens_max = 1000
[ai.prices."org/my.model"]
input = 1
output = 2.5
"#;
    let ai = resolve(file, &[("DRAWLOOM_AI_MODELS_ANSWER", "b")])
        .unwrap()
        .ai;
    assert_eq!(ai.mode.name(), "command");
    assert_eq!(ai.provider.unwrap().name(), "google");
    assert_eq!(ai.api_key.as_ref().unwrap().expose(), "$MY_KEY");
    assert_eq!(ai.fallbacks, ["gpt-5", "claude-sonnet-4-5"]);
    assert_eq!((ai.max_tokens, ai.temperature), (100, Some(1.0)));
    assert_eq!(ai.command_mode.name(), "per-block");
    assert_eq!(ai.timeout.as_millis(), 2_000);
    assert_eq!(ai.models.plan.as_deref(), Some("p"));
    assert_eq!(ai.models.answer.as_deref(), Some("b"));
    assert_eq!(ai.retry.attempts_max, 2);
    assert_eq!(ai.budget.day.micro_usd_max, Some(2_500_000));
    assert_eq!(ai.budget.run.tokens_max, Some(1000));
    let rates = ai.prices["org/my.model"];
    assert_eq!(
        (rates.input, rates.output, rates.cache_read),
        (1.0, 2.5, None)
    );
}

#[test]
fn mistakes_inside_ai_are_shown_where_they_are() {
    check_error(
        "[ai]\nmodell = 'x'\n",
        &[],
        "2:1 unknown key `modell` (did you mean `model`?)",
    );
    check_error(
        "[ai]\nbudgets = 3\n",
        &[],
        "2:1 unknown key `budgets` (did you mean `budget`?)",
    );
    check_error(
        "[ai.budgt]\n",
        &[],
        "1:5 unknown key `budgt` (did you mean `budget`?)",
    );
    check_error(
        "[ai.budget]\nday_usd = 1\n",
        &[],
        "2:1 unknown key `day_usd` (did you mean `day_usd_max`?)",
    );
    check_error(
        "[ai]\nbudget = 3\n",
        &[],
        "2:1 `ai.budget` is a section: write it as [ai.budget]",
    );
    check_error(
        "[ai]\nmode = 'apii'\n",
        &[],
        "2:8 `ai.mode` must be one of \"auto\", \"api\", \"command\", \"stdio\", \"stdout\", \"off\", not \"apii\"",
    );
    check_error(
        "[ai]\ntemperature = 3.5\n",
        &[],
        "2:15 `ai.temperature` must be a number from 0 to 2, not 3.5",
    );
    check_error(
        "[ai]\nfallbacks = 'x'\n",
        &[],
        "2:13 `ai.fallbacks` must be a list of strings, not string",
    );
    check_error(
        "[ai.prices.\"m\"]\ninput = 1\n",
        &[],
        "1:12 `ai.prices.\"m\"` needs both `input` and `output` (in US dollars per million tokens)",
    );
    check_error(
        "[ai.prices.\"m\"]\ninput = -1\noutput = 1\n",
        &[],
        "2:9 `ai.prices.\"m\".input` must be a number of at least 0, not -1",
    );
    check_error(
        "",
        &[("DRAWLOOM_AI_BUDGET_RUN_USD_MAX", "much")],
        "DRAWLOOM_AI_BUDGET_RUN_USD_MAX must be a number of at least 0, not much \
         (it overrides `ai.budget.run_usd_max` of drawloom.toml)",
    );
}

#[test]
fn a_key_in_a_broken_line_is_not_shown() {
    for file in [
        "[ai]\napi_key = sk-secret-123\n",
        "[ai]\napi_key = \"sk-secret-123\n",
        "[ai]\nmode = 3 # api_key = sk-secret-123\n",
        "ai = { api_key = \"sk-secret-123\", modle = 1 }\n",
    ] {
        let error = resolve(file, &[]).unwrap_err();
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("sk-secret"), "{shown}");
    }
    let settings = resolve("[ai]\napi_key = \"sk-secret-123\"\n", &[]).unwrap();
    assert!(!format!("{settings:?}").contains("sk-secret"));
}

#[test]
fn rate_limits_name_a_handler_or_the_handlers_that_ask_a_model() {
    let file = "[ai]\nmodel = 'large'\n[ai.models]\nplan = 'small'\n\
                [rates.calls]\nhandler = 'http'\nmax = 30\nper = '1m'\n\
                [rates.large]\nmodel = 'large'\nmax = 2\nper = '1s'\n";
    let limits = resolve(file, &[]).unwrap().rate_limits();
    let limits = limits.iter().map(|limit| {
        (
            limit.name.as_str(),
            limit.max,
            limit.per_ms,
            limit.scope.clone(),
        )
    });
    let asking = vec![
        StepHandler::AiInteraction,
        StepHandler::CodeGeneration,
        StepHandler::Validation,
        StepHandler::Task,
        StepHandler::Build,
    ];
    let large = RateScope::Model {
        name: "large".to_owned(),
        handlers: asking,
    };
    let expected = [
        ("calls", 30, 60_000, RateScope::Handler(StepHandler::Http)),
        ("large", 2, 1_000, large),
    ];
    assert!(limits.eq(expected), "{:?}", resolve(file, &[]));
}

#[test]
fn mistakes_in_rate_limits_are_shown_where_they_are() {
    for (lines, expected) in [
        (
            "handler = 'htp'\nmax = 1\nper = '1m'",
            "2:11 rates.calls: `handler` must be one of ai_interaction, code_generation, planning, \
             validation, recipe, build, command, http, task, mcp",
        ),
        (
            "max = 1\nper = '1m'",
            "1:8 `rates.calls` needs either a `handler` or a `model`",
        ),
        (
            "handler = 'http'\nmodel = 'x'\nmax = 1\nper = '1m'",
            "1:8 `rates.calls` needs either a `handler` or a `model`",
        ),
        (
            "handler = 'http'\nmax = 0\nper = '1m'",
            "3:7 rates.calls: `max` must be a whole number from 1 to RATE_MAX = 10000",
        ),
        (
            "handler = 'http'\nmax = 1\nper = 'often'",
            "4:7 rates.calls: `per` must be a time span such as \"1s\", \"1m\" or \"1h\"",
        ),
        (
            "handler = 'http'\nmax = 1",
            "1:8 `rates.calls` needs `max` and `per`",
        ),
        (
            "handlr = 'http'",
            "2:1 unknown key `handlr` (did you mean `handler`?)",
        ),
    ] {
        check_error(&format!("[rates.calls]\n{lines}\n"), &[], expected);
    }
}
