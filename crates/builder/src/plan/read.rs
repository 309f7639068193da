//! Reads a plan out of a model's reply, wherever it is in the text, or from a person's file.

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{BuildPlan, PlanProblems, schema};

/// The most problems reported for one plan.
const PROBLEMS_MAX: usize = 10;

/// Reads the plan in a model's reply: all of it, the last fenced block, or from the first brace on.
///
/// Comments, trailing commas and `snake_case` names are accepted, and unknown keys are dropped.
/// Missing or wrong values are returned as problems.
pub fn read_reply(reply: &str) -> Result<BuildPlan, PlanProblems> {
    let text = prompt::reply::object_in(reply);
    let mut value = parse(text).map_err(|why| {
        PlanProblems(vec![format!(
            "the reply contains no readable plan ({why}); answer with the JSON object alone"
        )])
    })?;
    settle(&mut value);
    from_value(value)
}

/// Reads a plan that a person wrote. Unknown keys are problems: they may be typing errors.
pub fn read(text: &str) -> Result<BuildPlan, PlanProblems> {
    let value = parse(text).map_err(|why| PlanProblems(vec![format!("it is not JSON: {why}")]))?;
    from_value(value)
}

fn from_value(value: Value) -> Result<BuildPlan, PlanProblems> {
    let problems = misfits(&value);
    if !problems.is_empty() {
        return Err(PlanProblems(problems));
    }
    serde_json::from_value(value).map_err(|why| PlanProblems(vec![why.to_string()]))
}

/// Lists the violations of the schema, each with its place.
fn misfits(value: &Value) -> Vec<String> {
    let Ok(validator): Result<Validator, _> = jsonschema::validator_for(&schema()) else {
        return vec![
            "the schema of plans is broken. This is a defect; please report it.".to_owned(),
        ];
    };
    let errors = validator.iter_errors(value).take(PROBLEMS_MAX);
    errors
        .map(|error| {
            let place = error.instance_path().to_string();
            if place.ends_with("/from") {
                return format!("`{place}`: only a `rename` has a `from`; leave it out");
            }
            if place.is_empty() {
                error.to_string()
            } else {
                format!("`{place}`: {error}")
            }
        })
        .collect()
}

fn parse(text: &str) -> Result<Value, String> {
    let options = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        ..jsonc_parser::ParseOptions::default()
    };
    match jsonc_parser::parse_to_serde_value::<Option<Value>>(text, &options) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err("it is empty".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// Brings a model's spelling into the schema's shape, if there is no doubt about it.
fn settle(value: &mut Value) {
    // Some models wrap the plan: {"plan": {…}}.
    let inner = value
        .as_object_mut()
        .filter(|object| !object.contains_key("files"))
        .and_then(|object| object.get_mut("plan"))
        .map(Value::take);
    if let Some(inner) = inner {
        *value = inner;
    }
    let Some(plan) = value.as_object_mut() else {
        return;
    };
    rename(plan, "task_type", "taskType");
    rename(plan, "context_files", "contextFiles");
    if plan.get("contextFiles").is_some_and(Value::is_null) {
        plan.remove("contextFiles");
    }
    keep(plan, &["summary", "taskType", "files", "contextFiles"]);
    let files = plan.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        for old in ["old_path", "oldPath", "renamed_from"] {
            rename(file, old, "from");
        }
        if file.get("action").and_then(Value::as_str) != Some("rename") {
            file.remove("from");
        }
        keep(file, &["path", "action", "from", "description"]);
    }
}

fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if !object.contains_key(new)
        && let Some(value) = object.remove(old)
    {
        object.insert(new.to_owned(), value);
    }
}

fn keep(object: &mut Map<String, Value>, keys: &[&str]) {
    object.retain(|key, _| keys.contains(&key.as_str()));
}

#[cfg(test)]
mod tests {
    use super::{read, read_reply};

    const PLAN: &str = r#"{"summary": "Limits logins.", "taskType": "new-resource",
        "files": [{"path": "src/limit.ts", "action": "create", "description": "The limiter."}],
        "contextFiles": ["src/login.ts"]}"#;

    #[test]
    fn a_plan_is_found_however_a_model_puts_it() {
        let bare = read_reply(PLAN).unwrap();
        let check = |reply: &str| {
            assert_eq!(read_reply(reply).as_ref(), Ok(&bare), "{reply}");
        };
        check(&format!("```json\n{PLAN}\n```"));
        check(&format!(
            "Sure!\n```\nls\n```\n```json\n{PLAN}\n```\nGood luck."
        ));
        check(&format!("Here it is: {PLAN} That is all."));
        check(&format!(r#"{{"plan": {PLAN}}}"#));
        check(
            &PLAN
                .replace("taskType", "task_type")
                .replace("contextFiles", "context_files"),
        );
        check(&PLAN.replace(
            "\"The limiter.\"}",
            "\"The limiter.\", \"type\": \"service\",}, /* new */",
        ));
        check(&PLAN.replace("src/limit.ts", "./src//limit.ts"));
    }

    #[test]
    fn mistakes_in_a_plan_are_reported_with_their_place() {
        let check = |reply: &str, words: &[&str]| {
            let problems = read_reply(reply).unwrap_err().to_string();
            for word in words {
                assert!(problems.contains(word), "{word} is not in: {problems}");
            }
        };
        check("I cannot do that.", &["no readable plan"]);
        check("", &["no readable plan"]);
        check(&PLAN[..60], &["no readable plan"]);
        check(
            &PLAN.replace("\"summary\": \"Limits logins.\",", ""),
            &["summary"],
        );
        check(
            &PLAN.replace("new-resource", "feature"),
            &["`/taskType`", "feature"],
        );
        check(
            &PLAN.replace("\"create\"", "\"touch\""),
            &["`/files/0/action`"],
        );
        check(&PLAN.replace("\"create\"", "\"rename\""), &["from"]);
        check(&PLAN.replace("src/login.ts", ""), &["`/contextFiles/0`"]);
        check(&PLAN.replace("src/limit.ts", "../limit.ts"), &["`..`"]);
        check(
            &PLAN.replace("src/limit.ts", "/etc/passwd"),
            &["is absolute"],
        );
        let empty = r#"{"summary": "s", "taskType": "refactor", "files": []}"#;
        check(empty, &["`/files`"]);
    }

    #[test]
    fn a_persons_plan_has_no_unknown_keys() {
        assert!(read(PLAN).is_ok());
        let problems = read(&PLAN.replace("contextFiles", "contextfiles")).unwrap_err();
        assert!(problems.to_string().contains("contextfiles"), "{problems}");
        let slip = PLAN.replace(
            "\"action\": \"create\"",
            "\"action\": \"create\", \"from\": \"a\"",
        );
        let problems = read(&slip).unwrap_err().to_string();
        assert!(
            problems.contains("only a `rename` has a `from`"),
            "{problems}"
        );
    }

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let plan = read(PLAN).unwrap();
        assert_eq!(read(&plan.to_json()).unwrap(), plan);
    }
}
