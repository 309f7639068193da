//! Generators of hygen as a kit: what they write is compared with what hygen itself wrote.
//!
//! A folder of `tests/hygen` is one case: `_templates` and the project before, how hygen was called,
//! and in `after` what it made, recorded by `record.sh`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail loudly"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use hygen::{HygenConversion, convert};
use indexmap::IndexMap;
use recipe::{
    GivenValues, OnConflict, RecipeRunOutcome, RecipeRunRequest, RecipeTrust, SilentHost, load, run,
};
use serde_json::Value;
use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};
use workspace::Root;

type Files = BTreeMap<String, String>;

/// Converts the templates of a case, runs the recipe, and compares the project with hygen's.
#[track_caller]
fn check(case: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hygen")
        .join(case);
    let asked: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("case.json")).unwrap()).unwrap();
    let templates: Vec<(String, String)> = read_all(&dir.join("_templates")).into_iter().collect();
    let kit = convert(&templates, "hygen");
    let warnings: Vec<Value> = kit
        .warnings
        .iter()
        .map(|warning| format!("{}:{}: {}", warning.file, warning.line, warning.message).into())
        .collect();
    assert_eq!(Value::Array(warnings), asked["warnings"], "{case}");
    let project = tempfile::tempdir().unwrap();
    write_all(project.path(), &read_all(&dir.join("before")));
    let folder = project.path().join(".drawloom/kits/hygen");
    write_all(&folder, &kit.files.into_iter().collect());
    let root = Root::open(project.path()).unwrap();
    let recipe = load(&root, &folder.join(asked["recipe"].as_str().unwrap()))
        .unwrap_or_else(|error| panic!("{case}: {}", error.report()));
    let request = RecipeRunRequest {
        values: values(&asked["values"]),
        trust: RecipeTrust::Given,
        // A recipe from outside may say `force`; the person has to say it, too.
        conflicts: OnConflict::Force,
        ..RecipeRunRequest::default()
    };
    match run(&recipe, &root, &request, &mut SilentHost) {
        Ok(RecipeRunOutcome::Done(_)) => {}
        Ok(other) => panic!("{case}: {other:?}"),
        Err(error) => panic!("{case}: {}", error.report()),
    }
    let mut found = read_all(project.path());
    found.retain(|path, _| !path.starts_with(".drawloom/"));
    let expected = read_all(&dir.join("after"));
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "{case}"
    );
    for (path, text) in &expected {
        assert_eq!(found[path], *text, "{case}: {path}");
    }
}

#[test]
fn the_files_are_those_that_hygen_writes() {
    for case in [
        "init-new",
        "init-with-prompt",
        "react-component",
        "react-component-bare",
        "redux-inject",
        "model-loops",
        "package-escapes",
        "effects",
        "white-space",
        "inflections",
        "default-action",
    ] {
        check(case);
    }
}

/// Templates made at random, and what EJS prints for them.
#[test]
fn converted_templates_print_what_ejs_prints() {
    let all: Value = serde_json::from_str(include_str!("hygen/ejs.json")).unwrap();
    for case in all["cases"].as_array().unwrap() {
        let (template, expected) = (
            case["template"].as_str().unwrap(),
            case["output"].as_str().unwrap(),
        );
        let jig = body(&one(template));
        assert_eq!(
            render(&jig, &all["data"]).as_deref(),
            Ok(expected),
            "{template}\n-----\n{jig}"
        );
    }
}

#[test]
fn ejs_reads_well_as_jig() {
    for (ejs, jig) in [
        ("a <%= name %>\n", "a {{ name }}\n"),
        (
            "<%- h.changeCase.pascal(name) %>\n",
            "{{-- the text begins below --}}\n{{ pascalCase(name) }}\n\n",
        ),
        (
            "x\n<% if (a) { -%>\n  one\n<% } else if (b) { -%>\n  two\n<% } else { -%>\nthree\n<% } -%>\n",
            "x\n  @if(a)\n    one\n  @elseif(b)\n    two\n@else\n  three\n  @end\n",
        ),
        (
            "x\n<% for (const f of fields) { -%>\n  <%= f.name %>;\n<% } -%>\n",
            "x\n  @each(f in fields)\n    {{ f.name ?? '' }};\n  @end\n",
        ),
        (
            "x\n<% fields.forEach((f, i) => { -%>\n<%= i %>\n<% }) -%>\ny\n",
            "x\n@each((f, i) in fields)\n  {{ i }}\n@end\ny\n",
        ),
        (
            "x\n<% Object.entries(o).forEach(([k, v]) => { -%>\n- <%= k %>\n<% }) -%>\n",
            "x\n@each((v, k) in o)\n  - {{ k }}\n@end\n",
        ),
        (
            "x\n<% for (let i = 0; i < 3; i++) { -%>\n- <%= i %>\n<% } -%>\n",
            "x\n@each(i in Array.from({ length: 3 }, (_, i) => i))\n  - {{ i }}\n@end\n",
        ),
        (
            "a<% if (b) { %> b<% } else { %> c<% } %>\n",
            "a{{ b ? ' b' : ' c' }}\n",
        ),
        (
            "[<% xs.forEach(x => { %><%= x %>, <% }) %>]\n",
            "[{{ Array.from(xs, (x) => `${x}, `).join('') }}]\n",
        ),
        (
            "x\n<% const a = name + 1; let b -%>\ny\n",
            "x\n@let(a = name + 1)\n@let(b = undefined)\ny\n",
        ),
        (
            "x\n<% let n = 0; n += 1; go(n) -%>\ny\n",
            "x\n@let(n = 0)\n@assign(n += 1)\n@eval(go(n))\ny\n",
        ),
        ("x\n<%# why -%>\ny\n", "x\n{{-- why --}}\ny\n"),
        ("x <%= locals.y %>\n", "x {{ y ?? '' }}\n"),
        ("x <%= a ? b : null %>\n", "x {{ a ? b : '' }}\n"),
    ] {
        let source = format!("---\nto: x\n---\n{ejs}");
        assert_eq!(
            body(&convert(&[("g/a/x.ejs.t".to_owned(), source)], "k")),
            jig,
            "{ejs}"
        );
    }
}

#[test]
fn attributes_are_kept_with_their_ejs_converted() {
    let source = "---\n# where\nto: \"<%= a ? `${name}.ts` : null %>\"\ninject: true\nafter: \"from 'x'\"\nskip_if: <%= h.changeCase.camel(name) %>\nsh: \"echo <%= name %>: done\"\nmessage: |\n  {bold <%= name %>}\n  is there\nat_line: 3\nspinner: true\n---\nx\n";
    let found = convert(&[("g/a/x.ejs.t".to_owned(), source.to_owned())], "k");
    let text = text_of(&found, "g/a/templates/x.jig");
    assert_eq!(
        text,
        "---\n# where\nto: \"{{ a ? `${name}.ts` : '' }}\"\ninject: true\nafter: from 'x'\nskip_if: '{{ camelCase(name) }}'\nsh: 'echo {{ name }}: done'\nmessage: |\n  {{ name }}\n  is there\n---\nx\n"
            .replace("\"{{ a ? `${name}.ts` : '' }}\"", "'{{ a ? `${name}.ts` : '''' }}'")
    );
    assert_eq!(warnings(&found), ["11: `at_line`", "12: `spinner`"]);
}

#[test]
fn questions_and_names_become_variables() {
    let prompt = "module.exports = [\n  { type: 'input', name: 'title', message: 'Which title?' },\n  { type: 'select', name: 'kind', message: 'Kind?', choices: ['a', 'b'], initial: 'b' },\n  { type: 'confirm', name: 'tests', message: 'Tests?', initial: true },\n]\n";
    let template = "---\nto: <%= Name %>/<%= dir %>.ts\n---\n<% if (flag) { %>x<% } %><% if (locals.more) { %><%= more %><% } %><% for (const t of tags) { %><%= t %><% } %><%= cwd %>\n";
    let files = [("g/a/prompt.js", prompt), ("g/a/x.ejs.t", template)]
        .map(|(p, t)| (p.to_owned(), t.to_owned()));
    let found = convert(&files, "k");
    let expected = "\
name: a
description: g a, as hygen did it
version: 1.0.0

variables:
  name:
    type: string
    required: true
    position: 0
  title:
    type: string
    prompt: Which title?
    required: true
  kind:
    type: enum
    values: [a, b]
    prompt: Kind?
    default: b
  tests:
    type: boolean
    prompt: Tests?
    default: true
  Name:
    type: string
    default: '{{ capitalize(name) }}'
  dir:
    type: string
    required: true
  flag:
    type: boolean
    default: false
  more:
    type: string
  tags:
    type: array
    required: true
  cwd:
    type: string
    default: .

steps:
  - name: x
    template: x.jig
";
    assert_eq!(text_of(&found, "g/a/recipe.yml"), expected);
    assert_eq!(text_of(&found, "kit.yml").lines().next(), Some("name: k"));
    assert_eq!(text_of(&found, "g/cookbook.yml"), "name: g\n");
    assert_eq!(found.warnings, []);
}

/// What cannot be carried over is said, and stays in the template as a comment.
#[test]
fn nothing_is_dropped_silently() {
    for (body, expected, kept) in [
        (
            "<% while (x) { %>a<% } %>\n",
            "4: `<% while (x) { %>a<% } %>` was not",
            Some("<% while (x) { %>a<% } %>"),
        ),
        (
            "a\n<% switch (x) { case 1: %>a<% } %>\n",
            "5: `<% switch",
            Some("<% switch"),
        ),
        ("<%= h.custom(name) %>\n", "4: `h.custom` is not", None),
        (
            "<%= require('fs') %>\n",
            "4: `require` does not exist",
            None,
        ),
        (
            "<% if (x) { %>a\n",
            "4: the scripts of this file make no program",
            Some("<% if (x) { %>"),
        ),
        ("<%= x\n", "4: a tag is not closed", Some("<%= x")),
        (
            "<%= function () { const y = 1; return y }() %>\n",
            "4: ",
            Some("<%= function"),
        ),
        ("<%= '<b>' %>\n", "4: hygen writes `&lt;`", None),
        ("<%= state %>\n", "4: `state` is not available", None),
        (
            "<%= Object.keys(locals) %>\n",
            "4: only `locals.name`",
            None,
        ),
    ] {
        let source = format!("---\nto: x\n---\n{body}");
        let found = convert(&[("g/a/x.ejs.t".to_owned(), source)], "k");
        let first = found
            .warnings
            .first()
            .unwrap_or_else(|| panic!("no warning: {body}"));
        let shown = format!("{}: {}", first.line, first.message);
        assert!(shown.starts_with(expected), "{shown}");
        let text = text_of(&found, "g/a/templates/x.jig");
        assert!(kept.is_none_or(|kept| text.contains(kept)), "{text}");
    }
}

#[test]
fn conditions_without_end_are_bounded() {
    let deep = format!(
        "{}x{}\n",
        "<% if (x) { %>".repeat(20_000),
        "<% } %>".repeat(20_000)
    );
    let found = one(&deep);
    assert!(found.warnings[0].message.contains("NESTING_MAX"));
    let line = "a<% if (x) { %>\nb<% } %>".repeat(40);
    let found = one(&format!("{line}\n"));
    assert!(
        found
            .warnings
            .iter()
            .any(|warning| warning.message.contains("BLOCKS_MAX"))
    );
}

#[test]
fn files_that_are_no_templates_are_said() {
    for (path, text, expected) in [
        ("g/a/.hygenignore", "x", "left out"),
        ("g/a/notes.txt", "no frontmatter", "does nothing"),
        (
            "g/a/y.ejs.t",
            "---\nto: a\nfrom: nowhere.txt\n---\n",
            "no `nowhere.txt`",
        ),
        (
            "g/a/y.ejs.t",
            "---\nto: a\ninject: true\n---\n",
            "injects nothing",
        ),
        ("g/a/y.ejs.t", "---\nsetup: a\n---\n", "`setup`"),
        ("g/a/y.ejs.t", "---\r\nto: a\r\n---\r\nx\r\n", "CRLF"),
        ("g/readme.md", "x", "no action"),
        (
            "g/a/index.js",
            "module.exports = { params: () => 1 }",
            "`params`",
        ),
    ] {
        let rest = ("g/a/x.ejs.t".to_owned(), "---\nto: x\n---\nx\n".to_owned());
        let found = convert(&[(path.to_owned(), text.to_owned()), rest], "k");
        let hit = found
            .warnings
            .iter()
            .find(|warning| warning.message.contains(expected));
        assert_eq!(
            hit.map(|warning| warning.file.as_str()),
            Some(path),
            "{:?}",
            found.warnings
        );
    }
}

fn values(values: &Value) -> GivenValues {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = values
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| match value {
            Value::Array(items) => (name.clone(), items.iter().map(text).collect()),
            value => (name.clone(), vec![text(value)]),
        });
    GivenValues {
        positional: Vec::new(),
        named: named.collect(),
    }
}

/// A body alone, made a file of an action.
fn one(template: &str) -> HygenConversion {
    // Blank lines below the frontmatter are not part of the body in hygen.
    let guard = if template.starts_with([' ', '\t', '\n']) {
        "<%# %>"
    } else {
        ""
    };
    let source = format!("---\nto: x\n---\n{guard}{template}");
    convert(&[("g/a/x.ejs.t".to_owned(), source)], "k")
}

fn body(conversion: &HygenConversion) -> String {
    let text = text_of(conversion, "g/a/templates/x.jig");
    text.splitn(3, "---\n").nth(2).unwrap().to_owned()
}

#[track_caller]
fn text_of(conversion: &HygenConversion, path: &str) -> String {
    let found = conversion.files.iter().find(|(name, _)| name == path);
    found
        .unwrap_or_else(|| panic!("no {path}: {:?}", conversion.warnings))
        .1
        .clone()
}

/// The line of each warning and its first word.
fn warnings(conversion: &HygenConversion) -> Vec<String> {
    let shown = conversion.warnings.iter().map(|warning| {
        let word = warning.message.split(' ').next().unwrap_or_default();
        format!("{}: {word}", warning.line)
    });
    shown.collect()
}

fn render(text: &str, data: &Value) -> Result<String, String> {
    let engine = TemplateEngine::new(Rc::new(MapLoader::default()));
    let pairs = data.as_object().unwrap().iter();
    let state = pairs
        .map(|(key, value)| (Rc::from(key.as_str()), expr::Value::from_json(value)))
        .collect();
    let answers = IndexMap::new();
    let input = RenderInput {
        name: "x.jig",
        text,
        layout: TemplateLayout::Jig,
        state: &state,
        answers: &answers,
    };
    engine
        .render_text(&input)
        .map(|rendered| rendered.text)
        .map_err(|error| error.to_string())
}

fn read_all(dir: &Path) -> Files {
    let mut files = Files::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    files
}

fn write_all(dir: &Path, files: &Files) {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
