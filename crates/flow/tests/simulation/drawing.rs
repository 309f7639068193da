//! Draws random workflows of every kind of step, nested in every way, that pass the check.

use serde_json::{Value, json};

use crate::chance::Chance;

/// The approximate number of steps of a drawing.
const STEPS: u64 = 14;

pub(crate) fn draw(chance: &mut Chance) -> String {
    let mut drawing = Drawing {
        chance,
        lines: vec!["graph TD".to_owned()],
        configs: Vec::new(),
        count: 0,
        budget: 0,
    };
    drawing.budget = 3 + drawing.chance.up_to(STEPS);
    let first = drawing.work(Vec::new());
    let open = drawing.sequence(vec![first], 0);
    drawing.work(open);
    drawing.text()
}

/// An end that waits for its next step: a node, and the label of the edge.
type End = (String, Option<&'static str>);

struct Drawing<'c> {
    chance: &'c mut Chance,
    lines: Vec<String>,
    configs: Vec<(String, Value)>,
    count: usize,
    budget: u64,
}

impl Drawing<'_> {
    fn text(self) -> String {
        let mut text = self.lines.join("\n");
        text.push_str("\n\n%% === WORKFLOW_CONFIG ===\n");
        for (id, config) in self.configs {
            text.push_str(&format!("%% @{id}: {config}\n"));
        }
        text + "%% === END_CONFIG ===\n"
    }

    fn node(&mut self, open: &str, label: &str, close: &str) -> String {
        self.count += 1;
        let id = format!("n{}", self.count);
        self.lines
            .push(format!("  {id}{open}\"{label} {id}\"{close}"));
        self.budget = self.budget.saturating_sub(1);
        id
    }

    fn lead(&mut self, ends: Vec<End>, to: &str) {
        for (from, label) in ends {
            self.lines.push(match label {
                Some(label) => format!("  {from} -->|\"{label}\"| {to}"),
                None => format!("  {from} --> {to}"),
            });
        }
    }

    /// One task, now and then with settings.
    fn work(&mut self, ends: Vec<End>) -> End {
        let manual = self.chance.one_in(6);
        let id = match manual {
            true => self.node("(", "Ask", ")"),
            false => self.node("[", "Work", "]"),
        };
        self.lead(ends, &id);
        let mut config = json!({});
        if self.chance.one_in(3) {
            config["retry"] = json!({ "attempts": 1 + self.chance.up_to(3), "delay": "2s" });
        }
        if self.chance.one_in(12) {
            config["fallbackAssigneeId"] = json!("bob");
        }
        if self.chance.one_in(30) {
            config["failFast"] = json!(true);
        }
        if !manual && self.chance.one_in(6) {
            config["concurrency"] = json!({ "key": "{{run.depth}}", "max": 2 });
        }
        if manual && self.chance.one_in(3) {
            config["timeout"] = json!("30s");
            config["onTimeout"] = self.on_timeout();
            if self.chance.one_in(2) {
                config["remind"] = json!("10s");
                config["escalateTo"] = json!("eve");
            }
        }
        self.configs.push((id.clone(), config));
        (id, None)
    }

    /// A wait for a time or for a signal.
    fn wait(&mut self, ends: Vec<End>) -> End {
        let id = self.node("[", "Wait: x", "]");
        self.lead(ends, &id);
        let mut config = match self.chance.up_to(3) {
            0 => json!({ "for": "20s" }),
            1 => json!({ "until": "run.startedAt + 60000" }),
            _ => json!({ "signal": "go" }),
        };
        if config.get("signal").is_some() && self.chance.one_in(2) {
            config["timeout"] = json!("30s");
            config["onTimeout"] = self.on_timeout();
        }
        self.configs.push((id.clone(), config));
        (id, None)
    }

    fn on_timeout(&mut self) -> Value {
        json!(self.chance.pick(&["hold", "fail", "continue"]))
    }

    fn sequence(&mut self, mut ends: Vec<End>, depth: u64) -> Vec<End> {
        let blocks = 1 + self.chance.up_to(3);
        for _ in 0..blocks {
            if self.budget == 0 {
                break;
            }
            ends = self.block(ends, depth);
        }
        ends
    }

    fn block(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        if depth > 3 {
            return vec![self.work(ends)];
        }
        match self.chance.up_to(13) {
            0..=2 => vec![self.work(ends)],
            3 => self.recovered(ends),
            4 | 5 => self.decision(ends, depth),
            6 => self.round(ends, depth),
            7 => self.fork(ends, depth),
            8 => self.loose(ends, depth),
            9 | 10 => self.foreach(ends, depth),
            12 => vec![self.wait(ends)],
            _ => vec![self.subflow(ends)],
        }
    }

    /// A task whose failure leads elsewhere.
    fn recovered(&mut self, ends: Vec<End>) -> Vec<End> {
        let (id, _) = self.work(ends);
        let mend = self.work(vec![(id.clone(), Some("onError"))]);
        vec![(id, None), mend]
    }

    fn decision(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        let id = self.node("{", "Is it", "}");
        self.lead(ends, &id);
        let conditions = [
            "output.a",
            "output.n > 5",
            "output.list.length > 1 && !output.a",
        ];
        let condition = *self.chance.pick(&conditions).unwrap();
        let mut out = self.sequence(vec![(id.clone(), Some(condition))], depth + 1);
        match self.chance.one_in(2) {
            true => out.push((id, Some("default"))),
            false => out.extend(self.sequence(vec![(id, Some("default"))], depth + 1)),
        }
        out
    }

    /// Work that is done again until it is good.
    fn round(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        let (first, _) = self.work(ends);
        let last = match self.chance.one_in(2) {
            true => self.sequence(vec![(first.clone(), None)], depth + 1),
            false => vec![(first.clone(), None)],
        };
        let again = self.node("{", "Again", "}");
        self.lead(last, &again);
        self.lead(vec![(again.clone(), Some("output.a"))], &first);
        let visits = 2 + self.chance.up_to(4);
        if let Some((_, config)) = self.configs.iter_mut().find(|(id, _)| *id == first) {
            config["maxVisits"] = json!(visits);
        }
        vec![(again, Some("default"))]
    }

    /// Branches that come together.
    fn fork(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        let (fork, _) = self.work(ends);
        let mut out = Vec::new();
        for _ in 0..2 + self.chance.up_to(2) {
            let branch = self.work(vec![(fork.clone(), None)]);
            out.extend(self.sequence(vec![branch], depth + 1));
        }
        let join = self.node("[", "Join", "]");
        self.lead(out, &join);
        let mut config = json!({ "stepType": "join", "awaitStepId": fork });
        self.judge(&mut config);
        self.configs.push((join.clone(), config));
        vec![(join, None)]
    }

    /// Branches of which one goes on and the others end.
    fn loose(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        let (fork, _) = self.work(ends);
        let other = self.work(vec![(fork.clone(), None)]);
        let ends = self.sequence(vec![other], depth + 1);
        self.work(ends);
        vec![(fork, None)]
    }

    fn foreach(&mut self, ends: Vec<End>, depth: u64) -> Vec<End> {
        let id = self.node("[[", "Each: x", "]]");
        self.lead(ends, &id);
        let mut config =
            json!({ "itemsPath": "output.list", "maxConcurrency": 1 + self.chance.up_to(3) });
        let works = self.chance.one_in(2);
        if works {
            config["prompt"] = json!("Do {{item}} of {{total}}");
        }
        if self.chance.one_in(6) {
            config["maxItems"] = json!(2);
        }
        self.configs.push((id.clone(), config));
        let ends = match self.chance.up_to(4) {
            0 => vec![(id.clone(), None)],
            _ => self.sequence(vec![(id.clone(), None)], depth + 1),
        };
        let join = self.node("[[", "Join: x", "]]");
        self.lead(ends, &join);
        let mut config = json!({ "stepType": "join", "awaitStepId": id });
        self.judge(&mut config);
        self.configs.push((join.clone(), config));
        if self.chance.one_in(5) {
            let mend = self.work(vec![(join.clone(), Some("onError"))]);
            return vec![(join, None), mend];
        }
        vec![(join, None)]
    }

    fn judge(&mut self, config: &mut Value) {
        match self.chance.up_to(8) {
            0 => config["policy"] = json!("any"),
            1 => {
                config["policy"] = json!("quorum");
                config["minCount"] = json!(1 + self.chance.up_to(2));
            }
            2 | 3 => config["policy"] = json!("allTerminal"),
            4 => config["minSuccessPercent"] = json!(50),
            _ => {}
        }
        if self.chance.one_in(4) {
            config["timeout"] = json!("20s");
            config["onTimeout"] = self.on_timeout();
        }
        if self.chance.one_in(3) {
            config["prompt"] = json!("Sum up {{output.results}}");
        }
    }

    fn subflow(&mut self, ends: Vec<End>) -> End {
        let id = self.node("[[", "Run: x", "]]");
        self.lead(ends, &id);
        let child = self.chance.pick(&["child", "self"]);
        let mut config = json!({ "subflowId": child, "maxDepth": 2 });
        if self.chance.one_in(3) {
            config["retry"] = json!({ "attempts": 2, "delay": "2s", "on": ["any"] });
        }
        self.configs.push((id.clone(), config));
        (id, None)
    }
}
