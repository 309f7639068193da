//! The real binary in real folders: what it prints, how it exits, what it leaves behind.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests build their own fixtures and start the binary as a user would"
)]

mod project;

mod usage;

mod interruption;
mod kits;
mod running;
mod setting_up;
mod template_render;
mod two_passes;
