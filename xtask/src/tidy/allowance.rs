//! The one form in which a file states why it breaks a rule: a comment line
//! `tidy: allow RULE, because REASON`.

use super::finding::{Finding, Rule};
use super::tree::TextFile;

const MARK: &str = "tidy: allow ";
const REASON_WORDS_MIN: usize = 3;

/// The rules a file has allowed itself, each with a reason someone can disagree with.
pub(crate) struct Allowances {
    rules: Vec<Rule>,
    malformed: Vec<(usize, String)>,
}

impl Allowances {
    pub(crate) fn read(text: &str) -> Self {
        let mut allowances = Self {
            rules: Vec::new(),
            malformed: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let Some(statement) = statement_of(line) else {
                continue;
            };
            match read_statement(statement) {
                Ok(rule) => allowances.rules.push(rule),
                Err(advice) => allowances.malformed.push((index + 1, advice)),
            }
        }
        allowances
    }

    pub(crate) fn has(&self, rule: Rule) -> bool {
        self.rules.contains(&rule)
    }
}

pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let malformed = file.allowances.malformed.iter();
    malformed
        .map(|(line, advice)| Finding::new(&file.path, *line, Rule::Allowance, advice))
        .collect()
}

/// Only a comment that is nothing else counts: prose and strings may quote the form.
fn statement_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let comment = ["// ", "# ", "<!-- "]
        .iter()
        .find_map(|open| line.strip_prefix(open))?;
    comment
        .strip_prefix(MARK)
        .map(|statement| statement.trim_end_matches("-->"))
}

fn read_statement(statement: &str) -> Result<Rule, String> {
    let Some((name, reason)) = statement.split_once(", because ") else {
        return Err(format!("write `{MARK}RULE, because REASON`"));
    };
    let Some(rule) = Rule::named(name) else {
        return Err(format!(
            "there is no rule `{name}`; use the name a finding prints"
        ));
    };
    if !rule.may_be_allowed() {
        return Err(format!("`{name}` cannot be allowed; mend what it found"));
    }
    if reason.split_whitespace().count() < REASON_WORDS_MIN {
        return Err(format!("say why in at least {REASON_WORDS_MIN} words"));
    }
    Ok(rule)
}
