//! One in-process engine of `cargo xtask bench templates`: `throughput ENGINE TEMPLATE ITEMS OUTPUT`.
//!
//! Prints one JSON line with the fastest and the median render in microseconds. As with edge.js, the
//! template is compiled and the items are in the engine's own values before the clock starts.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a developers' tool is its own door to files and the terminal"
)]

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

const WARM_UP: usize = 300;
const TIMED: usize = 700;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [engine, template, items, output] = words.as_slice() else {
        bail!("usage: throughput ENGINE TEMPLATE ITEMS OUTPUT");
    };
    let source = std::fs::read_to_string(template).context("cannot read the template")?;
    let items: Value = serde_json::from_slice(&std::fs::read(items)?)?;
    let state = json!({ "items": items });
    match engine.as_str() {
        "drawloom" => drawloom(&source, &state, engine, Path::new(output)),
        "minijinja" => minijinja(&source, &state, engine, Path::new(output)),
        _ => bail!("there is no engine `{engine}`"),
    }
}

/// With Edge's white space, so that the output can be compared with edge.js's byte for byte.
fn drawloom(source: &str, state: &Value, engine: &str, output: &Path) -> Result<()> {
    let templates = template::TemplateEngine::new(Rc::new(template::MapLoader::new()));
    let compiled = templates.compile("report.edge", source, template::TemplateLayout::Edge)?;
    let state = state.as_object().context("the state is an object")?;
    let state = expr::JsObject::from_json_map(state);
    let answers = Default::default();
    time(engine, output, || {
        Ok(templates.render(&compiled, &state, &answers)?.text)
    })
}

fn minijinja(source: &str, state: &Value, engine: &str, output: &Path) -> Result<()> {
    let mut environment = minijinja::Environment::new();
    environment.add_filter("fixed", |number: f64, digits: usize| {
        format!("{number:.digits$}")
    });
    environment.add_template("report", source)?;
    let template = environment.get_template("report")?;
    let state = minijinja::Value::from(minijinja::value::Serde(state));
    time(engine, output, || Ok(template.render(state.clone())?))
}

fn time(engine: &str, output: &Path, render: impl Fn() -> Result<String>) -> Result<()> {
    for _ in 0..WARM_UP {
        render()?;
    }
    let mut times_us = Vec::with_capacity(TIMED);
    for _ in 0..TIMED {
        let start = Instant::now();
        let rendered = render()?;
        times_us.push(start.elapsed().as_secs_f64() * 1e6);
        drop(rendered);
    }
    times_us.sort_by(f64::total_cmp);
    let line = json!({ "engine": engine, "min_us": times_us[0], "median_us": times_us[TIMED / 2] });
    println!("{line}");
    std::fs::write(output, render()?).context("cannot write the output")
}
