use rustc_hash::{FxHashMap, FxHashSet};

use oxc_ast::ast::AssignmentExpression;
use oxc_span::Span;

use crate::cursor::ParserCheckpoint;

/// What one rewind costs beside the text it reads again, in bytes: the checkpoint itself.
pub const REWIND_COST: u64 = 1;
/// How much of every text may be read again: a small one, and each byte of a large one.
const REWOUND_BYTES_BASE: u64 = 64 << 10;
const REWOUND_BYTES_PER_BYTE: u64 = 4;

pub struct ParserState<'a> {
    /// Bytes that were read again because the parser tried one meaning and went back for another.
    /// Nested attempts double the work at every level, so their sum has a limit: past it, parsing
    /// ends with a fatal error as if the text had ended.
    pub rewound: u64,
    pub rewound_max: u64,

    pub not_parenthesized_arrow: FxHashSet<u32>,

    /// Temporary storage for `CoverInitializedName` `({ foo = bar })`.
    /// Keyed by `ObjectProperty`'s span.start.
    pub cover_initialized_name: FxHashMap<u32, AssignmentExpression<'a>>,

    /// Trailing comma spans for `ArrayExpression` and `ObjectExpression` ending in a spread.
    /// Used for error reporting when covering a rest assignment target.
    /// Keyed by the expression start and consumed when checked.
    pub trailing_commas: FxHashMap<u32, Span>,

    /// Statements that may need reparsing when `sourceType` is `unambiguous`.
    ///
    /// In unambiguous mode, we initially parse top-level `await ...` as
    /// `await(...)` (identifier/function call). But if ESM syntax is detected
    /// later, we need to reparse these as await expressions.
    ///
    /// Each entry contains: (statement_index, checkpoint_before_statement)
    pub potential_await_reparse: Vec<(usize, ParserCheckpoint<'a>)>,

    /// Flag to track if an `await` identifier was encountered during statement parsing.
    /// Used to determine if a statement needs to be stored for potential reparsing
    /// in unambiguous mode.
    pub encountered_await_identifier: bool,
}

impl ParserState<'_> {
    pub fn new(source_len: usize) -> Self {
        Self {
            rewound: 0,
            rewound_max: REWOUND_BYTES_BASE + REWOUND_BYTES_PER_BYTE * source_len as u64,
            not_parenthesized_arrow: FxHashSet::default(),
            cover_initialized_name: FxHashMap::default(),
            trailing_commas: FxHashMap::default(),
            potential_await_reparse: Vec::new(),
            encountered_await_identifier: false,
        }
    }
}
