//! The schema that a provider is asked to enforce.
//!
//! It only helps: the answers are checked in any case. So it leaves out keywords that providers
//! refuse and details the model would only waste words on.

use prompt::{DocumentInput, Questionnaire, REQUEST_KEY, document};
use serde_json::{Map, Value, json};

/// Requires all keys: strict modes demand it, and optional answers may be `null`.
pub(crate) fn native(questionnaire: &Questionnaire) -> Value {
    let mut whole = document::json(questionnaire, &DocumentInput::default());
    let mut schema = whole["schema"].take();
    let properties = match schema["properties"].take() {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    let properties: Map<String, Value> = properties
        .into_iter()
        .filter(|(key, _)| key != REQUEST_KEY)
        .map(|(key, mut own)| {
            let question = questionnaire.get(&key);
            // A schema that the author wrote is sent unchanged.
            if question.is_some_and(|question| question.schema.is_none()) {
                simplify(&mut own);
            }
            (key, own)
        })
        .collect();
    let keys: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "required": keys,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Not every provider supports these keywords; the check after the answer enforces them.
const REFUSED: [&str; 4] = ["uniqueItems", "minItems", "maxItems", "pattern"];

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| !REFUSED.contains(&name.as_str()));
            let all_text = |values: &Value| {
                values
                    .as_array()
                    .is_some_and(|values| values.iter().all(Value::is_string))
            };
            if fields.get("enum").is_some_and(all_text) {
                fields.insert("type".to_owned(), json!("string"));
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use prompt::{AnswerKind, Question, QuestionSource, Questionnaire};
    use serde_json::json;

    use super::native;

    #[test]
    fn what_providers_refuse_is_left_out_and_all_keys_are_required() {
        let mut asked = Questionnaire::new();
        let place = || QuestionSource {
            file: "a.jig".into(),
            line: 1,
        };
        let mut pick = Question::new("pick", place());
        pick.kind = AnswerKind::Pick {
            from: vec![json!("a"), json!("b")],
        };
        pick.required = false;
        let mut own = Question::new("own", place());
        own.schema = Some(json!({ "type": "array", "minItems": 2 }));
        asked.ask(pick).unwrap();
        asked.ask(own).unwrap();
        assert_eq!(
            native(&asked),
            json!({
                "type": "object",
                "required": ["pick", "own"],
                "properties": {
                    "pick": { "anyOf": [
                        { "type": "array", "items": { "enum": ["a", "b"], "type": "string" } },
                        { "type": "null" },
                    ] },
                    "own": { "type": "array", "minItems": 2 },
                },
                "additionalProperties": false,
            })
        );
    }
}
