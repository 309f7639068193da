//! Recipes within recipes.

use crate::check::{Case, recipe};
use recipe::RecipeErrorKind;
use serde_json::json;

fn nested(parent: &str) -> Case {
    recipe(parent)
        .file(".drawloom/recipes/child/recipe.yml", "name: child\nvariables:\n  name: { type: string, required: true }\n  size: { type: number, default: 1 }\nprovides: [made]\nsteps:\n  - template: c\n    exports: { made: result.files }\n")
        .file(".drawloom/recipes/child/c.jig", "---\nto: out/{{ name }}\n---\n{{ size + 1 }} {{ typeof other }}\n@ai('k-' + name)\n@prompt()\nAbout {{ name }}?\n@end\n@end\n")
}

const PARENT: &str = "name: it
variables:
  name: { type: string, default: top }
  other: { type: string, default: o }
steps:
  - name: inherited
    recipe: child
  - name: given
    recipe: ../child
    args: { name: 'x-{{ name }}', size: '4' }
  - name: mapped
    recipe: child
    inheritVariables: false
    variableMapping: { other: name }
  - template: made
";

#[test]
fn questions_join_the_parents_and_files_land_in_the_project() {
    let case = || nested(PARENT).template("made.jig", "{{ made[0] }}\n");
    let ran = case().run();
    let keys: Vec<_> = ran
        .needed()
        .questionnaire
        .keys()
        .map(str::to_owned)
        .collect();
    assert_eq!(keys, ["k-top", "k-x-top", "k-o"]);
    let ran = case()
        .answers(json!({ "k-top": "1", "k-x-top": "2", "k-o": "3" }))
        .run();
    ran.assert_files(&[
        ("out/top", "2 undefined\n1\n"),
        ("out/x-top", "5 undefined\n2\n"),
        ("out/o", "2 undefined\n3\n"),
        ("made", "out/o\n"),
    ]);
}

#[test]
fn a_child_is_held_to_its_own_declarations() {
    for (step, expected) in [
        ("  - recipe: child\n    args: { nmae: x }\n", "`name`"),
        (
            "  - recipe: child\n    args: { name: a, size: big }\n",
            "must be a number",
        ),
        ("  - recipe: chidl\n", "did you mean `child`?"),
        ("  - recipe: child\n", "`name` (string)"),
    ] {
        let ran = nested(&format!("name: it\nsteps:\n{step}")).run();
        let text = ran.failed().report();
        assert!(text.contains(expected), "{step}: {text}");
    }
}

#[test]
fn a_recipe_that_runs_itself_is_named() {
    let ran = recipe("name: it\nsteps:\n  - recipe: other\n")
        .file(
            ".drawloom/recipes/other/recipe.yml",
            "name: other\nsteps:\n  - recipe: it\n",
        )
        .run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Limit);
    let text = error.to_string();
    assert!(
        text.contains("it/recipe.yml -> .drawloom/recipes/other/recipe.yml"),
        "{text}"
    );
    assert!(text.contains("RECIPE_DEPTH_MAX"), "{text}");
}
