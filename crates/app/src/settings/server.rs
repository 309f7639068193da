//! The keys of `[server]`: how `drawloom serve` behaves.

use super::keys::{SettingKey, SettingValueKind};

/// Everything `[server]` can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeSettings {
    pub log: LogFormat,
}

/// The form of the lines that `drawloom serve` writes about its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document a line, for programs.
    Json,
    /// No lines.
    Off,
}

impl LogFormat {
    /// The words in the settings and on the command line.
    pub const WORDS: [&'static str; 3] = ["text", "json", "off"];

    /// Returns the format that a word means; text for all others.
    pub fn read(word: &str) -> LogFormat {
        match word {
            "json" => LogFormat::Json,
            "off" => LogFormat::Off,
            _ => LogFormat::Text,
        }
    }
}

pub(super) const KEYS: &[SettingKey] = &[SettingKey {
    section: "server",
    name: "log",
    kind: SettingValueKind::Choice(&LogFormat::WORDS, |settings, word| {
        settings.server.log = LogFormat::read(word);
    }),
    about: &["How `drawloom serve` writes its log on stderr: \"text\", \"json\" or \"off\"."],
    default: r#""text""#,
}];
