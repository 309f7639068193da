//! The sentences that the loop says to the model about its own calls.

/// Told about a call that was under way when the process died.
pub(super) const INTERRUPTED: &str = "The program was interrupted while this call was being made. It may have \
                           happened in full or not at all. Look at the files before making it again.";

/// Tells the model that its reply was cut off before the call was whole.
pub(super) fn cut_sentence(max_tokens: u32) -> String {
    format!(
        "Not made: your reply was cut off at its limit (max_tokens = {max_tokens}), so the call may \
         be incomplete. Make it again, and smaller: write long files in several steps \
         (`write_file` with the beginning, then `insert_content`), change files with `apply_diff`."
    )
}

/// Warns the model that one more identical call ends the run.
pub(super) fn last_warning(times: u32) -> String {
    format!(
        "\n[This was the same call with the same arguments {times} times in a row. Another one \
         ends the run: do something else, or say what is in the way.]"
    )
}
