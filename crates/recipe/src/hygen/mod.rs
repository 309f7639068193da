//! Turns hygen's `_templates` into a kit. (Being written by another engineer right now: API
//! `hygen::convert(files: &[(String /* path below _templates */, String)], kit: &str) -> Conversion
//! { files: Vec<(String, String)>, warnings: Vec<Warning { file, line, message }> }`; pure.)
