//! JSON, YAML and TOML: whether a text can be read at all. Each reader bounds its own depth.

use super::position::SyntaxFault;
use crate::strict_json;
use serde::de::IgnoredAny;

pub(super) fn json(answer: &str) -> Result<(), SyntaxFault> {
    strict_json::parse(strict_json::without_bom(answer))
        .map(drop)
        .map_err(|fault| SyntaxFault {
            line: fault.line,
            column: fault.column,
            detail: format!("{}. {}", fault.detail, fault.hint),
        })
}

/// Checks YAML of one document or several.
pub(super) fn yaml(answer: &str) -> Result<(), SyntaxFault> {
    let read = serde_saphyr::from_multiple::<IgnoredAny>(answer);
    read.map(drop).map_err(|error| {
        let place = error.location();
        let detail = error.without_snippet().render();
        let detail = detail.split(" at line ").next().unwrap_or_default();
        let detail = detail.split(", set DuplicateKeyPolicy").next();
        SyntaxFault {
            line: place.map_or(1, |place| place.line() as usize).max(1),
            column: place.map_or(1, |place| place.column() as usize).max(1),
            detail: detail.unwrap_or_default().to_owned(),
        }
    })
}

pub(super) fn toml(answer: &str) -> Result<(), SyntaxFault> {
    toml::from_str::<toml::Table>(answer)
        .map(drop)
        .map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            SyntaxFault::at_offset(answer, offset, error.message().replace('\n', "; "))
        })
}
