//! Any text, as an expression over some data: a value or an error, within its limits.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let state = serde_json::json!({
        "a": 1, "b": "two", "l": [3, 1, 2], "o": { "k": "v", "n": { "m": null } }, "t": true,
    });
    let limits = expr::Limits {
        fuel_max: 100_000,
        string_bytes_max: 1 << 20,
        items_max: 50_000,
        ..expr::Limits::default()
    };
    let _ = expr::evaluate(text, &state, &limits);
    let _ = expr::interpolate(text, &state, &limits);
});
