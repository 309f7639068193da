//! The three shapes every engine is measured with, and how much of each.

/// Runs of a chain that are under way at a time, in every engine.
pub(super) const CONCURRENCY: usize = 8;
pub(super) const CHAIN_STEPS: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Runs of ten steps, one after the other.
    Chain,
    /// One run with a foreach over the items and a join.
    FanOut,
    /// One run that goes round: task, decision, back.
    Loop,
}

impl Shape {
    /// As the programs of the peers and the floor know it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::FanOut => "fan-out",
            Self::Loop => "loop",
        }
    }
}

/// One shape in one size: `count` runs, items or rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) shape: Shape,
    pub(super) count: usize,
    /// Each figure is the median of so many.
    pub(super) rounds: usize,
}

impl Job {
    pub(super) fn steps(self) -> usize {
        match self.shape {
            Shape::Chain => self.count * CHAIN_STEPS,
            Shape::FanOut | Shape::Loop => self.count,
        }
    }

    pub(super) fn name(self) -> String {
        match self.shape {
            Shape::Chain => format!("chain {} × {CHAIN_STEPS}", self.count),
            Shape::FanOut => format!("fan-out {}", self.count),
            Shape::Loop => format!("loop {}", self.count),
        }
    }
}

/// The jobs of a measurement, in the order of the table's columns.
#[derive(Clone, Copy)]
pub(super) struct Jobs {
    pub(super) chain: Job,
    pub(super) few: Job,
    pub(super) many: Job,
    pub(super) round: Job,
}

impl Jobs {
    pub(super) const FULL: Self = Self {
        chain: Job {
            shape: Shape::Chain,
            count: 200,
            rounds: 3,
        },
        few: Job {
            shape: Shape::FanOut,
            count: 1_000,
            rounds: 3,
        },
        many: Job {
            shape: Shape::FanOut,
            count: 10_000,
            rounds: 1,
        },
        round: Job {
            shape: Shape::Loop,
            count: 100,
            rounds: 3,
        },
    };

    /// A tenth of it and less, once, to see whether everything works.
    pub(super) const QUICK: Self = Self {
        chain: Job {
            count: 20,
            rounds: 1,
            ..Self::FULL.chain
        },
        few: Job {
            count: 100,
            rounds: 1,
            ..Self::FULL.few
        },
        many: Job {
            count: 300,
            ..Self::FULL.many
        },
        round: Job {
            count: 50,
            rounds: 1,
            ..Self::FULL.round
        },
    };

    pub(super) fn all(self) -> [Job; 4] {
        [self.chain, self.few, self.many, self.round]
    }
}
