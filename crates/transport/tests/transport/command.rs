//! Programs that are started for each request.

use std::time::{Duration, Instant};

use prompt::{Question, QuestionSource, Questionnaire};
use transport::{ARGUMENT_BYTES_MAX, AskResolution, CommandMode};

use crate::support::{Case, file, questions, word};

fn reply(what: &str, prompt: &str) -> String {
    format!("python3 {} {what} {prompt}", word("tests/data/reply.py"))
}

#[test]
fn the_prompt_comes_as_an_argument_or_on_standard_input() {
    for prompt in ["{prompt}", ""] {
        for what in ["good", "noisy"] {
            let mut case = Case::command(&reply(what, prompt));
            case.answered();
            assert_eq!(case.watcher.count("Asking"), 1);
        }
    }
}

#[test]
fn the_seeds_smallest_command_works() {
    let mut asked = Questionnaire::new();
    let source = QuestionSource {
        file: "a".into(),
        line: 1,
    };
    asked.ask(Question::new("key", source)).unwrap();
    let mut case = Case::command(r#"echo '{"key":"value"}'"#);
    let all = case.resolve_all(None, &[&asked]).unwrap();
    let AskResolution::Resolved(answers, _) = &all[0] else {
        panic!("{all:?}")
    };
    assert_eq!(answers.get("key").unwrap(), "value");
}

#[test]
fn no_shell_sees_the_prompt() {
    let mut asked = Questionnaire::new();
    let source = QuestionSource {
        file: "a".into(),
        line: 1,
    };
    let mut question = Question::new("key", source);
    question.prompt = "a'b\"c $(touch /tmp/drawloom-was-here) `x` ; exit 3".into();
    asked.ask(question).unwrap();
    let mut case = Case::command("printf %s {prompt}");
    case.setup.command_mode = CommandMode::PerBlock;
    let all = case.resolve_all(None, &[&asked]).unwrap();
    let AskResolution::Resolved(answers, _) = &all[0] else {
        panic!("{all:?}")
    };
    let said = answers.get("key").unwrap().as_str().unwrap();
    assert!(
        said.contains("a'b\"c $(touch /tmp/drawloom-was-here) `x` ; exit 3"),
        "{said}"
    );
    assert!(!std::path::Path::new("/tmp/drawloom-was-here").exists());
}

#[test]
fn one_correction_quotes_the_problem() {
    let mut case = Case::command(&reply("fixer", "{prompt}"));
    case.answered();
    assert_eq!(case.watcher.count("Correcting"), 1);
    assert_eq!(case.watcher.count("Asking"), 2);
}

#[test]
fn a_second_useless_reply_is_the_end() {
    let mut case = Case::command(&reply("prose", ""));
    let error = case.failed(
        "AI_TRANSPORT_FAILED",
        "could not be read, also after a correction",
    );
    assert!(
        error.to_string().contains("stuck, key [key removed]"),
        "{error}"
    );
    let error = Case::command(&reply("wrong", "")).failed("AI_ANSWER_INVALID", "do not fit");
    for key in ["`fields`", "`extra`"] {
        assert!(error.said().unwrap().contains(key), "{error}");
    }
}

#[test]
fn the_questions_say_how_often_a_reply_is_sent_back() {
    for (retries, runs, said) in [
        (0, 1, "could not be read:"),
        (3, 4, "could not be read, also after 3 corrections:"),
    ] {
        let mut asked = prompt::Questionnaire::new();
        for question in questions().questions() {
            let mut question = question.clone();
            question.retries = Some(retries);
            asked.ask(question).unwrap();
        }
        let mut case = Case::command(&reply("prose", ""));
        let error = case.resolve_all(None, &[&asked]).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(case.watcher.count("Asking"), runs);
    }
}

#[test]
fn each_question_is_asked_alone_with_all_that_belongs_to_it() {
    for prompt in ["{prompt}", ""] {
        let mut case = Case::command(&reply("each", prompt));
        case.setup.command_mode = CommandMode::PerBlock;
        case.answered();
        // Six questions, one of them corrected.
        assert_eq!(case.watcher.count("Asking"), 7);
        assert_eq!(case.watcher.count("Correcting"), 1);
    }
}

#[test]
fn a_failing_command_is_quoted() {
    let line =
        "sh -c 'echo first >&2; echo \"bad key sk-test-123456\"\"7890-SECRET/+=\" >&2; exit 3'";
    let error = Case::command(line).failed("AI_TRANSPORT_FAILED", "`sh` exited with code 3");
    assert_eq!(error.said(), Some("first\nbad key [key removed]"));
    let error =
        Case::command("sh -c 'echo only stdout; exit 1'").failed("AI_TRANSPORT_FAILED", "code 1");
    assert_eq!(error.said(), Some("only stdout"));
    Case::command("no-such-program-here").failed("AI_TRANSPORT_FAILED", "was not found");
    let mut case = Case::command("true");
    case.cwd = "/no/such/folder".into();
    case.failed("AI_TRANSPORT_FAILED", "does not exist");
}

#[test]
fn a_command_that_does_not_end_is_ended_with_its_children() {
    let mut case = Case::command("sh -c 'sleep 300 & sleep 300'");
    case.setup.timeout = Duration::from_millis(300);
    let began = Instant::now();
    case.failed("AI_TRANSPORT_FAILED", "ai.timeout_ms");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_command_that_floods_is_stopped_at_its_cap() {
    let mut case = Case::command("yes");
    case.setup.output_bytes_max = 1_000;
    case.setup.timeout = Duration::from_secs(60);
    let began = Instant::now();
    let error = case.failed("AI_TRANSPORT_FAILED", "`ai.output_bytes_max` (it is 1000)");
    assert!(began.elapsed() < Duration::from_secs(20));
    let text = error.to_string();
    assert!(!text.contains("ai.timeout_ms"), "{text}");
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn json_that_lost_its_quotes_is_explained() {
    let error = Case::command("echo {\"key\":\"value\"}")
        .failed("AI_TRANSPORT_FAILED", "could not be read");
    assert!(error.to_string().contains("takes quotes off"), "{error}");
}

#[test]
fn fifty_megabytes_of_output_end_in_a_sentence_or_an_answer() {
    let noise = "head -c 50000000 /dev/zero | tr \"\\0\" x";
    let mut case = Case::command(&format!("sh -c '{noise}'"));
    case.setup.output_bytes_max = 1024 * 1024;
    case.setup.timeout = Duration::from_secs(60);
    case.failed("AI_TRANSPORT_FAILED", "ai.output_bytes_max` (1048576)");

    let mut case = Case::command(&format!(
        "sh -c '{noise}; echo; cat \"{}\"'",
        file("tests/data/answers.json")
    ));
    case.setup.output_bytes_max = 1024 * 1024;
    case.setup.timeout = Duration::from_secs(60);
    case.answered();
}

#[test]
fn a_prompt_too_long_for_an_argument_goes_to_standard_input_with_a_note() {
    let case = Case::command(&reply("echo-size", "{prompt}"));
    let feedback = "x".repeat(ARGUMENT_BYTES_MAX);
    let mut case = Case {
        feedback: Some(&feedback),
        ..case
    };
    case.answered();
    case.watcher.saw("ARGUMENT_BYTES_MAX (131072)");
    case.watcher.saw("argv 2");

    // The longest that fits does fit.
    let fixed = {
        let mut case = Case::command(&reply("echo-size", "{prompt}"));
        case.feedback = Some("x");
        case.answered();
        let line = case
            .watcher
            .seen
            .iter()
            .find(|line| line.contains(" bytes, argv 3"))
            .unwrap()
            .clone();
        line.trim_start_matches("Log(\"")
            .split(' ')
            .next()
            .unwrap()
            .parse::<usize>()
            .unwrap()
    };
    let longest = "x".repeat(ARGUMENT_BYTES_MAX - 1 - (fixed - 1));
    let mut case = Case::command(&reply("echo-size", "{prompt}"));
    case.feedback = Some(&longest);
    case.answered();
    case.watcher.saw("131071 bytes, argv 3");
}

#[test]
fn marks_of_agents_are_not_passed_on() {
    if std::env::var_os("CLAUDECODE").is_some() {
        Case::command(&reply("markers", "")).answered();
        return;
    }
    // Again, in a process that an agent seems to have started.
    let again = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "command::marks_of_agents_are_not_passed_on"])
        .env("CLAUDECODE", "1")
        .output()
        .unwrap();
    assert!(again.status.success(), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stdout).contains("1 passed"));
}

#[test]
fn an_empty_questionnaire_asks_no_one() {
    let mut case = Case::command("false");
    let all = case.resolve_all(None, &[&Questionnaire::new()]).unwrap();
    assert!(matches!(&all[0], AskResolution::Resolved(answers, _) if answers.is_empty()));
}
