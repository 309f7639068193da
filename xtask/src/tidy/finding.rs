//! A finding of tidy: a place, the broken rule, and what to do about it.

use std::fmt;

/// Every rule, under the name that findings print and allowances use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Allowance,
    Arrow,
    Architecture,
    BrokenLink,
    BrokenRust,
    ForbiddenName,
    Leftover,
    LongFile,
    LongFunction,
    MachinePath,
    NoSentence,
    Structure,
    TextForm,
    Vocabulary,
    WideSignature,
}

impl Rule {
    const ALL: [Self; 15] = [
        Self::Allowance,
        Self::Arrow,
        Self::Architecture,
        Self::BrokenLink,
        Self::BrokenRust,
        Self::ForbiddenName,
        Self::Leftover,
        Self::LongFile,
        Self::LongFunction,
        Self::MachinePath,
        Self::NoSentence,
        Self::Structure,
        Self::TextForm,
        Self::Vocabulary,
        Self::WideSignature,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allowance => "allowance",
            Self::Arrow => "arrow",
            Self::Architecture => "architecture",
            Self::BrokenLink => "broken-link",
            Self::BrokenRust => "broken-rust",
            Self::ForbiddenName => "forbidden-name",
            Self::Leftover => "leftover",
            Self::LongFile => "long-file",
            Self::LongFunction => "long-function",
            Self::MachinePath => "machine-path",
            Self::NoSentence => "no-sentence",
            Self::Structure => "structure",
            Self::TextForm => "text-form",
            Self::Vocabulary => "vocabulary",
            Self::WideSignature => "wide-signature",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Rules of taste may be broken for a stated reason; rules of structure may not.
    pub(crate) fn may_be_allowed(self) -> bool {
        matches!(
            self,
            Self::ForbiddenName
                | Self::Leftover
                | Self::LongFile
                | Self::LongFunction
                | Self::MachinePath
                | Self::TextForm
                | Self::WideSignature
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: Rule,
    pub(crate) advice: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, rule: Rule, advice: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            rule,
            advice: advice.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}: {}",
            self.path,
            self.line,
            self.rule.name(),
            self.advice
        )
    }
}
