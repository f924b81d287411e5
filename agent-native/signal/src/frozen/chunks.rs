//! The walk itself: over the chunks of one virtual thread, under guard.

use super::{Kinds, Walked};
use crate::chunk::{self, Stack};
use crate::code::{self, Kind};
use crate::layout::{Collector, Layout};
use crate::load::Loads;
use crate::methods::{self, Position};
use crate::truncation::Truncation;
use crate::walk::CallFrame;

/// Java frames of one walk at most.
const FRAMES: usize = 16_384;
/// Words of a frame's return address and saved frame pointer (`frame::metadata_words`).
const METADATA: u64 = 16;

/// Offsets from an interpreted frame's frame pointer, in words (`frame_x86.hpp`).
mod interpreted {
    pub const SENDER_SP: i64 = -1;
    pub const METHOD: i64 = -3;
    pub const LOCALS: i64 = -7;
    pub const BCP: i64 = -8;
}

/// One walk.
pub(super) struct Walk<'a> {
    pub(super) loads: Loads,
    pub(super) layout: &'a Layout,
    pub(super) frames: &'a mut [CallFrame],
    pub(super) found: usize,
    /// Method of the last frame.
    pub(super) last: u64,
    pub(super) kinds: Kinds,
    pub(super) callee: u64,
}

impl Walk<'_> {
    pub(super) fn run(
        &mut self,
        java_thread: u64,
        entry: u64,
        owner: Option<u64>,
        root: u64,
    ) -> Result<Walked, Truncation> {
        let (loads, layout) = (self.loads, self.layout);
        let before = self.phase()?;
        let continuation = chunk::continuation(loads, layout, java_thread, entry)?;
        let chain = self.chain(continuation, owner, |walk, stack| {
            let before = walk.found;
            walk.stack(stack)?;
            if before > 0 && walk.found > before {
                walk.kinds.add(Kinds::LINKED);
            }
            Ok(())
        })?;
        // A collector that moves objects beside running threads lets go of where they were once every thread
        // has stopped: one in Java code does not, but one in a call into the VM counts as stopped. Unless the
        // whole chain still lies where it lay, what was read may have been something else by then.
        let state: i32 = loads.at(java_thread.wrapping_add(layout.thread_state));
        if layout.collector != Collector::Stopping
            && state != layout.in_java
            && (chunk::continuation(loads, layout, java_thread, entry)? != continuation
                || self.chain(continuation, owner, |_, _| Ok(()))? != chain)
        {
            return Err(Truncation::Collecting);
        }
        if self.phase()? != before {
            return Err(Truncation::Collecting);
        }
        if self.found == 0 {
            // Nothing was ever frozen, or all of it has come back.
            return Err(Truncation::InTransit);
        }
        if self.last != root {
            return Err(Truncation::RootNotReached);
        }
        Ok(Walked {
            written: self.found.min(self.frames.len()),
            found: self.found,
            kinds: self.kinds,
            callee: self.callee,
        })
    }

    /// Whether there is an entry at that place. What a collection has moved meanwhile is no answer.
    pub(super) fn has_entry(&self, java_thread: u64, entry: u64) -> Result<bool, Truncation> {
        let before = self.phase()?;
        let is_there = chunk::has_entry(self.loads, self.layout, java_thread, entry);
        if self.phase()? != before {
            return Err(Truncation::Collecting);
        }
        Ok(is_there)
    }

    /// Gives each chunk of the continuation to `visit`, youngest first; a number that tells chains apart by
    /// where their chunks lie and what of them is in use.
    fn chain(
        &mut self,
        continuation: u64,
        owner: Option<u64>,
        mut visit: impl FnMut(&mut Self, Stack) -> Result<(), Truncation>,
    ) -> Result<u64, Truncation> {
        /// The multiplier of the FNV-1a hash.
        const PRIME: u64 = 0x0000_0100_0000_01B3;
        let (loads, layout) = (self.loads, self.layout);
        let mut sum = continuation;
        let mut next = chunk::reference(loads, layout, continuation.wrapping_add(layout.tail))?;
        for _ in 0..chunk::CHUNKS {
            if next == 0 {
                return Ok(sum);
            }
            let stack = chunk::stack(loads, layout, next, continuation, owner)?;
            for part in [stack.base, stack.sp, stack.end] {
                sum = (sum ^ part).wrapping_mul(PRIME);
            }
            visit(self, stack)?;
            next = chunk::reference(loads, layout, next.wrapping_add(layout.parent))?;
        }
        Err(Truncation::RootNotReached)
    }

    pub(super) fn candidates(&self, java_thread: u64, entry: u64) -> Result<u64, Truncation> {
        let (loads, layout) = (self.loads, self.layout);
        let before = self.phase()?;
        let continuation = chunk::continuation(loads, layout, java_thread, entry)?;
        let chunk = chunk::reference(loads, layout, continuation.wrapping_add(layout.tail))?;
        if chunk == 0 {
            return Err(Truncation::InTransit);
        }
        chunk::stack(loads, layout, chunk, continuation, None)?;
        let mut candidates = 0;
        // Behind the mark and the class word; a reference is as wide as its alignment.
        let step = if layout.narrow_oops.is_some() { 4 } else { 8 };
        for offset in (8..layout.stack_base.min(256)).step_by(step) {
            let is_whole = offset + step as u64 <= layout.stack_base;
            // Not followed to where it may have moved: most of these are no references.
            if is_whole
                && chunk::stored(loads, layout, chunk.wrapping_add(offset)) == Ok(continuation)
            {
                candidates |= 1 << (offset / 4);
            }
        }
        if self.phase()? != before {
            return Err(Truncation::Collecting);
        }
        Ok(candidates)
    }

    /// What tells one moment of the collector from another, when the threads are not stopped for it: how many
    /// collections there were, and which colours are good. Colours alone come back after a few collections.
    fn phase(&self) -> Result<(u32, u64, u64), Truncation> {
        let (loads, layout) = (self.loads, self.layout);
        if loads.at::<u8>(layout.heap.wrapping_add(layout.gc_active)) != 0 {
            return Err(Truncation::Collecting);
        }
        let collections = loads.at(layout.heap.wrapping_add(layout.collections));
        let (bad, shift) = match layout.collector {
            Collector::Colouring { bad, shift } => (loads.at(bad), loads.at(shift)),
            _ => (0, 0),
        };
        Ok((collections, bad, shift))
    }

    fn push(&mut self, method: u64, position: Position) -> Result<(), Truncation> {
        let frame = methods::frame(self.loads, self.layout, method, position)?;
        if self.found >= FRAMES {
            return Err(Truncation::Malformed);
        }
        if let Some(place) = self.frames.get_mut(self.found) {
            *place = frame;
        }
        self.found += 1;
        self.last = frame.method;
        Ok(())
    }

    /// Id of the compiled method that the instruction before `returns_to` calls; 0 for none, or another way to call.
    fn callee_at(&self, returns_to: u64) -> u64 {
        let (loads, layout) = (self.loads, self.layout);
        code::called(loads, layout, returns_to)
            .ok()
            .filter(|blob| blob.kind == Kind::Compiled)
            .and_then(|blob| {
                let method = blob.method(loads, layout);
                methods::frame(loads, layout, method, Position::Index(0)).ok()
            })
            .map_or(0, |frame| frame.method)
    }

    /// The frames of one chunk (`StackChunkFrameStream`, stackChunkFrameStream.inline.hpp).
    fn stack(&mut self, stack: Stack) -> Result<(), Truncation> {
        let loads = self.loads;
        // Both stack pointers differ where an interpreted frame has extended its caller's.
        let (mut sp, mut usp) = (stack.sp, stack.sp);
        while sp < stack.end {
            let pc: u64 = loads.at(sp.wrapping_sub(8));
            let (low, high) = self.layout.interpreter;
            let (next, next_usp) = if (low..high).contains(&pc) {
                self.interpreted(stack, sp)?
            } else {
                let blob = code::find(loads, self.layout, pc)?;
                match blob.kind {
                    Kind::Compiled => {
                        let returns_to = pc;
                        let pc = blob.real_pc(loads, self.layout, pc, usp);
                        self.kinds.add(if pc == returns_to {
                            Kinds::COMPILED
                        } else {
                            Kinds::DEOPTIMISED
                        });
                        if self.found == 0 {
                            self.callee = self.callee_at(pc);
                        }
                        let mut scopes = blob.scopes(loads, self.layout, pc)?;
                        while let Some((method, bci)) = scopes.next(loads)? {
                            self.push(method, Position::Index(bci))?;
                        }
                    }
                    Kind::Native => {
                        self.kinds.add(Kinds::NATIVE);
                        let method = blob.method(loads, self.layout);
                        self.push(method, Position::Index(-3))?;
                    }
                    Kind::Stub => self.kinds.add(Kinds::STUB),
                }
                let next = usp.wrapping_add(blob.frame);
                let next = if next.wrapping_add(METADATA) >= stack.end {
                    stack.end
                } else {
                    next
                };
                (next, next)
            };
            // Upwards only, so this ends; inside the chunk, so nothing else is read.
            if next <= sp || next > stack.end || next_usp < stack.base || next_usp > stack.end {
                return Err(Truncation::Malformed);
            }
            (sp, usp) = (next, next_usp);
        }
        Ok(())
    }

    /// An interpreted frame: its caller's stack pointers. Pointers into the frame are kept relative to its
    /// frame pointer, and that one relative to where it is kept.
    fn interpreted(&mut self, stack: Stack, sp: u64) -> Result<(u64, u64), Truncation> {
        let loads = self.loads;
        let word = |from: u64, words: i64| from.wrapping_add_signed(words.wrapping_mul(8));
        let kept = sp.wrapping_sub(METADATA);
        let fp = word(kept, loads.at::<i64>(kept));
        if fp < sp || fp >= stack.end {
            return Err(Truncation::Malformed);
        }
        let method: u64 = loads.at(word(fp, interpreted::METHOD));
        let bytecode: u64 = loads.at(word(fp, interpreted::BCP));
        let locals: i64 = loads.at(word(fp, interpreted::LOCALS));
        self.kinds.add(Kinds::INTERPRETED);
        self.push(method, Position::Pointer(bytecode))?;
        if word(fp, locals.wrapping_add(1)) >= stack.end {
            return Ok((stack.end, stack.end));
        }
        let next = fp.wrapping_add(METADATA);
        let usp = word(fp, loads.at::<i64>(word(fp, interpreted::SENDER_SP)));
        Ok((next, usp))
    }
}
