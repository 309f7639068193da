//! recipe.
