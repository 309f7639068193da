//! The files that specifiers of TypeScript and JavaScript mean.

use crate::project::check_edges as check;

#[test]
fn every_form_of_import_is_an_import() {
    check(
        &[
            (
                "a.ts",
                "/// <reference path=\"m.ts\" />\n\
                 import './b'; import c from './c'; import type { D } from './d';\n\
                 export { e } from './e'; export * from './f'; export * as g from './g';\n\
                 const h = await import('./h'); const i = require('./i');\n\
                 import j = require('./j'); let k: import('./k').K; let l: typeof import('./l');\n\
                 void import(`./n`); if (x) { function y() { require(`./o`) } }\n",
            ),
            ("b.ts", ""),
            ("c.ts", ""),
            ("d.ts", ""),
            ("e.ts", ""),
            ("f.ts", ""),
            ("g.ts", ""),
            ("h.ts", ""),
            ("i.ts", ""),
            ("j.ts", ""),
            ("k.ts", ""),
            ("l.ts", ""),
            ("m.ts", ""),
            ("n.ts", ""),
            ("o.ts", ""),
        ],
        &[
            "a.ts -> b.ts",
            "a.ts -> c.ts",
            "a.ts -> d.ts",
            "a.ts -> e.ts",
            "a.ts -> f.ts",
            "a.ts -> g.ts",
            "a.ts -> h.ts",
            "a.ts -> i.ts",
            "a.ts -> j.ts",
            "a.ts -> k.ts",
            "a.ts -> l.ts",
            "a.ts -> m.ts",
            "a.ts -> n.ts",
            "a.ts -> o.ts",
        ],
    );
}

#[test]
fn text_that_only_looks_like_an_import_is_skipped() {
    check(
        &[
            (
                "a.ts",
                "// import './b'\nconst s = \"import './b'\"; /* require('./b') */\n\
                 const t = `import('./b')`; x.require('./b'); import(`./${'b'}`); import(b); require();\n\
                 import './a'; import ''; import 'b'; import '/b'; import 'https://x/b.ts'; vi.mock('./b');",
            ),
            ("b.ts", ""),
        ],
        &[],
    );
}

#[test]
fn endings_are_found_as_typescript_finds_them() {
    check(
        &[
            (
                "src/a.ts",
                "import './js.js'; import './jsx.jsx'; import './mjs.mjs'; import './cjs.cjs';\n\
                 import './none'; import './real.js'; import './tsx.js'; import './both';\n\
                 import './dir'; import './dir/'; import '.'; import '..'; import '../up';\n\
                 import './style.css'; import './data.json'; import './data'; import './x.vue';\n\
                 import './raw.txt?raw'; import './none?worker'; import './dotted.name';",
            ),
            ("src/js.ts", ""),
            ("src/jsx.tsx", ""),
            ("src/mjs.mts", ""),
            ("src/cjs.cts", ""),
            ("src/none.ts", ""),
            ("src/real.js", ""),
            ("src/tsx.tsx", ""),
            ("src/both.ts", ""),
            ("src/both.js", ""),
            ("src/both/index.ts", ""),
            ("src/dir/index.tsx", ""),
            ("src/index.ts", ""),
            ("index.js", ""),
            ("up/index.mjs", ""),
            ("src/style.css", ""),
            ("src/data.json", "{}"),
            ("src/x.vue", ""),
            ("src/raw.txt", ""),
            ("src/dotted.name.ts", ""),
        ],
        &[
            "src/a.ts -> index.js",
            "src/a.ts -> src/both.ts",
            "src/a.ts -> src/cjs.cts",
            "src/a.ts -> src/data.json",
            "src/a.ts -> src/dir/index.tsx",
            "src/a.ts -> src/dotted.name.ts",
            "src/a.ts -> src/index.ts",
            "src/a.ts -> src/js.ts",
            "src/a.ts -> src/jsx.tsx",
            "src/a.ts -> src/mjs.mts",
            "src/a.ts -> src/none.ts",
            "src/a.ts -> src/raw.txt",
            "src/a.ts -> src/real.js",
            "src/a.ts -> src/style.css",
            "src/a.ts -> src/tsx.tsx",
            "src/a.ts -> src/x.vue",
            "src/a.ts -> up/index.mjs",
        ],
    );
}

#[test]
fn a_folder_with_a_manifest_is_its_main_file() {
    check(
        &[
            ("a.js", "require('./lib')"),
            ("lib/package.json", r#"{ "main": "./main.js" }"#),
            ("lib/main.js", ""),
            ("lib/index.js", ""),
        ],
        &["a.js -> lib/main.js"],
    );
}

#[test]
fn a_specifier_never_leaves_the_project() {
    check(
        &[(
            "a.ts",
            "import '../a'; import '../../../../../../etc/passwd'; import './../x/../../a.ts';",
        )],
        &[],
    );
}

#[test]
fn tsconfig_renames() {
    check(
        &[
            (
                "tsconfig.json",
                "{ // a comment\n \"extends\": [\"@tsconfig/strictest\", \"./config/base\"], \"include\": [\"src\"], }",
            ),
            (
                "config/base.json",
                r#"{ "compilerOptions": { "baseUrl": "..", "paths": {
                    "@/*": ["src/*"], "exact": ["src/exact.ts"], "many/*": ["nowhere/*", "src/many/*"] } } }"#,
            ),
            (
                "src/a.ts",
                "import '@/b'; import '@/c.js'; import 'exact'; import 'many/d'; import 'src/e'; import '@/none';",
            ),
            ("src/b.ts", ""),
            ("src/c.ts", ""),
            ("src/exact.ts", ""),
            ("src/many/d.ts", ""),
            ("src/e/index.ts", ""),
            // No configuration includes it, and it should still be found.
            ("tests/a.test.ts", "import '@/b';"),
        ],
        &[
            "src/a.ts -> src/b.ts",
            "src/a.ts -> src/c.ts",
            "src/a.ts -> src/e/index.ts",
            "src/a.ts -> src/exact.ts",
            "src/a.ts -> src/many/d.ts",
            "tests/a.test.ts -> src/b.ts",
        ],
    );
}

#[test]
fn the_nearest_tsconfig_and_its_references_decide() {
    check(
        &[
            (
                "tsconfig.json",
                r#"{ "files": [], "references": [{ "path": "./tsconfig.app.json" }, { "path": "./gone" }, { "path": "./pkg" }] }"#,
            ),
            (
                "tsconfig.app.json",
                r#"{ "include": ["app"], "compilerOptions": { "paths": { "~/*": ["./app/*"] } } }"#,
            ),
            (
                "pkg/tsconfig.json",
                r#"{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }"#,
            ),
            ("app/a.ts", "import '~/b';"),
            ("app/b.ts", ""),
            ("pkg/src/a.ts", "import '~/b';"),
            ("pkg/src/b.ts", ""),
        ],
        &["app/a.ts -> app/b.ts", "pkg/src/a.ts -> pkg/src/b.ts"],
    );
}

#[test]
fn a_broken_tsconfig_spoils_only_itself() {
    check(
        &[
            ("tsconfig.json", "{ \"extends\": \"./tsconfig.json\", oops"),
            ("pkg/tsconfig.json", "{ \"extends\": \"./other\" }"),
            ("pkg/other.json", "{ \"extends\": \"./tsconfig\" }"),
            ("pkg/a.ts", "import './b';"),
            ("pkg/b.ts", "import '../c';"),
            ("c.ts", ""),
        ],
        &["pkg/a.ts -> pkg/b.ts", "pkg/b.ts -> c.ts"],
    );
}

#[test]
fn a_broken_manifest_spoils_only_itself() {
    check(
        &[
            (
                "package.json",
                r#"{ "name": "root", "exports": { "./x": "./x.ts" } }"#,
            ),
            ("x.ts", ""),
            ("bad/package.json", "{ \"name\": \"bad\", <<<<<<<"),
            ("bad/a.ts", "import './b'; import 'good'; import 'root/x';"),
            ("bad/b.ts", ""),
            ("list/package.json", "[]"),
            (
                "good/package.json",
                "\u{feff}{ \"name\": \"good\", \"main\": \"main.ts\" }",
            ),
            ("good/main.ts", ""),
        ],
        &[
            "bad/a.ts -> bad/b.ts",
            "bad/a.ts -> good/main.ts",
            "bad/a.ts -> x.ts",
        ],
    );
}

#[test]
fn a_package_knows_its_imports_and_itself() {
    check(
        &[
            (
                "package.json",
                r##"{ "name": "me", "imports": { "#dep": "./src/dep.ts", "#lib/*": { "types": "./src/lib/*.ts" } },
                     "exports": { ".": "./src/index.ts", "./deep/*": { "import": "./src/deep/*.js" } } }"##,
            ),
            (
                "src/a.ts",
                "import '#dep'; import '#lib/x'; import 'me'; import 'me/deep/y'; import 'me/hidden'; import '#none';",
            ),
            ("src/dep.ts", ""),
            ("src/lib/x.ts", ""),
            ("src/index.ts", ""),
            ("src/deep/y.ts", ""),
        ],
        &[
            "src/a.ts -> src/deep/y.ts",
            "src/a.ts -> src/dep.ts",
            "src/a.ts -> src/index.ts",
            "src/a.ts -> src/lib/x.ts",
        ],
    );
}

#[test]
fn packages_of_a_workspace_are_found_by_name_whether_built_or_not() {
    check(
        &[
            (
                "package.json",
                r#"{ "private": true, "workspaces": ["packages/*"] }"#,
            ),
            (".gitignore", "node_modules\ndist\n"),
            (
                "packages/app/src/a.ts",
                "import '@x/built'; import '@x/built/sub'; import '@x/plain'; import '@x/plain/src/deep';\n\
                 import 'core'; import 'core-extra'; import 'core/util'; import 'react'; import '@x/none';",
            ),
            ("packages/app/package.json", r#"{ "name": "app" }"#),
            (
                "packages/built/package.json",
                r#"{ "name": "@x/built", "exports": {
                    ".": { "types": "./dist/index.d.ts", "import": "./dist/index.mjs" },
                    "./sub": { "import": "./dist/sub/main.js" } } }"#,
            ),
            ("packages/built/src/index.ts", ""),
            ("packages/built/src/sub/main.ts", ""),
            ("packages/built/dist/index.mjs", "not to be seen"),
            (
                "packages/plain/package.json",
                r#"{ "name": "@x/plain", "main": "lib/plain.js" }"#,
            ),
            ("packages/plain/src/plain.ts", ""),
            ("packages/plain/src/deep.ts", ""),
            ("packages/core/package.json", r#"{ "name": "core" }"#),
            ("packages/core/index.ts", ""),
            ("packages/core/src/util/index.ts", ""),
            (
                "packages/core-extra/package.json",
                r#"{ "name": "core-extra" }"#,
            ),
            ("packages/core-extra/src/index.tsx", ""),
        ],
        &[
            "packages/app/src/a.ts -> packages/built/src/index.ts",
            "packages/app/src/a.ts -> packages/built/src/sub/main.ts",
            "packages/app/src/a.ts -> packages/core/index.ts",
            "packages/app/src/a.ts -> packages/core/src/util/index.ts",
            "packages/app/src/a.ts -> packages/core-extra/src/index.tsx",
            "packages/app/src/a.ts -> packages/plain/src/deep.ts",
            "packages/app/src/a.ts -> packages/plain/src/plain.ts",
        ],
    );
}

#[test]
fn ignored_and_refused_files_are_no_targets() {
    check(
        &[
            (".gitignore", "generated\n"),
            (
                "a.ts",
                "import './generated/x'; import './.env'; import './b'; import './id_rsa';",
            ),
            ("generated/x.ts", ""),
            (".env", "SECRET=1"),
            ("id_rsa", "KEY"),
            ("b.ts", ""),
        ],
        &["a.ts -> b.ts"],
    );
}

#[test]
fn components_import_and_are_imported() {
    check(
        &[
            (
                "main.ts",
                "import App from './App.vue';\nimport S from './S.svelte';",
            ),
            (
                "App.vue",
                "<script setup lang=\"ts\">\nimport { contributors } from './contributors';\nimport S from './S.svelte';\n</script>\n<template><S/></template>",
            ),
            (
                "S.svelte",
                "<script>import { a } from './lib/a.js';</script>",
            ),
            (
                "P.astro",
                "---\nimport App from './App.vue';\n---\n<App/><script>import './lib/a';</script>",
            ),
            ("contributors.ts", "export const contributors = [];"),
            ("lib/a.js", "export const a = 1;"),
        ],
        &[
            "App.vue -> S.svelte",
            "App.vue -> contributors.ts",
            "P.astro -> App.vue",
            "P.astro -> lib/a.js",
            "S.svelte -> lib/a.js",
            "main.ts -> App.vue",
            "main.ts -> S.svelte",
        ],
    );
}
