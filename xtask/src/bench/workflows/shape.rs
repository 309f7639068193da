//! The three shapes every engine is measured with, and how much of each.

/// Runs of a chain that are under way at a time, in every engine.
pub(super) const CONCURRENCY: usize = 8;
/// Items of a fan-out that are under way at a time, in every engine that has a limit.
pub(super) const ITEMS_CONCURRENCY: usize = 256;
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
}

impl Job {
    pub(super) fn runs(self) -> usize {
        match self.shape {
            Shape::Chain => self.count,
            Shape::FanOut | Shape::Loop => 1,
        }
    }

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
    /// The number of rounds; each figure of each contender is their median.
    pub(super) rounds: usize,
}

impl Jobs {
    pub(super) const FULL: Self = Self::of([200, 1_000, 10_000, 100], 3);

    /// A tenth of it and less, once, to see whether everything works.
    pub(super) const QUICK: Self = Self::of([20, 100, 300, 50], 1);

    const fn of([chain, few, many, round]: [usize; 4], rounds: usize) -> Self {
        const fn job(shape: Shape, count: usize) -> Job {
            Job { shape, count }
        }
        Self {
            chain: job(Shape::Chain, chain),
            few: job(Shape::FanOut, few),
            many: job(Shape::FanOut, many),
            round: job(Shape::Loop, round),
            rounds,
        }
    }

    pub(super) fn all(self) -> [Job; 4] {
        [self.chain, self.few, self.many, self.round]
    }
}
