//! What an EJS text means, once its tags are paired: text, values, choices and repetitions.

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    Print(Print),
    Comment(String),
    If(If),
    Each(Each),
    /// A tag that prints nothing: `@let(…)`, `@eval(…)`.
    Quiet(String),
    /// Kept as a comment, with a warning.
    Lost(String),
}

/// An expression whose value is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) code: String,
    /// Whether the expression can stand beside an operator without parentheses.
    pub(super) simple: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct If {
    /// Conditions and what is printed under them, tried in order.
    pub(super) arms: Vec<(Print, Vec<Node>)>,
    pub(super) otherwise: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Each {
    pub(super) item: String,
    pub(super) index: Option<String>,
    pub(super) list: Print,
    /// The list is an object: its values are gone through, and the index is their key.
    pub(super) over_object: bool,
    pub(super) body: Vec<Node>,
    pub(super) line: u32,
}

impl Each {
    /// An expression that is true when there is anything to go through.
    pub(super) fn count(&self) -> String {
        match self.over_object {
            true => format!("Object.keys({}).length", self.list.code),
            false => format!("{}.length", self.list.operand()),
        }
    }
}

impl Print {
    /// The expression as part of a larger one.
    pub(super) fn operand(&self) -> String {
        match self.simple {
            true => self.code.clone(),
            false => format!("({})", self.code),
        }
    }
}

/// How much an expression may print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    OneLine,
    /// Line breaks are written as `\n`.
    AnyLines,
}

/// One expression that prints what the nodes print.
pub(super) fn inline(nodes: &[Node], within: Within) -> Option<Print> {
    let mut parts = Vec::new();
    for node in nodes {
        parts.push(match node {
            Node::Text(text) if within == Within::OneLine && text.contains(['\n', '\r']) => {
                return None;
            }
            Node::Text(text) => Part::Text(text.clone()),
            Node::Print(print) => Part::Print(print.clone()),
            Node::If(choice) => Part::Print(inline_if(choice, within)?),
            Node::Each(each) => Part::Print(inline_each(each, within)?),
            _ => return None,
        });
    }
    Some(joined(&parts))
}

/// `c ? 'a' : 'b'`.
pub(super) fn inline_if(choice: &If, within: Within) -> Option<Print> {
    let mut code = String::new();
    for (condition, body) in &choice.arms {
        let body = inline(body, within)?.operand();
        code.push_str(&format!("{} ? {body} : ", condition.operand()));
    }
    code.push_str(&inline(&choice.otherwise, within)?.operand());
    Some(Print {
        code,
        simple: false,
    })
}

/// `Array.from(list, (item) => …).join('')`.
pub(super) fn inline_each(each: &Each, within: Within) -> Option<Print> {
    let body = inline(&each.body, within)?;
    if each.over_object {
        let (key, item) = (each.index.as_deref().unwrap_or("_"), &each.item);
        let (list, body) = (&each.list.code, body.operand());
        let code = format!("Object.entries({list}).map(([{key}, {item}]) => {body}).join('')");
        return Some(Print { code, simple: true });
    }
    let parameters = match &each.index {
        Some(index) => format!("({}, {index})", each.item),
        None => format!("({})", each.item),
    };
    let code = format!(
        "Array.from({}, {parameters} => {}).join('')",
        each.list.code,
        body.operand()
    );
    Some(Print { code, simple: true })
}

enum Part {
    Text(String),
    Print(Print),
}

fn joined(parts: &[Part]) -> Print {
    match parts {
        [] => Print {
            code: "''".to_owned(),
            simple: true,
        },
        [Part::Print(print)] => print.clone(),
        [Part::Text(text)] => Print {
            code: quoted(text),
            simple: true,
        },
        parts => {
            let mut code = "`".to_owned();
            for part in parts {
                match part {
                    Part::Text(text) => {
                        let text = text.replace('\\', "\\\\").replace('`', "\\`");
                        let text = text.replace('\n', "\\n").replace('\r', "\\r");
                        code.push_str(&text.replace("${", "\\${"));
                    }
                    Part::Print(print) => code.push_str(&format!("${{{}}}", print.code)),
                }
            }
            code.push('`');
            Print { code, simple: true }
        }
    }
}

/// A text as a JavaScript string.
pub(super) fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    let text = text.replace('\n', "\\n").replace('\r', "\\r");
    format!("'{text}'")
}
