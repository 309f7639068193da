//! The question of a task to a person: buttons with the step's own words, and fields beside them.

use flow::engine::{HoldKind, TaskRow};
use flow::{EdgeCondition, StepId, StepType, Workflow, WorkflowEdge, WorkflowStep};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::form::{FieldKind, FormData, FormField, any_value, shown};
use crate::problem::{ApiProblem, ProblemCode};

/// The most values of an enum that become buttons.
const BUTTONS_MAX: usize = 6;

/// The form of one task.
#[derive(Debug, Default)]
pub(super) struct AnswerForm {
    buttons: Vec<AnswerButton>,
    fields: Vec<FormField>,
    /// The answer is one text, or JSON.
    is_free: bool,
    /// The output that is there already can be accepted.
    can_accept: bool,
    /// The output that is there already, to be edited.
    proposal: Option<Value>,
}

/// A button that answers.
#[derive(Debug, PartialEq)]
struct AnswerButton {
    label: String,
    /// The value that it gives the workflow.
    hint: String,
    /// The property that it sets; the whole answer where it has none.
    property: Option<String>,
    value: Value,
}

impl AnswerForm {
    /// Finds out what a task asks for, from its schema or from the conditions behind it.
    pub(super) fn of(workflow: &Workflow, task: &TaskRow) -> AnswerForm {
        let Some(step) = workflow.step(&task.id.step) else {
            return AnswerForm {
                is_free: true,
                ..AnswerForm::default()
            };
        };
        let mut form = match &step.config.output_schema {
            Some(schema) => AnswerForm::of_schema(schema),
            None => AnswerForm::of_edges(workflow, step),
        };
        let kind = task.hold.as_ref().map(|hold| hold.kind);
        form.can_accept = task.output.is_some() && kind == Some(HoldKind::Review);
        form.proposal = task.output.clone();
        form.fill_in();
        form
    }

    /// Puts what is proposed into the fields, to be edited. What no field can show is edited as JSON.
    fn fill_in(&mut self) {
        let Some(proposal) = &self.proposal else {
            return;
        };
        let Value::Object(proposed) = proposal else {
            self.is_free |= self.buttons.is_empty();
            return;
        };
        for field in &mut self.fields {
            if let Some(value) = proposed.get(&field.name) {
                field.default = Some(value.clone());
                field.is_proposed = true;
            }
        }
        self.is_free |= self.fields.is_empty() && self.buttons.is_empty();
    }

    /// Tells whether a button gives what is proposed.
    fn is_proposed(&self, button: &AnswerButton) -> bool {
        let proposed = self
            .proposal
            .as_ref()
            .map(|proposal| match &button.property {
                Some(name) => &proposal[name],
                None => proposal,
            });
        proposed == Some(&button.value)
    }

    fn of_schema(schema: &Value) -> AnswerForm {
        if let Some(buttons) = buttons_of(None, schema) {
            return AnswerForm {
                buttons,
                ..AnswerForm::default()
            };
        }
        let Some(mut fields) = FormField::all_of(schema) else {
            return AnswerForm {
                is_free: true,
                ..AnswerForm::default()
            };
        };
        let of_field =
            |field: &FormField| buttons_of(Some(&field.name), &schema["properties"][&field.name]);
        let at = fields.iter().position(|field| of_field(field).is_some());
        let buttons = match at {
            Some(at) => of_field(&fields.remove(at)).unwrap_or_default(),
            None => Vec::new(),
        };
        AnswerForm {
            buttons,
            fields,
            ..AnswerForm::default()
        }
    }

    /// The buttons that the conditions of the next decision ask for, such as `output.approved == true`.
    fn of_edges(workflow: &Workflow, step: &WorkflowStep) -> AnswerForm {
        let next = workflow.outgoing(&step.id).next().map(|edge| &edge.to);
        let decision = next.and_then(|next| workflow.step(next));
        let Some(decision) = decision.filter(|next| next.step_type == StepType::Decision) else {
            return AnswerForm {
                is_free: true,
                ..AnswerForm::default()
            };
        };
        let edges: Vec<&WorkflowEdge> = workflow.outgoing(&decision.id).collect();
        let conditions = edges.iter().filter_map(|edge| match &edge.when {
            EdgeCondition::Condition(condition) => compared(condition),
            _ => None,
        });
        let asked: Vec<(Option<String>, Value)> = conditions.collect();
        let given = |edge: &WorkflowEdge| match &edge.when {
            EdgeCondition::Condition(condition) => compared(condition),
            EdgeCondition::Default => otherwise(&asked, &edge.to),
            _ => None,
        };
        let mut buttons: Vec<AnswerButton> = Vec::new();
        for edge in edges {
            let target = workflow
                .step(&edge.to)
                .map_or(edge.to.as_str(), |to| &to.name);
            if let Some((property, value)) = given(edge) {
                let hint = format!(
                    "{} = {}",
                    property.as_deref().unwrap_or("answer"),
                    shown(&value)
                );
                buttons.push(AnswerButton {
                    label: target.to_owned(),
                    hint,
                    property,
                    value,
                });
            }
        }
        let is_free = buttons.is_empty();
        let mut fields = Vec::new();
        if buttons.iter().any(|button| button.property.is_some()) {
            fields.push(FormField {
                title: "Comment".to_owned(),
                ..FormField::of("comment", &json!({"type": "string"}), false)
            });
        }
        AnswerForm {
            buttons,
            fields,
            is_free,
            ..AnswerForm::default()
        }
    }

    /// The fields and buttons. `typed` is what was sent before, where the answer did not fit.
    pub(super) fn markup(&self, typed: &FormData) -> Markup {
        let there = self.proposal.as_ref().map(shown).unwrap_or_default();
        let is_edited = self.can_accept && (self.is_free || self.buttons.is_empty());
        html! {
            @for field in &self.fields { (field.markup(typed)) }
            @if self.is_free {
                div class="field" {
                    label for="answer" { "Your answer" }
                    textarea id="answer" name="answer" rows="3" dir="auto" data-proposed=[self.can_accept.then_some(&there)] { "\n" (typed.get("answer").unwrap_or(&there)) }
                    div class="hint" { "A text; or JSON, where it begins like some." }
                }
            }
            div class="actions" {
                @if self.can_accept { button class="primary" name="act" value="accept" formnovalidate { "Accept as it is" } }
                @if is_edited { button name="act" value="answer" { "Answer with my changes" } }
                @else if self.buttons.is_empty() { button class="primary" name="act" value="answer" { "Answer" } }
                @for (at, button) in self.buttons.iter().enumerate() {
                    button class=[(at == 0 && !self.can_accept).then_some("primary")] name="act"
                        value={ "button-" (at) } title=(button.hint) { (button.label) @if self.is_proposed(button) { " " span class="small" { "(proposed)" } } }
                }
            }
        }
    }

    /// The answer that a form gives. What is proposed and has no field stays.
    pub(super) fn answer(&self, form: &FormData) -> Result<Value, ApiProblem> {
        let act = form.get("act").unwrap_or_default();
        let button = act
            .strip_prefix("button-")
            .and_then(|at| at.parse::<usize>().ok());
        let button = button.and_then(|at| self.buttons.get(at));
        if button.is_none() && self.is_free {
            return free(form);
        }
        if let Some(button) = button.filter(|button| button.property.is_none()) {
            return Ok(button.value.clone());
        }
        let mut answer = match &self.proposal {
            Some(Value::Object(proposed)) => proposed.clone(),
            _ => Map::new(),
        };
        for field in &self.fields {
            match field.read(form)? {
                Some(value) => answer.insert(field.name.clone(), value),
                None => answer.remove(&field.name),
            };
        }
        if let Some((property, value)) =
            button.and_then(|button| Some((button.property.clone()?, button.value.clone())))
        {
            answer.insert(property, value);
        }
        Ok(Value::Object(answer))
    }
}

fn free(form: &FormData) -> Result<Value, ApiProblem> {
    let text = form.get("answer").unwrap_or_default();
    if text.trim().is_empty() {
        return Err(ApiProblem::new(ProblemCode::Invalid, "the answer is empty"));
    }
    any_value(text).map_err(|why| {
        ApiProblem::new(
            ProblemCode::Invalid,
            format!("the answer cannot be read: {why}"),
        )
    })
}

/// The buttons for a short enum or a yes and no.
fn buttons_of(property: Option<&str>, schema: &Value) -> Option<Vec<AnswerButton>> {
    let owned = property.map(str::to_owned);
    let button = |label: String, value: Value| AnswerButton {
        hint: format!("{} = {}", property.unwrap_or("answer"), shown(&value)),
        label,
        property: owned.clone(),
        value,
    };
    let kind = FormField::of("", schema, true).kind;
    match kind {
        FieldKind::Choice(values) if (1..=BUTTONS_MAX).contains(&values.len()) => Some(
            values
                .into_iter()
                .map(|value| button(shown(&value), value))
                .collect(),
        ),
        FieldKind::Flag => {
            let (yes, no) = match property {
                Some(name) => (name.to_owned(), format!("not {name}")),
                None => ("yes".to_owned(), "no".to_owned()),
            };
            Some(vec![
                button(yes, Value::Bool(true)),
                button(no, Value::Bool(false)),
            ])
        }
        _ => None,
    }
}

/// Reads the two sides of `output.approved == true`: the property and the value.
fn compared(condition: &str) -> Option<(Option<String>, Value)> {
    let (left, right) = condition
        .split_once("===")
        .or_else(|| condition.split_once("=="))?;
    let property = match left.trim() {
        "output" => None,
        path => {
            let name = path.strip_prefix("output.")?;
            let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
            Some(name.to_owned()).filter(|_| is_name)?.into()
        }
    };
    let right = right.trim();
    let quoted = right
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .filter(|text| !text.contains('\''));
    let value = match quoted {
        Some(text) => Value::from(text),
        None => serde_json::from_str(right).ok()?,
    };
    Some((property, value))
}

/// The answer that leads to the default edge: the other one of yes and no, or the name of its step, which no
/// condition asks for.
fn otherwise(asked: &[(Option<String>, Value)], to: &StepId) -> Option<(Option<String>, Value)> {
    let (property, first) = asked.first()?;
    if asked.iter().any(|(other, _)| other != property) {
        return None;
    }
    let value = match (asked.len(), first.as_bool()) {
        (1, Some(yes)) => Value::Bool(!yes),
        (_, Some(_)) => return None,
        (_, None) => Value::from(to.as_str()),
    };
    let is_other = asked.iter().all(|(_, taken)| *taken != value);
    is_other.then(|| (property.clone(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_compare_an_output_become_buttons() {
        for (condition, expected) in [
            (
                "output.approved == true",
                Some((Some("approved".to_owned()), json!(true))),
            ),
            (
                "output.word === 'yes'",
                Some((Some("word".to_owned()), json!("yes"))),
            ),
            ("output == \"ship\"", Some((None, json!("ship")))),
            ("output.score >= 80", None),
            ("output.a.b == 1", None),
            ("input.x == 1", None),
            ("output.a == b", None),
        ] {
            assert_eq!(compared(condition), expected, "{condition}");
        }
    }

    #[test]
    fn every_way_of_the_next_decision_has_a_button() {
        let check = |edges: &str, expected: &[(&str, Value)]| {
            let text = format!("graph TD\n A(Ask) --> B{{Which?}}\n{edges}");
            let workflow = flow::parse(&text).unwrap();
            let step = workflow.step(&"A".into()).unwrap();
            let form = AnswerForm::of_edges(&workflow, step);
            let buttons = form.buttons.iter();
            let buttons: Vec<(&str, Value)> = buttons
                .map(|button| (button.label.as_str(), button.value.clone()))
                .collect();
            assert_eq!(buttons, expected, "{edges}");
        };
        check(
            " B -->|default| C[Publish]\n B -->|\"output.next == 'D'\"| D[Stop]\n",
            &[("Publish", json!("C")), ("Stop", json!("D"))],
        );
        check(
            " B -->|\"output.ok == true\"| C[Yes]\n B -->|default| D[No]\n",
            &[("Yes", json!(true)), ("No", json!(false))],
        );
        check(
            " B -->|\"output.a == 1\"| C[One]\n B -->|\"output.b == 1\"| D[Two]\n B -->|default| E[Three]\n",
            &[("One", json!(1)), ("Two", json!(1))],
        );
    }

    #[test]
    fn a_schema_becomes_buttons_and_fields() {
        let schema = json!({
            "properties": {"note": {"type": "string"}, "verdict": {"enum": ["approve", "reject"]}},
            "required": ["verdict"],
        });
        let form = AnswerForm::of_schema(&schema);
        let typed = FormData::read("act=button-1&f.note=too+long");
        assert_eq!(
            form.answer(&typed).unwrap(),
            json!({"note": "too long", "verdict": "reject"})
        );
        let drawn = form.markup(&FormData::default()).into_string();
        assert!(
            drawn.contains(">approve<") && drawn.contains("name=\"f.note\""),
            "{drawn}"
        );
    }

    #[test]
    fn a_proposal_is_in_the_fields_and_keeps_what_has_none() {
        let schema = json!({
            "properties": {"note": {"type": "string"}, "verdict": {"enum": ["approve", "reject"]}},
            "required": ["verdict"],
        });
        let mut form = AnswerForm {
            can_accept: true,
            proposal: Some(json!({"note": "fine", "verdict": "reject", "score": 61})),
            ..AnswerForm::of_schema(&schema)
        };
        form.fill_in();
        let drawn = form.markup(&FormData::default()).into_string();
        for part in [
            "fine</textarea>",
            "Accept as it is",
            "reject <span class=\"small\">(proposed)",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        let typed = FormData::read("act=button-0&f.note=better");
        assert_eq!(
            form.answer(&typed).unwrap(),
            json!({"note": "better", "verdict": "approve", "score": 61})
        );
    }

    #[test]
    fn a_free_answer_is_text_or_json() {
        let form = AnswerForm {
            is_free: true,
            ..AnswerForm::default()
        };
        let check = |text: &str, expected: Option<Value>| {
            assert_eq!(form.answer(&FormData::read(text)).ok(), expected, "{text}");
        };
        check("act=answer&answer=fine", Some(json!("fine")));
        check("act=answer&answer=%7B%22a%22%3A1%7D", Some(json!({"a": 1})));
        check("act=answer&answer=%7B", None);
        check("act=answer&answer=+", None);
    }
}
