//! The first files of a new recipe: an example to change, or a file of the project made into a template.

use expr::text_functions::change_case;
use workspace::RelPath;

/// Files of a recipe's folder, by their names in it.
pub type ScaffoldFiles = Vec<(String, String)>;

/// Tags that a line of a copied text must not become.
const TAGS: [&str; 24] = [
    "if",
    "elseif",
    "else",
    "unless",
    "each",
    "let",
    "assign",
    "eval",
    "include",
    "includeIf",
    "component",
    "slot",
    "inject",
    "stack",
    "pushTo",
    "pushOnceTo",
    "debugger",
    "newError",
    "ai",
    "context",
    "prompt",
    "output",
    "example",
    "end",
];

/// Makes a recipe that asks for a name and writes one file.
pub fn scaffold(name: &str) -> ScaffoldFiles {
    let template = "---\nto: \"{{ kebabCase(name) }}.md\"\n---\n# {{ titleCase(name) }}\n";
    vec![
        ("recipe.yml".to_owned(), manifest(name, "file.md.jig")),
        ("file.md.jig".to_owned(), template.to_owned()),
    ]
}

/// Makes a recipe that writes this file for another name: the name of the file becomes a variable,
/// in every way it is written.
pub fn scaffold_from(name: &str, path: &RelPath, text: &str) -> ScaffoldFiles {
    let word = word_of(path);
    let in_text = spellings(&word, ["pascal", "camel", "constant", "kebab", "snake"]);
    let in_path = spellings(&word, ["pascal", "kebab", "camel", "snake", "constant"]);
    let to = with_name(path.as_str(), &in_path);
    let file = path.file_name().unwrap_or("file");
    let template = format!("{file}.jig");
    let body = with_name(&escaped(text), &in_text);
    vec![
        ("recipe.yml".to_owned(), manifest(name, &template)),
        (template, format!("---\nto: \"{to}\"\n---\n{body}")),
    ]
}

fn manifest(name: &str, template: &str) -> String {
    format!(
        "name: {name}\n\
         description: What it makes\n\
         variables:\n\
         \x20 name: {{ type: string, required: true, position: 0, prompt: What is it called? }}\n\
         steps:\n\
         \x20 - name: file\n\
         \x20   template: {template}\n"
    )
}

/// Returns the word that names a file: `Button` of `Button.test.tsx`, `button` of
/// `button/index.ts`.
fn word_of(path: &RelPath) -> String {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let own = path.file_name().map(stem).unwrap_or_default();
    let folder = path
        .parent()
        .and_then(|parent| parent.file_name().map(stem));
    match own.as_str() {
        "index" | "mod" | "main" | "" => folder.unwrap_or(own),
        _ => own,
    }
}

/// Returns the word as each case writes it, with its expression; the first case that gives a
/// spelling counts.
fn spellings(word: &str, cases: [&str; 5]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for case in cases {
        let spelled = match case {
            "pascal" => change_case::pascal(word),
            "camel" => change_case::camel(word),
            "kebab" => change_case::param(word),
            "snake" => change_case::snake(word),
            _ => change_case::constant(word),
        };
        let is_new = found.iter().all(|(known, _)| *known != spelled);
        if is_new && !spelled.is_empty() {
            found.push((spelled, format!("{{{{ {case}Case(name) }}}}")));
        }
    }
    found
}

/// Returns the text with every spelling of the name replaced, where it is a word of its own.
fn with_name(text: &str, spellings: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let before = out.chars().next_back();
        let found = spellings
            .iter()
            .find(|(spelled, _)| rest.starts_with(spelled) && stands_alone(before, spelled, rest));
        match found {
            Some((spelled, expression)) => {
                out.push_str(expression);
                rest = &rest[spelled.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Returns true for `User` in `getUser` and `UserCard`, not in `Username`; for `user` in
/// `user-card`, not in `superuser`.
fn stands_alone(before: Option<char>, spelled: &str, rest: &str) -> bool {
    let next = rest[spelled.len()..].chars().next();
    let ends = next.is_none_or(|c| !c.is_lowercase() && !c.is_numeric());
    let is_upper = spelled.starts_with(char::is_uppercase);
    let begins = match before {
        None => true,
        Some(c) if is_upper => !c.is_uppercase(),
        Some(c) => !c.is_alphanumeric(),
    };
    begins && ends
}

/// Escapes text that a template would read as its own language, so that it prints unchanged.
fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("{{", "@{{");
        let bare = line.trim_start();
        let name: String = bare
            .strip_prefix('@')
            .unwrap_or_default()
            .trim_start_matches('!')
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        match TAGS.contains(&name.as_str()) {
            true => line.replacen('@', "@@", 1),
            false => line,
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, to: &str, body: &str) {
        let files = scaffold_from("it", &RelPath::parse(path).unwrap(), text);
        let expected = format!("---\nto: \"{to}\"\n---\n{body}");
        assert_eq!(files[1].1, expected);
    }

    #[test]
    fn the_name_is_found_in_every_spelling() {
        check(
            "src/UserCard/UserCard.tsx",
            "export const UserCard = useUserCard('user-card', USER_CARD, user_card, userCard, UserCards);\n",
            "src/{{ pascalCase(name) }}/{{ pascalCase(name) }}.tsx",
            "export const {{ pascalCase(name) }} = use{{ pascalCase(name) }}('{{ kebabCase(name) }}', \
             {{ constantCase(name) }}, {{ snakeCase(name) }}, {{ camelCase(name) }}, UserCards);\n",
        );
        check(
            "routes/order/index.ts",
            "order, Order, superorder\n",
            "routes/{{ kebabCase(name) }}/index.ts",
            "{{ camelCase(name) }}, {{ pascalCase(name) }}, superorder\n",
        );
    }

    #[test]
    fn text_that_looks_like_a_template_stays_text() {
        check(
            "a.tsx",
            "<p style={{ b: 1 }}>\n@if(x)\n@Injectable()\n",
            "{{ kebabCase(name) }}.tsx",
            "<p style=@{{ b: 1 }}>\n@@if(x)\n@Injectable()\n",
        );
    }
}
