//! The options of `drawloom run`, and the kinds of things that each is for.

use app::run_target::TargetKind::{self, Plan, Recipe, Task, Workflow};

use crate::exit::CliError;

/// Options that are not for every kind of thing, by their long names.
const FITS: [(&str, &[TargetKind]); 17] = [
    ("answers", &[Recipe]),
    ("set", &[Recipe, Workflow]),
    ("ask", &[Recipe]),
    ("prompt-template", &[Recipe]),
    ("dry-run", &[Recipe]),
    ("force", &[Recipe]),
    ("skip-existing", &[Recipe]),
    ("strict", &[Recipe]),
    ("undo", &[Recipe]),
    ("resume", &[Recipe, Task, Plan]),
    ("input", &[Workflow]),
    ("inputs", &[Workflow]),
    ("no-wait", &[Workflow]),
    ("wait", &[Workflow]),
    ("priority", &[Workflow]),
    ("tag", &[Workflow]),
    ("database", &[Workflow]),
];

/// Refuses the first option that is not for this kind of thing.
pub(super) fn check(kind: TargetKind, name: &str, options: &[String]) -> Result<(), CliError> {
    let misfits = options.iter().find_map(|option| {
        let (_, kinds) = FITS.iter().find(|(known, _)| known == option)?;
        (!kinds.contains(&kind)).then_some((option, kinds))
    });
    let Some((option, kinds)) = misfits else {
        return Ok(());
    };
    let kinds: Vec<String> = kinds
        .iter()
        .map(|kind| format!("{}s", kind.as_str()))
        .collect();
    let kinds = match kinds.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => kinds.concat(),
    };
    let error = CliError::usage(format!(
        "`--{option}` is for {kinds}, and `{name}` is a {}",
        kind.as_str()
    ));
    Err(match (option.as_str(), kind) {
        ("resume", Workflow) => error.hint("`drawloom runs resume ID --wait` continues a run"),
        ("database", _) => error.hint("DRAWLOOM_DATABASE_URL names a database for every command"),
        _ => error.hint("leave it out; `drawloom run --help` says what each option does"),
    })
}

#[cfg(test)]
mod tests {
    use super::{FITS, check};
    use crate::arguments;
    use app::run_target::TargetKind;

    #[test]
    fn every_option_of_the_table_exists() {
        let options = arguments::options_of_run();
        for (name, _) in FITS {
            assert!(options.iter().any(|option| option == name), "{name}");
        }
    }

    #[test]
    fn an_option_of_another_kind_is_named_with_its_kind() {
        let error = check(TargetKind::Task, "t.json", &["set".to_owned()]).unwrap_err();
        assert_eq!(
            error.problems[0].message,
            "`--set` is for recipes and workflows, and `t.json` is a task"
        );
        check(TargetKind::Plan, "p.json", &["resume".to_owned()]).unwrap();
    }
}
