//! All stacks of a document as one tree: a node is a frame and the frames it was called through.

use std::collections::HashMap;

use vtprof_profile::model::{Profile, Sample};

use super::texts::{TextId, Texts};
use crate::text::{NO_STACK, printable, shortened};

/// A node; 0 is the root, which is no frame.
pub type NodeId = u32;
/// A function.
pub type FrameId = u32;

/// A function as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub name: TextId,
    pub file: TextId,
}

#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub parent: NodeId,
    pub frame: FrameId,
}

/// See the module.
#[derive(Debug)]
pub struct Stacks {
    frames: Vec<Frame>,
    /// By name and file as the inputs have them: what is cut for display is not the same for that.
    known_frames: HashMap<(String, String), FrameId>,
    nodes: Vec<Node>,
    children: HashMap<(NodeId, FrameId), NodeId>,
}

/// The nodes in the order in which they are written.
pub struct Ordered {
    /// Each after its parent, children by their names.
    pub nodes: Vec<Node>,
    /// New number of each node.
    pub number: Vec<NodeId>,
}

/// Finds the nodes of one profile's samples.
pub struct Walker<'a> {
    profile: &'a Profile,
    frame_of: Vec<Option<FrameId>>,
    node_of: HashMap<&'a [vtprof_profile::model::LocationIndex], NodeId>,
    stack: Vec<FrameId>,
}

impl Stacks {
    /// No stack.
    pub fn new() -> Self {
        Stacks {
            frames: Vec::new(),
            known_frames: HashMap::new(),
            nodes: vec![Node {
                parent: 0,
                frame: 0,
            }],
            children: HashMap::new(),
        }
    }

    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    fn frame(&mut self, name: &str, file: &str, texts: &mut Texts) -> FrameId {
        if let Some(&known) = self.known_frames.get(&(name.to_owned(), file.to_owned())) {
            return known;
        }
        let id = self.frames.len() as FrameId;
        let mut shown = |text: &str| texts.add(&printable(&shortened(text)));
        self.frames.push(Frame {
            name: shown(name),
            file: shown(file),
        });
        let key = (name.to_owned(), file.to_owned());
        self.known_frames.insert(key, id);
        id
    }

    fn child(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        let next = self.nodes.len() as NodeId;
        let node = *self.children.entry((parent, frame)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, frame });
        }
        node
    }

    /// Numbers the nodes anew.
    pub fn ordered(&self, texts: &Texts) -> Ordered {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (id, node) in (1..).zip(&self.nodes[1..]) {
            children[node.parent as usize].push(id);
        }
        let name = |id: &NodeId| {
            let frame = self.frames[self.nodes[*id as usize].frame as usize];
            (texts.get(frame.name), texts.get(frame.file))
        };
        let mut ordered = Ordered {
            nodes: Vec::with_capacity(self.nodes.len()),
            number: vec![0; self.nodes.len()],
        };
        let mut open = vec![0];
        while let Some(id) = open.pop() {
            ordered.number[id as usize] = ordered.nodes.len() as NodeId;
            let node = self.nodes[id as usize];
            ordered.nodes.push(Node {
                parent: ordered.number[node.parent as usize],
                frame: node.frame,
            });
            let mut next = std::mem::take(&mut children[id as usize]);
            next.sort_by(|a, b| name(b).cmp(&name(a)));
            open.append(&mut next);
        }
        ordered
    }
}

impl<'a> Walker<'a> {
    pub fn new(profile: &'a Profile) -> Self {
        Walker {
            profile,
            frame_of: vec![None; profile.functions.len()],
            node_of: HashMap::new(),
            stack: Vec::new(),
        }
    }

    /// The node of a sample's leaf.
    pub fn leaf(&mut self, sample: &Sample<'a>, stacks: &mut Stacks, texts: &mut Texts) -> NodeId {
        if let Some(&known) = self.node_of.get(sample.stack) {
            return known;
        }
        self.stack.clear();
        for frame in self.profile.frames(sample) {
            let known = &mut self.frame_of[frame.function.as_usize()];
            let id = *known.get_or_insert_with(|| {
                let function = self.profile.functions.get(frame.function);
                let text = |index| self.profile.strings.get(index);
                stacks.frame(text(function.name), text(function.file), texts)
            });
            self.stack.push(id);
        }
        if self.stack.is_empty() {
            self.stack.push(stacks.frame(NO_STACK, "", texts));
        }
        let frames = self.stack.iter().rev();
        let leaf = frames.fold(0, |node, frame| stacks.child(node, *frame));
        self.node_of.insert(sample.stack, leaf);
        leaf
    }
}
