//! Resolves names when a template is compiled: to a variable's frame and slot, or to the state.

/// A variable's position in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub(crate) u16);

impl Slot {
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The meaning of a name at some point of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResolvedName {
    /// A variable `hops` frames up.
    Variable { hops: u16, slot: Slot },
    /// A variable that was declared in a block that has ended: an error when it is read.
    Ended,
    /// A property of the state.
    State,
}

/// The names visible while a template is compiled: a stack of frames, each a stack of blocks.
///
/// A *frame* exists at run time (a template, a partial, a function, an iteration that needs its
/// own variables); a *block* only limits how long a name is visible.
#[derive(Clone, Debug)]
pub struct NameScope {
    frames: Vec<FrameScope>,
}

#[derive(Clone, Debug, Default)]
struct FrameScope {
    variables: Vec<ScopeVariable>,
    /// Number of visible variables at the beginning of each open block.
    blocks: Vec<usize>,
    slots: u16,
}

#[derive(Clone, Debug)]
struct ScopeVariable {
    name: String,
    slot: Slot,
    ended: bool,
}

impl Default for NameScope {
    fn default() -> Self {
        Self::new()
    }
}

impl NameScope {
    pub fn new() -> Self {
        Self {
            frames: vec![FrameScope::default()],
        }
    }

    /// Opens a frame; its variables live in a [`crate::Frame::child`] at run time.
    pub fn push_frame(&mut self) {
        self.frames.push(FrameScope::default());
    }

    /// Closes the innermost frame and says how many slots it needs.
    pub fn pop_frame(&mut self) -> usize {
        self.frames
            .pop()
            .map_or(0, |frame| usize::from(frame.slots))
    }

    pub fn push_block(&mut self) {
        let frame = self.innermost();
        frame.blocks.push(frame.variables.len());
    }

    /// Ends a block: its names are forgotten, and mean state again.
    pub fn pop_block(&mut self) {
        let frame = self.innermost();
        if let Some(len) = frame.blocks.pop() {
            frame.variables.truncate(len);
        }
    }

    /// Ends a block the way Edge's `@if` does: its names stay known, and reading one is an error.
    pub fn pop_block_keeping_names(&mut self) {
        let frame = self.innermost();
        if let Some(len) = frame.blocks.pop() {
            for variable in &mut frame.variables[len..] {
                variable.ended = true;
            }
        }
    }

    pub fn declare(&mut self, name: &str) -> Slot {
        let frame = self.innermost();
        let slot = Slot(frame.slots);
        frame.slots = frame.slots.saturating_add(1);
        frame.variables.push(ScopeVariable {
            name: name.to_owned(),
            slot,
            ended: false,
        });
        slot
    }

    /// Returns the number of slots the outermost frame needs.
    pub fn slots(&self) -> usize {
        self.frames
            .first()
            .map_or(0, |frame| usize::from(frame.slots))
    }

    /// Returns every visible variable and its slot, outermost first: with a partial's path, the key
    /// of its compiled form.
    pub fn signature(&self) -> String {
        let mut signature = String::new();
        for frame in &self.frames {
            for variable in &frame.variables {
                let mark = if variable.ended { '-' } else { '=' };
                signature.push_str(&format!("{}{mark}{},", variable.name, variable.slot.0));
            }
            signature.push(';');
        }
        signature
    }

    pub(crate) fn resolve(&self, name: &str) -> ResolvedName {
        for (hops, frame) in self.frames.iter().rev().enumerate() {
            if let Some(variable) = frame
                .variables
                .iter()
                .rev()
                .find(|known| known.name == name)
            {
                if variable.ended {
                    return ResolvedName::Ended;
                }
                let hops = u16::try_from(hops).unwrap_or(u16::MAX);
                return ResolvedName::Variable {
                    hops,
                    slot: variable.slot,
                };
            }
        }
        ResolvedName::State
    }

    fn innermost(&mut self) -> &mut FrameScope {
        if self.frames.is_empty() {
            self.frames.push(FrameScope::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}
