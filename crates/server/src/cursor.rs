//! Opaque cursors of lists, and the parameters that lists share.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{ApiProblem, ProblemCode};
use crate::request::ApiRequest;

/// How many items a page has unless the caller says.
const PAGE_ITEMS: usize = 50;

/// Writes the place of a page's last item so that callers are not tempted to read it.
pub(crate) fn write(place: &impl Serialize) -> String {
    let text = serde_json::to_vec(place).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(text)
}

/// Reads the cursor of a request, if it has one.
pub(crate) fn read<T: DeserializeOwned>(asked: &ApiRequest) -> Result<Option<T>, ApiProblem> {
    let Some(text) = asked.query("cursor") else {
        return Ok(None);
    };
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let place = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    place.map(Some).ok_or_else(|| {
        ApiProblem::new(ProblemCode::Invalid, "the cursor is not one of this list")
            .at("/query/cursor", "take `nextCursor` of an answer as it is")
    })
}

/// Reads how many items the page of a request has.
pub(crate) fn page_items(asked: &ApiRequest) -> Result<usize, ApiProblem> {
    let max = asked.state().limits().page_items_max;
    let Some(text) = asked.query("limit") else {
        return Ok(PAGE_ITEMS.min(max));
    };
    let count = text.parse::<usize>().ok();
    count
        .filter(|count| (1..=max).contains(count))
        .ok_or_else(|| {
            let detail = format!("a whole number from 1 to {max} (page_items_max)");
            ApiProblem::new(ProblemCode::BadRequest, "the limit cannot be used")
                .at("/query/limit", detail)
        })
}
