//! Finds the sandboxes that work on this machine by starting each, and explains the choice.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::{SandboxKind, SandboxRequirement};
use crate::{Error, ExecErrorKind};

/// The result of starting each kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProbe {
    /// Namespaces made by this program.
    pub namespaces: SandboxAvailability,
    /// Bubblewrap.
    pub bubblewrap: SandboxAvailability,
    /// Landlock with seccomp.
    pub landlock: SandboxAvailability,
    /// True if commands run as an administrator. Landlock restricts one only on request, because
    /// the whole system's files are within reach of its limits.
    pub is_administrator: bool,
}

/// Tells whether a kind of sandbox works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxAvailability {
    /// It was started and restricted the command.
    Held {
        /// The program that was started: its version and path.
        what: String,
        /// Restrictions it lacks, or has only by allowing less; a sentence each.
        limits: Vec<String>,
    },
    /// It cannot be used.
    Unavailable {
        /// The cause, and what to do about it.
        why: String,
    },
}

impl SandboxAvailability {
    /// Returns true if it can be used.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self, SandboxAvailability::Held { .. })
    }
}

/// Starts each kind of sandbox once and returns the results.
#[must_use]
pub fn probe() -> SandboxProbe {
    #[cfg(target_os = "linux")]
    return SandboxProbe {
        namespaces: super::namespaces::probe(),
        bubblewrap: super::bubblewrap::probe(),
        landlock: super::landlock::probe(),
        is_administrator: rustix::process::geteuid().is_root(),
    };
    #[cfg(not(target_os = "linux"))]
    return super::unsupported::probe();
}

/// Works like [`probe`], once for the life of this process; every start of a command uses the
/// result.
#[must_use]
pub fn probed() -> &'static SandboxProbe {
    static PROBED: OnceLock<SandboxProbe> = OnceLock::new();
    PROBED.get_or_init(probe)
}

impl SandboxProbe {
    /// Chooses the kind for a requirement; an error says why no kind works and what to do.
    pub fn choose(&self, requirement: SandboxRequirement) -> Result<SandboxKind, Error> {
        let wanted: &[SandboxKind] = match requirement {
            SandboxRequirement::None => return Ok(SandboxKind::None),
            SandboxRequirement::Auto if self.is_administrator => {
                &[SandboxKind::Namespaces, SandboxKind::Bubblewrap]
            }
            SandboxRequirement::Auto => &[
                SandboxKind::Namespaces,
                SandboxKind::Bubblewrap,
                SandboxKind::Landlock,
            ],
            SandboxRequirement::Namespaces => &[SandboxKind::Namespaces],
            SandboxRequirement::Bubblewrap => &[SandboxKind::Bubblewrap],
            SandboxRequirement::Landlock => &[SandboxKind::Landlock],
        };
        let is_held = |kind: &SandboxKind| {
            self.kinds()
                .iter()
                .any(|(known, availability)| known == kind && availability.is_held())
        };
        let held = wanted.iter().copied().find(is_held);
        held.ok_or_else(|| self.refusal(requirement))
    }

    /// Explains the choice for a requirement, as lines for a person.
    #[must_use]
    pub fn explain(&self, requirement: SandboxRequirement) -> String {
        let mut text = match self.choose(requirement) {
            Ok(SandboxKind::None) => {
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
                SandboxAvailability::Held { what, limits } => {
                    push_line(&mut text, &format!("{kind}: {what}"));
                    if kind == SandboxKind::Landlock && self.is_administrator {
                        push_line(&mut text, &format!("  limit: {NOT_FOR_ROOT}"));
                    }
                    for limit in limits {
                        push_line(&mut text, &format!("  limit: {limit}"));
                    }
                }
                SandboxAvailability::Unavailable { why } => {
                    push_line(&mut text, &format!("{kind}: not available: {why}"));
                }
            }
        }
        text
    }

    fn kinds(&self) -> [(SandboxKind, &SandboxAvailability); 3] {
        [
            (SandboxKind::Namespaces, &self.namespaces),
            (SandboxKind::Bubblewrap, &self.bubblewrap),
            (SandboxKind::Landlock, &self.landlock),
        ]
    }

    fn refusal(&self, requirement: SandboxRequirement) -> Error {
        let mut message = format!(
            "the command was not started: no sandbox can be used here (asked for: {requirement})."
        );
        for (kind, availability) in self.kinds() {
            let why = match availability {
                SandboxAvailability::Unavailable { why } => why.as_str(),
                SandboxAvailability::Held { .. } if requirement == SandboxRequirement::Auto => {
                    NOT_FOR_ROOT
                }
                SandboxAvailability::Held { .. } => "works, but was not asked for",
            };
            // Writing to a string does not fail.
            write!(message, " {kind}: {why}.").ok();
        }
        message.push_str(
            " Fix one of them, or allow commands without a sandbox by setting `agent.sandbox.kind` to `none`",
        );
        Error::new(ExecErrorKind::NoSandbox, message)
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

    fn held() -> SandboxAvailability {
        SandboxAvailability::Held {
            what: "version 1, started".to_owned(),
            limits: vec!["new names are refused".to_owned()],
        }
    }

    fn gone(why: &str) -> SandboxAvailability {
        SandboxAvailability::Unavailable {
            why: why.to_owned(),
        }
    }

    #[track_caller]
    fn check(works: &[SandboxKind], asked: SandboxRequirement, expected: Option<SandboxKind>) {
        let availability = |kind| match works.contains(&kind) {
            true => held(),
            false => gone("forbidden"),
        };
        let probe = |is_administrator| SandboxProbe {
            namespaces: availability(SandboxKind::Namespaces),
            bubblewrap: availability(SandboxKind::Bubblewrap),
            landlock: availability(SandboxKind::Landlock),
            is_administrator,
        };
        assert_eq!(probe(false).choose(asked).ok(), expected);
        let by_itself =
            asked == SandboxRequirement::Auto && expected == Some(SandboxKind::Landlock);
        let for_root = expected.filter(|_| !by_itself);
        assert_eq!(probe(true).choose(asked).ok(), for_root);
    }

    #[test]
    fn the_best_kind_is_chosen_and_never_none_by_itself() {
        let all: &[SandboxKind] = &[
            SandboxKind::Namespaces,
            SandboxKind::Bubblewrap,
            SandboxKind::Landlock,
        ];
        let (both, bubblewrap, landlock) = (&all[1..], &all[1..2], &all[2..]);
        check(all, SandboxRequirement::Auto, Some(SandboxKind::Namespaces));
        check(
            all,
            SandboxRequirement::Namespaces,
            Some(SandboxKind::Namespaces),
        );
        check(both, SandboxRequirement::Namespaces, None);
        check(
            both,
            SandboxRequirement::Auto,
            Some(SandboxKind::Bubblewrap),
        );
        check(
            landlock,
            SandboxRequirement::Auto,
            Some(SandboxKind::Landlock),
        );
        check(&[], SandboxRequirement::Auto, None);
        check(
            both,
            SandboxRequirement::Landlock,
            Some(SandboxKind::Landlock),
        );
        check(bubblewrap, SandboxRequirement::Landlock, None);
        check(landlock, SandboxRequirement::Bubblewrap, None);
        check(both, SandboxRequirement::None, Some(SandboxKind::None));
        check(&[], SandboxRequirement::None, Some(SandboxKind::None));
    }

    #[test]
    fn a_refusal_says_why_and_what_to_do() {
        let probe = SandboxProbe {
            namespaces: gone("forbidden"),
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
            is_administrator: false,
        };
        let error = probe.choose(SandboxRequirement::Bubblewrap).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::NoSandbox);
        assert_eq!(
            error.to_string(),
            "the command was not started: no sandbox can be used here (asked for: bubblewrap). namespaces: forbidden. bubblewrap: `bwrap` is not installed. landlock: works, but was not asked for. Fix one of them, or allow commands without a sandbox by setting `agent.sandbox.kind` to `none`"
        );
    }

    #[test]
    fn an_explanation_names_the_active_kind_and_every_limit() {
        let probe = SandboxProbe {
            namespaces: gone("forbidden"),
            bubblewrap: gone("`bwrap` is not installed"),
            landlock: held(),
            is_administrator: false,
        };
        assert_eq!(
            probe.explain(SandboxRequirement::Auto),
            "active: landlock (asked for: auto)\nnamespaces: not available: forbidden\nbubblewrap: not available: `bwrap` is not installed\nlandlock: version 1, started\n  limit: new names are refused"
        );
        assert!(probe.explain(SandboxRequirement::Bubblewrap).starts_with(
            "active: no kind can be used (asked for: bubblewrap), so commands are refused"
        ));
    }
}
