//! Mermaid flowcharts: text to diagram and back, with every byte of the text kept.
//!
//! [`parse`] accepts and refuses the same texts as Mermaid 12, with places and hints. The
//! [`DiagramDocument`] it returns holds the text, the statements with their spans, the comments, and the
//! [`Diagram`] they describe: labels are unsanitised, entity codes are characters. An edit changes
//! its own bytes only; [`Diagram`]'s `Display` writes a diagram from scratch. With the feature
//! `svg`, `DiagramDocument::to_svg` draws it.
//!
//! The tests hold some 8 500 answers of the real engine. We differ on purpose only here; each row
//! has its cases in `tests/deviations.jsonl`:
//!
//! | Mermaid | Here | Why |
//! |---|---|---|
//! | any line with `direction TB` in it is a direction, labels included; the rest of it is dropped | only a statement of its own is; what follows a `;` is read | nodes would vanish without an error |
//! | a lone `;` in a subgraph is a member of it, and so is the text of `accTitle` and `accDescr` | they are not | they are no nodes |
//! | a link whose ends do not fit, `o== t o==> B`, has the kind `INVALID` | it is refused | it has no meaning |
//! | `'x'#c`, `w:[1]` and a quoted text that goes on further left are YAML; `!!str,` is not | the other way round | another reader of YAML |
//! | `label: .inf` is the number | it is the text `Infinity` | JSON has no such number |
//! | `displayMode`, a setting of other diagrams, over a `config` that is no map fails | it is ignored | it says nothing about the diagram |
//! | `ﬂ°` in a label is shown as `&` | it stays | it is what Mermaid has for `#` while it reads |
//! | the id of `subgraph "#quot;a"` has that in it, too | it is `#quot;a`, as written | it could not be written otherwise |
//! | more than 500 edges are refused unless configured | more than [`EDGES_MAX`] are | 500 is a setting of the page |
//! | `swimlane-beta` is read by the same parser | it is refused | it is another kind of diagram |
//! | a text with `C4Container` or its kin anywhere in it is another kind of diagram | it is a flowchart | a label may say so |
//! | a shape `constructor` is known | it is not | it is a property of every JavaScript object |

// Places, errors and the classes of characters.
mod chars;
mod error;
mod hint;
mod span;

// Text → cleaned text → tokens.
mod clean;
mod front_matter;
mod lexer;
mod token;

// Tokens → statements.
mod chain;
mod parser;
mod styling;
mod syntax;

// Statements → diagram.
mod arrow;
mod data;
mod diagram;
mod direction;
mod document;
mod entity;
mod shape;
mod yaml;

// Diagram → text and pictures.
mod edit;
mod erase;
mod print;
mod redraw;
mod status;
#[cfg(feature = "svg")]
mod svg;
mod text;
mod write;

pub use arrow::{ARROW_LENGTH_MAX, ArrowHeads, EdgeArrow, LineStroke};
pub use diagram::{Diagram, DiagramEdge, DiagramNode, EDGES_MAX, Subgraph, TextLabel};
pub use direction::FlowDirection;
pub use document::{DiagramDocument, SOURCE_BYTES_MAX, parse};
pub use edit::TextEdit;
pub use error::{DiagramProblem, Error, PROBLEMS_MAX, ProblemKind};
pub use parser::{STATEMENTS_MAX, SUBGRAPH_DEPTH_MAX};
pub use redraw::NewNode;
pub use shape::NodeShape;
pub use span::Span;
pub use status::NodeStatus;
#[cfg(feature = "svg")]
pub use svg::{DRAWN_MAX, SvgError};
pub use syntax::{
    CommentLine, DiagramStatement, FrontMatter, LabelForm, LabelText, LinkChain, NodeBody,
    NodeMention, SpannedName, StatementKind, SubgraphStart, SyntaxLink, TextKind,
};
