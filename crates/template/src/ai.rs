//! `@ai` at render time: a block becomes a question, and its answer is printed in place of the
//! block.

use std::rc::Rc;

use expr::{EvalContext, Frame, Value};
use prompt::{AnswerKind, Question, QuestionSource};

use crate::answer_reads::AnswerKeys;
use crate::engine::Postponed;
use crate::error::{CompileFault, Error};
use crate::lines::is_blank;
use crate::node::{AiNode, AiPartNode, Template};
use crate::options::{self, Options};
use crate::render::{Activation, RenderState};
use crate::tags::AiPart;

/// The contents of the tags inside an `@ai` block, collected so far.
#[derive(Default)]
pub(crate) struct AiBlock {
    contexts: Vec<String>,
    prompts: Vec<String>,
    examples: Vec<String>,
    output: Option<(Options, String)>,
}

impl Activation {
    pub(crate) fn ai(
        &self,
        cx: &mut EvalContext<'_>,
        ai: &AiNode,
        out: &mut String,
    ) -> Result<(), Error> {
        // Expressions may read keys that become known inside, so reads are followed from here on.
        self.run.follow_reads();
        let outer = self.run.block.replace(Some(AiBlock::default()));
        let (read, mut needs) = self.run.reads.measure(|| self.read_block(cx, ai));
        let block = self.run.block.replace(outer).unwrap_or_default();
        let key = read?;
        needs.extend(self.run.reads.around());
        let key = self.key(ai, key, &block, &needs)?;
        needs.shift_remove(&key);
        let question = self.question(ai, &key, block, &needs)?;
        self.run.reads.set_stand_in(&key, stand_in(&question));
        if needs.is_empty() {
            let asked = self.run.questionnaire.borrow_mut().ask(question);
            asked.map_err(|error| self.prompt_error(ai.at, &error))?;
        } else {
            let needs = needs.iter().map(|key| key.to_string()).collect();
            let source = question.source;
            let postponed = Postponed {
                key: key.to_string(),
                needs,
                source,
            };
            self.run.postponed.borrow_mut().push(postponed);
        }
        let answer = self.run.answer(&key, &self.frame);
        self.place(&ai.placing, out, |out| {
            if let Some(answer) = answer {
                let start = out.len();
                out.push_str(&options::shown(cx, &answer).map_err(|error| {
                    let fault = CompileFault::new("E_RUNTIME_EXCEPTION", error.message(), ai.at);
                    fault.in_file(&self.template.file, &self.template.source)
                })?);
                self.set_apart(&key, out, start);
            }
            Ok(())
        })
    }

    /// Runs the tags inside a block; the key its own argument names.
    fn read_block(&self, cx: &mut EvalContext<'_>, ai: &AiNode) -> Result<Option<Rc<str>>, Error> {
        let key = match &ai.key {
            None => None,
            Some(code) => {
                let value = self.eval(cx, code)?;
                let options = options::read(cx, &value, options::AI_KEYS);
                let options = options.map_err(|error| self.ai_error(error, ai.at))?;
                options.key
            }
        };
        let mut text = String::new();
        self.body(cx, &ai.body, &mut text)?;
        if is_blank(&text) {
            return Ok(key);
        }
        let first = text.trim().lines().next().unwrap_or_default();
        let message = format!("@ai holds text that belongs to none of its tags: \"{first}\"");
        let fault = CompileFault::new("E_AI_STRAY_TEXT", message, ai.at);
        Err(self.fault(fault.hint("put it inside @prompt() … @end or @context() … @end")))
    }

    /// Returns the key of the question: named by `@ai` or by `@output`, and by both alike.
    fn key(
        &self,
        ai: &AiNode,
        own: Option<Rc<str>>,
        block: &AiBlock,
        needs: &AnswerKeys,
    ) -> Result<Rc<str>, Error> {
        let output = block
            .output
            .as_ref()
            .and_then(|(options, _)| options.key.clone());
        match (own, output) {
            (Some(own), Some(output)) if own != output => {
                let message = format!("one question has two keys: `{own}` and `{output}`");
                let fault = CompileFault::new("E_AI_KEY_CONFLICT", message, ai.at);
                Err(self.fault(fault.hint("name the key once, in @ai or in @output")))
            }
            (Some(key), _) | (None, Some(key)) => Ok(key),
            (None, None) if !needs.is_empty() => Ok("".into()),
            (None, None) => {
                let fault =
                    CompileFault::new("E_AI_KEY_MISSING", "this @ai block has no key", ai.at);
                Err(self
                    .fault(fault.hint("write @ai('key'), or @output({ key: 'key' }) inside it")))
            }
        }
    }

    fn question(
        &self,
        ai: &AiNode,
        key: &Rc<str>,
        block: AiBlock,
        needs: &AnswerKeys,
    ) -> Result<Question, Error> {
        let source = QuestionSource {
            file: self.template.file.to_string(),
            line: ai.at.0,
        };
        let mut question = Question::new(key.to_string(), source);
        question.contexts = block.contexts;
        question.prompt = block.prompts.join("\n\n");
        question.examples = block.examples;
        if is_blank(&question.prompt) && needs.is_empty() {
            let message = format!("the question `{key}` has no @prompt");
            let fault = CompileFault::new("E_AI_PROMPT_MISSING", message, ai.at);
            return Err(self.fault(fault.hint("say what is asked in @prompt() … @end")));
        }
        if let Some((options, format)) = block.output {
            question.format = format;
            question.schema = options.schema;
            question.items = options.items;
            question.required = options.required;
            question.kind = options.kind;
        }
        Ok(question)
    }

    pub(crate) fn ai_part(&self, cx: &mut EvalContext<'_>, part: &AiPartNode) -> Result<(), Error> {
        let options = match (&part.options, part.part) {
            (Some(code), AiPart::Output) => {
                let value = self.eval(cx, code)?;
                options::read_output(cx, &value, part.language.as_deref())
                    .map_err(|error| self.ai_error(error, part.at))?
            }
            _ => Options::default(),
        };
        let mut text = String::new();
        let (ran, keys) = self
            .run
            .reads
            .measure(|| self.body(cx, &part.body, &mut text));
        ran?;
        let mut block = self.run.block.borrow_mut();
        let Some(block) = block.as_mut() else {
            // A shared context that depends on a missing answer is added once it is answered.
            if keys.is_empty() && self.run.reads.around().is_empty() {
                self.run.questionnaire.borrow_mut().add_context(&text);
            }
            return Ok(());
        };
        match part.part {
            AiPart::Context => block.contexts.push(text),
            AiPart::Prompt => block.prompts.push(text),
            AiPart::Example => block.examples.push(text),
            AiPart::Output => {
                if block.output.is_some() {
                    let message = "one question has two @output blocks";
                    return Err(self.fault(CompileFault::new(
                        "E_AI_OUTPUT_REPEATED",
                        message,
                        part.at,
                    )));
                }
                block.output = Some((options, text));
            }
        }
        Ok(())
    }

    fn ai_error(&self, refused: options::RefusedOptions, at: (u32, u32)) -> Error {
        let fault = CompileFault::new(refused.code, refused.message, at);
        self.fault(match refused.hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        })
    }

    fn prompt_error(&self, at: (u32, u32), error: &prompt::Error) -> Error {
        let code = match error {
            prompt::Error::QuestionConflict { .. } => "E_AI_QUESTION_CONFLICT",
            prompt::Error::KeyInvalid { .. } => "E_AI_KEY_INVALID",
            prompt::Error::TooLarge { .. } => "E_LIMIT_EXCEEDED",
            _ => "E_AI_OUTPUT_INVALID",
        };
        self.fault(CompileFault::new(code, error.to_string(), at))
    }

    fn fault(&self, fault: CompileFault) -> Error {
        fault.in_file(&self.template.file, &self.template.source)
    }
}

impl RenderState {
    /// Makes the keys a template asks for or reads known, before it runs.
    pub(crate) fn know(&self, template: &Template, frame: &Frame) {
        let names = &template.answers;
        if names.asked.is_empty() && names.read.is_empty() {
            return;
        }
        for key in names.read.iter().chain(&names.asked) {
            if !self.answers.borrow().contains(key) {
                let unanswered = self.reads.unanswered(key);
                self.answers.borrow_mut().insert(key.clone(), unanswered);
                self.follow_reads();
            }
        }
        for key in &names.asked {
            if !frame.state().borrow().contains(key) {
                self.bind(key, frame);
            }
        }
    }

    /// Puts the key's answer into the state, typed, or its stand-in.
    fn bind(&self, key: &Rc<str>, frame: &Frame) {
        let value = match self.given.get(&**key) {
            Some(answer) => Value::from_json(answer),
            None => self.reads.unanswered(key),
        };
        frame.state().borrow_mut().insert(key.clone(), value);
    }

    /// Returns the answer to a key, and gives it to both names of the key.
    fn answer(&self, key: &Rc<str>, frame: &Frame) -> Option<Value> {
        let given = self.given.get(&**key);
        if given.is_none() && !self.answers.borrow().contains(key) {
            let unanswered = self.reads.unanswered(key);
            self.answers.borrow_mut().insert(key.clone(), unanswered);
        }
        if !key.is_empty() {
            self.bind(key, frame);
        }
        given
            .filter(|answer| !answer.is_null())
            .map(Value::from_json)
    }

    pub(crate) fn follow_reads(&self) {
        self.reads.activate();
        self.observing.set(true);
    }
}

/// Returns the stand-in for an unanswered question: its first example, else an empty value of its
/// kind.
fn stand_in(question: &Question) -> Value {
    let Some(example) = question
        .examples
        .iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty())
    else {
        return match question.kind {
            AnswerKind::Boolean => Value::Bool(false),
            AnswerKind::Number => Value::Number(0.0),
            AnswerKind::Pick { .. } | AnswerKind::Order { .. } | AnswerKind::List => {
                Value::array(Vec::new())
            }
            _ => Value::from(""),
        };
    };
    match question.kind {
        AnswerKind::Text | AnswerKind::Code { .. } => Value::from(example),
        _ => match serde_json::from_str(example) {
            Ok(json) => Value::from_json(&json),
            Err(_) => Value::from(example),
        },
    }
}
