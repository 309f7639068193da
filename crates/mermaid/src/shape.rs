//! The shapes of nodes: sixteen with brackets of their own, and the names `@{ shape: … }` knows.

/// The shape of a node, by the name Mermaid reports for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeShape(Option<&'static str>);

impl NodeShape {
    /// A node without brackets.
    pub const DEFAULT: NodeShape = NodeShape(None);

    /// Returns `square`, `diam`, …; `default` for a node without brackets.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.unwrap_or("default")
    }

    /// Returns the shape of the brackets that draw the same outline, whichever way the shape was
    /// written: `diam` and `decision` are `diamond`. `None` for shapes that no brackets write.
    #[must_use]
    pub fn family(self) -> Option<&'static str> {
        let name = self.0.unwrap_or("square");
        if brackets(name).is_some() {
            return Some(name);
        }
        let found = FAMILIES.iter().find(|(_, names)| names.contains(&name));
        found.map(|(family, _)| *family)
    }

    pub(crate) fn bracketed(name: &'static str) -> NodeShape {
        NodeShape(Some(name))
    }

    /// Finds the shape of a name in `@{ shape: … }`.
    #[must_use]
    pub fn named(name: &str) -> Option<NodeShape> {
        let index = NAMES.binary_search(&name).ok()?;
        NAMES.get(index).map(|name| NodeShape(Some(name)))
    }

    /// Returns the known name nearest to one that is not known.
    pub(crate) fn nearest(name: &str) -> Option<&'static str> {
        diagnostics::nearest(name, NAMES.iter().copied())
    }
}

/// Returns the brackets of a shape that has some.
pub(crate) fn brackets(shape: &str) -> Option<(&'static str, &'static str)> {
    let found = BRACKETS.iter().find(|(name, _, _)| *name == shape);
    found.map(|(_, open, close)| (*open, *close))
}

/// The shapes that brackets write, and their brackets.
pub(crate) const BRACKETS: [(&str, &str, &str); 15] = [
    ("square", "[", "]"),
    ("round", "(", ")"),
    ("stadium", "([", "])"),
    ("subroutine", "[[", "]]"),
    ("cylinder", "[(", ")]"),
    ("circle", "((", "))"),
    ("doublecircle", "(((", ")))"),
    ("diamond", "{", "}"),
    ("hexagon", "{{", "}}"),
    ("odd", ">", "]"),
    ("trapezoid", "[/", "\\]"),
    ("inv_trapezoid", "[\\", "/]"),
    ("lean_right", "[/", "/]"),
    ("lean_left", "[\\", "\\]"),
    ("ellipse", "(-", "-)"),
];

/// Names that draw what a pair of brackets draws.
const FAMILIES: [(&str, &[&str]); 13] = [
    ("square", &["rect", "proc", "process", "rectangle"]),
    ("round", &["rounded", "event"]),
    ("stadium", &["terminal", "pill"]),
    (
        "subroutine",
        &["fr-rect", "subprocess", "subproc", "framed-rectangle"],
    ),
    ("cylinder", &["cyl", "db", "database"]),
    ("circle", &["circ"]),
    ("doublecircle", &["dbl-circ", "double-circle"]),
    ("diamond", &["diam", "decision", "question"]),
    ("hexagon", &["hex", "prepare"]),
    ("lean_right", &["lean-r", "lean-right", "in-out"]),
    ("lean_left", &["lean-l", "lean-left", "out-in"]),
    ("trapezoid", &["trap-b", "priority", "trapezoid-bottom"]),
    (
        "inv_trapezoid",
        &["trap-t", "manual", "trapezoid-top", "inv-trapezoid"],
    ),
];

/// Names that `@{ shape: … }` accepts, in order.
#[rustfmt::skip]
const NAMES: [&str; 156] = [
    "anchor", "bang", "bolt", "bow-rect", "bow-tie-rectangle", "bpmn-activity", "bpmn-annotation",
    "bpmn-boundary", "bpmn-data", "bpmn-data-store", "bpmn-end", "bpmn-gateway",
    "bpmn-intermediate", "bpmn-start", "brace", "brace-l", "brace-r", "braces", "browser", "bucket",
    "card", "choice", "circ", "circle", "cloud", "collate", "com-link", "comment", "composite",
    "console", "cross-circ", "crossed-circle", "curv-trap", "curved-trapezoid", "cyl", "cylinder",
    "das", "data-store", "database", "datastore", "db", "dbl-circ", "decision", "delay", "diam",
    "diamond", "directory", "disk", "display", "div-proc", "div-rect", "divided-process",
    "divided-rectangle", "doc", "docs", "document", "documents", "double-circle", "doublecircle",
    "event", "extract", "f-circ", "filled-circle", "flag", "flip-tri", "flipped-triangle", "folder",
    "fork", "fr-circ", "fr-rect", "framed-circle", "framed-rectangle", "h-cyl",
    "half-rounded-rectangle", "hex", "hexagon", "horizontal-cylinder", "hourglass", "icon",
    "in-out", "internal-storage", "inv-trapezoid", "join", "junction", "lean-l", "lean-left",
    "lean-r", "lean-right", "lightning-bolt", "lin-cyl", "lin-doc", "lin-proc", "lin-rect",
    "lined-cylinder", "lined-document", "lined-process", "lined-rectangle", "loop-limit", "manual",
    "manual-file", "manual-input", "notch-pent", "notch-rect", "notched-pentagon",
    "notched-rectangle", "note", "odd", "out-in", "paper-tape", "person", "pill", "prepare",
    "priority", "proc", "process", "processes", "procs", "question", "rect", "rectangle", "rounded",
    "shaded-process", "sl-rect", "sloped-rectangle", "sm-circ", "small-circle", "st-doc", "st-rect",
    "stacked-document", "stacked-rectangle", "stadium", "start", "state", "stop", "stored-data",
    "subproc", "subprocess", "subroutine", "summary", "tag-doc", "tag-proc", "tag-rect",
    "tagged-document", "tagged-process", "tagged-rectangle", "terminal", "text", "trap-b", "trap-t",
    "trapezoid", "trapezoid-bottom", "trapezoid-top", "tri", "triangle", "win-pane", "window-pane",
];
