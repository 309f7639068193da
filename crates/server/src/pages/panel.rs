//! The panel beside a diagram: a form for the step or the edge that is selected, made from the table of
//! settings.

use app::workflows::LoadedWorkflow;
use flow::{DrawingEdit, DrawnKind, SETTING_FIELDS, SettingField, SettingKind};
use maud::{Markup, html};
use mermaid::{Diagram, DiagramEdge};
use serde_json::{Map, Value};

use super::form::{FormData, shown};
use super::parts::line;
use super::samples::RunSample;
use crate::problem::{ApiProblem, ProblemCode};

/// The selection in a diagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PanelChoice {
    #[default]
    Nothing,
    Step(String),
    /// An edge, by its number.
    Edge(usize),
}

impl PanelChoice {
    /// Reads what a form or an address selects.
    pub(super) fn read(form: &FormData) -> PanelChoice {
        let edge = form.text("edge").and_then(|number| number.parse().ok());
        match (form.text("step"), edge) {
            (Some(step), _) => PanelChoice::Step(step.to_owned()),
            (None, Some(edge)) => PanelChoice::Edge(edge),
            (None, None) => PanelChoice::Nothing,
        }
    }

    /// Returns the selection after an edit.
    pub(super) fn after(
        edit: &DrawingEdit,
        step: Option<String>,
        before: PanelChoice,
    ) -> PanelChoice {
        match (edit, step) {
            (DrawingEdit::Delete { .. } | DrawingEdit::Disconnect { .. }, _) => {
                PanelChoice::Nothing
            }
            (_, Some(step)) => PanelChoice::Step(step),
            (_, None) => before,
        }
    }
}

/// The panel for what is selected.
pub(super) fn markup(
    sheet: &LoadedWorkflow,
    choice: &PanelChoice,
    sample: &RunSample,
    people: &[String],
) -> Markup {
    let Ok(document) = mermaid::parse(&sheet.source) else {
        return html! { section class="card" { h2 { "Nothing to draw on" } p class="muted" { "Mend the text first: the problem says where." } } };
    };
    let diagram = document.diagram();
    match choice {
        PanelChoice::Step(step) if diagram.node(step).is_some() => {
            let panel = StepPanel {
                sheet,
                diagram,
                step,
                people,
            };
            panel.markup(sample)
        }
        PanelChoice::Edge(at) => match diagram.edges.get(*at) {
            Some(edge) => edge_panel(diagram, *at, edge),
            None => empty_panel(),
        },
        _ => empty_panel(),
    }
}

fn empty_panel() -> Markup {
    html! {
        section class="card" {
            h2 { "Add a step" }
            (new_step("add", "Add it"))
            p class="hint" { "Or click a step or an edge in the picture. Drag from one step to another to connect them, or to an empty place for a new one." }
            p class="hint" { kbd { "Tab" } " and the arrow keys go through the picture; " kbd { "Enter" } " selects, " kbd { "a" } " adds behind, " kbd { "c" } " connects, " kbd { "F2" } " renames, " kbd { "Delete" } " deletes." }
        }
    }
}

/// The fields of a new step, and the button that draws it.
fn new_step(act: &str, word: &str) -> Markup {
    html! {
        div class="pair" {
            div class="field" { label for="add-name" { "Name" } input id="add-name" name="add-name" placeholder="Review it"; }
            div class="field" { label for="add-kind" { "Done by" } (kinds("add-kind", "add-kind", None)) }
        }
        button formaction="/builder/draw" formnovalidate name="act" value=(act) { (word) }
    }
}

fn kinds(id: &str, name: &str, current: Option<DrawnKind>) -> Markup {
    html! {
        select id=(id) name=(name) {
            @for kind in DrawnKind::ALL { option value=(kind.name()) selected[current == Some(kind)] title=(kind.meaning()) { (kind_word(kind)) } }
        }
    }
}

fn kind_word(kind: DrawnKind) -> &'static str {
    match kind {
        DrawnKind::Machine => "Machine or model",
        DrawnKind::Person => "Person",
        DrawnKind::Decision => "Decision",
        DrawnKind::Foreach => "For each item",
        DrawnKind::Join => "Join",
        DrawnKind::Subflow => "Another workflow",
        DrawnKind::Wait => "Wait",
    }
}

struct StepPanel<'p> {
    sheet: &'p LoadedWorkflow,
    diagram: &'p Diagram,
    step: &'p str,
    people: &'p [String],
}

impl StepPanel<'_> {
    fn markup(&self, sample: &RunSample) -> Markup {
        let source = &self.sheet.source;
        let kind = flow::drawn_kind(source, self.step);
        let settings = flow::settings_of(source, self.step);
        let name = self.name();
        // A person has no handler; one that is written is shown, so that it can go.
        let is_machines = |field: &SettingField| ["handler", "config"].contains(&field.name);
        let fits = |field: &&SettingField| match kind {
            Some(DrawnKind::Person) if is_machines(field) => settings.contains_key(field.name),
            Some(kind) => field.types.contains(&kind.step_type()),
            None => settings.contains_key(field.name) || field.name == "stepType",
        };
        let (common, rare): (Vec<_>, Vec<_>) = SETTING_FIELDS
            .iter()
            .filter(fits)
            .partition(|field| field.is_common || settings.contains_key(field.name));
        html! {
            section class="card" data-selected=(self.step) {
                h2 { (line(&name)) " " code class="muted" { (self.step) } }
                input type="hidden" name="step" value=(self.step);
                input type="hidden" name="old-name" value=(name);
                div class="pair" {
                    div class="field" { label for="new-name" { "Name" } input id="new-name" name="new-name" value=(name); }
                    div class="field" { label for="kind" { "Done by" } (kinds("kind", "kind", kind)) }
                }
                @if let Some(kind) = kind { p class="hint" { (kind.meaning()) "." } }
                @for field in common { (self.field(field, &settings)) }
                details { summary class="small muted" { (rare.len()) " more settings" }
                    @for field in rare { (self.field(field, &settings)) } }
                div class="actions" {
                    button formaction="/builder/draw" formnovalidate name="act" value="apply" { "Put into the text" }
                    button class="quiet" formaction="/builder/draw" formnovalidate name="act" value="delete" { "Delete the step" }
                }
            }
            section class="card" { h2 { "Behind it" } (self.ways()) (new_step("add", "Add a step behind it")) (self.connect()) }
            section class="card" { h2 { "Try it" } (self.trial(sample)) div id="tried" {} }
            (self.references(sample))
            datalist id="people" { @for name in self.people { option value=(name) {} } }
        }
    }

    /// The label without the word that says the kind.
    fn name(&self) -> String {
        let label = self
            .diagram
            .node(self.step)
            .map_or("", |node| node.label.text.as_str());
        let known = ["each", "run", "join", "wait"];
        match label.split_once(':') {
            Some((prefix, rest)) if known.contains(&prefix.trim().to_lowercase().as_str()) => {
                rest.trim().to_owned()
            }
            _ => label.to_owned(),
        }
    }

    fn field(&self, field: &SettingField, settings: &Map<String, Value>) -> Markup {
        let key = format!("p.{}", field.name);
        let id = format!("set-{}", field.name);
        let value = settings.get(field.name).map(shown).unwrap_or_default();
        html! {
            div class="field" {
                input type="hidden" name={ (key) ".shown" } value="1";
                @if field.kind == SettingKind::Flag {
                    label class="flag" for=(id) { input type="checkbox" id=(id) name=(key) value="true" checked[value == "true"]; " " code { (field.name) } }
                } @else {
                    label for=(id) { code { (field.name) } }
                    (self.control(field, &id, &value))
                }
                div class="hint" { (field.meaning) }
            }
        }
    }

    fn control(&self, field: &SettingField, id: &str, value: &str) -> Markup {
        let key = format!("p.{}", field.name);
        let steps = || {
            self.diagram
                .nodes
                .iter()
                .map(|node| node.id.as_str())
                .filter(|id| *id != self.step)
        };
        html! {
            @match field.kind {
                SettingKind::Choice(words) => select id=(id) name=(key) { option value="" { "—" } @for word in words { option value=(word) selected[*word == value] { (word) } } },
                SettingKind::Step => select id=(id) name=(key) { option value="" { "—" } @for step in steps() { option value=(step) selected[step == value] { (step) } } },
                SettingKind::Person => input id=(id) name=(key) list="people" value=(value);,
                SettingKind::Whole => input id=(id) name=(key) type="number" step="1" min="0" value=(value);,
                SettingKind::Number => input id=(id) name=(key) type="number" step="any" value=(value);,
                SettingKind::Prompt => textarea id=(id) name=(key) rows="3" dir="auto" data-references { "\n" (value) },
                SettingKind::Json => textarea id=(id) name=(key) rows="1" class="code" spellcheck="false" data-references { "\n" (pretty(value)) },
                SettingKind::Expression => input id=(id) name=(key) class="mono" value=(value) data-references="bare";,
                SettingKind::Line | SettingKind::Span | SettingKind::Flag => input id=(id) name=(key) value=(value);,
            }
        }
    }

    fn ways(&self) -> Markup {
        let ways = self.diagram.edges.iter().enumerate();
        let ways: Vec<_> = ways.filter(|(_, edge)| edge.from == self.step).collect();
        html! {
            ul class="plain" {
                @if ways.is_empty() { li class="muted small" { "The run ends here." } }
                @for (at, edge) in ways {
                    li { "→ " (line(&label_of(self.diagram, &edge.to))) " " @if !edge.label.text.is_empty() { code { (line(&edge.label.text)) } " " }
                        button class="quiet" type="button" data-edge-button=(at) { "Edit" } }
                }
            }
        }
    }

    fn connect(&self) -> Markup {
        html! {
            div class="pair" {
                div class="field" { label for="to" { "Or connect it to" } select id="to" name="to" {
                    option value="" { "—" }
                    @for node in &self.diagram.nodes { @if node.id != self.step { option value=(node.id) { (line(&node.label.text)) " (" (node.id) ")" } } }
                } }
                div class="field low" { button formaction="/builder/draw" formnovalidate name="act" value="connect" { "Connect" } }
            }
        }
    }

    fn trial(&self, sample: &RunSample) -> Markup {
        let state = Value::Object(sample.state(self.sheet, self.step));
        let written = serde_json::to_string_pretty(&state).unwrap_or_default();
        html! {
            details { summary class="small muted" { "With these values" }
                div class="field" { label for="sample" { "What the run knows by then, as JSON" } textarea id="sample" name="sample" class="code" rows="4" spellcheck="false" { "\n" (written) } }
                p class="hint" { "Of the last run, where there is one." } }
            button formaction="/builder/try" formnovalidate name="act" value="try" { "Try it" }
            p class="hint" { "Fills in its texts, or follows its conditions. No model is asked and nothing is run." }
        }
    }

    fn references(&self, sample: &RunSample) -> Markup {
        html! {
            ul id="references" hidden {
                @for (path, value) in sample.references(self.sheet, self.step) { li data-reference=(path) { (value) } }
            }
        }
    }
}

fn label_of(diagram: &Diagram, id: &str) -> String {
    let node = diagram.node(id);
    node.map_or_else(|| id.to_owned(), |node| node.label.text.clone())
}

/// JSON with room to read.
fn pretty(value: &str) -> String {
    let read: Option<Value> = serde_json::from_str(value).ok();
    let written = read.and_then(|read| serde_json::to_string_pretty(&read).ok());
    written.unwrap_or_else(|| value.to_owned())
}

fn edge_panel(diagram: &Diagram, at: usize, edge: &DiagramEdge) -> Markup {
    let is_decision = diagram
        .node(&edge.from)
        .is_some_and(|node| node.shape.family() == Some("diamond"));
    let (word, hint) = match is_decision {
        true => (
            "Condition",
            "What has to hold, such as output.approved == true; or the word default.",
        ),
        false => (
            "Label",
            "Usually none; onError for the way on when every attempt failed.",
        ),
    };
    html! {
        section class="card" data-selected-edge=(at) {
            h2 { (line(&label_of(diagram, &edge.from))) " → " (line(&label_of(diagram, &edge.to))) }
            input type="hidden" name="edge" value=(at);
            div class="field" { label for="label" { (word) } input id="label" name="label" class="mono" value=(edge.label.text); div class="hint" { (hint) } }
            div class="actions" {
                button formaction="/builder/draw" formnovalidate name="act" value="relabel" { "Put into the text" }
                button class="quiet" formaction="/builder/draw" formnovalidate name="act" value="disconnect" { "Remove the edge" }
            }
        }
        section class="card" { h2 { "Insert a step here" } (new_step("insert", "Insert it")) }
    }
}

/// The settings that a form changes: those that were shown and differ from what is written.
pub(super) fn read(
    form: &FormData,
    written: &Map<String, Value>,
) -> Result<Vec<(String, Option<Value>)>, ApiProblem> {
    let mut changed = Vec::new();
    for field in &SETTING_FIELDS {
        let key = format!("p.{}", field.name);
        if form.get(&format!("{key}.shown")).is_none() {
            continue;
        }
        let value = match form.get(&key).filter(|text| !text.trim().is_empty()) {
            Some(text) => Some(typed(field, text)?),
            None => None,
        };
        if written.get(field.name) != value.as_ref() {
            changed.push((field.name.to_owned(), value));
        }
    }
    Ok(changed)
}

fn typed(field: &SettingField, text: &str) -> Result<Value, ApiProblem> {
    let wrong =
        |why: &str| ApiProblem::new(ProblemCode::Invalid, format!("`{}` {why}", field.name));
    match field.kind {
        SettingKind::Flag => Ok(Value::Bool(text == "true")),
        SettingKind::Whole => text
            .trim()
            .parse::<u64>()
            .map(Value::from)
            .map_err(|_| wrong("is no whole number")),
        SettingKind::Number => text
            .trim()
            .parse::<f64>()
            .map(Value::from)
            .map_err(|_| wrong("is no number")),
        SettingKind::Json => {
            serde_json::from_str(text).map_err(|cause| wrong(&format!("is no JSON: {cause}")))
        }
        SettingKind::Prompt => Ok(Value::from(text)),
        _ => Ok(Value::from(text.trim())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_settings_that_were_shown_and_differ_are_changed() {
        let written = json!({ "prompt": "a", "retry": { "attempts": 2 }, "failFast": true });
        let written = written.as_object().unwrap();
        let check = |form: &str, expected: Option<Vec<(&str, Value)>>| {
            let read = read(&FormData::read(form), written).ok();
            let expected = expected.map(|all| {
                let owned = all.into_iter().map(|(name, value)| {
                    (
                        name.to_owned(),
                        Some(value).filter(|value| !value.is_null()),
                    )
                });
                owned.collect::<Vec<_>>()
            });
            assert_eq!(read, expected, "{form}");
        };
        check("p.prompt=a&p.prompt.shown=1", Some(vec![]));
        check(
            "p.prompt=b&p.prompt.shown=1",
            Some(vec![("prompt", json!("b"))]),
        );
        check("p.prompt=b", Some(vec![]));
        check("p.failFast.shown=1", Some(vec![("failFast", Value::Null)]));
        check(
            "p.retry.shown=1&p.retry=%7B%22attempts%22%3A2%7D",
            Some(vec![]),
        );
        check("p.retry.shown=1&p.retry=%7B", None);
        check(
            "p.maxVisits.shown=1&p.maxVisits=3",
            Some(vec![("maxVisits", json!(3))]),
        );
        check("p.maxVisits.shown=1&p.maxVisits=x", None);
    }
}
