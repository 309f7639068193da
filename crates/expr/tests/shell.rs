//! Values in command lines: what a shell makes of them, and which places are refused.
//!
//! The shells are real: `dash` and `bash`, where they are installed.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the crate is pure; only these tests start shells, and they fail by panicking"
)]

use std::process::Command;

use expr::shell::{self, CommandPart};
use proptest::prelude::*;

/// The hostile values of the security review, and some more.
const HOSTILE: [&str; 27] = [
    "$(echo INJECTED)",
    "`echo INJECTED`",
    "; echo INJECTED",
    "\n echo INJECTED\n",
    "\"; echo INJECTED; \"",
    "'; echo INJECTED; '",
    "'\"; echo INJECTED; \"'",
    "&& echo INJECTED",
    "| echo INJECTED",
    "$INJECTED ${INJECTED}",
    "$((1+1))",
    "*",
    "~root",
    "a b  c",
    " leading and trailing ",
    "",
    "-n",
    "--help",
    "\\",
    "\\\"",
    "EOF\necho INJECTED\nEOF",
    "a[$(echo INJECTED >&2)]",
    "ü ∑ 漢字 \u{202e}x",
    "{a,b}",
    "#comment",
    "!!",
    "%s%n\t\r",
];

fn shells() -> Vec<&'static str> {
    let is_there = |name: &&str| {
        let found = Command::new(name).arg("-c").arg(":").output();
        found.is_ok_and(|output| output.status.success())
    };
    ["dash", "bash", "sh"]
        .into_iter()
        .filter(is_there)
        .collect()
}

/// What a shell prints for a line with these values.
fn run(shell: &str, line: &str, values: &[&str]) -> String {
    let parts = shell::parts(line).expect("the line has whole `{{ }}`");
    let places = shell::command_line(&parts).unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let filled = places.fill(&values).expect("the values are short");
    let output = Command::new(shell)
        .arg("-c")
        .arg(&filled.script)
        .envs(filled.variables)
        .output()
        .expect("the shell runs");
    assert!(output.status.success(), "{line} → {}", filled.script);
    String::from_utf8(output.stdout).expect("the output is text")
}

/// A line that prints its value between brackets, and the brackets it prints.
const PLACES: [&str; 14] = [
    "printf '<%s>' {{ x }}",
    "printf '<%s>' \"{{ x }}\"",
    "printf '<%s>' '{{ x }}'",
    "printf '%s' \"<{{ x }}>\"",
    "printf '%s' '<{{ x }}>'",
    "printf '%s' '<'{{ x }}\">\"",
    "printf '%s' \"<\"'{{ x }}'\\>",
    "v={{ x }}; printf '<%s>' \"$v\"",
    "v=\"{{ x }}\" && printf '<%s>' \"$v\"",
    "printf '<%s>' \"$(printf '%s.' {{ x }})\" | sed 's/[.]>$/>/'",
    "if true; then (printf '<%s>' {{ x }}); fi # it's {{ x }}",
    "f() { printf '<%s>' \"$1\"; }; f {{ x }}",
    "sh -c 'printf \"<%s>\" \"$1\"' sh {{ x }}",
    "cat <<'END' >/dev/null\nit's \"open\nEND\nprintf '<%s>' {{ x }}",
];

#[test]
fn hostile_values_reach_every_place_unchanged() {
    for shell in shells() {
        for line in PLACES {
            for value in HOSTILE {
                let count = shell::parts(line).unwrap().len();
                let values = vec![value; count];
                assert_eq!(
                    run(shell, line, &values),
                    format!("<{value}>"),
                    "{shell}: {line}"
                );
            }
        }
    }
}

#[test]
fn several_values_keep_their_order_and_their_variables() {
    for shell in shells() {
        let line = "DL_1=own; printf '%s|' \"$DL_1\" {{ a }} '{{ b }}' \"{{ c }}\"";
        assert_eq!(run(shell, line, &["1", "2", "3"]), "own|1|2|3|");
    }
}

/// Why a line is refused; nothing if it is not.
fn refusal(line: &str) -> Option<String> {
    let parts = shell::parts(line).expect("the line has whole `{{ }}`");
    shell::command_line(&parts)
        .err()
        .map(|refusal| refusal.reason)
}

/// Lines in which a value would be run, or not expanded, and why they are refused.
const REFUSED: &[(&str, &str)] = &[
    ("{{ x }}", "name of the program"),
    ("{{ x }} --flag", "name of the program"),
    ("a; {{ x }}", "name of the program"),
    ("sudo -u bob {{ x }}", "name of the program"),
    ("timeout 5 {{ x }}", "name of the program"),
    ("$(dirname {{ x }})/tool", "name of the program"),
    ("a[{{ x }}]=1", "name of the program"),
    ("echo `cat {{ x }}`", "backticks"),
    ("cat <<EOF\n{{ x }}\nEOF", "here-document"),
    ("cat <<-'EOF' | sort\n\t{{ x }}\n\tEOF", "here-document"),
    ("cat <<{{ x }}\n", "here-document"),
    ("echo ${a:-{{ x }} }", "inside `${"),
    ("echo \"${a:-{{ x }} }\"", "inside `${"),
    ("echo $((1 + {{ x }}))", "inside `$(("),
    ("((i={{ x }}))", "comes after `((…))`"),
    (
        "for ((i=0;i<{{ x }};i++)); do :; done",
        "comes after `((…))`",
    ),
    ("[[ a && 1 -eq {{ x }} ]]", "comes after `[[`"),
    ("echo $'a\\'' {{ x }}", "comes after `$'…'`"),
    ("echo ${a:-'}'} {{ x }}", "comes after `${…}` with quotes"),
    (
        "echo \"$(case a in a) echo {{ x }};; esac)\"",
        "comes after `case`",
    ),
    ("echo \\{{ x }}", "backslash"),
    ("echo \"\\{{ x }}\"", "backslash"),
    ("echo ${{ x }}", "names a variable"),
    ("eval {{ x }}", "that `eval` runs"),
    ("eval \"$(printf %s {{ x }})\"", "that `eval` runs"),
    ("v={{ x }}; eval $v", "that `eval` runs"),
    ("v={{ x }}; w=\"a $v\"; eval \"$w\"", "that `eval` runs"),
    ("v={{ x }}; ${v} install", "name of the program"),
    ("v={{ x }}\nsh -c \"$v\"", "text that `sh` runs"),
    ("export v={{ x }}; ssh host \"ls $v\"", "argument of `ssh`"),
    ("for f in {{ x }}; do . \"$f\"; done", "argument of `.`"),
    ("v={{ x }}; echo $((v + 1))", "in a variable inside `$(("),
    (". {{ x }}", "argument of `.`"),
    ("trap {{ x }} EXIT", "argument of `trap`"),
    ("sh -c {{ x }}", "that `sh` runs"),
    ("sh -c 'echo {{ x }}'", "that `sh` runs"),
    (
        "/bin/bash -o pipefail -ec \"echo {{ x }}\"",
        "that `/bin/bash` runs",
    ),
    (
        "A=1 env -i B=2 bash -c \"echo {{ x }}\"",
        "that `bash` runs",
    ),
    ("xargs -n 1 sh -c 'echo {{ x }}'", "that `sh` runs"),
    ("find . -exec sh -c 'echo {{ x }}' \\;", "that `sh` runs"),
    (
        "tar cf x --checkpoint-action=exec={{ x }} .",
        "that `--checkpoint-action` runs",
    ),
    (
        "tar cf x --to-command {{ x }} .",
        "that `--to-command` runs",
    ),
    ("rsync --rsh='{{ x }}' a b", "that `--rsh` runs"),
    ("git -c alias.x={{ x }} x", "runs"),
    ("git -c {{ x }} log", "that `-c` runs"),
    (
        "git -c core.sshCommand={{ x }} fetch",
        "that `core.sshcommand` runs",
    ),
    (
        "git clone --upload-pack {{ x }} a",
        "that `--upload-pack` runs",
    ),
    (
        "scp -o ProxyCommand={{ x }} a b",
        "that `proxycommand` runs",
    ),
    ("docker run box sh -c \"echo {{ x }}\"", "that `sh` runs"),
    ("python3 -c 'print(\"{{ x }}\")'", "that `python3` runs"),
    ("python3.12 -W error -c '{{ x }}'", "that `python3.12` runs"),
    ("node -e \"{{ x }}\"", "that `node` runs"),
    ("node --eval={{ x }}", "an option of `node`"),
    ("perl -e 'a' -e '{{ x }}'", "that `perl` runs"),
    ("deno eval {{ x }}", "that `eval` runs"),
    ("sed 's/a/{{ x }}/' f", "that `sed` runs"),
    ("awk '{print \"{{ x }}\"}'", "that `awk` runs"),
    ("sh {{ x }}", "that `sh` runs"),
    ("echo {{ x }} | sh", "run, by the program behind it"),
    (
        "echo {{ x }} | tee log | sudo bash -s",
        "run, by the program behind it",
    ),
    ("bash <<< {{ x }}", "run, by the program behind it"),
    ("ssh host ls {{ x }}", "argument of `ssh`"),
    ("make {{ x }}", "argument of `make`"),
    ("psql -c \"select '{{ x }}'\"", "argument of `psql`"),
    ("[ {{ a }} {{ b }} ]", "operator of `[`"),
    ("test -v {{ x }}", "operator of `test`"),
    ("printf \"{{ x }}\"", "in the format"),
    ("printf -v a[{{ x }}] b", "in the format"),
    ("export {{ x }}", "that `export` sets"),
    ("echo '{{ x }}", "does not end"),
    ("echo $'a' && [[ b ]] && echo {{ x }}", "comes after `$'…'`"),
];

#[test]
fn places_without_a_safe_form_are_refused() {
    for (line, reason) in REFUSED {
        let found = refusal(line).unwrap_or_else(|| panic!("{line} is taken"));
        assert!(found.contains(reason), "{line}: {found}");
    }
}

#[test]
fn hostile_lines_cost_little() {
    let began = std::time::Instant::now();
    for (line, refused) in [
        (format!("{} {{{{ x }}}}", "a $(".repeat(100_000)), true),
        (format!("{}echo {{{{ x }}}}", "env ".repeat(100_000)), true),
        (format!("{}{{{{ x }}}}", "sh -o ".repeat(100_000)), true),
        (
            format!("echo {{{{ x }}}} | {}sh", "env ".repeat(100_000)),
            true,
        ),
        (format!("echo {{{{ x }}}}{}", " a".repeat(300_000)), true),
        (
            format!("{}\n echo {{{{ x }}}}", "env sh -o ".repeat(100_000)),
            false,
        ),
    ] {
        assert_eq!(refusal(&line).is_some(), refused);
    }
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn ordinary_lines_are_taken() {
    for line in [
        "npx prettier --write src/{{ x }}.ts",
        "git commit -m \"{{ x }}\" && git push",
        "NAME={{ x }} ./deploy.sh --to={{ y }} > {{ z }} 2>&1",
        "export NAME=\"{{ x }}\"; make all",
        "case {{ x }} in npm) npm install;; *) pnpm install;; esac",
        "for f in {{ x }} b; do echo \"$f\"; done",
        "if [ {{ x }} = yes ] && [ -n \"{{ y }}\" ]; then echo {{ z }}; fi",
        "[[ -f x ]] && echo {{ x }}",
        "find . -name {{ x }} -print",
        "python3 -m tool {{ x }}",
        "node scripts/run.js -e {{ x }}",
        "sed -i s/a/b/ {{ x }}",
        "jq --arg t {{ x }} '.t = $t' f.json",
        "command -v {{ x }}",
        "cat {{ x }} | sh check.sh",
        "echo \"${HOME}\" $(date +%s) {{ x }}",
        "echo a#b {{ x }}",
        "sudo -u bob timeout -s KILL 5 ls {{ x }}",
        "# {{ x }}",
        "v={{ x }}; echo \"$v\" \"${v}\"; [ -n \"$v\" ] && cp \"$v\" b",
        "v={{ x }}; sh -c 'echo \"$1\"' sh \"$v\"",
        "v={{ x }}; eval \"$HOOK\"; $EDITOR a; echo $((vv + 1))",
        "export v={{ x }}; sh -c 'echo \"$v\"'",
        "cat > scripts/{{ x }}.copy",
    ] {
        assert_eq!(refusal(line), None, "{line}");
    }
}

#[test]
fn values_no_process_can_take_are_refused() {
    let parts = shell::parts("echo {{ x }}").unwrap();
    let line = shell::command_line(&parts).unwrap();
    for (value, reason) in [
        ("a\0b".to_owned(), "zero byte"),
        ("x".repeat(200_000), "VALUE_BYTES_MAX = 131008"),
    ] {
        let refusal = line.fill(&[value]).unwrap_err();
        assert!(refusal.reason.contains(reason), "{refusal}");
    }
}

#[test]
fn the_shown_command_can_be_typed() {
    for shell in shells() {
        for line in &PLACES[..7] {
            for value in HOSTILE {
                let parts = shell::parts(line).unwrap();
                let line = shell::command_line(&parts).unwrap();
                let filled = line.fill(&[value.to_owned()]).unwrap();
                let output = Command::new(shell)
                    .arg("-c")
                    .arg(&filled.shown)
                    .output()
                    .unwrap();
                let printed = String::from_utf8(output.stdout).unwrap();
                assert_eq!(printed, format!("<{value}>"), "{}", filled.shown);
            }
        }
    }
}

#[test]
fn words_without_a_shell_follow_the_same_rules() {
    let argv = |words: &'static [&'static str]| -> Option<String> {
        let words: Vec<Vec<CommandPart<'_>>> = words
            .iter()
            .map(|word| shell::parts(word).unwrap())
            .collect();
        shell::words(&words).err().map(|refusal| refusal.reason)
    };
    assert_eq!(argv(&["git", "commit", "-m", "{{ x }}; {{ y }}"]), None);
    assert_eq!(argv(&["A=1", "{{ x }}"]), None);
    assert!(argv(&["{{ x }}", "a"]).is_some_and(|reason| reason.contains("name of the program")));
    assert!(argv(&["bash", "-lc", "echo {{ x }}"]).is_some_and(|reason| reason.contains("`bash`")));
    assert!(argv(&["env", "A=1", "sh", "-c", "{{ x }}"]).is_some());
}

/// Pieces of command lines, thrown together.
fn scraps() -> impl Strategy<Value = String> {
    let scrap = prop::sample::select(vec![
        "echo ",
        "printf '%s' ",
        "{{ x }}",
        " {{ x }} ",
        "\"",
        "'",
        "`",
        "$(",
        ")",
        "(",
        "${a:-",
        "}",
        "$((",
        "))",
        "; ",
        " | ",
        " && ",
        "\n",
        "\\",
        "$",
        "# ",
        "cat <<E\n",
        "\nE\n",
        " > f ",
        "case a in a) ",
        ";; esac",
        "[ ",
        " ]",
        "[[ ",
        " ]]",
        " -eq ",
        " = ",
        "x=",
        "a[",
        "]=",
        "if ",
        "; then ",
        "; fi",
        "sh -c ",
        "eval ",
        "<<< ",
        "$'",
        "\\'",
        "for i in ",
        "; do ",
        "; done",
        "test ",
        "let ",
        "export ",
        "{ ",
        "; }",
        "!",
        "\t",
        "--",
        "-c ",
        "x={{ a }}; ",
        "$x ",
        "\"$x\" ",
        "${x}",
        "y=$x; ",
        "$y ",
    ]);
    prop::collection::vec(scrap, 1..14).prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the line, a value is never run: the marker it would leave is not there.
    #[test]
    fn no_line_that_is_taken_runs_its_value(line in scraps(), value in prop::sample::select(vec![
        "$(echo INJ >&9)", "`echo INJ >&9`", "; echo INJ >&9 ;", "\necho INJ >&9\n", "\"; echo INJ >&9; \"",
        "'; echo INJ >&9; '", "a[$(echo INJ >&9)]", "}; echo INJ >&9; {", ")); echo INJ >&9; ((", "E\necho INJ >&9\n",
    ])) {
        let Ok(parts) = shell::parts(&line) else { return Ok(()) };
        let Ok(places) = shell::command_line(&parts) else { return Ok(()) };
        let count = parts.iter().filter(|part| matches!(part, CommandPart::Value(_))).count();
        if count == 0 {
            return Ok(());
        }
        let filled = places.fill(&vec![value.to_owned(); count]).unwrap();
        let folder = std::env::temp_dir().join(format!("drawloom-shell-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let marker = folder.join("marker");
        for shell in shells() {
            std::fs::write(&marker, "").unwrap();
            let script = format!("exec 9>\"$MARKER\"\n{}", filled.script);
            let _ = Command::new("timeout").args(["2", shell, "-c", &script]).current_dir(&folder)
                .env("MARKER", &marker).envs(filled.variables.iter().cloned())
                .stdin(std::process::Stdio::null()).output().unwrap();
            let said = std::fs::read_to_string(&marker).unwrap();
            prop_assert_eq!(said, "", "{} ran {}", shell, filled.script);
        }
    }

    /// Random values in random places come out as they went in.
    #[test]
    fn random_values_come_out_as_they_went_in(
        place in 0..PLACES.len() - 1,
        value in "[ -~\n\té漢$`'\"\\\\]{0,40}",
    ) {
        let line = PLACES[place];
        let count = shell::parts(line).unwrap().len();
        for shell in shells() {
            prop_assert_eq!(run(shell, line, &vec![value.as_str(); count]), format!("<{value}>"));
        }
    }
}
