//! The template language: text with `{{ }}` and `@tags` to output, or to a questionnaire.
//!
//! The pipeline is the list of modules: `lexer` (text → tokens) → `layout` (white space) →
//! `parser` (tokens → tree) → `render` (tree → text). One render serves both passes: every `@ai`
//! block becomes a question in [`RenderResult::questionnaire`], and where an answer is at hand it is
//! printed in the block's place.
//!
//! Not here: files (a [`TemplateLoader`] brings them), frontmatter, asking, and checking answers. The
//! language itself is described in `docs/templates.md`.
//!
//! ```
//! use std::rc::Rc;
//! let engine = template::TemplateEngine::new(Rc::new(template::MapLoader::new()));
//! let compiled = engine.compile("hello.jig", "Hello {{ name }}!\n", template::TemplateLayout::Jig)?;
//! let mut state = expr::JsObject::new();
//! state.insert("name", expr::Value::from("Ada"));
//! let rendered = engine.render(&compiled, &state, &Default::default())?;
//! assert_eq!(rendered.text, "Hello Ada!\n");
//! # Ok::<(), template::Error>(())
//! ```

mod ai;
mod answer_reads;
mod attributes;
mod component;
mod control;
mod engine;
mod error;
mod globals;
mod include;
mod layout;
mod lexer;
mod limits;
mod lines;
mod loader;
mod node;
mod options;
mod parser;
mod props;
mod render;
mod scanner;
mod separated_values;
mod stack;
mod tags;
mod token;

pub use engine::{
    CompiledTemplate, Postponed, RenderInput, RenderResult, TemplateEngine, UndefinedVariable,
};
pub use error::{ChainLink, Error, TemplatePosition};
pub use layout::TemplateLayout;
pub use limits::Limits;
pub use loader::{LoadedTemplate, MapLoader, TemplateLoader};
pub use separated_values::{PrintedValue, RenderedPart, split_apart};
