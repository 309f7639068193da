//! Templates to files: where they go, what they become, when they are left alone.

use crate::check::{recipe, steps};
use recipe::{RecipeRunMode, UndefinedPolicy};

#[test]
fn a_template_goes_where_its_frontmatter_says() {
    let ran = recipe("name: it\nvariables:\n  name: { type: string, position: 0 }\nsteps:\n  - template: page\n")
        .template("page.jig", "---\nto: src/{{ kebabCase :: name }}/page.ts\n---\nexport const {{ pascalCase(name) }} = '{{ attributes.to }}'\n")
        .args("'Big Box'")
        .run();
    ran.assert_files(&[(
        "src/big-box/page.ts",
        "export const BigBox = 'src/big-box/page.ts'\n",
    )]);
    assert_eq!(ran.statuses(), "created src/big-box/page.ts");
}

#[test]
fn a_template_without_to_is_mirrored() {
    let ran = recipe("name: it\nvariables:\n  name: { type: string }\nsteps:\n  - template: src/{{ name }}.ts.jig\n    to: x/{{ name }}.ts\n  - template: docs\n    outputDir: out\n    exclude: ['*.bak']\n")
        .file(".drawloom/recipes/it/templates/src/a.ts.jig", "a {{ name }}\n")
        .file(".drawloom/recipes/it/docs/{{ name }}/read.md.jig", "# {{ name }}\n")
        .file(".drawloom/recipes/it/docs/raw.txt", "{{ raw }}\r\n")
        .file(".drawloom/recipes/it/docs/old.bak", "no")
        .args("--name a")
        .run();
    ran.assert_files(&[
        ("x/a.ts", "a a\n"),
        ("out/a/read.md", "# a\n"),
        ("out/raw.txt", "{{ raw }}\r\n"),
    ]);
    assert!(!ran.exists("out/old.bak"));
}

#[test]
fn several_templates_and_globs_are_all_rendered() {
    let ran = steps("  - template: ['a.jig', 'b']\n  - template: 'more/*.jig'\n")
        .template("a.jig", "A\n")
        .template("b.jig", "B\n")
        .template("more/c.txt.jig", "C\n")
        .template("more/d.txt.jig", "D\n")
        .run();
    ran.assert_files(&[
        ("a", "A\n"),
        ("b", "B\n"),
        ("more/c.txt", "C\n"),
        ("more/d.txt", "D\n"),
    ]);
}

#[test]
fn one_template_makes_many_files() {
    let ran = recipe("name: it\nvariables:\n  names: { type: array }\nsteps:\n  - template: one\n    forEach: names\n    as: model\n    when: model !== 'skip'\n")
        .template("one.jig", "---\nto: models/{{ model }}.ts\n---\n{{ index }} {{ pascalCase(model) }}\n")
        .args("--names user,skip,order")
        .run();
    ran.assert_files(&[
        ("models/user.ts", "0 User\n"),
        ("models/order.ts", "2 Order\n"),
    ]);
    assert!(!ran.exists("models/skip.ts"));
}

#[test]
fn for_each_takes_literal_lists_objects_and_expressions() {
    let ran = steps(
        "  - name: literal\n    template: one\n    forEach: [{ n: a }, { n: '{{ \"b\" }}' }]\n\
         \x20 - name: computed\n    template: one\n    forEach: '[1, 2].map((n) => ({ n }))'\n\
         \x20 - name: nothing\n    template: one\n    forEach: nothing\n\
         \x20 - name: object\n    template: pair\n    forEach: '({ x: 1 })'\n",
    )
    .template("one.jig", "---\nto: out/{{ item.n }}\n---\n{{ item.n }}\n")
    .template(
        "pair.jig",
        "---\nto: out/{{ item.key }}\n---\n{{ item.value }}\n",
    )
    .run();
    ran.assert_files(&[
        ("out/a", "a\n"),
        ("out/b", "b\n"),
        ("out/1", "1\n"),
        ("out/2", "2\n"),
        ("out/x", "1\n"),
    ]);
}

#[test]
fn to_nothing_and_skip_if_leave_a_file_out() {
    let ran = steps("  - template: ['a', 'b', 'c', 'd']\n")
        .template("a.jig", "---\nto:\n---\nx\n")
        .template("b.jig", "---\nto: '{{ false ? \"b\" : \"\" }}'\n---\nx\n")
        .template("c.jig", "---\nto: c\nskip_if: '{{ 1 < 2 }}'\n---\nx\n")
        .template("d.jig", "---\nto: d\nskip_if: '{{ 1 > 2 }}'\n---\nx\n")
        .run();
    assert_eq!(ran.statuses(), "skipped a, skipped b, skipped c, created d");
    assert!(!ran.exists("a") && !ran.exists("b") && !ran.exists("c"));
}

#[test]
fn ends_of_files_are_kept_or_decided() {
    let ran = steps("  - template: ['a', 'b', 'c', 'd']\n")
        .template("a.jig", "x\n")
        .template("b.jig", "x")
        .template("c.jig", "---\neof_last: false\n---\nx\n\n")
        .template("d.jig", "---\neof_last: true\n---\nx")
        .run();
    ran.assert_files(&[("a", "x\n"), ("b", "x"), ("c", "x"), ("d", "x\n")]);
}

#[test]
fn from_copies_and_executable_sets_the_bit() {
    use std::os::unix::fs::PermissionsExt;
    let ran = steps("  - template: run\n")
        .template(
            "run.jig",
            "---\nto: bin/run\nfrom: raw.sh\nexecutable: true\n---\nignored\n",
        )
        .template("raw.sh", "#!/bin/sh\necho {{ not }} rendered\n")
        .run();
    ran.assert_files(&[("bin/run", "#!/bin/sh\necho {{ not }} rendered\n")]);
    let mode = std::fs::metadata(ran.path().join("bin/run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o100, 0o100);
}

#[test]
fn partials_and_components_come_from_the_recipe() {
    let ran = steps("  - template: page\n")
        .template(
            "page.jig",
            "@include('partials/head')\n@!note({ text: 'hi' })\n@include('shared')\nend\n",
        )
        .template("partials/head.jig", "head\n")
        .template("components/note.jig", "note: {{ text }}\n")
        .file(".drawloom/templates/shared.jig", "shared\n")
        .run();
    ran.assert_files(&[("page", "head\nnote: hi\nshared\nend\n")]);
}

#[test]
fn errors_in_a_body_count_from_the_top_of_the_file() {
    let ran = steps("  - template: page\n")
        .template(
            "page.jig",
            "---\nto: a\nforce: true\n---\nline 5\n{{ nothing.at.all }}\n",
        )
        .run();
    let error = ran.failed();
    let found = &error.diagnostics()[0];
    assert_eq!(
        found.file.as_deref(),
        Some(".drawloom/recipes/it/templates/page.jig")
    );
    assert_eq!(found.place.unwrap().line, 6);
    assert_eq!(found.excerpt.as_deref(), Some("{{ nothing.at.all }}"));
}

#[test]
fn strict_lists_every_name_that_nothing_defines() {
    let ran = steps("  - template: page\n")
        .template("page.jig", "{{ one }}\n{{ two }} {{ one }}\n")
        .with(|request| request.strict = UndefinedPolicy::Strict)
        .run();
    let text = ran.failed().to_string();
    assert!(
        text.contains("page.jig:1:") && text.contains("`one`"),
        "{text}"
    );
    assert!(
        text.contains("page.jig:2:") && text.contains("`two`"),
        "{text}"
    );
}

#[test]
fn a_dry_run_shows_and_does_nothing() {
    let ran = steps("  - name: a\n    template: a\n  - name: b\n    command: touch made\n")
        .template(
            "a.jig",
            "---\nto: a.txt\nforce: true\nsh: touch also\nmessage: hello\n---\nnew\n",
        )
        .file("a.txt", "old\n")
        .with(|request| request.mode = RecipeRunMode::DryRun)
        .run();
    ran.is_untouched();
    let plan = ran.shown();
    assert_eq!(plan.files.len(), 1);
    assert!(
        plan.files[0].diff.contains("-old\n+new\n"),
        "{}",
        plan.files[0].diff
    );
    let commands: Vec<&str> = plan
        .commands
        .iter()
        .map(|command| command.command.as_str())
        .collect();
    assert_eq!(commands, ["touch also", "touch made"]);
    assert_eq!(plan.messages, ["hello"]);
}

#[test]
fn running_again_changes_nothing() {
    let case = || {
        steps("  - template: ['a', 'b']\n")
            .template("a.jig", "---\nto: a.txt\n---\nx\n")
            .template(
                "b.jig",
                "---\nto: a.txt\ninject: true\nappend: true\n---\ny\n",
            )
    };
    let first = case().run();
    assert_eq!(first.text("a.txt"), "x\ny\n");
    assert_eq!(first.statuses(), "created a.txt");
}

#[test]
fn messages_and_success_texts_are_reported() {
    let ran = recipe("name: it\nonSuccess: 'Made {{ result.filesCreated.join(\",\") }}'\nsteps:\n  - template: a\n")
        .template("a.jig", "---\nto: a.txt\nmessage: remember {{ 1 + 1 }}\n---\nx\n")
        .run();
    assert_eq!(ran.done().messages, ["remember 2"]);
    assert_eq!(ran.done().on_success.as_deref(), Some("Made a.txt"));
}

#[test]
fn steps_run_in_the_order_dependencies_demand() {
    let ran = steps(
        "  - name: last\n    template: b\n    dependsOn: [first]\n  - name: first\n    template: a\n",
    )
    .template("a.jig", "---\nto: x.txt\n---\none\n")
    .template("b.jig", "---\nto: x.txt\ninject: true\nafter: one\n---\ntwo\n")
    .run();
    ran.assert_files(&[("x.txt", "one\ntwo\n")]);
}

#[test]
fn ten_thousand_files_cost_ten_times_a_thousand() {
    let run = |count: usize| {
        let case = steps(&format!(
            "  - template: one\n    forEach: 'Array.from({{ length: {count} }}, (_, i) => i)'\n"
        ))
        .template("one.jig", "---\nto: out/{{ item }}.txt\n---\n{{ item }}\n")
        .with(|request| request.mode = RecipeRunMode::DryRun);
        let begun = std::time::Instant::now();
        let ran = case.run();
        assert_eq!(ran.shown().files.len(), count);
        begun.elapsed().as_secs_f64()
    };
    let small = run(1_000);
    let large = run(10_000);
    // Twice as much as linear, because machines are busy; quadratic would be ten times as much.
    assert!(
        large < small * 20.0 + 1.0,
        "{small} s for 1000, {large} s for 10000"
    );
}

/// A slip in a path wrote the file `undefined.md`.
#[test]
fn a_name_that_nothing_defines_makes_no_path() {
    let manifest =
        "name: it\nvariables: { name: { position: 0 } }\nsteps:\n  - template: a\n".to_owned();
    let wrong = "'{{ nmae }}.md'";
    for (manifest, head, place) in [
        (
            manifest.clone(),
            format!("---\nto: {wrong}\n---\n"),
            "a.jig:2",
        ),
        (
            format!("{manifest}    to: {wrong}\n"),
            String::new(),
            "recipe.yml:5",
        ),
    ] {
        let case = recipe(&manifest).template("a.jig", &format!("{head}x\n"));
        let ran = case.args("A").run();
        let report = ran.failed().report();
        for piece in [
            "`nmae` is not defined, so the path would be `undefined.md`",
            place,
            "did you mean `name`?",
        ] {
            assert!(report.contains(piece), "{piece}: {report}");
        }
        ran.is_untouched();
    }
    // A value may be any word.
    let right = recipe(&manifest).template("a.jig", "---\nto: '{{ name }}.md'\n---\nx\n");
    let ran = right.args("undefined").run();
    assert_eq!(ran.text("undefined.md"), "x\n");
}
