//! Checks that everything Drawloom needs is there and in order, with one finding per thing.

mod outside;

use std::path::Path;

use exec::sandbox::SandboxKind;
use recipe::kits::{self, KitLock};
use transport::{ResolvedMode, TransportMode};
use workspace::{RecoverOutcome, RelPath, Root, fs};

use crate::project::{self, HOME};
use crate::settings::{self, ProjectSettings};
use crate::surroundings::PREFIX;
use crate::{Error, ProcessEnvironment, Project, ai, builds, recipes, tasks, trust};

pub use outside::examine_server;

/// The result of one check.
#[derive(Debug)]
pub struct DoctorFinding {
    pub about: &'static str,
    pub state: FindingState,
    pub detail: String,
    /// Advice for the user.
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingState {
    Good,
    /// Works, and is worth knowing.
    Note,
    Bad,
}

/// Facts that only the command line knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalPresence {
    There,
    Absent,
}

/// Looks at everything; a project that cannot be opened is a finding like any other.
pub async fn examine(
    surroundings: &ProcessEnvironment,
    terminal: TerminalPresence,
) -> Vec<DoctorFinding> {
    let mut findings = vec![git(), this_terminal(terminal)];
    let place = match project::find(&surroundings.cwd, surroundings) {
        Ok(place) => place,
        Err(error) => {
            findings.push(settings_finding(None, Some(&error)));
            return findings;
        }
    };
    findings.extend(place.passed_over.iter().map(|refused| {
        let fix = refused.fix();
        note("settings", refused.to_string(), &fix)
    }));
    let settings_file = place.settings_file();
    let folder = place.folder;
    let settings = ProjectSettings::resolve(settings_file.as_deref(), surroundings);
    findings.push(settings_finding(
        settings_file.as_deref(),
        settings.as_ref().err(),
    ));
    findings.extend(unknown_variables(surroundings));
    let root = match Root::open(&folder) {
        Ok(root) => root,
        Err(error) => {
            findings.push(bad("folder", error.to_string(), "check its permissions"));
            return findings;
        }
    };
    findings.push(writable(&root));
    findings.extend(interrupted(&root));
    let is_readable = settings.is_ok();
    let settings = settings.unwrap_or_default();
    findings.extend(answers(&settings, surroundings, terminal));
    findings.push(sandbox(&settings));
    // Unreadable settings are skipped here; their own finding reports them.
    let file = settings_file.as_deref().filter(|_| is_readable);
    let trusted = &settings.trust.projects;
    let Ok(trust) = trust::TrustGate::new(root.path(), file, trusted, surroundings) else {
        return findings;
    };
    let project = Project {
        trust,
        root,
        settings,
        settings_file,
        recovered: None,
        people: None,
        user_recipes: None,
        passed_over: Vec::new(),
    };
    findings.push(work_of_builds(&project, surroundings));
    findings.extend(
        tasks::database_problem(&project, surroundings)
            .await
            .map(|error| {
                bad(
                    "database",
                    error.to_string(),
                    "see what it says, or move the file away",
                )
            }),
    );
    findings.extend(all_recipes(&project));
    findings.extend(all_kits(&project));
    findings
}

/// Reports which transport would answer questions. Asks none, because a model would cost money.
fn answers(
    settings: &ProjectSettings,
    surroundings: &ProcessEnvironment,
    terminal: TerminalPresence,
) -> Vec<DoctorFinding> {
    let chosen = match ai::choice(&settings.ai, surroundings) {
        Ok(chosen) => chosen,
        Err(Error::Ai(error)) => {
            let detail = format!("{} ({})", error.what(), error.code());
            return vec![bad("answers", detail, error.advice())];
        }
        Err(error) => return vec![bad("answers", error.to_string(), "see docs/ai.md")],
    };
    let because = &chosen.because;
    let first = match &chosen.way {
        ResolvedMode::Api(plan) => {
            let route = &plan.first.route;
            let detail = format!("from {} of {}", route.model, route.provider.name());
            good("answers", format!("{detail}: {because}"))
        }
        ResolvedMode::Command(plan) => {
            program(surroundings, "ai.command", &plan.words.program, because)
        }
        ResolvedMode::Stdio(plan) => {
            program(surroundings, "ai.stdio_command", &plan.program, because)
        }
        ResolvedMode::Off if terminal == TerminalPresence::There => {
            good("answers", format!("from you, at the terminal: {because}"))
        }
        ResolvedMode::Off => note(
            "answers",
            format!("questions are printed: {because}, and there is no terminal"),
            "answer with `--answers FILE`",
        ),
        ResolvedMode::Stdout if settings.ai.mode == TransportMode::Stdout => {
            good("answers", format!("questions are printed: {because}"))
        }
        ResolvedMode::Stdout => note(
            "answers",
            format!("questions are printed: {because}"),
            "set `ai.provider` and `ai.model`, or `ai.command`, to have them answered (docs/ai.md)",
        ),
    };
    let warnings = chosen.warnings.iter();
    let warnings = warnings.map(|text| note("answers", text.clone(), "see docs/ai.md"));
    std::iter::once(first).chain(warnings).collect()
}

/// Reports which sandbox holds the commands of a model, by starting it.
fn sandbox(settings: &ProjectSettings) -> DoctorFinding {
    let requirement = settings.agent.sandbox.requirement;
    let probe = exec::sandbox::probed();
    let detail = probe.explain(requirement).replace('\n', "\n    ");
    match probe.choose(requirement) {
        Ok(SandboxKind::None) => note("sandbox", detail, "set `agent.sandbox.kind` to \"auto\""),
        Ok(_) => good("sandbox", detail),
        // Everything but the commands of a model works without.
        Err(_) => note(
            "sandbox",
            detail,
            "allow user namespaces or install bubblewrap, or set `agent.sandbox.kind` to \"none\" where nothing can be lost",
        ),
    }
}

/// Reports how far a build could be published: a worktree, a remote, a pull request. Sends no
/// request.
fn work_of_builds(project: &Project, surroundings: &ProcessEnvironment) -> DoctorFinding {
    use builds::PublishReadiness;
    match builds::standing(project, surroundings) {
        PublishReadiness::Ready { remote, kind, api } => good(
            "builds",
            format!("end as pull requests for {remote} ({kind}), by way of {api}"),
        ),
        PublishReadiness::NoPull { remote, why } => note(
            "builds",
            format!("end as branches that are pushed to {remote}: {why}"),
            "see [builder.forge] of drawloom.toml, and docs/builder.md",
        ),
        PublishReadiness::NoRemote(name) => note(
            "builds",
            format!("end as local branches and patches: there is no remote `{name}`"),
            "`git remote add`, or name another in `builder.forge.remote`",
        ),
        PublishReadiness::NoRepository(why) => note(
            "builds",
            format!("not available here: {why}"),
            "`git init`, and make a first commit",
        ),
    }
}

/// Checks that a program that would answer exists.
fn program(
    surroundings: &ProcessEnvironment,
    key: &str,
    name: &str,
    because: &str,
) -> DoctorFinding {
    let path = surroundings.variable("PATH").unwrap_or_default();
    match exec::which(name, path.as_ref()) {
        Some(_) => good("answers", format!("from `{name}`: {because}")),
        None => bad(
            "answers",
            format!("`{key}` names `{name}`, which is not there"),
            "install it, or correct the setting",
        ),
    }
}

fn good(about: &'static str, detail: impl Into<String>) -> DoctorFinding {
    DoctorFinding {
        about,
        state: FindingState::Good,
        detail: detail.into(),
        fix: None,
    }
}

fn note(about: &'static str, detail: impl Into<String>, fix: &str) -> DoctorFinding {
    DoctorFinding {
        about,
        state: FindingState::Note,
        detail: detail.into(),
        fix: Some(fix.to_owned()),
    }
}

fn bad(about: &'static str, detail: impl Into<String>, fix: &str) -> DoctorFinding {
    DoctorFinding {
        about,
        state: FindingState::Bad,
        detail: detail.into(),
        fix: Some(fix.to_owned()),
    }
}

fn git() -> DoctorFinding {
    match vcs::GitProgram::at(".").version() {
        Ok(version) => good("git", version),
        Err(error) => note(
            "git",
            error.to_string(),
            "install git to add kits from repositories",
        ),
    }
}

fn this_terminal(terminal: TerminalPresence) -> DoctorFinding {
    match terminal {
        TerminalPresence::There => good("terminal", "questions can be asked here"),
        TerminalPresence::Absent => note(
            "terminal",
            "none here: no one can be asked, so missing values and conflicts are errors",
            "give values as options, and `--force` or `--skip-existing`",
        ),
    }
}

fn settings_finding(file: Option<&Path>, error: Option<&Error>) -> DoctorFinding {
    match (error, file) {
        (Some(error), _) => {
            let hint = match error {
                Error::Own(fault) => fault.hint.clone(),
                _ => None,
            };
            bad(
                "settings",
                error.to_string(),
                &hint.unwrap_or_else(|| "correct that line".to_owned()),
            )
        }
        (None, Some(file)) => good("settings", file.display().to_string()),
        (None, None) => {
            let detail = format!("no {}, the defaults hold", settings::FILE_NAME);
            note(
                "settings",
                detail,
                "`drawloom init` writes one with comments",
            )
        }
    }
}

fn unknown_variables(surroundings: &ProcessEnvironment) -> Vec<DoctorFinding> {
    let known = settings::variables();
    let names = surroundings
        .variables
        .keys()
        .filter(|name| !known.contains(*name) && *name != recipe::WRITER_VARIABLE);
    let findings = names.map(|name| {
        let meant = crate::nearest(name, known.iter().map(String::as_str));
        let fix = meant.map_or_else(
            || format!("only variables named {PREFIX}SECTION_KEY are settings"),
            |meant| format!("did you mean {meant}?"),
        );
        note(
            "environment",
            format!("{name} is set, and is no setting"),
            &fix,
        )
    });
    findings.collect()
}

fn writable(root: &Root) -> DoctorFinding {
    let home = root.path().join(HOME);
    let place = if fs::is_dir(&home) {
        home
    } else {
        root.path().to_owned()
    };
    match rustix::fs::access(&place, rustix::fs::Access::WRITE_OK) {
        Ok(()) => good("folder", root.path().display().to_string()),
        Err(cause) => {
            let detail = format!("{} cannot be written: {cause}", place.display());
            bad("folder", detail, "check its permissions")
        }
    }
}

/// Runs that did not come to their end: an apply is finished here, commands wait for a decision.
fn interrupted(root: &Root) -> Vec<DoctorFinding> {
    let applied = match root.recover() {
        Ok(None) => None,
        Ok(Some(recovered)) => Some(good(
            "last run",
            match recovered.outcome {
                RecoverOutcome::Finished => "was interrupted, and has now been completed",
                RecoverOutcome::Undone => "was interrupted, and has now been undone",
            },
        )),
        Err(error) => Some(bad(
            "last run",
            error.to_string(),
            "look at the files it names, then remove .drawloom/apply",
        )),
    };
    let cut_off = match recipe::unfinished(root) {
        Ok(runs) => runs.iter().map(cut_off).collect(),
        Err(error) => vec![bad(
            "last run",
            error.to_string(),
            "look at .drawloom/unfinished",
        )],
    };
    let mut findings: Vec<DoctorFinding> = applied.into_iter().chain(cut_off).collect();
    if findings.is_empty() {
        findings.push(good("last run", "nothing was left unfinished"));
    }
    findings
}

fn cut_off(run: &recipe::UnfinishedRun) -> DoctorFinding {
    bad(
        "last run",
        recipes::cut_off_sentence(run),
        recipes::settle_advice(run),
    )
}

fn all_recipes(project: &Project) -> Vec<DoctorFinding> {
    let catalog = match recipes::catalog(project) {
        Ok(catalog) => catalog,
        Err(error) => return vec![bad("recipes", error.to_string(), "correct the folder")],
    };
    let mut findings = Vec::new();
    let mut sound = 0;
    for listing in catalog.all() {
        match &listing.problem {
            Some(problem) => {
                let fix = format!("`drawloom recipe validate {}` shows it all", listing.id);
                findings.push(bad("recipes", problem.to_string(), &fix));
            }
            None => sound += 1,
        }
    }
    let broken = catalog.kits.iter().filter_map(|kit| kit.problem.as_ref());
    findings.extend(broken.map(|problem| bad("kits", problem.to_string(), "correct its kit.yml")));
    if sound > 0 {
        let detail = format!("{sound} can be run");
        findings.insert(0, good("recipes", detail));
    } else if findings.is_empty() {
        let fix = "`drawloom init` writes two examples";
        findings.push(note("recipes", "no recipes yet", fix));
    }
    findings
}

fn all_kits(project: &Project) -> Vec<DoctorFinding> {
    let lock = match KitLock::read(&project.root) {
        Ok(lock) => lock,
        Err(error) => return vec![bad("kits", error.to_string(), "restore the lock file")],
    };
    let kits = lock.kits.iter();
    let findings = kits.map(|(name, locked)| {
        let again = format!(
            "`drawloom kit add {} --force` fetches it anew",
            locked.source
        );
        let dir = RelPath::parse(&format!("{}/{name}", kits::KITS_DIR));
        let dir = match dir {
            Ok(dir) if project.root.is_dir(&dir).unwrap_or(false) => dir,
            _ => {
                return bad(
                    "kits",
                    format!("{name} is locked, and is not there"),
                    &again,
                );
            }
        };
        match kits::hash_tree(&project.root, &dir) {
            Ok(hash) if hash == locked.hash => good("kits", format!("{name} is as it was added")),
            Ok(_) => note(
                "kits",
                format!("{name} was changed since it was added"),
                &again,
            ),
            Err(error) => bad("kits", error.to_string(), &again),
        }
    });
    findings.collect()
}
