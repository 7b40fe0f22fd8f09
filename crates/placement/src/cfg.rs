//! The shape of a function: order, dominators, natural loops, where each variable is defined.

use crate::ir::{BlockId, Function, Point, Terminator, Var};

/// A natural loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) header: BlockId,
    /// Sources of the back edges.
    pub(crate) latches: Vec<BlockId>,
    /// Indexed by block.
    pub(crate) contains: Vec<bool>,
}

/// Everything about control flow that the passes ask for.
#[derive(Clone, Debug)]
pub(crate) struct Cfg {
    pub(crate) preds: Vec<Vec<BlockId>>,
    pub(crate) succs: Vec<Vec<BlockId>>,
    /// Reverse postorder; unreachable blocks are left out.
    pub(crate) order: Vec<BlockId>,
    /// Position in `order`; `usize::MAX` if unreachable.
    pub(crate) number: Vec<usize>,
    idom: Vec<Option<BlockId>>,
    /// Depth in the dominator tree.
    depth: Vec<u32>,
    /// Outer loops before inner ones.
    pub(crate) loops: Vec<Loop>,
    /// The loop whose header the block is.
    pub(crate) loop_of_header: Vec<Option<usize>>,
    /// Where each variable comes into being: after this point. Phis and parameters: `None` index.
    def: Vec<Option<(BlockId, Option<usize>)>>,
    /// A way back to a block that does not dominate where it comes from: the blocks that have one. Every cycle goes through one of them, or is a
    /// natural loop.
    irregular: Vec<bool>,
}

impl Cfg {
    pub(crate) fn new(f: &Function) -> Cfg {
        let n = f.blocks.len();
        let order = reverse_postorder(f);
        let mut number = vec![usize::MAX; n];
        for (i, b) in order.iter().enumerate() {
            number[b.index()] = i;
        }
        let mut preds = vec![Vec::new(); n];
        let succs: Vec<Vec<BlockId>> = f.blocks.iter().map(|b| b.term.successors()).collect();
        for &p in &order {
            for &s in &succs[p.index()] {
                if !preds[s.index()].contains(&p) {
                    preds[s.index()].push(p);
                }
            }
        }
        let idom = dominators(&order, &number, &preds);
        let mut depth = vec![0; n];
        for b in order.iter().skip(1) {
            if let Some(d) = idom[b.index()] {
                depth[b.index()] = depth[d.index()] + 1;
            }
        }
        let mut cfg = Cfg {
            preds,
            succs,
            order,
            number,
            idom,
            depth,
            loops: Vec::new(),
            loop_of_header: vec![None; n],
            def: definitions(f),
            irregular: vec![false; n],
        };
        cfg.find_loops(f);
        cfg
    }

    fn find_loops(&mut self, f: &Function) {
        for i in 0..self.order.len() {
            let header = self.order[i];
            let mut latches = Vec::new();
            for &p in &self.preds[header.index()] {
                if self.number[p.index()] >= i {
                    if self.dominates(header, p) {
                        latches.push(p);
                    } else {
                        self.irregular[header.index()] = true;
                    }
                }
            }
            if latches.is_empty() {
                continue;
            }
            let mut contains = vec![false; f.blocks.len()];
            contains[header.index()] = true;
            let mut todo = latches.clone();
            while let Some(b) = todo.pop() {
                if !std::mem::replace(&mut contains[b.index()], true) {
                    todo.extend(self.preds[b.index()].iter().copied());
                }
            }
            self.loop_of_header[header.index()] = Some(self.loops.len());
            self.loops.push(Loop {
                header,
                latches,
                contains,
            });
        }
    }

    /// Is the function made of natural loops only?
    pub(crate) fn is_reducible(&self) -> bool {
        !self.irregular.contains(&true)
    }

    /// Does a cycle that is no natural loop come back to `b`? Nothing is carried into such a block.
    pub(crate) fn is_irregular(&self, b: BlockId) -> bool {
        self.irregular[b.index()]
    }

    /// Is the edge a way back in a cycle that is no natural loop?
    pub(crate) fn is_irregular_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.irregular[to.index()]
            && self.number[from.index()] >= self.number[to.index()]
            && !self.dominates(to, from)
    }

    pub(crate) fn idom(&self, b: BlockId) -> Option<BlockId> {
        self.idom[b.index()]
    }

    /// Every path from the entry to `b` passes `a`.
    pub(crate) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let mut b = b;
        while self.depth[b.index()] > self.depth[a.index()] {
            match self.idom[b.index()] {
                Some(d) => b = d,
                None => return false,
            }
        }
        a == b
    }

    /// Does `x` have its value at `point`?
    pub(crate) fn in_scope(&self, x: Var, point: Point) -> bool {
        match self.def.get(x.index()).copied().flatten() {
            None => false,
            Some((block, index)) if block == point.block => index.is_none_or(|i| i < point.index),
            Some((block, _)) => self.dominates(block, point.block),
        }
    }

    /// Does `x` have its value when `block` begins, its phis done?
    pub(crate) fn in_scope_at(&self, x: Var, block: BlockId) -> bool {
        self.in_scope(x, Point { block, index: 0 })
    }

    /// The block that defines `x`.
    pub(crate) fn def_block(&self, x: Var) -> Option<BlockId> {
        self.def.get(x.index()).copied().flatten().map(|d| d.0)
    }

    /// Is the edge a back edge?
    pub(crate) fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.loop_of_header[to.index()].is_some_and(|l| self.loops[l].latches.contains(&from))
    }
}

fn reverse_postorder(f: &Function) -> Vec<BlockId> {
    let mut seen = vec![false; f.blocks.len()];
    let mut post = Vec::new();
    let entry = BlockId(0);
    if f.blocks.is_empty() {
        return post;
    }
    seen[0] = true;
    let mut stack = vec![(entry, f.blocks[0].term.successors(), 0usize)];
    while let Some((b, successors, next)) = stack.last_mut() {
        match successors.get(*next).copied() {
            Some(s) => {
                *next += 1;
                if !std::mem::replace(&mut seen[s.index()], true) {
                    stack.push((s, f.blocks[s.index()].term.successors(), 0));
                }
            }
            None => {
                post.push(*b);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}

/// Cooper, Harvey and Kennedy's iteration.
fn dominators(order: &[BlockId], number: &[usize], preds: &[Vec<BlockId>]) -> Vec<Option<BlockId>> {
    let mut idom: Vec<Option<BlockId>> = vec![None; preds.len()];
    let Some(&entry) = order.first() else {
        return idom;
    };
    idom[entry.index()] = Some(entry);
    let mut changed = true;
    while changed {
        changed = false;
        for &b in &order[1..] {
            let mut new: Option<BlockId> = None;
            for &p in &preds[b.index()] {
                if idom[p.index()].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(mut q) => {
                        let mut p = p;
                        while p != q {
                            while number[p.index()] > number[q.index()] {
                                p = idom[p.index()].unwrap_or(entry);
                            }
                            while number[q.index()] > number[p.index()] {
                                q = idom[q.index()].unwrap_or(entry);
                            }
                        }
                        p
                    }
                });
            }
            if idom[b.index()] != new {
                idom[b.index()] = new;
                changed = true;
            }
        }
    }
    idom[entry.index()] = None;
    idom
}

fn definitions(f: &Function) -> Vec<Option<(BlockId, Option<usize>)>> {
    let mut def = vec![None; f.vars.len()];
    for &p in &f.params {
        def[p.index()] = Some((BlockId(0), None));
    }
    for b in f.block_ids() {
        let block = &f.blocks[b.index()];
        for phi in &block.phis {
            def[phi.dst.index()] = Some((b, None));
        }
        for (i, instr) in block.instrs.iter().enumerate() {
            if let Some(x) = instr.defines() {
                def[x.index()] = Some((b, Some(i)));
            }
        }
        if let Terminator::Invoke { call, normal, .. } = &block.term
            && let Some(x) = call.dst
        {
            // The result exists only after a return; `normal` has no other predecessor, or the
            // edge has been split.
            def[x.index()] = Some((*normal, None));
        }
    }
    def
}
