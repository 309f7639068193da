//! Functions that a recipe declares for its templates and conditions.

use recipe::RecipeErrorKind;

use crate::check::recipe;

#[test]
fn templates_conditions_and_paths_call_the_recipes_own_helpers() {
    let ran = recipe(
        "name: it\nvariables: { name: { default: user account } }\nhelpers:\n  \
         loud: text => text.toUpperCase() + '!'\n  \
         twice: '(text, times) => loud(text).repeat(times ?? 2)'\n\
         steps:\n  - template: a.jig\n    when: loud('x') === 'X!'\n    to: '{{ properCase(name) }}.txt'\n",
    )
    .template("a.jig", "{{ twice(kabobCase(name)) }} {{ twice('a', 1) }}\n@include('part')\n")
    .template("part.jig", "{{ loud :: 'part' }}\n")
    .run();
    ran.assert_files(&[("UserAccount.txt", "USER-ACCOUNT!USER-ACCOUNT! A!\nPART!\n")]);
}

#[test]
fn a_helper_that_cannot_be_called_is_refused_with_its_place() {
    for (helpers, said) in [
        ("a: 1 + 1", "the helper `a` is not a function"),
        ("a: text => (", "E_"),
        ("no-name: x => x", "cannot be called by this name"),
        ("name: x => x", "is a helper and a variable"),
        ("a: x => x.repeat(1e9)", "E_LIMIT_EXCEEDED"),
    ] {
        let manifest = format!(
            "name: it\nvariables: {{ name: {{ default: n }} }}\nhelpers:\n  {helpers}\nsteps:\n  - template: t.jig\n"
        );
        let ran = recipe(&manifest).template("t.jig", "{{ a('x') }}\n").run();
        let error = ran.failed();
        let report = error.report();
        assert!(report.contains(said), "{helpers}: {report}");
        assert!(
            report.contains(".yml:4") || report.contains("t.jig"),
            "{report}"
        );
        assert_ne!(error.kind(), RecipeErrorKind::Usage);
    }
}
