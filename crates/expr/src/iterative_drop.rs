//! Frees values nested in one another without recursion, however deep they go.
//!
//! `[[[…]]]` a hundred thousand levels deep is easily made by a loop. Left to itself, freeing it
//! would take as many stack frames. So every container hands the containers in it to
//! [`dismantle`], where the outermost call frees them one after another.

use std::cell::RefCell;
use std::rc::Rc;

use crate::value::Value;

thread_local! {
    /// Containers waiting to be freed by a call further up this thread's stack.
    static WAITING: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// Drops values whose container is going away.
pub(crate) fn dismantle(values: impl Iterator<Item = Value>) {
    let mut last: Vec<Value> = values.filter(is_last_reference).collect();
    if last.is_empty() {
        return;
    }
    let handed_over = WAITING.try_with(|waiting| {
        let mut waiting = waiting.borrow_mut();
        match &mut *waiting {
            Some(queue) => {
                queue.append(&mut last);
                true
            }
            None => {
                *waiting = Some(Vec::new());
                false
            }
        }
    });
    // While a thread ends there is no queue; little can be nested by then.
    if handed_over != Ok(false) {
        return;
    }
    while !last.is_empty() {
        last.clear();
        WAITING.with_borrow_mut(|waiting| {
            if let Some(queue) = waiting {
                std::mem::swap(queue, &mut last);
            }
        });
    }
    WAITING.set(None);
}

/// Returns true if dropping the value frees a container.
fn is_last_reference(value: &Value) -> bool {
    match value {
        Value::Array(list) => Rc::strong_count(list) == 1,
        Value::Object(object) => Rc::strong_count(object) == 1,
        Value::Function(function) => Rc::strong_count(function) == 1,
        Value::Map(entries) | Value::Set(entries) => Rc::strong_count(entries) == 1,
        _ => false,
    }
}
