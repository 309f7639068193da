//! Name helpers.
