//! Styles of a picture: properties that colour and draw, and nothing that loads, moves or covers.

const PROPERTIES: [&str; 26] = [
    "fill",
    "fill-opacity",
    "fill-rule",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "opacity",
    "color",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "text-anchor",
    "text-align",
    "text-decoration",
    "dominant-baseline",
    "background-color",
    "max-width",
    "letter-spacing",
    "rx",
    "ry",
    "flood-color",
];

/// Keeps the allowed declarations of a `style`.
pub(super) fn declarations(style: &str) -> String {
    let kept = style.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim();
        let is_kept = PROPERTIES.contains(&name.as_str()) && !value.is_empty() && is_plain(value);
        is_kept.then(|| format!("{name}:{value}"))
    });
    kept.collect::<Vec<_>>().join(";")
}

/// Keeps the allowed rules of a style sheet: below the picture's own id, with known properties.
pub(super) fn sheet(text: &str, scope: &str) -> String {
    let text = without_comments(text);
    let mut rules = String::new();
    let mut rest = text.as_str();
    while let Some(open) = rest.find('{') {
        let selector = rest[..open].trim();
        let inside = &rest[open + 1..];
        let Some((body, after)) = block(inside) else {
            break;
        };
        rest = after;
        if selector.starts_with('@') {
            continue;
        }
        let style = declarations(body);
        let selectors = selector.split(',').map(str::trim);
        let selectors: Vec<&str> = selectors.filter(|one| is_selector(one, scope)).collect();
        if !style.is_empty() && !selectors.is_empty() && !body.contains('{') {
            rules.push_str(&format!("{}{{{style}}}", selectors.join(",")));
        }
    }
    rules
}

/// True if a value of an attribute leads nowhere: `url()` only to a part of the same picture.
pub(super) fn is_harmless(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_reference = lower.starts_with("url(#")
        && lower.ends_with(')')
        && lower[5..lower.len() - 1]
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let has_danger = ["url(", "javascript:", "data:", "expression("]
        .iter()
        .any(|word| lower.contains(word));
    is_reference || !has_danger
}

/// True if a value of a property has only words, numbers, colours and simple functions.
fn is_plain(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_known = |c: char| c.is_alphanumeric() || " .,#%()!'\"-+".contains(c);
    let calls = [
        "url",
        "image",
        "expression",
        "attr",
        "var",
        "env",
        "element",
        "paint",
    ];
    let has_call = calls.iter().any(|name| lower.contains(&format!("{name}(")));
    value.chars().all(is_known) && !has_call
}

fn is_selector(selector: &str, scope: &str) -> bool {
    let Some(rest) = selector.strip_prefix(scope) else {
        return false;
    };
    let is_inside = rest.is_empty() || rest.starts_with([' ', '>', '.']);
    is_inside
        && rest
            .chars()
            .all(|c| c.is_alphanumeric() || " .#>_-*[]=\"".contains(c))
}

/// Splits a text at the brace that closes a block.
fn block(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Some((&text[..at], &text[at + 1..])),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("/*") {
        clean.push_str(&rest[..open]);
        clean.push(' ');
        rest = rest[open + 2..]
            .split_once("*/")
            .map_or("", |(_, after)| after);
    }
    clean.push_str(rest);
    clean
}
