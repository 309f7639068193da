//! Scripts and build files: functions, targets, stages, tables.

use super::super::facts_builder::FactsBuilder;
use super::super::{ExportKind, ImportKind};
use super::{NAMES_MAX, lines};

/// The functions of a shell script, and the scripts it sources.
pub(super) fn shell(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut ending: Option<String> = None;
    for (offset, line) in lines(text) {
        if let Some(end) = &ending {
            if line.trim_start_matches('\t') == end {
                ending = None;
            }
            continue;
        }
        let code = line.trim_start();
        if code.starts_with('#') {
            continue;
        }
        ending = here_document(code);
        let is_marked = code.starts_with("function ");
        let rest = code.strip_prefix("function ").unwrap_or(code).trim_start();
        let name = leading(rest, |byte| {
            byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte)
        });
        let after = rest[name.len()..].trim_start();
        if is_marked || after.starts_with("()") || after.starts_with("( )") {
            gather.export(name, ExportKind::Function, offset);
        }
        let sourced = code
            .strip_prefix("source ")
            .or_else(|| code.strip_prefix(". "));
        if let Some(rest) = sourced {
            gather.import(sourced_file(rest).to_owned(), ImportKind::Static, offset);
        }
    }
}

/// Returns the word that ends the here-document after this line: `cat <<'EOF'`.
fn here_document(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("<<")?;
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let word = rest.trim_start_matches(['\'', '"', '\\']);
    let word = leading(word, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_word = word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    is_word.then(|| word.to_owned())
}

/// Returns a sourced file, without the variable for the script's own directory that usually
/// precedes it.
fn sourced_file(rest: &str) -> &str {
    let ends = [" ||", " &&", " #", ";"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    let file = rest[..end.unwrap_or(rest.len())].trim();
    let file = file.trim_matches(['"', '\'']);
    match file.rsplit_once(['}', ')', '"']) {
        Some((_, rest)) => rest.trim_start_matches('/'),
        None if file.starts_with('$') => file.split_once('/').map_or("", |(_, rest)| rest),
        None => file,
    }
}

/// The targets of a Makefile, or the recipes of a justfile, and the files it includes.
pub(super) fn targets(text: &str, gather: &mut FactsBuilder<'_>) {
    let mut is_define = false;
    for (offset, line) in lines(text) {
        if line.starts_with("endef") {
            is_define = false;
        }
        is_define |= line.starts_with("define ");
        let included = ["include ", "-include ", "sinclude "]
            .iter()
            .find_map(|word| line.strip_prefix(word));
        for file in included.unwrap_or_default().split_whitespace() {
            gather.import(file.to_owned(), ImportKind::Static, offset);
        }
        if is_define || line.starts_with([' ', '\t', '#', '.', '@']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else {
            continue;
        };
        // `:=` and `::=` assign, and only make knows the value of `$(…)`.
        let assigns = rest.trim_start_matches(':').starts_with('=')
            || names.contains(['=', '$', '%', '#', '"', '(']);
        if !assigns {
            // A recipe of a justfile has its parameters after its name.
            for name in names.split_whitespace() {
                gather.export(name, ExportKind::Section, offset);
            }
        }
    }
}

/// Reads the named stages of a Dockerfile.
pub(super) fn stages(text: &str, gather: &mut FactsBuilder<'_>) {
    for (offset, line) in lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [from, .., r#as, name] = words.as_slice()
            && from.eq_ignore_ascii_case("from")
            && r#as.eq_ignore_ascii_case("as")
        {
            gather.export(name, ExportKind::Section, offset);
        }
    }
}

/// Reads the objects that SQL creates.
pub(super) fn sql(text: &str, gather: &mut FactsBuilder<'_>) {
    const KINDS: [&str; 9] = [
        "table",
        "view",
        "function",
        "procedure",
        "type",
        "trigger",
        "sequence",
        "schema",
        "domain",
    ];
    for (offset, line) in lines(text) {
        let mut words = line.split_whitespace();
        if !words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("create"))
        {
            continue;
        }
        let mut kind = "";
        for word in words {
            let word_small = word.to_ascii_lowercase();
            if kind.is_empty() {
                kind = KINDS
                    .into_iter()
                    .find(|kind| *kind == word_small)
                    .unwrap_or("");
                continue;
            }
            if matches!(word_small.as_str(), "if" | "not" | "exists") {
                continue;
            }
            let name = word.split(['(', ';']).next().unwrap_or_default();
            let name: String = name
                .chars()
                .filter(|c| !matches!(c, '"' | '`' | '[' | ']'))
                .collect();
            let kind = match kind {
                "function" | "procedure" => ExportKind::Function,
                "schema" => ExportKind::Module,
                _ => ExportKind::Type,
            };
            gather.export(&name, kind, offset);
            break;
        }
    }
}

/// Classes and modules of Ruby with the names around them, and methods outside of any.
pub(super) fn ruby(text: &str, gather: &mut FactsBuilder<'_>) {
    // The indent and the name of each class or module around; Ruby is indented by its tools.
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut count = 0;
    let mut is_comment = false;
    for (offset, line) in lines(text) {
        is_comment = (is_comment || line.starts_with("=begin")) && !line.starts_with("=end");
        let code = line.trim_start();
        if is_comment || code.starts_with('#') || count >= NAMES_MAX {
            continue;
        }
        if line.starts_with("__END__") {
            return;
        }
        let indent = line.len() - code.len();
        let name_of = |rest: &str| {
            let rest = rest.trim_start();
            leading(rest, |byte| {
                byte.is_ascii_alphanumeric() || b"_:?!".contains(&byte)
            })
            .to_owned()
        };
        let asked = code
            .strip_prefix("require_relative ")
            .or_else(|| code.strip_prefix("require "));
        if let Some(file) = asked.and_then(|rest| rest.split(['"', '\'']).nth(1)) {
            gather.import(file.to_owned(), ImportKind::Static, offset);
        }
        let (kind, rest) = match code.split_once(' ') {
            Some(("class", rest)) => (ExportKind::Class, rest),
            Some(("module", rest)) => (ExportKind::Module, rest),
            Some(("def", rest)) if indent == 0 => {
                gather.export(&name_of(rest), ExportKind::Function, offset);
                count += 1;
                continue;
            }
            _ => continue,
        };
        let name = name_of(rest);
        if !name.starts_with(char::is_uppercase) {
            continue;
        }
        around.retain(|(outer, _)| *outer < indent);
        let full = match around.last() {
            Some((_, outer)) => format!("{outer}::{name}"),
            None => name,
        };
        gather.export(&full, kind, offset);
        count += 1;
        if full.len() < 1024 {
            around.push((indent, full));
        }
    }
}

/// Returns the beginning of a text, as long as its bytes satisfy `is_part`.
fn leading(text: &str, is_part: impl Fn(u8) -> bool) -> &str {
    let end = text
        .bytes()
        .position(|byte| !is_part(byte))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}
