//! The name a worker claims under: said of a task for as long as it is under way, and read by people.

use workspace::fs;

use crate::Surroundings;

/// Where Linux says what the machine is called.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// How much of the machine's name is taken.
const HOST_CHARS_MAX: usize = 40;

/// `HOST-PROCESS-RANDOM`: where to look for it, and no two alike over machines, containers and time.
pub fn worker_name(surroundings: &Surroundings) -> String {
    let mut bytes = [0_u8; 3];
    // Without random bytes the machine and the process still tell workers apart.
    let _ = getrandom::fill(&mut bytes);
    let [a, b, c] = bytes;
    let process = std::process::id();
    format!("{}-{process}-{a:02x}{b:02x}{c:02x}", host(surroundings))
}

fn host(surroundings: &Surroundings) -> String {
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
    use crate::Surroundings;

    #[test]
    fn no_two_workers_are_called_alike() {
        let surroundings = Surroundings::read(None).unwrap();
        let (one, other) = (worker_name(&surroundings), worker_name(&surroundings));
        assert_ne!(one, other);
        let process = format!("-{}-", std::process::id());
        assert!(one.contains(&process) && !one.starts_with('-'), "{one}");
    }
}
