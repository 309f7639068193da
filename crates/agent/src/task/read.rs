//! Reading a task file.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::field::{self, ObjectFields, TaskFileReader, nearest, word};
use super::{
    Criterion, DescribeCriterion, FileCriterion, ModelPreference, RunCriterion, Task,
    TaskFileProblems, TaskKind, TaskName,
};

/// The largest task file.
pub const TASK_BYTES_MAX: usize = 1024 * 1024;

pub(crate) const TASK_KEYS: &[&str] = &[
    "subtask_id",
    "task_id",
    "name",
    "type",
    "description",
    "instructions",
    "input_artifacts",
    "output_artifacts",
    "constraints",
    "validation_criteria",
    "depends_on",
    "model_preference",
    "raw_text",
];

/// Reads a task; `file` is what problems call it.
pub fn read(text: &str, file: &str) -> Result<Task, TaskFileProblems> {
    check_size(text, file)?;
    let mut source = TaskFileReader::new(file, text);
    let task = match source.parse() {
        Some(value) => read_object(&mut source, &value, ""),
        None => None,
    };
    TaskFileProblems::none_or(source.problems)?;
    task.ok_or_else(|| TaskFileProblems::whole(file, "the file holds no task"))
}

pub(crate) fn check_size(text: &str, file: &str) -> Result<(), TaskFileProblems> {
    if text.len() > TASK_BYTES_MAX {
        let bytes = text.len();
        return Err(TaskFileProblems::whole(
            file,
            format!("the file has {bytes} bytes, more than TASK_BYTES_MAX ({TASK_BYTES_MAX})"),
        ));
    }
    Ok(())
}

/// Reads the task at a place of a document; its problems are noted in the source.
pub(crate) fn read_object<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
) -> Option<Task> {
    let fields = ObjectFields::of(source, value, place, TASK_KEYS)?;
    let id = id(source, &fields);
    let kind = kind(source, &fields);
    let task = Task {
        subtask_id: id.clone().unwrap_or(TaskName("unnamed".to_owned())),
        task_id: fields.text(source, "task_id"),
        name: fields.text(source, "name"),
        kind: kind.unwrap_or(TaskKind::NoOp),
        description: fields.text(source, "description").unwrap_or_default(),
        instructions: fields.texts(source, "instructions"),
        input_artifacts: fields.texts(source, "input_artifacts"),
        output_artifacts: fields.paths(source, "output_artifacts"),
        constraints: fields.texts(source, "constraints"),
        validation_criteria: criteria(source, &fields),
        depends_on: fields.texts(source, "depends_on"),
        model_preference: model_preference(source, &fields),
        raw_text: fields
            .text(source, "raw_text")
            .or_else(|| Some(source.slice(value).to_owned())),
    };
    check(source, &fields, &task);
    id.and(kind).map(|_| task)
}

fn id<'t>(source: &mut TaskFileReader<'t>, fields: &ObjectFields<'_, 't>) -> Option<TaskName> {
    let hint = "give the task a short name of its own, such as `add-login`";
    let text = fields.required(source, "subtask_id", hint)?;
    match TaskName::parse(&text) {
        Ok(id) => Some(id),
        Err(why) => {
            let (at, place) = (fields.start_of("subtask_id"), fields.place_of("subtask_id"));
            source.note(at, &place, why, None);
            None
        }
    }
}

pub(crate) fn kind<'t>(
    source: &mut TaskFileReader<'t>,
    fields: &ObjectFields<'_, 't>,
) -> Option<TaskKind> {
    let words = TaskKind::ALL.map(TaskKind::word);
    let hint = format!("say what kind of task it is: {}", words.join(", "));
    let word = fields.required(source, "type", &hint)?;
    let kind = TaskKind::from_word(&word);
    if kind.is_none() {
        let hint = match kind_synonym(&word) {
            Some(kind) => format!("use `{}`", kind.word()),
            None => nearest(&word, words.into_iter()),
        };
        let message = format!("there is no task type `{word}`");
        source.note(
            fields.start_of("type"),
            &fields.place_of("type"),
            message,
            Some(&hint),
        );
    }
    kind
}

/// Kinds that planners like to invent.
fn kind_synonym(word: &str) -> Option<TaskKind> {
    Some(match word {
        "test_generation" | "file_edit" | "file_io" | "documentation" | "coding" | "refactor" => {
            TaskKind::CodeGeneration
        }
        "analysis" | "ai_assistance" | "research" => TaskKind::AiInteraction,
        "test" | "testing" | "verify" => TaskKind::Validation,
        _ => return None,
    })
}

/// Checks rules that span several keys.
fn check<'t>(source: &mut TaskFileReader<'t>, fields: &ObjectFields<'_, 't>, task: &Task) {
    let says_nothing = task.description.is_empty() && task.instructions.is_empty();
    let asks_a_model = matches!(
        task.kind,
        TaskKind::CodeGeneration | TaskKind::AiInteraction
    );
    if asks_a_model && says_nothing && fields.value("instructions").is_none() {
        let message = format!(
            "a task of type `{}` needs to say what to do",
            task.kind.word()
        );
        let hint = "add `description` or `instructions`";
        source.note(fields.start(), fields.place(), message, Some(hint));
    }
    let no_output = fields.value("output_artifacts").is_none();
    if task.kind == TaskKind::Planning && no_output {
        let message = "a task of type `planning` needs to say where the plan goes";
        let hint = "add `output_artifacts` with the plan's file";
        source.note(fields.start(), fields.place(), message, Some(hint));
    }
    for (index, path) in task.output_artifacts.iter().enumerate() {
        if path.is_root() {
            let place = format!("{}[{index}]", fields.place_of("output_artifacts"));
            let at = fields.start_of("output_artifacts");
            source.note(at, &place, "the project itself is no output artifact", None);
        }
    }
}

fn criteria<'t>(source: &mut TaskFileReader<'t>, fields: &ObjectFields<'_, 't>) -> Vec<Criterion> {
    let items = fields.items("validation_criteria").into_iter();
    items
        .filter_map(|(place, item)| criterion(source, item, &place))
        .collect()
}

const CRITERION_HINT: &str = "a criterion is {\"run\": COMMAND}, {\"file_exists\": PATH}, \
                              {\"describe\": TEXT} or a text";

fn criterion<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
) -> Option<Criterion> {
    let Value::Object(object) = value else {
        if let Value::StringLit(_) = value {
            return field::text(source, value, place).map(Criterion::Text);
        }
        let message = format!("this is {}, and a criterion was expected", word(value));
        source.note(value.range().start, place, message, Some(CRITERION_HINT));
        return None;
    };
    let kinds = ["run", "file_exists", "describe"];
    let mut said = kinds.into_iter().filter(|kind| object.get(kind).is_some());
    let (kind, another) = (said.next(), said.next());
    if let (Some(kind), Some(another)) = (kind, another) {
        let message = format!("a criterion has `{kind}` or `{another}`, not both");
        source.note(
            object.range.start,
            place,
            message,
            Some("make it two criteria"),
        );
        return None;
    }
    match kind {
        Some("run") => run(source, value, place).map(Criterion::Run),
        Some("file_exists") => {
            let fields = ObjectFields::of(source, value, place, &["file_exists"])?;
            let file_exists = fields.path(source, "file_exists")?;
            Some(Criterion::FileExists(FileCriterion { file_exists }))
        }
        Some(_) => {
            let fields = ObjectFields::of(source, value, place, &["describe"])?;
            let describe = fields.text(source, "describe")?;
            Some(Criterion::Describe(DescribeCriterion { describe }))
        }
        None => {
            let before = source.problems.len();
            ObjectFields::of(
                source,
                value,
                place,
                &["run", "cwd", "timeout", "file_exists", "describe"],
            )?;
            if source.problems.len() == before {
                let message = "this criterion says nothing to check";
                source.note(object.range.start, place, message, Some(CRITERION_HINT));
            }
            None
        }
    }
}

fn run<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
) -> Option<RunCriterion> {
    let fields = ObjectFields::of(source, value, place, &["run", "cwd", "timeout"])?;
    let (cwd, timeout) = (fields.path(source, "cwd"), fields.count(source, "timeout"));
    let run = fields.text(source, "run")?;
    Some(RunCriterion { run, cwd, timeout })
}

fn model_preference<'t>(
    source: &mut TaskFileReader<'t>,
    fields: &ObjectFields<'_, 't>,
) -> Option<ModelPreference> {
    let value = fields.value("model_preference")?;
    let place = fields.place_of("model_preference");
    let keys = ["provider", "model", "temperature", "max_tokens"];
    let fields = ObjectFields::of(source, value, &place, &keys)?;
    let max_tokens = fields.count(source, "max_tokens");
    Some(ModelPreference {
        provider: fields.text(source, "provider"),
        model: fields.text(source, "model"),
        temperature: fields.number(source, "temperature", (0.0, 2.0)),
        max_tokens: max_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
    })
}
