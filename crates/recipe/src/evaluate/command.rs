//! Command lines: the text is the recipe's, the values in it are data.
//!
//! The template engine keeps every printed value apart from the text; `expr::shell` finds a safe
//! place for each, or refuses the line. `validate` asks the same of all branches before there are
//! any values.

use expr::shell::{self, Filled, Part, Refusal};
use template::{Compiled, Printed, Rendered, RenderedPart, split_apart};

use super::{Evaluator, Over, Site, is_plain, placed};
use crate::error::{Error, Kind};
use crate::manifest::Text;

impl Evaluator {
    /// Renders a line for `sh`: every value becomes a variable.
    pub(crate) fn command(
        &self,
        site: Site<'_>,
        text: &Text,
        over: Over<'_>,
    ) -> Result<(Filled, Rendered), Error> {
        let rendered = self.text_apart(site, text, over)?;
        let (parts, values) = parts_of(site, text, &rendered)?;
        let line = shell::command_line(&parts).map_err(|refusal| refused(site, text, refusal))?;
        let values: Vec<String> = values.iter().map(|value| value.text.clone()).collect();
        let filled = line.fill(&values).map_err(|refusal| {
            let source = parts.iter().filter_map(value_source).nth(refusal.value);
            let reason = format!("`{{{{ {} }}}}`: {refusal}", source.unwrap_or_default());
            refused(site, text, Refusal { reason, ..refusal })
        })?;
        Ok((filled, rendered))
    }

    /// Renders one text into the words of a program: the text is split as a shell would, a value
    /// stays within its word.
    pub(crate) fn split_words(
        &self,
        site: Site<'_>,
        text: &Text,
        over: Over<'_>,
    ) -> Result<(Vec<String>, Rendered), Error> {
        let rendered = self.text_apart(site, text, over)?;
        let words = shlex::split(&rendered.text).ok_or_else(|| {
            let message = format!("the command `{}` has a quote that does not end", text.text);
            Error::new(Kind::Manifest, message).at(site.file, site.source, text.place)
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

    /// Refuses a command line with a value where none is safe, as far as can be known without values.
    pub(crate) fn check_command(&self, site: Site<'_>, text: &Text) -> Result<(), Error> {
        if is_plain(&text.text) {
            return Ok(());
        }
        let rendered = self.outline(site, text)?;
        let (parts, _) = parts_of(site, text, &rendered)?;
        shell::command_line(&parts)
            .map(drop)
            .map_err(|refusal| refused(site, text, refusal))
    }

    /// The same for the words of a program that is started without a shell. One text is split.
    pub(crate) fn check_words(&self, site: Site<'_>, texts: &[Text]) -> Result<(), Error> {
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
    pub(crate) fn check_split(&self, site: Site<'_>, text: &Text) -> Result<(), Error> {
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

    fn text_apart(&self, site: Site<'_>, text: &Text, over: Over<'_>) -> Result<Rendered, Error> {
        if is_plain(&text.text) {
            let text = text.text.clone();
            return Ok(Rendered {
                text,
                ..Rendered::default()
            });
        }
        let compiled = self.compiled_text(site, text)?;
        let rendered = self
            .engine
            .render_apart(&compiled, over.state, over.answers);
        rendered.map_err(|error| placed(&error, site, text))
    }

    fn outline(&self, site: Site<'_>, text: &Text) -> Result<Rendered, Error> {
        let (text, values) = self.compiled_text(site, text)?.outline();
        Ok(Rendered {
            text,
            values,
            ..Rendered::default()
        })
    }

    fn compiled_text(&self, site: Site<'_>, text: &Text) -> Result<Compiled, Error> {
        let compiled = self.kept(site, &text.text);
        compiled.map_err(|error| placed(&error, site, text))
    }
}

type Apart<'r> = (Vec<Part<'r>>, Vec<&'r Printed>);

/// The parts of a rendered text, and its values in the order in which they stand.
fn parts_of<'r>(site: Site<'_>, text: &Text, rendered: &'r Rendered) -> Result<Apart<'r>, Error> {
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

fn named<'r>(part: RenderedPart<'r>, values: &'r [Printed]) -> Part<'r> {
    match part {
        RenderedPart::Text(text) => Part::Text(text),
        RenderedPart::Value(number) => Part::Value(values[number].source.as_str()),
    }
}

fn value_source<'p>(part: &Part<'p>) -> Option<&'p str> {
    match part {
        Part::Text(_) => None,
        Part::Value(source) => Some(source),
    }
}

fn refused(site: Site<'_>, text: &Text, refusal: Refusal) -> Error {
    let message = format!("a value is not safe here: {refusal}");
    let error = Error::new(Kind::Manifest, message).hint(refusal.hint);
    error.at(site.file, site.source, text.place)
}

fn muddled(site: Site<'_>, text: &Text) -> Error {
    let message = "the text or a value of this command has U+FDD2 or U+FDD3, or a component prints \
        values into it; neither can be told apart";
    Error::new(Kind::Manifest, message).at(site.file, site.source, text.place)
}
