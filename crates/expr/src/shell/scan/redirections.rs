//! Redirections and here-documents: their words are not arguments, and their lines take no values.

use super::{
    HereDocument, OpenCommands, OpenConstruct, RedirectTarget, ShellScanner, ShellSymbol,
    ShellWord, ValueRefusal,
};

const USE_PRINTF: &str = "write it with `printf '%s\\n' {{ … }}`, or let the command read a file";

impl ShellScanner<'_> {
    /// Reads `<`, `>` and their variants, up to the word that follows.
    pub(super) fn redirection(&mut self, c: char) -> Result<(), ValueRefusal> {
        let is_number =
            |word: &ShellWord| word.is_bare() && word.text.chars().all(|c| c.is_ascii_digit());
        let commands = self.commands();
        if commands.current.as_ref().is_some_and(is_number) {
            commands.current = None;
        }
        self.end_word();
        if c == '<' && self.take('<') {
            if self.take('<') {
                self.commands().target = Some(RedirectTarget::Text);
                return Ok(());
            }
            let strips_tabs = self.take('-');
            return self.here_document(strips_tabs);
        }
        if self.take('(') {
            self.word().push('(');
            self.open(OpenConstruct::Commands(OpenCommands::default()));
            return Ok(());
        }
        let _ = self.take('>') || self.take('&') || self.take('|');
        self.commands().target = Some(RedirectTarget::File);
        Ok(())
    }

    /// Reads the word that will end a here-document.
    fn here_document(&mut self, strips_tabs: bool) -> Result<(), ValueRefusal> {
        while self.is_next(' ') || self.is_next('\t') {
            self.next();
        }
        let mut delimiter = String::new();
        while let Some(symbol) = self.peek() {
            match symbol {
                ShellSymbol::Value(index) => {
                    let what = "names the end of a here-document";
                    return self.refuse(index, what, USE_PRINTF);
                }
                ShellSymbol::Char(c) if " \t\n;&|<>()".contains(c) => break,
                ShellSymbol::Char('\'' | '"' | '\\') => {}
                ShellSymbol::Char(c) => delimiter.push(c),
            }
            self.next();
        }
        self.here_documents.push(HereDocument {
            delimiter,
            strips_tabs,
        });
        Ok(())
    }

    /// Skips the here-documents that begin after this line end.
    pub(super) fn read_here_documents(&mut self) -> Result<(), ValueRefusal> {
        for document in std::mem::take(&mut self.here_documents) {
            let mut line = String::new();
            loop {
                let symbol = self.next();
                match symbol {
                    Some(ShellSymbol::Value(index)) => {
                        return self.refuse(index, "is inside a here-document", USE_PRINTF);
                    }
                    Some(ShellSymbol::Char(c)) if c != '\n' => line.push(c),
                    _ => {
                        let text = match document.strips_tabs {
                            true => line.trim_start_matches('\t'),
                            false => line.as_str(),
                        };
                        if symbol.is_none() || text == document.delimiter {
                            break;
                        }
                        line.clear();
                    }
                }
            }
        }
        Ok(())
    }
}
