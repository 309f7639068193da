//! Every bound this crate enforces, by name; errors quote the name and the number.

/// Longest text of one answer, measured as JSON.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects inside one answer.
pub const ANSWER_DEPTH_MAX: usize = 64;
/// Largest answers file.
pub const ANSWERS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most answers in one answers file or reply.
pub const ANSWERS_MAX: usize = 10_000;
/// Most values a question may offer to choose from.
pub const CHOICES_MAX: usize = 1000;
/// Longest key of a question.
pub const KEY_BYTES_MAX: usize = 128;
/// All texts of a questionnaire together: contexts, prompts, formats, examples.
pub const QUESTIONNAIRE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most questions of one questionnaire.
pub const QUESTIONS_MAX: usize = 1000;
/// Longest reply of a model that is read.
pub const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most places in a reply that are tried as the start of the answers.
pub(crate) const REPLY_STARTS_MAX: usize = 64;
/// Most times an answer may be asked for again.
pub const RETRIES_MAX: u32 = 10;
/// Most characters of a found value that a message repeats.
pub const SHOWN_CHARS_MAX: usize = 160;
/// Largest program whose syntax is checked.
pub(crate) const SYNTAX_BYTES_MAX: usize = 256 * 1024;
/// Most brackets, operators and such in a program whose syntax is checked: each may nest.
pub(crate) const SYNTAX_OPENERS_MAX: usize = 30_000;
/// Longest time the check of a program's syntax takes, in seconds.
pub(crate) const SYNTAX_SECONDS_MAX: u64 = 10;
/// Most schema violations one message lists.
pub const VIOLATIONS_MAX: usize = 20;
