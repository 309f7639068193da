//! What is asked of whom: providers are held to a schema, programs and people are asked in words.

use std::os::unix::fs::PermissionsExt as _;

use flow::layers::envelope;
use serde_json::{Value, json};

use crate::model::{FORMATS, ScriptedFormat};
use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document, enveloped, result, task, with_settings};

fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["score"],
        "properties": { "score": { "type": "number" } },
    })
}

/// Where a format has the schema that a provider is held to.
fn native(format: ScriptedFormat, body: &Value) -> Value {
    match format {
        ScriptedFormat::Anthropic => body["output_config"]["format"]["schema"].clone(),
        ScriptedFormat::OpenAi => body["response_format"]["json_schema"]["schema"].clone(),
        ScriptedFormat::Google => body["generationConfig"]["responseJsonSchema"].clone(),
    }
}

#[test]
fn providers_are_held_to_the_reply_with_the_output_inside() {
    for format in FORMATS {
        for (schema, output) in [
            (Some(schema()), json!({ "score": 7 })),
            (None, json!("a text")),
        ] {
            let script = vec![("", vec![enveloped("SUCCESS", output.clone(), "COMPLETE")])];
            let (project, model) = with_settings(format, script, "");
            let config = match &schema {
                Some(schema) => json!({ "outputSchema": schema }),
                None => json!({}),
            };
            project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
            let ran = project.run("workflow start one.mmd --wait --json");
            assert_eq!(ran.exit, 0, "{format:?}: {}{}", ran.out, ran.err);
            assert_eq!(result(&ran)["output"], output, "{format:?}");
            let body = &model.received()[0];
            assert_eq!(
                native(format, body),
                envelope(schema.as_ref()),
                "{format:?}: {body}"
            );
            let said = body.to_string();
            assert!(said.contains("exactly one JSON object"), "{said}");
            assert!(!said.contains("## Status"), "{said}");
            if format == ScriptedFormat::OpenAi {
                assert_eq!(body["response_format"]["json_schema"]["strict"], true);
            }
        }
    }
}

#[test]
fn sections_are_read_from_providers_too() {
    for format in FORMATS {
        let script = vec![("", vec![crate::workflow_fixture::reply(r#"{"score": 7}"#)])];
        let (project, model) = with_settings(format, script, "");
        let config = json!({ "outputSchema": schema() });
        project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
        let ran = project.run("workflow start one.mmd --wait --json");
        assert_eq!(result(&ran)["output"], json!({ "score": 7 }), "{}", ran.err);
        assert_eq!(model.received().len(), 1);
    }
}

/// A project in which a program of this text answers.
fn with_program(mode: &str, key: &str, program: &str) -> CliProject {
    let project = bare();
    project.write("answer.sh", program);
    let path = project.path().join("answer.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = format!("[ai]\nmode = \"{mode}\"\n{key} = \"sh answer.sh\"\n");
    project.write("drawloom.toml", &settings);
    project
}

const SECTIONS: &str = "## Status\\nSUCCESS\\n\\n## Summary\\nDone.\\n\\n## Output\\n{\\\"score\\\": 7}\\n\\n## Next Action\\nCOMPLETE\\n";

#[test]
fn a_command_answers_in_sections() {
    // It replies properly only when it was told what is wrong.
    let sections = SECTIONS.replace("\\\"", "\"");
    let program = format!(
        "cat > asked\ncp asked asked-$(ls asked-* 2>/dev/null | wc -l)\n\
         if grep -q 'could not be used' asked; then printf '{sections}'; else echo hm; fi\n"
    );
    let project = with_program("command", "command", &program);
    let config = json!({ "prompt": "Score {{input.what}}.", "outputSchema": schema() });
    project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
    let ran = project.run("workflow start one.mmd --wait --json what=this");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(result(&ran)["output"], json!({ "score": 7 }));
    let first = project.read("asked-0");
    assert!(
        first.contains("## Status") && first.contains("Score this."),
        "{first}"
    );
    let second = project.read("asked-1");
    assert!(
        second.contains("There is neither a `## Status` section"),
        "{second}"
    );
    assert!(!project.path().join("asked-2").exists());
}

#[test]
fn a_command_that_never_answers_properly_is_unparsable() {
    let project = with_program("command", "command", "echo >> asked; echo hm\n");
    let config = json!({ "retry": { "attempts": 1 } });
    project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
    assert_eq!(project.run("workflow start one.mmd --wait").exit, 1);
    assert_eq!(task(&project, "A")["failure"]["class"], "unparsable_reply");
    assert_eq!(project.read("asked").lines().count(), 3);
}

#[test]
fn a_program_that_stays_answers_over_its_protocol() {
    let answer = json!({ "answer": SECTIONS.replace("\\n", "\n").replace("\\\"", "\"") });
    let program = format!(
        "while read -r line; do case \"$line\" in *'\"type\":\"ask\"'*) \
         printf '%s\\n' '{}';; *bye*) exit 0;; esac; done\n",
        json!({ "type": "answers", "answers": answer })
    );
    let project = with_program("stdio", "stdio_command", &program);
    let config = json!({ "outputSchema": schema() });
    project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
    let ran = project.run("workflow start one.mmd --wait --json");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(result(&ran)["output"], json!({ "score": 7 }));
}

#[test]
fn an_outside_agent_finds_the_question_and_answers_it() {
    for mode in ["stdout", "off"] {
        let project = bare();
        project.write("drawloom.toml", &format!("[ai]\nmode = \"{mode}\"\n"));
        let config = json!({ "prompt": "Score {{input.what}}.", "outputSchema": schema() });
        project.write("one.mmd", &diagram("A[Score]", &[("A", config)]));
        let ran = project.run("workflow start one.mmd --wait what=this");
        assert_eq!(ran.exit, 2, "{mode}: {}", ran.err);
        let listed = document(&project.run("tasks list --mine --json"));
        let id = listed["tasks"][0]["id"].as_str().unwrap().to_owned();
        let shown = document(&project.run(&format!("tasks show {id} --json")));
        assert_eq!(shown["prompt"], "Score this.");
        let wrong = project.run(&format!("tasks answer {id} --by an-agent 'seven'"));
        assert_eq!(wrong.exit, 1, "{}", wrong.err);
        assert!(wrong.err.contains("outputSchema"), "{}", wrong.err);
        let right = project.run(&format!("tasks answer {id} --by an-agent score=7"));
        assert_eq!(right.exit, 0, "{}", right.err);
        let ran = project.run("runs resume last --wait --json");
        assert_eq!(result(&ran)["output"], json!({ "score": 7 }), "{}", ran.err);
    }
}

#[test]
fn a_recorded_run_is_replayed_offline() {
    let script = vec![("", vec![enveloped("SUCCESS", json!("said"), "COMPLETE")])];
    let (project, model) = with_settings(ScriptedFormat::OpenAi, script, "");
    project.write("one.mmd", "graph TD\n A[One] --> B[Two]\n");
    let ran = project.run("workflow start one.mmd --wait --json --record tape");
    assert_eq!(result(&ran)["output"], "said", "{}", ran.err);
    assert_eq!(model.received().len(), 2);
    let settings = project.read("drawloom.toml");
    let settings = settings.replace("api_key = \"sk-scripted-123456\"\n", "");
    project.write("drawloom.toml", &settings);
    let ran = project.run("workflow start one.mmd --wait --json --replay tape");
    assert_eq!(result(&ran)["output"], "said", "{}", ran.err);
    assert_eq!(model.received().len(), 2, "no one is asked");
}
