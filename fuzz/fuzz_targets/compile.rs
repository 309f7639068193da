//! Any text, as a template: it compiles or is refused with a place inside the text.

#![no_main]

use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use template::{MapLoader, TemplateEngine, TemplateLayout};

fuzz_target!(|text: &str| {
    let loader: MapLoader = [("components/card.jig", "")].into_iter().collect();
    let engine = TemplateEngine::new(Rc::new(loader));
    for layout in [TemplateLayout::Edge, TemplateLayout::Jig] {
        if let Err(error) = engine.compile("fuzz", text, layout) {
            let lines = text.lines().count() + 1;
            assert!(error.line() as usize <= lines + text.matches('\r').count());
            assert!(error.report().contains(error.code()));
        }
    }
});
