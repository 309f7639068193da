//! Which sandbox holds on this machine, found out by starting each, and why.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::{Kind, Requirement};
use crate::{Error, ErrorKind};

/// What became of starting each kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Bubblewrap.
    pub bubblewrap: Availability,
    /// Landlock with seccomp.
    pub landlock: Availability,
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
        bubblewrap: super::bubblewrap::probe(),
        landlock: super::landlock::probe(),
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
        let (bubblewrap, landlock) = (self.bubblewrap.is_held(), self.landlock.is_held());
        match requirement {
            Requirement::None => Ok(Kind::None),
            Requirement::Auto | Requirement::Bubblewrap if bubblewrap => Ok(Kind::Bubblewrap),
            Requirement::Auto | Requirement::Landlock if landlock => Ok(Kind::Landlock),
            _ => Err(self.refusal(requirement)),
        }
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

    fn kinds(&self) -> [(Kind, &Availability); 2] {
        [
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
        let probe = Probe {
            bubblewrap: availability(Kind::Bubblewrap),
            landlock: availability(Kind::Landlock),
        };
        assert_eq!(probe.choose(asked).ok(), expected);
    }

    #[test]
    fn the_best_kind_is_chosen_and_never_none_by_itself() {
        let both: &[Kind] = &[Kind::Bubblewrap, Kind::Landlock];
        let (bubblewrap, landlock) = (&both[..1], &both[1..]);
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
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
        };
        let error = probe.choose(Requirement::Bubblewrap).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSandbox);
        assert_eq!(
            error.to_string(),
            "the command was not started: no sandbox can be used here (asked for: bubblewrap). bubblewrap: `bwrap` is not installed. landlock: works, but was not asked for. Mend one of them, or allow commands without a sandbox by setting `agent.sandbox.kind` to `none`"
        );
    }

    #[test]
    fn an_explanation_names_the_active_kind_and_every_limit() {
        let probe = Probe {
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
        };
        assert_eq!(
            probe.explain(Requirement::Auto),
            "active: landlock (asked for: auto)\nbubblewrap: not available: `bwrap` is not installed\nlandlock: version 1, started\n  limit: new names are refused"
        );
        assert!(probe.explain(Requirement::Bubblewrap).starts_with(
            "active: no kind can be used (asked for: bubblewrap), so commands are refused"
        ));
    }
}
