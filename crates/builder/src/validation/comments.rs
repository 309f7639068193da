//! Strips comments from code, to see whether a documentation job changed anything else.

/// The comment syntax of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommentStyle {
    /// `//` and `/* */`; strings in quotes and back-ticks.
    Slashes,
    /// `#` to the end of the line.
    Hashes,
    /// `#`, and strings that are a statement of their own (docstrings).
    Python,
}

/// Returns true if two versions of a file differ at most in comments and white space, or `None` if
/// the comment syntax is unknown.
pub(super) fn same_code(extension: &str, old: &str, new: &str) -> Option<bool> {
    let style = style(extension)?;
    Some(code(style, old) == code(style, new))
}

fn style(extension: &str) -> Option<CommentStyle> {
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" | "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" | "go" | "java"
        | "kt" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "swift" | "scala" | "php" | "dart" => {
            CommentStyle::Slashes
        }
        "sh" | "bash" | "rb" | "pl" | "yml" | "yaml" | "toml" | "ex" | "exs" | "r" => {
            CommentStyle::Hashes
        }
        "py" | "pyi" => CommentStyle::Python,
        _ => return None,
    })
}

/// Returns the code alone, with one space in place of white space and comments.
fn code(style: CommentStyle, text: &str) -> String {
    let mut scanner = CommentScanner {
        rest: text,
        code: String::with_capacity(text.len()),
    };
    while !scanner.rest.is_empty() {
        scanner.step(style);
    }
    scanner.code.trim_end().to_owned()
}

struct CommentScanner<'t> {
    rest: &'t str,
    code: String,
}

impl CommentScanner<'_> {
    fn step(&mut self, style: CommentStyle) {
        let rest = self.rest;
        let line_end = || rest.find('\n').unwrap_or(rest.len());
        match style {
            CommentStyle::Slashes if rest.starts_with("//") => self.skip(line_end()),
            CommentStyle::Slashes if rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
                self.skip(end);
            }
            CommentStyle::Hashes | CommentStyle::Python
                if rest.starts_with('#') && self.is_apart() =>
            {
                self.skip(line_end());
            }
            CommentStyle::Python if rest.starts_with("\"\"\"") || rest.starts_with("'''") => {
                self.long_string();
            }
            _ => match rest.chars().next() {
                Some(c) if c.is_whitespace() => self.space(c),
                Some('"') => self.string('"'),
                Some('`') if style == CommentStyle::Slashes => self.string('`'),
                // In Rust a quote may begin a lifetime, which has no closing quote.
                Some('\'') if style != CommentStyle::Slashes || self.is_short_quote() => {
                    self.string('\'')
                }
                Some(c) => self.keep(c.len_utf8()),
                None => {}
            },
        }
    }

    /// Returns true if a `#` here begins a word: in shells and YAML, one inside a word is part of
    /// it.
    fn is_apart(&self) -> bool {
        self.code.is_empty() || self.code.ends_with([' ', '\n'])
    }

    /// Skips a string that is a statement of its own; one in an expression is code.
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
        // Keeps line breaks, to recognise a string alone on its line; drops blank lines.
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
        // A line that was only a comment leaves nothing behind.
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
