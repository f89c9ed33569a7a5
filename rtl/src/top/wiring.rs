//! Core and path, joined.

use super::TesseraNic;
use crate::prelude::*;

impl Logic for TesseraNic {
    #[hdl_gen]
    fn update(&mut self) {
        self.core.clk.next = self.clk.val();
        self.core.rst.next = self.rst.val();
        self.path.clk.next = self.clk.val();
        self.path.rst.next = self.rst.val();

        // Between the two.
        self.path.core_rst.next = self.core.core_rst.val();
        self.path.closed.next = self.core.closed.val();
        self.core.quiet.next = self.path.quiet.val();
        self.path.settings.next = self.core.settings.val();
        self.path.now.next = self.core.now.val();
        self.path.table_write.next = self.core.table_write.val();
        self.core.rx_data_valid.next = self.path.rx_data_valid.val();
        self.core.rx_data_data.next = self.path.rx_data_data.val();
        self.path.rx_data_ready.next = self.core.rx_data_ready.val();
        self.core.rx_feedback_valid.next = self.path.rx_feedback_valid.val();
        self.core.rx_feedback_data.next = self.path.rx_feedback_data.val();
        self.path.rx_feedback_ready.next = self.core.rx_feedback_ready.val();
        self.core.rx_events.next = self.path.rx_events.val();
        self.path.place_valid.next = self.core.place_valid.val();
        self.path.place_data.next = self.core.place_data.val();
        self.core.place_ready.next = self.path.place_ready.val();
        self.core.fence_valid.next = self.path.fence_valid.val();
        self.core.fence_data.next = self.path.fence_data.val();
        self.path.fence_ready.next = self.core.fence_ready.val();
        self.core.issued.next = self.path.issued.val();
        self.core.ring_head.next = self.path.ring_head.val();
        self.core.ring_tail.next = self.path.ring_tail.val();
        self.core.write_error.next = self.path.write_error.val();
        self.path.packet_valid.next = self.core.packet_valid.val();
        self.path.packet_data.next = self.core.packet_data.val();
        self.core.packet_ready.next = self.path.packet_ready.val();
        self.core.failed.next = self.path.failed.val();
        self.path.answer_valid.next = self.core.answer_valid.val();
        self.path.answer_data.next = self.core.answer_data.val();
        self.core.answer_ready.next = self.path.answer_ready.val();
        self.path.ev.next = self.core.ev.val();
        self.path.ev_asks.next = self.core.ev_asks.val();
        self.core.ev_take.next = self.path.ev_take.val();
        self.core.ev_gid.next = self.path.ev_gid.val();
        self.core.ev_kind.next = self.path.ev_kind.val();
        self.core.sent.next = self.path.sent.val();
        self.core.said.next = self.path.said.val();
        self.core.tx_events.next = self.path.tx_events.val();
        self.core.path_ready.next = self.path.ready.val();

        // Frames.
        self.core.s_axis_tvalid.next = self.s_axis_tvalid.val();
        self.core.s_axis_tlast.next = self.s_axis_tlast.val();
        self.path.s_axis_tvalid.next = self.core.rx_valid.val();
        self.path.s_axis_tdata.next = self.s_axis_tdata.val();
        self.path.s_axis_tkeep.next = self.s_axis_tkeep.val();
        self.path.s_axis_tlast.next = self.s_axis_tlast.val();
        self.path.s_axis_tuser.next = self.s_axis_tuser.val();
        self.s_axis_tready.next = self.path.s_axis_tready.val();
        self.core.tx_valid.next = self.path.m_axis_tvalid.val();
        self.core.tx_last.next = self.path.m_axis_tlast.val();
        self.path.m_axis_tready.next = self.core.tx_ready.val();
        self.m_axis_tvalid.next = self.core.m_axis_tvalid.val();
        self.core.m_axis_tready.next = self.m_axis_tready.val();
        self.m_axis_tdata.next = self.path.m_axis_tdata.val();
        self.m_axis_tkeep.next = self.path.m_axis_tkeep.val();
        self.m_axis_tlast.next = self.path.m_axis_tlast.val();

        // Registers and rings.
        self.core.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.core.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.core.s_axil_awready.val();
        self.core.s_axil_wdata.next = self.s_axil_wdata.val();
        self.core.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.core.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.core.s_axil_wready.val();
        self.s_axil_bresp.next = self.core.s_axil_bresp.val();
        self.s_axil_bvalid.next = self.core.s_axil_bvalid.val();
        self.core.s_axil_bready.next = self.s_axil_bready.val();
        self.core.s_axil_araddr.next = self.s_axil_araddr.val();
        self.core.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.core.s_axil_arready.val();
        self.s_axil_rdata.next = self.core.s_axil_rdata.val();
        self.s_axil_rresp.next = self.core.s_axil_rresp.val();
        self.s_axil_rvalid.next = self.core.s_axil_rvalid.val();
        self.core.s_axil_rready.next = self.s_axil_rready.val();
        self.irq.next = self.core.irq.val();
        self.dma_ctrl_read_desc_valid.next = self.core.dma_ctrl_read_desc_valid.val();
        self.core.dma_ctrl_read_desc_ready.next = self.dma_ctrl_read_desc_ready.val();
        self.dma_ctrl_read_desc_address.next = self.core.dma_ctrl_read_desc_address.val();
        self.dma_ctrl_read_desc_length.next = self.core.dma_ctrl_read_desc_length.val();
        self.dma_ctrl_read_desc_tag.next = self.core.dma_ctrl_read_desc_tag.val();
        self.core.dma_ctrl_read_data_valid.next = self.dma_ctrl_read_data_valid.val();
        self.dma_ctrl_read_data_ready.next = self.core.dma_ctrl_read_data_ready.val();
        self.core.dma_ctrl_read_data_tdata.next = self.dma_ctrl_read_data_tdata.val();
        self.core.dma_ctrl_read_data_tlast.next = self.dma_ctrl_read_data_tlast.val();
        self.core.dma_ctrl_read_status_valid.next = self.dma_ctrl_read_status_valid.val();
        self.core.dma_ctrl_read_status_tag.next = self.dma_ctrl_read_status_tag.val();
        self.core.dma_ctrl_read_status_error.next = self.dma_ctrl_read_status_error.val();
        self.dma_ctrl_write_desc_valid.next = self.core.dma_ctrl_write_desc_valid.val();
        self.core.dma_ctrl_write_desc_ready.next = self.dma_ctrl_write_desc_ready.val();
        self.dma_ctrl_write_desc_address.next = self.core.dma_ctrl_write_desc_address.val();
        self.dma_ctrl_write_desc_length.next = self.core.dma_ctrl_write_desc_length.val();
        self.dma_ctrl_write_desc_tag.next = self.core.dma_ctrl_write_desc_tag.val();
        self.dma_ctrl_write_data_valid.next = self.core.dma_ctrl_write_data_valid.val();
        self.core.dma_ctrl_write_data_ready.next = self.dma_ctrl_write_data_ready.val();
        self.dma_ctrl_write_data_tdata.next = self.core.dma_ctrl_write_data_tdata.val();
        self.dma_ctrl_write_data_tkeep.next = self.core.dma_ctrl_write_data_tkeep.val();
        self.dma_ctrl_write_data_tlast.next = self.core.dma_ctrl_write_data_tlast.val();
        self.core.dma_ctrl_write_status_valid.next = self.dma_ctrl_write_status_valid.val();
        self.core.dma_ctrl_write_status_tag.next = self.dma_ctrl_write_status_tag.val();
        self.core.dma_ctrl_write_status_error.next = self.dma_ctrl_write_status_error.val();

        // Payload.
        self.dma_data_read_desc_valid.next = self.path.dma_data_read_desc_valid.val();
        self.path.dma_data_read_desc_ready.next = self.dma_data_read_desc_ready.val();
        self.dma_data_read_desc_address.next = self.path.dma_data_read_desc_address.val();
        self.dma_data_read_desc_length.next = self.path.dma_data_read_desc_length.val();
        self.dma_data_read_desc_tag.next = self.path.dma_data_read_desc_tag.val();
        self.path.dma_data_read_data_valid.next = self.dma_data_read_data_valid.val();
        self.dma_data_read_data_ready.next = self.path.dma_data_read_data_ready.val();
        self.path.dma_data_read_data_tdata.next = self.dma_data_read_data_tdata.val();
        self.path.dma_data_read_data_tlast.next = self.dma_data_read_data_tlast.val();
        self.path.dma_data_read_status_valid.next = self.dma_data_read_status_valid.val();
        self.path.dma_data_read_status_tag.next = self.dma_data_read_status_tag.val();
        self.path.dma_data_read_status_error.next = self.dma_data_read_status_error.val();
        self.dma_data_write_desc_valid.next = self.path.dma_data_write_desc_valid.val();
        self.path.dma_data_write_desc_ready.next = self.dma_data_write_desc_ready.val();
        self.dma_data_write_desc_address.next = self.path.dma_data_write_desc_address.val();
        self.dma_data_write_desc_length.next = self.path.dma_data_write_desc_length.val();
        self.dma_data_write_desc_tag.next = self.path.dma_data_write_desc_tag.val();
        self.dma_data_write_data_valid.next = self.path.dma_data_write_data_valid.val();
        self.path.dma_data_write_data_ready.next = self.dma_data_write_data_ready.val();
        self.dma_data_write_data_tdata.next = self.path.dma_data_write_data_tdata.val();
        self.dma_data_write_data_tkeep.next = self.path.dma_data_write_data_tkeep.val();
        self.dma_data_write_data_tlast.next = self.path.dma_data_write_data_tlast.val();
        self.path.dma_data_write_status_valid.next = self.dma_data_write_status_valid.val();
        self.path.dma_data_write_status_tag.next = self.dma_data_write_status_tag.val();
        self.path.dma_data_write_status_error.next = self.dma_data_write_status_error.val();
    }
}
