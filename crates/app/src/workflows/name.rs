//! The name under which a worker claims tasks; shown to people while a task is in progress.

use workspace::fs;

use crate::ProcessEnvironment;

/// File in which Linux has the name of the machine.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// Number of characters of the machine's name that are used.
const HOST_CHARS_MAX: usize = 40;

/// Makes a name `HOST-PROCESS-RANDOM`, which says where the worker runs and is unique over
/// machines, containers and time.
pub fn worker_name(surroundings: &ProcessEnvironment) -> String {
    let mut bytes = [0_u8; 3];
    // Without random bytes the machine and the process still tell workers apart.
    let _ = getrandom::fill(&mut bytes);
    let [a, b, c] = bytes;
    let process = std::process::id();
    format!("{}-{process}-{a:02x}{b:02x}{c:02x}", host(surroundings))
}

fn host(surroundings: &ProcessEnvironment) -> String {
    let kept = fs::read_text(HOSTNAME.as_ref()).ok().flatten();
    let said = kept.or_else(|| surroundings.variable("HOSTNAME"));
    let said = said.unwrap_or_default();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = said
        .trim()
        .chars()
        .filter(fits)
        .take(HOST_CHARS_MAX)
        .collect();
    match name.is_empty() {
        true => "host".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::worker_name;
    use crate::ProcessEnvironment;

    #[test]
    fn worker_names_are_unique() {
        let surroundings = ProcessEnvironment::read(None).unwrap();
        let (one, other) = (worker_name(&surroundings), worker_name(&surroundings));
        assert_ne!(one, other);
        let process = format!("-{}-", std::process::id());
        assert!(one.contains(&process) && !one.starts_with('-'), "{one}");
    }
}
