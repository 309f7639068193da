//! The text for the answering program or model: all questions at once, or one at a time.

use prompt::{AnswerKind, Question, Questionnaire};
use serde_json::Value;

use crate::transport::AnswerRequest;

/// Asks a program for JSON and nothing else.
const BATCHED: &str = include_str!("prompts/batched.md");
/// Asks a program for one answer and nothing else.
const SINGLE: &str = include_str!("prompts/single.md");

/// The most of an unusable reply that its author is shown again.
const QUOTED_BYTES_MAX: usize = 16 * 1024;

/// The beginning of the instruction, in the built-in document, that names the file for the answers.
const HANDOVER: &str = "\n## Instructions\n\nSave the object as JSON to ";

/// Times an unusable reply is sent back, if the questions set no other number.
pub(crate) const CORRECTIONS_DEFAULT: u32 = 1;

/// Times an unusable reply is sent back.
pub(crate) fn corrections(questionnaire: &Questionnaire) -> u32 {
    questionnaire.retries().unwrap_or(CORRECTIONS_DEFAULT)
}

/// Builds the document for an answerer whose reply is the answer.
pub(crate) fn all(request: &AnswerRequest<'_>) -> String {
    let mut text = without_handover(request.document).trim_end().to_owned();
    if let Some(feedback) = request.feedback {
        text.push_str("\n\n");
        text.push_str(&problems(feedback));
    }
    text.push('\n');
    text
}

/// The document for a program that replies with JSON.
pub(crate) fn batched(request: &AnswerRequest<'_>) -> String {
    format!("{}\n{BATCHED}", all(request))
}

/// One question with everything that belongs to it, for a program that replies with the answer.
pub(crate) fn single(request: &AnswerRequest<'_>, question: &Question) -> String {
    // If the document is the question alone, it says itself how to reply.
    if request.document == question.prompt && request.feedback.is_none() {
        return question.prompt.clone();
    }
    let mut sections = Vec::new();
    let contexts: Vec<&str> = request
        .questionnaire
        .contexts()
        .iter()
        .chain(&question.contexts)
        .map(String::as_str)
        .collect();
    if !contexts.is_empty() {
        sections.push(format!("## Context\n\n{}", contexts.join("\n\n")));
    }
    let asked = if question.prompt.is_empty() {
        format!("Supply `{}`.", question.key)
    } else {
        question.prompt.clone()
    };
    sections.push(format!("## Prompt\n\n{asked}"));
    sections.push(format!("## Kind of answer\n\n{}", kind(question)));
    if !question.format.is_empty() {
        sections.push(format!("## Expected output format\n\n{}", question.format));
    }
    if let Some(schema) = &question.schema {
        sections.push(format!("## JSON Schema\n\n{schema:#}"));
    }
    if !question.examples.is_empty() {
        sections.push(format!("## Examples\n\n{}", question.examples.join("\n\n")));
    }
    if let Some(feedback) = request.feedback {
        sections.push(problems(feedback));
    }
    sections.push(SINGLE.to_owned());
    sections.join("\n\n")
}

/// Repeats the question with the reply and the correction, for a program that does not remember
/// them.
pub(crate) fn again(asked: &str, reply: &str, correction: &str) -> String {
    format!(
        "{asked}\n## Your earlier reply\n\n{}\n\n## What is wrong with it\n\n{correction}\n",
        quoted(reply.trim())
    )
}

/// Builds the message that tells the author what is wrong with the answer to one question.
pub(crate) fn single_correction(why: &prompt::Error) -> String {
    format!(
        "Your reply could not be used.\n\n{why}\n\nReply again with the answer alone, and with \
         nothing before or after it."
    )
}

fn problems(feedback: &str) -> String {
    format!(
        "## Problems with earlier answers\n\nThese questions were answered before, and the answers \
         could not be used. Avoid this:\n\n{}",
        feedback.trim()
    )
}

fn kind(question: &Question) -> String {
    let listed = |from: &[Value]| {
        let values: Vec<String> = from.iter().map(|value| format!("- {value}")).collect();
        values.join("\n")
    };
    let mut text = match &question.kind {
        AnswerKind::Any if question.schema.is_some() => {
            "JSON that matches the schema below.".to_owned()
        }
        AnswerKind::Any => "Text, or JSON where the prompt asks for it.".to_owned(),
        AnswerKind::Text => "Text.".to_owned(),
        AnswerKind::Code { language } => match language {
            Some(language) => format!("{language} code."),
            None => "Code.".to_owned(),
        },
        AnswerKind::Json => "JSON.".to_owned(),
        AnswerKind::Boolean => "`true` or `false`.".to_owned(),
        AnswerKind::Number => "A number.".to_owned(),
        AnswerKind::List => "A JSON array.".to_owned(),
        AnswerKind::Select { from } => format!("One of these values:\n\n{}", listed(from)),
        AnswerKind::Pick { from } => format!(
            "A JSON array of some of these values, each at most once:\n\n{}",
            listed(from)
        ),
        AnswerKind::Order { from } => format!(
            "A JSON array of all these values, in the order you choose:\n\n{}",
            listed(from)
        ),
    };
    if let Some(count) = question.items.words() {
        text.push_str(&format!("\n\nHow many: {count}."));
    }
    if !question.required {
        text.push_str("\n\nThis one is optional: reply with nothing to go without it.");
    }
    text
}

fn quoted(reply: &str) -> String {
    if reply.len() <= QUOTED_BYTES_MAX {
        return reply.to_owned();
    }
    let end = (0..=QUOTED_BYTES_MAX)
        .rev()
        .find(|at| reply.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}…", &reply[..end])
}

/// Strips the built-in closing section, which tells its reader to save a file and run a command: an
/// agent might do it. Cuts only if it really is the closing section.
fn without_handover(document: &str) -> &str {
    let Some(at) = document.rfind(HANDOVER) else {
        return document;
    };
    let closing = &document[at + HANDOVER.len()..];
    let fenced = closing
        .trim_end()
        .lines()
        .next_back()
        .is_some_and(|line| line.len() >= 3 && line.bytes().all(|byte| byte == b'`'));
    let is_last = !closing.contains("\n#");
    if fenced && is_last {
        &document[..at]
    } else {
        document
    }
}

#[cfg(test)]
mod tests {
    use super::{HANDOVER, without_handover};

    #[track_caller]
    fn check(document: &str, expected: &str) {
        assert_eq!(without_handover(document), expected);
    }

    #[test]
    fn only_the_closing_section_of_the_built_in_document_is_cut() {
        assert!(prompt::DOCUMENT_TEMPLATE.contains(HANDOVER));
        let closing = format!("{HANDOVER}`a.json` and run exactly:\n\n```\ndrawloom run x\n```\n");
        check(&format!("# Q\n{closing}"), "# Q\n");
        let quoted = format!("# Q\n{closing}\n## More\n");
        check(&quoted, &quoted);
        check(
            "# Q\n\n## Instructions\n\nDo it.\n",
            "# Q\n\n## Instructions\n\nDo it.\n",
        );
    }
}
