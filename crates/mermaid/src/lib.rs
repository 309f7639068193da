//! Mermaid flowcharts: text to diagram and back, with every byte of the text kept.
//!
//! [`parse`] reads what Mermaid 12 reads and refuses what it refuses, with places and hints. The
//! [`Document`] it returns holds the text, the statements with their spans, the comments, and the
//! [`Diagram`] they say: labels are unsanitised, entity codes are characters. An edit changes its own
//! bytes only; [`Diagram`]'s `Display` writes a diagram from scratch. With the feature `svg`,
//! `Document::to_svg` draws it.
//!
//! The tests hold some 8 500 answers of the real engine. We differ on purpose only here; each row
//! has its cases in `tests/deviations.jsonl`:
//!
//! | Mermaid | Here | Why |
//! |---|---|---|
//! | any line with `direction TB` in it is a direction, labels included; the rest of it is dropped | only a statement of its own is; what follows a `;` is read | nodes would vanish without an error |
//! | a lone `;` in a subgraph is a member of it, and so is the text of `accTitle` and `accDescr` | they are not | they are no nodes |
//! | a link whose ends do not fit, `o== t o==> B`, has the kind `INVALID` | it is refused | nobody can mean it |
//! | `'x'#c`, `w:[1]` and a quoted text that goes on further left are YAML; `!!str,` is not | the other way round | another reader of YAML |
//! | `label: .inf` is the number | it is the text `Infinity` | JSON has no such number |
//! | `displayMode`, a setting of other diagrams, over a `config` that is no map fails | it is ignored | it says nothing about the diagram |
//! | `ﬂ°` in a label is shown as `&` | it stays | it is what Mermaid has for `#` while it reads |
//! | the id of `subgraph "#quot;a"` has that in it, too | it is `#quot;a`, as written | nobody could write it otherwise |
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
mod print;
mod status;
#[cfg(feature = "svg")]
mod svg;
mod text;
mod write;

pub use arrow::{ARROW_LENGTH_MAX, Arrow, Heads, Stroke};
pub use diagram::{Diagram, EDGES_MAX, Edge, Label, Node, Subgraph};
pub use direction::Direction;
pub use document::{Document, SOURCE_BYTES_MAX, parse};
pub use edit::Edit;
pub use error::{Error, PROBLEMS_MAX, Problem, ProblemKind};
pub use parser::{STATEMENTS_MAX, SUBGRAPH_DEPTH_MAX};
pub use shape::Shape;
pub use span::Span;
pub use status::Status;
#[cfg(feature = "svg")]
pub use svg::{DRAWN_MAX, SvgError};
pub use syntax::{
    Body, Chain, Comment, FrontMatter, LabelForm, Link, Mention, Name, Statement, StatementKind,
    SubgraphStart, Text, TextKind,
};
pub use text::TEXT_NODES_MAX;
