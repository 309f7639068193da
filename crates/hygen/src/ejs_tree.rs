//! The tree of an EJS text once its tags are paired: text, values, choices and repetitions.

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EjsNode {
    Text(String),
    Print(EjsPrint),
    Comment(String),
    If(EjsIf),
    Each(EjsEach),
    /// A tag that prints nothing: `@let(…)`, `@eval(…)`.
    Quiet(String),
    /// Kept as a comment, with a warning.
    Lost(String),
}

/// An expression whose value is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EjsPrint {
    pub(super) code: String,
    /// True if the expression needs no parentheses beside an operator.
    pub(super) simple: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EjsIf {
    /// Conditions and their bodies, tried in order.
    pub(super) arms: Vec<(EjsPrint, Vec<EjsNode>)>,
    pub(super) otherwise: Vec<EjsNode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EjsEach {
    pub(super) item: String,
    pub(super) index: Option<String>,
    pub(super) list: EjsPrint,
    /// The list is an object: the loop iterates over its values, and the index is their key.
    pub(super) over_object: bool,
    pub(super) body: Vec<EjsNode>,
    pub(super) line: u32,
}

impl EjsEach {
    /// Returns an expression that is true if the loop has at least one item.
    pub(super) fn count(&self) -> String {
        match self.over_object {
            true => format!("Object.keys({}).length", self.list.code),
            false => format!("{}.length", self.list.operand()),
        }
    }
}

impl EjsPrint {
    /// Returns the expression as part of a larger one, in parentheses if it needs them.
    pub(super) fn operand(&self) -> String {
        match self.simple {
            true => self.code.clone(),
            false => format!("({})", self.code),
        }
    }
}

/// Limit on the lines an expression may print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineLimit {
    OneLine,
    /// Line breaks are written as `\n`.
    AnyLines,
}

/// Makes one expression that prints the same as the nodes.
pub(super) fn inline(nodes: &[EjsNode], within: LineLimit) -> Option<EjsPrint> {
    let mut parts = Vec::new();
    for node in nodes {
        parts.push(match node {
            EjsNode::Text(text) if within == LineLimit::OneLine && text.contains(['\n', '\r']) => {
                return None;
            }
            EjsNode::Text(text) => EjsPart::Text(text.clone()),
            EjsNode::Print(print) => EjsPart::Print(print.clone()),
            EjsNode::If(choice) => EjsPart::Print(inline_if(choice, within)?),
            EjsNode::Each(each) => EjsPart::Print(inline_each(each, within)?),
            _ => return None,
        });
    }
    Some(joined(&parts))
}

/// Makes `c ? 'a' : 'b'`.
pub(super) fn inline_if(choice: &EjsIf, within: LineLimit) -> Option<EjsPrint> {
    let mut code = String::new();
    for (condition, body) in &choice.arms {
        let body = inline(body, within)?.operand();
        code.push_str(&format!("{} ? {body} : ", condition.operand()));
    }
    code.push_str(&inline(&choice.otherwise, within)?.operand());
    Some(EjsPrint {
        code,
        simple: false,
    })
}

/// Makes `Array.from(list, (item) => …).join('')`.
pub(super) fn inline_each(each: &EjsEach, within: LineLimit) -> Option<EjsPrint> {
    let body = inline(&each.body, within)?;
    if each.over_object {
        let (key, item) = (each.index.as_deref().unwrap_or("_"), &each.item);
        let (list, body) = (&each.list.code, body.operand());
        let code = format!("Object.entries({list}).map(([{key}, {item}]) => {body}).join('')");
        return Some(EjsPrint { code, simple: true });
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
    Some(EjsPrint { code, simple: true })
}

enum EjsPart {
    Text(String),
    Print(EjsPrint),
}

fn joined(parts: &[EjsPart]) -> EjsPrint {
    match parts {
        [] => EjsPrint {
            code: "''".to_owned(),
            simple: true,
        },
        [EjsPart::Print(print)] => print.clone(),
        [EjsPart::Text(text)] => EjsPrint {
            code: quoted(text),
            simple: true,
        },
        parts => {
            let mut code = "`".to_owned();
            for part in parts {
                match part {
                    EjsPart::Text(text) => {
                        let text = text.replace('\\', "\\\\").replace('`', "\\`");
                        let text = text.replace('\n', "\\n").replace('\r', "\\r");
                        code.push_str(&text.replace("${", "\\${"));
                    }
                    EjsPart::Print(print) => code.push_str(&format!("${{{}}}", print.code)),
                }
            }
            code.push('`');
            EjsPrint { code, simple: true }
        }
    }
}

/// Writes a text as a JavaScript string.
pub(super) fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    let text = text.replace('\n', "\\n").replace('\r', "\\r");
    format!("'{text}'")
}
