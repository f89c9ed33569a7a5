//! Headers, fences and bits, clock by clock; the picture is the module's.

use super::{ChunkStep, Chunks};
use crate::prelude::*;

impl Logic for Chunks {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, may_leave, choice, compared, is_message, is_block);
        dff_setup!(self, clk, dirty, open, heads, behind, step, word, serves, levels, base, offset);
        dff_setup!(self, clk, told, told_valid, desc, desc_valid, beat, beat_valid, held, crowds, broke);
        self.words.clock.next = self.clk.val();
        self.pending.clk.next = self.clk.val();
        self.pending.rst.next = self.rst.val();
        self.pending.in_valid.next = self.recovers.val() & self.chunk_valid.val();
        self.pending.in_data.next = self.chunk_data.val();
        self.chunk_ready.next = self.pending.in_ready.val();
        self.asides.clk.next = self.clk.val();
        self.asides.rst.next = self.rst.val();
        self.ends.clk.next = self.clk.val();
        self.ends.rst.next = self.rst.val();
        self.fence.next = self.placed_data.val();
        self.fence.next.area = self.recovers.val() & self.placed_data.val().area;
        self.fence.next.chunk = self.recovers.val() & self.placed_data.val().chunk;
        self.opens.next = self.header_data.val();

        // Places.
        self.busy.next = self.dirty.q.val() | self.open.q.val();
        self.free.next = !self.busy.val();
        self.first_free.next = self.free.val() & (self.busy.val() + 1);
        self.status_bit.next = 0.into();
        if self.write_status_valid.val() {
            self.status_bit.next = self.one.val() << self.write_status_data.val().tag.get_bits::<3>(0);
        }
        self.done.next = self.status_bit.val() & !self.dirty.q.val();
        // A fence is compared in the clock before it is taken.
        self.equal_message.next = 0.into();
        self.equal_block.next = 0.into();
        self.oldest.next = self.asides.out_data.val();
        self.drained.next = true;
        for i in 0..8 {
            if self.busy.val().get_bit(i) & (self.contexts[i].q.val() == self.oldest.val().context) {
                self.drained.next = false;
            }
            if self.contexts[i].q.val() == self.fence.val().context {
                self.equal_message.next = self.equal_message.val().replace_bit(i, true);
                if !self.heads.q.val().get_bit(i) & (self.blocks[i].q.val() == self.told.q.val().block) {
                    self.equal_block.next = self.equal_block.val().replace_bit(i, true);
                }
            }
        }
        self.is_message.d.next = self.equal_message.val();
        self.is_block.d.next = self.equal_block.val();
        self.of_message.next = self.is_message.q.val() & self.busy.val();
        self.of_block.next = self.is_block.q.val() & self.busy.val();

        // A header takes a place.
        self.header_ready.next = self.free.val().any();
        self.announces.next = self.recovers.val() & self.header_valid.val() & self.free.val().any();

        // Fences: one of a chunk takes its bits on, the last one of a message goes aside.
        self.writes.next = self.fence.val().chunk & !self.fence.val().error;
        self.may_begin.next = self.compared.q.val()
            & !self.header_valid.val()
            & (!self.writes.val() | self.of_block.val().any() | self.free.val().any());
        self.may_end.next = self.fence.val().more | self.asides.in_ready.val();
        self.takes.next =
            self.placed_valid.val() & self.fence.val().area & self.may_begin.val() & self.may_end.val();
        self.begins.next = self.takes.val() & self.writes.val();
        // A place that changes hands is another message's.
        self.compared.d.next = self.placed_valid.val()
            & self.fence.val().area
            & (!self.fence.val().chunk | self.told_valid.q.val())
            & !self.header_valid.val()
            & !self.takes.val();
        self.spends.next = self.takes.val() & self.fence.val().chunk;
        // In a register: what comes out of the memory is late for the comparisons.
        self.pending.out_ready.next = !self.told_valid.q.val() | self.spends.val();
        if self.spends.val() {
            self.told_valid.d.next = false;
        }
        if self.pending.out_ready.val() {
            self.told_valid.d.next = self.recovers.val() & self.pending.out_valid.val();
            self.told.d.next = self.pending.out_data.val();
        }
        self.asides.in_valid.next = self.takes.val() & !self.fence.val().more;
        self.asides.in_data.next = self.fence.val();

        // What goes to the engine: those that wait, or else what comes.
        self.others.next = self.placed_valid.val() & !self.fence.val().area;
        self.passes.next = self.held.q.val() == 0;
        self.kept.next = self.others.val() & !(self.passes.val() & self.fence_ready.val());
        self.leaves.next = self.recovers.val()
            & self.may_leave.q.val()
            & !self.kept.val()
            & ((self.held.q.val() < self.few.val())
                | (!self.asides.in_ready.val() & self.ends.in_ready.val()));
        self.asides.out_ready.next = self.leaves.val();
        // In a register, for it comes out of a memory; no place becomes its message's any more.
        self.may_leave.d.next = self.asides.out_valid.val() & self.drained.val() & !self.leaves.val();
        self.ends.in_valid.next = self.kept.val() | self.leaves.val();
        self.ends.in_data.next = self.oldest.val();
        if self.kept.val() | !self.recovers.val() {
            self.ends.in_data.next = self.fence.val();
        }
        self.ends.out_ready.next = self.fence_ready.val();
        self.fence_valid.next = self.ends.out_valid.val() | (self.passes.val() & self.others.val());
        self.fence_data.next = self.ends.out_data.val();
        if self.passes.val() {
            self.fence_data.next = self.fence.val();
        }
        self.comes.next = self.ends.in_valid.val() & self.ends.in_ready.val();
        self.goes.next = self.ends.out_valid.val() & self.fence_ready.val();
        if self.comes.val() & !self.goes.val() {
            self.held.d.next = self.held.q.val() + 1;
        }
        if !self.comes.val() & self.goes.val() {
            self.held.d.next = self.held.q.val() - 1;
        }
        self.crowds.d.next = self.held.q.val() >= self.few.val();
        self.crowded.next = self.crowds.q.val();
        self.placed_ready.next = self.ends.in_ready.val() | (self.passes.val() & self.fence_ready.val());
        if self.fence.val().area {
            self.placed_ready.next = self.may_begin.val() & self.may_end.val();
        }
        self.target.next = 0.into();
        if self.begins.val() {
            self.target.next = self.of_block.val();
            if !self.of_block.val().any() {
                self.target.next = self.first_free.val();
            }
        }
        if self.announces.val() {
            self.target.next = self.first_free.val();
        }

        // What a place holds.
        self.handle.next = (bit_cast::<32, 12>(self.opens.val().context) << 20)
            | bit_cast::<32, 20>(self.opens.val().generation);
        self.words.write_enable.next = self.begins.val() | self.announces.val();
        self.words.write_address.next = 0.into();
        self.words.write_data.next.buffer = self.told.q.val().buffer;
        self.words.write_data.next.area_log2 = self.told.q.val().area_log2;
        self.words.write_data.next.head = false;
        self.words.write_data.next.chunk_log2 = self.told.q.val().chunk_log2;
        self.words.write_data.next.block = self.told.q.val().block;
        self.words.write_data.next.bits = self.told.q.val().bits;
        if self.announces.val() {
            self.words.write_data.next.buffer = self.opens.val().buffer;
            self.words.write_data.next.area_log2 = self.opens.val().area_log2;
            self.words.write_data.next.head = true;
            self.words.write_data.next.chunk_log2 = 0.into();
            self.words.write_data.next.block = 0.into();
            self.words.write_data.next.bits = (bit_cast::<256, 32>(self.handle.val())
                << self.at_handle.val())
                | (bit_cast::<256, 24>(self.opens.val().count) << self.at_packets.val())
                | (bit_cast::<256, 32>(self.opens.val().length) << self.at_length.val())
                | (bit_cast::<256, 3>(self.opens.val().chunk_log2) << self.at_chunk_log2.val())
                | (bit_cast::<256, 4>(self.opens.val().payload_log2) << self.at_payload_log2.val())
                | (bit_cast::<256, 64>(self.opens.val().tag) << self.at_tag.val())
                | self.is_open.val();
        }
        self.blocked.next = 0.into();
        for i in 0..8 {
            self.contexts[i].clock.next = self.clk.val();
            self.contexts[i].d.next = self.contexts[i].q.val();
            self.blocks[i].clock.next = self.clk.val();
            self.blocks[i].d.next = self.blocks[i].q.val();
            self.waits[i].clock.next = self.clk.val();
            self.waits[i].d.next = self.waits[i].q.val() & !self.done.val();
            if self.waits[i].q.val().any() {
                self.blocked.next = self.blocked.val().replace_bit(i, true);
            }
            if self.target.val().get_bit(i) {
                self.words.write_address.next = self.number[i].val();
                self.contexts[i].d.next = self.fence.val().context;
                self.blocks[i].d.next = self.told.q.val().block;
                self.waits[i].d.next = self.of_message.val() & self.heads.q.val() & !self.done.val();
                if self.announces.val() {
                    self.contexts[i].d.next = self.opens.val().context;
                    self.waits[i].d.next = 0.into();
                }
            }
        }
        self.heads.d.next = self.heads.q.val() & !self.target.val();
        if self.announces.val() {
            self.heads.d.next = self.heads.q.val() | self.target.val();
        }

        // Which place is served: in turn, of those whose last write is done. It is chosen a clock
        // before, and may be served until it is: no header of its message comes any more.
        // One that is written in this clock is not: it is served in a later one.
        self.may.next = self.dirty.q.val() & !self.open.q.val() & !self.blocked.val();
        self.may_behind.next = self.may.val() & self.behind.q.val();
        self.first_of_may.d.next = self.may.val();
        self.first_behind.d.next = self.may_behind.val();
        self.pick.next = self.first_of_may.q.val();
        if self.may_behind.val().any() {
            self.pick.next = self.first_behind.q.val();
        }
        self.taken.next = 0.into();
        self.words.read_address.next = 0.into();
        for i in 0..8 {
            if self.choice.q.val().get_bit(i) {
                self.words.read_address.next = self.number[i].val();
            }
        }
        self.picks.next = self.recovers.val()
            & (self.step.q.val() == ChunkStep::Idle)
            & (self.choice.q.val() & !self.target.val()).any();
        if self.picks.val() {
            self.taken.next = self.choice.q.val();
            self.behind.d.next = !(self.choice.q.val() | (self.choice.q.val() - 1));
            self.serves.d.next = self.words.read_address.val();
        }
        self.choice.d.next = self.pick.val() & !self.taken.val();
        self.dirty.d.next =
            ((self.dirty.q.val() & !self.taken.val()) | self.target.val()) & self.places.val();
        self.open.d.next =
            ((self.open.q.val() & !self.status_bit.val()) | self.taken.val()) & self.places.val();

        // Bits: as many halvings as the chunk's size says, and their place.
        self.pairs.next = self.word.q.val().bits & (self.word.q.val().bits >> 1) & self.even1.val();
        self.by2.next = (self.pairs.val() | (self.pairs.val() >> 1)) & self.even2.val();
        self.by4.next = (self.by2.val() | (self.by2.val() >> 2)) & self.even4.val();
        self.by8.next = (self.by4.val() | (self.by4.val() >> 4)) & self.even8.val();
        self.by16.next = (self.by8.val() | (self.by8.val() >> 8)) & self.even16.val();
        self.by32.next = (self.by16.val() | (self.by16.val() >> 16)) & self.even32.val();
        self.by64.next = (self.by32.val() | (self.by32.val() >> 32)) & self.even64.val();
        self.half.next = bit_cast::<256, 128>((self.by64.val() | (self.by64.val() >> 64)).get_bits::<128>(0));
        self.out_free.next = !self.desc_valid.q.val() & !self.beat_valid.q.val();
        if self.write_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.write_beat_ready.val() {
            self.beat_valid.d.next = false;
        }
        self.area_len.next = self.smallest.val() << self.word.q.val().area_log2;
        self.keep.next = 0xFFFF_FFFF_u64.into();
        self.length.next = 32.into();
        match self.word.q.val().chunk_log2.index() {
            0 => {}
            1 => {
                self.keep.next = 0xFFFF.into();
                self.length.next = 16.into();
            }
            2 => {
                self.keep.next = 0xFF.into();
                self.length.next = 8.into();
            }
            3 => {
                self.keep.next = 0xF.into();
                self.length.next = 4.into();
            }
            4 => {
                self.keep.next = 0x3.into();
                self.length.next = 2.into();
            }
            _ => {
                self.keep.next = 0x1.into();
                self.length.next = 1.into();
            }
        }
        match self.step.q.val() {
            ChunkStep::Idle => {
                if self.picks.val() {
                    self.step.d.next = ChunkStep::Read;
                }
            }
            ChunkStep::Read => {
                self.word.d.next = self.words.read_data.val();
                self.levels.d.next = self.words.read_data.val().chunk_log2;
                self.step.d.next = ChunkStep::Pack;
            }
            ChunkStep::Pack => {
                self.base.d.next = self.word.q.val().buffer - self.area_len.val();
                self.offset.d.next =
                    ((bit_cast::<22, 16>(self.word.q.val().block) << 5) >> self.word.q.val().chunk_log2) + 32;
                if self.word.q.val().head {
                    self.offset.d.next = 0.into();
                }
                self.levels.d.next = self.levels.q.val() - 1;
                self.word.d.next.bits = self.half.val();
                if self.levels.q.val() == 0 {
                    self.word.d.next.bits = self.word.q.val().bits;
                    self.step.d.next = ChunkStep::Write;
                }
            }
            ChunkStep::Write => {
                if self.out_free.val() {
                    self.desc_valid.d.next = self.recovers.val();
                    self.desc.d.next.address = self.base.q.val() + bit_cast::<64, 22>(self.offset.q.val());
                    self.desc.d.next.length = self.length.val();
                    self.desc.d.next.tag = self.area_tag.val() | bit_cast::<8, 3>(self.serves.q.val());
                    self.beat_valid.d.next = self.recovers.val();
                    self.beat.d.next.tdata = bit_cast::<512, 256>(self.word.q.val().bits);
                    self.beat.d.next.tkeep = self.keep.val();
                    self.beat.d.next.tlast = true;
                    self.step.d.next = ChunkStep::Idle;
                }
            }
        }

        self.broke.d.next = self.write_status_valid.val() & self.write_status_data.val().error;
        self.dma_error.next = self.broke.q.val();
        self.write_desc_valid.next = self.recovers.val() & self.desc_valid.q.val();
        self.write_desc_data.next = self.desc.q.val();
        self.write_beat_valid.next = self.recovers.val() & self.beat_valid.q.val();
        self.write_beat_data.next = self.beat.q.val();

        if self.rst.val() {
            self.dirty.d.next = 0.into();
            self.open.d.next = 0.into();
            self.choice.d.next = 0.into();
            self.may_leave.d.next = false;
            self.step.d.next = ChunkStep::Idle;
            self.desc_valid.d.next = false;
            self.beat_valid.d.next = false;
            self.held.d.next = 0.into();
            self.crowds.d.next = false;
            self.broke.d.next = false;
            self.told_valid.d.next = false;
            self.compared.d.next = false;
        }
    }
}
