//! JSON, YAML and TOML: whether a text can be read at all. Each reader bounds its own depth.

use super::place::Fault;
use crate::strict;
use serde::de::IgnoredAny;

pub(super) fn json(answer: &str) -> Result<(), Fault> {
    strict::parse(strict::without_bom(answer))
        .map(drop)
        .map_err(|fault| Fault {
            line: fault.line,
            column: fault.column,
            detail: format!("{}. {}", fault.detail, fault.hint),
        })
}

/// One document or several.
pub(super) fn yaml(answer: &str) -> Result<(), Fault> {
    let read = serde_saphyr::from_multiple::<IgnoredAny>(answer);
    read.map(drop).map_err(|error| {
        let place = error.location();
        let detail = error.without_snippet().render();
        let detail = detail.split(" at line ").next().unwrap_or_default();
        let detail = detail.split(", set DuplicateKeyPolicy").next();
        Fault {
            line: place.map_or(1, |place| place.line() as usize).max(1),
            column: place.map_or(1, |place| place.column() as usize).max(1),
            detail: detail.unwrap_or_default().to_owned(),
        }
    })
}

pub(super) fn toml(answer: &str) -> Result<(), Fault> {
    toml::from_str::<toml::Table>(answer)
        .map(drop)
        .map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            Fault::at_offset(answer, offset, error.message().replace('\n', "; "))
        })
}
