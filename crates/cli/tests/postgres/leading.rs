//! Schedules of a server: a due time has one run, whoever dies.

use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::server::Server;
use crate::yard::Yard;

#[test]
fn a_worker_that_dies_when_a_schedule_is_due_leaves_one_run_of_it() {
    let server = Server::start();
    let yard = Yard::new(Some(server.database("due")));
    let mut crew = vec![yard.worker("one", ""), yard.worker("two", "")];
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap();
    let due = since(SystemTime::now()).as_secs() + 5;
    let (second, minute, hour) = (due % 60, due / 60 % 60, due / 3_600 % 24);
    let add =
        format!("schedules add once chain --cron '{second} {minute} {hour} * * *' --time-zone UTC");
    let added = yard.run(&add);
    assert_eq!(added.exit, 0, "{}", added.err);
    let early = Duration::from_secs(due) - Duration::from_millis(50);
    sleep(early.saturating_sub(since(SystemTime::now())));
    drop(crew.remove(0));
    yard.wait_for_end(1);
    sleep(Duration::from_millis(1_200));
    assert_eq!(yard.check().runs, 1);
}
