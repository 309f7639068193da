//! The detection rules, as a table.

use llm::Provider;
use transport::{AiSettings, ModelPurpose, RecordMode, ResolvedMode, TransportMode, choose};

use crate::support::{KEY, assert_no_key, literal};

fn setup(change: impl FnOnce(&mut AiSettings)) -> AiSettings {
    let mut setup = AiSettings::default();
    change(&mut setup);
    setup
}

#[track_caller]
fn check(variables: &[&str], setup: &AiSettings, expected: &str) {
    let lookup = |name: &str| variables.contains(&name).then(|| KEY.to_owned());
    let shown = match choose(setup, ModelPurpose::Answer, &RecordMode::Off, &lookup) {
        Ok(chosen) => {
            assert_no_key(&format!("{chosen:?}"));
            let way = match &chosen.way {
                ResolvedMode::Api(plan) => {
                    format!(
                        "api {} {}",
                        plan.first.route.provider.name(),
                        plan.first.route.model
                    )
                }
                ResolvedMode::Command(plan) => format!("command {}", plan.words.program),
                ResolvedMode::Stdio(plan) => format!("stdio {}", plan.program),
                way => way.mode().to_string(),
            };
            let warnings: Vec<String> = chosen.warnings.iter().map(|w| format!(" ! {w}")).collect();
            format!("{way}{}", warnings.concat())
        }
        Err(error) => {
            assert_no_key(&format!("{error} {error:?}"));
            format!("{}: {error}", error.code())
        }
    };
    assert_eq!(shown, expected);
}

#[test]
fn auto_takes_a_provider_with_a_key_then_a_command_then_stdout() {
    let anthropic = |s: &mut AiSettings| {
        s.provider = Some(Provider::Anthropic);
        s.model = Some("claude-sonnet-4-5".into());
    };
    check(&[], &AiSettings::default(), "stdout");
    check(&["ANTHROPIC_API_KEY"], &AiSettings::default(), "stdout");
    check(
        &["ANTHROPIC_API_KEY"],
        &setup(anthropic),
        "api anthropic claude-sonnet-4-5",
    );
    let by_model = setup(|s| s.model = Some("claude-sonnet-4-5".into()));
    check(
        &["ANTHROPIC_API_KEY"],
        &by_model,
        "api anthropic claude-sonnet-4-5",
    );
    check(&[], &by_model, "stdout");
    check(
        &["OPENAI_API_KEY"],
        &setup(anthropic),
        "stdout ! `ai.provider` is set, but ANTHROPIC_API_KEY is not set, so the provider is skipped.",
    );
    let both = setup(|s| {
        anthropic(s);
        s.command = Some("llm -m x".into());
    });
    check(
        &["ANTHROPIC_API_KEY"],
        &both,
        "api anthropic claude-sonnet-4-5",
    );
    check(
        &[],
        &both,
        "command llm ! `ai.provider` is set, but ANTHROPIC_API_KEY is not set, so the provider is skipped.",
    );
    check(
        &[],
        &setup(|s| s.command = Some("claude -p {prompt}".into())),
        "command claude",
    );
    check(
        &["ANTHROPIC_API_KEY"],
        &setup(|s| s.command = Some(" ".into())),
        "stdout",
    );
    let local = setup(|s| {
        s.provider = Some(Provider::Ollama);
        s.model = Some("qwen3:8b".into());
    });
    check(&[], &local, "api ollama qwen3:8b");
}

#[test]
fn keys_come_by_reference_and_a_written_key_is_warned_about() {
    let with_key = |key: Option<llm::Secret>| {
        setup(|s| {
            s.provider = Some(Provider::Anthropic);
            s.model = Some("claude-sonnet-4-5".into());
            s.api_key = key;
        })
    };
    let by_name = || with_key(Some(llm::Secret::new("$MINE")));
    check(&["MINE"], &by_name(), "api anthropic claude-sonnet-4-5");
    check(
        &["ANTHROPIC_API_KEY"],
        &by_name(),
        "stdout ! `ai.provider` is set, but $MINE is not set, so the provider is skipped.",
    );
    check(
        &[],
        &with_key(literal()),
        "api anthropic claude-sonnet-4-5 ! `ai.api_key` holds a key itself. Put the key in a variable \
         and write `api_key = \"$NAME\"`: files with keys get shared.",
    );
    // The name itself, because the `$` is missing.
    for (variables, name) in [(&["MINE"] as &[&str], "MINE"), (&[], "ANTHROPIC_API_KEY")] {
        check(
            variables,
            &with_key(Some(llm::Secret::new(name))),
            &format!(
                "api anthropic claude-sonnet-4-5 ! `ai.api_key` is the name of a variable, and is sent as if \
                 it were the key. Write `api_key = \"${name}\"`."
            ),
        );
    }
    let explicit = AiSettings {
        mode: TransportMode::Api,
        ..by_name()
    };
    check(
        &["ANTHROPIC_API_KEY"],
        &explicit,
        "AI_API_KEY_MISSING: `ai.api_key` refers to MINE, which is not set. Set MINE to the key for anthropic.",
    );
}

#[test]
fn lines_that_mean_something_else_elsewhere_are_pointed_out() {
    let command = |line: &str| setup(|s| s.command = Some(line.into()));
    check(
        &[],
        &command("llm -m x | tee log"),
        "command llm ! `ai.command` hands `|` to `llm` as it is: there is no shell. Write `sh -c '…'` where \
         you want one.",
    );
    check(&[], &command("sh -c 'llm -m x | tee log'"), "command sh");
    let stdio = setup(|s| {
        s.mode = TransportMode::Stdio;
        s.stdio_command = Some("claude -p {prompt}".into());
    });
    check(
        &[],
        &stdio,
        "AI_TRANSPORT_FAILED: `ai.stdio_command` holds `{prompt}`, but gets its questions on standard input. \
         Use the mode `command` with this line as `ai.command`, or name a program that speaks the protocol \
         of docs/ai.md.",
    );
}

#[test]
fn a_mode_names_the_setting_it_lacks() {
    let mode = |mode| setup(|s| s.mode = mode);
    check(
        &["ANTHROPIC_API_KEY"],
        &mode(TransportMode::Api),
        "AI_API_KEY_MISSING: asking a model needs a provider, and none is set. Set `ai.provider` (one of \
         anthropic, openai, google, openrouter, ollama, compatible) and `ai.model` in drawloom.toml, and the \
         key in its variable (one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, \
         GEMINI_API_KEY, OPENROUTER_API_KEY).",
    );
    let anthropic = setup(|s| {
        s.mode = TransportMode::Api;
        s.provider = Some(Provider::Anthropic);
        s.model = Some("claude-sonnet-4-5".into());
    });
    check(
        &[],
        &anthropic,
        "AI_API_KEY_MISSING: there is no API key for anthropic. Set ANTHROPIC_API_KEY, or \
         `ai.api_key = \"$NAME\"` to read it from another variable.",
    );
    let no_model = setup(|s| s.provider = Some(Provider::OpenAi));
    check(
        &["OPENAI_API_KEY"],
        &no_model,
        "AI_PROVIDER_UNAVAILABLE: there is no model for the provider openai. Set `ai.model`; \
         `drawloom ai models` lists them.",
    );
    check(
        &[],
        &mode(TransportMode::Command),
        "AI_TRANSPORT_FAILED: the mode `command` needs `ai.command`, which is not set. Write for instance \
         `command = \"claude -p {prompt}\"` under [ai] in drawloom.toml, or use another mode.",
    );
    check(
        &[],
        &mode(TransportMode::Stdio),
        "AI_TRANSPORT_FAILED: the mode `stdio` needs `ai.stdio_command`, which is not set. Write for instance \
         `stdio_command = \"python3 answer.py\"` under [ai] in drawloom.toml, or use another mode.",
    );
    check(&[], &mode(TransportMode::Stdout), "stdout");
    check(&[], &mode(TransportMode::Off), "off");
}

#[test]
fn purposes_have_models_of_their_own_and_fallbacks_their_own_keys() {
    let setup = setup(|s| {
        s.provider = Some(Provider::Anthropic);
        s.base_url = Some("http://127.0.0.1:1".into());
        s.model = Some("claude-a".into());
        s.models.plan = Some("claude-b".into());
        s.fallbacks = vec!["gpt-5".into(), "claude-c".into()];
    });
    let lookup = |name: &str| Some(format!("key-of-{name}"));
    let plan = |purpose| match choose(&setup, purpose, &RecordMode::Off, &lookup)
        .unwrap()
        .way
    {
        ResolvedMode::Api(plan) => plan,
        way => panic!("{way:?}"),
    };
    assert_eq!(plan(ModelPurpose::Answer).first.route.model, "claude-a");
    let plan = plan(ModelPurpose::Plan);
    assert_eq!(plan.first.route.model, "claude-b");
    let shown: Vec<_> = plan
        .fallbacks
        .iter()
        .map(|served| {
            let key = served.endpoint.key.as_ref().unwrap().expose();
            let base = served.endpoint.base_url.as_deref().unwrap_or("-");
            format!("{} {key} {base}", served.route.model)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "gpt-5 key-of-OPENAI_API_KEY -",
            "claude-c key-of-ANTHROPIC_API_KEY http://127.0.0.1:1"
        ]
    );
}

#[test]
fn an_unknown_word_gets_a_suggestion() {
    let wrong = |text: &str| text.parse::<TransportMode>().unwrap_err().to_string();
    assert_eq!(
        " API ".parse::<TransportMode>().unwrap(),
        TransportMode::Api
    );
    assert_eq!(
        wrong("stdot"),
        "\"stdot\" is not an AI mode. Did you mean `stdout`? Use one of auto, api, command, stdio, stdout, off."
    );
    assert_eq!(
        wrong("nobody"),
        "\"nobody\" is not an AI mode. Use one of auto, api, command, stdio, stdout, off."
    );
    assert_eq!(
        transport::provider("antropic").unwrap_err().to_string(),
        "\"antropic\" is not a provider. Did you mean `anthropic`? Use one of anthropic, openai, google, \
         openrouter, ollama, compatible."
    );
    assert!(
        "per_block"
            .parse::<transport::CommandMode>()
            .unwrap_err()
            .to_string()
            .contains("per-block")
    );
}
