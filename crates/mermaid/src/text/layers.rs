//! Assigns nodes to layers, and orders each layer.

use std::collections::HashMap;

use crate::arrow::LineStroke;
use crate::diagram::Diagram;

/// Number of passes that improve the order of the layers.
const SWEEPS: usize = 6;

/// One place of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerItem {
    Node(usize),
    /// A line passing through on its way to a later layer.
    Bend,
}

/// A line from an item to one of the next layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerSegment {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The edge, where the line reaches its node.
    pub(super) arrives: Option<usize>,
}

pub(super) struct GraphLayers {
    /// Items by number; a layer lists numbers.
    pub(super) items: Vec<LayerItem>,
    pub(super) rows: Vec<Vec<usize>>,
    /// The lines below each layer.
    pub(super) segments: Vec<Vec<LayerSegment>>,
    /// Edges that lead back or to their own node.
    pub(super) back: Vec<usize>,
}

impl GraphLayers {
    pub(super) fn new(diagram: &Diagram) -> Self {
        let index: HashMap<&str, usize> = diagram
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.id.as_str(), at))
            .collect();
        let edges: Vec<(usize, usize, usize)> = diagram
            .edges
            .iter()
            .enumerate()
            .filter(|(_, edge)| edge.arrow.stroke != LineStroke::Invisible)
            .filter_map(|(at, edge)| {
                Some((
                    at,
                    *index.get(edge.from.as_str())?,
                    *index.get(edge.to.as_str())?,
                ))
            })
            .collect();
        let back = back_edges(diagram.nodes.len(), &edges);
        let forward: Vec<_> = edges
            .into_iter()
            .filter(|edge| !back.contains(&edge.0))
            .collect();
        let ranks = ranks(diagram.nodes.len(), &forward);
        let mut layers = GraphLayers {
            items: (0..diagram.nodes.len()).map(LayerItem::Node).collect(),
            rows: vec![Vec::new(); ranks.iter().max().map_or(0, |rank| rank + 1)],
            segments: Vec::new(),
            back,
        };
        layers.segments = vec![Vec::new(); layers.rows.len()];
        for (node, rank) in ranks.iter().enumerate() {
            layers.rows[*rank].push(node);
        }
        for (edge, from, to) in forward {
            layers.join(edge, from, to, &ranks);
        }
        for sweep in 0..SWEEPS {
            layers.sweep(sweep % 2 == 0);
        }
        layers
    }

    fn join(&mut self, edge: usize, from: usize, to: usize, ranks: &[usize]) {
        let mut last = from;
        for rank in ranks[from]..ranks[to] {
            let arrives = rank + 1 == ranks[to];
            let next = if arrives {
                to
            } else {
                self.items.push(LayerItem::Bend);
                self.rows[rank + 1].push(self.items.len() - 1);
                self.items.len() - 1
            };
            self.segments[rank].push(LayerSegment {
                from: last,
                to: next,
                arrives: arrives.then_some(edge),
            });
            last = next;
        }
    }

    /// Orders each layer by the positions of its neighbours in the one before it.
    fn sweep(&mut self, down: bool) {
        let count = self.rows.len();
        let order: Vec<usize> = if down {
            (1..count).collect()
        } else {
            (0..count.max(1) - 1).rev().collect()
        };
        for row in order {
            let (near, lines) = if down {
                (row - 1, row - 1)
            } else {
                (row + 1, row)
            };
            let Some(beside) = self.rows.get(near) else {
                continue;
            };
            let place: HashMap<usize, usize> = beside
                .iter()
                .enumerate()
                .map(|(at, item)| (*item, at))
                .collect();
            let mut sums: HashMap<usize, (usize, usize)> = HashMap::new();
            for segment in &self.segments[lines] {
                let (here, there) = if down {
                    (segment.to, segment.from)
                } else {
                    (segment.from, segment.to)
                };
                let sum = sums.entry(here).or_default();
                sum.0 += place.get(&there).copied().unwrap_or(0) * 1000;
                sum.1 += 1;
            }
            let items = self.rows[row].iter().enumerate();
            let mut keyed: Vec<(usize, usize)> = items
                .map(|(at, item)| match sums.get(item) {
                    Some((sum, count)) => (sum / count, *item),
                    None => (at * 1000, *item),
                })
                .collect();
            keyed.sort_by_key(|(key, _)| *key);
            self.rows[row] = keyed.into_iter().map(|(_, item)| item).collect();
        }
    }
}

/// Returns the edges that close a cycle when the nodes are walked in their order.
fn back_edges(nodes: usize, edges: &[(usize, usize, usize)]) -> Vec<usize> {
    let mut out: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
    for (edge, from, to) in edges {
        out[*from].push((*edge, *to));
    }
    // 0: not met, 1: on the way, 2: done.
    let mut state = vec![0_u8; nodes];
    let mut back = Vec::new();
    for start in 0..nodes {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some((edge, to)) = out[*node].get(*next).copied() else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => back.push(edge),
                _ => {}
            }
        }
    }
    back
}

/// Returns the rank of each node: one more than the farthest node before it.
fn ranks(nodes: usize, edges: &[(usize, usize, usize)]) -> Vec<usize> {
    let mut ranks = vec![0; nodes];
    let mut waiting = vec![0_usize; nodes];
    for (_, _, to) in edges {
        waiting[*to] += 1;
    }
    let mut ready: Vec<usize> = (0..nodes).filter(|node| waiting[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for (_, from, to) in edges {
            if *from == node {
                ranks[*to] = ranks[*to].max(ranks[node] + 1);
                waiting[*to] -= 1;
                if waiting[*to] == 0 {
                    ready.push(*to);
                }
            }
        }
    }
    ranks
}
