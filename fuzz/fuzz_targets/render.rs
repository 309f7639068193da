//! A template with a partial and a component, separated by NUL: text or an error, within limits.

#![no_main]

use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use template::{Limits, MapLoader, RenderInput, TemplateEngine, TemplateLayout};

fuzz_target!(|text: &str| {
    let mut parts = text.split('\0');
    let main = parts.next().unwrap_or_default();
    let partial = parts.next().unwrap_or("P {{ a }}\n@include('p')");
    let component = parts.next().unwrap_or("{{ $slots.main() }}");
    let files = [("p.jig", partial), ("components/card.jig", component)];
    let loader: MapLoader = files.into_iter().collect();
    let limits = Limits {
        expr: expr::Limits {
            fuel_max: 100_000,
            string_bytes_max: 1 << 20,
            items_max: 50_000,
            ..expr::Limits::default()
        },
        output_bytes_max: 1 << 20,
        ..Limits::default()
    };
    let state = serde_json::json!({
        "a": 1, "b": "two", "l": [3, 1, 2], "o": { "k": "v", "n": { "m": null } }, "name": "p",
    });
    let state = expr::JsObject::from_json_map(state.as_object().expect("an object"));
    let engine = TemplateEngine::new(Rc::new(loader))
        .with_limits(limits)
        .strict();
    let answered = [("k".to_owned(), serde_json::json!(["x", 1]))]
        .into_iter()
        .collect();
    for layout in [TemplateLayout::Edge, TemplateLayout::Jig] {
        for answers in [&Default::default(), &answered] {
            let name = "fuzz";
            let rendered = engine.render_text(&RenderInput {
                name,
                text: main,
                layout,
                state: &state,
                answers,
            });
            if let Err(error) = rendered {
                assert!(error.report().contains(error.code()));
            }
        }
    }
});
