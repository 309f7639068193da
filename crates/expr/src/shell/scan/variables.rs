//! Follows values through the variables of the line itself.
//!
//! `x={{ v }}; eval "$x"` is `eval {{ v }}` one command later. Where a later command expands a
//! variable that was given a value, its word counts as holding that value, so that every rule about
//! values applies to it. A variable's use inside single quotes is text for another program and is
//! not followed.

use super::{ShellScanner, ShellSymbol, ShellWord, ValueRefusal};

/// Names that hold a value, each with the number of the value.
pub(super) type ValueVariables = Vec<(String, usize)>;

impl ShellScanner<'_> {
    /// Treats `$name` and `${name…}` at this place as the value that the variable holds.
    pub(super) fn follow_variable(&mut self) {
        if self.variables.is_empty() {
            return;
        }
        let begin = self.at + usize::from(self.is_next('{'));
        let name = self.name_at(begin);
        let known = self.variables.iter().rev().find(|(held, _)| *held == name);
        if let Some((_, value)) = known {
            let value = *value;
            for commands in self.all_commands() {
                if let Some(word) = &mut commands.current {
                    word.hole(value);
                }
            }
        }
    }

    /// Refuses a variable in `$(( … ))`: bash evaluates its text again, and runs what is in `a[$(…)]`.
    pub(super) fn check_arithmetic_name(&self) -> Result<(), ValueRefusal> {
        let begin = self.at - 1;
        if self.variables.is_empty() || begin > 0 && self.is_name_char(begin - 1) {
            return Ok(());
        }
        let name = self.name_at(begin);
        match self.variables.iter().rev().find(|(held, _)| *held == name) {
            None => Ok(()),
            Some((_, value)) => self.refuse(
                *value,
                "is in a variable inside `$(( … ))`, where a shell runs what a value says",
                "compute it in the expression: `{{ a + b }}`",
            ),
        }
    }

    /// Remembers the variables that a finished command gives a value: `x={{ v }}`, `export x={{ v }}`
    /// and `for x in {{ v }}`. (`read` behind a value is refused.)
    pub(super) fn learn_variables(&mut self, words: &[ShellWord]) {
        let Some(value) = words.iter().find_map(ShellWord::first_value) else {
            return;
        };
        for word in words {
            if let (Some(name), Some(value)) = (word.assigned_name(), word.first_value()) {
                self.variables.push((name.to_owned(), value));
            }
        }
        let mut texts = words.iter().map(|word| word.text.as_str());
        if let (Some("for" | "select"), Some(name)) = (texts.next(), texts.next()) {
            self.variables.push((name.to_owned(), value));
        }
    }

    fn name_at(&self, begin: usize) -> String {
        let symbols = self.symbols.iter().skip(begin);
        let chars = symbols.map_while(|symbol| match symbol {
            ShellSymbol::Char(c) if c.is_ascii_alphanumeric() || *c == '_' => Some(*c),
            _ => None,
        });
        chars.collect()
    }

    fn is_name_char(&self, at: usize) -> bool {
        matches!(self.symbols.get(at), Some(ShellSymbol::Char(c)) if c.is_ascii_alphanumeric() || *c == '_')
    }
}
