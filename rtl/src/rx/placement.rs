//! Puts payload into host memory and tells when a message's bytes are all there.
//!
//! ```text
//!  place ──> commands ──> issue: a ring entry, a descriptor ──> write_desc
//!                           │
//!                           └─> frames: drop or write ─┐
//!  payload ─────────────────────────────────────────> steer ──> write_beat
//!
//!  write_status ──> ring of tags, retired in order ──> fence
//! ```
//!
//! A write's tag is its place in a ring; a fence takes a place of its own, or
//! that of the write it follows, and is reported when the ring's end reaches it,
//! so it follows every write before it whatever order the statuses come in. A
//! failed write leaves a mark on its context which that context's next fence
//! reports and removes: a message sends one such fence, behind its last write, so
//! the mark means "since it was opened". A fence with `more`, behind a chunk of a
//! host-recovered message, reports the mark and leaves it. A datagram is one write with its fence; it
//! has no context, sets no mark and reports none.
//!
//! Contract:
//! - one payload frame per command of kind 0, 1 and 3, in command order; a bare
//!   fence has none. A descriptor is taken before its first beat is offered;
//! - one beat per clock, also across frames, while descriptors are taken and
//!   fewer than `2^write_tags_log2` entries are open; first beat 4 clocks after
//!   its command at the earliest;
//! - a ring entry is retired every clock, one with a fence every other clock while
//!   fences are taken; `fence` is offered 2 clocks after the last status it waits
//!   for, 3 with a place of its own;
//! - `write_status` is taken in every clock. A status for a tag that has no
//!   write open is ignored;
//! - `dma_error` pulses one clock after a failed status;
//! - `issued` pulses the clock after a command of kind 0, 1 or 3 was carried
//!   out: the entry of a write is then in the ring;
//! - after reset the marks are cleared, one context per clock, until `ready`.
//!
//! Verified by `testbenches/tests/placement.rs`.

use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{Beat, DmaDescriptor, DmaStatus, PlaceCommand, PlaceFence};
use tessera_abi::params::Config;

/// What a ring entry stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RingEntry {
    pub fence: Bit,
    /// A datagram's: marks nothing, and its fence reports its own write.
    pub ud: Bit,
    pub context: Bits<12>,
    /// As in its command.
    pub area: Bit,
    pub chunk: Bit,
    pub more: Bit,
}

#[derive(LogicBlock)]
pub struct Placement {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub place_valid: Signal<In, Bit>,
    pub place_data: Signal<In, PlaceCommand>,
    pub place_ready: Signal<Out, Bit>,
    pub payload_valid: Signal<In, Bit>,
    pub payload_data: Signal<In, Beat>,
    pub payload_ready: Signal<Out, Bit>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_data: Signal<Out, DmaDescriptor>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_beat_valid: Signal<Out, Bit>,
    pub write_beat_data: Signal<Out, Beat>,
    pub write_beat_ready: Signal<In, Bit>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status: Signal<In, DmaStatus>,
    pub fence_valid: Signal<Out, Bit>,
    pub fence_data: Signal<Out, PlaceFence>,
    pub fence_ready: Signal<In, Bit>,
    /// For `fence`: a payload's command was carried out, and the ends of the ring.
    pub issued: Signal<Out, Bit>,
    pub ring_head: Signal<Out, Bits<7>>,
    pub ring_tail: Signal<Out, Bits<7>>,
    pub dma_error: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    commands: Fifo<PlaceCommand, 5>,
    /// 1 = write, 0 = drop.
    frames: Fifo<Bit, 5>,
    ring: SdpRam<RingEntry, 6>,
    marks: SdpRam<Bit, 12>,

    // Issue.
    descriptor: Dff<DmaDescriptor>,
    descriptor_valid: Dff<Bit>,
    head: Dff<Bits<7>>,
    tail: Dff<Bits<7>>,
    /// Writes without a status, by tag; then those that failed.
    open: Dff<Bits<64>>,
    failed: Dff<Bits<64>>,
    used: Signal<Local, Bits<7>>,
    room: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    is_write: Signal<Local, Bit>,
    is_fence: Signal<Local, Bit>,
    command: Signal<Local, PlaceCommand>,
    head_bit: Signal<Local, Bits<64>>,
    new_bit: Signal<Local, Bits<64>>,
    status_bit: Signal<Local, Bits<64>>,
    entry: Signal<Local, RingEntry>,

    // Steer: two beats, so that `payload_ready` depends on registers only.
    front: Dff<Beat>,
    front_valid: Dff<Bit>,
    back: Dff<Beat>,
    back_valid: Dff<Bit>,
    steer: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    front_leaves: Signal<Local, Bit>,
    frame_writes: Signal<Local, Bit>,

    // Retire: an entry on its way out of the ring, and the one at its end.
    read_at: Dff<Bits<7>>,
    coming: Dff<Bit>,
    retiring: Dff<RingEntry>,
    retiring_valid: Dff<Bit>,
    /// Its mark is newer than the one read.
    newer: Dff<Bit>,
    newer_mark: Dff<Bit>,
    fence: Dff<PlaceFence>,
    fence_full: Dff<Bit>,
    at_tail: Signal<Local, Bits<64>>,
    tail_bit: Signal<Local, Bits<64>>,
    tail_failed: Signal<Local, Bits<64>>,
    bad: Signal<Local, Bit>,
    mark: Signal<Local, Bit>,
    marking: Signal<Local, Bit>,
    /// A fence that takes its context's mark.
    ends: Signal<Local, Bit>,
    mark_of: Signal<Local, Bits<12>>,
    retire: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    broke: Dff<Bit>,
    has_issued: Dff<Bit>,
    clear_at: Dff<Bits<13>>,
    cleared: Dff<Bit>,

    one: Constant<Bits<64>>,
    none: Constant<Bits<64>>,
    tags: Constant<Bits<7>>,
    tag_mask: Constant<Bits<7>>,
    contexts: Constant<Bits<13>>,
    has_datagrams: Constant<Bit>,
}

impl Placement {
    /// Placement with `2^write_tags_log2` ring entries.
    ///
    /// # Panics
    /// When the configuration asks for more than 64 entries or 4096 contexts.
    pub fn new(config: &Config) -> Self {
        let (tags, contexts) = (config.write_tags_log2, config.rx_contexts_log2);
        assert!((1..=6).contains(&tags), "2^{tags} write tags: 2..=64 are supported");
        assert!((1..=12).contains(&contexts), "2^{contexts} receive contexts: 2..=4096 are supported");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            place_valid: Default::default(),
            place_data: Default::default(),
            place_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_data: Default::default(),
            write_desc_ready: Default::default(),
            write_beat_valid: Default::default(),
            write_beat_data: Default::default(),
            write_beat_ready: Default::default(),
            write_status_valid: Default::default(),
            write_status: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            issued: Default::default(),
            ring_head: Default::default(),
            ring_tail: Default::default(),
            dma_error: Default::default(),
            ready: Default::default(),
            commands: Fifo::new(5),
            frames: Fifo::new(5),
            ring: SdpRam::new(tags).with_style("distributed"),
            marks: SdpRam::new(contexts),
            descriptor: Default::default(),
            descriptor_valid: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            open: Default::default(),
            failed: Default::default(),
            used: Default::default(),
            room: Default::default(),
            issue: Default::default(),
            is_write: Default::default(),
            is_fence: Default::default(),
            command: Default::default(),
            head_bit: Default::default(),
            new_bit: Default::default(),
            status_bit: Default::default(),
            entry: Default::default(),
            front: Default::default(),
            front_valid: Default::default(),
            back: Default::default(),
            back_valid: Default::default(),
            steer: Default::default(),
            put: Default::default(),
            front_leaves: Default::default(),
            frame_writes: Default::default(),
            read_at: Default::default(),
            coming: Default::default(),
            retiring: Default::default(),
            retiring_valid: Default::default(),
            newer: Default::default(),
            newer_mark: Default::default(),
            fence: Default::default(),
            fence_full: Default::default(),
            at_tail: Default::default(),
            tail_bit: Default::default(),
            tail_failed: Default::default(),
            bad: Default::default(),
            mark: Default::default(),
            marking: Default::default(),
            ends: Default::default(),
            mark_of: Default::default(),
            retire: Default::default(),
            moves: Default::default(),
            broke: Default::default(),
            has_issued: Default::default(),
            clear_at: Default::default(),
            cleared: Default::default(),
            one: Constant::new(1u64.into()),
            none: Constant::new(0u64.into()),
            tags: Constant::new((1u64 << tags).into()),
            tag_mask: Constant::new(((1u64 << tags) - 1).into()),
            contexts: Constant::new((1u64 << contexts).into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

impl Logic for Placement {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            descriptor,
            descriptor_valid,
            head,
            tail,
            open,
            failed,
            front,
            front_valid,
            back,
            back_valid,
            read_at,
            coming,
            retiring,
            retiring_valid,
            newer,
            newer_mark,
            fence,
            fence_full,
            broke,
            has_issued,
            clear_at,
            cleared
        );
        self.commands.clk.next = self.clk.val();
        self.commands.rst.next = self.rst.val();
        self.frames.clk.next = self.clk.val();
        self.frames.rst.next = self.rst.val();
        self.ring.clock.next = self.clk.val();
        self.marks.clock.next = self.clk.val();
        self.ready.next = self.cleared.q.val();
        self.issued.next = self.has_issued.q.val();
        self.ring_head.next = self.head.q.val();
        self.ring_tail.next = self.tail.q.val();

        // Issue: entry, descriptor and steering of one command in one clock.
        self.commands.in_valid.next = self.place_valid.val();
        self.commands.in_data.next = self.place_data.val();
        self.place_ready.next = self.commands.in_ready.val();
        self.command.next = self.commands.out_data.val();
        self.is_write.next = self.command.val().kind.get_bit(0);
        self.is_fence.next = self.command.val().kind.get_bit(1);
        self.used.next = self.head.q.val() - self.tail.q.val();
        self.room.next = (self.used.val() != self.tags.val()) & self.frames.in_ready.val();
        self.issue.next = self.commands.out_valid.val()
            & self.cleared.q.val()
            & self.room.val()
            & !self.descriptor_valid.q.val();
        self.commands.out_ready.next = self.issue.val();
        // A bare fence has no payload.
        self.has_issued.d.next = self.issue.val() & (self.is_write.val() | !self.is_fence.val());

        self.descriptor.d.next.address = self.command.val().address;
        self.descriptor.d.next.length = self.command.val().length;
        self.descriptor.d.next.tag = bit_cast::<8, 7>(self.head.q.val() & self.tag_mask.val());
        if self.descriptor_valid.q.val() {
            self.descriptor.d.next = self.descriptor.q.val();
        }
        self.write_desc_valid.next = self.descriptor_valid.q.val();
        self.write_desc_data.next = self.descriptor.q.val();
        if self.write_desc_ready.val() {
            self.descriptor_valid.d.next = false;
        }
        if self.issue.val() & self.is_write.val() {
            self.descriptor_valid.d.next = true;
        }

        self.entry.next.fence = self.is_fence.val();
        self.entry.next.ud = self.command.val().ud;
        self.entry.next.context = self.command.val().context;
        self.entry.next.area = self.command.val().area;
        self.entry.next.chunk = self.command.val().chunk;
        self.entry.next.more = self.command.val().more;
        self.ring.write_enable.next = self.issue.val() & (self.is_write.val() | self.is_fence.val());
        self.ring.write_address.next = bit_cast::<6, 7>(self.head.q.val());
        self.ring.write_data.next = self.entry.val();
        if self.ring.write_enable.val() {
            self.head.d.next = self.head.q.val() + 1;
        }

        // The beats of a write follow its descriptor, hence the frame is noted
        // when the descriptor leaves; a dropped frame waits for nothing. One
        // descriptor is open at a time, so the two cannot meet.
        self.frames.in_valid.next = false;
        self.frames.in_data.next = false;
        if self.descriptor_valid.q.val() & self.write_desc_ready.val() {
            self.frames.in_valid.next = true;
            self.frames.in_data.next = true;
        }
        if self.issue.val() & !self.is_write.val() & !self.is_fence.val() {
            self.frames.in_valid.next = true;
        }

        // Statuses, by tag.
        self.head_bit.next = self.none.val();
        self.new_bit.next = self.none.val();
        if self.issue.val() & (self.is_write.val() | self.is_fence.val()) {
            self.head_bit.next = self.one.val() << (self.head.q.val() & self.tag_mask.val());
        }
        if self.is_write.val() {
            self.new_bit.next = self.head_bit.val();
        }
        self.status_bit.next = self.none.val();
        if self.write_status_valid.val() {
            self.status_bit.next = self.one.val() << self.write_status.val().tag;
        }
        self.open.d.next = (self.open.q.val() & !self.status_bit.val()) | self.new_bit.val();
        self.failed.d.next = self.failed.q.val() & !self.head_bit.val();
        self.broke.d.next = false;
        if self.write_status_valid.val() & self.write_status.val().error {
            self.broke.d.next = (self.open.q.val() & self.status_bit.val()) != self.none.val();
            self.failed.d.next =
                (self.failed.q.val() & !self.head_bit.val()) | (self.open.q.val() & self.status_bit.val());
        }
        self.dma_error.next = self.broke.q.val();

        // Steer.
        self.frame_writes.next = self.frames.out_data.val();
        self.payload_ready.next =
            self.frames.out_valid.val() & (!self.frame_writes.val() | !self.back_valid.q.val());
        self.steer.next = self.payload_valid.val() & self.payload_ready.val();
        self.frames.out_ready.next = self.steer.val() & self.payload_data.val().tlast;
        self.put.next = self.steer.val() & self.frame_writes.val();
        self.front_leaves.next = self.front_valid.q.val() & self.write_beat_ready.val();
        self.write_beat_valid.next = self.front_valid.q.val();
        self.write_beat_data.next = self.front.q.val();
        if self.front_leaves.val() | !self.front_valid.q.val() {
            if self.back_valid.q.val() {
                self.front.d.next = self.back.q.val();
                self.front_valid.d.next = true;
                self.back_valid.d.next = false;
            } else {
                self.front.d.next = self.payload_data.val();
                self.front_valid.d.next = self.put.val();
            }
        } else {
            if self.put.val() {
                self.back.d.next = self.payload_data.val();
                self.back_valid.d.next = true;
            }
        }

        // Retire, in order. Entry and mark are read ahead of the status.
        self.tail_bit.next = self.one.val() << (self.tail.q.val() & self.tag_mask.val());
        self.at_tail.next = self.open.q.val() & self.tail_bit.val();
        self.tail_failed.next = self.failed.q.val() & self.tail_bit.val();
        self.bad.next = self.tail_failed.val() != self.none.val();
        self.retire.next = self.retiring_valid.q.val()
            & (self.at_tail.val() == self.none.val())
            & (!self.retiring.q.val().fence | !self.fence_full.q.val());
        self.moves.next = self.coming.q.val() & (!self.retiring_valid.q.val() | self.retire.val());

        self.ring.read_address.next = bit_cast::<6, 7>(self.read_at.q.val());
        if self.moves.val() | !self.coming.q.val() {
            self.coming.d.next = self.read_at.q.val() != self.head.q.val();
            if self.read_at.q.val() != self.head.q.val() {
                self.read_at.d.next = self.read_at.q.val() + 1;
            }
        } else {
            // What has come stays.
            self.ring.read_address.next = bit_cast::<6, 7>(self.read_at.q.val() - 1);
        }

        self.mark_of.next = self.retiring.q.val().context;
        if self.moves.val() {
            self.retiring.d.next = self.ring.read_data.val();
            self.retiring.d.next.ud = self.has_datagrams.val() & self.ring.read_data.val().ud;
            self.mark_of.next = self.ring.read_data.val().context;
        }
        self.marks.read_address.next = self.mark_of.val();
        self.mark.next = self.marks.read_data.val();
        if self.newer.q.val() {
            self.mark.next = self.newer_mark.q.val();
        }
        self.ends.next = self.retiring.q.val().fence & !self.retiring.q.val().more;
        self.marking.next =
            self.retire.val() & !self.retiring.q.val().ud & (self.ends.val() | self.bad.val());
        self.marks.write_enable.next = self.marking.val();
        self.marks.write_address.next = self.retiring.q.val().context;
        self.marks.write_data.next = !self.ends.val();
        // A mark written in this clock is not read by it.
        self.newer.d.next = self.marking.val() & (self.mark_of.val() == self.retiring.q.val().context);
        self.newer_mark.d.next = !self.ends.val();

        self.fence_valid.next = self.fence_full.q.val();
        self.fence_data.next = self.fence.q.val();
        if self.fence_ready.val() {
            self.fence_full.d.next = false;
        }
        if self.retire.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.retiring_valid.d.next = false;
            if self.retiring.q.val().fence {
                self.fence_full.d.next = true;
                self.fence.d.next.context = self.retiring.q.val().context;
                self.fence.d.next.ud = self.retiring.q.val().ud;
                self.fence.d.next.area = self.retiring.q.val().area;
                self.fence.d.next.chunk = self.retiring.q.val().chunk;
                self.fence.d.next.more = self.retiring.q.val().more;
                self.fence.d.next.error = (self.mark.val() & !self.retiring.q.val().ud) | self.bad.val();
            }
        }
        if self.moves.val() {
            self.retiring_valid.d.next = true;
        }

        if !self.cleared.q.val() {
            self.marks.write_enable.next = true;
            self.marks.write_address.next = bit_cast::<12, 13>(self.clear_at.q.val());
            self.marks.write_data.next = false;
            self.clear_at.d.next = self.clear_at.q.val() + 1;
            self.cleared.d.next = (self.clear_at.q.val() + 1) == self.contexts.val();
        }

        if self.rst.val() {
            self.descriptor_valid.d.next = false;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.open.d.next = self.none.val();
            self.front_valid.d.next = false;
            self.back_valid.d.next = false;
            self.read_at.d.next = 0.into();
            self.coming.d.next = false;
            self.retiring_valid.d.next = false;
            self.newer.d.next = false;
            self.fence_full.d.next = false;
            self.broke.d.next = false;
            self.has_issued.d.next = false;
            self.clear_at.d.next = 0.into();
            self.cleared.d.next = false;
        }
    }
}
