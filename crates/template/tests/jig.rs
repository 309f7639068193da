//! Jig layout: dedent, re-indent, and tag lines that leave nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests are lists of cases, and fixtures that cannot be built are failures"
)]

use std::rc::Rc;

use serde_json::{Value as Json, json};
use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};

/// A template, its partials, its state, and what it prints.
struct Case {
    name: &'static str,
    template: &'static str,
    files: &'static [(&'static str, &'static str)],
    expect: &'static str,
}

fn state() -> Json {
    json!({
        "yes": true, "no": false, "name": "Ada", "list": ["a", "b"], "empty": [],
        "fields": [{ "name": "id", "type": "number" }, { "name": "email", "type": "string" }],
    })
}

fn check(case: &Case) {
    let loader: MapLoader = case.files.iter().copied().collect();
    let engine = TemplateEngine::new(Rc::new(loader));
    let state = state();
    let rendered = engine.render_text(&RenderInput {
        name: "main.jig",
        text: case.template,
        layout: TemplateLayout::Jig,
        state: &expr::JsObject::from_json_map(state.as_object().unwrap()),
        answers: &Default::default(),
    });
    let text = rendered
        .map(|rendered| rendered.text)
        .unwrap_or_else(|error| error.report());
    assert_eq!(text, case.expect, "{}", case.name);
}

const fn case(name: &'static str, template: &'static str, expect: &'static str) -> Case {
    Case {
        name,
        template,
        files: &[],
        expect,
    }
}

#[test]
fn blocks_lose_the_indentation_they_add() {
    for each in [
        case(
            "content moves to the tag",
            "class {\n  @if(yes)\n    a\n      b\n  @end\n}\n",
            "class {\n  a\n    b\n}\n",
        ),
        case("tag at column 0", "@if(yes)\n  a\n@end\n", "a\n"),
        case(
            "content left of the tag stays",
            "    @if(yes)\n  a\n    @end\n",
            "  a\n",
        ),
        case(
            "blank lines do not count",
            "@if(yes)\n\n  a\n@end\n",
            "\na\n",
        ),
        case(
            "nested blocks add up",
            "{\n  @if(yes)\n    @each(x in list)\n      {{ x }},\n    @end\n  @end\n}\n",
            "{\n  a,\n  b,\n}\n",
        ),
        case(
            "every branch has its own",
            "  @if(no)\n    a\n  @else\n      b\n        c\n  @end\n",
            "  b\n    c\n",
        ),
        case("elseif", "@if(no)\n a\n@elseif(yes)\n    b\n@end\n", "b\n"),
        case("unless", "  @unless(no)\n    a\n  @end\n", "  a\n"),
        case(
            "else of each",
            "@each(x in empty)\n  x\n@else\n  none\n@end\n",
            "none\n",
        ),
        case(
            "a line that begins with an interpolation",
            "@each(x in list)\n    {{ x }}\n      {{ x }}\n@end\n",
            "a\n  a\nb\n  b\n",
        ),
        case("tabs", "\t@if(yes)\n\t\ta\n\t@end\n", "\ta\n"),
    ] {
        check(&each);
    }
}

#[test]
fn tag_lines_leave_nothing_behind() {
    for each in [
        case(
            "adjacent tags",
            "@each(x in list)\n@if(yes)\n{{ x }}\n@end\n@end\n",
            "a\nb\n",
        ),
        case("let in the middle", "a\n@let(x = 1)\nb{{ x }}\n", "a\nb1\n"),
        case(
            "eval and assign",
            "a\n@eval(1)\n@assign(q = 2)\nb{{ q }}\n",
            "a\nb2\n",
        ),
        case(
            "blank lines of the author stay",
            "a\n\n@if(yes)\n\nb\n\n@end\n\nc\n",
            "a\n\n\nb\n\n\nc\n",
        ),
        case(
            "a comment alone on its line",
            "a\n  {{-- note --}}\nb\n",
            "a\nb\n",
        ),
        case(
            "a comment over lines",
            "a\n{{-- one\ntwo --}}\nb\n",
            "a\nb\n",
        ),
        case("a comment beside text", "a {{-- note --}}\nb\n", "a \nb\n"),
        case(
            "tilde joins",
            "@each(x in list)~\n{{ x }}, \n@end~\nend\n",
            "a, b, end\n",
        ),
        case(
            "tilde before a tag does no harm",
            "a\n@each(x in list)~\n@if(yes)\n{{ x }}\n@end\n@end\nz\n",
            "a\na\nb\nz\n",
        ),
        case("content type", "@if(yes): typescript\na\n@end\n", "a\n"),
        case(
            "content type and tilde",
            "x\n@if(yes): c++ ~\na\n@end\n",
            "xa\n",
        ),
        case(
            "escaped tag",
            "a\n  @@if(x)\n    b {{ name }}\n  @end\nc\n",
            "a\n  @if(x)\n    b Ada\n  @end\nc\n",
        ),
        case(
            "escaped tag without a body",
            "a\n@@include('x')\nb\n",
            "a\n@include('x')\nb\n",
        ),
        case("final newline", "a", "a"),
        case("nothing printed", "@if(no)\na\n@end\n", ""),
    ] {
        check(&each);
    }
}

#[test]
fn the_output_of_a_tag_begins_in_its_column() {
    let files: &[(&str, &str)] = &[
        ("p.jig", "one {{ name }}\n\n  two\n"),
        ("quiet.jig", "@let(x = 1)\n"),
        ("starts.jig", "@let(x = 1)\nx{{ x }}\n"),
        (
            "components/card.jig",
            "<c {{ title }}>\n{{ $slots.main() }}\n</c>\n",
        ),
        (
            "components/two.jig",
            "{{ $slots.head() }}\n--\n{{ $slots.main() }}\n",
        ),
        ("push.jig", "@pushTo('imports')\nimport x\n@end\n"),
    ];
    for (name, template, expect) in [
        (
            "include",
            "{\n    @include('p')\n}\n",
            "{\n    one Ada\n\n      two\n}\n",
        ),
        (
            "include in a block",
            "{\n  @if(yes)\n    @include('p')\n  @end\n}\n",
            "{\n  one Ada\n\n    two\n}\n",
        ),
        (
            "include that prints nothing",
            "a\n  @include('quiet')\nb\n",
            "a\nb\n",
        ),
        (
            "include that starts with a tag",
            "a\n  @include('starts')\nb\n",
            "a\n  x1\nb\n",
        ),
        (
            "blank line before",
            "a\n\n@include('p')\n\nb\n",
            "a\n\none Ada\n\n  two\n\nb\n",
        ),
        (
            "includeIf",
            "a\n@includeIf(no, 'p')\n  @includeIf(yes, 'starts')\nb\n",
            "a\n  x1\nb\n",
        ),
        (
            "component",
            "{\n    @card({ title: name })\n      body\n        more\n    @end\n}\n",
            "{\n    <c Ada>\n    body\n      more\n    </c>\n}\n",
        ),
        (
            "self-closing component",
            "{\n  @!card({ title: 1 })\n}\n",
            "{\n  <c 1>\n\n  </c>\n}\n",
        ),
        (
            "slots",
            "@two()\n  main {{ name }}\n  @slot('head')\n    head\n  @end\n@end\n",
            "head\n--\nmain Ada\n",
        ),
        (
            "components in a loop",
            "@each(x in list)\n  @card({ title: x })\n    {{ x }}\n  @end\n@end\n",
            "<c a>\na\n</c>\n<c b>\nb\n</c>\n",
        ),
        (
            "stack",
            "top\n  @stack('imports')\nend\n@pushTo('imports')\n  one\n  two\n@end\n@include('push')\n",
            "top\n  one\n  two\n  import x\nend\n",
        ),
        ("empty stack", "top\n@stack('none')\nend\n", "top\nend\n"),
        (
            "stack first",
            "@let(x = 1)\n@stack('s')\nend\n@pushTo('s')\na\n@end\n",
            "a\nend\n",
        ),
    ] {
        check(&Case {
            name,
            template,
            files,
            expect,
        });
    }
}

#[test]
fn a_generated_file_reads_as_written() {
    let template = "\
@let(Name = name.toUpperCase())
export interface {{ Name }} {
  @each((field, index) in fields)
    @if(index > 0)

    @end
    /** {{ field.name }} */
    {{ field.name }}: {{ field.type }};
  @end
}
";
    let expect = "\
export interface ADA {
  /** id */
  id: number;

  /** email */
  email: string;
}
";
    check(&case("an interface", template, expect));
}

#[test]
fn filters_are_calls() {
    for each in [
        case("one", "{{ kebabCase :: 'fooBar' }}", "foo-bar"),
        case(
            "chain",
            "{{ kebabCase :: pluralize :: 'userName' }}",
            "user-names",
        ),
        case(
            "json",
            "{{ json :: fields[0] }}",
            "{\"name\":\"id\",\"type\":\"number\"}",
        ),
        case(
            "json with indent",
            "{{ json(list, 2) }}",
            "[\n  \"a\",\n  \"b\"\n]",
        ),
        case("colons in strings", "{{ '::' + name }}", "::Ada"),
        case(
            "hygen's helpers",
            "{{ h.changeCase.pascal('foo bar') }} {{ h.inflection.pluralize('box') }}",
            "FooBar boxes",
        ),
    ] {
        check(&each);
    }
}
