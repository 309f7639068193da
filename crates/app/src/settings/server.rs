//! The keys of `[server]`: how `drawloom serve` behaves.

use std::path::PathBuf;

use super::keys::{SettingKey, SettingValueKind};

/// Everything `[server]` can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServeSettings {
    pub log: LogFormat,
    /// Addresses and networks of the proxies in front, as they were written.
    pub proxies: Vec<String>,
    pub forwarded: ForwardedKind,
    /// The certificate of the server, and its private key.
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// The address of a collector of traces, as it was written.
    pub otlp: Option<String>,
}

/// The headers in which the proxies in front tell of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedKind {
    /// `X-Forwarded-For`, `-Proto` and `-Host`.
    #[default]
    Separate,
    /// `Forwarded` (RFC 7239).
    Standard,
}

impl ForwardedKind {
    /// The words in the settings.
    const WORDS: [&'static str; 2] = ["x-forwarded", "forwarded"];
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

/// An empty text, as of a variable that is set to nothing, is no file.
fn file_of(text: String) -> Option<PathBuf> {
    (!text.is_empty()).then(|| text.into())
}

pub(super) const KEYS: &[SettingKey] = &[
    SettingKey {
        section: "server",
        name: "log",
        kind: SettingValueKind::Choice(&LogFormat::WORDS, |settings, word| {
            settings.server.log = LogFormat::read(word);
        }),
        about: &["How `drawloom serve` writes its log on stderr: \"text\", \"json\" or \"off\"."],
        default: r#""text""#,
    },
    SettingKey {
        section: "server",
        name: "proxies",
        kind: SettingValueKind::Texts(|settings, list| settings.server.proxies = list),
        about: &[
            "Proxies in front of `drawloom serve`, such as \"10.0.0.5\" or \"10.1.0.0/16\": only they are",
            "believed about a client's address, scheme and host.",
        ],
        default: "[]",
    },
    SettingKey {
        section: "server",
        name: "forwarded",
        kind: SettingValueKind::Choice(&ForwardedKind::WORDS, |settings, word| {
            settings.server.forwarded = match word {
                "forwarded" => ForwardedKind::Standard,
                _ => ForwardedKind::Separate,
            };
        }),
        about: &[
            "The headers that those proxies set: \"x-forwarded\" (X-Forwarded-For, -Proto, -Host) or",
            "\"forwarded\" (RFC 7239). The others are ignored: a proxy hands on what a client wrote there.",
        ],
        default: r#""x-forwarded""#,
    },
    SettingKey {
        section: "tls",
        name: "cert",
        kind: SettingValueKind::Text(|settings, text| {
            settings.server.tls_certificate = file_of(text);
        }),
        about: &[
            "The certificate of `drawloom serve` with its chain, a PEM file: it then speaks https.",
            "The file and its key are read anew when they change.",
        ],
        default: r#""/etc/drawloom/cert.pem"  # for example"#,
    },
    SettingKey {
        section: "tls",
        name: "key",
        kind: SettingValueKind::Text(|settings, text| settings.server.tls_key = file_of(text)),
        about: &["The certificate's private key, a PEM file that other users cannot read."],
        default: r#""/etc/drawloom/key.pem"  # for example"#,
    },
    SettingKey {
        section: "telemetry",
        name: "otlp",
        kind: SettingValueKind::Text(|settings, text| {
            settings.server.otlp = (!text.is_empty()).then_some(text);
        }),
        about: &["A collector that `drawloom serve` sends traces of runs to, by OTLP over HTTP."],
        default: r#""http://127.0.0.1:4318"  # for example"#,
    },
];
