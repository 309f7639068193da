//! The real binary in real folders: what it prints, how it exits, what it leaves behind.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

mod project;

mod usage;

mod cut_off;
mod diagrams;
mod first_uses;
mod importing;
mod indexing;
mod interruption;
mod kits;
mod own_names;
mod running;
mod second_look;
mod setting_up;
mod template_render;
mod two_passes;
mod updating;
mod writers;
mod wrong_uses;
