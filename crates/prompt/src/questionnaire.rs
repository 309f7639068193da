//! The questions of a run by key, and the context they share.

use crate::answers::{Answers, REQUEST_KEY};
use crate::error::Error;
use crate::guardrails::Guardrails;
use crate::limits::{CHOICES_MAX, KEY_BYTES_MAX, QUESTIONNAIRE_BYTES_MAX, QUESTIONS_MAX};
use crate::{schema, text};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt;

/// The place of a question: a template or recipe file and a line counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QuestionSource {
    pub file: String,
    pub line: u32,
}

impl fmt::Display for QuestionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The kind of answer a question wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnswerKind {
    /// Nothing was declared: any JSON value, text included.
    #[default]
    Any,
    Text,
    /// Text from which a surrounding Markdown fence is removed.
    Code {
        language: Option<String>,
    },
    Json,
    Boolean,
    /// One of `from`.
    Select {
        from: Vec<Value>,
    },
    /// Some of `from`, each at most once.
    Pick {
        from: Vec<Value>,
    },
    /// All of `from`, in an order of the answerer's choosing.
    Order {
        from: Vec<Value>,
    },
    Number,
    List,
}

impl AnswerKind {
    /// The names `type:` accepts, as [`AnswerKind::named`] reads them.
    pub const NAMES: [&str; 9] = [
        "text", "code", "json", "boolean", "select", "pick", "order", "number", "list",
    ];

    /// Returns the kind that `type: 'name'` declares; `from` and `language` are used by the kinds
    /// that have them.
    pub fn named(
        name: &str,
        from: Vec<Value>,
        language: Option<String>,
    ) -> Result<AnswerKind, Error> {
        Ok(match name {
            "text" => AnswerKind::Text,
            "code" => AnswerKind::Code { language },
            "json" => AnswerKind::Json,
            "boolean" => AnswerKind::Boolean,
            "select" => AnswerKind::Select { from },
            "pick" => AnswerKind::Pick { from },
            "order" => AnswerKind::Order { from },
            "number" => AnswerKind::Number,
            "list" => AnswerKind::List,
            other => {
                return Err(Error::KindUnknown {
                    name: text::shorten(other),
                    known: Self::NAMES.map(|name| format!("`{name}`")).join(", "),
                    nearest: diagnostics::nearest(other, Self::NAMES),
                });
            }
        })
    }

    /// Returns the name of this kind; `any` cannot be declared, it is the kind of a question
    /// without `type:`.
    pub fn name(&self) -> &'static str {
        match self {
            AnswerKind::Any => "any",
            AnswerKind::Text => "text",
            AnswerKind::Code { .. } => "code",
            AnswerKind::Json => "json",
            AnswerKind::Boolean => "boolean",
            AnswerKind::Select { .. } => "select",
            AnswerKind::Pick { .. } => "pick",
            AnswerKind::Order { .. } => "order",
            AnswerKind::Number => "number",
            AnswerKind::List => "list",
        }
    }

    /// Returns the values to choose from; empty for kinds that offer none.
    pub fn choices(&self) -> &[Value] {
        match self {
            AnswerKind::Select { from }
            | AnswerKind::Pick { from }
            | AnswerKind::Order { from } => from,
            _ => &[],
        }
    }

    /// Returns the language of a `code` answer, if it was named.
    pub fn language(&self) -> Option<&str> {
        match self {
            AnswerKind::Code { language } => language.as_deref(),
            _ => None,
        }
    }
}

/// The number of items an answer may have. Without a minimum a required answer has at least one: an
/// empty list is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemCount {
    pub min: Option<u64>,
    pub max: Option<u64>,
}

impl ItemCount {
    /// Returns the least number of items that is accepted.
    pub fn least(self, required: bool) -> u64 {
        self.min.unwrap_or(u64::from(required))
    }

    /// Returns `exactly 2`, `at least 1` or `1 to 3`; `None` if any number will do.
    pub fn words(self) -> Option<String> {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => Some(format!("exactly {min}")),
            (Some(min), Some(max)) => Some(format!("{min} to {max}")),
            (Some(min), None) => Some(format!("at least {min}")),
            (None, Some(max)) => Some(format!("at most {max}")),
            (None, None) => None,
        }
    }
}

/// One question. Texts are tidied when the question is asked: see [`Questionnaire::ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub key: String,
    pub contexts: Vec<String>,
    pub prompt: String,
    /// The expected output in the author's words.
    pub format: String,
    pub examples: Vec<String>,
    pub kind: AnswerKind,
    pub schema: Option<Value>,
    /// Number of items of a `pick` or a `list`.
    pub items: ItemCount,
    /// Rules for a written answer beyond its kind.
    pub guardrails: Guardrails,
    /// Further attempts at a wrong answer; absent when the author leaves the number to the
    /// transport. At most [`crate::limits::RETRIES_MAX`].
    pub retries: Option<u32>,
    /// An optional question may be left out or answered `null`.
    pub required: bool,
    pub source: QuestionSource,
}

impl Question {
    /// Makes a required question of any kind, to be filled in by its fields.
    pub fn new(key: impl Into<String>, source: QuestionSource) -> Self {
        Question {
            key: key.into(),
            contexts: Vec::new(),
            prompt: String::new(),
            format: String::new(),
            examples: Vec::new(),
            kind: AnswerKind::default(),
            schema: None,
            items: ItemCount::default(),
            guardrails: Guardrails::default(),
            retries: None,
            required: true,
            source,
        }
    }

    /// Returns the text in this answer's place in the document's skeleton. As an answer it is
    /// refused: it means that the skeleton was sent back unfilled.
    pub fn placeholder(&self) -> String {
        let described = !self.format.is_empty() || !self.examples.is_empty();
        let what = match &self.kind {
            _ if described => "see format above",
            AnswerKind::Boolean => "true or false",
            AnswerKind::Select { .. } => "one of the allowed values",
            AnswerKind::Pick { .. } => "array of allowed values",
            AnswerKind::Order { .. } => "array of all allowed values, in order",
            AnswerKind::Number => "a number",
            AnswerKind::List => "a JSON array",
            _ => "your answer",
        };
        match self.required {
            true => format!("<{what}>"),
            false => format!("<optional: {what}>"),
        }
    }

    /// Returns the part in which two questions differ, if they do. Their places are not compared.
    fn difference(&self, other: &Question) -> Option<&'static str> {
        [
            (self.prompt == other.prompt, "prompt"),
            (self.contexts == other.contexts, "context"),
            (self.format == other.format, "output format"),
            (self.examples == other.examples, "list of examples"),
            (self.kind == other.kind, "kind of answer"),
            (self.schema == other.schema, "schema"),
            (self.items == other.items, "number of items"),
            (self.guardrails == other.guardrails, "list of guardrails"),
            (self.required == other.required, "`required`"),
        ]
        .into_iter()
        .find_map(|(same, part)| (!same).then_some(part))
    }

    fn tidied(mut self) -> Question {
        self.prompt = text::tidy(&self.prompt);
        self.format = text::tidy(&self.format);
        for texts in [&mut self.contexts, &mut self.examples] {
            *texts = texts.iter().map(|one| text::tidy(one)).collect();
            texts.retain(|one| !one.is_empty());
        }
        self
    }

    fn text_bytes(&self) -> usize {
        let texts = self.contexts.iter().chain(&self.examples);
        self.prompt.len() + self.format.len() + texts.map(String::len).sum::<usize>()
    }

    fn identity(&self) -> Value {
        let mut identity = json!({
            "key": self.key,
            "contexts": self.contexts,
            "prompt": self.prompt,
            "format": self.format,
            "examples": self.examples,
            "kind": self.kind.name(),
            "from": self.kind.choices(),
            "language": self.kind.language(),
            "schema": self.schema,
            "required": self.required,
        });
        // A question without guardrails keeps the id it had before there were any.
        if !self.guardrails.is_empty() {
            identity["guardrails"] = self.guardrails.json();
        }
        identity
    }
}

/// The short stable name of a questionnaire's content: answers that carry another one are stale.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct RequestId(String);

impl RequestId {
    /// Makes an id from an answers file.
    pub fn new(id: impl Into<String>) -> Self {
        RequestId(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Questions in the order they were first asked, and the contexts all of them share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Questionnaire {
    contexts: Vec<String>,
    questions: IndexMap<String, Question>,
}

impl Questionnaire {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a context for all questions. Layout is tidied away; an empty or known one is dropped.
    /// The size limit is checked when a question is asked.
    pub fn add_context(&mut self, context: &str) {
        let context = text::tidy(context);
        if !context.is_empty() && !self.contexts.contains(&context) {
            self.contexts.push(context);
        }
    }

    /// Asks a question. Its texts are tidied: common indentation, surrounding blank lines and CRLF
    /// go, empty contexts and examples are dropped. The same question twice is asked once.
    pub fn ask(&mut self, question: Question) -> Result<(), Error> {
        let question = question.tidied();
        if let Some(first) = self.questions.get(&question.key) {
            return match first.difference(&question) {
                None => Ok(()),
                Some(difference) => Err(Error::QuestionConflict {
                    key: question.key.clone(),
                    first: first.source.clone(),
                    second: question.source,
                    difference,
                }),
            };
        }
        check_key(&question)?;
        self.check_bounds(&question)?;
        if matches!(&question.kind, AnswerKind::Select { from } if from.is_empty()) {
            return Err(Error::NothingToChoose {
                key: question.key,
                place: question.source,
            });
        }
        if let Some(schema) = &question.schema {
            schema::compile(schema).map_err(|detail| Error::SchemaBroken {
                key: question.key.clone(),
                place: question.source.clone(),
                detail,
            })?;
        }
        self.questions.insert(question.key.clone(), question);
        Ok(())
    }

    /// Takes over another questionnaire's contexts and questions, or nothing at all on an error.
    pub fn merge(&mut self, other: Questionnaire) -> Result<(), Error> {
        let mut joined = self.clone();
        for context in &other.contexts {
            joined.add_context(context);
        }
        for (_, question) in other.questions {
            joined.ask(question)?;
        }
        *self = joined;
        Ok(())
    }

    /// True if there is no question. Contexts alone ask nothing.
    pub fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    pub fn len(&self) -> usize {
        self.questions.len()
    }

    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.values()
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.questions.keys().map(String::as_str)
    }

    pub fn get(&self, key: &str) -> Option<&Question> {
        self.questions.get(key)
    }

    pub fn contexts(&self) -> &[String] {
        &self.contexts
    }

    /// Returns the number of further attempts when answers are wrong: the most that any of the
    /// questions wants, `None` if no question says.
    pub fn retries(&self) -> Option<u32> {
        self.questions()
            .filter_map(|question| question.retries)
            .max()
    }

    /// True if some question must be answered before the run can continue.
    pub fn has_required(&self) -> bool {
        self.questions().any(|question| question.required)
    }

    /// Returns the unanswered questions, with all contexts. `null` answers no required question; it
    /// declines an optional one.
    pub fn missing(&self, answers: &Answers) -> Questionnaire {
        let unanswered = |question: &Question| match answers.get(&question.key) {
            None => true,
            Some(Value::Null) => question.required,
            Some(_) => false,
        };
        Questionnaire {
            contexts: self.contexts.clone(),
            questions: self
                .questions
                .iter()
                .filter(|(_, question)| unanswered(question))
                .map(|(key, question)| (key.clone(), question.clone()))
                .collect(),
        }
    }

    /// Equal content gives an equal id. The places of questions are not content.
    pub fn request_id(&self) -> RequestId {
        let questions: Vec<Value> = self.questions().map(Question::identity).collect();
        let mut content = json!({ "contexts": self.contexts, "questions": questions });
        content.sort_all_objects();
        let digest = Sha256::digest(content.to_string());
        RequestId(digest.iter().take(6).map(|b| format!("{b:02x}")).collect())
    }

    fn check_bounds(&self, added: &Question) -> Result<(), Error> {
        let (key, place) = (&added.key, &added.source);
        bounded(
            &format!("The list of choices of the question `{key}` ({place})"),
            added.kind.choices().len(),
            ("CHOICES_MAX", CHOICES_MAX),
        )?;
        let what = format!("The questionnaire, with the question `{key}` ({place}),");
        let count = self.questions.len() + 1;
        bounded(&what, count, ("QUESTIONS_MAX", QUESTIONS_MAX))?;
        let shared = self.contexts.iter().map(String::len).sum::<usize>();
        let asked = self.questions().map(Question::text_bytes).sum::<usize>();
        bounded(
            &what,
            shared + asked + added.text_bytes(),
            ("QUESTIONNAIRE_BYTES_MAX", QUESTIONNAIRE_BYTES_MAX),
        )
    }
}

fn check_key(question: &Question) -> Result<(), Error> {
    let key = &question.key;
    let reason = if key.trim().is_empty() {
        "it is empty"
    } else if key.trim() != key {
        "it begins or ends with a space"
    } else if key == REQUEST_KEY {
        "an answers file keeps its request id there"
    } else if key.contains(|c: char| c.is_control() || c == '`') {
        "it contains a backtick or a control character"
    } else {
        return bounded(
            "The key of a question",
            key.len(),
            ("KEY_BYTES_MAX", KEY_BYTES_MAX),
        );
    };
    Err(Error::KeyInvalid {
        key: text::shorten(key),
        place: question.source.clone(),
        reason,
    })
}

fn bounded(what: &str, size: usize, (limit, max): (&'static str, usize)) -> Result<(), Error> {
    if size <= max {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: what.to_owned(),
        size,
        limit,
        max,
    })
}
