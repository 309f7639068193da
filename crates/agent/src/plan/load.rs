//! Reading a plan file and the files it names; all problems at once.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use workspace::{RelPath, Workspace};

use super::graph::TaskGraph;
use super::{TaskPlan, beside};
use crate::task::{
    ObjectFields, Task, TaskFileProblem, TaskFileProblems, TaskFileReader, TaskName, nearest,
    read_object,
};

/// The most tasks of one plan.
pub const PLAN_TASKS_MAX: usize = 500;

const KEYS: &[&str] = &["goal", "tasks"];
const REFERENCE_KEYS: &[&str] = &["file_path", "subtask_id", "type", "name", "depends_on"];

/// Reads the plan in a file of the workspace, with the files it names.
pub fn load(workspace: &Workspace, path: &RelPath) -> Result<TaskPlan, TaskFileProblems> {
    let files = |path: &RelPath| workspace.read_text(path);
    let whole = |message: String| TaskFileProblems::whole(path.as_str(), message);
    match files(path) {
        Ok(Some(text)) => read(&text, path, &files),
        Ok(None) => Err(whole("there is no such file; check the path".to_owned())),
        Err(error) => Err(whole(error.to_string())),
    }
}

/// Reads a plan's text. `path` is where it lies, or would lie; `files` gives the text of a task's
/// file.
pub fn read(
    text: &str,
    path: &RelPath,
    files: &dyn Fn(&RelPath) -> Result<Option<String>, workspace::Error>,
) -> Result<TaskPlan, TaskFileProblems> {
    let file = path.to_string();
    crate::task::check_size(text, &file)?;
    let mut source = TaskFileReader::new(&file, text);
    let Some(value) = source.parse() else {
        return Err(TaskFileProblems::none_or(source.problems)
            .err()
            .unwrap_or_else(|| TaskFileProblems::whole(&file, "the file holds no plan")));
    };
    let Some(fields) = ObjectFields::of(&mut source, &value, "", KEYS) else {
        TaskFileProblems::none_or(source.problems)?;
        return Err(TaskFileProblems::whole(&file, "the file holds no plan"));
    };
    let goal = fields.text(&mut source, "goal");
    let mut listed = Vec::new();
    for (place, item) in entries(&mut source, &fields) {
        listed.extend(entry(&mut source, item, &place, (path, files)));
    }
    let mut problems = source.problems;
    let after = resolve(&mut listed, &mut problems);
    let tasks: Vec<Task> = listed.iter().map(|listed| listed.task.clone()).collect();
    let graph = TaskGraph::new(&tasks, &after).map_err(|cycles| {
        problems.extend(cycles.iter().map(|cycle| round(&listed, cycle)));
        problems.clone()
    });
    match graph {
        Ok(graph) => {
            TaskFileProblems::none_or(problems)?;
            Ok(TaskPlan { goal, tasks, graph })
        }
        Err(problems) => {
            TaskFileProblems::none_or(problems)?;
            Err(TaskFileProblems::whole(
                &file,
                "the tasks cannot be ordered",
            ))
        }
    }
}

/// A task with the places at which its problems are reported.
struct ListedTask {
    task: Task,
    id_spot: TaskFileProblem,
    /// For each entry of `depends_on`.
    after_spots: Vec<TaskFileProblem>,
}

impl ListedTask {
    fn of<'t>(
        source: &TaskFileReader<'t>,
        task: Task,
        fields: &ObjectFields<'_, 't>,
    ) -> ListedTask {
        let id_spot = source.spot(
            fields.start_of("subtask_id"),
            &fields.place_of("subtask_id"),
        );
        let spots = spots(source, fields);
        ListedTask {
            task,
            id_spot,
            after_spots: spots,
        }
    }
}

fn spots<'t>(source: &TaskFileReader<'t>, fields: &ObjectFields<'_, 't>) -> Vec<TaskFileProblem> {
    let items = fields.items("depends_on").into_iter();
    items
        .map(|(place, item)| source.spot(item.range().start, &place))
        .collect()
}

fn entries<'v, 't>(
    source: &mut TaskFileReader<'t>,
    fields: &ObjectFields<'v, 't>,
) -> Vec<(String, &'v Value<'t>)> {
    let hint = "list the tasks, each inline or by its `file_path`";
    let items = match fields.value("tasks") {
        Some(Value::Array(_)) => fields.items("tasks"),
        Some(value) => {
            let message = "`tasks` has to be a list";
            source.note(value.range().start, "tasks", message, Some(hint));
            return Vec::new();
        }
        None => {
            source.note(fields.start(), "", "`tasks` is missing", Some(hint));
            return Vec::new();
        }
    };
    let at = fields.start_of("tasks");
    if items.is_empty() {
        source.note(at, "tasks", "the plan has no tasks", Some(hint));
    }
    if items.len() > PLAN_TASKS_MAX {
        let message = format!(
            "the plan has {} tasks, more than PLAN_TASKS_MAX ({PLAN_TASKS_MAX})",
            items.len()
        );
        source.note(at, "tasks", message, Some("make it several plans"));
        return Vec::new();
    }
    items
}

type LoadContext<'a> = (
    &'a RelPath,
    &'a dyn Fn(&RelPath) -> Result<Option<String>, workspace::Error>,
);

fn entry<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
    beside: LoadContext<'_>,
) -> Option<ListedTask> {
    match value {
        Value::Object(object) if object.get("file_path").is_some() => {
            reference(source, value, place, beside)
        }
        _ => {
            let task = read_object(source, value, place)?;
            let keys = crate::task::TASK_KEYS;
            let before = source.problems.len();
            let fields = ObjectFields::of(source, value, place, keys)?;
            // Told by `read_object` already.
            source.problems.truncate(before);
            Some(ListedTask::of(source, task, &fields))
        }
    }
}

/// Reads a task in a file of its own.
fn reference<'t>(
    source: &mut TaskFileReader<'t>,
    value: &Value<'t>,
    place: &str,
    (plan, files): LoadContext<'_>,
) -> Option<ListedTask> {
    let fields = ObjectFields::of(source, value, place, REFERENCE_KEYS)?;
    let (id, kind) = (
        fields.text(source, "subtask_id"),
        fields.text(source, "type"),
    );
    let (name, after) = (
        fields.text(source, "name"),
        fields.texts(source, "depends_on"),
    );
    let file_path = fields.text(source, "file_path")?;
    let at = fields.start_of("file_path");
    let path_place = fields.place_of("file_path");
    let text = match beside(plan, &file_path).map(|path| (files(&path), path)) {
        Ok((Ok(Some(text)), path)) => (path, text),
        Ok((Ok(None), path)) => {
            let message = format!("there is no file `{path}`");
            let hint = "paths are seen from the plan's directory";
            source.note(at, &path_place, message, Some(hint));
            return None;
        }
        Ok((Err(error), _)) => {
            source.note(at, &path_place, error.to_string(), None);
            return None;
        }
        Err(why) => {
            source.note(at, &path_place, why, None);
            return None;
        }
    };
    let mut listed = task_file(source, &text)?;
    let task = &mut listed.task;
    agree(
        source,
        &fields,
        "subtask_id",
        (id.as_deref(), task.subtask_id.as_str()),
    );
    agree(source, &fields, "type", (kind.as_deref(), task.kind.word()));
    task.name = name.or(task.name.take());
    task.depends_on.extend(after);
    listed.after_spots.extend(spots(source, &fields));
    Some(listed)
}

/// Reads the task in a file; its problems go to those of the plan.
fn task_file(
    plan: &mut TaskFileReader<'_>,
    (path, text): &(RelPath, String),
) -> Option<ListedTask> {
    let file = path.to_string();
    if let Err(problems) = crate::task::check_size(text, &file) {
        plan.problems.extend(problems.into_vec());
        return None;
    }
    let mut source = TaskFileReader::new(&file, text);
    let value = source.parse();
    let listed = value.and_then(|value| {
        let task = read_object(&mut source, &value, "")?;
        let before = source.problems.len();
        let fields = ObjectFields::of(&mut source, &value, "", crate::task::TASK_KEYS)?;
        source.problems.truncate(before);
        Some(ListedTask::of(&source, task, &fields))
    });
    plan.problems.extend(source.problems);
    listed
}

/// Checks that the plan and the task's own file say the same.
fn agree<'t>(
    source: &mut TaskFileReader<'t>,
    fields: &ObjectFields<'_, 't>,
    key: &str,
    (here, there): (Option<&str>, &str),
) {
    if let Some(here) = here.filter(|here| *here != there) {
        let message = format!("`{key}` is `{here}` here and `{there}` in the file");
        let hint = "make them the same, or leave it out here";
        source.note(
            fields.start_of(key),
            &fields.place_of(key),
            message,
            Some(hint),
        );
    }
}

/// Returns the indexes of the tasks each one depends on. Reports ids used twice, and replaces names
/// by ids.
fn resolve(listed: &mut [ListedTask], problems: &mut Vec<TaskFileProblem>) -> Vec<Vec<usize>> {
    let mut ids: BTreeMap<TaskName, usize> = BTreeMap::new();
    for (at, item) in listed.iter().enumerate() {
        let id = item.task.subtask_id.clone();
        match ids.get(&id) {
            Some(&first) => problems.push(item.id_spot.saying(
                format!("there are two tasks with the id `{id}`"),
                Some(format!("the other one is {}", told(&listed[first].id_spot))),
            )),
            None => {
                ids.insert(id, at);
            }
        }
    }
    let names = by_name(listed);
    let mut after = Vec::with_capacity(listed.len());
    for item in listed.iter_mut() {
        let mut places = Vec::new();
        for (word, spot) in item.task.depends_on.iter().zip(&item.after_spots) {
            let by_id = TaskName::parse(word)
                .ok()
                .and_then(|id| ids.get(&id).copied());
            match by_id.map_or_else(|| names.get(word.as_str()).cloned(), |at| Some(vec![at])) {
                Some(found) if found.len() == 1 => places.extend(found),
                Some(found) => problems.push(spot.saying(
                    format!("{} tasks are called `{word}`", found.len()),
                    Some("name one of them by its `subtask_id`".to_owned()),
                )),
                None => {
                    let hint = nearest(word, ids.keys().map(TaskName::as_str));
                    let message = format!("there is no task `{word}` to depend on");
                    problems.push(spot.saying(message, Some(hint)));
                }
            }
        }
        after.push(places);
    }
    for (at, places) in after.iter().enumerate() {
        let resolved: Vec<String> = places
            .iter()
            .map(|&place| listed[place].task.subtask_id.to_string())
            .collect();
        listed[at].task.depends_on = resolved;
    }
    after
}

fn by_name(listed: &[ListedTask]) -> BTreeMap<String, Vec<usize>> {
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, item) in listed.iter().enumerate() {
        if let Some(name) = &item.task.name {
            names.entry(name.clone()).or_default().push(at);
        }
    }
    names
}

/// Makes the problem of a cycle.
fn round(listed: &[ListedTask], cycle: &[usize]) -> TaskFileProblem {
    let names: Vec<String> = cycle
        .iter()
        .chain(cycle.first())
        .map(|&task| format!("`{}`", listed[task].task.subtask_id))
        .collect();
    let message = match names.len() {
        2 => format!("{} depends on itself", names[0]),
        _ => format!("these tasks wait for each other: {}", names.join(" → ")),
    };
    let first = &listed[cycle.first().copied().unwrap_or(0)];
    let spot = first.after_spots.first().unwrap_or(&first.id_spot);
    spot.saying(message, Some("remove one of these dependencies".to_owned()))
}

fn told(spot: &TaskFileProblem) -> String {
    format!("at {}:{}:{}", spot.file, spot.line, spot.column)
}
