//! The tree of a template written as Jig, so that it prints the same bytes as its EJS.
//!
//! A tag of Jig has a line of its own and leaves nothing behind; a tag of EJS may be anywhere and
//! leaves the line around it. So this module first assembles lines: a line that EJS begins before a
//! choice is begun in each of its branches, and a line that it ends after a choice is ended in each
//! of them.

use super::ejs_tree::{
    EjsEach, EjsIf, EjsNode, EjsPrint, LineLimit, inline, inline_each, inline_if,
};
use super::jig;

/// One line of output, without its end.
pub(super) type JigLine = Vec<JigPart>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JigPart {
    Text(String),
    Print(String),
}

/// One or more whole lines of a Jig template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JigBlock {
    Line(JigLine),
    /// A tag that prints nothing.
    Quiet(String),
    Comment(String),
    /// Tags, each with its body, up to one `@end`.
    Tagged(Vec<(String, Vec<JigBlock>)>),
}

/// Something that Jig cannot express exactly, with the replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InexactPrint {
    pub(super) line: u32,
    pub(super) message: String,
}

/// Placeholder for the beginning of a loop body's first line, until it is known.
const BEGINNING: &str = "\u{0}";

/// Most blocks that are written, copies in the branches of choices counted.
pub(super) const BLOCKS_MAX: usize = 20_000;

/// Writes a tree as a Jig template.
pub(super) fn weave(nodes: &[EjsNode]) -> (String, Vec<InexactPrint>) {
    let mut weaver = JigPrinter {
        inexact: Vec::new(),
        written: 0,
        indexes: 0,
    };
    let mut woven = JigOutput::default();
    weaver.extend(&mut woven, nodes);
    let ends_line = matches!(&woven.tail, OutputTail::Line(line) if line.is_empty());
    let blocks = finished(woven, BlockEnd::OfText);
    (jig::write(&blocks, ends_line), weaver.inexact)
}

/// Blocks, and the line they leave open.
#[derive(Clone, Debug, Default)]
struct JigOutput {
    blocks: Vec<JigBlock>,
    tail: OutputTail,
}

/// The end of printed output.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OutputTail {
    Line(JigLine),
    /// A choice whose branches leave different lines open.
    Choice(Vec<(String, JigOutput)>),
}

impl Default for OutputTail {
    fn default() -> Self {
        OutputTail::Line(JigLine::new())
    }
}

impl PartialEq for JigOutput {
    fn eq(&self, other: &Self) -> bool {
        self.blocks == other.blocks && self.tail == other.tail
    }
}

impl Eq for JigOutput {}

struct JigPrinter {
    inexact: Vec<InexactPrint>,
    written: usize,
    /// Number of index names that were made up.
    indexes: usize,
}

impl JigPrinter {
    /// Continues at the end of `woven`.
    fn extend(&mut self, woven: &mut JigOutput, nodes: &[EjsNode]) {
        let mut rest = nodes.to_vec();
        rest.reverse();
        while !rest.is_empty() {
            let OutputTail::Line(line) = &mut woven.tail else {
                self.extend_branches(woven, &mut rest);
                continue;
            };
            let Some(node) = rest.pop() else { return };
            self.written += 1;
            match node {
                EjsNode::Text(text) => text_lines(&text, line, &mut woven.blocks),
                EjsNode::Print(print) => line.push(JigPart::Print(print.code)),
                EjsNode::Comment(text) => woven.blocks.push(JigBlock::Comment(text)),
                EjsNode::Lost(text) => woven
                    .blocks
                    .push(JigBlock::Comment(format!("hygen: {text}"))),
                // The variables it declares are not used before it, so it can move in front of the
                // line.
                EjsNode::Quiet(tag) => woven.blocks.push(JigBlock::Quiet(tag)),
                EjsNode::If(choice) => match inline_if(&choice, LineLimit::OneLine) {
                    Some(print) => line.push(JigPart::Print(print.code)),
                    None => self.choice(woven, &choice),
                },
                EjsNode::Each(each) => match inline_each(&each, LineLimit::OneLine) {
                    Some(print) => line.push(JigPart::Print(print.code)),
                    None => self.repetition(woven, &each),
                },
            }
        }
    }

    /// Ends the line that is open in each branch with what follows the choice.
    fn extend_branches(&mut self, woven: &mut JigOutput, rest: &mut Vec<EjsNode>) {
        let end = end_of_line(rest);
        let mut too_many = false;
        if let OutputTail::Choice(branches) = &mut woven.tail {
            for (_, branch) in branches {
                if self.written < BLOCKS_MAX {
                    self.extend(branch, &end);
                    continue;
                }
                branch.tail = OutputTail::default();
                too_many = true;
            }
        }
        if too_many && !self.inexact.iter().any(|found| found.line == 1) {
            let message = format!(
                "conditions within lines would make more than BLOCKS_MAX = {BLOCKS_MAX} parts, so \
                 the ends of some lines are missing: put each condition on lines of its own"
            );
            self.inexact.push(InexactPrint { line: 1, message });
        }
        close(woven);
    }

    fn choice(&mut self, woven: &mut JigOutput, choice: &EjsIf) {
        let begun = std::mem::take(&mut woven.tail);
        let mut branches = Vec::new();
        let conditions = choice
            .arms
            .iter()
            .enumerate()
            .map(|(index, (condition, body))| {
                let name = if index == 0 { "if" } else { "elseif" };
                (format!("@{name}({})", condition.code), body)
            });
        for (tag, body) in conditions.chain([("@else".to_owned(), &choice.otherwise)]) {
            let mut branch = JigOutput {
                blocks: Vec::new(),
                tail: begun.clone(),
            };
            self.extend(&mut branch, body);
            branches.push((tag, branch));
        }
        woven.tail = OutputTail::Choice(branches);
        close(woven);
    }

    /// Prints a loop: every iteration after the first begins where the one before it ended.
    fn repetition(&mut self, woven: &mut JigOutput, each: &EjsEach) {
        let OutputTail::Line(before) = std::mem::take(&mut woven.tail) else {
            return;
        };
        let mut round = JigOutput {
            blocks: Vec::new(),
            tail: OutputTail::Line(vec![JigPart::Print(BEGINNING.to_owned())]),
        };
        self.extend(&mut round, &each.body);
        let shadowed = each
            .index
            .as_ref()
            .is_some_and(|index| declares(&each.body, index));
        let after = match &round.tail {
            OutputTail::Line(line) if *line == before => line.clone(),
            OutputTail::Line(line) if is_text(line) && !shadowed => line.clone(),
            _ => {
                if let Some(print) = inline_each(each, LineLimit::AnyLines) {
                    woven.tail = OutputTail::Line(before);
                    self.extend(woven, &[EjsNode::Print(print)]);
                    return;
                }
                let message = "the rounds of this loop do not end at the same place of their line; \
                               each was given a line of its own";
                self.inexact.push(InexactPrint {
                    line: each.line,
                    message: message.to_owned(),
                });
                JigLine::new()
            }
        };
        let mut each = each.clone();
        if before != after && each.index.is_none() {
            self.indexes += 1;
            let number = if self.indexes > 1 {
                self.indexes.to_string()
            } else {
                String::new()
            };
            each.index = Some(format!("{}Index{number}", each.item));
        }
        let first = match (&each.index, before == after) {
            (Some(index), false) => {
                let code = format!("{index} ? {} : {}", code_of(&after), code_of(&before));
                vec![JigPart::Print(code)]
            }
            _ => after.clone(),
        };
        round.tail = OutputTail::Line(after.clone());
        let mut body = finished(round, BlockEnd::OfRound);
        replace_beginning(&mut body, &first);
        woven
            .blocks
            .push(JigBlock::Tagged(vec![(head(&each), body)]));
        woven.tail = OutputTail::Line(match before == after {
            true => after,
            false => {
                let code = format!(
                    "{} ? {} : {}",
                    each.count(),
                    code_of(&after),
                    code_of(&before)
                );
                vec![JigPart::Print(code)]
            }
        });
    }
}

/// Puts a choice among the blocks once all its branches leave the same line open.
fn close(woven: &mut JigOutput) {
    let OutputTail::Choice(branches) = &woven.tail else {
        return;
    };
    let line = match &branches[..] {
        [
            (
                _,
                JigOutput {
                    tail: OutputTail::Line(line),
                    ..
                },
            ),
            rest @ ..,
        ] if rest
            .iter()
            .all(|(_, branch)| branch.tail == OutputTail::Line(line.clone())) =>
        {
            line.clone()
        }
        _ => return,
    };
    if let OutputTail::Choice(branches) = std::mem::replace(&mut woven.tail, OutputTail::Line(line))
    {
        let branches = branches
            .into_iter()
            .map(|(tag, branch)| (tag, branch.blocks));
        woven.blocks.push(tagged(branches.collect()));
    }
}

fn tagged(mut branches: Vec<(String, Vec<JigBlock>)>) -> JigBlock {
    branches.pop_if(|(tag, body)| tag == "@else" && body.is_empty());
    JigBlock::Tagged(branches)
}

/// The reason an open line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockEnd {
    OfText,
    /// The next iteration continues the line.
    OfRound,
}

fn finished(woven: JigOutput, end: BlockEnd) -> Vec<JigBlock> {
    let mut blocks = woven.blocks;
    match woven.tail {
        OutputTail::Line(line) if end == BlockEnd::OfText && !line.is_empty() => {
            blocks.push(JigBlock::Line(line))
        }
        OutputTail::Line(_) => {}
        OutputTail::Choice(branches) => {
            let branches = branches.into_iter().map(|(tag, branch)| {
                // The line after the last line break counts in each branch, even when it is empty.
                let empty = branch.tail == OutputTail::default() && end == BlockEnd::OfText;
                let mut blocks = finished(branch, BlockEnd::OfText);
                blocks.extend(empty.then(|| JigBlock::Line(JigLine::new())));
                (tag, blocks)
            });
            blocks.push(tagged(branches.collect()));
        }
    }
    blocks
}

/// Writes how the first line of a round begins where it does.
fn replace_beginning(blocks: &mut [JigBlock], first: &JigLine) {
    for block in blocks {
        match block {
            JigBlock::Line(line) => {
                for part in std::mem::take(line) {
                    match part {
                        JigPart::Text(text) => push_text(line, &text),
                        JigPart::Print(code) if code == BEGINNING => {
                            line.extend(first.iter().cloned())
                        }
                        JigPart::Print(code) => {
                            line.push(JigPart::Print(code.replace(BEGINNING, &code_of(first))));
                        }
                    }
                }
            }
            JigBlock::Tagged(branches) => {
                for (_, body) in branches {
                    replace_beginning(body, first);
                }
            }
            JigBlock::Quiet(_) | JigBlock::Comment(_) => {}
        }
    }
}

/// Returns true if an inner loop declares this name.
fn declares(nodes: &[EjsNode], name: &str) -> bool {
    nodes.iter().any(|node| match node {
        EjsNode::Each(each) => {
            each.item == name || each.index.as_deref() == Some(name) || declares(&each.body, name)
        }
        EjsNode::If(choice) => {
            choice.arms.iter().any(|(_, body)| declares(body, name))
                || declares(&choice.otherwise, name)
        }
        _ => false,
    })
}

fn is_text(line: &JigLine) -> bool {
    line.iter().all(|part| matches!(part, JigPart::Text(_)))
}

fn head(each: &EjsEach) -> String {
    let names = match &each.index {
        Some(index) => format!("({}, {index})", each.item),
        None => each.item.clone(),
    };
    format!("@each({names} in {})", each.list.code)
}

/// Makes an expression that prints a line.
fn code_of(line: &JigLine) -> String {
    let nodes: Vec<EjsNode> = line
        .iter()
        .map(|part| match part {
            JigPart::Text(text) => EjsNode::Text(text.clone()),
            JigPart::Print(code) => EjsNode::Print(EjsPrint {
                code: code.clone(),
                simple: false,
            }),
        })
        .collect();
    inline(&nodes, LineLimit::AnyLines)
        .map(|print| print.operand())
        .unwrap_or_default()
}

/// Ends the open line at each line break of a text.
fn text_lines(text: &str, line: &mut JigLine, blocks: &mut Vec<JigBlock>) {
    let mut parts = text.split('\n');
    push_text(line, parts.next().unwrap_or_default());
    for part in parts {
        blocks.push(JigBlock::Line(std::mem::take(line)));
        push_text(line, part);
    }
}

fn push_text(line: &mut JigLine, text: &str) {
    match line.last_mut() {
        _ if text.is_empty() => {}
        Some(JigPart::Text(last)) => last.push_str(text),
        _ => line.push(JigPart::Text(text.to_owned())),
    }
}

/// Takes the nodes up to the next line break, which is one of them.
fn end_of_line(rest: &mut Vec<EjsNode>) -> Vec<EjsNode> {
    let mut taken = Vec::new();
    while let Some(node) = rest.pop() {
        if let EjsNode::Text(text) = &node
            && let Some(at) = text.find('\n')
        {
            taken.push(EjsNode::Text(text[..=at].to_owned()));
            rest.push(EjsNode::Text(text[at + 1..].to_owned()));
            break;
        }
        taken.push(node);
    }
    taken
}

/// Prints nodes as one line of text and values, for attributes.
pub(super) fn single_line(nodes: &[EjsNode]) -> Option<String> {
    let mut line = JigLine::new();
    for node in nodes {
        match node {
            EjsNode::Text(text) if !text.contains('\n') => push_text(&mut line, text),
            EjsNode::Print(EjsPrint { code, .. }) => line.push(JigPart::Print(code.clone())),
            EjsNode::If(choice) => {
                line.push(JigPart::Print(inline_if(choice, LineLimit::OneLine)?.code))
            }
            EjsNode::Each(each) => {
                line.push(JigPart::Print(inline_each(each, LineLimit::OneLine)?.code))
            }
            _ => return None,
        }
    }
    Some(jig::line(&line))
}
