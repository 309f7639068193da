//! Programs that read some of their arguments as a program, as data with the reason of each entry.

/// The way a program uses its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentUse {
    /// It starts the program that its arguments name; the options that take a word of their own.
    Starts { options: &'static [&'static str] },
    /// It runs the text behind the options `texts`, or else its first operand, which is a script or
    /// a text. The options `values` take a word that is neither.
    Interprets {
        texts: &'static [&'static str],
        values: &'static [&'static str],
    },
    /// `printf`: its first operand says how the others are printed.
    Formats,
    /// Every argument may be run, or evaluated.
    Evaluates { why: &'static str },
    /// `test` and `[`: a word is data only beside an operator.
    Compares,
    /// `export` and `readonly`: a value is data behind `NAME=`.
    Assigns,
}

use ArgumentUse::{Assigns, Compares, Evaluates, Formats, Interprets, Starts};

const SHELL: ArgumentUse = Interprets {
    texts: &["c", "-command"],
    values: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
};
const SCRIPT: ArgumentUse = Interprets {
    texts: &[
        "c", "e", "E", "p", "r", "-eval", "-print", "-command", "-run",
    ],
    values: &[
        "-W",
        "-X",
        "-I",
        "-d",
        "-C",
        "--require",
        "--import",
        "--loader",
        "--conditions",
    ],
};
const TEXT: ArgumentUse = Interprets {
    texts: &["e", "-expression", "-source"],
    values: &["-F", "-l", "-L"],
};
const JOINED: ArgumentUse = Evaluates {
    why: "hands its arguments to a shell",
};
const BUILTIN: ArgumentUse = Evaluates {
    why: "makes the shell evaluate its arguments",
};
const MAKE: ArgumentUse = Evaluates {
    why: "takes `NAME=…` for a variable whose text it runs",
};
const SQL: ArgumentUse = Evaluates {
    why: "runs its arguments as SQL or as commands",
};

const HABITS: &[(&str, ArgumentUse)] = &[
    (".", BUILTIN),
    ("[", Compares),
    ("[[", BUILTIN),
    ("alias", BUILTIN),
    ("ash", SHELL),
    ("at", JOINED),
    ("awk", TEXT),
    ("bash", SHELL),
    ("batch", JOINED),
    ("bind", BUILTIN),
    ("builtin", Starts { options: &[] }),
    ("bun", SCRIPT),
    (
        "bunx",
        Starts {
            options: &["-p", "--package"],
        },
    ),
    ("busybox", Starts { options: &[] }),
    ("chroot", JOINED),
    ("chrt", Starts { options: &[] }),
    ("cmd", JOINED),
    ("command", Starts { options: &[] }),
    ("complete", BUILTIN),
    ("compgen", BUILTIN),
    ("dash", SHELL),
    ("declare", BUILTIN),
    ("deno", SCRIPT),
    (
        "doas",
        Starts {
            options: &["-u", "-C"],
        },
    ),
    ("enable", BUILTIN),
    (
        "env",
        Starts {
            options: &["-u", "-C"],
        },
    ),
    ("eval", BUILTIN),
    ("exec", Starts { options: &["-a"] }),
    ("expect", SCRIPT),
    ("export", Assigns),
    ("fish", SHELL),
    ("flock", JOINED),
    ("gawk", TEXT),
    ("getopts", BUILTIN),
    ("gmake", MAKE),
    ("gsed", TEXT),
    (
        "ionice",
        Starts {
            options: &["-c", "-n"],
        },
    ),
    ("jq", TEXT),
    ("just", MAKE),
    ("ksh", SHELL),
    ("let", BUILTIN),
    ("local", BUILTIN),
    ("lua", SCRIPT),
    ("luajit", SCRIPT),
    ("make", MAKE),
    ("mapfile", BUILTIN),
    ("mariadb", SQL),
    ("mawk", TEXT),
    ("mysql", SQL),
    ("nawk", TEXT),
    ("nice", Starts { options: &["-n"] }),
    ("node", SCRIPT),
    ("nodejs", SCRIPT),
    ("nohup", Starts { options: &[] }),
    (
        "npx",
        Starts {
            options: &["-p", "--package"],
        },
    ),
    ("osascript", SCRIPT),
    ("parallel", JOINED),
    ("perl", SCRIPT),
    ("php", SCRIPT),
    ("printf", Formats),
    ("psql", SQL),
    ("pwsh", SHELL),
    ("read", BUILTIN),
    ("readarray", BUILTIN),
    ("readonly", Assigns),
    ("Rscript", SCRIPT),
    ("ruby", SCRIPT),
    ("screen", JOINED),
    ("script", JOINED),
    ("sed", TEXT),
    ("setsid", Starts { options: &[] }),
    ("sh", SHELL),
    ("source", BUILTIN),
    ("sqlite3", SQL),
    ("ssh", JOINED),
    (
        "stdbuf",
        Starts {
            options: &["-i", "-o", "-e"],
        },
    ),
    (
        "strace",
        Starts {
            options: &["-e", "-o", "-p"],
        },
    ),
    ("su", JOINED),
    (
        "sudo",
        Starts {
            options: &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"],
        },
    ),
    ("test", Compares),
    (
        "time",
        Starts {
            options: &["-f", "-o"],
        },
    ),
    (
        "timeout",
        Starts {
            options: &["-s", "-k"],
        },
    ),
    ("tmux", JOINED),
    ("trap", BUILTIN),
    ("typeset", BUILTIN),
    ("unset", BUILTIN),
    (
        "uvx",
        Starts {
            options: &["--from", "--with"],
        },
    ),
    ("watch", JOINED),
    (
        "xargs",
        Starts {
            options: &["-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a"],
        },
    ),
    ("zsh", SHELL),
];

/// Returns the way the program of this name, or at this path, uses its arguments.
pub(super) fn habit(program: &str) -> Option<ArgumentUse> {
    let name = program.rsplit('/').next().unwrap_or(program);
    // `python3.12`, `lua5.4`, `php8.3` …
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(family, "python" | "pypy") {
        return Some(SCRIPT);
    }
    let found = |name: &str| HABITS.iter().find(|(known, _)| *known == name);
    let known = found(name).or_else(|| found(family));
    known.map(|(_, habit)| *habit)
}

/// Options of programs that start others whose next word is a command line.
pub(super) const LINE_OPTIONS: [&str; 4] = ["-c", "--call", "-S", "--split-string"];

/// Options whose value is a command, whichever program has them: `tar`, `ssh`, `rsync`, `git`.
pub(super) const COMMAND_OPTIONS: [&str; 12] = [
    "--checkpoint-action",
    "--to-command",
    "--use-compress-program",
    "--rsh",
    "--rsh-command",
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--extcmd",
    "--proxy-command",
    "--pager",
    "--editor",
];

/// Settings given as `NAME=VALUE`, in small letters, whose value is a command or leads to one.
pub(super) const COMMAND_SETTINGS: [&str; 20] = [
    "exec=",
    "proxycommand=",
    "-oproxycommand=",
    "localcommand=",
    "-olocalcommand=",
    "knownhostscommand=",
    "alias.",
    "core.pager=",
    "core.editor=",
    "core.sshcommand=",
    "core.fsmonitor=",
    "core.hookspath=",
    "core.askpass=",
    "credential.",
    "diff.",
    "filter.",
    "gpg.",
    "include.path=",
    "merge.",
    "sequence.editor=",
];
