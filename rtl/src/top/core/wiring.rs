//! Which port of which block is joined to which.

use super::Core;
use crate::prelude::*;

impl Logic for Core {
    #[hdl_gen]
    fn update(&mut self) {
        self.registers.clk.next = self.clk.val();
        self.registers.rst.next = self.rst.val();
        self.soft_reset.clk.next = self.clk.val();
        self.soft_reset.rst.next = self.rst.val();
        self.ctrl_reads.clk.next = self.clk.val();
        self.ctrl_reads.rst.next = self.rst.val();
        self.ctrl_writes.clk.next = self.clk.val();
        self.ctrl_writes.rst.next = self.rst.val();
        self.send_tally.clk.next = self.clk.val();
        self.send_tally.rst.next = self.soft_reset.core_rst.val();
        self.sq_fetch.clk.next = self.clk.val();
        self.sq_fetch.rst.next = self.soft_reset.core_rst.val();
        self.rq_fetch.clk.next = self.clk.val();
        self.rq_fetch.rst.next = self.soft_reset.core_rst.val();
        self.ctrl_read_mux.clk.next = self.clk.val();
        self.ctrl_read_mux.rst.next = self.soft_reset.core_rst.val();
        self.ctrl_write_mux.clk.next = self.clk.val();
        self.ctrl_write_mux.rst.next = self.soft_reset.core_rst.val();
        self.cq_writer.clk.next = self.clk.val();
        self.cq_writer.rst.next = self.soft_reset.core_rst.val();
        self.access.clk.next = self.clk.val();
        self.access.rst.next = self.soft_reset.core_rst.val();
        self.rx_fence.clk.next = self.clk.val();
        self.rx_fence.rst.next = self.soft_reset.core_rst.val();
        self.lookup.clk.next = self.clk.val();
        self.lookup.rst.next = self.soft_reset.core_rst.val();
        self.match_table.clk.next = self.clk.val();
        self.match_table.rst.next = self.soft_reset.core_rst.val();
        self.receiver.clk.next = self.clk.val();
        self.receiver.rst.next = self.soft_reset.core_rst.val();
        self.sender.clk.next = self.clk.val();
        self.sender.rst.next = self.soft_reset.core_rst.val();
        self.rx_datagram.clk.next = self.clk.val();
        self.rx_datagram.rst.next = self.soft_reset.core_rst.val();
        self.chunks.clk.next = self.clk.val();
        self.chunks.rst.next = self.soft_reset.core_rst.val();
        self.receive_ends.clk.next = self.clk.val();
        self.receive_ends.rst.next = self.soft_reset.core_rst.val();
        self.tx_datagram.clk.next = self.clk.val();
        self.tx_datagram.rst.next = self.soft_reset.core_rst.val();
        self.packets.clk.next = self.clk.val();
        self.packets.rst.next = self.soft_reset.core_rst.val();
        self.send_ends.clk.next = self.clk.val();
        self.send_ends.rst.next = self.soft_reset.core_rst.val();
        self.answers.clk.next = self.clk.val();
        self.answers.rst.next = self.soft_reset.core_rst.val();
        self.path_scheduler.clk.next = self.clk.val();
        self.path_scheduler.rst.next = self.soft_reset.core_rst.val();

        // The reset of a NIC at work: the ports close, then all but these blocks is reset.
        self.soft_reset.start.next = self.registers.reset_begin.val();
        self.registers.core_rst.next = self.soft_reset.core_rst.val();
        self.registers.reset_ended.next = self.soft_reset.ended.val();
        self.registers.reset_waits.next = self.soft_reset.waits.val();
        self.soft_reset.quiet.next = bit_cast::<4, 1>(self.ctrl_reads.quiet.val().into())
            | (bit_cast::<4, 1>(self.ctrl_writes.quiet.val().into()) << 1)
            | (bit_cast::<4, 2>(self.quiet.val()) << 2);
        self.ctrl_reads.closed.next = self.soft_reset.closed.val();
        self.ctrl_writes.closed.next = self.soft_reset.closed.val();
        self.sender.keeps.next = self.soft_reset.keeps.val();
        self.core_rst.next = self.soft_reset.core_rst.val();
        self.closed.next = self.soft_reset.closed.val();

        // What registers say to all.
        self.settings.next = self.registers.settings.val();
        self.now.next = self.registers.now.val();
        self.table_write.next = self.registers.table_write.val();
        self.sq_fetch.settings.next = self.registers.settings.val();
        self.lookup.settings.next = self.registers.settings.val();
        self.match_table.settings.next = self.registers.settings.val();
        self.receiver.settings.next = self.registers.settings.val();
        self.sender.settings.next = self.registers.settings.val();
        self.path_scheduler.settings.next = self.registers.settings.val();
        self.cq_writer.now.next = self.registers.now.val();
        self.lookup.now.next = self.registers.now.val();
        self.receiver.now.next = self.registers.now.val();
        self.sender.now.next = self.registers.now.val();
        self.sq_fetch.table_write.next = self.registers.table_write.val();
        self.rq_fetch.table_write.next = self.registers.table_write.val();
        self.cq_writer.table_write.next = self.registers.table_write.val();
        self.lookup.table_write.next = self.registers.table_write.val();
        self.access.table_write.next = self.registers.table_write.val();
        self.match_table.table_write.next = self.registers.table_write.val();
        self.path_scheduler.table_write.next = self.registers.table_write.val();
        self.sq_fetch.doorbell.next = self.registers.doorbell.val();
        self.rq_fetch.doorbell.next = self.registers.doorbell.val();
        self.cq_writer.doorbell.next = self.registers.doorbell.val();
        self.receiver.doorbell.next = self.registers.doorbell.val();

        // AXI4-Lite.
        self.registers.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.registers.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.registers.s_axil_wdata.next = self.s_axil_wdata.val();
        self.registers.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.registers.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.registers.s_axil_bready.next = self.s_axil_bready.val();
        self.registers.s_axil_araddr.next = self.s_axil_araddr.val();
        self.registers.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.registers.s_axil_rready.next = self.s_axil_rready.val();
        self.s_axil_awready.next = self.registers.s_axil_awready.val();
        self.s_axil_wready.next = self.registers.s_axil_wready.val();
        self.s_axil_bresp.next = self.registers.s_axil_bresp.val();
        self.s_axil_bvalid.next = self.registers.s_axil_bvalid.val();
        self.s_axil_arready.next = self.registers.s_axil_arready.val();
        self.s_axil_rdata.next = self.registers.s_axil_rdata.val();
        self.s_axil_rresp.next = self.registers.s_axil_rresp.val();
        self.s_axil_rvalid.next = self.registers.s_axil_rvalid.val();

        // Rings.
        self.ctrl_read_mux.sq_desc_valid.next = self.sq_fetch.read_desc_valid.val();
        self.ctrl_read_mux.sq_desc_data.next = self.sq_fetch.read_desc_data.val();
        self.sq_fetch.read_desc_ready.next = self.ctrl_read_mux.sq_desc_ready.val();
        self.sq_fetch.read_beat_valid.next = self.ctrl_read_mux.sq_beat_valid.val();
        self.sq_fetch.read_beat_data.next = self.ctrl_read_mux.sq_beat_data.val();
        self.sq_fetch.read_status_valid.next = self.ctrl_read_mux.sq_status_valid.val();
        self.sq_fetch.read_status_data.next = self.ctrl_read_mux.sq_status_data.val();
        self.ctrl_read_mux.rq_desc_valid.next = self.rq_fetch.read_desc_valid.val();
        self.ctrl_read_mux.rq_desc_data.next = self.rq_fetch.read_desc_data.val();
        self.rq_fetch.read_desc_ready.next = self.ctrl_read_mux.rq_desc_ready.val();
        self.rq_fetch.read_beat_valid.next = self.ctrl_read_mux.rq_beat_valid.val();
        self.rq_fetch.read_beat_data.next = self.ctrl_read_mux.rq_beat_data.val();
        self.rq_fetch.read_status_valid.next = self.ctrl_read_mux.rq_status_valid.val();
        self.rq_fetch.read_status_data.next = self.ctrl_read_mux.rq_status_data.val();
        self.ctrl_reads.in_desc_valid.next = self.ctrl_read_mux.read_desc_valid.val();
        self.ctrl_read_mux.read_desc_ready.next = self.ctrl_reads.in_desc_ready.val();
        self.dma_ctrl_read_desc_valid.next = self.ctrl_reads.out_desc_valid.val();
        self.ctrl_reads.out_desc_ready.next = self.dma_ctrl_read_desc_ready.val();
        self.dma_ctrl_read_desc_address.next = self.ctrl_read_mux.read_desc_data.val().address;
        self.dma_ctrl_read_desc_length.next = self.ctrl_read_mux.read_desc_data.val().length;
        self.dma_ctrl_read_desc_tag.next = self.ctrl_read_mux.read_desc_data.val().tag;
        self.ctrl_reads.in_data_valid.next = self.dma_ctrl_read_data_valid.val();
        self.ctrl_reads.in_data_last.next = self.dma_ctrl_read_data_tlast.val();
        self.dma_ctrl_read_data_ready.next = self.ctrl_reads.in_data_ready.val();
        self.ctrl_read_mux.read_beat_valid.next = self.ctrl_reads.out_data_valid.val();
        self.ctrl_reads.out_data_ready.next = self.ctrl_read_mux.read_beat_ready.val();
        self.ctrl_reads.status.next = self.dma_ctrl_read_status_valid.val();
        self.ctrl_read_mux.read_beat_data.next.tdata = self.dma_ctrl_read_data_tdata.val();
        self.ctrl_read_mux.read_beat_data.next.tkeep = 0.into();
        self.ctrl_read_mux.read_beat_data.next.tlast = self.dma_ctrl_read_data_tlast.val();
        self.ctrl_read_mux.read_status_valid.next = self.dma_ctrl_read_status_valid.val();
        self.ctrl_read_mux.read_status_data.next.tag = self.dma_ctrl_read_status_tag.val();
        self.ctrl_read_mux.read_status_data.next.error = self.dma_ctrl_read_status_error.val();
        self.receive_ends.in0_valid.next = self.receiver.done_valid.val();
        self.receive_ends.in0_data.next = self.receiver.done_data.val();
        self.receiver.done_ready.next = self.receive_ends.in0_ready.val();
        self.receive_ends.in1_valid.next = self.rx_datagram.done_valid.val();
        self.receive_ends.in1_data.next = self.rx_datagram.done_data.val();
        self.rx_datagram.done_ready.next = self.receive_ends.in1_ready.val();
        self.receive_ends.in2_valid.next = false;
        self.receive_ends.in2_data.next = self.receiver.done_data.val();
        self.cq_writer.done_rx_valid.next = self.receive_ends.out_valid.val();
        self.cq_writer.done_rx_data.next = self.receive_ends.out_data.val();
        self.receive_ends.out_ready.next = self.cq_writer.done_rx_ready.val();
        self.send_ends.in0_valid.next = self.sender.done_valid.val();
        self.send_ends.in0_data.next = self.sender.done_data.val();
        self.sender.done_ready.next = self.send_ends.in0_ready.val();
        self.send_ends.in1_valid.next = self.tx_datagram.done_valid.val();
        self.send_ends.in1_data.next = self.tx_datagram.done_data.val();
        self.tx_datagram.done_ready.next = self.send_ends.in1_ready.val();
        self.send_ends.in2_valid.next = false;
        self.send_ends.in2_data.next = self.sender.done_data.val();
        self.cq_writer.done_tx_valid.next = self.send_ends.out_valid.val();
        self.cq_writer.done_tx_data.next = self.send_ends.out_data.val();
        self.send_ends.out_ready.next = self.cq_writer.done_tx_ready.val();
        self.sq_fetch.ended.next = self.send_ends.out_valid.val() & self.cq_writer.done_tx_ready.val();
        self.sq_fetch.ended_endpoint.next = self.send_ends.out_data.val().endpoint;
        self.cq_writer.done_sq_valid.next = self.sq_fetch.refused_valid.val();
        self.cq_writer.done_sq_data.next = self.sq_fetch.refused_data.val();
        self.sq_fetch.refused_ready.next = self.cq_writer.done_sq_ready.val();
        self.cq_writer.done_rq_valid.next = self.rq_fetch.refused_valid.val();
        self.cq_writer.done_rq_data.next = self.rq_fetch.refused_data.val();
        self.rq_fetch.refused_ready.next = self.cq_writer.done_rq_ready.val();
        self.ctrl_write_mux.cq_desc_valid.next = self.cq_writer.write_desc_valid.val();
        self.ctrl_write_mux.cq_desc_data.next = self.cq_writer.write_desc_data.val();
        self.cq_writer.write_desc_ready.next = self.ctrl_write_mux.cq_desc_ready.val();
        self.ctrl_write_mux.cq_beat_valid.next = self.cq_writer.write_beat_valid.val();
        self.ctrl_write_mux.cq_beat_data.next = self.cq_writer.write_beat_data.val();
        self.cq_writer.write_beat_ready.next = self.ctrl_write_mux.cq_beat_ready.val();
        self.cq_writer.write_status_valid.next = self.ctrl_write_mux.cq_status_valid.val();
        self.cq_writer.write_status_data.next = self.ctrl_write_mux.cq_status_data.val();
        // Not reset with the core: the host's count of what it has seen goes on too.
        self.interrupts.clk.next = self.clk.val();
        self.interrupts.rst.next = self.rst.val();
        self.interrupts.written.next = self.ctrl_write_mux.cq_status_valid.val();
        self.interrupts.enable.next = self.registers.settings.val().interrupt_enable;
        self.interrupts.seen.next = self.registers.settings.val().interrupt_seen;
        self.interrupts.delay.next = self.registers.settings.val().interrupt_delay;
        self.interrupts.now.next = self.registers.now.val();
        self.registers.interrupt_count.next = self.interrupts.count.val();
        self.irq.next = self.interrupts.irq.val();
        self.ctrl_write_mux.area_desc_valid.next = self.chunks.write_desc_valid.val();
        self.ctrl_write_mux.area_desc_data.next = self.chunks.write_desc_data.val();
        self.chunks.write_desc_ready.next = self.ctrl_write_mux.area_desc_ready.val();
        self.ctrl_write_mux.area_beat_valid.next = self.chunks.write_beat_valid.val();
        self.ctrl_write_mux.area_beat_data.next = self.chunks.write_beat_data.val();
        self.chunks.write_beat_ready.next = self.ctrl_write_mux.area_beat_ready.val();
        self.chunks.write_status_valid.next = self.ctrl_write_mux.area_status_valid.val();
        self.chunks.write_status_data.next = self.ctrl_write_mux.area_status_data.val();
        self.ctrl_writes.in_desc_valid.next = self.ctrl_write_mux.write_desc_valid.val();
        self.ctrl_write_mux.write_desc_ready.next = self.ctrl_writes.in_desc_ready.val();
        self.dma_ctrl_write_desc_valid.next = self.ctrl_writes.out_desc_valid.val();
        self.ctrl_writes.out_desc_ready.next = self.dma_ctrl_write_desc_ready.val();
        self.dma_ctrl_write_desc_address.next = self.ctrl_write_mux.write_desc_data.val().address;
        self.dma_ctrl_write_desc_length.next = self.ctrl_write_mux.write_desc_data.val().length;
        self.dma_ctrl_write_desc_tag.next = self.ctrl_write_mux.write_desc_data.val().tag;
        self.ctrl_writes.in_data_valid.next = self.ctrl_write_mux.write_beat_valid.val();
        self.ctrl_writes.in_data_last.next = self.ctrl_write_mux.write_beat_data.val().tlast;
        self.ctrl_write_mux.write_beat_ready.next = self.ctrl_writes.in_data_ready.val();
        self.dma_ctrl_write_data_valid.next = self.ctrl_writes.out_data_valid.val();
        self.ctrl_writes.out_data_ready.next = self.dma_ctrl_write_data_ready.val();
        self.ctrl_writes.status.next = self.dma_ctrl_write_status_valid.val();
        self.dma_ctrl_write_data_tdata.next = self.ctrl_write_mux.write_beat_data.val().tdata;
        self.dma_ctrl_write_data_tkeep.next = self.ctrl_write_mux.write_beat_data.val().tkeep;
        self.dma_ctrl_write_data_tlast.next = self.ctrl_write_mux.write_beat_data.val().tlast;
        self.ctrl_write_mux.write_status_valid.next = self.dma_ctrl_write_status_valid.val();
        self.ctrl_write_mux.write_status_data.next.tag = self.dma_ctrl_write_status_tag.val();
        self.ctrl_write_mux.write_status_data.next.error = self.dma_ctrl_write_status_error.val();

        // Endpoints that are given up.
        self.sender.reclaim.next = self.registers.reclaim.val();
        self.lookup.reclaim.next = self.registers.reclaim.val();
        self.send_tally.endpoint.next = self.registers.reclaim.val().endpoint;
        self.send_tally.take.next = self.sq_fetch.taken.val();
        self.send_tally.taker.next = self.sq_fetch.taker.val();
        self.send_tally.sent.next = self.send_ends.out_valid.val() & self.cq_writer.done_tx_ready.val();
        self.send_tally.sender.next = self.send_ends.out_data.val().endpoint;
        self.send_tally.refused.next = self.sq_fetch.refused_valid.val() & self.cq_writer.done_sq_ready.val();
        self.send_tally.refuser.next = self.sq_fetch.refused_data.val().endpoint;
        self.registers.sends_left.next = self.send_tally.left.val();
        self.registers.contexts_left.next = self.lookup.contexts_left.val();
        self.reclaim_marks.clk.next = self.clk.val();
        self.reclaim_marks.rst.next = self.soft_reset.core_rst.val();
        self.reclaim_marks.mark.next = self.registers.marks.val();
        self.registers.before_left.next = self.reclaim_marks.left.val();
        self.reclaim_marks.word.next = self.rx_events.val().rx_data
            | self.rx_events.val().rx_probe
            | self.rx_events.val().rx_release
            | self.rx_events.val().rx_ud;
        self.reclaim_marks.judged.next = self.lookup.judged.val();
        self.reclaim_marks.feedback.next = self.rx_events.val().rx_feedback;
        self.reclaim_marks.heard.next = self.sender.heard.val();
        self.reclaim_marks.sq_valid.next = self.sq_fetch.read_desc_valid.val();
        self.reclaim_marks.sq_ready.next = self.ctrl_read_mux.sq_desc_ready.val();
        self.reclaim_marks.rq_valid.next = self.rq_fetch.read_desc_valid.val();
        self.reclaim_marks.rq_ready.next = self.ctrl_read_mux.rq_desc_ready.val();
        self.reclaim_marks.read.next = self.dma_ctrl_read_status_valid.val();
        self.reclaim_marks.datagram_valid.next =
            self.lookup.work_valid.val() & self.lookup.work_data.val().ud;
        self.reclaim_marks.datagram_ready.next = self.rx_datagram.in_ready.val();
        self.reclaim_marks.datagram_done.next =
            self.rx_datagram.done_valid.val() & self.receive_ends.in1_ready.val();
        self.reclaim_marks.lookup_valid.next = self.lookup.feedback_valid.val();
        self.reclaim_marks.lookup_ready.next = self.answers.in0_ready.val();
        self.reclaim_marks.context_valid.next = self.receiver.feedback_valid.val();
        self.reclaim_marks.context_ready.next = self.answers.in2_ready.val();
        self.reclaim_marks.release_valid.next = self.sender.release_valid.val();
        self.reclaim_marks.release_ready.next = self.answers.in1_ready.val();
        self.reclaim_marks.said.next = self.said.val();
        self.cq_writer.drain.next = self.registers.drain.val();
        self.registers.drained.next = self.cq_writer.drained.val();

        // Receiver.
        self.soft_reset.rx_valid.next = self.s_axis_tvalid.val();
        self.soft_reset.rx_last.next = self.s_axis_tlast.val();
        self.rx_valid.next = self.soft_reset.core_rx_valid.val();
        self.access.packet_valid.next = self.rx_data_valid.val();
        self.access.packet_data.next = self.rx_data_data.val();
        self.rx_data_ready.next = self.access.packet_ready.val();
        self.lookup.packet_valid.next = self.access.checked_valid.val();
        self.lookup.packet_data.next = self.access.checked_data.val();
        self.access.checked_ready.next = self.lookup.packet_ready.val();
        self.rx_fence.start.next = self.registers.fence_begin.val();
        self.rx_fence.entered.next = self.access.entered.val();
        self.rx_fence.issued.next = self.issued.val();
        self.rx_fence.ring_head.next = self.ring_head.val();
        self.rx_fence.ring_tail.next = self.ring_tail.val();
        self.registers.fence_busy.next = self.rx_fence.busy.val();
        self.receiver.order_valid.next = self.registers.order_valid.val();
        self.receiver.order_data.next = self.registers.order_data.val();
        self.registers.order_ready.next = self.receiver.order_ready.val();
        self.registers.order_met.next = self.receiver.order_met.val();
        self.rq_fetch.ask_valid.next = self.lookup.ask_valid.val();
        self.rq_fetch.ask_ring.next = self.lookup.ask_ring.val();
        self.lookup.answer_valid.next = self.rq_fetch.answer_valid.val();
        self.lookup.answer.next = self.rq_fetch.answer.val();
        self.rq_fetch.consume.next = self.lookup.consume.val();
        self.match_table.post_valid.next = self.rq_fetch.tagged_valid.val();
        self.match_table.post_data.next = self.rq_fetch.tagged_data.val();
        self.rq_fetch.tagged_ready.next = self.match_table.post_ready.val();
        self.match_table.ask.next = self.lookup.match_ask.val();
        self.match_table.ask_endpoint.next = self.lookup.match_endpoint.val();
        self.match_table.ask_tag.next = self.lookup.match_tag.val();
        self.lookup.match_known.next = self.match_table.known.val();
        self.lookup.match_answer.next = self.match_table.answer.val();
        self.match_table.settle.next = self.lookup.match_settle.val();
        self.match_table.take.next = self.lookup.match_take.val();
        self.match_table.unexpected.next = self.lookup.match_unexpected.val();
        self.match_table.opened.next = self.lookup.work_data.val();
        self.cq_writer.done_match_valid.next = self.match_table.done_valid.val();
        self.cq_writer.done_match_data.next = self.match_table.done_data.val();
        self.match_table.done_ready.next = self.cq_writer.done_match_ready.val();
        self.lookup.block_available.next = self.receiver.block_ready.val();
        self.receiver.low.next = self.lookup.low.val();
        self.rx_datagram.in_valid.next = self.lookup.work_valid.val();
        self.rx_datagram.in_data.next = self.lookup.work_data.val();
        self.lookup.work_ready.next = self.rx_datagram.in_ready.val();
        self.receiver.work_valid.next = self.rx_datagram.work_valid.val();
        self.receiver.work_data.next = self.rx_datagram.work_data.val();
        self.rx_datagram.work_ready.next = self.receiver.work_ready.val();
        self.lookup.retire_valid.next = self.receiver.retire_valid.val();
        self.lookup.retire_data.next = self.receiver.retire_data.val();
        self.receiver.retire_ready.next = self.lookup.retire_ready.val();
        self.place_valid.next = self.receiver.place_valid.val();
        self.place_data.next = self.receiver.place_data.val();
        self.receiver.place_ready.next = self.place_ready.val();
        self.chunks.header_valid.next = self.receiver.header_valid.val();
        self.chunks.header_data.next = self.receiver.header_data.val();
        self.receiver.header_ready.next = self.chunks.header_ready.val();
        self.chunks.chunk_valid.next = self.receiver.chunk_valid.val();
        self.chunks.chunk_data.next = self.receiver.chunk_data.val();
        self.receiver.chunk_ready.next = self.chunks.chunk_ready.val();
        self.chunks.placed_valid.next = self.fence_valid.val();
        self.chunks.placed_data.next = self.fence_data.val();
        self.fence_ready.next = self.chunks.placed_ready.val();
        self.rx_datagram.placed_valid.next = self.chunks.fence_valid.val();
        self.rx_datagram.placed_data.next = self.chunks.fence_data.val();
        self.chunks.fence_ready.next = self.rx_datagram.placed_ready.val();
        self.receiver.fence_valid.next = self.rx_datagram.fence_valid.val();
        self.receiver.fence_data.next = self.rx_datagram.fence_data.val();
        self.rx_datagram.fence_ready.next = self.receiver.fence_ready.val();
        self.receiver.crowded.next = self.chunks.crowded.val();

        // Answers of lookup and context, and RELEASEs, in front of the builder.
        self.answers.in0_valid.next = self.lookup.feedback_valid.val();
        self.answers.in0_data.next = self.lookup.feedback_data.val();
        self.lookup.feedback_ready.next = self.answers.in0_ready.val();
        self.answers.in1_valid.next = self.sender.release_valid.val();
        self.answers.in1_data.next = self.sender.release_data.val();
        self.sender.release_ready.next = self.answers.in1_ready.val();
        self.answers.in2_valid.next = self.receiver.feedback_valid.val();
        self.answers.in2_data.next = self.receiver.feedback_data.val();
        self.receiver.feedback_ready.next = self.answers.in2_ready.val();

        // Sender.
        self.sender.request_valid.next =
            self.sq_fetch.request_valid.val() & !self.sq_fetch.request_data.val().ud;
        self.sender.request_data.next = self.sq_fetch.request_data.val();
        self.tx_datagram.request_valid.next =
            self.sq_fetch.request_valid.val() & self.sq_fetch.request_data.val().ud;
        self.tx_datagram.request_data.next = self.sq_fetch.request_data.val();
        self.sq_fetch.request_ready.next = self.sender.request_ready.val();
        if self.sq_fetch.request_data.val().ud {
            self.sq_fetch.request_ready.next = self.tx_datagram.request_ready.val();
        }
        self.sender.feedback_valid.next = self.rx_feedback_valid.val();
        self.sender.feedback_data.next = self.rx_feedback_data.val();
        self.rx_feedback_ready.next = self.sender.feedback_ready.val();
        self.packets.in0_valid.next = self.sender.packet_valid.val();
        self.packets.in0_data.next = self.sender.packet_data.val();
        self.sender.packet_ready.next = self.packets.in0_ready.val();
        self.packets.in1_valid.next = self.tx_datagram.packet_valid.val();
        self.packets.in1_data.next = self.tx_datagram.packet_data.val();
        self.tx_datagram.packet_ready.next = self.packets.in1_ready.val();
        self.packets.in2_valid.next = false;
        self.packets.in2_data.next = self.sender.packet_data.val();
        self.packet_valid.next = self.packets.out_valid.val();
        self.packet_data.next = self.packets.out_data.val();
        self.packets.out_ready.next = self.packet_ready.val();
        self.answer_valid.next = self.answers.out_valid.val();
        self.answer_data.next = self.answers.out_data.val();
        self.answers.out_ready.next = self.answer_ready.val();
        self.ev.next = self.path_scheduler.ev.val();
        self.ev_asks.next = self.path_scheduler.asks.val();
        self.path_scheduler.take.next = self.ev_take.val();
        self.path_scheduler.gid.next = self.ev_gid.val();
        self.path_scheduler.kind.next = self.ev_kind.val();
        self.path_scheduler.echo.next = self.sender.echo.val();
        self.registers.path_use.next = self.path_scheduler.used.val();
        self.sender.sent.next = self.sent.val();
        self.sender.sent.next.valid = self.sent.val().valid & !self.sent.val().ud;
        self.sender.failed.next = self.failed.val();
        self.sender.failed.next.valid = self.failed.val().valid & !self.failed.val().ud;
        self.tx_datagram.sent.next = self.sent.val();
        self.tx_datagram.failed.next = self.failed.val();
        self.soft_reset.core_tx_valid.next = self.tx_valid.val();
        self.soft_reset.core_tx_last.next = self.tx_last.val();
        self.tx_ready.next = self.soft_reset.core_tx_ready.val();
        self.m_axis_tvalid.next = self.soft_reset.tx_valid.val();
        self.soft_reset.tx_ready.next = self.m_axis_tready.val();

        // Gauges and events.
        self.registers.outstanding.next = self.receiver.outstanding.val();
        self.registers.unsolicited.next = self.sender.unsolicited.val();
        self.registers.free_slots.next = self.sender.free_slots.val();
        self.registers.free_contexts.next = self.lookup.free_contexts.val();
        self.registers.free_blocks.next = self.receiver.free_blocks.val();
        self.registers.tombstones.next = self.lookup.tombstones.val().get_bits::<16>(0);
        self.registers.ready.next = self.sq_fetch.ready.val()
            & self.send_tally.ready.val()
            & self.rq_fetch.ready.val()
            & self.cq_writer.ready.val()
            & self.access.ready.val()
            & self.lookup.ready.val()
            & self.match_table.ready.val()
            & self.receiver.ready.val()
            & self.path_ready.val()
            & self.sender.ready.val()
            & self.path_scheduler.ready.val()
            & self.tx_datagram.ready.val();
        self.event_map.clk.next = self.clk.val();
        self.event_map.rst.next = self.rst.val();
        self.event_map.rx.next = self.rx_events.val();
        self.event_map.tx.next = self.tx_events.val();
        self.event_map.stale.next = self.lookup.stale.val();
        self.event_map.busy_receive.next = self.lookup.busy_receive.val();
        self.event_map.busy_resources.next = self.lookup.busy_resources.val();
        self.event_map.busy_conflict.next = self.lookup.busy_conflict.val();
        self.event_map.no_context.next = self.lookup.no_context.val();
        self.event_map.finished.next = self.lookup.finished.val();
        self.event_map.ud_receive.next = self.lookup.ud_receive.val();
        self.event_map.busy_quota.next = self.lookup.busy_quota.val();
        self.event_map.opened.next = self.lookup.opened.val();
        self.event_map.tags_full.next = self.match_table.event_full.val();
        self.event_map.mismatch.next = self.receiver.mismatch.val();
        self.event_map.duplicate.next = self.receiver.duplicate.val();
        self.event_map.not_granted.next = self.receiver.not_granted.val();
        self.event_map.remote_access.next = self.receiver.remote_access.val();
        self.event_map.rx_new.next = self.receiver.rx_new.val();
        self.event_map.rx_completed.next = self.receiver.rx_completed.val();
        self.event_map.rx_aborted.next = self.receiver.rx_aborted.val();
        self.event_map.nack_expiries.next = self.receiver.nack_expiries.val();
        self.event_map.grants_sent.next = self.receiver.grants_sent.val();
        self.event_map.rounds_done.next = self.receiver.rounds_done.val();
        self.event_map.round_pulls.next = self.receiver.round_pulls.val();
        self.event_map.receiver_pop.next = self.receiver.wheel_pop.val();
        self.event_map.receiver_late.next = self.receiver.wheel_late.val();
        self.event_map.feedback_stale.next = self.sender.feedback_stale.val();
        self.event_map.feedback_forged.next = self.sender.feedback_forged.val();
        self.event_map.feedback_nonsense.next = self.sender.feedback_nonsense.val();
        self.event_map.nack_overflow.next = self.sender.nack_overflow.val();
        self.event_map.sender_pop.next = self.sender.wheel_pop.val();
        self.event_map.sender_late.next = self.sender.wheel_late.val();
        self.event_map.tx_opened.next = self.sender.tx_opened.val();
        self.event_map.tx_completed.next = self.sender.tx_completed.val();
        self.event_map.tx_failed.next = self.sender.tx_failed.val();
        self.event_map.backstop_expiries.next = self.sender.backstop_expiries.val();
        self.event_map.recycled.next = self.path_scheduler.recycled.val();
        self.event_map.ring_write_error.next = self.cq_writer.event_dma_error.val();
        self.event_map.overrun.next = self.cq_writer.event_overrun.val();
        self.event_map.ring_read_error.next = self.ctrl_read_mux.dma_error.val();
        self.event_map.payload_write_error.next = self.write_error.val();
        self.event_map.area_write_error.next = self.chunks.dma_error.val();
        self.event_map.payload_read_error.next = self.failed.val().valid;
        self.registers.events.next = self.event_map.events.val();
    }
}
