//! Code without its comments, to see whether a job that writes words changed anything else.

/// How comments are written in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `//` and `/* */`; strings in quotes and back-ticks.
    Slashes,
    /// `#` to the end of the line.
    Hashes,
    /// `#`, and strings that stand alone document what they are in.
    Python,
}

/// Whether two texts of a file differ in comments and white space at most. `None` where it is not
/// known how comments are written.
pub(super) fn same_code(extension: &str, old: &str, new: &str) -> Option<bool> {
    let style = style(extension)?;
    Some(code(style, old) == code(style, new))
}

fn style(extension: &str) -> Option<Style> {
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" | "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" | "go" | "java"
        | "kt" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "swift" | "scala" | "php" | "dart" => {
            Style::Slashes
        }
        "sh" | "bash" | "rb" | "pl" | "yml" | "yaml" | "toml" | "ex" | "exs" | "r" => Style::Hashes,
        "py" | "pyi" => Style::Python,
        _ => return None,
    })
}

/// The code alone: one space where there is white space or a comment.
fn code(style: Style, text: &str) -> String {
    let mut scanner = Scanner {
        rest: text,
        code: String::with_capacity(text.len()),
    };
    while !scanner.rest.is_empty() {
        scanner.step(style);
    }
    scanner.code.trim_end().to_owned()
}

struct Scanner<'t> {
    rest: &'t str,
    code: String,
}

impl Scanner<'_> {
    fn step(&mut self, style: Style) {
        let rest = self.rest;
        let line_end = || rest.find('\n').unwrap_or(rest.len());
        match style {
            Style::Slashes if rest.starts_with("//") => self.skip(line_end()),
            Style::Slashes if rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
                self.skip(end);
            }
            Style::Hashes | Style::Python if rest.starts_with('#') && self.is_apart() => {
                self.skip(line_end());
            }
            Style::Python if rest.starts_with("\"\"\"") || rest.starts_with("'''") => {
                self.long_string();
            }
            _ => match rest.chars().next() {
                Some(c) if c.is_whitespace() => self.space(c),
                Some('"') => self.string('"'),
                Some('`') if style == Style::Slashes => self.string('`'),
                // In Rust a quote may begin a lifetime, which has no end.
                Some('\'') if style != Style::Slashes || self.is_short_quote() => self.string('\''),
                Some(c) => self.keep(c.len_utf8()),
                None => {}
            },
        }
    }

    /// In shells and YAML a `#` inside a word is part of it.
    fn is_apart(&self) -> bool {
        self.code.is_empty() || self.code.ends_with([' ', '\n'])
    }

    /// A string that stands alone is a comment; one in an expression is code.
    fn long_string(&mut self) {
        let quote = &self.rest[..3];
        let end = self.rest[3..]
            .find(quote)
            .map_or(self.rest.len(), |at| at + 6);
        let line = self.code.rsplit('\n').next().unwrap_or_default();
        let alone = line.trim().is_empty();
        if alone {
            self.skip(end);
        } else {
            self.keep(end);
        }
    }

    fn is_short_quote(&self) -> bool {
        let mut characters = self.rest[1..].chars();
        match characters.next() {
            Some('\\') => true,
            Some('\n') | None => false,
            Some(_) => {
                // A character, or a string of JavaScript that ends on this line.
                let line = self.rest[1..].lines().next().unwrap_or_default();
                line.contains('\'')
            }
        }
    }

    fn string(&mut self, quote: char) {
        let mut escaped = false;
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                end = at + c.len_utf8();
                break;
            }
        }
        self.keep(end);
    }

    fn space(&mut self, c: char) {
        // Lines are kept apart for what stands alone on one; blank ones say nothing.
        if c == '\n' {
            while self.code.ends_with(' ') {
                self.code.pop();
            }
            if !self.code.is_empty() && !self.code.ends_with('\n') {
                self.code.push('\n');
            }
        } else if !self.code.is_empty() && !self.code.ends_with([' ', '\n']) {
            self.code.push(' ');
        } else if self.code.ends_with('\n') || self.code.ends_with(' ') {
            // Indentation means something in some of these languages.
            self.code.push(' ');
        }
        self.rest = &self.rest[c.len_utf8()..];
    }

    fn keep(&mut self, bytes: usize) {
        self.code.push_str(&self.rest[..bytes]);
        self.rest = &self.rest[bytes..];
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
        // Where a whole line was a comment, nothing of the line is left.
        let line = self.code.rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() {
            let keep = self.code.len() - line.len();
            self.code.truncate(keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::same_code;

    #[test]
    fn comments_are_no_code_and_all_else_is() {
        let check = |extension: &str, old: &str, new: &str, same: bool| {
            assert_eq!(
                same_code(extension, old, new),
                Some(same),
                "{old:?} {new:?}"
            );
        };
        check(
            "rs",
            "fn a() {}\n",
            "/// Does it.\nfn a() {} // now\n",
            true,
        );
        check("rs", "fn a() {}\n", "/// Does it.\nfn b() {}\n", false);
        check("ts", "const a = '// no';\n", "const a = '// yes';\n", false);
        check("ts", "a();\n", "/*\n * Words.\n */\na();\n", true);
        check(
            "rs",
            "fn f<'a>(x: &'a str) {}\n",
            "// w\nfn f<'a>(x: &'a str) {}\n",
            true,
        );
        check(
            "py",
            "def f():\n    return 1\n",
            "def f():\n    \"\"\"One.\"\"\"\n    return 1\n",
            true,
        );
        check("py", "x = \"\"\"a\"\"\"\n", "x = \"\"\"b\"\"\"\n", false);
        check("py", "a = 1 # old\n", "a = 1 # new\n", true);
        check("py", "if a:\n    b\n", "if a:\nb\n", false);
        check("sh", "echo a#b\n", "echo a#c\n", false);
        check("yml", "a: 1\n", "# One.\na: 1\n", true);
        assert_eq!(same_code("json", "{}", "{}"), None);
    }
}
