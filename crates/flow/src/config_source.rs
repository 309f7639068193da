//! Maps the parts of a step's config to their places in the workflow's text.

use std::collections::HashMap;

use diagnostics::nearest;
use mermaid::{DiagramDocument, Span};
use serde_json::{Map, Value};

use crate::block::{ConfigBlocks, ConfigEntry};
use crate::config::StepConfig;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::line_span::{LineSpan, LineStarts};
use crate::settings;
use crate::triggers;

/// The JSON of a config, with the positions of its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConfigSourceMap {
    json: String,
    /// The position of `@ID`.
    pub(crate) head: LineSpan,
    tokens: Vec<JsonToken>,
    parts: Vec<SettingSpan>,
}

/// A string, a number, a word or a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JsonToken {
    start: usize,
    end: usize,
    spot: LineSpan,
}

/// A setting, with the tokens of its key and value.
#[derive(Clone, Debug, PartialEq)]
struct SettingSpan {
    /// Keys and indices with dots between, as `config.headers.accept`.
    path: String,
    /// The token of the key; of the value itself in a list.
    key: usize,
    /// The token the value begins with.
    value: usize,
}

impl ConfigSourceMap {
    /// Reads a config; `lines` has the offset in the source of each line of the JSON.
    pub(crate) fn read(
        json: &str,
        lines: &[usize],
        places: &LineStarts<'_>,
        head: LineSpan,
    ) -> ConfigSourceMap {
        let starts: Vec<usize> = std::iter::once(0)
            .chain(json.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let tokens = ranges(json).into_iter().map(|(start, end)| {
            let line = starts.partition_point(|at| *at <= start).saturating_sub(1);
            let begin = starts.get(line).copied().unwrap_or(0);
            let there = lines.get(line).copied().unwrap_or(0);
            let span = Span {
                start: there + start - begin,
                end: there + end - begin,
            };
            JsonToken {
                start,
                end,
                spot: places.spot(span),
            }
        });
        let tokens: Vec<JsonToken> = tokens.collect();
        ConfigSourceMap {
            parts: parts(json, &tokens),
            json: json.to_owned(),
            head,
            tokens,
        }
    }

    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// Returns the place where a setting is named, or the nearest enclosing setting that exists.
    pub(crate) fn key(&self, path: &str) -> LineSpan {
        let mut path = path;
        loop {
            let part = self.parts.iter().find(|part| part.path == path);
            if let Some(token) = part.and_then(|part| self.tokens.get(part.key)) {
                return token.spot;
            }
            match path.rfind('.') {
                Some(at) => path = &path[..at],
                None => return self.head,
            }
        }
    }

    /// Returns the place where a setting's value begins.
    pub(crate) fn value(&self, path: &str) -> LineSpan {
        let part = self.parts.iter().find(|part| part.path == path);
        let token = part.and_then(|part| self.tokens.get(part.value));
        token.map_or_else(|| self.key(path), |token| token.spot)
    }

    /// Returns the position of a part of a text setting, by its bytes after unescaping.
    pub(crate) fn inside(&self, path: &str, start: usize, end: usize) -> LineSpan {
        let part = self.parts.iter().find(|part| part.path == path);
        let token = part.and_then(|part| self.tokens.get(part.value));
        let Some(token) = token else {
            return self.key(path);
        };
        let raw = self.json.get(token.start..token.end).unwrap_or("");
        match (escaped_at(raw, start), escaped_at(raw, end)) {
            (Some(from), Some(to)) => token.spot.within(raw, from, to),
            _ => token.spot,
        }
    }

    /// Returns the position of the first setting whose key a message quotes with backticks.
    pub(crate) fn named_in(&self, message: &str) -> Option<LineSpan> {
        let mut words = message.split('`').skip(1).step_by(2);
        words.find_map(|word| {
            let named = |part: &&SettingSpan| part.path.rsplit('.').next() == Some(word);
            let part = self.parts.iter().find(named)?;
            self.tokens.get(part.key).map(|token| token.spot)
        })
    }

    /// Returns the place of an error of serde_json.
    fn wrong(&self, error: &serde_json::Error) -> LineSpan {
        let (line, column, is_data) = (error.line(), error.column(), error.is_data());
        let mut starts =
            std::iter::once(0).chain(self.json.match_indices('\n').map(|(at, _)| at + 1));
        let begin = starts
            .nth(line.saturating_sub(1))
            .unwrap_or(self.json.len());
        let at = begin + column.saturating_sub(1);
        // serde_json notices a value that does not fit only behind it.
        let is_sign = |token: &&JsonToken| is_data && matches!(self.text(token), "}" | "]" | ",");
        let upto = self.tokens.iter().rev();
        let mut upto = upto.filter(|token| token.start <= at && !is_sign(token));
        let token = upto.next().or(self.tokens.first());
        token.map_or(self.head, |token| token.spot)
    }

    fn text(&self, token: &JsonToken) -> &str {
        self.json.get(token.start..token.end).unwrap_or("")
    }
}

/// Splits a text that may be JSON into tokens.
fn ranges(json: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let length = match byte {
            byte if byte.is_ascii_whitespace() => 0,
            b'"' => string_length(rest),
            b'{' | b'}' | b'[' | b']' | b':' | b',' => 1,
            _ => 1 + rest.iter().take_while(|byte| !ends_word(**byte)).count(),
        };
        if length > 0 {
            found.push((at, at + length));
        }
        at += length.max(1);
    }
    found
}

/// Returns the length of a string with its quotes, given the text behind the first one. It ends
/// with its line.
fn string_length(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\n' => return at + 1,
            b'"' if !escaped => return at + 2,
            b'\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len() + 1
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"{}[]:,\"".contains(&byte)
}

/// An open object or list, and the last key or index in it.
struct JsonFrame {
    path: String,
    is_list: bool,
    index: usize,
    key: Option<(String, usize)>,
}

impl JsonFrame {
    /// Returns the path of the next value, and the token that names it.
    fn next(&mut self, value: usize) -> (String, usize) {
        let (name, key) = match self.key.take() {
            Some((name, key)) => (name, key),
            None => (self.index.to_string(), value),
        };
        self.index += 1;
        match self.path.is_empty() {
            true => (name, key),
            false => (format!("{}.{name}", self.path), key),
        }
    }
}

fn parts(json: &str, tokens: &[JsonToken]) -> Vec<SettingSpan> {
    let mut parts = Vec::new();
    let mut open: Vec<JsonFrame> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let text = json.get(token.start..token.end).unwrap_or("");
        if matches!(text, "}" | "]") {
            open.pop();
            continue;
        }
        if matches!(text, ":" | ",") {
            continue;
        }
        let after = tokens.get(at + 1);
        let is_key = after.is_some_and(|after| json.get(after.start..after.end) == Some(":"));
        let mut inside = String::new();
        if let Some(frame) = open.last_mut() {
            if is_key && !frame.is_list {
                let name: String = serde_json::from_str(text).unwrap_or_default();
                frame.key = Some((name, at));
                continue;
            }
            let (path, key) = frame.next(at);
            inside.clone_from(&path);
            let value = at;
            parts.push(SettingSpan { path, key, value });
        }
        if matches!(text, "{" | "[") {
            open.push(JsonFrame {
                path: inside,
                is_list: text == "[",
                index: 0,
                key: None,
            });
        }
    }
    parts
}

/// Returns the offset in a JSON string, with its quotes, of a byte of its decoded text.
fn escaped_at(raw: &str, wanted: usize) -> Option<usize> {
    let mut meant = 0;
    let mut chars = raw.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if meant >= wanted {
            return Some(at);
        }
        meant += match c {
            '\\' => match chars.next()?.1 {
                'u' => {
                    let code = u32::from_str_radix(raw.get(at + 2..at + 6)?, 16).ok()?;
                    chars.nth(3)?;
                    match code {
                        // Each half of a surrogate pair is half of four bytes.
                        0xd800..=0xdfff => 2,
                        code => char::from_u32(code)?.len_utf8(),
                    }
                }
                _ => 1,
            },
            c => c.len_utf8(),
        };
    }
    (meant >= wanted).then_some(raw.len())
}

/// Returns the configs of the diagram's steps, with the positions of their parts.
pub(crate) fn configs(
    document: &DiagramDocument,
    blocks: &ConfigBlocks,
    problems: &mut Vec<WorkflowProblem>,
) -> HashMap<String, (StepConfig, ConfigSourceMap)> {
    let lines = LineStarts::of(document.source());
    let mut configs = HashMap::new();
    for entry in &blocks.entries {
        if document.diagram().node(&entry.id).is_none() && triggers::is_of_workflow(&entry.id) {
            continue;
        }
        if document.diagram().node(&entry.id).is_none() {
            problems.push(of_nobody(document, entry));
            continue;
        }
        let written = ConfigSourceMap::read(&entry.json, &entry.lines, &lines, entry.spot);
        match serde_json::from_str::<StepConfig>(&entry.json) {
            Ok(config) => {
                configs.insert(entry.id.clone(), (config, written));
            }
            Err(error) => {
                problems.push(unreadable(&entry.id, &error, &written));
                problems.extend(further(&entry.id, &error, &written));
            }
        }
    }
    configs
}

fn of_nobody(document: &DiagramDocument, entry: &ConfigEntry) -> WorkflowProblem {
    let message = format!(
        "The config is of `{}`, which is no step of the diagram.",
        entry.id
    );
    let problem = WorkflowProblem::error(WorkflowProblemCode::UnknownStep, entry.spot, message);
    let ids = document.diagram().nodes.iter().map(|node| node.id.as_str());
    match nearest(&entry.id, ids) {
        Some(near) => problem.hint(format!("did you mean `@{near}`?")),
        None => problem,
    }
}

/// Returns the further problems of a config, setting by setting, because serde stops at the first
/// one.
fn further(id: &str, first: &serde_json::Error, written: &ConfigSourceMap) -> Vec<WorkflowProblem> {
    let Ok(Value::Object(settings)) = serde_json::from_str(&written.json) else {
        return Vec::new();
    };
    let known = written.wrong(first);
    let schema = settings.get("outputSchema").and_then(settings::no_schema);
    let schema = schema.map(|wrong| {
        let message = settings::wrong_schema(id, &wrong);
        let spot = written.key("outputSchema");
        WorkflowProblem::error(WorkflowProblemCode::Setting, spot, message)
    });
    let wrong = settings.into_iter().filter_map(|(name, value)| {
        let alone = Value::Object(Map::from_iter([(name.clone(), value)]));
        let error = serde_json::from_value::<StepConfig>(alone).err()?;
        let is_unknown = error.to_string().starts_with("unknown field");
        let spot = match is_unknown {
            true => written.key(&name),
            false => written.value(&name),
        };
        Some((name, spot, error))
    });
    let wrong: Vec<_> = wrong.collect();
    // serde_json's own error is the first one in the text, and has its exact place already.
    let begin = |spot: LineSpan| (spot.line, spot.column);
    let upto = |spot: &LineSpan| begin(*spot) <= begin(known);
    let reported = wrong.iter().map(|(_, spot, _)| *spot).filter(upto).max();
    let others = wrong
        .into_iter()
        .filter(|(_, spot, _)| Some(*spot) != reported);
    let others = others.map(|(_, spot, error)| explained(id, &error, spot));
    let mut problems: Vec<WorkflowProblem> = others.chain(schema).collect();
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// Reports an error in the JSON at its place in the text.
fn unreadable(id: &str, error: &serde_json::Error, written: &ConfigSourceMap) -> WorkflowProblem {
    explained(id, error, written.wrong(error))
}

fn explained(id: &str, error: &serde_json::Error, spot: LineSpan) -> WorkflowProblem {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    // `unknown field` and `unknown variant` errors list all valid names.
    let (said, known) = text.split_once(", expected ").unwrap_or((text, ""));
    let said = match error.is_eof() {
        true => "it ends before it is complete",
        false => said,
    };
    let message = format!("The config of `{id}` cannot be read: {said}.");
    let problem = WorkflowProblem::error(WorkflowProblemCode::Config, spot, message);
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let word = said.split('`').nth(1).unwrap_or("");
    match (nearest(word, known.iter().copied()), known.len()) {
        (Some(near), _) => problem.hint(format!("did you mean `{near}`?")),
        (None, 1..=12) => problem.hint(format!("it is one of {}", known.join(", "))),
        _ => problem,
    }
}
