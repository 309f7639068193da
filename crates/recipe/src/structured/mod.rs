//! Reads and patches JSON, YAML and TOML texts, keeping comments and order. (Being written by
//! another engineer right now: API `structured::Format::{Json, Yaml, Toml, Env}`,
//! `Format::of_path(&str) -> Option<Format>`, `read(format, text) -> Result<serde_json::Value, Error>`,
//! `merge(format, text, &serde_json::Value, indent) -> Result<String, Error>`; pure; own small error
//! type with line and column.)
