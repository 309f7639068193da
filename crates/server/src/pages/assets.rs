//! Stylesheet, modules and icon, served from the binary under a name that changes with them.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// A file: its name, its type, its text.
type AssetFile = (&'static str, &'static str, &'static str);

const FILES: [AssetFile; 13] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../../assets/style.css"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../../assets/icon.svg"),
    ),
    ("main.js", MODULE, include_str!("../../assets/main.js")),
    ("live.js", MODULE, include_str!("../../assets/live.js")),
    ("patch.js", MODULE, include_str!("../../assets/patch.js")),
    ("draw.js", MODULE, include_str!("../../assets/draw.js")),
    (
        "complete.js",
        MODULE,
        include_str!("../../assets/complete.js"),
    ),
    ("keys.js", MODULE, include_str!("../../assets/keys.js")),
    ("form.js", MODULE, include_str!("../../assets/form.js")),
    ("review.js", MODULE, include_str!("../../assets/review.js")),
    ("settle.js", MODULE, include_str!("../../assets/settle.js")),
    ("copy.js", MODULE, include_str!("../../assets/copy.js")),
    (
        "builder.js",
        MODULE,
        include_str!("../../assets/builder.js"),
    ),
];
const MODULE: &str = "text/javascript; charset=utf-8";

/// The hash of all files together: modules find each other in the folder that it names.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, text) in FILES {
        hash.update(name);
        hash.update(text);
    }
    let bytes = hash.finalize();
    bytes
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
});

/// The path of a file.
pub(super) fn path(name: &str) -> String {
    format!("/assets/{}/{name}", *FOLDER)
}

/// Serves a file. One of an older version is the newest as well, but is not kept for long.
pub(super) async fn show(Path((folder, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file").into_response();
    };
    let kept = match folder == *FOLDER {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers = [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, kept)];
    (headers, *text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_stay_small() {
        let bytes: usize = FILES
            .iter()
            .filter(|(_, kind, _)| *kind == MODULE)
            .map(|(.., text)| text.len())
            .sum();
        assert!(bytes <= 60 << 10, "{bytes} bytes of JavaScript");
    }
}
