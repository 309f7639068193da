//! The exports of TypeScript and JavaScript files, in every form.

use crate::project::{check_lines, index, path};

/// The names that a file of this name and text exports.
#[track_caller]
fn check(name: &str, text: &str, expected: &[&str]) {
    let index = index(&[(name, text)]);
    let exports = &index.file(&path(name)).unwrap().exports;
    let names: Vec<&str> = exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(names, expected, "{text}");
}

#[test]
fn declarations_are_exported_by_name() {
    check("a.ts", "export const a = 1, b = 2;", &["a", "b"]);
    check(
        "a.ts",
        "export let { a, b: { c }, ...d } = x;",
        &["a", "c", "d"],
    );
    check(
        "a.ts",
        "export const [a, , b = 1, ...c] = x;",
        &["a", "b", "c"],
    );
    check(
        "a.ts",
        "export function f() {}\nexport async function* g() {}",
        &["f", "g"],
    );
    check(
        "a.ts",
        "export class A {}\nexport abstract class B {}",
        &["A", "B"],
    );
    check(
        "a.ts",
        "export interface A {}\nexport type B = 1;\nexport enum C {}\nexport const enum D {}",
        &["A", "B", "C", "D"],
    );
    check(
        "a.ts",
        "export namespace A.B.C {}\nexport module M {}",
        &["A", "M"],
    );
    check(
        "a.ts",
        "export declare const a: 1;\nexport declare function f(): void;\nexport declare class C {}",
        &["a", "f", "C"],
    );
    check(
        "a.ts",
        "@d() export class A {}\nexport @d() class B {}",
        &["A", "B"],
    );
    check(
        "a.tsx",
        "export const A = () => <b>export const no = 1</b>;",
        &["A"],
    );
    check("a.jsx", "export const A = () => <>{x}</>;", &["A"]);
    check("a.mts", "export const a = 1;", &["a"]);
    check("a.cts", "export const a = 1;", &["a"]);
}

#[test]
fn lists_aliases_and_defaults_are_exported() {
    check(
        "a.ts",
        "const a = 1; function b() {} export { a, b as c };",
        &["a", "c"],
    );
    check(
        "a.ts",
        "const a = 1; export { a as default, a as 'b c' };",
        &["default", "b c"],
    );
    check(
        "a.ts",
        "export type { A } from './b'; export { type B, c } from './b';",
        &["A", "B", "c"],
    );
    check("a.ts", "export { default } from './b';", &["default"]);
    check("a.ts", "export { default as a } from './b';", &["a"]);
    check("a.ts", "export * as ns from './b';", &["ns"]);
    check("a.ts", "export default function f() {}", &["default"]);
    check("a.ts", "export default class {}", &["default"]);
    check("a.ts", "export default { a: 1 };", &["default"]);
    check("a.ts", "export default interface I {}", &["default"]);
    check("a.ts", "import a from './b'; export { a };", &["a"]);
    check("a.ts", "export import a = require('./b');", &["a"]);
    check("a.ts", "class A {} export = A;", &["export="]);
    check("a.ts", "export {};", &[]);
}

#[test]
fn overloads_and_merged_declarations_are_one_name() {
    let text = "export function f(a: 1): 1;\nexport function f(a: any) {}\nexport namespace f {}";
    check("a.ts", text, &["f"]);
    check("a.ts", "export interface A {}\nexport const A = 1;", &["A"]);
}

#[test]
fn text_that_only_looks_like_an_export_is_skipped() {
    check(
        "a.ts",
        "// export const a = 1\n/* export const b = 1 */",
        &[],
    );
    check(
        "a.ts",
        "const s = `export const a = 1`; const t = 'export const b = 1';",
        &[],
    );
    check("a.ts", "namespace N { export const a = 1 }", &[]);
    check(
        "a.ts",
        "declare module 'x' { export const a: 1 }\nexport {}",
        &[],
    );
    check(
        "a.ts",
        "declare global { var a: 1 }\nexport const b = 1;",
        &["b"],
    );
    check(
        "a.ts",
        "export as namespace X;\nexport const a = 1;",
        &["a"],
    );
}

#[test]
fn a_declaration_file_exports_what_it_declares_unless_it_lists() {
    check(
        "a.d.ts",
        "export const a: 1;\ndeclare const b: 2;\ninterface C {}",
        &["a", "b", "C"],
    );
    check("a.d.ts", "declare const b: 2;\nexport { b as c };", &["c"]);
    check("a.d.mts", "export declare const a: 1;\nexport {};", &["a"]);
    check("a.d.ts", "declare const b: 2;", &[]);
    check("a.ts", "export const a = 1;\ndeclare const b: 2;", &["a"]);
}

#[test]
fn commonjs_exports_are_found_in_scripts() {
    check(
        "a.js",
        "exports.a = 1; module.exports.b = () => {};",
        &["a", "b"],
    );
    check(
        "a.js",
        "module.exports = { a, b: 1, 'c-d': 2, [e]: 3, f() {} };",
        &["a", "b", "c-d", "f"],
    );
    check("a.js", "module.exports = class A {};", &["export="]);
    check("a.js", "exports = module.exports = { a };", &["a"]);
    check(
        "a.js",
        "module.exports = exports = function () {}; exports.a = 1;",
        &["export=", "a"],
    );
    check("a.cjs", "exports.a = exports.b = void 0;", &["a", "b"]);
    check(
        "a.js",
        "Object.defineProperty(exports, '__esModule', { value: true });\n\
         Object.defineProperty(exports, 'a', { get() {} });\nexports.__esModule = true;",
        &["a"],
    );
    check("a.js", "(function () { exports.a = 1; })();", &["a"]);
    check("a.mjs", "exports.a = 1; export const b = 1;", &["b"]);
}

#[test]
fn stars_hand_on_the_names_behind_them() {
    check_lines(
        &[
            ("index.ts", "export * from './a';\nexport const own = 1;\n"),
            (
                "a.ts",
                "export * from './deep/index.js';\nexport const a = 1;\nexport default 1;\n",
            ),
            (
                "deep/index.ts",
                "export * from '../b';\nexport { x as y } from 'elsewhere';\n",
            ),
            ("b.ts", "export type B = 1;\nexport const own = 2;\n"),
        ],
        &[
            "a.ts | a, default, y, B, own | 3 lines",
            "b.ts | B, own | 2 lines",
            "deep/index.ts | y, B, own | 2 lines",
            "index.ts | own, a, y, B | 2 lines",
        ],
    );
}

#[test]
fn stars_in_a_circle_end() {
    check_lines(
        &[
            ("a.ts", "export * from './b'; export const a = 1;"),
            (
                "b.ts",
                "export * from './a'; export * from './b'; export const b = 1;",
            ),
        ],
        &["a.ts | a, b | 1 line", "b.ts | b, a | 1 line"],
    );
}

#[test]
fn commonjs_hands_on_by_require() {
    check_lines(
        &[
            ("a.js", "module.exports = require('./b');"),
            ("b.js", "module.exports = { ...require('./c'), b: 1 };"),
            ("c.js", "exports.c = 1;"),
            ("d.js", "__exportStar(require('./c'), exports);"),
        ],
        &[
            "a.js | b, c | 1 line",
            "b.js | b, c | 1 line",
            "c.js | c | 1 line",
            "d.js | c | 1 line",
        ],
    );
}

#[test]
fn a_text_with_errors_keeps_its_readable_exports() {
    let conflict = "export const a = 1;\n<<<<<<< ours\nexport const b = 1;\n=======\n\
                    export const c = 1;\n>>>>>>> theirs\nexport const d = 1;\n";
    check("a.ts", conflict, &["a", "b", "c", "d"]);
    check(
        "a.ts",
        "export const a = 1;\nconst = ;\nexport const b = 1;\n",
        &["a", "b"],
    );
    check("a.ts", "export const a = ;\nexport const b = 1;\n", &["b"]);
    check("a.ts", "export const a = 1;\nfunction f( {\n", &["a"]);
    check("a.ts", "export const a = 1;\n'open", &["a"]);
    check(
        "a.js",
        "export const a: number = 1;\nexport const b = 1;",
        &["b"],
    );
    check("a.ts", "}}}}}}}}}}", &[]);
    check(
        "a.ts",
        "\u{feff}export const a = 1;\r\nexport const b = 2;\r\n",
        &["a", "b"],
    );
    check("a.ts", "", &[]);
    check("a.ts", "\0\0export const a = 1;", &[]);
}

#[test]
fn exports_have_a_kind_and_a_line() {
    let index = index(&[(
        "a.ts",
        "import { x } from './b';\n\nexport const f = () => 1;\nexport class C {}\nexport type T = 1;\n\
         export enum E {}\nexport const v = 1;\nexport { x };\nfunction g() {}\nexport default g;\n",
    )]);
    let exports = &index.file(&path("a.ts")).unwrap().exports;
    let found: Vec<String> = exports
        .iter()
        .map(|export| format!("{} {:?} {}", export.name, export.kind, export.line))
        .collect();
    assert_eq!(
        found,
        [
            "f Function 3",
            "C Class 4",
            "T Type 5",
            "E Enum 6",
            "v Value 7",
            "x Reexport 8",
            "default Function 10"
        ]
    );
}

#[test]
fn commonjs_exports_count_under_other_names() {
    check(
        "a.js",
        "var app = exports = module.exports = {};\napp.init = function () {};\napp.use = 1;",
        &["init", "use"],
    );
    check("a.js", "const self = module.exports;\nself.a = 1;", &["a"]);
    check(
        "a.js",
        "function debug() {}\ndebug.enable = () => {};\nmodule.exports = debug;",
        &["enable", "export="],
    );
    check(
        "a.js",
        "Object.assign(module.exports, { a, b() {} }, require('./b'));\nOther.assign(module, { c });",
        &["a", "b"],
    );
    check(
        "a.js",
        "const other = require('x');\nother.a = 1;\nexports.b = 2;",
        &["b"],
    );
}

#[test]
fn comments_of_javascript_define_types() {
    check(
        "a.js",
        "/** @typedef {import('./b').B} B */\n/**\n * @typedef {{\n *   a: number,\n * }} Options\n * @property {string} x\n */\n\
         /** @callback Done */\n// @typedef {x} No\n/** @typedef {Object} */\nexport const a = 1;",
        &["B", "Options", "Done", "a"],
    );
    check(
        "a.ts",
        "/** @typedef {x} No */\nexport const a = 1;",
        &["a"],
    );
}

#[test]
fn components_export_themselves_and_their_scripts_exports() {
    check(
        "A.vue",
        "<template><b @click=\"x > 1\">export const no = 1</b></template>\n<script lang=\"ts\">\nexport const a: number = 1;\n</script>\n\
         <script setup lang=\"ts\">\nimport B from './B.vue';\n</script>\n<style>a { b: c }</style>",
        &["default", "a"],
    );
    check(
        "A.vue",
        "<script>\nexport default { name: 'a' };\n</script>",
        &["default"],
    );
    check(
        "A.svelte",
        "<script context=\"module\">export function load() {}</script>\n<script lang='ts'>export let name: string;</script>\n<p>{name}</p>",
        &["default", "load", "name"],
    );
    check(
        "A.astro",
        "---\nimport B from './B.astro';\nexport const prerender = true;\n---\n<B /><script>export const c = 1;</script>",
        &["default", "prerender", "c"],
    );
    check("A.vue", "<p>no script</p>", &["default"]);
    check(
        "A.vue",
        "<script lang=\"tsx\">export const a = <b/>;",
        &["default", "a"],
    );
}

#[test]
fn lines_of_a_component_are_those_of_its_file() {
    let text = "<template>\n  <p>ü</p>\n</template>\n\n<script>\nexport const a = 1;\n</script>\n";
    let index = index(&[("A.vue", text)]);
    let exports = &index.file(&path("A.vue")).unwrap().exports;
    let found = exports.iter().find(|export| export.name == "a").unwrap();
    assert_eq!(found.line, 6);
}
