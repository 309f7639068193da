//! The estimate of a text's size in tokens, for budgets that are decided before a model counts.
//!
//! A token is three and a half bytes on average, over code and prose; the usage that a model reports
//! later corrects what was estimated.

/// Estimates the tokens of a text of so many bytes, rounded up.
#[must_use]
pub const fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.saturating_mul(2).div_ceil(7)
}

/// Returns the bytes of a text that fit into so many tokens.
#[must_use]
pub const fn bytes_of_tokens(tokens: usize) -> usize {
    tokens.saturating_mul(7) / 2
}

#[cfg(test)]
mod tests {
    use super::{bytes_of_tokens, tokens_of_bytes};

    #[test]
    fn a_started_token_counts() {
        assert_eq!([0, 1, 3, 4, 7, 8].map(tokens_of_bytes), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn what_fits_a_budget_takes_no_more_tokens() {
        for tokens in 0..100 {
            assert!(tokens_of_bytes(bytes_of_tokens(tokens)) <= tokens);
        }
        assert_eq!(bytes_of_tokens(usize::MAX), usize::MAX / 2);
    }
}
