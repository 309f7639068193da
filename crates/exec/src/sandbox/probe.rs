//! Which sandbox holds on this machine, found out by starting each, and why.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::{Kind, Requirement};
use crate::{Error, ErrorKind};

/// What became of starting each kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Namespaces of our own.
    pub namespaces: Availability,
    /// Bubblewrap.
    pub bubblewrap: Availability,
    /// Landlock with seccomp.
    pub landlock: Availability,
    /// Whether commands run as an administrator, whom Landlock holds only where that is asked for:
    /// the files of the whole system are within reach of its limits.
    pub is_administrator: bool,
}

/// Whether a kind of sandbox holds here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It was started and held.
    Held {
        /// What was started: its version and where it is.
        what: String,
        /// What it does not hold, or holds only by allowing less; a sentence each.
        limits: Vec<String>,
    },
    /// It cannot be used.
    Unavailable {
        /// Why, and what to do about it.
        why: String,
    },
}

impl Availability {
    /// Whether it can be used.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self, Availability::Held { .. })
    }
}

/// Starts each kind of sandbox once and says what happened.
#[must_use]
pub fn probe() -> Probe {
    #[cfg(target_os = "linux")]
    return Probe {
        namespaces: super::namespaces::probe(),
        bubblewrap: super::bubblewrap::probe(),
        landlock: super::landlock::probe(),
        is_administrator: rustix::process::geteuid().is_root(),
    };
    #[cfg(not(target_os = "linux"))]
    return super::nowhere::probe();
}

/// As [`probe`], once for the life of this process: what commands are started by.
#[must_use]
pub fn probed() -> &'static Probe {
    static PROBED: OnceLock<Probe> = OnceLock::new();
    PROBED.get_or_init(probe)
}

impl Probe {
    /// The kind that a requirement gets here; an error says why there is none and what to do.
    pub fn choose(&self, requirement: Requirement) -> Result<Kind, Error> {
        let wanted: &[Kind] = match requirement {
            Requirement::None => return Ok(Kind::None),
            Requirement::Auto if self.is_administrator => &[Kind::Namespaces, Kind::Bubblewrap],
            Requirement::Auto => &[Kind::Namespaces, Kind::Bubblewrap, Kind::Landlock],
            Requirement::Namespaces => &[Kind::Namespaces],
            Requirement::Bubblewrap => &[Kind::Bubblewrap],
            Requirement::Landlock => &[Kind::Landlock],
        };
        let is_held = |kind: &Kind| {
            self.kinds()
                .iter()
                .any(|(known, availability)| known == kind && availability.is_held())
        };
        let held = wanted.iter().copied().find(is_held);
        held.ok_or_else(|| self.refusal(requirement))
    }

    /// What a requirement gets here and why, as lines for a person.
    #[must_use]
    pub fn explain(&self, requirement: Requirement) -> String {
        let mut text = match self.choose(requirement) {
            Ok(Kind::None) => {
                "active: none, because the settings say so; commands can do all that you can"
                    .to_owned()
            }
            Ok(kind) => format!("active: {kind} (asked for: {requirement})"),
            Err(_) => format!(
                "active: no kind can be used (asked for: {requirement}), so commands are refused"
            ),
        };
        for (kind, availability) in self.kinds() {
            match availability {
                Availability::Held { what, limits } => {
                    push_line(&mut text, &format!("{kind}: {what}"));
                    if kind == Kind::Landlock && self.is_administrator {
                        push_line(&mut text, &format!("  limit: {NOT_FOR_ROOT}"));
                    }
                    for limit in limits {
                        push_line(&mut text, &format!("  limit: {limit}"));
                    }
                }
                Availability::Unavailable { why } => {
                    push_line(&mut text, &format!("{kind}: not available: {why}"));
                }
            }
        }
        text
    }

    fn kinds(&self) -> [(Kind, &Availability); 3] {
        [
            (Kind::Namespaces, &self.namespaces),
            (Kind::Bubblewrap, &self.bubblewrap),
            (Kind::Landlock, &self.landlock),
        ]
    }

    fn refusal(&self, requirement: Requirement) -> Error {
        let mut message = format!(
            "the command was not started: no sandbox can be used here (asked for: {requirement})."
        );
        for (kind, availability) in self.kinds() {
            let why = match availability {
                Availability::Unavailable { why } => why.as_str(),
                Availability::Held { .. } if requirement == Requirement::Auto => NOT_FOR_ROOT,
                Availability::Held { .. } => "works, but was not asked for",
            };
            // Writing to a string does not fail.
            write!(message, " {kind}: {why}.").ok();
        }
        message.push_str(
            " Mend one of them, or allow commands without a sandbox by setting `agent.sandbox.kind` to `none`",
        );
        Error::new(ErrorKind::NoSandbox, message)
    }
}

const NOT_FOR_ROOT: &str = "root is not held by it unless `agent.sandbox.kind` is `landlock`, because too much of the system is within reach";

fn push_line(text: &mut String, line: &str) {
    text.push('\n');
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> Availability {
        Availability::Held {
            what: "version 1, started".to_owned(),
            limits: vec!["new names are refused".to_owned()],
        }
    }

    fn gone(why: &str) -> Availability {
        Availability::Unavailable {
            why: why.to_owned(),
        }
    }

    #[track_caller]
    fn check(works: &[Kind], asked: Requirement, expected: Option<Kind>) {
        let availability = |kind| match works.contains(&kind) {
            true => held(),
            false => gone("forbidden"),
        };
        let probe = |is_administrator| Probe {
            namespaces: availability(Kind::Namespaces),
            bubblewrap: availability(Kind::Bubblewrap),
            landlock: availability(Kind::Landlock),
            is_administrator,
        };
        assert_eq!(probe(false).choose(asked).ok(), expected);
        let by_itself = asked == Requirement::Auto && expected == Some(Kind::Landlock);
        let for_root = expected.filter(|_| !by_itself);
        assert_eq!(probe(true).choose(asked).ok(), for_root);
    }

    #[test]
    fn the_best_kind_is_chosen_and_never_none_by_itself() {
        let all: &[Kind] = &[Kind::Namespaces, Kind::Bubblewrap, Kind::Landlock];
        let (both, bubblewrap, landlock) = (&all[1..], &all[1..2], &all[2..]);
        check(all, Requirement::Auto, Some(Kind::Namespaces));
        check(all, Requirement::Namespaces, Some(Kind::Namespaces));
        check(both, Requirement::Namespaces, None);
        check(both, Requirement::Auto, Some(Kind::Bubblewrap));
        check(landlock, Requirement::Auto, Some(Kind::Landlock));
        check(&[], Requirement::Auto, None);
        check(both, Requirement::Landlock, Some(Kind::Landlock));
        check(bubblewrap, Requirement::Landlock, None);
        check(landlock, Requirement::Bubblewrap, None);
        check(both, Requirement::None, Some(Kind::None));
        check(&[], Requirement::None, Some(Kind::None));
    }

    #[test]
    fn a_refusal_says_why_and_what_to_do() {
        let probe = Probe {
            namespaces: gone("forbidden"),
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
            is_administrator: false,
        };
        let error = probe.choose(Requirement::Bubblewrap).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSandbox);
        assert_eq!(
            error.to_string(),
            "the command was not started: no sandbox can be used here (asked for: bubblewrap). namespaces: forbidden. bubblewrap: `bwrap` is not installed. landlock: works, but was not asked for. Mend one of them, or allow commands without a sandbox by setting `agent.sandbox.kind` to `none`"
        );
    }

    #[test]
    fn an_explanation_names_the_active_kind_and_every_limit() {
        let probe = Probe {
            namespaces: gone("forbidden"),
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
            is_administrator: false,
        };
        assert_eq!(
            probe.explain(Requirement::Auto),
            "active: landlock (asked for: auto)\nnamespaces: not available: forbidden\nbubblewrap: not available: `bwrap` is not installed\nlandlock: version 1, started\n  limit: new names are refused"
        );
        assert!(probe.explain(Requirement::Bubblewrap).starts_with(
            "active: no kind can be used (asked for: bubblewrap), so commands are refused"
        ));
    }
}
