// Tessera as the application block of a Corundum: reliable messages beside the NIC's own traffic.
//
//   BAR 2 ─> s_axil_app_ctrl ──┐
//   s_axis_sync_rx[P] ─────────┤ tessera_corundum ├── m_axis_sync_rx[P]: all that is not for Tessera
//   s_axis_sync_tx[P] ─────────┤  (exported Verilog)├── m_axis_sync_tx[P]: and what Tessera sends
//   DMA, classes ctrl and data ┘
//
// Beside this file: tessera_corundum.v, which `cargo tessera export --shell corundum` writes. What is
// set where, and what else there is to know: docs/corundum.md. Ports and parameters are those of
// Corundum's block, of release 1ca0151b (ports.txt); everything else is Tessera's.

`timescale 1ns / 1ps
`default_nettype none

// The ports and parameters are given; not all are of use here.
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
module mqnic_app_block #(
    // Structure
    parameter IF_COUNT = 1,
    parameter PORTS_PER_IF = 1,
    parameter SCHED_PER_IF = PORTS_PER_IF,
    parameter PORT_COUNT = IF_COUNT * PORTS_PER_IF,
    // Clocks
    parameter CLK_PERIOD_NS_NUM = 4,
    parameter CLK_PERIOD_NS_DENOM = 1,
    parameter PTP_CLK_PERIOD_NS_NUM = 4,
    parameter PTP_CLK_PERIOD_NS_DENOM = 1,
    parameter PTP_USE_SAMPLE_CLOCK = 0,
    parameter PTP_PORT_CDC_PIPELINE = 0,
    parameter PTP_PEROUT_ENABLE = 0,
    parameter PTP_PEROUT_COUNT = 1,
    parameter PTP_TS_ENABLE = 1,
    parameter PTP_TS_FMT_TOD = 1,
    parameter PTP_TS_WIDTH = PTP_TS_FMT_TOD ? 96 : 48,
    parameter TX_TAG_WIDTH = 16,
    parameter MAX_TX_SIZE = 9214,
    parameter MAX_RX_SIZE = 9214,
    // Memories of the board
    parameter DDR_CH = 1,
    parameter DDR_ENABLE = 0,
    parameter DDR_GROUP_SIZE = 1,
    parameter AXI_DDR_DATA_WIDTH = 256,
    parameter AXI_DDR_ADDR_WIDTH = 32,
    parameter AXI_DDR_STRB_WIDTH = AXI_DDR_DATA_WIDTH / 8,
    parameter AXI_DDR_ID_WIDTH = 8,
    parameter AXI_DDR_AWUSER_ENABLE = 0,
    parameter AXI_DDR_AWUSER_WIDTH = 1,
    parameter AXI_DDR_WUSER_ENABLE = 0,
    parameter AXI_DDR_WUSER_WIDTH = 1,
    parameter AXI_DDR_BUSER_ENABLE = 0,
    parameter AXI_DDR_BUSER_WIDTH = 1,
    parameter AXI_DDR_ARUSER_ENABLE = 0,
    parameter AXI_DDR_ARUSER_WIDTH = 1,
    parameter AXI_DDR_RUSER_ENABLE = 0,
    parameter AXI_DDR_RUSER_WIDTH = 1,
    parameter AXI_DDR_MAX_BURST_LEN = 256,
    parameter AXI_DDR_NARROW_BURST = 0,
    parameter AXI_DDR_FIXED_BURST = 0,
    parameter AXI_DDR_WRAP_BURST = 0,
    parameter HBM_CH = 1,
    parameter HBM_ENABLE = 0,
    parameter HBM_GROUP_SIZE = 1,
    parameter AXI_HBM_DATA_WIDTH = 256,
    parameter AXI_HBM_ADDR_WIDTH = 32,
    parameter AXI_HBM_STRB_WIDTH = AXI_HBM_DATA_WIDTH / 8,
    parameter AXI_HBM_ID_WIDTH = 8,
    parameter AXI_HBM_AWUSER_ENABLE = 0,
    parameter AXI_HBM_AWUSER_WIDTH = 1,
    parameter AXI_HBM_WUSER_ENABLE = 0,
    parameter AXI_HBM_WUSER_WIDTH = 1,
    parameter AXI_HBM_BUSER_ENABLE = 0,
    parameter AXI_HBM_BUSER_WIDTH = 1,
    parameter AXI_HBM_ARUSER_ENABLE = 0,
    parameter AXI_HBM_ARUSER_WIDTH = 1,
    parameter AXI_HBM_RUSER_ENABLE = 0,
    parameter AXI_HBM_RUSER_WIDTH = 1,
    parameter AXI_HBM_MAX_BURST_LEN = 256,
    parameter AXI_HBM_NARROW_BURST = 0,
    parameter AXI_HBM_FIXED_BURST = 0,
    parameter AXI_HBM_WRAP_BURST = 0,
    // The block
    parameter APP_ID = 32'h5453_0001,
    parameter APP_CTRL_ENABLE = 1,
    parameter APP_DMA_ENABLE = 1,
    parameter APP_AXIS_DIRECT_ENABLE = 1,
    parameter APP_AXIS_SYNC_ENABLE = 1,
    parameter APP_AXIS_IF_ENABLE = 1,
    parameter APP_STAT_ENABLE = 1,
    parameter APP_GPIO_IN_WIDTH = 32,
    parameter APP_GPIO_OUT_WIDTH = 32,
    // DMA
    parameter DMA_ADDR_WIDTH = 64,
    parameter DMA_IMM_ENABLE = 0,
    parameter DMA_IMM_WIDTH = 32,
    parameter DMA_LEN_WIDTH = 16,
    parameter DMA_TAG_WIDTH = 16,
    parameter RAM_SEL_WIDTH = 1,
    parameter RAM_ADDR_WIDTH = 17,
    parameter RAM_SEG_COUNT = 2,
    parameter RAM_SEG_DATA_WIDTH = 512,
    parameter RAM_SEG_BE_WIDTH = RAM_SEG_DATA_WIDTH / 8,
    parameter RAM_SEG_ADDR_WIDTH = RAM_ADDR_WIDTH - $clog2(RAM_SEG_COUNT * RAM_SEG_BE_WIDTH),
    parameter RAM_PIPELINE = 2,
    // Registers
    parameter AXIL_APP_CTRL_DATA_WIDTH = 32,
    parameter AXIL_APP_CTRL_ADDR_WIDTH = 24,
    parameter AXIL_APP_CTRL_STRB_WIDTH = AXIL_APP_CTRL_DATA_WIDTH / 8,
    parameter AXIL_CTRL_DATA_WIDTH = 32,
    parameter AXIL_CTRL_ADDR_WIDTH = 24,
    parameter AXIL_CTRL_STRB_WIDTH = AXIL_CTRL_DATA_WIDTH / 8,
    // Frames
    parameter AXIS_DATA_WIDTH = 512,
    parameter AXIS_KEEP_WIDTH = AXIS_DATA_WIDTH / 8,
    parameter AXIS_TX_USER_WIDTH = TX_TAG_WIDTH + 1,
    parameter AXIS_RX_USER_WIDTH = (PTP_TS_ENABLE ? PTP_TS_WIDTH : 0) + 1,
    parameter AXIS_RX_USE_READY = 0,
    parameter AXIS_SYNC_DATA_WIDTH = AXIS_DATA_WIDTH,
    parameter AXIS_SYNC_KEEP_WIDTH = AXIS_SYNC_DATA_WIDTH / 8,
    parameter AXIS_SYNC_TX_USER_WIDTH = AXIS_TX_USER_WIDTH,
    parameter AXIS_SYNC_RX_USER_WIDTH = AXIS_RX_USER_WIDTH,
    parameter AXIS_IF_DATA_WIDTH = AXIS_SYNC_DATA_WIDTH * 2 ** $clog2(PORTS_PER_IF),
    parameter AXIS_IF_KEEP_WIDTH = AXIS_IF_DATA_WIDTH / 8,
    parameter AXIS_IF_TX_ID_WIDTH = 12,
    parameter AXIS_IF_RX_ID_WIDTH = PORTS_PER_IF > 1 ? $clog2(PORTS_PER_IF) : 1,
    parameter AXIS_IF_TX_DEST_WIDTH = $clog2(PORTS_PER_IF) + 4,
    parameter AXIS_IF_RX_DEST_WIDTH = 8,
    parameter AXIS_IF_TX_USER_WIDTH = AXIS_SYNC_TX_USER_WIDTH,
    parameter AXIS_IF_RX_USER_WIDTH = AXIS_SYNC_RX_USER_WIDTH,
    // Statistics
    parameter STAT_ENABLE = 1,
    parameter STAT_INC_WIDTH = 24,
    parameter STAT_ID_WIDTH = 12,
    // Ours: the port that the NIC is at, and the first of its two statistics counters
    parameter TESSERA_PORT = 0,
    parameter TESSERA_STAT_ID = 2 ** STAT_ID_WIDTH - 2
) (
    // Clock and reset
    input  wire clk,
    input  wire rst,
    // Registers of the block: BAR 2
    input  wire [AXIL_APP_CTRL_ADDR_WIDTH - 1:0] s_axil_app_ctrl_awaddr,
    input  wire [2:0] s_axil_app_ctrl_awprot,
    input  wire s_axil_app_ctrl_awvalid,
    output wire s_axil_app_ctrl_awready,
    input  wire [AXIL_APP_CTRL_DATA_WIDTH - 1:0] s_axil_app_ctrl_wdata,
    input  wire [AXIL_APP_CTRL_STRB_WIDTH - 1:0] s_axil_app_ctrl_wstrb,
    input  wire s_axil_app_ctrl_wvalid,
    output wire s_axil_app_ctrl_wready,
    output wire [1:0] s_axil_app_ctrl_bresp,
    output wire s_axil_app_ctrl_bvalid,
    input  wire s_axil_app_ctrl_bready,
    input  wire [AXIL_APP_CTRL_ADDR_WIDTH - 1:0] s_axil_app_ctrl_araddr,
    input  wire [2:0] s_axil_app_ctrl_arprot,
    input  wire s_axil_app_ctrl_arvalid,
    output wire s_axil_app_ctrl_arready,
    output wire [AXIL_APP_CTRL_DATA_WIDTH - 1:0] s_axil_app_ctrl_rdata,
    output wire [1:0] s_axil_app_ctrl_rresp,
    output wire s_axil_app_ctrl_rvalid,
    input  wire s_axil_app_ctrl_rready,
    // Registers of Corundum
    output wire [AXIL_CTRL_ADDR_WIDTH - 1:0] m_axil_ctrl_awaddr,
    output wire [2:0] m_axil_ctrl_awprot,
    output wire m_axil_ctrl_awvalid,
    input  wire m_axil_ctrl_awready,
    output wire [AXIL_CTRL_DATA_WIDTH - 1:0] m_axil_ctrl_wdata,
    output wire [AXIL_CTRL_STRB_WIDTH - 1:0] m_axil_ctrl_wstrb,
    output wire m_axil_ctrl_wvalid,
    input  wire m_axil_ctrl_wready,
    input  wire [1:0] m_axil_ctrl_bresp,
    input  wire m_axil_ctrl_bvalid,
    output wire m_axil_ctrl_bready,
    output wire [AXIL_CTRL_ADDR_WIDTH - 1:0] m_axil_ctrl_araddr,
    output wire [2:0] m_axil_ctrl_arprot,
    output wire m_axil_ctrl_arvalid,
    input  wire m_axil_ctrl_arready,
    input  wire [AXIL_CTRL_DATA_WIDTH - 1:0] m_axil_ctrl_rdata,
    input  wire [1:0] m_axil_ctrl_rresp,
    input  wire m_axil_ctrl_rvalid,
    output wire m_axil_ctrl_rready,
    // DMA, class ctrl
    output wire [DMA_ADDR_WIDTH - 1:0] m_axis_ctrl_dma_read_desc_dma_addr,
    output wire [RAM_SEL_WIDTH - 1:0] m_axis_ctrl_dma_read_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH - 1:0] m_axis_ctrl_dma_read_desc_ram_addr,
    output wire [DMA_LEN_WIDTH - 1:0] m_axis_ctrl_dma_read_desc_len,
    output wire [DMA_TAG_WIDTH - 1:0] m_axis_ctrl_dma_read_desc_tag,
    output wire m_axis_ctrl_dma_read_desc_valid,
    input  wire m_axis_ctrl_dma_read_desc_ready,
    input  wire [DMA_TAG_WIDTH - 1:0] s_axis_ctrl_dma_read_desc_status_tag,
    input  wire [3:0] s_axis_ctrl_dma_read_desc_status_error,
    input  wire s_axis_ctrl_dma_read_desc_status_valid,
    output wire [DMA_ADDR_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_dma_addr,
    output wire [RAM_SEL_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_ram_addr,
    output wire [DMA_IMM_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_imm,
    output wire m_axis_ctrl_dma_write_desc_imm_en,
    output wire [DMA_LEN_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_len,
    output wire [DMA_TAG_WIDTH - 1:0] m_axis_ctrl_dma_write_desc_tag,
    output wire m_axis_ctrl_dma_write_desc_valid,
    input  wire m_axis_ctrl_dma_write_desc_ready,
    input  wire [DMA_TAG_WIDTH - 1:0] s_axis_ctrl_dma_write_desc_status_tag,
    input  wire [3:0] s_axis_ctrl_dma_write_desc_status_error,
    input  wire s_axis_ctrl_dma_write_desc_status_valid,
    // DMA, class data
    output wire [DMA_ADDR_WIDTH - 1:0] m_axis_data_dma_read_desc_dma_addr,
    output wire [RAM_SEL_WIDTH - 1:0] m_axis_data_dma_read_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH - 1:0] m_axis_data_dma_read_desc_ram_addr,
    output wire [DMA_LEN_WIDTH - 1:0] m_axis_data_dma_read_desc_len,
    output wire [DMA_TAG_WIDTH - 1:0] m_axis_data_dma_read_desc_tag,
    output wire m_axis_data_dma_read_desc_valid,
    input  wire m_axis_data_dma_read_desc_ready,
    input  wire [DMA_TAG_WIDTH - 1:0] s_axis_data_dma_read_desc_status_tag,
    input  wire [3:0] s_axis_data_dma_read_desc_status_error,
    input  wire s_axis_data_dma_read_desc_status_valid,
    output wire [DMA_ADDR_WIDTH - 1:0] m_axis_data_dma_write_desc_dma_addr,
    output wire [RAM_SEL_WIDTH - 1:0] m_axis_data_dma_write_desc_ram_sel,
    output wire [RAM_ADDR_WIDTH - 1:0] m_axis_data_dma_write_desc_ram_addr,
    output wire [DMA_IMM_WIDTH - 1:0] m_axis_data_dma_write_desc_imm,
    output wire m_axis_data_dma_write_desc_imm_en,
    output wire [DMA_LEN_WIDTH - 1:0] m_axis_data_dma_write_desc_len,
    output wire [DMA_TAG_WIDTH - 1:0] m_axis_data_dma_write_desc_tag,
    output wire m_axis_data_dma_write_desc_valid,
    input  wire m_axis_data_dma_write_desc_ready,
    input  wire [DMA_TAG_WIDTH - 1:0] s_axis_data_dma_write_desc_status_tag,
    input  wire [3:0] s_axis_data_dma_write_desc_status_error,
    input  wire s_axis_data_dma_write_desc_status_valid,
    // Its RAM, class ctrl
    input  wire [RAM_SEG_COUNT * RAM_SEL_WIDTH - 1:0] ctrl_dma_ram_wr_cmd_sel,
    input  wire [RAM_SEG_COUNT * RAM_SEG_BE_WIDTH - 1:0] ctrl_dma_ram_wr_cmd_be,
    input  wire [RAM_SEG_COUNT * RAM_SEG_ADDR_WIDTH - 1:0] ctrl_dma_ram_wr_cmd_addr,
    input  wire [RAM_SEG_COUNT * RAM_SEG_DATA_WIDTH - 1:0] ctrl_dma_ram_wr_cmd_data,
    input  wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_wr_cmd_valid,
    output wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_wr_cmd_ready,
    output wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_wr_done,
    input  wire [RAM_SEG_COUNT * RAM_SEL_WIDTH - 1:0] ctrl_dma_ram_rd_cmd_sel,
    input  wire [RAM_SEG_COUNT * RAM_SEG_ADDR_WIDTH - 1:0] ctrl_dma_ram_rd_cmd_addr,
    input  wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_rd_cmd_valid,
    output wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_rd_cmd_ready,
    output wire [RAM_SEG_COUNT * RAM_SEG_DATA_WIDTH - 1:0] ctrl_dma_ram_rd_resp_data,
    output wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_rd_resp_valid,
    input  wire [RAM_SEG_COUNT - 1:0] ctrl_dma_ram_rd_resp_ready,
    // Its RAM, class data
    input  wire [RAM_SEG_COUNT * RAM_SEL_WIDTH - 1:0] data_dma_ram_wr_cmd_sel,
    input  wire [RAM_SEG_COUNT * RAM_SEG_BE_WIDTH - 1:0] data_dma_ram_wr_cmd_be,
    input  wire [RAM_SEG_COUNT * RAM_SEG_ADDR_WIDTH - 1:0] data_dma_ram_wr_cmd_addr,
    input  wire [RAM_SEG_COUNT * RAM_SEG_DATA_WIDTH - 1:0] data_dma_ram_wr_cmd_data,
    input  wire [RAM_SEG_COUNT - 1:0] data_dma_ram_wr_cmd_valid,
    output wire [RAM_SEG_COUNT - 1:0] data_dma_ram_wr_cmd_ready,
    output wire [RAM_SEG_COUNT - 1:0] data_dma_ram_wr_done,
    input  wire [RAM_SEG_COUNT * RAM_SEL_WIDTH - 1:0] data_dma_ram_rd_cmd_sel,
    input  wire [RAM_SEG_COUNT * RAM_SEG_ADDR_WIDTH - 1:0] data_dma_ram_rd_cmd_addr,
    input  wire [RAM_SEG_COUNT - 1:0] data_dma_ram_rd_cmd_valid,
    output wire [RAM_SEG_COUNT - 1:0] data_dma_ram_rd_cmd_ready,
    output wire [RAM_SEG_COUNT * RAM_SEG_DATA_WIDTH - 1:0] data_dma_ram_rd_resp_data,
    output wire [RAM_SEG_COUNT - 1:0] data_dma_ram_rd_resp_valid,
    input  wire [RAM_SEG_COUNT - 1:0] data_dma_ram_rd_resp_ready,
    // PTP
    input  wire ptp_clk,
    input  wire ptp_rst,
    input  wire ptp_sample_clk,
    input  wire ptp_td_sd,
    input  wire ptp_pps,
    input  wire ptp_pps_str,
    input  wire ptp_sync_locked,
    input  wire [63:0] ptp_sync_ts_rel,
    input  wire ptp_sync_ts_rel_step,
    input  wire [95:0] ptp_sync_ts_tod,
    input  wire ptp_sync_ts_tod_step,
    input  wire ptp_sync_pps,
    input  wire ptp_sync_pps_str,
    input  wire [PTP_PEROUT_COUNT - 1:0] ptp_perout_locked,
    input  wire [PTP_PEROUT_COUNT - 1:0] ptp_perout_error,
    input  wire [PTP_PEROUT_COUNT - 1:0] ptp_perout_pulse,
    // Frames at the MACs
    input  wire [PORT_COUNT - 1:0] direct_tx_clk,
    input  wire [PORT_COUNT - 1:0] direct_tx_rst,
    input  wire [PORT_COUNT * AXIS_DATA_WIDTH - 1:0] s_axis_direct_tx_tdata,
    input  wire [PORT_COUNT * AXIS_KEEP_WIDTH - 1:0] s_axis_direct_tx_tkeep,
    input  wire [PORT_COUNT - 1:0] s_axis_direct_tx_tvalid,
    output wire [PORT_COUNT - 1:0] s_axis_direct_tx_tready,
    input  wire [PORT_COUNT - 1:0] s_axis_direct_tx_tlast,
    input  wire [PORT_COUNT * AXIS_TX_USER_WIDTH - 1:0] s_axis_direct_tx_tuser,
    output wire [PORT_COUNT * AXIS_DATA_WIDTH - 1:0] m_axis_direct_tx_tdata,
    output wire [PORT_COUNT * AXIS_KEEP_WIDTH - 1:0] m_axis_direct_tx_tkeep,
    output wire [PORT_COUNT - 1:0] m_axis_direct_tx_tvalid,
    input  wire [PORT_COUNT - 1:0] m_axis_direct_tx_tready,
    output wire [PORT_COUNT - 1:0] m_axis_direct_tx_tlast,
    output wire [PORT_COUNT * AXIS_TX_USER_WIDTH - 1:0] m_axis_direct_tx_tuser,
    input  wire [PORT_COUNT * PTP_TS_WIDTH - 1:0] s_axis_direct_tx_cpl_ts,
    input  wire [PORT_COUNT * TX_TAG_WIDTH - 1:0] s_axis_direct_tx_cpl_tag,
    input  wire [PORT_COUNT - 1:0] s_axis_direct_tx_cpl_valid,
    output wire [PORT_COUNT - 1:0] s_axis_direct_tx_cpl_ready,
    output wire [PORT_COUNT * PTP_TS_WIDTH - 1:0] m_axis_direct_tx_cpl_ts,
    output wire [PORT_COUNT * TX_TAG_WIDTH - 1:0] m_axis_direct_tx_cpl_tag,
    output wire [PORT_COUNT - 1:0] m_axis_direct_tx_cpl_valid,
    input  wire [PORT_COUNT - 1:0] m_axis_direct_tx_cpl_ready,
    input  wire [PORT_COUNT - 1:0] direct_rx_clk,
    input  wire [PORT_COUNT - 1:0] direct_rx_rst,
    input  wire [PORT_COUNT * AXIS_DATA_WIDTH - 1:0] s_axis_direct_rx_tdata,
    input  wire [PORT_COUNT * AXIS_KEEP_WIDTH - 1:0] s_axis_direct_rx_tkeep,
    input  wire [PORT_COUNT - 1:0] s_axis_direct_rx_tvalid,
    output wire [PORT_COUNT - 1:0] s_axis_direct_rx_tready,
    input  wire [PORT_COUNT - 1:0] s_axis_direct_rx_tlast,
    input  wire [PORT_COUNT * AXIS_RX_USER_WIDTH - 1:0] s_axis_direct_rx_tuser,
    output wire [PORT_COUNT * AXIS_DATA_WIDTH - 1:0] m_axis_direct_rx_tdata,
    output wire [PORT_COUNT * AXIS_KEEP_WIDTH - 1:0] m_axis_direct_rx_tkeep,
    output wire [PORT_COUNT - 1:0] m_axis_direct_rx_tvalid,
    input  wire [PORT_COUNT - 1:0] m_axis_direct_rx_tready,
    output wire [PORT_COUNT - 1:0] m_axis_direct_rx_tlast,
    output wire [PORT_COUNT * AXIS_RX_USER_WIDTH - 1:0] m_axis_direct_rx_tuser,
    // Frames at the MACs, in the clock of the block
    input  wire [PORT_COUNT * AXIS_SYNC_DATA_WIDTH - 1:0] s_axis_sync_tx_tdata,
    input  wire [PORT_COUNT * AXIS_SYNC_KEEP_WIDTH - 1:0] s_axis_sync_tx_tkeep,
    input  wire [PORT_COUNT - 1:0] s_axis_sync_tx_tvalid,
    output wire [PORT_COUNT - 1:0] s_axis_sync_tx_tready,
    input  wire [PORT_COUNT - 1:0] s_axis_sync_tx_tlast,
    input  wire [PORT_COUNT * AXIS_SYNC_TX_USER_WIDTH - 1:0] s_axis_sync_tx_tuser,
    output wire [PORT_COUNT * AXIS_SYNC_DATA_WIDTH - 1:0] m_axis_sync_tx_tdata,
    output wire [PORT_COUNT * AXIS_SYNC_KEEP_WIDTH - 1:0] m_axis_sync_tx_tkeep,
    output wire [PORT_COUNT - 1:0] m_axis_sync_tx_tvalid,
    input  wire [PORT_COUNT - 1:0] m_axis_sync_tx_tready,
    output wire [PORT_COUNT - 1:0] m_axis_sync_tx_tlast,
    output wire [PORT_COUNT * AXIS_SYNC_TX_USER_WIDTH - 1:0] m_axis_sync_tx_tuser,
    input  wire [PORT_COUNT * PTP_TS_WIDTH - 1:0] s_axis_sync_tx_cpl_ts,
    input  wire [PORT_COUNT * TX_TAG_WIDTH - 1:0] s_axis_sync_tx_cpl_tag,
    input  wire [PORT_COUNT - 1:0] s_axis_sync_tx_cpl_valid,
    output wire [PORT_COUNT - 1:0] s_axis_sync_tx_cpl_ready,
    output wire [PORT_COUNT * PTP_TS_WIDTH - 1:0] m_axis_sync_tx_cpl_ts,
    output wire [PORT_COUNT * TX_TAG_WIDTH - 1:0] m_axis_sync_tx_cpl_tag,
    output wire [PORT_COUNT - 1:0] m_axis_sync_tx_cpl_valid,
    input  wire [PORT_COUNT - 1:0] m_axis_sync_tx_cpl_ready,
    input  wire [PORT_COUNT * AXIS_SYNC_DATA_WIDTH - 1:0] s_axis_sync_rx_tdata,
    input  wire [PORT_COUNT * AXIS_SYNC_KEEP_WIDTH - 1:0] s_axis_sync_rx_tkeep,
    input  wire [PORT_COUNT - 1:0] s_axis_sync_rx_tvalid,
    output wire [PORT_COUNT - 1:0] s_axis_sync_rx_tready,
    input  wire [PORT_COUNT - 1:0] s_axis_sync_rx_tlast,
    input  wire [PORT_COUNT * AXIS_SYNC_RX_USER_WIDTH - 1:0] s_axis_sync_rx_tuser,
    output wire [PORT_COUNT * AXIS_SYNC_DATA_WIDTH - 1:0] m_axis_sync_rx_tdata,
    output wire [PORT_COUNT * AXIS_SYNC_KEEP_WIDTH - 1:0] m_axis_sync_rx_tkeep,
    output wire [PORT_COUNT - 1:0] m_axis_sync_rx_tvalid,
    input  wire [PORT_COUNT - 1:0] m_axis_sync_rx_tready,
    output wire [PORT_COUNT - 1:0] m_axis_sync_rx_tlast,
    output wire [PORT_COUNT * AXIS_SYNC_RX_USER_WIDTH - 1:0] m_axis_sync_rx_tuser,
    // Frames at the interfaces
    input  wire [IF_COUNT * AXIS_IF_DATA_WIDTH - 1:0] s_axis_if_tx_tdata,
    input  wire [IF_COUNT * AXIS_IF_KEEP_WIDTH - 1:0] s_axis_if_tx_tkeep,
    input  wire [IF_COUNT - 1:0] s_axis_if_tx_tvalid,
    output wire [IF_COUNT - 1:0] s_axis_if_tx_tready,
    input  wire [IF_COUNT - 1:0] s_axis_if_tx_tlast,
    input  wire [IF_COUNT * AXIS_IF_TX_ID_WIDTH - 1:0] s_axis_if_tx_tid,
    input  wire [IF_COUNT * AXIS_IF_TX_DEST_WIDTH - 1:0] s_axis_if_tx_tdest,
    input  wire [IF_COUNT * AXIS_IF_TX_USER_WIDTH - 1:0] s_axis_if_tx_tuser,
    output wire [IF_COUNT * AXIS_IF_DATA_WIDTH - 1:0] m_axis_if_tx_tdata,
    output wire [IF_COUNT * AXIS_IF_KEEP_WIDTH - 1:0] m_axis_if_tx_tkeep,
    output wire [IF_COUNT - 1:0] m_axis_if_tx_tvalid,
    input  wire [IF_COUNT - 1:0] m_axis_if_tx_tready,
    output wire [IF_COUNT - 1:0] m_axis_if_tx_tlast,
    output wire [IF_COUNT * AXIS_IF_TX_ID_WIDTH - 1:0] m_axis_if_tx_tid,
    output wire [IF_COUNT * AXIS_IF_TX_DEST_WIDTH - 1:0] m_axis_if_tx_tdest,
    output wire [IF_COUNT * AXIS_IF_TX_USER_WIDTH - 1:0] m_axis_if_tx_tuser,
    input  wire [IF_COUNT * PTP_TS_WIDTH - 1:0] s_axis_if_tx_cpl_ts,
    input  wire [IF_COUNT * TX_TAG_WIDTH - 1:0] s_axis_if_tx_cpl_tag,
    input  wire [IF_COUNT - 1:0] s_axis_if_tx_cpl_valid,
    output wire [IF_COUNT - 1:0] s_axis_if_tx_cpl_ready,
    output wire [IF_COUNT * PTP_TS_WIDTH - 1:0] m_axis_if_tx_cpl_ts,
    output wire [IF_COUNT * TX_TAG_WIDTH - 1:0] m_axis_if_tx_cpl_tag,
    output wire [IF_COUNT - 1:0] m_axis_if_tx_cpl_valid,
    input  wire [IF_COUNT - 1:0] m_axis_if_tx_cpl_ready,
    input  wire [IF_COUNT * AXIS_IF_DATA_WIDTH - 1:0] s_axis_if_rx_tdata,
    input  wire [IF_COUNT * AXIS_IF_KEEP_WIDTH - 1:0] s_axis_if_rx_tkeep,
    input  wire [IF_COUNT - 1:0] s_axis_if_rx_tvalid,
    output wire [IF_COUNT - 1:0] s_axis_if_rx_tready,
    input  wire [IF_COUNT - 1:0] s_axis_if_rx_tlast,
    input  wire [IF_COUNT * AXIS_IF_RX_ID_WIDTH - 1:0] s_axis_if_rx_tid,
    input  wire [IF_COUNT * AXIS_IF_RX_DEST_WIDTH - 1:0] s_axis_if_rx_tdest,
    input  wire [IF_COUNT * AXIS_IF_RX_USER_WIDTH - 1:0] s_axis_if_rx_tuser,
    output wire [IF_COUNT * AXIS_IF_DATA_WIDTH - 1:0] m_axis_if_rx_tdata,
    output wire [IF_COUNT * AXIS_IF_KEEP_WIDTH - 1:0] m_axis_if_rx_tkeep,
    output wire [IF_COUNT - 1:0] m_axis_if_rx_tvalid,
    input  wire [IF_COUNT - 1:0] m_axis_if_rx_tready,
    output wire [IF_COUNT - 1:0] m_axis_if_rx_tlast,
    output wire [IF_COUNT * AXIS_IF_RX_ID_WIDTH - 1:0] m_axis_if_rx_tid,
    output wire [IF_COUNT * AXIS_IF_RX_DEST_WIDTH - 1:0] m_axis_if_rx_tdest,
    output wire [IF_COUNT * AXIS_IF_RX_USER_WIDTH - 1:0] m_axis_if_rx_tuser,
    // DDR
    input  wire [DDR_CH - 1:0] ddr_clk,
    input  wire [DDR_CH - 1:0] ddr_rst,
    output wire [DDR_CH * AXI_DDR_ID_WIDTH - 1:0] m_axi_ddr_awid,
    output wire [DDR_CH * AXI_DDR_ADDR_WIDTH - 1:0] m_axi_ddr_awaddr,
    output wire [DDR_CH * 8 - 1:0] m_axi_ddr_awlen,
    output wire [DDR_CH * 3 - 1:0] m_axi_ddr_awsize,
    output wire [DDR_CH * 2 - 1:0] m_axi_ddr_awburst,
    output wire [DDR_CH - 1:0] m_axi_ddr_awlock,
    output wire [DDR_CH * 4 - 1:0] m_axi_ddr_awcache,
    output wire [DDR_CH * 3 - 1:0] m_axi_ddr_awprot,
    output wire [DDR_CH * 4 - 1:0] m_axi_ddr_awqos,
    output wire [DDR_CH * AXI_DDR_AWUSER_WIDTH - 1:0] m_axi_ddr_awuser,
    output wire [DDR_CH - 1:0] m_axi_ddr_awvalid,
    input  wire [DDR_CH - 1:0] m_axi_ddr_awready,
    output wire [DDR_CH * AXI_DDR_DATA_WIDTH - 1:0] m_axi_ddr_wdata,
    output wire [DDR_CH * AXI_DDR_STRB_WIDTH - 1:0] m_axi_ddr_wstrb,
    output wire [DDR_CH - 1:0] m_axi_ddr_wlast,
    output wire [DDR_CH * AXI_DDR_WUSER_WIDTH - 1:0] m_axi_ddr_wuser,
    output wire [DDR_CH - 1:0] m_axi_ddr_wvalid,
    input  wire [DDR_CH - 1:0] m_axi_ddr_wready,
    input  wire [DDR_CH * AXI_DDR_ID_WIDTH - 1:0] m_axi_ddr_bid,
    input  wire [DDR_CH * 2 - 1:0] m_axi_ddr_bresp,
    input  wire [DDR_CH * AXI_DDR_BUSER_WIDTH - 1:0] m_axi_ddr_buser,
    input  wire [DDR_CH - 1:0] m_axi_ddr_bvalid,
    output wire [DDR_CH - 1:0] m_axi_ddr_bready,
    output wire [DDR_CH * AXI_DDR_ID_WIDTH - 1:0] m_axi_ddr_arid,
    output wire [DDR_CH * AXI_DDR_ADDR_WIDTH - 1:0] m_axi_ddr_araddr,
    output wire [DDR_CH * 8 - 1:0] m_axi_ddr_arlen,
    output wire [DDR_CH * 3 - 1:0] m_axi_ddr_arsize,
    output wire [DDR_CH * 2 - 1:0] m_axi_ddr_arburst,
    output wire [DDR_CH - 1:0] m_axi_ddr_arlock,
    output wire [DDR_CH * 4 - 1:0] m_axi_ddr_arcache,
    output wire [DDR_CH * 3 - 1:0] m_axi_ddr_arprot,
    output wire [DDR_CH * 4 - 1:0] m_axi_ddr_arqos,
    output wire [DDR_CH * AXI_DDR_ARUSER_WIDTH - 1:0] m_axi_ddr_aruser,
    output wire [DDR_CH - 1:0] m_axi_ddr_arvalid,
    input  wire [DDR_CH - 1:0] m_axi_ddr_arready,
    input  wire [DDR_CH * AXI_DDR_ID_WIDTH - 1:0] m_axi_ddr_rid,
    input  wire [DDR_CH * AXI_DDR_DATA_WIDTH - 1:0] m_axi_ddr_rdata,
    input  wire [DDR_CH * 2 - 1:0] m_axi_ddr_rresp,
    input  wire [DDR_CH - 1:0] m_axi_ddr_rlast,
    input  wire [DDR_CH * AXI_DDR_RUSER_WIDTH - 1:0] m_axi_ddr_ruser,
    input  wire [DDR_CH - 1:0] m_axi_ddr_rvalid,
    output wire [DDR_CH - 1:0] m_axi_ddr_rready,
    input  wire [DDR_CH - 1:0] ddr_status,
    // HBM
    input  wire [HBM_CH - 1:0] hbm_clk,
    input  wire [HBM_CH - 1:0] hbm_rst,
    output wire [HBM_CH * AXI_HBM_ID_WIDTH - 1:0] m_axi_hbm_awid,
    output wire [HBM_CH * AXI_HBM_ADDR_WIDTH - 1:0] m_axi_hbm_awaddr,
    output wire [HBM_CH * 8 - 1:0] m_axi_hbm_awlen,
    output wire [HBM_CH * 3 - 1:0] m_axi_hbm_awsize,
    output wire [HBM_CH * 2 - 1:0] m_axi_hbm_awburst,
    output wire [HBM_CH - 1:0] m_axi_hbm_awlock,
    output wire [HBM_CH * 4 - 1:0] m_axi_hbm_awcache,
    output wire [HBM_CH * 3 - 1:0] m_axi_hbm_awprot,
    output wire [HBM_CH * 4 - 1:0] m_axi_hbm_awqos,
    output wire [HBM_CH * AXI_HBM_AWUSER_WIDTH - 1:0] m_axi_hbm_awuser,
    output wire [HBM_CH - 1:0] m_axi_hbm_awvalid,
    input  wire [HBM_CH - 1:0] m_axi_hbm_awready,
    output wire [HBM_CH * AXI_HBM_DATA_WIDTH - 1:0] m_axi_hbm_wdata,
    output wire [HBM_CH * AXI_HBM_STRB_WIDTH - 1:0] m_axi_hbm_wstrb,
    output wire [HBM_CH - 1:0] m_axi_hbm_wlast,
    output wire [HBM_CH * AXI_HBM_WUSER_WIDTH - 1:0] m_axi_hbm_wuser,
    output wire [HBM_CH - 1:0] m_axi_hbm_wvalid,
    input  wire [HBM_CH - 1:0] m_axi_hbm_wready,
    input  wire [HBM_CH * AXI_HBM_ID_WIDTH - 1:0] m_axi_hbm_bid,
    input  wire [HBM_CH * 2 - 1:0] m_axi_hbm_bresp,
    input  wire [HBM_CH * AXI_HBM_BUSER_WIDTH - 1:0] m_axi_hbm_buser,
    input  wire [HBM_CH - 1:0] m_axi_hbm_bvalid,
    output wire [HBM_CH - 1:0] m_axi_hbm_bready,
    output wire [HBM_CH * AXI_HBM_ID_WIDTH - 1:0] m_axi_hbm_arid,
    output wire [HBM_CH * AXI_HBM_ADDR_WIDTH - 1:0] m_axi_hbm_araddr,
    output wire [HBM_CH * 8 - 1:0] m_axi_hbm_arlen,
    output wire [HBM_CH * 3 - 1:0] m_axi_hbm_arsize,
    output wire [HBM_CH * 2 - 1:0] m_axi_hbm_arburst,
    output wire [HBM_CH - 1:0] m_axi_hbm_arlock,
    output wire [HBM_CH * 4 - 1:0] m_axi_hbm_arcache,
    output wire [HBM_CH * 3 - 1:0] m_axi_hbm_arprot,
    output wire [HBM_CH * 4 - 1:0] m_axi_hbm_arqos,
    output wire [HBM_CH * AXI_HBM_ARUSER_WIDTH - 1:0] m_axi_hbm_aruser,
    output wire [HBM_CH - 1:0] m_axi_hbm_arvalid,
    input  wire [HBM_CH - 1:0] m_axi_hbm_arready,
    input  wire [HBM_CH * AXI_HBM_ID_WIDTH - 1:0] m_axi_hbm_rid,
    input  wire [HBM_CH * AXI_HBM_DATA_WIDTH - 1:0] m_axi_hbm_rdata,
    input  wire [HBM_CH * 2 - 1:0] m_axi_hbm_rresp,
    input  wire [HBM_CH - 1:0] m_axi_hbm_rlast,
    input  wire [HBM_CH * AXI_HBM_RUSER_WIDTH - 1:0] m_axi_hbm_ruser,
    input  wire [HBM_CH - 1:0] m_axi_hbm_rvalid,
    output wire [HBM_CH - 1:0] m_axi_hbm_rready,
    input  wire [HBM_CH - 1:0] hbm_status,
    // Statistics
    output wire [STAT_INC_WIDTH - 1:0] m_axis_stat_tdata,
    output wire [STAT_ID_WIDTH - 1:0] m_axis_stat_tid,
    output wire m_axis_stat_tvalid,
    input  wire m_axis_stat_tready,
    // Pins
    input  wire [APP_GPIO_IN_WIDTH - 1:0] gpio_in,
    output wire [APP_GPIO_OUT_WIDTH - 1:0] gpio_out,
    input  wire jtag_tdi,
    output wire jtag_tdo,
    input  wire jtag_tms,
    input  wire jtag_tck
);
    localparam RAM_BITS = RAM_SEG_COUNT * RAM_SEG_DATA_WIDTH;

    // What the block is made for; all of it is in docs/corundum.md.
`ifndef YOSYS
    initial begin
        if (APP_ID != 32'h5453_0001) begin
            $error("mqnic_app_block: APP_ID is %h, and this is 32'h54530001: set APP_ID in config.tcl (%m)", APP_ID);
            $finish;
        end
        if (APP_DMA_ENABLE == 0) begin
            $error("mqnic_app_block: APP_DMA_ENABLE must be 1 (%m)");
            $finish;
        end
        if (APP_AXIS_SYNC_ENABLE == 0) begin
            $error("mqnic_app_block: APP_AXIS_SYNC_ENABLE must be 1: frames are taken there (%m)");
            $finish;
        end
        if (AXIS_SYNC_DATA_WIDTH != 512 && AXIS_SYNC_DATA_WIDTH != 256 && AXIS_SYNC_DATA_WIDTH != 128 && AXIS_SYNC_DATA_WIDTH != 64) begin
            $error("mqnic_app_block: AXIS_SYNC_DATA_WIDTH is %0d: streams of 64, 128, 256 and 512 bits are supported (%m)", AXIS_SYNC_DATA_WIDTH);
            $finish;
        end
        if ((RAM_BITS != 1024 && RAM_BITS != 512 && RAM_BITS != 256) || RAM_SEG_COUNT < 2) begin
            $error("mqnic_app_block: RAM_SEG_COUNT and RAM_SEG_DATA_WIDTH are %0d segments of %0d bits: two or more, and 256, 512 or 1024 bits in all are supported, as of PCIe with 128, 256 or 512 (%m)", RAM_SEG_COUNT, RAM_SEG_DATA_WIDTH);
            $finish;
        end
        if (RAM_ADDR_WIDTH < 16) begin
            $error("mqnic_app_block: RAM_ADDR_WIDTH is %0d: 16 or more (TX_RAM_SIZE or RX_RAM_SIZE 64 KiB) (%m)", RAM_ADDR_WIDTH);
            $finish;
        end
        if (DMA_ADDR_WIDTH != 64) begin
            $error("mqnic_app_block: DMA_ADDR_WIDTH is %0d: 64 is supported (%m)", DMA_ADDR_WIDTH);
            $finish;
        end
        if (DMA_LEN_WIDTH < 13 || DMA_LEN_WIDTH > 16) begin
            $error("mqnic_app_block: DMA_LEN_WIDTH is %0d: 13 to 16 (%m)", DMA_LEN_WIDTH);
            $finish;
        end
        if (DMA_TAG_WIDTH < 6) begin
            $error("mqnic_app_block: DMA_TAG_WIDTH is %0d: 6 or more (%m)", DMA_TAG_WIDTH);
            $finish;
        end
        if (AXIL_APP_CTRL_DATA_WIDTH != 32) begin
            $error("mqnic_app_block: AXIL_APP_CTRL_DATA_WIDTH is %0d: 32 is supported (%m)", AXIL_APP_CTRL_DATA_WIDTH);
            $finish;
        end
        if (AXIL_APP_CTRL_ADDR_WIDTH < 22) begin
            $error("mqnic_app_block: AXIL_APP_CTRL_ADDR_WIDTH is %0d: 22 or more (%m)", AXIL_APP_CTRL_ADDR_WIDTH);
            $finish;
        end
        if (AXIS_SYNC_RX_USER_WIDTH > 97 || AXIS_SYNC_TX_USER_WIDTH > 32 || PTP_TS_WIDTH > 96 || TX_TAG_WIDTH > 31) begin
            $error("mqnic_app_block: PTP_TS_WIDTH is %0d, TX_TAG_WIDTH %0d: timestamps of at most 96 bits and tags of at most 31 are supported (%m)", PTP_TS_WIDTH, TX_TAG_WIDTH);
            $finish;
        end
        if (STAT_INC_WIDTH < 24 || STAT_INC_WIDTH > 64 || STAT_ID_WIDTH < 2 || STAT_ID_WIDTH > 12) begin
            $error("mqnic_app_block: STAT_INC_WIDTH is %0d, STAT_ID_WIDTH %0d: 24 to 64 and 2 to 12 are supported (%m)", STAT_INC_WIDTH, STAT_ID_WIDTH);
            $finish;
        end
        if (TESSERA_PORT < 0 || TESSERA_PORT >= PORT_COUNT) begin
            $error("mqnic_app_block: TESSERA_PORT is %0d: there is no such port (%m)", TESSERA_PORT);
            $finish;
        end
    end
`endif

    // Inside the vectors also where it is refused above: the message is to be that one.
    localparam P = TESSERA_PORT >= 0 && TESSERA_PORT < PORT_COUNT ? TESSERA_PORT : 0;
    localparam TS = PTP_TS_WIDTH > 96 ? 96 : PTP_TS_WIDTH;
    localparam TAG = TX_TAG_WIDTH > 31 ? 31 : TX_TAG_WIDTH;
    localparam RX_USER = AXIS_SYNC_RX_USER_WIDTH > 97 ? 97 : AXIS_SYNC_RX_USER_WIDTH;
    localparam TX_USER = AXIS_SYNC_TX_USER_WIDTH > 32 ? 32 : AXIS_SYNC_TX_USER_WIDTH;
    localparam LINE = RAM_SEG_ADDR_WIDTH;

    // Side bands and addresses as wide as they can be.
    wire [127:0] rx_user_in = {{(128 - RX_USER){1'b0}}, s_axis_sync_rx_tuser[P * RX_USER +: RX_USER]};
    wire [63:0] tx_user_in = {{(64 - TX_USER){1'b0}}, s_axis_sync_tx_tuser[P * TX_USER +: TX_USER]};
    wire [127:0] cpl_ts_in = {{(128 - TS){1'b0}}, s_axis_sync_tx_cpl_ts[P * TS +: TS]};
    wire [63:0] cpl_tag_in = {{(64 - TAG){1'b0}}, s_axis_sync_tx_cpl_tag[P * TAG +: TAG]};
    wire [63:0] awaddr = {{(64 - AXIL_APP_CTRL_ADDR_WIDTH){1'b0}}, s_axil_app_ctrl_awaddr};
    wire [63:0] araddr = {{(64 - AXIL_APP_CTRL_ADDR_WIDTH){1'b0}}, s_axil_app_ctrl_araddr};
    // The clock that stamps are of: the time of day, or the lower 48 bits of the relative time.
    wire [95:0] now = PTP_TS_FMT_TOD != 0 ? ptp_sync_ts_tod : {48'd0, ptp_sync_ts_rel[47:0]};
    wire [95:0] cpl_ts_out;
    wire [30:0] cpl_tag_out;
    // Corundum's transmit engine sets the top bit of its tags and ignores completions without it.
    wire [30:0] tag_top = 31'd1 << (TAG - 1);
    wire [31:0] port = TESSERA_PORT;
    wire [31:0] stat_base = TESSERA_STAT_ID;
    wire [23:0] stat_count;
    wire [11:0] stat_id;
    wire stat_valid;

    assign m_axis_sync_tx_cpl_ts[P * TS +: TS] = cpl_ts_out[TS - 1:0];
    assign m_axis_sync_tx_cpl_tag[P * TAG +: TAG] = cpl_tag_out[TAG - 1:0];
    wire [63:0] stat_count_wide = {40'd0, stat_count};
    wire [31:0] stat_id_wide = {20'd0, stat_id};
    assign m_axis_stat_tdata = stat_count_wide[STAT_INC_WIDTH - 1:0];
    assign m_axis_stat_tid = stat_id_wide[STAT_ID_WIDTH - 1:0];
    assign m_axis_stat_tvalid = stat_valid && APP_STAT_ENABLE != 0;

    // DMA, class ctrl: lines of 128 bytes of the block's RAM, tags of six bits.
    wire [8:0] ctrl_read_line;
    wire [15:0] ctrl_read_len;
    wire [5:0] ctrl_read_tag;
    wire [31:0] ctrl_read_at = {16'd0, ctrl_read_line, 7'd0};
    wire [31:0] ctrl_read_tag_wide = {26'd0, ctrl_read_tag};
    assign m_axis_ctrl_dma_read_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_read_desc_ram_addr = ctrl_read_at[RAM_ADDR_WIDTH - 1:0];
    assign m_axis_ctrl_dma_read_desc_len = ctrl_read_len[DMA_LEN_WIDTH - 1:0];
    assign m_axis_ctrl_dma_read_desc_tag = ctrl_read_tag_wide[DMA_TAG_WIDTH - 1:0];
    wire [8:0] ctrl_write_line;
    wire [15:0] ctrl_write_len;
    wire [5:0] ctrl_write_tag;
    wire [31:0] ctrl_write_at = {16'd0, ctrl_write_line, 7'd0};
    wire [31:0] ctrl_write_tag_wide = {26'd0, ctrl_write_tag};
    assign m_axis_ctrl_dma_write_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_ram_addr = ctrl_write_at[RAM_ADDR_WIDTH - 1:0];
    assign m_axis_ctrl_dma_write_desc_len = ctrl_write_len[DMA_LEN_WIDTH - 1:0];
    assign m_axis_ctrl_dma_write_desc_tag = ctrl_write_tag_wide[DMA_TAG_WIDTH - 1:0];
    assign m_axis_ctrl_dma_write_desc_imm = {DMA_IMM_WIDTH{1'b0}};
    assign m_axis_ctrl_dma_write_desc_imm_en = 1'b0;
    wire [1:0] ctrl_wr_valid;
    wire [127:0] ctrl_wr_be;
    wire [8:0] ctrl_wr_addr_0;
    wire [8:0] ctrl_wr_addr_1;
    wire [1023:0] ctrl_wr_data;
    wire [1:0] ctrl_wr_done;
    wire [1:0] ctrl_rd_valid;
    wire [8:0] ctrl_rd_addr_0;
    wire [8:0] ctrl_rd_addr_1;
    wire [1:0] ctrl_rd_ready;
    wire [1023:0] ctrl_rd_data;
    wire [1:0] ctrl_rd_resp_valid;
    wire [1:0] ctrl_rd_resp_ready;

    // DMA, class data: lines of 128 bytes of the block's RAM, tags of six bits.
    wire [8:0] data_read_line;
    wire [15:0] data_read_len;
    wire [5:0] data_read_tag;
    wire [31:0] data_read_at = {16'd0, data_read_line, 7'd0};
    wire [31:0] data_read_tag_wide = {26'd0, data_read_tag};
    assign m_axis_data_dma_read_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_data_dma_read_desc_ram_addr = data_read_at[RAM_ADDR_WIDTH - 1:0];
    assign m_axis_data_dma_read_desc_len = data_read_len[DMA_LEN_WIDTH - 1:0];
    assign m_axis_data_dma_read_desc_tag = data_read_tag_wide[DMA_TAG_WIDTH - 1:0];
    wire [8:0] data_write_line;
    wire [15:0] data_write_len;
    wire [5:0] data_write_tag;
    wire [31:0] data_write_at = {16'd0, data_write_line, 7'd0};
    wire [31:0] data_write_tag_wide = {26'd0, data_write_tag};
    assign m_axis_data_dma_write_desc_ram_sel = {RAM_SEL_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_ram_addr = data_write_at[RAM_ADDR_WIDTH - 1:0];
    assign m_axis_data_dma_write_desc_len = data_write_len[DMA_LEN_WIDTH - 1:0];
    assign m_axis_data_dma_write_desc_tag = data_write_tag_wide[DMA_TAG_WIDTH - 1:0];
    assign m_axis_data_dma_write_desc_imm = {DMA_IMM_WIDTH{1'b0}};
    assign m_axis_data_dma_write_desc_imm_en = 1'b0;
    wire [1:0] data_wr_valid;
    wire [127:0] data_wr_be;
    wire [8:0] data_wr_addr_0;
    wire [8:0] data_wr_addr_1;
    wire [1023:0] data_wr_data;
    wire [1:0] data_wr_done;
    wire [1:0] data_rd_valid;
    wire [8:0] data_rd_addr_0;
    wire [8:0] data_rd_addr_1;
    wire [1:0] data_rd_ready;
    wire [1023:0] data_rd_data;
    wire [1:0] data_rd_resp_valid;
    wire [1:0] data_rd_resp_ready;

    // The core's streams, of 512 bits, and what is said about frames.
    wire [511:0] s_rx_tdata;
    wire [63:0] s_rx_tkeep;
    wire s_rx_tvalid;
    wire s_rx_tready;
    wire s_rx_tlast;
    wire [96:0] s_rx_tuser;
    wire [511:0] m_rx_tdata;
    wire [63:0] m_rx_tkeep;
    wire m_rx_tvalid;
    wire m_rx_tready;
    wire m_rx_tlast;
    wire [96:0] m_rx_tuser;
    wire [511:0] s_tx_tdata;
    wire [63:0] s_tx_tkeep;
    wire s_tx_tvalid;
    wire s_tx_tready;
    wire s_tx_tlast;
    wire [31:0] s_tx_tuser;
    wire [511:0] m_tx_tdata;
    wire [63:0] m_tx_tkeep;
    wire m_tx_tvalid;
    wire m_tx_tready;
    wire m_tx_tlast;
    wire [31:0] m_tx_tuser;
    wire irq;
    wire verdict_valid;
    wire verdict_ours;
    wire tx_passed;

    tessera_corundum nic (
        .clk(clk),
        .rst(rst),
        .s_axil_awaddr({|awaddr[63:23], awaddr[22:0]}),
        .s_axil_awvalid(s_axil_app_ctrl_awvalid),
        .s_axil_awready(s_axil_app_ctrl_awready),
        .s_axil_wdata(s_axil_app_ctrl_wdata),
        .s_axil_wstrb(s_axil_app_ctrl_wstrb),
        .s_axil_wvalid(s_axil_app_ctrl_wvalid),
        .s_axil_wready(s_axil_app_ctrl_wready),
        .s_axil_bresp(s_axil_app_ctrl_bresp),
        .s_axil_bvalid(s_axil_app_ctrl_bvalid),
        .s_axil_bready(s_axil_app_ctrl_bready),
        .s_axil_araddr({|araddr[63:23], araddr[22:0]}),
        .s_axil_arvalid(s_axil_app_ctrl_arvalid),
        .s_axil_arready(s_axil_app_ctrl_arready),
        .s_axil_rdata(s_axil_app_ctrl_rdata),
        .s_axil_rresp(s_axil_app_ctrl_rresp),
        .s_axil_rvalid(s_axil_app_ctrl_rvalid),
        .s_axil_rready(s_axil_app_ctrl_rready),
        .irq(irq),
        .s_rx_tdata(s_rx_tdata),
        .s_rx_tkeep(s_rx_tkeep),
        .s_rx_tvalid(s_rx_tvalid),
        .s_rx_tready(s_rx_tready),
        .s_rx_tlast(s_rx_tlast),
        .s_rx_tuser(s_rx_tuser),
        .m_rx_tdata(m_rx_tdata),
        .m_rx_tkeep(m_rx_tkeep),
        .m_rx_tvalid(m_rx_tvalid),
        .m_rx_tready(m_rx_tready),
        .m_rx_tlast(m_rx_tlast),
        .m_rx_tuser(m_rx_tuser),
        .s_tx_tdata(s_tx_tdata),
        .s_tx_tkeep(s_tx_tkeep),
        .s_tx_tvalid(s_tx_tvalid),
        .s_tx_tready(s_tx_tready),
        .s_tx_tlast(s_tx_tlast),
        .s_tx_tuser(s_tx_tuser),
        .m_tx_tdata(m_tx_tdata),
        .m_tx_tkeep(m_tx_tkeep),
        .m_tx_tvalid(m_tx_tvalid),
        .m_tx_tready(m_tx_tready),
        .m_tx_tlast(m_tx_tlast),
        .m_tx_tuser(m_tx_tuser),
        .s_cpl_ts(cpl_ts_in[95:0]),
        .s_cpl_tag(cpl_tag_in[30:0]),
        .s_cpl_valid(s_axis_sync_tx_cpl_valid[P]),
        .s_cpl_ready(s_axis_sync_tx_cpl_ready[P]),
        .m_cpl_ts(cpl_ts_out),
        .m_cpl_tag(cpl_tag_out),
        .m_cpl_valid(m_axis_sync_tx_cpl_valid[P]),
        .m_cpl_ready(m_axis_sync_tx_cpl_ready[P]),
        .tag_top(tag_top),
        .port(port[7:0]),
        .now(now),
        .ctrl_read_desc_valid(m_axis_ctrl_dma_read_desc_valid),
        .ctrl_read_desc_ready(m_axis_ctrl_dma_read_desc_ready),
        .ctrl_read_desc_dma_addr(m_axis_ctrl_dma_read_desc_dma_addr),
        .ctrl_read_desc_line(ctrl_read_line),
        .ctrl_read_desc_len(ctrl_read_len),
        .ctrl_read_desc_tag(ctrl_read_tag),
        .ctrl_read_status_valid(s_axis_ctrl_dma_read_desc_status_valid),
        .ctrl_read_status_tag(s_axis_ctrl_dma_read_desc_status_tag[5:0]),
        .ctrl_read_status_error(s_axis_ctrl_dma_read_desc_status_error),
        .ctrl_wr_cmd_valid(ctrl_wr_valid),
        .ctrl_wr_cmd_be(ctrl_wr_be),
        .ctrl_wr_cmd_addr_0(ctrl_wr_addr_0),
        .ctrl_wr_cmd_addr_1(ctrl_wr_addr_1),
        .ctrl_wr_cmd_data(ctrl_wr_data),
        .ctrl_wr_done(ctrl_wr_done),
        .ctrl_write_desc_valid(m_axis_ctrl_dma_write_desc_valid),
        .ctrl_write_desc_ready(m_axis_ctrl_dma_write_desc_ready),
        .ctrl_write_desc_dma_addr(m_axis_ctrl_dma_write_desc_dma_addr),
        .ctrl_write_desc_line(ctrl_write_line),
        .ctrl_write_desc_len(ctrl_write_len),
        .ctrl_write_desc_tag(ctrl_write_tag),
        .ctrl_write_status_valid(s_axis_ctrl_dma_write_desc_status_valid),
        .ctrl_write_status_tag(s_axis_ctrl_dma_write_desc_status_tag[5:0]),
        .ctrl_write_status_error(s_axis_ctrl_dma_write_desc_status_error),
        .ctrl_rd_cmd_valid(ctrl_rd_valid),
        .ctrl_rd_cmd_addr_0(ctrl_rd_addr_0),
        .ctrl_rd_cmd_addr_1(ctrl_rd_addr_1),
        .ctrl_rd_cmd_ready(ctrl_rd_ready),
        .ctrl_rd_resp_data(ctrl_rd_data),
        .ctrl_rd_resp_valid(ctrl_rd_resp_valid),
        .ctrl_rd_resp_ready(ctrl_rd_resp_ready),
        .data_read_desc_valid(m_axis_data_dma_read_desc_valid),
        .data_read_desc_ready(m_axis_data_dma_read_desc_ready),
        .data_read_desc_dma_addr(m_axis_data_dma_read_desc_dma_addr),
        .data_read_desc_line(data_read_line),
        .data_read_desc_len(data_read_len),
        .data_read_desc_tag(data_read_tag),
        .data_read_status_valid(s_axis_data_dma_read_desc_status_valid),
        .data_read_status_tag(s_axis_data_dma_read_desc_status_tag[5:0]),
        .data_read_status_error(s_axis_data_dma_read_desc_status_error),
        .data_wr_cmd_valid(data_wr_valid),
        .data_wr_cmd_be(data_wr_be),
        .data_wr_cmd_addr_0(data_wr_addr_0),
        .data_wr_cmd_addr_1(data_wr_addr_1),
        .data_wr_cmd_data(data_wr_data),
        .data_wr_done(data_wr_done),
        .data_write_desc_valid(m_axis_data_dma_write_desc_valid),
        .data_write_desc_ready(m_axis_data_dma_write_desc_ready),
        .data_write_desc_dma_addr(m_axis_data_dma_write_desc_dma_addr),
        .data_write_desc_line(data_write_line),
        .data_write_desc_len(data_write_len),
        .data_write_desc_tag(data_write_tag),
        .data_write_status_valid(s_axis_data_dma_write_desc_status_valid),
        .data_write_status_tag(s_axis_data_dma_write_desc_status_tag[5:0]),
        .data_write_status_error(s_axis_data_dma_write_desc_status_error),
        .data_rd_cmd_valid(data_rd_valid),
        .data_rd_cmd_addr_0(data_rd_addr_0),
        .data_rd_cmd_addr_1(data_rd_addr_1),
        .data_rd_cmd_ready(data_rd_ready),
        .data_rd_resp_data(data_rd_data),
        .data_rd_resp_valid(data_rd_resp_valid),
        .data_rd_resp_ready(data_rd_resp_ready),
        .verdict_valid(verdict_valid),
        .verdict_ours(verdict_ours),
        .tx_passed(tx_passed),
        .stat_base(stat_base[11:0]),
        .stat_tdata(stat_count),
        .stat_tid(stat_id),
        .stat_tvalid(stat_valid),
        .stat_tready(m_axis_stat_tready || APP_STAT_ENABLE == 0)
    );

    // To the host: its frames, and one of ours when it sleeps and is to look for completions.
    wire [AXIS_SYNC_DATA_WIDTH - 1:0] host_tdata;
    wire [AXIS_SYNC_KEEP_WIDTH - 1:0] host_tkeep;
    wire host_tvalid;
    wire host_tready;
    wire host_tlast;
    wire [RX_USER - 1:0] host_tuser;
    tessera_event_frame #(.W(AXIS_SYNC_DATA_WIDTH), .U(RX_USER)) event_frame (
        .clk(clk),
        .rst(rst),
        .irq(irq),
        .port(port[7:0]),
        .s_tdata(host_tdata),
        .s_tkeep(host_tkeep),
        .s_tvalid(host_tvalid),
        .s_tready(host_tready),
        .s_tlast(host_tlast),
        .s_tuser(host_tuser),
        .m_tdata(m_axis_sync_rx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH]),
        .m_tkeep(m_axis_sync_rx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH]),
        .m_tvalid(m_axis_sync_rx_tvalid[P]),
        .m_tready(m_axis_sync_rx_tready[P]),
        .m_tlast(m_axis_sync_rx_tlast[P]),
        .m_tuser(m_axis_sync_rx_tuser[P * RX_USER +: RX_USER])
    );

    // As wide as the core, or between two widths (widths.v).
    generate
        if (AXIS_SYNC_DATA_WIDTH == 512) begin : wide
            assign s_rx_tdata = s_axis_sync_rx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH];
            assign s_rx_tkeep = s_axis_sync_rx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH];
            assign s_rx_tvalid = s_axis_sync_rx_tvalid[P];
            assign s_rx_tlast = s_axis_sync_rx_tlast[P];
            assign s_rx_tuser = rx_user_in[96:0];
            assign s_axis_sync_rx_tready[P] = s_rx_tready;
            assign host_tdata = m_rx_tdata;
            assign host_tkeep = m_rx_tkeep;
            assign host_tvalid = m_rx_tvalid;
            assign host_tlast = m_rx_tlast;
            assign host_tuser = m_rx_tuser[RX_USER - 1:0];
            assign m_rx_tready = host_tready;
            assign s_tx_tdata = s_axis_sync_tx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH];
            assign s_tx_tkeep = s_axis_sync_tx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH];
            assign s_tx_tvalid = s_axis_sync_tx_tvalid[P];
            assign s_tx_tlast = s_axis_sync_tx_tlast[P];
            assign s_tx_tuser = tx_user_in[31:0];
            assign s_axis_sync_tx_tready[P] = s_tx_tready;
            assign m_axis_sync_tx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH] = m_tx_tdata;
            assign m_axis_sync_tx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH] = m_tx_tkeep;
            assign m_axis_sync_tx_tvalid[P] = m_tx_tvalid;
            assign m_axis_sync_tx_tlast[P] = m_tx_tlast;
            assign m_axis_sync_tx_tuser[P * TX_USER +: TX_USER] = m_tx_tuser[TX_USER - 1:0];
            assign m_tx_tready = m_axis_sync_tx_tready[P];
            assign tx_passed = 1'b0;
        end else begin : narrow
            wire [RX_USER - 1:0] rx_user;
            wire [127:0] rx_user_wide = {{(128 - RX_USER){1'b0}}, rx_user};
            assign s_rx_tuser = rx_user_wide[96:0];
            // Whose they are is asked of the core, its copies of them are not taken.
            assign m_rx_tready = 1'b1;
            tessera_rx_width #(.W(AXIS_SYNC_DATA_WIDTH), .U(RX_USER)) rx_width (
                .clk(clk),
                .rst(rst),
                .s_tdata(s_axis_sync_rx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH]),
                .s_tkeep(s_axis_sync_rx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH]),
                .s_tvalid(s_axis_sync_rx_tvalid[P]),
                .s_tready(s_axis_sync_rx_tready[P]),
                .s_tlast(s_axis_sync_rx_tlast[P]),
                .s_tuser(s_axis_sync_rx_tuser[P * RX_USER +: RX_USER]),
                .m_tdata(host_tdata),
                .m_tkeep(host_tkeep),
                .m_tvalid(host_tvalid),
                .m_tready(host_tready),
                .m_tlast(host_tlast),
                .m_tuser(host_tuser),
                .wide_tdata(s_rx_tdata),
                .wide_tkeep(s_rx_tkeep),
                .wide_tvalid(s_rx_tvalid),
                .wide_tlast(s_rx_tlast),
                .wide_tuser(rx_user),
                .verdict_valid(verdict_valid),
                .verdict_ours(verdict_ours)
            );
            assign s_tx_tdata = 512'd0;
            assign s_tx_tkeep = 64'd0;
            assign s_tx_tvalid = 1'b0;
            assign s_tx_tlast = 1'b0;
            assign s_tx_tuser = 32'd0;
            tessera_tx_width #(.W(AXIS_SYNC_DATA_WIDTH), .U(TX_USER)) tx_width (
                .clk(clk),
                .rst(rst),
                .s_tdata(s_axis_sync_tx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH]),
                .s_tkeep(s_axis_sync_tx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH]),
                .s_tvalid(s_axis_sync_tx_tvalid[P]),
                .s_tready(s_axis_sync_tx_tready[P]),
                .s_tlast(s_axis_sync_tx_tlast[P]),
                .s_tuser(s_axis_sync_tx_tuser[P * TX_USER +: TX_USER]),
                .wide_tdata(m_tx_tdata),
                .wide_tkeep(m_tx_tkeep),
                .wide_tvalid(m_tx_tvalid),
                .wide_tready(m_tx_tready),
                .wide_tlast(m_tx_tlast),
                .m_tdata(m_axis_sync_tx_tdata[P * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH]),
                .m_tkeep(m_axis_sync_tx_tkeep[P * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH]),
                .m_tvalid(m_axis_sync_tx_tvalid[P]),
                .m_tready(m_axis_sync_tx_tready[P]),
                .m_tlast(m_axis_sync_tx_tlast[P]),
                .m_tuser(m_axis_sync_tx_tuser[P * TX_USER +: TX_USER]),
                .passed(tx_passed)
            );
        end
    endgenerate

    // The same of the DMA RAM.
    generate
        if (RAM_SEG_COUNT == 2 && RAM_SEG_DATA_WIDTH == 512) begin : wide_ram
            assign ctrl_dma_ram_wr_cmd_ready = 2'b11;
            assign ctrl_wr_valid = ctrl_dma_ram_wr_cmd_valid;
            assign ctrl_wr_be = ctrl_dma_ram_wr_cmd_be;
            assign ctrl_wr_addr_0 = ctrl_dma_ram_wr_cmd_addr[0 +: 9];
            assign ctrl_wr_addr_1 = ctrl_dma_ram_wr_cmd_addr[LINE +: 9];
            assign ctrl_wr_data = ctrl_dma_ram_wr_cmd_data;
            assign ctrl_dma_ram_wr_done = ctrl_wr_done;
            assign ctrl_rd_valid = ctrl_dma_ram_rd_cmd_valid;
            assign ctrl_rd_addr_0 = ctrl_dma_ram_rd_cmd_addr[0 +: 9];
            assign ctrl_rd_addr_1 = ctrl_dma_ram_rd_cmd_addr[LINE +: 9];
            assign ctrl_dma_ram_rd_cmd_ready = ctrl_rd_ready;
            assign ctrl_dma_ram_rd_resp_data = ctrl_rd_data;
            assign ctrl_dma_ram_rd_resp_valid = ctrl_rd_resp_valid;
            assign ctrl_rd_resp_ready = ctrl_dma_ram_rd_resp_ready;
            assign data_dma_ram_wr_cmd_ready = 2'b11;
            assign data_wr_valid = data_dma_ram_wr_cmd_valid;
            assign data_wr_be = data_dma_ram_wr_cmd_be;
            assign data_wr_addr_0 = data_dma_ram_wr_cmd_addr[0 +: 9];
            assign data_wr_addr_1 = data_dma_ram_wr_cmd_addr[LINE +: 9];
            assign data_wr_data = data_dma_ram_wr_cmd_data;
            assign data_dma_ram_wr_done = data_wr_done;
            assign data_rd_valid = data_dma_ram_rd_cmd_valid;
            assign data_rd_addr_0 = data_dma_ram_rd_cmd_addr[0 +: 9];
            assign data_rd_addr_1 = data_dma_ram_rd_cmd_addr[LINE +: 9];
            assign data_dma_ram_rd_cmd_ready = data_rd_ready;
            assign data_dma_ram_rd_resp_data = data_rd_data;
            assign data_dma_ram_rd_resp_valid = data_rd_resp_valid;
            assign data_rd_resp_ready = data_dma_ram_rd_resp_ready;
        end else begin : other_ram
            // The core takes every word, and answers a clock later, since its answers are taken.
            assign ctrl_rd_resp_ready = 2'b11;
            tessera_ram_width #(.N(RAM_SEG_COUNT), .S(RAM_SEG_DATA_WIDTH), .A(RAM_SEG_ADDR_WIDTH)) ctrl_ram_width (
                .clk(clk),
                .rst(rst),
                .wr_cmd_valid(ctrl_dma_ram_wr_cmd_valid),
                .wr_cmd_ready(ctrl_dma_ram_wr_cmd_ready),
                .wr_cmd_be(ctrl_dma_ram_wr_cmd_be),
                .wr_cmd_addr(ctrl_dma_ram_wr_cmd_addr),
                .wr_cmd_data(ctrl_dma_ram_wr_cmd_data),
                .wr_done(ctrl_dma_ram_wr_done),
                .core_wr_valid(ctrl_wr_valid),
                .core_wr_be(ctrl_wr_be),
                .core_wr_addr_0(ctrl_wr_addr_0),
                .core_wr_addr_1(ctrl_wr_addr_1),
                .core_wr_data(ctrl_wr_data),
                .rd_cmd_valid(ctrl_dma_ram_rd_cmd_valid),
                .rd_cmd_ready(ctrl_dma_ram_rd_cmd_ready),
                .rd_cmd_addr(ctrl_dma_ram_rd_cmd_addr),
                .rd_resp_data(ctrl_dma_ram_rd_resp_data),
                .rd_resp_valid(ctrl_dma_ram_rd_resp_valid),
                .rd_resp_ready(ctrl_dma_ram_rd_resp_ready),
                .core_rd_valid(ctrl_rd_valid),
                .core_rd_addr_0(ctrl_rd_addr_0),
                .core_rd_addr_1(ctrl_rd_addr_1),
                .core_rd_data(ctrl_rd_data)
            );
            // The core takes every word, and answers a clock later, since its answers are taken.
            assign data_rd_resp_ready = 2'b11;
            tessera_ram_width #(.N(RAM_SEG_COUNT), .S(RAM_SEG_DATA_WIDTH), .A(RAM_SEG_ADDR_WIDTH)) data_ram_width (
                .clk(clk),
                .rst(rst),
                .wr_cmd_valid(data_dma_ram_wr_cmd_valid),
                .wr_cmd_ready(data_dma_ram_wr_cmd_ready),
                .wr_cmd_be(data_dma_ram_wr_cmd_be),
                .wr_cmd_addr(data_dma_ram_wr_cmd_addr),
                .wr_cmd_data(data_dma_ram_wr_cmd_data),
                .wr_done(data_dma_ram_wr_done),
                .core_wr_valid(data_wr_valid),
                .core_wr_be(data_wr_be),
                .core_wr_addr_0(data_wr_addr_0),
                .core_wr_addr_1(data_wr_addr_1),
                .core_wr_data(data_wr_data),
                .rd_cmd_valid(data_dma_ram_rd_cmd_valid),
                .rd_cmd_ready(data_dma_ram_rd_cmd_ready),
                .rd_cmd_addr(data_dma_ram_rd_cmd_addr),
                .rd_resp_data(data_dma_ram_rd_resp_data),
                .rd_resp_valid(data_dma_ram_rd_resp_valid),
                .rd_resp_ready(data_dma_ram_rd_resp_ready),
                .core_rd_valid(data_rd_valid),
                .core_rd_addr_0(data_rd_addr_0),
                .core_rd_addr_1(data_rd_addr_1),
                .core_rd_data(data_rd_data)
            );
        end
    endgenerate

    // Other ports are wires.
    genvar n;
    generate
        for (n = 0; n < PORT_COUNT; n = n + 1) begin : others
            if (n != P) begin : wires
                assign m_axis_sync_tx_tdata[n * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH] = s_axis_sync_tx_tdata[n * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH];
                assign m_axis_sync_tx_tkeep[n * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH] = s_axis_sync_tx_tkeep[n * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH];
                assign m_axis_sync_tx_tvalid[n] = s_axis_sync_tx_tvalid[n];
                assign m_axis_sync_tx_tlast[n] = s_axis_sync_tx_tlast[n];
                assign m_axis_sync_tx_tuser[n * AXIS_SYNC_TX_USER_WIDTH +: AXIS_SYNC_TX_USER_WIDTH] = s_axis_sync_tx_tuser[n * AXIS_SYNC_TX_USER_WIDTH +: AXIS_SYNC_TX_USER_WIDTH];
                assign s_axis_sync_tx_tready[n] = m_axis_sync_tx_tready[n];
                assign m_axis_sync_tx_cpl_ts[n * PTP_TS_WIDTH +: PTP_TS_WIDTH] = s_axis_sync_tx_cpl_ts[n * PTP_TS_WIDTH +: PTP_TS_WIDTH];
                assign m_axis_sync_tx_cpl_tag[n * TX_TAG_WIDTH +: TX_TAG_WIDTH] = s_axis_sync_tx_cpl_tag[n * TX_TAG_WIDTH +: TX_TAG_WIDTH];
                assign m_axis_sync_tx_cpl_valid[n] = s_axis_sync_tx_cpl_valid[n];
                assign s_axis_sync_tx_cpl_ready[n] = m_axis_sync_tx_cpl_ready[n];
                assign m_axis_sync_rx_tdata[n * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH] = s_axis_sync_rx_tdata[n * AXIS_SYNC_DATA_WIDTH +: AXIS_SYNC_DATA_WIDTH];
                assign m_axis_sync_rx_tkeep[n * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH] = s_axis_sync_rx_tkeep[n * AXIS_SYNC_KEEP_WIDTH +: AXIS_SYNC_KEEP_WIDTH];
                assign m_axis_sync_rx_tvalid[n] = s_axis_sync_rx_tvalid[n];
                assign m_axis_sync_rx_tlast[n] = s_axis_sync_rx_tlast[n];
                assign m_axis_sync_rx_tuser[n * AXIS_SYNC_RX_USER_WIDTH +: AXIS_SYNC_RX_USER_WIDTH] = s_axis_sync_rx_tuser[n * AXIS_SYNC_RX_USER_WIDTH +: AXIS_SYNC_RX_USER_WIDTH];
                assign s_axis_sync_rx_tready[n] = m_axis_sync_rx_tready[n];
            end
        end
    endgenerate

    // So are the other points at which frames could be taken.
    assign m_axis_direct_tx_tdata = s_axis_direct_tx_tdata;
    assign m_axis_direct_tx_tkeep = s_axis_direct_tx_tkeep;
    assign m_axis_direct_tx_tvalid = s_axis_direct_tx_tvalid;
    assign m_axis_direct_tx_tlast = s_axis_direct_tx_tlast;
    assign m_axis_direct_tx_tuser = s_axis_direct_tx_tuser;
    assign s_axis_direct_tx_tready = m_axis_direct_tx_tready;
    assign m_axis_direct_tx_cpl_ts = s_axis_direct_tx_cpl_ts;
    assign m_axis_direct_tx_cpl_tag = s_axis_direct_tx_cpl_tag;
    assign m_axis_direct_tx_cpl_valid = s_axis_direct_tx_cpl_valid;
    assign s_axis_direct_tx_cpl_ready = m_axis_direct_tx_cpl_ready;
    assign m_axis_direct_rx_tdata = s_axis_direct_rx_tdata;
    assign m_axis_direct_rx_tkeep = s_axis_direct_rx_tkeep;
    assign m_axis_direct_rx_tvalid = s_axis_direct_rx_tvalid;
    assign m_axis_direct_rx_tlast = s_axis_direct_rx_tlast;
    assign m_axis_direct_rx_tuser = s_axis_direct_rx_tuser;
    assign s_axis_direct_rx_tready = m_axis_direct_rx_tready;
    assign m_axis_if_tx_tdata = s_axis_if_tx_tdata;
    assign m_axis_if_tx_tkeep = s_axis_if_tx_tkeep;
    assign m_axis_if_tx_tvalid = s_axis_if_tx_tvalid;
    assign m_axis_if_tx_tlast = s_axis_if_tx_tlast;
    assign m_axis_if_tx_tid = s_axis_if_tx_tid;
    assign m_axis_if_tx_tdest = s_axis_if_tx_tdest;
    assign m_axis_if_tx_tuser = s_axis_if_tx_tuser;
    assign s_axis_if_tx_tready = m_axis_if_tx_tready;
    assign m_axis_if_tx_cpl_ts = s_axis_if_tx_cpl_ts;
    assign m_axis_if_tx_cpl_tag = s_axis_if_tx_cpl_tag;
    assign m_axis_if_tx_cpl_valid = s_axis_if_tx_cpl_valid;
    assign s_axis_if_tx_cpl_ready = m_axis_if_tx_cpl_ready;
    assign m_axis_if_rx_tdata = s_axis_if_rx_tdata;
    assign m_axis_if_rx_tkeep = s_axis_if_rx_tkeep;
    assign m_axis_if_rx_tvalid = s_axis_if_rx_tvalid;
    assign m_axis_if_rx_tlast = s_axis_if_rx_tlast;
    assign m_axis_if_rx_tid = s_axis_if_rx_tid;
    assign m_axis_if_rx_tdest = s_axis_if_rx_tdest;
    assign m_axis_if_rx_tuser = s_axis_if_rx_tuser;
    assign s_axis_if_rx_tready = m_axis_if_rx_tready;

    // Registers of Corundum, memories and pins are not used.
    assign m_axil_ctrl_awaddr = 0;
    assign m_axil_ctrl_awprot = 0;
    assign m_axil_ctrl_awvalid = 0;
    assign m_axil_ctrl_wdata = 0;
    assign m_axil_ctrl_wstrb = 0;
    assign m_axil_ctrl_wvalid = 0;
    assign m_axil_ctrl_bready = 1'b1;
    assign m_axil_ctrl_araddr = 0;
    assign m_axil_ctrl_arprot = 0;
    assign m_axil_ctrl_arvalid = 0;
    assign m_axil_ctrl_rready = 1'b1;
    assign m_axi_ddr_awid = 0;
    assign m_axi_ddr_awaddr = 0;
    assign m_axi_ddr_awlen = 0;
    assign m_axi_ddr_awsize = 0;
    assign m_axi_ddr_awburst = 0;
    assign m_axi_ddr_awlock = 0;
    assign m_axi_ddr_awcache = 0;
    assign m_axi_ddr_awprot = 0;
    assign m_axi_ddr_awqos = 0;
    assign m_axi_ddr_awuser = 0;
    assign m_axi_ddr_awvalid = 0;
    assign m_axi_ddr_wdata = 0;
    assign m_axi_ddr_wstrb = 0;
    assign m_axi_ddr_wlast = 0;
    assign m_axi_ddr_wuser = 0;
    assign m_axi_ddr_wvalid = 0;
    assign m_axi_ddr_bready = 0;
    assign m_axi_ddr_arid = 0;
    assign m_axi_ddr_araddr = 0;
    assign m_axi_ddr_arlen = 0;
    assign m_axi_ddr_arsize = 0;
    assign m_axi_ddr_arburst = 0;
    assign m_axi_ddr_arlock = 0;
    assign m_axi_ddr_arcache = 0;
    assign m_axi_ddr_arprot = 0;
    assign m_axi_ddr_arqos = 0;
    assign m_axi_ddr_aruser = 0;
    assign m_axi_ddr_arvalid = 0;
    assign m_axi_ddr_rready = 0;
    assign m_axi_hbm_awid = 0;
    assign m_axi_hbm_awaddr = 0;
    assign m_axi_hbm_awlen = 0;
    assign m_axi_hbm_awsize = 0;
    assign m_axi_hbm_awburst = 0;
    assign m_axi_hbm_awlock = 0;
    assign m_axi_hbm_awcache = 0;
    assign m_axi_hbm_awprot = 0;
    assign m_axi_hbm_awqos = 0;
    assign m_axi_hbm_awuser = 0;
    assign m_axi_hbm_awvalid = 0;
    assign m_axi_hbm_wdata = 0;
    assign m_axi_hbm_wstrb = 0;
    assign m_axi_hbm_wlast = 0;
    assign m_axi_hbm_wuser = 0;
    assign m_axi_hbm_wvalid = 0;
    assign m_axi_hbm_bready = 0;
    assign m_axi_hbm_arid = 0;
    assign m_axi_hbm_araddr = 0;
    assign m_axi_hbm_arlen = 0;
    assign m_axi_hbm_arsize = 0;
    assign m_axi_hbm_arburst = 0;
    assign m_axi_hbm_arlock = 0;
    assign m_axi_hbm_arcache = 0;
    assign m_axi_hbm_arprot = 0;
    assign m_axi_hbm_arqos = 0;
    assign m_axi_hbm_aruser = 0;
    assign m_axi_hbm_arvalid = 0;
    assign m_axi_hbm_rready = 0;
    assign gpio_out = 0;
    assign jtag_tdo = jtag_tdi;
endmodule
/* verilator lint_on UNUSEDSIGNAL */
/* verilator lint_on UNUSEDPARAM */

`default_nettype wire
