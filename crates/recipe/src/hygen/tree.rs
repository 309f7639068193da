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
    pub(super) body: Vec<Node>,
    pub(super) line: u32,
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

/// One expression that prints what the nodes print, if they print within one line.
pub(super) fn inline(nodes: &[Node]) -> Option<Print> {
    let mut parts = Vec::new();
    for node in nodes {
        parts.push(match node {
            Node::Text(text) if !text.contains(['\n', '\r']) => Part::Text(text.clone()),
            Node::Print(print) => Part::Print(print.clone()),
            Node::If(choice) => Part::Print(inline_if(choice)?),
            Node::Each(each) => Part::Print(inline_each(each)?),
            _ => return None,
        });
    }
    Some(joined(&parts))
}

/// `c ? 'a' : 'b'`.
pub(super) fn inline_if(choice: &If) -> Option<Print> {
    let mut code = String::new();
    for (condition, body) in &choice.arms {
        code.push_str(&format!("{} ? {} : ", condition.operand(), inline(body)?.operand()));
    }
    code.push_str(&inline(&choice.otherwise)?.operand());
    Some(Print { code, simple: false })
}

/// `Array.from(list, (item) => …).join('')`.
pub(super) fn inline_each(each: &Each) -> Option<Print> {
    let body = inline(&each.body)?;
    let parameters = match &each.index {
        Some(index) => format!("({}, {index})", each.item),
        None => format!("({})", each.item),
    };
    let code = format!("Array.from({}, {parameters} => {}).join('')", each.list.code, body.operand());
    Some(Print { code, simple: true })
}

enum Part {
    Text(String),
    Print(Print),
}

fn joined(parts: &[Part]) -> Print {
    match parts {
        [] => Print { code: "''".to_owned(), simple: true },
        [Part::Print(print)] => print.clone(),
        [Part::Text(text)] => Print { code: quoted(text), simple: true },
        parts => {
            let mut code = "`".to_owned();
            for part in parts {
                match part {
                    Part::Text(text) => {
                        let text = text.replace('\\', "\\\\").replace('`', "\\`");
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
