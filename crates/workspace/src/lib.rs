//! workspace.
