//! The bus and what its accesses set off, clock by clock; the picture is the module's.

use super::{Reading, Registers, Writing};
use crate::prelude::*;

impl Logic for Registers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, prescale, ticks, writing, aw_held, aw_at, w_held, w_data, w_whole);
        dff_setup!(self, clk, to_fence, fence_out, to_reclaim, reclaims, reclaim_in, draining);
        dff_setup!(self, clk, reclaim_step, marked, mark_out);
        dff_setup!(self, clk, to_order, order, order_waits, met);
        dff_setup!(self, clk, to_reset, resetting, reset_out);
        dff_setup!(self, clk, to_file, to_data, to_command, to_doorbell, b_failed, command);
        dff_setup!(self, clk, asked, answered, all_ready, settle, write_out, bell, reading, ar_at);
        dff_setup!(
            self,
            clk,
            from_file,
            from_views,
            from_data,
            mapped,
            counted,
            path_counted,
            r_data,
            r_failed
        );
        self.file.clk.next = self.clk.val();
        self.file.rst.next = self.rst.val() | self.core_rst.val();
        self.counters.clk.next = self.clk.val();
        self.counters.rst.next = self.rst.val();
        self.copies.clk.next = self.clk.val();
        self.copies.rst.next = self.rst.val() | self.core_rst.val();
        self.counters.events.next = self.events.val();
        self.path_counters.clk.next = self.clk.val();
        self.path_counters.rst.next = self.rst.val();
        self.path_counters.used.next = self.path_use.val();
        self.settings.next = self.file.settings.val();
        if self.settle.q.val() != 0 {
            self.settle.d.next = self.settle.q.val() - 1;
        }
        self.all_ready.d.next = self.ready.val()
            & self.copies.ready.val()
            & self.path_counters.ready.val()
            & (self.settle.q.val() == 0)
            & !self.resetting.q.val();
        self.busy.next = !self.all_ready.q.val() | self.asked.q.val() | self.answered.q.val();

        self.prescale.d.next = self.prescale.q.val() + 1;
        if self.prescale.q.val() == self.tick_last.val() {
            self.prescale.d.next = 0.into();
            self.ticks.d.next = self.ticks.q.val() + 1;
        }
        self.now.next = self.ticks.q.val();

        // Writes: both halves, then what the address is, then the deed.
        self.s_axil_awready.next = !self.aw_held.q.val();
        self.s_axil_wready.next = !self.w_held.q.val();
        if !self.aw_held.q.val() {
            self.aw_held.d.next = self.s_axil_awvalid.val();
            self.aw_at.d.next = self.s_axil_awaddr.val();
        }
        if !self.w_held.q.val() {
            self.w_held.d.next = self.s_axil_wvalid.val();
            self.w_data.d.next = self.s_axil_wdata.val();
            self.w_whole.d.next = self.s_axil_wstrb.val() == self.all_bytes.val();
        }
        self.aligned.next = self.w_whole.q.val() & (self.aw_at.q.val().get_bits::<2>(0) == 0);
        self.accepts.next = self.aligned.val() & !self.resetting.q.val() & !self.core_rst.val();
        self.in_data.next = self.aw_at.q.val().get_bits::<15>(6) == self.data_base.val().get_bits::<15>(6);
        self.in_page.next = self.aw_at.q.val().get_bit(20);
        self.page.next = self.aw_at.q.val().get_bits::<8>(12);
        self.page_at.next = self.aw_at.q.val().get_bits::<12>(0);
        self.bell_sq.next = (self.page_at.val() == self.sq_at.val())
            & ((bit_cast::<16, 8>(self.page.val()) & self.beyond_endpoints.val()) == 0);
        self.bell_rq.next = (self.page_at.val() == self.rq_at.val())
            & ((bit_cast::<16, 8>(self.page.val()) & self.beyond_endpoints.val()) == 0);
        self.bell_round.next = self.has_rounds.val()
            & (self.page_at.val() == self.round_at.val())
            & ((bit_cast::<16, 8>(self.page.val()) & self.beyond_endpoints.val()) == 0);
        self.bell_cq.next = (self.page_at.val() == self.cq_at.val())
            & ((bit_cast::<16, 8>(self.page.val()) & self.beyond_cqs.val()) == 0);
        self.file.write_address.next = self.aw_at.q.val();
        self.file.write_data.next = self.w_data.q.val();
        self.file.write.next = false;

        self.entry_index.next = self.w_data.q.val().get_bits::<16>(0);
        self.entry_table.next = self.w_data.q.val().get_bits::<4>(24);
        self.known_entry.next = ((self.entry_table.val() == self.endpoint_table.val())
            & ((self.entry_index.val() & self.beyond_endpoints.val()) == 0))
            | ((self.entry_table.val() == self.cq_table.val())
                & ((self.entry_index.val() & self.beyond_cqs.val()) == 0))
            | ((self.entry_table.val() == self.mr_table.val())
                & ((self.entry_index.val() & self.beyond_mrs.val()) == 0))
            // Its copy would cost a kilobit per place: written, never read.
            | (self.has_places.val()
                & (self.entry_table.val() == self.path_table.val())
                & self.w_data.q.val().get_bit(31)
                & (self.entry_index.val().get_bits::<8>(8) == 0));
        self.obey.next = self.known_entry.val() & !self.busy.val();
        self.copy_at.next = (bit_cast::<10, 4>(self.entry_table.val()) << self.table_log2.val())
            | bit_cast::<10, 8>(self.w_data.q.val().get_bits::<8>(0));
        self.entry.next = 0.into();
        for i in 0..16 {
            self.word.next = self.data[i].q.val();
            self.entry.next =
                self.entry.val() | (bit_cast::<512, 32>(self.word.val()) << self.shifts[i].val());
        }
        self.copies.write_enable.next = false;
        self.copies.write_address.next = self.copy_at.val();
        self.copies.write_data.next = self.entry.val();
        self.copies.read_address.next = self.copy_at.val();
        self.asked.d.next = false;
        self.answered.d.next = self.asked.q.val();
        // A word's own enable, so that a bit takes a table of three inputs. Neither comes in a clock of the other.
        self.kept_copy.next = self.copies.read_data.val() & self.entry_bits.val();
        for i in 0..16 {
            self.data[i].clock.next = self.clk.val();
            self.data[i].d.next = self.data[i].q.val();
            if self.asked.q.val()
                | ((self.writing.q.val() == Writing::Act)
                    & self.to_data.q.val()
                    & (self.aw_at.q.val().get_bits::<4>(2).index() == i))
            {
                self.data[i].d.next = self.w_data.q.val() & self.word_bits[i].val();
                if self.asked.q.val() {
                    self.data[i].d.next = self.kept_copy.val().get_bits::<32>(32 * i);
                }
            }
            if self.rst.val() | self.core_rst.val() {
                self.data[i].d.next = 0.into();
            }
        }
        self.write_out.d.next.valid = false;
        self.bell.d.next.valid = false;
        self.fence_out.d.next = false;
        self.reset_out.d.next = false;
        if self.reset_ended.val() {
            self.resetting.d.next = false;
        }
        self.draining.d.next = false;
        self.mark_out.d.next = 0.into();
        self.step_left.next = true;
        match self.reclaim_step.q.val().index() {
            0 => self.step_left.next = self.before_left.val().get_bit(0),
            1 => self.step_left.next = self.before_left.val().get_bit(1),
            _ => self.step_left.next = self.before_left.val().get_bit(2),
        }
        if self.reclaim_in.q.val() != 0 {
            self.reclaim_in.d.next = self.reclaim_in.q.val() - 1;
        } else if self.reclaims.q.val().active {
            if self.sends_left.val() | self.contexts_left.val() {
                // What shows up late may have left something behind it.
                if self.reclaim_step.q.val() != 0 {
                    self.reclaim_step.d.next = 0.into();
                    self.marked.d.next = false;
                }
            } else if self.reclaim_step.q.val() == 3 {
                self.draining.d.next = true;
                if self.draining.q.val() & self.drained.val() {
                    self.draining.d.next = false;
                    self.reclaims.d.next.active = false;
                }
            } else if !self.marked.q.val() {
                self.marked.d.next = true;
                self.mark_out.d.next = bits::<3>(1) << self.reclaim_step.q.val();
                self.reclaim_in.d.next = 15.into();
            } else if !self.step_left.val() {
                self.reclaim_step.d.next = self.reclaim_step.q.val() + 1;
                self.marked.d.next = false;
                // A word may just have become something else.
                self.reclaim_in.d.next = 15.into();
            }
        }
        self.marks.next = self.mark_out.q.val();
        self.drain.next = self.draining.q.val();
        self.order_valid.next = self.order_waits.q.val();
        self.order_data.next = self.order.q.val();
        if self.order_waits.q.val() & self.order_ready.val() {
            self.order_waits.d.next = false;
            self.met.d.next = self.order_met.val();
        }

        match self.writing.q.val() {
            Writing::Wait => {
                if self.aw_held.q.val() & self.w_held.q.val() {
                    self.writing.d.next = Writing::Decode;
                }
            }
            Writing::Decode => {
                self.to_file.d.next = self.accepts.val() & self.file.writable.val();
                // While tables are cleared it is what clears them.
                self.to_data.d.next = self.accepts.val() & self.in_data.val() & self.copies.ready.val();
                self.to_command.d.next =
                    self.aligned.val() & (self.aw_at.q.val() == self.command_at.val()) & self.obey.val();
                self.to_fence.d.next = self.accepts.val() & (self.aw_at.q.val() == self.fence_at.val());
                self.to_reclaim.d.next = self.accepts.val() & (self.aw_at.q.val() == self.reclaim_at.val());
                self.to_reset.d.next = self.aligned.val() & (self.aw_at.q.val() == self.reset_at.val());
                self.to_order.d.next = self.accepts.val()
                    & (self.aw_at.q.val() == self.order_at.val())
                    & !self.order_waits.q.val();
                self.to_doorbell.d.next = self.aligned.val()
                    & self.in_page.val()
                    & (self.bell_sq.val() | self.bell_rq.val() | self.bell_cq.val() | self.bell_round.val())
                    & self.all_ready.q.val();
                self.writing.d.next = Writing::Act;
            }
            Writing::Act => {
                self.b_failed.d.next = !self.to_file.q.val()
                    & !self.to_data.q.val()
                    & !self.to_command.q.val()
                    & !self.to_fence.q.val()
                    & !self.to_reclaim.q.val()
                    & !self.to_order.q.val()
                    & !self.to_reset.q.val()
                    & !self.to_doorbell.q.val();
                self.fence_out.d.next = self.to_fence.q.val() & self.w_data.q.val().get_bit(0);
                if self.to_reclaim.q.val() {
                    self.reclaims.d.next.active = true;
                    self.reclaims.d.next.endpoint = self.w_data.q.val().get_bits::<8>(0);
                    self.reclaim_in.d.next = 1023.into();
                    self.reclaim_step.d.next = 0.into();
                    self.marked.d.next = false;
                    self.draining.d.next = false;
                }
                if self.to_order.q.val() {
                    self.order_waits.d.next = true;
                    self.order.d.next.handle = self.file.message.val();
                    self.order.d.next.value = self.w_data.q.val();
                }
                if self.to_reset.q.val() & self.w_data.q.val().get_bit(0) & !self.resetting.q.val() {
                    self.reset_out.d.next = true;
                    self.resetting.d.next = true;
                    self.all_ready.d.next = false;
                }
                self.file.write.next = self.to_file.q.val();
                if self.to_file.q.val() & (self.aw_at.q.val() == self.control_at.val()) {
                    self.settle.d.next = 15.into();
                    self.all_ready.d.next = false;
                }
                if self.to_command.q.val() {
                    self.command.d.next = self.w_data.q.val();
                    if self.w_data.q.val().get_bit(31) {
                        self.copies.write_enable.next = self.entry_table.val() != self.path_table.val();
                        self.write_out.d.next.valid = true;
                    } else {
                        self.asked.d.next = true;
                    }
                }
                self.write_out.d.next.table = self.entry_table.val();
                self.write_out.d.next.index = self.w_data.q.val().get_bits::<8>(0);
                self.write_out.d.next.entry = self.entry.val();
                self.bell.d.next.valid = self.to_doorbell.q.val();
                self.bell.d.next.kind = self.aw_at.q.val().get_bits::<2>(2);
                self.bell.d.next.index = self.page.val();
                self.bell.d.next.value = self.w_data.q.val().get_bits::<16>(0);
                self.bell.d.next.more = self.w_data.q.val().get_bits::<16>(16);
                self.aw_held.d.next = false;
                self.w_held.d.next = false;
                self.writing.d.next = Writing::Respond;
            }
            Writing::Respond => {
                if self.s_axil_bready.val() {
                    self.writing.d.next = Writing::Wait;
                }
            }
        }
        self.s_axil_bvalid.next = self.writing.q.val() == Writing::Respond;
        self.s_axil_bresp.next = 0.into();
        if self.b_failed.q.val() {
            self.s_axil_bresp.next = self.slverr.val();
        }
        self.table_write.next = self.write_out.q.val();
        self.doorbell.next = self.bell.q.val();
        self.fence_begin.next = self.fence_out.q.val();
        self.reclaim.next = self.reclaims.q.val();
        self.reset_begin.next = self.reset_out.q.val();

        // Reads: one word of each source, then their OR.
        self.seen[0].next = self.fixed[0].val();
        self.seen[1].next = self.fixed[1].val();
        self.seen[2].next = self.fixed[2].val();
        self.seen[3].next = self.fixed[3].val();
        self.seen[4].next = self.fixed[4].val();
        self.seen[5].next = 0.into();
        if self.all_ready.q.val() {
            self.seen[5].next = 1.into();
        }
        self.seen[6].next = self.command.q.val();
        self.seen[7].next = 0.into();
        if self.busy.val() {
            self.seen[7].next = 1.into();
        }
        self.seen[8].next = self.outstanding.val();
        self.seen[9].next = self.unsolicited.val();
        self.seen[10].next = bit_cast::<32, 13>(self.free_slots.val());
        self.seen[11].next = bit_cast::<32, 13>(self.free_contexts.val());
        self.seen[12].next = bit_cast::<32, 14>(self.free_blocks.val());
        self.seen[13].next = bit_cast::<32, 16>(self.tombstones.val());
        self.seen[14].next = self.ticks.q.val();
        self.seen[23].next = bit_cast::<32, 16>(self.interrupt_count.val());
        self.seen[15].next = 0.into();
        self.seen[16].next = 0.into();
        if self.fence_busy.val() | self.fence_out.q.val() {
            self.seen[16].next = 1.into();
        }
        self.seen[17].next = 0.into();
        self.seen[18].next = 0.into();
        if self.reclaims.q.val().active {
            self.seen[18].next = (bit_cast::<32, 1>(self.sends_left.val().into()) << 1)
                | (bit_cast::<32, 1>(self.contexts_left.val().into()) << 2)
                | 1;
        }
        self.seen[19].next = 0.into();
        self.seen[20].next = 0.into();
        if self.met.q.val() {
            self.seen[20].next = 2.into();
        }
        // While an order waits the last one's fate is of no interest.
        if self.order_waits.q.val() {
            self.seen[20].next = 1.into();
        }
        self.seen[21].next = 0.into();
        self.seen[22].next = (bit_cast::<32, 5>(self.reset_waits.val()) << 1)
            | bit_cast::<32, 1>(self.resetting.q.val().into());
        self.gathered[0].next = 0.into();
        self.seen_one.next = false;
        for i in 0..24 {
            self.gathered[i + 1].next = self.gathered[i].val();
            if self.ar_at.q.val() == self.seen_at[i].val() {
                self.seen_one.next = true;
                self.gathered[i + 1].next = self.gathered[i].val() | self.seen[i].val();
            }
        }
        self.file.read_address.next = self.ar_at.q.val();
        self.r_aligned.next = self.ar_at.q.val().get_bits::<2>(0) == 0;
        self.r_in_data.next = self.ar_at.q.val().get_bits::<15>(6) == self.data_base.val().get_bits::<15>(6);
        self.r_in_counters.next =
            self.ar_at.q.val().get_bits::<13>(8) == self.counters_base.val().get_bits::<13>(8);
        self.r_in_paths.next = self.has_places.val()
            & (self.ar_at.q.val().get_bits::<9>(12) == self.paths_base.val().get_bits::<9>(12))
            & (self.ar_at.q.val().get_bits::<2>(10) != 3);
        self.r_page.next = self.ar_at.q.val().get_bits::<8>(12);
        self.r_page_at.next = self.ar_at.q.val().get_bits::<12>(0);
        self.r_in_page.next = self.ar_at.q.val().get_bit(20)
            & ((((self.r_page_at.val() == self.sq_at.val())
                | (self.r_page_at.val() == self.rq_at.val())
                | (self.has_rounds.val() & (self.r_page_at.val() == self.round_at.val())))
                & ((bit_cast::<16, 8>(self.r_page.val()) & self.beyond_endpoints.val()) == 0))
                | ((self.r_page_at.val() == self.cq_at.val())
                    & ((bit_cast::<16, 8>(self.r_page.val()) & self.beyond_cqs.val()) == 0)));
        self.r_word_at.next = bit_cast::<9, 4>(self.ar_at.q.val().get_bits::<4>(2)) << 5;
        self.shifted.next = self.entry.val() >> self.r_word_at.val();
        self.counters.read.next = false;
        self.counters.read_index.next = self.ar_at.q.val().get_bits::<6>(2);

        self.path_counters.read.next = false;
        self.path_counters.read_index.next = self.ar_at.q.val().get_bits::<10>(2);

        self.s_axil_arready.next = self.reading.q.val() == Reading::Wait;
        match self.reading.q.val() {
            Reading::Wait => {
                self.ar_at.d.next = self.s_axil_araddr.val();
                if self.s_axil_arvalid.val() {
                    self.reading.d.next = Reading::Decode;
                }
            }
            Reading::Decode => {
                self.from_file.d.next = self.file.value.val();
                self.from_views.d.next = self.gathered[24].val();
                self.from_data.d.next = 0.into();
                if self.r_aligned.val() & self.r_in_data.val() {
                    self.from_data.d.next = self.shifted.val().get_bits::<32>(0);
                }
                self.mapped.d.next = self.file.known.val()
                    | self.seen_one.val()
                    | (self.r_aligned.val() & self.r_in_data.val())
                    | self.r_in_page.val();
                self.counted.d.next = self.r_aligned.val() & self.r_in_counters.val();
                self.path_counted.d.next = self.r_aligned.val() & self.r_in_paths.val();
                self.reading.d.next = Reading::Pick;
            }
            Reading::Pick => {
                self.r_data.d.next =
                    self.from_file.q.val() | self.from_views.q.val() | self.from_data.q.val();
                self.r_failed.d.next =
                    !self.mapped.q.val() & !self.counted.q.val() & !self.path_counted.q.val();
                self.counters.read.next = self.counted.q.val();
                self.path_counters.read.next = self.path_counted.q.val();
                self.reading.d.next = Reading::Respond;
                if self.counted.q.val() | self.path_counted.q.val() {
                    self.reading.d.next = Reading::Counter;
                }
            }
            Reading::Counter => {
                self.r_data.d.next = self.counters.value.val();
                if self.path_counted.q.val() {
                    self.r_data.d.next = self.path_counters.value.val();
                }
                if self.counters.value_valid.val() | self.path_counters.value_valid.val() {
                    self.reading.d.next = Reading::Respond;
                }
            }
            Reading::Respond => {
                if self.s_axil_rready.val() {
                    self.reading.d.next = Reading::Wait;
                }
            }
        }
        self.s_axil_rvalid.next = self.reading.q.val() == Reading::Respond;
        self.s_axil_rdata.next = self.r_data.q.val();
        self.s_axil_rresp.next = 0.into();
        if self.r_failed.q.val() {
            self.s_axil_rresp.next = self.slverr.val();
        }

        // The host's accesses, the time and the counters go on while the rest is reset.
        if self.rst.val() | self.core_rst.val() {
            self.command.d.next = 0.into();
            self.settle.d.next = 0.into();
            self.asked.d.next = false;
            self.answered.d.next = false;
            self.all_ready.d.next = false;
            self.write_out.d.next.valid = false;
            self.write_out.d.next.entry = 0.into();
            self.bell.d.next.valid = false;
            self.fence_out.d.next = false;
            self.reclaims.d.next.active = false;
            self.reclaim_in.d.next = 0.into();
            self.reclaim_step.d.next = 0.into();
            self.marked.d.next = false;
            self.mark_out.d.next = 0.into();
            self.draining.d.next = false;
            self.order_waits.d.next = false;
            self.met.d.next = false;
        }
        if self.rst.val() {
            self.prescale.d.next = 0.into();
            self.ticks.d.next = 0.into();
            self.writing.d.next = Writing::Wait;
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
            self.resetting.d.next = false;
            self.reset_out.d.next = false;
            self.reading.d.next = Reading::Wait;
        }
    }
}
