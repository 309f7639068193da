//! `$props`: a component's props with the methods Edge gives them.

use std::rc::Rc;

use expr::{Error, EvalContext, JsObject, Value};

use crate::attributes;

/// Returns the properties a spread of the value would give.
pub(crate) fn own_properties(value: &Value) -> JsObject {
    match value {
        Value::Object(object) => object.borrow().clone(),
        Value::Array(items) => {
            let items = items.borrow();
            let numbered = items.iter().enumerate();
            numbered
                .map(|(at, item)| (Rc::from(at.to_string()), item.clone()))
                .collect()
        }
        _ => JsObject::new(),
    }
}

/// Makes `$props` over these values.
pub(crate) fn bag(values: &Value) -> Value {
    let mut bag = own_properties(values);
    for (name, method) in METHODS {
        if !bag.contains(name) {
            let (values, method) = (values.clone(), *method);
            let call = move |cx: &mut EvalContext<'_>, arguments: &[Value]| {
                let argument = |at: usize| arguments.get(at).cloned().unwrap_or_default();
                method(cx, &values, &[argument(0), argument(1)])
            };
            bag.insert(*name, Value::host(name, call));
        }
    }
    Value::object(bag)
}

type PropsMethod = fn(&mut EvalContext<'_>, &Value, &[Value; 2]) -> Result<Value, Error>;

const METHODS: &[(&str, PropsMethod)] = &[
    ("all", |_, values, _| Ok(values.clone())),
    ("has", |cx, values, [key, _]| {
        let path = path_of(cx, key)?;
        Ok(Value::Bool(lookup(values, &path).is_some()))
    }),
    ("get", |cx, values, [key, default]| {
        let path = path_of(cx, key)?;
        Ok(match lookup(values, &path) {
            None | Some(Value::Undefined) => default.clone(),
            Some(value) => value,
        })
    }),
    ("only", |cx, values, [keys, _]| {
        let keys = keys_of(cx, keys)?;
        let mut kept = JsObject::new();
        for key in keys {
            if let Some(value) = lookup(values, std::slice::from_ref(&key)) {
                kept.insert(key, value);
            }
        }
        Ok(bag(&Value::object(kept)))
    }),
    ("except", |cx, values, [keys, _]| {
        let keys = keys_of(cx, keys)?;
        let mut kept = own_properties(values);
        for key in keys {
            kept.remove(&key);
        }
        Ok(bag(&Value::object(kept)))
    }),
    ("merge", |_, values, [defaults, _]| {
        Ok(merged(values, defaults))
    }),
    ("mergeIf", |_, values, [condition, defaults]| {
        Ok(if condition.is_truthy() {
            merged(values, defaults)
        } else {
            bag(values)
        })
    }),
    ("mergeUnless", |_, values, [condition, defaults]| {
        Ok(if condition.is_truthy() {
            bag(values)
        } else {
            merged(values, defaults)
        })
    }),
    ("toAttrs", |cx, values, _| {
        attributes::of(cx, &own_properties(values)).map(Value::from)
    }),
    ("serialize", |cx, values, [extra, _]| {
        let mut all = own_properties(values);
        for (key, value) in own_properties(extra).entries() {
            all.insert(key, value);
        }
        attributes::of(cx, &all).map(Value::from)
    }),
];

/// Merges the props over defaults; keeps the classes of both.
fn merged(values: &Value, defaults: &Value) -> Value {
    let mut all = own_properties(defaults);
    let default_class = all.get("class").filter(Value::is_truthy);
    for (key, value) in own_properties(values).entries() {
        all.insert(key, value);
    }
    let class = own_properties(values).get("class").filter(Value::is_truthy);
    if let (Some(first), Some(second)) = (default_class, class) {
        let mut classes: Vec<Value> = Vec::new();
        for class in list(&first).into_iter().chain(list(&second)) {
            if !classes
                .iter()
                .any(|known| expr::same_value_zero(known, &class))
            {
                classes.push(class);
            }
        }
        all.insert("class", Value::array(classes));
    }
    bag(&Value::object(all))
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.borrow().clone(),
        other => vec![other.clone()],
    }
}

fn keys_of(cx: &mut EvalContext<'_>, keys: &Value) -> Result<Vec<Rc<str>>, Error> {
    list(keys)
        .iter()
        .map(|key| expr::to_text(cx, key))
        .collect()
}

/// Splits a path such as `user.names[0]` into its steps.
fn path_of(cx: &mut EvalContext<'_>, key: &Value) -> Result<Vec<Rc<str>>, Error> {
    if let Value::Array(_) = key {
        return keys_of(cx, key);
    }
    Ok(vec![expr::to_text(cx, key)?])
}

/// Returns the value at a path; a property whose whole name is the path comes first.
fn lookup(values: &Value, path: &[Rc<str>]) -> Option<Value> {
    if let [whole] = path {
        if let Some(value) = own_properties(values).get(whole) {
            return Some(value);
        }
        if whole.contains(['.', '[']) {
            let steps = whole.split(['.', '[', ']']).filter(|step| !step.is_empty());
            let steps: Vec<Rc<str>> = steps
                .map(|step| step.trim_matches(['"', '\'']).into())
                .collect();
            return follow(values, &steps);
        }
        return None;
    }
    follow(values, path)
}

fn follow(values: &Value, steps: &[Rc<str>]) -> Option<Value> {
    let mut value = values.clone();
    for step in steps {
        value = own_properties(&value).get(step)?;
    }
    Some(value)
}
