//! The columns that are written, each once: the statements that write them are made from these lists,
//! and the values name the columns they are for.
//!
//! A new column is a line in its list and a line where its values are added (`writing`). A forgotten
//! or misplaced one fails the unit test there, before it reaches a server.

use std::sync::LazyLock;

/// A column as an array parameter, one element for each row.
struct WrittenColumn {
    name: &'static str,
    /// The type of an element.
    of: &'static str,
    /// True if a row that exists already gets the new value.
    is_updated: bool,
}

/// A column that never changes once its row is there.
const fn fixed(name: &'static str, of: &'static str) -> WrittenColumn {
    WrittenColumn {
        name,
        of,
        is_updated: false,
    }
}

/// A column that is written again with its row.
const fn updated(name: &'static str, of: &'static str) -> WrittenColumn {
    WrittenColumn {
        name,
        of,
        is_updated: true,
    }
}

/// The columns of a list of rows.
struct ColumnList {
    name: &'static str,
    columns: &'static [WrittenColumn],
}

const TEXT: &str = "text";
const NUMBER: &str = "bigint";
const FLAG: &str = "boolean";

/// Everything that a transaction changes, in the order of the parameters.
const CHANGES: &[ColumnList] = &[
    ColumnList {
        name: "runs",
        columns: &[
            fixed("id", TEXT),
            updated("workflow", TEXT),
            updated("status", TEXT),
            fixed("created_ms", NUMBER),
            updated("body", TEXT),
            fixed("input", TEXT),
            fixed("is_top", FLAG),
        ],
    },
    ColumnList {
        name: "tasks",
        columns: &[
            fixed("id", TEXT),
            fixed("run", TEXT),
            fixed("path", TEXT),
            fixed("place", TEXT),
            fixed("visit", NUMBER),
            updated("status", TEXT),
            updated("assignee", TEXT),
            updated("ready_ms", NUMBER),
            updated("lease_ms", NUMBER),
            updated("fence", NUMBER),
            updated("is_active", FLAG),
            updated("body", TEXT),
            updated("slot", TEXT),
            updated("rank", NUMBER),
        ],
    },
    ColumnList {
        name: "ready",
        columns: &[
            fixed("task", TEXT),
            fixed("run", TEXT),
            updated("ready_ms", NUMBER),
            updated("assignee", TEXT),
            updated("slot", TEXT),
            updated("rank", NUMBER),
        ],
    },
    ColumnList {
        name: "taken",
        columns: &[fixed("task", TEXT)],
    },
    ColumnList {
        name: "groups",
        columns: &[fixed("id", TEXT), updated("body", TEXT)],
    },
    ColumnList {
        name: "items",
        columns: &[
            fixed("\"group\"", TEXT),
            fixed("\"index\"", NUMBER),
            updated("body", TEXT),
        ],
    },
    ColumnList {
        name: "ended_timers",
        columns: &[fixed("run", TEXT), fixed("key", TEXT)],
    },
    ColumnList {
        name: "timers",
        columns: &[
            fixed("run", TEXT),
            fixed("key", TEXT),
            updated("at_ms", NUMBER),
            updated("body", TEXT),
        ],
    },
    ColumnList {
        name: "events",
        columns: &[
            fixed("run", TEXT),
            fixed("seq", NUMBER),
            fixed("body", TEXT),
        ],
    },
    ColumnList {
        name: "notices",
        columns: &[fixed("body", TEXT), fixed("run", TEXT)],
    },
    ColumnList {
        name: "tags",
        columns: &[
            fixed("tag", TEXT),
            fixed("created_ms", NUMBER),
            fixed("run", TEXT),
        ],
    },
    ColumnList {
        name: "calls",
        columns: &[
            fixed("run", TEXT),
            fixed("seq", NUMBER),
            fixed("task", TEXT),
            fixed("body", TEXT),
        ],
    },
    ColumnList {
        name: "left_slots",
        columns: &[fixed("key", TEXT), fixed("holder", TEXT)],
    },
    ColumnList {
        name: "slots",
        columns: &[
            fixed("key", TEXT),
            fixed("holder", TEXT),
            updated("max", NUMBER),
            updated("since_ms", NUMBER),
            updated("is_held", FLAG),
        ],
    },
    // Only for the statement with a condition: the last events that the runs must still have.
    ColumnList {
        name: EXPECTED,
        columns: &[fixed("id", TEXT), fixed("seq", NUMBER)],
    },
];

const EXPECTED: &str = "expected";

/// The rows that follow from ended attempts.
const DERIVED: &[ColumnList] = &[
    ColumnList {
        name: "costs",
        columns: &[
            fixed("kind", TEXT),
            fixed("day", NUMBER),
            fixed("name", TEXT),
            updated("attempts", NUMBER),
            updated("tokens", NUMBER),
            updated("micros", NUMBER),
        ],
    },
    ColumnList {
        name: "documents",
        columns: &[
            fixed("kind", TEXT),
            fixed("name", TEXT),
            fixed("run", TEXT),
            fixed("task", TEXT),
            fixed("title", TEXT),
            fixed("body", TEXT),
            fixed("words", TEXT),
            fixed("at_ms", NUMBER),
        ],
    },
];

/// The statement that writes everything a transaction changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutKind {
    /// All rows belong to new runs, so that none of them exists yet.
    New,
    Known,
    /// Writes only if the runs still have the expected events.
    IfUnchanged,
}

/// Writes new runs; returns the transaction's id.
pub(super) static PUT_NEW: LazyLock<String> = LazyLock::new(|| put(PutKind::New, XACT));
/// Writes runs; returns the transaction's id.
pub(super) static PUT: LazyLock<String> = LazyLock::new(|| put(PutKind::Known, XACT));
pub(super) static PUT_NEW_AND_HINT: LazyLock<String> =
    LazyLock::new(|| put(PutKind::New, &format!("{XACT}, {NOTIFY}")));
pub(super) static PUT_AND_HINT: LazyLock<String> =
    LazyLock::new(|| put(PutKind::Known, &format!("{XACT}, {NOTIFY}")));
/// Returns whether the condition held.
pub(super) static PUT_IF: LazyLock<String> =
    LazyLock::new(|| put(PutKind::IfUnchanged, "SELECT same FROM same"));
pub(super) static PUT_IF_AND_HINT: LazyLock<String> = LazyLock::new(|| {
    put(
        PutKind::IfUnchanged,
        &format!("SELECT same, {NOTIFY} FROM same"),
    )
});
pub(super) static PUT_DERIVED: LazyLock<String> = LazyLock::new(put_derived);

const XACT: &str = "SELECT pg_current_xact_id()::text";
const NOTIFY: &str = "pg_notify('drawloom_ready', '')";
pub(super) const HINT: &str = "SELECT pg_notify('drawloom_ready', '')";

/// Returns the columns of a statement in the order of its parameters, as `list.column`.
#[cfg(test)]
pub(super) fn parameters(of: PutKind) -> Vec<String> {
    let has = |list: &&ColumnList| of == PutKind::IfUnchanged || list.name != EXPECTED;
    CHANGES.iter().filter(has).flat_map(names_in).collect()
}

/// The same for the statement of derived rows.
#[cfg(test)]
pub(super) fn derived_parameters() -> Vec<String> {
    DERIVED.iter().flat_map(names_in).collect()
}

#[cfg(test)]
fn names_in(list: &ColumnList) -> impl Iterator<Item = String> {
    let columns = list.columns.iter();
    columns.map(|column| format!("{}.{}", list.name, column.name.trim_matches('"')))
}

/// Lists of columns with the numbers of their parameters.
#[derive(Clone, Copy)]
struct NumberedLists(&'static [ColumnList]);

impl NumberedLists {
    /// Returns a list, and the number of its first parameter.
    fn find(self, name: &str) -> (usize, &'static [WrittenColumn]) {
        let mut first = 1;
        for list in self.0 {
            if list.name == name {
                return (first, list.columns);
            }
            first += list.columns.len();
        }
        (first, &[])
    }

    /// Returns the names of the columns, for `INSERT INTO table (…)`.
    fn names(self, list: &str) -> String {
        let columns = self.find(list).1.iter();
        join(columns.map(|column| column.name.to_owned()))
    }

    /// Returns the rows of a list.
    fn rows(self, list: &str) -> String {
        self.first_columns(list, usize::MAX)
    }

    /// Returns the rows of a list with only the first columns.
    fn first_columns(self, list: &str, count: usize) -> String {
        let (first, columns) = self.find(list);
        let arrays = columns.iter().take(count).zip(first..);
        let arrays = arrays.map(|(column, number)| format!("${number}::{}[]", column.of));
        format!("unnest({})", join(arrays))
    }

    /// Returns the assignments for rows that exist already.
    fn updates(self, list: &str) -> String {
        let columns = self.find(list).1.iter().filter(|column| column.is_updated);
        join(columns.map(|column| format!("{0} = excluded.{0}", column.name)))
    }

    /// Returns the assignments that add to rows that exist already.
    fn sums(self, list: &str, table: &str) -> String {
        let columns = self.find(list).1.iter().filter(|column| column.is_updated);
        join(columns.map(|column| format!("{0} = {table}.{0} + excluded.{0}", column.name)))
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Makes the statement that writes everything a transaction changes, and ends with `end`.
fn put(kind: PutKind, end: &str) -> String {
    let before = match kind {
        PutKind::New | PutKind::Known => String::new(),
        PutKind::IfUnchanged => condition(LISTS),
    };
    let parts = [
        kind.put_runs(),
        kind.insert("tasks", &kind.or_update("tasks", "place, visit")),
        kind.insert("ready", &updates("ready", "task")),
        kind.delete_taken(),
        kind.insert("groups", &kind.or_update("groups", "id")),
        kind.insert("items", &kind.or_update("items", "\"group\", \"index\"")),
        kind.delete("ended_timers", "workflow_timers", ["run", "key"]),
        kind.insert("timers", &updates("timers", "run, key")),
        kind.insert("events", ""),
        kind.add_to_stream(),
        kind.insert("notices", ""),
        kind.insert("tags", " ON CONFLICT DO NOTHING"),
        kind.insert("calls", ""),
        kind.delete("left_slots", "workflow_slots", ["key", "holder"]),
        kind.insert("slots", &updates("slots", "key, holder")),
    ];
    format!("WITH {before}{} {end}", parts.join(", "))
}

const LISTS: NumberedLists = NumberedLists(CHANGES);

fn updates(list: &str, key: &str) -> String {
    let updates = LISTS.updates(list);
    format!(" ON CONFLICT ({key}) DO UPDATE SET {updates}")
}

impl PutKind {
    /// The condition of a query that has none.
    fn only_if(self) -> &'static str {
        match self {
            PutKind::New | PutKind::Known => "",
            PutKind::IfUnchanged => " WHERE (SELECT same FROM same)",
        }
    }

    /// The condition of a query that has one already.
    fn and_if(self) -> &'static str {
        match self {
            PutKind::New | PutKind::Known => "",
            PutKind::IfUnchanged => " AND (SELECT same FROM same)",
        }
    }

    /// Updates rows that exist. Those of new runs do not.
    fn or_update(self, list: &str, key: &str) -> String {
        match self {
            PutKind::New => String::new(),
            PutKind::Known | PutKind::IfUnchanged => updates(list, key),
        }
    }

    fn insert(self, list: &str, conflict: &str) -> String {
        let (names, rows, only_if) = (LISTS.names(list), LISTS.rows(list), self.only_if());
        format!(
            "{list} AS (INSERT INTO workflow_{list} ({names}) SELECT * FROM {rows}{only_if}{conflict})"
        )
    }

    fn delete(self, list: &str, table: &str, [one, other]: [&str; 2]) -> String {
        let (rows, and_if) = (LISTS.rows(list), self.and_if());
        format!(
            "{list} AS (DELETE FROM {table} USING {rows} AS old ({one}, {other}) \
             WHERE {table}.{one} = old.{one} AND {table}.{other} = old.{other}{and_if})"
        )
    }

    fn put_runs(self) -> String {
        let (names, rows, only_if) = (LISTS.names("runs"), LISTS.rows("runs"), self.only_if());
        let conflict = match self {
            PutKind::New => String::new(),
            _ => format!(
                "{}, stream_at = greatest(workflow_runs.stream_at, excluded.stream_at)",
                updates("runs", "id")
            ),
        };
        format!(
            "runs AS (INSERT INTO workflow_runs ({names}, stream_at) \
             SELECT new.*, pg_current_xact_id()::text::bigint FROM {rows} AS new{only_if}{conflict})"
        )
    }

    fn delete_taken(self) -> String {
        let (tasks, _) = LISTS.find("taken");
        let and_if = self.and_if();
        format!("taken AS (DELETE FROM workflow_ready WHERE task = ANY(${tasks}::text[]){and_if})")
    }

    /// Lists each page of events once more, for readers that follow everything.
    fn add_to_stream(self) -> String {
        let (pages, only_if) = (LISTS.first_columns("events", 2), self.only_if());
        format!(
            "stream AS (INSERT INTO event_stream (stream_at, subject, seq) \
             SELECT greatest(pg_current_xact_id()::text::bigint, (SELECT past.stream_at \
             FROM workflow_runs AS past WHERE past.id = page.run)), page.run, page.seq \
             FROM {pages} AS page (run, seq){only_if})"
        )
    }
}

/// Returns the queries that lock the expected runs and tell whether they are unchanged.
fn condition(lists: NumberedLists) -> String {
    let (ids, _) = lists.find(EXPECTED);
    format!(
        "held AS (SELECT held.id FROM workflow_runs AS held \
         JOIN {} AS known (id, seq) ON held.id = known.id \
         WHERE (held.body::json ->> 'seq')::bigint = known.seq \
         ORDER BY held.id FOR UPDATE OF held), \
         same AS (SELECT count(*) = cardinality(${ids}::text[]) AS same FROM held), ",
        lists.rows(EXPECTED)
    )
}

fn put_derived() -> String {
    let lists = NumberedLists(DERIVED);
    format!(
        "WITH texts AS (INSERT INTO search_documents ({}) SELECT * FROM {} \
         ON CONFLICT (kind, name) DO NOTHING) \
         INSERT INTO cost_sums ({}) SELECT * FROM {} \
         ON CONFLICT (kind, day, name) DO UPDATE SET {}",
        lists.names("documents"),
        lists.rows("documents"),
        lists.names("costs"),
        lists.rows("costs"),
        lists.sums("costs", "cost_sums")
    )
}

#[cfg(test)]
mod tests {
    use super::{PUT, PUT_DERIVED, PUT_IF, PUT_NEW, PutKind, derived_parameters, parameters};

    /// Checks that a statement uses exactly the parameters of its lists.
    #[track_caller]
    fn check_numbers(sql: &str, parameters: &[String]) {
        for (at, name) in parameters.iter().enumerate() {
            let number = format!("${}::", at + 1);
            assert!(sql.contains(&number), "{number} is for {name}: {sql}");
        }
        let next = format!("${}:", parameters.len() + 1);
        assert!(!sql.contains(&next), "{next} has no column: {sql}");
    }

    #[test]
    fn every_parameter_is_a_column() {
        check_numbers(&PUT_NEW, &parameters(PutKind::New));
        check_numbers(&PUT, &parameters(PutKind::Known));
        check_numbers(&PUT_IF, &parameters(PutKind::IfUnchanged));
        check_numbers(&PUT_DERIVED, &derived_parameters());
    }

    #[test]
    fn rows_of_known_runs_are_updated_but_for_their_keys() {
        let update = " ON CONFLICT (place, visit) DO UPDATE SET status = excluded.status, \
                      assignee = excluded.assignee, ready_ms = excluded.ready_ms, \
                      lease_ms = excluded.lease_ms, fence = excluded.fence, \
                      is_active = excluded.is_active, body = excluded.body, \
                      slot = excluded.slot, rank = excluded.rank)";
        assert!(PUT.contains(update), "{}", PUT.as_str());
        assert!(!PUT_NEW.contains("(place, visit)"), "{}", PUT_NEW.as_str());
    }
}
