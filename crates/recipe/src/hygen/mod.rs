//! hygen.
