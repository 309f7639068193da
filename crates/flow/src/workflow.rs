//! A workflow: the steps and edges of a diagram's text, with all references between them resolved.

use std::collections::{HashMap, HashSet};

use expr::NameReference;
use mermaid::DiagramDocument;
use serde_json::Value;

use crate::block;
use crate::branch_map::BranchMap;
use crate::branches;
use crate::config::{ExecutionMode, RetryPolicy, StepConfig, StepHandler, StepType, TimeSpan};
use crate::config_source::{self, ConfigSourceMap};
use crate::edges;
use crate::engine::FailureClass;
use crate::error::{Error, WorkflowProblem, WorkflowProblemCode};
use crate::id::{StepId, TextHash};
use crate::input;
use crate::limits::ConcurrencyLimit;
use crate::line_span::{LineSpan, LineStarts};
use crate::reads;
use crate::scopes;
use crate::step;
use crate::triggers::{self, WorkflowTrigger};

/// Limits the steps of a workflow.
pub const STEPS_MAX: usize = 2_000;
/// Limits the visits of a step in one run, or in one item of a foreach, by default.
pub(crate) const VISITS_DEFAULT: u32 = 25;
/// Limits the items of a foreach by default; a step may set up to [`ITEMS_MAX`].
pub(crate) const ITEMS_DEFAULT: u32 = 100;
pub const ITEMS_MAX: u32 = 10_000;
/// Limits the items of a foreach in progress at a time, by default.
pub(crate) const CONCURRENCY_DEFAULT: u32 = 10;
/// Limits the nesting of child runs by default; a subflow step may set up to [`DEPTH_MAX`].
pub const DEPTH_DEFAULT: u32 = 5;
pub const DEPTH_MAX: u32 = 20;

/// A workflow, read from its text.
#[derive(Clone, Debug)]
pub struct Workflow {
    document: DiagramDocument,
    hash: TextHash,
    name: Option<String>,
    pub(crate) steps: Vec<WorkflowStep>,
    pub(crate) edges: Vec<WorkflowEdge>,
    index: HashMap<StepId, usize>,
    outgoing: Vec<Vec<usize>>,
    pub(crate) starts: Vec<StepId>,
    /// For every join of branches: the steps that can reach it.
    upstream: HashMap<StepId, HashSet<StepId>>,
    branches: BranchMap,
    pub(crate) input_schema: Option<Value>,
    pub(crate) concurrency: Option<ConcurrencyLimit>,
    pub(crate) triggers: Vec<WorkflowTrigger>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowStep {
    pub id: StepId,
    pub name: String,
    pub step_type: StepType,
    pub execution: ExecutionMode,
    pub config: StepConfig,
    /// The first place where its node is written.
    pub spot: LineSpan,
    /// Its config, where it has one.
    pub(crate) written: Option<ConfigSourceMap>,
    /// The foreach steps around it, the outermost first.
    pub scope: Vec<StepId>,
    /// For a foreach: the join that ends it.
    pub join: Option<StepId>,
    /// For a join: the foreach it ends. A join without one joins branches.
    pub awaits: Option<StepId>,
    /// The values that it reads when it is executed.
    pub reads: Vec<NameReference>,
    /// The variables of the items around it, the innermost first, where the step is told about
    /// them.
    pub item_variables: Vec<String>,
}

/// An edge from one step to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowEdge {
    pub from: StepId,
    pub to: StepId,
    pub when: EdgeCondition,
    pub label: String,
    /// The place of its label, or of the link itself.
    pub spot: LineSpan,
    /// The position of the label's text, if it reads exactly as it is written.
    pub(crate) text: Option<LineSpan>,
}

/// The condition under which an edge is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EdgeCondition {
    Always,
    /// This expression is true, and no condition of an earlier edge of the decision is.
    Condition(String),
    /// No condition of the decision is true.
    Default,
    /// Every attempt failed.
    OnError,
}

/// Parses a workflow.
///
/// # Errors
///
/// Every problem that makes the text ambiguous; [`crate::check`] finds the problems of a workflow
/// that is clear.
pub fn parse(source: &str) -> Result<Workflow, Error> {
    let document = mermaid::parse(source).map_err(|error| Error::of_diagram(&error))?;
    let mut blocks = block::read(&document);
    let mut problems = std::mem::take(&mut blocks.problems);
    let nodes = document.diagram().nodes.len();
    if nodes > STEPS_MAX {
        let message = format!("The diagram has {nodes} steps, more than STEPS_MAX = {STEPS_MAX}.");
        problems.push(WorkflowProblem::error(
            WorkflowProblemCode::Limit,
            LineSpan::BEGIN,
            message,
        ));
        return Err(Error::new(problems));
    }
    let input_schema = input::schema(&document, &blocks, &mut problems);
    let concurrency = triggers::concurrency(&document, &blocks, &mut problems);
    let triggers = triggers::read(&document, &blocks, &mut problems);
    let configs = config_source::configs(&document, &blocks, &mut problems);
    let mut steps = steps(&document, configs, &mut problems);
    let index: HashMap<StepId, usize> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| (step.id.clone(), at))
        .collect();
    let drawn = edges::drawn(&document, &index, &mut problems);
    // Later checks would only report the same problems again.
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
        concurrency,
        triggers,
    })
}

impl Workflow {
    /// Returns the text, as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        self.document.source()
    }

    #[must_use]
    pub fn document(&self) -> &DiagramDocument {
        &self.document
    }

    /// Returns the hash that a run pins.
    #[must_use]
    pub fn hash(&self) -> &TextHash {
        &self.hash
    }

    /// Returns the title in the front matter.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the steps, in the order of their first mention.
    #[must_use]
    pub fn steps(&self) -> &[WorkflowStep] {
        &self.steps
    }

    /// Returns the edges, in the order of the text.
    #[must_use]
    pub fn edges(&self) -> &[WorkflowEdge] {
        &self.edges
    }

    /// Returns the steps a run begins with: those without an incoming edge, or the first one.
    #[must_use]
    pub fn starts(&self) -> &[StepId] {
        &self.starts
    }

    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&WorkflowStep> {
        self.index.get(id).and_then(|at| self.steps.get(*at))
    }

    /// Returns the edges that leave a step, in the order of the text.
    pub fn outgoing(&self, id: &StepId) -> impl Iterator<Item = &WorkflowEdge> {
        let edges = self.index.get(id).and_then(|at| self.outgoing.get(*at));
        edges
            .into_iter()
            .flatten()
            .filter_map(|at| self.edges.get(*at))
    }

    /// Tells whether a path at one step can still reach a join of branches.
    #[must_use]
    pub(crate) fn leads_to(&self, from: &StepId, join: &StepId) -> bool {
        self.upstream
            .get(join)
            .is_some_and(|steps| steps.contains(from))
    }

    /// Returns the position of a step when the diagram is read branch by branch, in the order of
    /// the edges.
    #[must_use]
    pub(crate) fn branch_rank(&self, step: &StepId) -> usize {
        self.branches.rank(step)
    }

    /// Returns the join of branches at which a failed step counts as a failed branch: the innermost
    /// one, if its policy tolerates failures.
    #[must_use]
    pub(crate) fn tolerant_join(&self, step: &StepId) -> Option<&StepId> {
        self.branches.tolerant_join(step)
    }

    /// Tells whether there are joins of branches under this scope.
    #[must_use]
    pub(crate) fn joins_branches(&self, depth: usize) -> bool {
        self.upstream
            .keys()
            .filter_map(|join| self.step(join))
            .any(|join| join.scope.len() == depth)
    }

    /// Returns the workflow with another config for one step. Only that step's lines of the config
    /// block change; a block is added if there is no block yet.
    ///
    /// # Errors
    ///
    /// When the new text is not a valid workflow.
    pub fn with_config(&self, step: &StepId, json: Option<&str>) -> Result<Workflow, Error> {
        let edit = block::edit(&self.document, step.as_str(), json);
        let edited = self.document.edited(&[edit]);
        let edited = edited.map_err(|error| Error::of_diagram(&error))?;
        parse(edited.source())
    }

    /// Returns the workflow with another config for one step, given as a value and laid out by us.
    ///
    /// # Errors
    ///
    /// When the new text is not a valid workflow.
    pub fn with_config_value(&self, step: &StepId, config: &Value) -> Result<Workflow, Error> {
        self.with_config(step, Some(&block::laid_out(config)))
    }
}

impl WorkflowStep {
    /// Tells whether the step has work for a person or a worker. A foreach or a join may have none.
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

    /// Returns the place where a setting is named, as `retry.attempts`; its node if it has no
    /// config.
    pub(crate) fn key(&self, path: &str) -> LineSpan {
        (self.written.as_ref()).map_or(self.spot, |written| written.key(path))
    }

    /// Returns the place where the value of a setting begins.
    pub(crate) fn value(&self, path: &str) -> LineSpan {
        (self.written.as_ref()).map_or(self.spot, |written| written.value(path))
    }

    /// Returns the place of a part of a setting that is a text.
    pub(crate) fn inside(&self, path: &str, start: usize, end: usize) -> LineSpan {
        let written = self.written.as_ref();
        written.map_or(self.spot, |written| written.inside(path, start, end))
    }

    /// Returns the place of the first setting that a message quotes.
    pub(crate) fn quoted(&self, message: &str) -> LineSpan {
        let written = self.written.as_ref();
        let quoted = written.and_then(|written| written.named_in(message));
        quoted.unwrap_or_else(|| self.key(""))
    }

    #[must_use]
    pub fn handler(&self) -> StepHandler {
        self.config.handler.unwrap_or_default()
    }

    #[must_use]
    pub fn retry(&self) -> RetryPolicy {
        self.config.retry.unwrap_or_default()
    }

    /// Tells whether a failure of this class is followed by another attempt, if one is left.
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

    /// Returns the duration of a wait, from its config or its label.
    #[must_use]
    pub fn wait_for(&self) -> Option<TimeSpan> {
        let config = &self.config;
        let is_told = config.until.is_some() || config.signal.is_some();
        let labelled = || TimeSpan::read(&self.name).filter(|_| !is_told);
        config.wait_for.or_else(labelled)
    }

    /// Returns the name of the current item in expressions.
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

    /// Returns the name of the workflow that a subflow runs.
    #[must_use]
    pub fn subflow(&self) -> &str {
        self.config.subflow_id.as_deref().unwrap_or(&self.name)
    }
}

fn steps(
    document: &DiagramDocument,
    mut configs: HashMap<String, (StepConfig, ConfigSourceMap)>,
    problems: &mut Vec<WorkflowProblem>,
) -> Vec<WorkflowStep> {
    let diagram = document.diagram();
    let lines = LineStarts::of(document.source());
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
            None => (StepConfig::default(), None),
        };
        let kind = step::kind(node, &config, |key| match &written {
            Some(written) => written.key(key),
            None => spot,
        });
        match kind {
            Ok(kind) => steps.push(WorkflowStep {
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
        problems.push(WorkflowProblem::error(
            WorkflowProblemCode::Diagram,
            LineSpan::BEGIN,
            "The diagram has no steps.",
        ));
    }
    steps
}

fn starts(steps: &[WorkflowStep], edges: &[WorkflowEdge]) -> Vec<StepId> {
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

fn upstream(steps: &[WorkflowStep], edges: &[WorkflowEdge]) -> HashMap<StepId, HashSet<StepId>> {
    let joins = steps
        .iter()
        .filter(|step| step.step_type == StepType::Join && step.awaits.is_none());
    joins
        .map(|join| (join.id.clone(), reaching(&join.id, edges)))
        .collect()
}

/// Returns the steps that can reach a step.
pub(crate) fn reaching(target: &StepId, edges: &[WorkflowEdge]) -> HashSet<StepId> {
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

fn title(document: &DiagramDocument) -> Option<String> {
    let body = &document.front_matter()?.body;
    let line = body.lines().find_map(|line| line.strip_prefix("title:"))?;
    let title = line.trim().trim_matches(['"', '\'']);
    (!title.is_empty()).then(|| title.to_owned())
}
