//! The template language: text with `{{ }}` and `@tags` to output, or to a questionnaire.
//!
//! The pipeline is the list of modules: `lexer` (text → tokens) → `layout` (white space) →
//! `parser` (tokens → tree) → `render` (tree → text). One render serves both passes: every `@ai`
//! block becomes a question in [`Rendered::questionnaire`], and where an answer is at hand it is
//! printed in the block's place.
//!
//! Not here: files (a [`Loader`] brings them), frontmatter, asking, and checking answers. The
//! language itself is described in `docs/templates.md`.
//!
//! ```
//! use std::rc::Rc;
//! let engine = template::Engine::new(Rc::new(template::MapLoader::new()));
//! let compiled = engine.compile("hello.jig", "Hello {{ name }}!\n", template::Layout::Jig)?;
//! let mut state = expr::Object::new();
//! state.insert("name", expr::Value::from("Ada"));
//! let rendered = engine.render(&compiled, &state, &Default::default())?;
//! assert_eq!(rendered.text, "Hello Ada!\n");
//! # Ok::<(), template::Error>(())
//! ```

mod ai;
mod apart;
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
mod reads;
mod render;
mod scanner;
mod stack;
mod tags;
mod token;

pub use apart::{Printed, RenderedPart, split_apart};
pub use engine::{Compiled, Engine, Input, Postponed, Rendered, Undefined};
pub use error::{Error, Link, Place};
pub use layout::Layout;
pub use limits::Limits;
pub use loader::{Loaded, Loader, MapLoader};
