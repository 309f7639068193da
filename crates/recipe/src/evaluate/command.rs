//! Command lines: the text is the recipe's, the values in it are data.
//!
//! The template engine keeps every printed value apart from the text; `expr::shell` finds a safe
//! place for each, or refuses the line. `validate` asks the same of all branches before there are
//! any values.

use expr::shell::{self, CommandPart, FilledCommand, ValueRefusal};
use template::{CompiledTemplate, PrintedValue, RenderResult, RenderedPart, split_apart};

use super::{EvalInputs, SourceText, TextEvaluator, is_plain, placed};
use crate::error::{Error, RecipeErrorKind};
use crate::manifest::ManifestText;

impl TextEvaluator {
    /// Renders a line for `sh`: every value becomes a variable.
    pub(crate) fn command(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<(FilledCommand, RenderResult), Error> {
        let rendered = self.text_apart(site, text, over)?;
        let (parts, values) = parts_of(site, text, &rendered)?;
        let line = shell::command_line(&parts).map_err(|refusal| refused(site, text, refusal))?;
        let values: Vec<String> = values.iter().map(|value| value.text.clone()).collect();
        let filled = line.fill(&values).map_err(|refusal| {
            let source = parts.iter().filter_map(value_source).nth(refusal.value);
            let reason = format!("`{{{{ {} }}}}`: {refusal}", source.unwrap_or_default());
            refused(site, text, ValueRefusal { reason, ..refusal })
        })?;
        Ok((filled, rendered))
    }

    /// Renders one text into the words of a program: the text is split as a shell would, a value
    /// stays within its word.
    pub(crate) fn split_words(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<(Vec<String>, RenderResult), Error> {
        let rendered = self.text_apart(site, text, over)?;
        let words = shlex::split(&rendered.text).ok_or_else(|| {
            let message = format!("the command `{}` has a quote that does not end", text.text);
            Error::new(RecipeErrorKind::Manifest, message).at(site.file, site.source, text.place)
        })?;
        let mut filled = Vec::new();
        for word in &words {
            let parts = split_apart(word, &rendered.values).ok_or_else(|| muddled(site, text))?;
            let values = &rendered.values;
            filled.push(
                parts
                    .iter()
                    .map(|part| match part {
                        RenderedPart::Text(text) => text,
                        RenderedPart::Value(number) => values[*number].text.as_str(),
                    })
                    .collect(),
            );
        }
        Ok((filled, rendered))
    }

    /// Refuses a command line with a value where no value is safe, as far as that is known without
    /// values.
    pub(crate) fn check_command(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<(), Error> {
        if is_plain(&text.text) {
            return Ok(());
        }
        let rendered = self.outline(site, text)?;
        let (parts, _) = parts_of(site, text, &rendered)?;
        shell::command_line(&parts)
            .map(drop)
            .map_err(|refusal| refused(site, text, refusal))
    }

    /// Checks the words of a program that is started without a shell in the same way. A single text
    /// is split.
    pub(crate) fn check_words(
        &self,
        site: SourceText<'_>,
        texts: &[ManifestText],
    ) -> Result<(), Error> {
        let Some(first) = texts.first() else {
            return Ok(());
        };
        let mut outlines = Vec::new();
        for text in texts {
            outlines.push(self.outline(site, text)?);
        }
        let mut words = Vec::new();
        for (text, outline) in texts.iter().zip(&outlines) {
            words.push(parts_of(site, text, outline)?.0);
        }
        shell::words(&words).map_err(|refusal| {
            let mut count = refusal.value;
            let text = texts.iter().zip(&words).find(|(_, parts)| {
                let own = parts.iter().filter_map(value_source).count();
                let is_here = count < own;
                count = count.saturating_sub(own);
                is_here
            });
            refused(site, text.map_or(first, |(text, _)| text), refusal)
        })
    }

    /// Checks one text that will be split into words.
    pub(crate) fn check_split(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<(), Error> {
        let outline = self.outline(site, text)?;
        let words = shlex::split(&outline.text).unwrap_or_default();
        let mut parts = Vec::new();
        for word in &words {
            let split = split_apart(word, &outline.values).ok_or_else(|| muddled(site, text))?;
            parts.push(
                split
                    .into_iter()
                    .map(|part| named(part, &outline.values))
                    .collect(),
            );
        }
        shell::words(&parts).map_err(|refusal| refused(site, text, refusal))
    }

    fn text_apart(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
        over: EvalInputs<'_>,
    ) -> Result<RenderResult, Error> {
        if is_plain(&text.text) {
            let text = text.text.clone();
            return Ok(RenderResult {
                text,
                ..RenderResult::default()
            });
        }
        let compiled = self.compiled_text(site, text)?;
        let rendered = self
            .engine
            .render_apart(&compiled, over.state, over.answers);
        rendered.map_err(|error| placed(&error, site, text))
    }

    fn outline(&self, site: SourceText<'_>, text: &ManifestText) -> Result<RenderResult, Error> {
        let (text, values) = self.compiled_text(site, text)?.outline();
        Ok(RenderResult {
            text,
            values,
            ..RenderResult::default()
        })
    }

    fn compiled_text(
        &self,
        site: SourceText<'_>,
        text: &ManifestText,
    ) -> Result<CompiledTemplate, Error> {
        let compiled = self.kept(site, &text.text);
        compiled.map_err(|error| placed(&error, site, text))
    }
}

type SplitCommand<'r> = (Vec<CommandPart<'r>>, Vec<&'r PrintedValue>);

/// Returns the parts of a rendered text, and its values in order.
fn parts_of<'r>(
    site: SourceText<'_>,
    text: &ManifestText,
    rendered: &'r RenderResult,
) -> Result<SplitCommand<'r>, Error> {
    let split = split_apart(&rendered.text, &rendered.values);
    let split = split.ok_or_else(|| muddled(site, text))?;
    let values = split.iter().filter_map(|part| match part {
        RenderedPart::Text(_) => None,
        RenderedPart::Value(number) => rendered.values.get(*number),
    });
    let values = values.collect();
    let parts = split.into_iter().map(|part| named(part, &rendered.values));
    Ok((parts.collect(), values))
}

fn named<'r>(part: RenderedPart<'r>, values: &'r [PrintedValue]) -> CommandPart<'r> {
    match part {
        RenderedPart::Text(text) => CommandPart::Text(text),
        RenderedPart::Value(number) => CommandPart::Value(values[number].source.as_str()),
    }
}

fn value_source<'p>(part: &CommandPart<'p>) -> Option<&'p str> {
    match part {
        CommandPart::Text(_) => None,
        CommandPart::Value(source) => Some(source),
    }
}

fn refused(site: SourceText<'_>, text: &ManifestText, refusal: ValueRefusal) -> Error {
    let message = format!("a value is not safe here: {refusal}");
    let error = Error::new(RecipeErrorKind::Manifest, message).hint(refusal.hint);
    error.at(site.file, site.source, text.place)
}

fn muddled(site: SourceText<'_>, text: &ManifestText) -> Error {
    let message = "the text or a value of this command has U+FDD2 or U+FDD3, or a component prints \
        values into it; neither can be told apart";
    Error::new(RecipeErrorKind::Manifest, message).at(site.file, site.source, text.place)
}
