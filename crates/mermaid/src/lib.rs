//! Mermaid flowcharts: text to diagram and back, with every byte of the text kept.

mod arrow;
mod chain;
mod chars;
mod clean;
mod data;
mod diagram;
mod direction;
mod document;
mod edit;
mod entity;
mod error;
mod front_matter;
mod hint;
mod lexer;
mod parser;
mod shape;
mod span;
mod styling;
mod syntax;
mod token;

pub use arrow::{ARROW_LENGTH_MAX, Arrow, Heads, Stroke};
pub use diagram::{Diagram, EDGES_MAX, Edge, Label, Node, Subgraph};
pub use direction::Direction;
pub use document::{Document, SOURCE_BYTES_MAX, parse};
pub use error::{Error, PROBLEMS_MAX, Problem, ProblemKind};
pub use parser::SUBGRAPH_DEPTH_MAX;
pub use shape::Shape;
pub use span::Span;
pub use syntax::{
    Body, Chain, Comment, FrontMatter, LabelForm, Link, Mention, Name, Statement, StatementKind,
    SubgraphStart, Text, TextKind,
};
