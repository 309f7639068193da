//! The tree of a template written as Jig, so that it prints the same bytes as its EJS.
//!
//! Jig's tags stand alone on their lines and leave nothing behind; EJS's stand anywhere and leave
//! the line around them. So lines are put together first: a line that EJS begins before a choice is
//! begun in each of its branches, and a line that it ends after a choice is ended in each of them.

use super::jig;
use super::tree::{Each, If, Node, Print, inline_each, inline_if};

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

/// Writes a tree as a Jig template.
pub(super) fn weave(nodes: &[Node]) -> (String, Vec<Inexact>) {
    let mut weaver = Weaver { inexact: Vec::new() };
    let (mut blocks, tail) = weaver.blocks(nodes, Line::new());
    let ends_line = tail.is_empty();
    if !ends_line {
        blocks.push(Block::Line(tail));
    }
    (jig::write(&blocks, ends_line), weaver.inexact)
}

struct Weaver {
    inexact: Vec<Inexact>,
}

impl Weaver {
    /// The blocks of some nodes that begin in the middle of a line, and the line they leave open.
    fn blocks(&mut self, nodes: &[Node], begun: Line) -> (Vec<Block>, Line) {
        let mut blocks = Vec::new();
        let mut line = begun;
        let mut rest = nodes.to_vec();
        rest.reverse();
        while let Some(node) = rest.pop() {
            match node {
                Node::Text(text) => text_lines(&text, &mut line, &mut blocks),
                Node::Print(print) => line.push(Part::Print(print.code)),
                Node::Comment(text) => blocks.push(Block::Comment(text)),
                Node::Lost(text) => blocks.push(Block::Comment(format!("hygen: {text}"))),
                // What it declares is not used before it, so it can stand before the line.
                Node::Quiet(tag) => blocks.push(Block::Quiet(tag)),
                Node::If(choice) => match inline_if(&choice) {
                    Some(print) => line.push(Part::Print(print.code)),
                    None => line = self.choice(choice, line, &mut rest, &mut blocks),
                },
                Node::Each(each) => match inline_each(&each) {
                    Some(print) => line.push(Part::Print(print.code)),
                    None => line = self.repetition(each, line, &mut blocks),
                },
            }
        }
        (blocks, line)
    }

    /// Puts a choice, and takes from `rest` what its branches need to end their lines.
    fn choice(
        &mut self,
        choice: If,
        line: Line,
        rest: &mut Vec<Node>,
        blocks: &mut Vec<Block>,
    ) -> Line {
        let mut branches = Vec::new();
        for (index, (condition, body)) in choice.arms.iter().enumerate() {
            let name = if index == 0 { "if" } else { "elseif" };
            let (body, tail) = self.blocks(body, line.clone());
            branches.push((format!("@{name}({})", condition.code), body, tail));
        }
        let (body, tail) = self.blocks(&choice.otherwise, line);
        branches.push(("@else".to_owned(), body, tail));
        let open = branches.iter().any(|(_, _, tail)| *tail != branches[0].2);
        if open {
            let end = end_of_line(rest);
            for (_, body, tail) in &mut branches {
                let (more, left) = self.blocks(&end, std::mem::take(tail));
                body.extend(more);
                *tail = left;
            }
        }
        let open = branches.iter().any(|(_, _, tail)| *tail != branches[0].2);
        let mut left = Line::new();
        for (_, body, tail) in &mut branches {
            match open {
                // Nothing follows that would end the line, so each branch ends its own.
                true => body.push(Block::Line(std::mem::take(tail))),
                false => left = std::mem::take(tail),
            }
        }
        let mut branches: Vec<_> = branches.into_iter().map(|(tag, body, _)| (tag, body)).collect();
        branches.pop_if(|(_, body)| body.is_empty());
        blocks.push(Block::Tagged(branches));
        left
    }

    fn repetition(&mut self, each: Each, line: Line, blocks: &mut Vec<Block>) -> Line {
        let head = match &each.index {
            Some(index) => format!("({}, {index})", each.item),
            None => each.item.clone(),
        };
        let tag = format!("@each({head} in {})", each.list.code);
        let (mut body, tail) = self.blocks(&each.body, line.clone());
        if tail != line {
            // Every round after the first begins where the one before it ended.
            let message = "the first round of this loop begins in another place of its line than the \
                           others; all of them now begin as the later ones do";
            self.inexact.push(Inexact { line: each.line, message: message.to_owned() });
            (body, _) = self.blocks(&each.body, tail.clone());
            if !is_blank(&line) {
                blocks.push(Block::Line(line));
            }
        }
        blocks.push(Block::Tagged(vec![(tag, body)]));
        tail
    }
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

fn is_blank(line: &Line) -> bool {
    line.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty()))
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
            Node::If(choice) => line.push(Part::Print(inline_if(choice)?.code)),
            Node::Each(each) => line.push(Part::Print(inline_each(each)?.code)),
            _ => return None,
        }
    }
    Some(jig::line(&line))
}
