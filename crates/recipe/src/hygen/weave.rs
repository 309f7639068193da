//! The tree of a template written as Jig, so that it prints the same bytes as its EJS.
//!
//! Jig's tags stand alone on their lines and leave nothing behind; EJS's stand anywhere and leave
//! the line around them. So lines are put together first: a line that EJS begins before a choice is
//! begun in each of its branches, and a line that it ends after a choice is ended in each of them.

use super::jig;
use super::tree::{Each, If, Node, Print, Within, inline, inline_each, inline_if};

/// One line of output, without its end.
pub(super) type Line = Vec<Part>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Print(String),
}

/// What stands on lines of its own in a Jig template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Line(Line),
    /// A tag that prints nothing.
    Quiet(String),
    Comment(String),
    /// Tags, each with its body, up to one `@end`.
    Tagged(Vec<(String, Vec<Block>)>),
}

/// Something that cannot be said exactly, with what was done instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inexact {
    pub(super) line: u32,
    pub(super) message: String,
}

/// Stands for how the first line of a loop's body begins, while that is not known.
const BEGINNING: &str = "\u{0}";

/// Most blocks that are written, copies in the branches of choices counted.
pub(super) const BLOCKS_MAX: usize = 20_000;

/// Writes a tree as a Jig template.
pub(super) fn weave(nodes: &[Node]) -> (String, Vec<Inexact>) {
    let mut weaver = Weaver {
        inexact: Vec::new(),
        written: 0,
        indexes: 0,
    };
    let mut woven = Woven::default();
    weaver.extend(&mut woven, nodes);
    let ends_line = matches!(&woven.tail, Tail::Line(line) if line.is_empty());
    let blocks = finished(woven, End::OfText);
    (jig::write(&blocks, ends_line), weaver.inexact)
}

/// Blocks, and the line they leave open.
#[derive(Clone, Debug, Default)]
struct Woven {
    blocks: Vec<Block>,
    tail: Tail,
}

/// How what was woven ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tail {
    Line(Line),
    /// A choice whose branches leave different lines open.
    Choice(Vec<(String, Woven)>),
}

impl Default for Tail {
    fn default() -> Self {
        Tail::Line(Line::new())
    }
}

impl PartialEq for Woven {
    fn eq(&self, other: &Self) -> bool {
        self.blocks == other.blocks && self.tail == other.tail
    }
}

impl Eq for Woven {}

struct Weaver {
    inexact: Vec<Inexact>,
    written: usize,
    /// How many names for indexes were made up.
    indexes: usize,
}

impl Weaver {
    /// Goes on where `woven` ends.
    fn extend(&mut self, woven: &mut Woven, nodes: &[Node]) {
        let mut rest = nodes.to_vec();
        rest.reverse();
        while !rest.is_empty() {
            let Tail::Line(line) = &mut woven.tail else {
                self.extend_branches(woven, &mut rest);
                continue;
            };
            let Some(node) = rest.pop() else { return };
            self.written += 1;
            match node {
                Node::Text(text) => text_lines(&text, line, &mut woven.blocks),
                Node::Print(print) => line.push(Part::Print(print.code)),
                Node::Comment(text) => woven.blocks.push(Block::Comment(text)),
                Node::Lost(text) => woven.blocks.push(Block::Comment(format!("hygen: {text}"))),
                // What it declares is not used before it, so it can stand before the line.
                Node::Quiet(tag) => woven.blocks.push(Block::Quiet(tag)),
                Node::If(choice) => match inline_if(&choice, Within::OneLine) {
                    Some(print) => line.push(Part::Print(print.code)),
                    None => self.choice(woven, &choice),
                },
                Node::Each(each) => match inline_each(&each, Within::OneLine) {
                    Some(print) => line.push(Part::Print(print.code)),
                    None => self.repetition(woven, &each),
                },
            }
        }
    }

    /// Ends the line that is open in each branch with what follows the choice.
    fn extend_branches(&mut self, woven: &mut Woven, rest: &mut Vec<Node>) {
        let end = end_of_line(rest);
        let mut too_many = false;
        if let Tail::Choice(branches) = &mut woven.tail {
            for (_, branch) in branches {
                if self.written < BLOCKS_MAX {
                    self.extend(branch, &end);
                    continue;
                }
                branch.tail = Tail::default();
                too_many = true;
            }
        }
        if too_many && !self.inexact.iter().any(|found| found.line == 1) {
            let message = format!(
                "conditions within lines would make more than BLOCKS_MAX = {BLOCKS_MAX} parts, so \
                 the ends of some lines are missing: put each condition on lines of its own"
            );
            self.inexact.push(Inexact { line: 1, message });
        }
        close(woven);
    }

    fn choice(&mut self, woven: &mut Woven, choice: &If) {
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
            let mut branch = Woven {
                blocks: Vec::new(),
                tail: begun.clone(),
            };
            self.extend(&mut branch, body);
            branches.push((tag, branch));
        }
        woven.tail = Tail::Choice(branches);
        close(woven);
    }

    /// Every round after the first begins where the one before it ended.
    fn repetition(&mut self, woven: &mut Woven, each: &Each) {
        let Tail::Line(before) = std::mem::take(&mut woven.tail) else {
            return;
        };
        let mut round = Woven {
            blocks: Vec::new(),
            tail: Tail::Line(vec![Part::Print(BEGINNING.to_owned())]),
        };
        self.extend(&mut round, &each.body);
        let shadowed = each
            .index
            .as_ref()
            .is_some_and(|index| declares(&each.body, index));
        let after = match &round.tail {
            Tail::Line(line) if *line == before => line.clone(),
            Tail::Line(line) if is_text(line) && !shadowed => line.clone(),
            _ => {
                if let Some(print) = inline_each(each, Within::AnyLines) {
                    woven.tail = Tail::Line(before);
                    self.extend(woven, &[Node::Print(print)]);
                    return;
                }
                let message = "the rounds of this loop do not end at the same place of their line; \
                               each was given a line of its own";
                self.inexact.push(Inexact {
                    line: each.line,
                    message: message.to_owned(),
                });
                Line::new()
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
                vec![Part::Print(code)]
            }
            _ => after.clone(),
        };
        round.tail = Tail::Line(after.clone());
        let mut body = finished(round, End::OfRound);
        replace_beginning(&mut body, &first);
        woven.blocks.push(Block::Tagged(vec![(head(&each), body)]));
        woven.tail = Tail::Line(match before == after {
            true => after,
            false => {
                let code = format!(
                    "{} ? {} : {}",
                    each.count(),
                    code_of(&after),
                    code_of(&before)
                );
                vec![Part::Print(code)]
            }
        });
    }
}

/// Puts a choice among the blocks once all its branches leave the same line open.
fn close(woven: &mut Woven) {
    let Tail::Choice(branches) = &woven.tail else {
        return;
    };
    let line = match &branches[..] {
        [
            (
                _,
                Woven {
                    tail: Tail::Line(line),
                    ..
                },
            ),
            rest @ ..,
        ] if rest
            .iter()
            .all(|(_, branch)| branch.tail == Tail::Line(line.clone())) =>
        {
            line.clone()
        }
        _ => return,
    };
    if let Tail::Choice(branches) = std::mem::replace(&mut woven.tail, Tail::Line(line)) {
        let branches = branches
            .into_iter()
            .map(|(tag, branch)| (tag, branch.blocks));
        woven.blocks.push(tagged(branches.collect()));
    }
}

fn tagged(mut branches: Vec<(String, Vec<Block>)>) -> Block {
    branches.pop_if(|(tag, body)| tag == "@else" && body.is_empty());
    Block::Tagged(branches)
}

/// What an end means for a line that is still open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfText,
    /// The next round goes on with the line.
    OfRound,
}

fn finished(woven: Woven, end: End) -> Vec<Block> {
    let mut blocks = woven.blocks;
    match woven.tail {
        Tail::Line(line) if end == End::OfText && !line.is_empty() => {
            blocks.push(Block::Line(line))
        }
        Tail::Line(_) => {}
        Tail::Choice(branches) => {
            let branches = branches.into_iter().map(|(tag, branch)| {
                // The line after the last line break counts in each branch, even when it is empty.
                let empty = branch.tail == Tail::default() && end == End::OfText;
                let mut blocks = finished(branch, End::OfText);
                blocks.extend(empty.then(|| Block::Line(Line::new())));
                (tag, blocks)
            });
            blocks.push(tagged(branches.collect()));
        }
    }
    blocks
}

/// Writes how the first line of a round begins where it does.
fn replace_beginning(blocks: &mut [Block], first: &Line) {
    for block in blocks {
        match block {
            Block::Line(line) => {
                for part in std::mem::take(line) {
                    match part {
                        Part::Text(text) => push_text(line, &text),
                        Part::Print(code) if code == BEGINNING => {
                            line.extend(first.iter().cloned())
                        }
                        Part::Print(code) => {
                            line.push(Part::Print(code.replace(BEGINNING, &code_of(first))));
                        }
                    }
                }
            }
            Block::Tagged(branches) => {
                for (_, body) in branches {
                    replace_beginning(body, first);
                }
            }
            Block::Quiet(_) | Block::Comment(_) => {}
        }
    }
}

/// Whether an inner loop calls something by this name.
fn declares(nodes: &[Node], name: &str) -> bool {
    nodes.iter().any(|node| match node {
        Node::Each(each) => {
            each.item == name || each.index.as_deref() == Some(name) || declares(&each.body, name)
        }
        Node::If(choice) => {
            choice.arms.iter().any(|(_, body)| declares(body, name))
                || declares(&choice.otherwise, name)
        }
        _ => false,
    })
}

fn is_text(line: &Line) -> bool {
    line.iter().all(|part| matches!(part, Part::Text(_)))
}

fn head(each: &Each) -> String {
    let names = match &each.index {
        Some(index) => format!("({}, {index})", each.item),
        None => each.item.clone(),
    };
    format!("@each({names} in {})", each.list.code)
}

/// An expression that prints a line.
fn code_of(line: &Line) -> String {
    let nodes: Vec<Node> = line
        .iter()
        .map(|part| match part {
            Part::Text(text) => Node::Text(text.clone()),
            Part::Print(code) => Node::Print(Print {
                code: code.clone(),
                simple: false,
            }),
        })
        .collect();
    inline(&nodes, Within::AnyLines)
        .map(|print| print.operand())
        .unwrap_or_default()
}

/// Ends the open line at each line break of a text.
fn text_lines(text: &str, line: &mut Line, blocks: &mut Vec<Block>) {
    let mut parts = text.split('\n');
    push_text(line, parts.next().unwrap_or_default());
    for part in parts {
        blocks.push(Block::Line(std::mem::take(line)));
        push_text(line, part);
    }
}

fn push_text(line: &mut Line, text: &str) {
    match line.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        _ => line.push(Part::Text(text.to_owned())),
    }
}

/// Takes the nodes up to the next line break, which is one of them.
fn end_of_line(rest: &mut Vec<Node>) -> Vec<Node> {
    let mut taken = Vec::new();
    while let Some(node) = rest.pop() {
        if let Node::Text(text) = &node
            && let Some(at) = text.find('\n')
        {
            taken.push(Node::Text(text[..=at].to_owned()));
            rest.push(Node::Text(text[at + 1..].to_owned()));
            break;
        }
        taken.push(node);
    }
    taken
}

/// For attributes: one line of text and values.
pub(super) fn single_line(nodes: &[Node]) -> Option<String> {
    let mut line = Line::new();
    for node in nodes {
        match node {
            Node::Text(text) if !text.contains('\n') => push_text(&mut line, text),
            Node::Print(Print { code, .. }) => line.push(Part::Print(code.clone())),
            Node::If(choice) => line.push(Part::Print(inline_if(choice, Within::OneLine)?.code)),
            Node::Each(each) => line.push(Part::Print(inline_each(each, Within::OneLine)?.code)),
            _ => return None,
        }
    }
    Some(jig::line(&line))
}
