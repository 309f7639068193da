//! The log of a server on stderr: one line for everything that happens.

use app::settings::LogFormat;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

/// Starts writing; a second call changes nothing.
pub(crate) fn start(format: LogFormat) {
    // Other crates speak up only when something is wrong.
    let ours = Targets::new()
        .with_target("server", LevelFilter::INFO)
        .with_target("app", LevelFilter::INFO)
        .with_default(LevelFilter::WARN);
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    let registry = tracing_subscriber::registry();
    let _ = match format {
        LogFormat::Text => registry.with(lines.with_filter(ours)).try_init(),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false);
            registry.with(lines.with_filter(ours)).try_init()
        }
        LogFormat::Off => Ok(()),
    };
}
