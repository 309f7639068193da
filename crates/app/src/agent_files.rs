//! Files that tell coding agents what this project has and how to use it: a section of AGENTS.md and a skill.
//!
//! Our part is between two marks and is made anew; everything around it stays as the user wrote it.

use workspace::{ChangeSet, RelPath, Root};

use crate::init::InitReport;
use crate::{AppErrorCode, Error};

const BEGIN: &str = "<!-- drawloom: begin (made by `drawloom init --agents`) -->";
const END: &str = "<!-- drawloom: end -->";

/// The head of the skill, which clients read before they load the rest.
const SKILL_HEAD: &str = "---\nname: drawloom\ndescription: Makes files from this project's recipes, runs its \
    workflows and builds with the command `drawloom`. Use it when the project has a `.drawloom` folder and code \
    is to be generated, a workflow started, or a run explained.\n---\n\n";

/// A file, its part that is ours, and the text of a new one before that part.
const FILES: [(&str, &str, &str); 2] = [
    (
        "AGENTS.md",
        include_str!("starter/agents/AGENTS.md"),
        "# For agents\n\n",
    ),
    (
        ".claude/skills/drawloom/SKILL.md",
        include_str!("starter/agents/SKILL.md"),
        SKILL_HEAD,
    ),
];

/// Adds the parts to the files, or makes them anew.
pub fn write(root: &Root) -> Result<InitReport, Error> {
    let mut done = InitReport::default();
    let mut changes = ChangeSet::new();
    for (file, part, head) in FILES {
        let path = RelPath::parse(file)?;
        let before = root.read_text(&path)?;
        let after = match &before {
            None => format!("{head}{}", marked(part)),
            Some(before) => with_part(before, part).map_err(|message| {
                Error::new(AppErrorCode::Data, format!("{file}: {message}"))
                    .hint("remove both marks, or put the missing one back; then run it again")
            })?,
        };
        if before.as_deref() == Some(after.as_str()) {
            done.kept.push(file.to_owned());
            continue;
        }
        changes.write(path, after);
        done.written.push(file.to_owned());
    }
    root.apply(&changes)?;
    Ok(done)
}

fn marked(part: &str) -> String {
    format!("{BEGIN}\n{part}{END}\n")
}

/// Returns the text with our part in it, where it was or at the end.
fn with_part(before: &str, part: &str) -> Result<String, String> {
    let newline = if before.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let ours = marked(part).replace('\n', newline);
    let begins: Vec<usize> = before.match_indices(BEGIN).map(|(at, _)| at).collect();
    let ends: Vec<usize> = before.match_indices(END).map(|(at, _)| at).collect();
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => {
            let gap = match before {
                "" => "",
                text if text.ends_with(&newline.repeat(2)) => "",
                text if text.ends_with('\n') => newline,
                _ => &newline.repeat(2),
            };
            Ok(format!("{before}{gap}{ours}"))
        }
        ([begin], [end]) if begin < end => {
            let rest = &before[end + END.len()..];
            let rest = rest.strip_prefix(newline).unwrap_or(rest);
            Ok(format!("{}{ours}{rest}", &before[..*begin]))
        }
        _ => Err("the marks of drawloom's part are not one pair".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "<!-- drawloom: begin (made by `drawloom init --agents`) -->\npart\n<!-- drawloom: end -->\n";

    #[track_caller]
    fn check(before: &str, expected: &str) {
        let once = with_part(before, "part\n").unwrap();
        assert_eq!(once, expected);
        assert_eq!(with_part(&once, "part\n").unwrap(), once, "a second time");
    }

    #[test]
    fn what_the_user_wrote_stays_around_the_part() {
        check("", OURS);
        check("# Mine\n", &format!("# Mine\n\n{OURS}"));
        check("# Mine", &format!("# Mine\n\n{OURS}"));
        check("# Mine\n\n", &format!("# Mine\n\n{OURS}"));
        let old = OURS.replace("part", "an older part\nof two lines");
        check(
            &format!("above\n{old}below\n"),
            &format!("above\n{OURS}below\n"),
        );
        check(
            "# Mine\r\n",
            &format!("# Mine\r\n\r\n{OURS}")
                .replace("\r\n", "\n")
                .replace('\n', "\r\n"),
        );
    }

    #[test]
    fn marks_that_are_no_pair_are_refused() {
        for broken in [
            format!("{BEGIN}\nwords\n"),
            format!("{END}\n{BEGIN}\n"),
            format!("{OURS}{OURS}"),
        ] {
            assert!(with_part(&broken, "part\n").is_err(), "{broken}");
        }
    }
}
