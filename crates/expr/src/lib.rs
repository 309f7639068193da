//! expr.
