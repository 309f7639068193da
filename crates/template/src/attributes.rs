//! Values as HTML attributes and class names, as Edge writes them.

use expr::{Error, EvalContext, JsObject, Value, to_text};

/// Writes `class="a b" id="x"`: false and empty values are left out, `true` is the bare name.
pub(crate) fn of(cx: &mut EvalContext<'_>, values: &JsObject) -> Result<String, Error> {
    let mut attributes = Vec::new();
    for (key, value) in values.entries() {
        cx.charge(1)?;
        if !value.is_truthy() {
            continue;
        }
        if let (Some(prefix), Value::Object(inner)) = (alpine_prefix(&key), &value) {
            let inner = inner.borrow().clone();
            let prefixed: JsObject = inner
                .entries()
                .into_iter()
                .map(|(key, value)| (format!("{prefix}{key}").into(), value))
                .collect();
            attributes.push(of(cx, &prefixed)?);
            continue;
        }
        let name = attribute_name(&key);
        let text = match &value {
            Value::Bool(true) => {
                attributes.push(name);
                continue;
            }
            value if &*key == "class" => class_names(cx, std::slice::from_ref(value))?,
            Value::Array(items) => {
                let items = items.borrow().clone();
                let texts: Result<Vec<_>, _> = items.iter().map(|item| to_text(cx, item)).collect();
                texts?.join(if is_comma_separated(&name) { "," } else { " " })
            }
            other => to_text(cx, other)?.to_string(),
        };
        attributes.push(format!("{name}=\"{text}\""));
    }
    attributes.retain(|attribute| !attribute.is_empty());
    Ok(attributes.join(" "))
}

/// Collects the class names in strings, lists and `{ name: condition }` objects.
pub(crate) fn class_names(cx: &mut EvalContext<'_>, values: &[Value]) -> Result<String, Error> {
    let mut names: Vec<String> = Vec::new();
    for value in values.iter().filter(|value| value.is_truthy()) {
        match value {
            Value::Array(items) => {
                let items = items.borrow().clone();
                names.push(cx.deeper(|cx| class_names(cx, &items))?);
            }
            Value::Object(object) => {
                let entries = object.borrow().entries();
                let on = entries.into_iter().filter(|(_, value)| value.is_truthy());
                names.extend(on.map(|(name, _)| name.to_string()));
            }
            Value::String(_) | Value::Number(_) => names.push(to_text(cx, value)?.to_string()),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    Ok(names.join(" "))
}

fn alpine_prefix(key: &str) -> Option<&'static str> {
    Some(match key {
        "x" => "x-",
        "xOn" => "x-on:",
        "xBind" => "x-bind:",
        "xTransition" => "x-transition:",
        _ => return None,
    })
}

/// Returns HTML's name for a property: `tabIndex` is `tabindex`, `className` is `class`.
fn attribute_name(key: &str) -> String {
    const MULTI_WORD: &str = " accesskey allowfullscreen autocapitalize autocomplete autofocus \
        autoplay colspan contenteditable crossorigin datetime enctype enterkeyhint formaction \
        formenctype formmethod formnovalidate formtarget hreflang imagesizes imagesrcset \
        inputmode ismap itemid itemprop itemref itemscope itemtype maxlength minlength nomodule \
        novalidate playsinline readonly referrerpolicy rowspan spellcheck srcdoc srclang srcset \
        tabindex usemap onclick onchange oninput onsubmit onload onblur onfocus onkeydown onkeyup ";
    let lower = key.to_ascii_lowercase();
    match lower.as_str() {
        "classname" => "class".to_owned(),
        "htmlfor" => "for".to_owned(),
        "httpequiv" => "http-equiv".to_owned(),
        "acceptcharset" => "accept-charset".to_owned(),
        name if MULTI_WORD.contains(&format!(" {name} ")) => lower,
        name => match name.strip_prefix("aria") {
            Some(rest) if key.len() > 4 && key.as_bytes()[4].is_ascii_uppercase() => {
                format!("aria-{rest}")
            }
            _ => key.to_owned(),
        },
    }
}

fn is_comma_separated(name: &str) -> bool {
    matches!(
        name,
        "accept" | "coords" | "imagesizes" | "imagesrcset" | "sizes" | "srcset"
    )
}
