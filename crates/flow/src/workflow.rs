//! A workflow: the steps and edges a diagram's text says, with everything resolved that can be.

use std::collections::{HashMap, HashSet};

use expr::Reference;
use mermaid::Document;
use serde_json::Value;

use crate::block;
use crate::branch_map::BranchMap;
use crate::branches;
use crate::config::{Config, Duration, Execution, Handler, Retry, StepType};
use crate::context::{CONTEXT_TOKENS_DEFAULT, CONTEXT_TOKENS_MAX};
use crate::drawn;
use crate::engine::FailureClass;
use crate::error::{Code, Error, Problem};
use crate::id::{StepId, TextHash};
use crate::input;
use crate::reads;
use crate::scopes;
use crate::spot::{Lines, Spot};
use crate::step;
use crate::written::{self, Written};

/// How many steps a workflow may have.
pub const STEPS_MAX: usize = 2_000;
/// How often a step may be visited in one run, or in one item of a foreach, unless it says else.
pub const VISITS_DEFAULT: u32 = 25;
/// How many items a foreach may have unless it says else, and however it says it.
pub const ITEMS_DEFAULT: u32 = 100;
pub const ITEMS_MAX: u32 = 10_000;
/// How many items of a foreach are under way at a time, unless it says else.
pub const CONCURRENCY_DEFAULT: u32 = 10;
/// How many runs may stand above a run, unless its subflow step says else, and however it says it.
pub const DEPTH_DEFAULT: u32 = 5;
pub const DEPTH_MAX: u32 = 20;

/// A workflow, read from its text.
#[derive(Clone, Debug)]
pub struct Workflow {
    document: Document,
    hash: TextHash,
    name: Option<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) edges: Vec<Edge>,
    index: HashMap<StepId, usize>,
    outgoing: Vec<Vec<usize>>,
    pub(crate) starts: Vec<StepId>,
    /// For every join of branches: the steps from which it can be reached.
    upstream: HashMap<StepId, HashSet<StepId>>,
    branches: BranchMap,
    pub(crate) input_schema: Option<Value>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub id: StepId,
    pub name: String,
    pub step_type: StepType,
    pub execution: Execution,
    pub config: Config,
    /// Where its node is written first.
    pub spot: Spot,
    /// Its config, where it has one.
    pub(crate) written: Option<Written>,
    /// The foreach steps it stands in, the outermost first.
    pub scope: Vec<StepId>,
    /// For a foreach: the join that ends it.
    pub join: Option<StepId>,
    /// For a join: the foreach it ends. A join without one joins branches.
    pub awaits: Option<StepId>,
    /// What it reads when it is worked on.
    pub reads: Vec<Reference>,
    /// What the items around it are called, the innermost first, where it is told about them.
    pub item_variables: Vec<String>,
}

/// A way from one step to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: StepId,
    pub to: StepId,
    pub when: When,
    pub label: String,
    /// Where its label is written, or the link itself.
    pub spot: Spot,
    /// The same where the label is written as it reads.
    pub(crate) text: Option<Spot>,
}

/// When an edge is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// When this expression is true and none of an earlier edge of the decision is.
    Condition(String),
    /// When no condition of the decision is true.
    Default,
    /// When every attempt failed.
    OnError,
}

/// Reads a workflow.
///
/// # Errors
///
/// Every problem that leaves open what the text means: see [`crate::check`] for what can be wrong
/// with a workflow that is clear.
pub fn parse(source: &str) -> Result<Workflow, Error> {
    let document = mermaid::parse(source).map_err(|error| Error::of_diagram(&error))?;
    let mut blocks = block::read(&document);
    let mut problems = std::mem::take(&mut blocks.problems);
    let nodes = document.diagram().nodes.len();
    if nodes > STEPS_MAX {
        let message = format!("The diagram has {nodes} steps, more than STEPS_MAX = {STEPS_MAX}.");
        problems.push(Problem::error(Code::Limit, Spot::BEGIN, message));
        return Err(Error::new(problems));
    }
    let input_schema = input::schema(&document, &blocks, &mut problems);
    let configs = written::configs(&document, &blocks, &mut problems);
    let mut steps = steps(&document, configs, &mut problems);
    let index: HashMap<StepId, usize> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| (step.id.clone(), at))
        .collect();
    let drawn = drawn::drawn(&document, &index, &mut problems);
    // What follows would only report the same again.
    if !problems.is_empty() {
        return Err(Error::new(problems));
    }
    let edges = branches::resolve(&steps, drawn, &mut problems);
    let starts = starts(&steps, &edges);
    scopes::resolve(&mut steps, &edges, &starts, &mut problems);
    if !problems.is_empty() {
        return Err(Error::new(problems));
    }
    reads::add_items(&mut steps);
    let mut outgoing = vec![Vec::new(); steps.len()];
    for (at, edge) in edges.iter().enumerate() {
        if let Some(from) = index
            .get(&edge.from)
            .and_then(|from| outgoing.get_mut(*from))
        {
            from.push(at);
        }
    }
    let upstream = upstream(&steps, &edges);
    let branches = BranchMap::of(&steps, &edges, &starts);
    Ok(Workflow {
        hash: TextHash::of(source),
        name: title(&document),
        document,
        steps,
        edges,
        index,
        outgoing,
        starts,
        upstream,
        branches,
        input_schema,
    })
}

impl Workflow {
    /// The text, as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        self.document.source()
    }

    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What a run pins.
    #[must_use]
    pub fn hash(&self) -> &TextHash {
        &self.hash
    }

    /// The title in the front matter.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// In the order they are first mentioned.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// In the order they are written.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The steps a run begins with: those no edge leads to, or the first one.
    #[must_use]
    pub fn starts(&self) -> &[StepId] {
        &self.starts
    }

    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.index.get(id).and_then(|at| self.steps.get(*at))
    }

    /// The edges that leave a step, in the order they are written.
    pub fn outgoing(&self, id: &StepId) -> impl Iterator<Item = &Edge> {
        let edges = self.index.get(id).and_then(|at| self.outgoing.get(*at));
        edges
            .into_iter()
            .flatten()
            .filter_map(|at| self.edges.get(*at))
    }

    /// Whether a path at one step may still come to a join of branches.
    #[must_use]
    pub(crate) fn leads_to(&self, from: &StepId, join: &StepId) -> bool {
        self.upstream
            .get(join)
            .is_some_and(|steps| steps.contains(from))
    }

    /// The place of a step when the diagram is read branch by branch, in the order in which the
    /// edges are written.
    #[must_use]
    pub(crate) fn branch_rank(&self, step: &StepId) -> usize {
        self.branches.rank(step)
    }

    /// The join of branches at which a step that has failed counts as a failed branch: the innermost
    /// one, if its policy tolerates failures.
    #[must_use]
    pub(crate) fn tolerant_join(&self, step: &StepId) -> Option<&StepId> {
        self.branches.tolerant_join(step)
    }

    /// Whether there are joins of branches under this scope.
    #[must_use]
    pub(crate) fn joins_branches(&self, depth: usize) -> bool {
        self.upstream
            .keys()
            .filter_map(|join| self.step(join))
            .any(|join| join.scope.len() == depth)
    }

    /// The workflow with another config for one step. Only that step's lines of the config block
    /// change; a block is added where there is none.
    ///
    /// # Errors
    ///
    /// When the new text is no workflow.
    pub fn with_config(&self, step: &StepId, json: Option<&str>) -> Result<Workflow, Error> {
        let edit = block::edit(&self.document, step.as_str(), json);
        let edited = self.document.edited(&[edit]);
        let edited = edited.map_err(|error| Error::of_diagram(&error))?;
        parse(edited.source())
    }

    /// The same with a config as a value, laid out by us.
    ///
    /// # Errors
    ///
    /// When the new text is no workflow.
    pub fn with_config_value(&self, step: &StepId, config: &Value) -> Result<Workflow, Error> {
        self.with_config(step, Some(&block::laid_out(config)))
    }
}

impl Step {
    /// Whether somebody has something to do at it. A foreach and a join may be nothing but that.
    #[must_use]
    pub fn has_work(&self) -> bool {
        match self.step_type {
            StepType::Task => true,
            StepType::Foreach | StepType::Join => {
                self.config.prompt.is_some() || self.config.handler.is_some()
            }
            StepType::Decision | StepType::Subflow | StepType::Wait => false,
        }
    }

    /// Where a setting is named, as `retry.attempts`; its node where it has no config.
    pub(crate) fn key(&self, path: &str) -> Spot {
        (self.written.as_ref()).map_or(self.spot, |written| written.key(path))
    }

    /// Where the value of a setting begins.
    pub(crate) fn value(&self, path: &str) -> Spot {
        (self.written.as_ref()).map_or(self.spot, |written| written.value(path))
    }

    /// Where a part of a setting that is a text stands.
    pub(crate) fn inside(&self, path: &str, start: usize, end: usize) -> Spot {
        let written = self.written.as_ref();
        written.map_or(self.spot, |written| written.inside(path, start, end))
    }

    /// Where the first setting stands that a message quotes.
    pub(crate) fn quoted(&self, message: &str) -> Spot {
        let written = self.written.as_ref();
        let quoted = written.and_then(|written| written.named_in(message));
        quoted.unwrap_or_else(|| self.key(""))
    }

    #[must_use]
    pub fn handler(&self) -> Handler {
        self.config.handler.unwrap_or_default()
    }

    #[must_use]
    pub fn retry(&self) -> Retry {
        self.config.retry.unwrap_or_default()
    }

    /// Whether an attempt that failed like this is followed by another, if one is left.
    #[must_use]
    pub fn retries(&self, class: FailureClass) -> bool {
        match &self.config.retry {
            Some(retry) => retry.on.contains(class),
            None => class.is_retryable(),
        }
    }

    #[must_use]
    pub fn visits_max(&self) -> u32 {
        self.config.max_visits.unwrap_or(VISITS_DEFAULT)
    }

    #[must_use]
    pub fn items_max(&self) -> u32 {
        self.config
            .max_items
            .unwrap_or(ITEMS_DEFAULT)
            .min(ITEMS_MAX)
    }

    #[must_use]
    pub fn concurrency(&self) -> u32 {
        self.config
            .max_concurrency
            .unwrap_or(CONCURRENCY_DEFAULT)
            .max(1)
    }

    /// How long a wait takes: what its config says, or its label.
    #[must_use]
    pub fn wait_for(&self) -> Option<Duration> {
        let config = &self.config;
        let is_told = config.until.is_some() || config.signal.is_some();
        let labelled = || Duration::read(&self.name).filter(|_| !is_told);
        config.wait_for.or_else(labelled)
    }

    /// How many tokens of earlier results it is shown.
    #[must_use]
    pub fn context_tokens(&self) -> u32 {
        let tokens = self.config.context_tokens_max;
        tokens
            .unwrap_or(CONTEXT_TOKENS_DEFAULT)
            .min(CONTEXT_TOKENS_MAX)
    }

    /// The name of the current item in expressions.
    #[must_use]
    pub fn item_variable(&self) -> &str {
        self.config.item_variable.as_deref().unwrap_or("item")
    }

    #[must_use]
    pub fn depth_max(&self) -> u32 {
        self.config
            .max_depth
            .unwrap_or(DEPTH_DEFAULT)
            .min(DEPTH_MAX)
    }

    /// The workflow a subflow runs.
    #[must_use]
    pub fn subflow(&self) -> &str {
        self.config.subflow_id.as_deref().unwrap_or(&self.name)
    }
}

fn steps(
    document: &Document,
    mut configs: HashMap<String, (Config, Written)>,
    problems: &mut Vec<Problem>,
) -> Vec<Step> {
    let diagram = document.diagram();
    let lines = Lines::of(document.source());
    let mut steps = Vec::with_capacity(diagram.nodes.len());
    for node in &diagram.nodes {
        if diagram
            .subgraphs
            .iter()
            .any(|subgraph| subgraph.id == node.id)
        {
            continue;
        }
        let written_at = document.node_span(&node.id);
        let spot = lines.spot(written_at.unwrap_or_default());
        let (config, written) = match configs.remove(&node.id) {
            Some((config, written)) => (config, Some(written)),
            None => (Config::default(), None),
        };
        let kind = step::kind(node, &config, |key| match &written {
            Some(written) => written.key(key),
            None => spot,
        });
        match kind {
            Ok(kind) => steps.push(Step {
                id: StepId::new(node.id.as_str()),
                name: kind.name,
                step_type: kind.step_type,
                execution: kind.execution,
                reads: reads::of(&config),
                config,
                spot,
                written,
                scope: Vec::new(),
                join: None,
                awaits: None,
                item_variables: Vec::new(),
            }),
            Err(problem) => problems.push(problem),
        }
    }
    if diagram.nodes.is_empty() {
        problems.push(Problem::error(
            Code::Diagram,
            Spot::BEGIN,
            "The diagram has no steps.",
        ));
    }
    steps
}

fn starts(steps: &[Step], edges: &[Edge]) -> Vec<StepId> {
    let led_to: HashSet<&StepId> = edges
        .iter()
        .filter(|edge| edge.from != edge.to)
        .map(|edge| &edge.to)
        .collect();
    let roots = steps.iter().filter(|step| !led_to.contains(&step.id));
    let roots: Vec<StepId> = roots.map(|step| step.id.clone()).collect();
    match roots.is_empty() {
        true => steps
            .first()
            .map(|step| step.id.clone())
            .into_iter()
            .collect(),
        false => roots,
    }
}

fn upstream(steps: &[Step], edges: &[Edge]) -> HashMap<StepId, HashSet<StepId>> {
    let joins = steps
        .iter()
        .filter(|step| step.step_type == StepType::Join && step.awaits.is_none());
    joins
        .map(|join| (join.id.clone(), reaching(&join.id, edges)))
        .collect()
}

/// The steps from which a step can be reached.
pub(crate) fn reaching(target: &StepId, edges: &[Edge]) -> HashSet<StepId> {
    let mut into: HashMap<&StepId, Vec<&StepId>> = HashMap::new();
    for edge in edges {
        into.entry(&edge.to).or_default().push(&edge.from);
    }
    let mut found = HashSet::new();
    let mut open = vec![target];
    while let Some(step) = open.pop() {
        for from in into.get(step).into_iter().flatten() {
            if found.insert((*from).clone()) {
                open.push(from);
            }
        }
    }
    found
}

fn title(document: &Document) -> Option<String> {
    let body = &document.front_matter()?.body;
    let line = body.lines().find_map(|line| line.strip_prefix("title:"))?;
    let title = line.trim().trim_matches(['"', '\'']);
    (!title.is_empty()).then(|| title.to_owned())
}
