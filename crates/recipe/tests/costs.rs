//! What hostile texts cost the parsers, in memory and processor time, each in a process of its own.
//!
//! The lists are what a search over all pairs of a vocabulary found to be the most costly.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests measure processes of their own"
)]

use std::process::Command;

use index::{IndexCache, SourceIndex};
use prompt::{AnswerKind, GuardedSyntax, Question, QuestionSource};
use serde_json::json;
use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};
use workspace::{AccessPolicy, Limits, Workspace};

/// Names the case for the child.
const CASE: &str = "DRAWLOOM_TEST_COST";
/// The length of the hostile programs.
const PROGRAM_BYTES: usize = 10_000;
/// What such a program may cost. A release build needs less than a twentieth of this time.
const PROGRAM_CPU_MS_MAX: u64 = 1_000;
const PROGRAM_PEAK_KB_MAX: u64 = 50_000;
/// What a template of 16 MB may cost: a few copies of itself.
const TEMPLATE_CPU_MS_MAX: u64 = 30_000;
const TEMPLATE_PEAK_KB_MAX: u64 = 250_000;

const TYPESCRIPT: [&str; 24] = [
    "a<",
    "a<\n",
    "a<{[",
    "a<(x=",
    "a<[",
    "a<`${",
    "a<!",
    "([a=",
    "({a=",
    "({a=(",
    "(x=",
    "(x=a<",
    "async(a=",
    "async<",
    "a=>([b=",
    "`${a<",
    "@(",
    "<T,>(",
    "a?(b)=>",
    "infer a extends[",
    "a as(",
    "class a extends ",
    "namespace a{",
    "[a<{[",
];
const JSX: [&str; 4] = ["<a b={", "<a>", "<a<", "<a b={([c="];
const RUST: [&str; 12] = [
    "a<", "a::<", "|a|", "#[a(", "a!(", "<a as ", "impl a<", "fn(", "for<'a>", "if let ", "&", "[",
];
const PYTHON: [&str; 10] = [
    "f'{",
    "f\"\"\"{a:",
    "lambda:",
    "lambda a=",
    "with (",
    "match(",
    "case[",
    "(a:=",
    "a[",
    "not ",
];
const EXPRESSIONS: [&str; 6] = ["a<", "([a=", "({a=(", "async(a=", "a=>([b=", "`${"];

/// A text and the parser that reads it.
#[derive(Debug, Clone)]
enum Case {
    Indexed(&'static str, &'static str),
    Answered(GuardedSyntax, &'static str),
    Expression(&'static str),
    Template(&'static str, TemplateLayout),
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for part in TYPESCRIPT {
        cases.push(Case::Indexed("a.ts", part));
        cases.push(Case::Answered(GuardedSyntax::TypeScript, part));
    }
    cases.extend(JSX.map(|part| Case::Indexed("a.tsx", part)));
    cases.extend(JSX.map(|part| Case::Answered(GuardedSyntax::Tsx, part)));
    cases.extend(RUST.map(|part| Case::Answered(GuardedSyntax::Rust, part)));
    cases.extend(RUST.map(|part| Case::Indexed("a.rs", part)));
    cases.extend(PYTHON.map(|part| Case::Answered(GuardedSyntax::Python, part)));
    cases.extend(PYTHON.map(|part| Case::Indexed("a.py", part)));
    cases.extend(EXPRESSIONS.map(Case::Expression));
    for layout in [TemplateLayout::Edge, TemplateLayout::Jig] {
        cases.extend(["\n", "a\n", "\r\n", "x"].map(|line| Case::Template(line, layout)));
    }
    cases
}

impl Case {
    fn text(&self) -> String {
        match self {
            Case::Indexed(_, part) | Case::Answered(_, part) | Case::Expression(part) => {
                part.repeat(PROGRAM_BYTES / part.len())
            }
            Case::Template(line, _) => line.repeat((16 << 20) / line.len()),
        }
    }

    fn run(&self, text: String) {
        match self {
            Case::Indexed(name, _) => {
                let dir = tempfile::tempdir().unwrap();
                std::fs::write(dir.path().join(name), text).unwrap();
                let space = Workspace::open(dir.path(), AccessPolicy::default(), Limits::default())
                    .unwrap();
                SourceIndex::build(&space, &IndexCache::none()).unwrap();
            }
            Case::Answered(syntax, _) => {
                let source = QuestionSource {
                    file: "recipe.yml".to_owned(),
                    line: 1,
                };
                let mut question = Question::new("card", source);
                question.kind = AnswerKind::Code { language: None };
                question.guardrails.syntax = Some(*syntax);
                prompt::check(&question, &json!(text)).ok();
            }
            Case::Expression(_) => {
                expr::evaluate(&text, &json!({}), &expr::Limits::default()).ok();
            }
            Case::Template(_, layout) => {
                let engine = TemplateEngine::new(std::rc::Rc::new(MapLoader::default()));
                let printed = engine.render_text(&RenderInput {
                    name: "main.edge",
                    text: &text,
                    layout: *layout,
                    state: &expr::JsObject::default(),
                    answers: &Default::default(),
                });
                printed.unwrap();
            }
        }
    }

    fn limits(&self) -> (u64, u64) {
        match self {
            Case::Template(..) => (TEMPLATE_CPU_MS_MAX, TEMPLATE_PEAK_KB_MAX),
            _ => (PROGRAM_CPU_MS_MAX, PROGRAM_PEAK_KB_MAX),
        }
    }
}

#[test]
fn hostile_texts_cost_little_time_and_memory() {
    if std::env::var_os(CASE).is_some() {
        return;
    }
    let mut costly = Vec::new();
    for (number, case) in cases().iter().enumerate() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "one_case", "--nocapture"])
            .env(CASE, number.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        let cost = said.lines().find_map(|line| line.split_once("cost: "));
        let (cpu_max, peak_max) = case.limits();
        let numbers: Option<Vec<u64>> = cost.map(|(_, cost)| {
            let numbers = cost.split(' ').map(|number| number.parse().unwrap());
            numbers.collect()
        });
        match numbers.as_deref() {
            Some([cpu, peak]) if *cpu <= cpu_max && *peak <= peak_max => {}
            found => costly.push(format!("{case:?}: {found:?} (ms, kB)")),
        }
    }
    assert!(costly.is_empty(), "{costly:#?}");
}

/// Measures one case in a child of the test above; does nothing otherwise.
#[test]
fn one_case() {
    let Ok(number) = std::env::var(CASE) else {
        return;
    };
    let case = cases().swap_remove(number.parse().unwrap());
    let text = case.text();
    let (cpu, peak) = (cpu_ms(), peak_kb());
    case.run(text);
    println!("\ncost: {} {}", cpu_ms() - cpu, peak_kb() - peak);
}

/// The processor time of all threads so far.
fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let ticks = after_name.split(' ').skip(11).take(2);
    // A tick is ten milliseconds wherever Linux runs.
    ticks.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}
