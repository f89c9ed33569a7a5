// Tessera in the 250 MHz box of an OpenNIC shell, at one port of it: docs/shells.md.
//
//   registers, 2 MiB ─> s_axil          m_axis_adap_tx ─> packet adapter, transmit
//   QDMA slave bridge <── m_axi         s_axis_adap_rx <─ packet adapter, receive
//
// Everything is in the clock of the streams, 250 MHz. Beside this file: the export of `nic512`,
// `cargo tessera export --shell axi`. Names of streams are OpenNIC's, for one interface.

`timescale 1ns / 1ps
`default_nettype none

module tessera_opennic_box #(
    // The bit of the port in OpenNIC's tuser_dst: 6 for port 0, 7 for port 1.
    parameter DESTINATION = 6
) (
    input  wire axis_aclk,
    input  wire axis_rst,
    input  wire [31:0] s_axil_awaddr,
    input  wire s_axil_awvalid,
    output wire s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire s_axil_wvalid,
    output wire s_axil_wready,
    output wire [1:0] s_axil_bresp,
    output wire s_axil_bvalid,
    input  wire s_axil_bready,
    input  wire [31:0] s_axil_araddr,
    input  wire s_axil_arvalid,
    output wire s_axil_arready,
    output wire [31:0] s_axil_rdata,
    output wire [1:0] s_axil_rresp,
    output wire s_axil_rvalid,
    input  wire s_axil_rready,
    // Level: there are completions to look for. To QDMA's user interrupts, or nowhere.
    output wire irq,
    output wire m_axis_adap_tx_250mhz_tvalid,
    output wire [511:0] m_axis_adap_tx_250mhz_tdata,
    output wire [63:0] m_axis_adap_tx_250mhz_tkeep,
    output wire m_axis_adap_tx_250mhz_tlast,
    output wire [15:0] m_axis_adap_tx_250mhz_tuser_size,
    output wire [15:0] m_axis_adap_tx_250mhz_tuser_src,
    output wire [15:0] m_axis_adap_tx_250mhz_tuser_dst,
    input  wire m_axis_adap_tx_250mhz_tready,
    input  wire s_axis_adap_rx_250mhz_tvalid,
    input  wire [511:0] s_axis_adap_rx_250mhz_tdata,
    input  wire [63:0] s_axis_adap_rx_250mhz_tkeep,
    input  wire s_axis_adap_rx_250mhz_tlast,
    output wire s_axis_adap_rx_250mhz_tready,
    output wire m_axi_awvalid,
    input  wire m_axi_awready,
    output wire m_axi_awid,
    output wire [63:0] m_axi_awaddr,
    output wire [7:0] m_axi_awlen,
    output wire [2:0] m_axi_awsize,
    output wire [1:0] m_axi_awburst,
    output wire m_axi_awlock,
    output wire [3:0] m_axi_awcache,
    output wire [2:0] m_axi_awprot,
    output wire m_axi_wvalid,
    input  wire m_axi_wready,
    output wire [511:0] m_axi_wdata,
    output wire [63:0] m_axi_wstrb,
    output wire m_axi_wlast,
    input  wire m_axi_bvalid,
    output wire m_axi_bready,
    input  wire m_axi_bid,
    input  wire [1:0] m_axi_bresp,
    output wire m_axi_arvalid,
    input  wire m_axi_arready,
    output wire m_axi_arid,
    output wire [63:0] m_axi_araddr,
    output wire [7:0] m_axi_arlen,
    output wire [2:0] m_axi_arsize,
    output wire [1:0] m_axi_arburst,
    output wire m_axi_arlock,
    output wire [3:0] m_axi_arcache,
    output wire [2:0] m_axi_arprot,
    input  wire m_axi_rvalid,
    output wire m_axi_rready,
    input  wire m_axi_rid,
    input  wire [511:0] m_axi_rdata,
    input  wire [1:0] m_axi_rresp,
    input  wire m_axi_rlast
);
    wire [511:0] tx_tdata;
    wire [63:0] tx_tkeep;
    wire tx_tvalid;
    wire tx_tready;
    wire tx_tlast;

    assign m_axis_adap_tx_250mhz_tuser_src = 16'd0;
    assign m_axis_adap_tx_250mhz_tuser_dst = 16'd1 << DESTINATION;

    /* verilator lint_off UNUSEDSIGNAL */
    wire unused = |{s_axil_awaddr[31:21], s_axil_araddr[31:21]};
    /* verilator lint_on UNUSEDSIGNAL */

    tessera_opennic_size whole (
        .clk(axis_aclk),
        .rst(axis_rst),
        .s_tdata(tx_tdata),
        .s_tkeep(tx_tkeep),
        .s_tvalid(tx_tvalid),
        .s_tready(tx_tready),
        .s_tlast(tx_tlast),
        .m_tdata(m_axis_adap_tx_250mhz_tdata),
        .m_tkeep(m_axis_adap_tx_250mhz_tkeep),
        .m_tvalid(m_axis_adap_tx_250mhz_tvalid),
        .m_tready(m_axis_adap_tx_250mhz_tready),
        .m_tlast(m_axis_adap_tx_250mhz_tlast),
        .m_size(m_axis_adap_tx_250mhz_tuser_size)
    );

    tessera_nic512_axi nic (
        .clk(axis_aclk),
        .rst(axis_rst),
        // OpenNIC's adapter drops frames that the MAC found bad.
        .s_axis_tuser(1'b0),
        .s_axis_tdata(s_axis_adap_rx_250mhz_tdata),
        .s_axis_tkeep(s_axis_adap_rx_250mhz_tkeep),
        .s_axis_tvalid(s_axis_adap_rx_250mhz_tvalid),
        .s_axis_tready(s_axis_adap_rx_250mhz_tready),
        .s_axis_tlast(s_axis_adap_rx_250mhz_tlast),
        .m_axis_tdata(tx_tdata),
        .m_axis_tkeep(tx_tkeep),
        .m_axis_tvalid(tx_tvalid),
        .m_axis_tready(tx_tready),
        .m_axis_tlast(tx_tlast),
        .s_axil_awaddr(s_axil_awaddr[20:0]),
        .s_axil_araddr(s_axil_araddr[20:0]),
        // OpenNIC's register bus has no strobes: whole words are written.
        .s_axil_wstrb(4'hF),
        .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata),
        .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp),
        .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready),
        .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata),
        .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready),
        .irq(irq),
        .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_awid(m_axi_awid),
        .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen),
        .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst),
        .m_axi_awlock(m_axi_awlock),
        .m_axi_awcache(m_axi_awcache),
        .m_axi_awprot(m_axi_awprot),
        .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready),
        .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wlast(m_axi_wlast),
        .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready),
        .m_axi_bid(m_axi_bid),
        .m_axi_bresp(m_axi_bresp),
        .m_axi_arvalid(m_axi_arvalid),
        .m_axi_arready(m_axi_arready),
        .m_axi_arid(m_axi_arid),
        .m_axi_araddr(m_axi_araddr),
        .m_axi_arlen(m_axi_arlen),
        .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst),
        .m_axi_arlock(m_axi_arlock),
        .m_axi_arcache(m_axi_arcache),
        .m_axi_arprot(m_axi_arprot),
        .m_axi_rvalid(m_axi_rvalid),
        .m_axi_rready(m_axi_rready),
        .m_axi_rid(m_axi_rid),
        .m_axi_rdata(m_axi_rdata),
        .m_axi_rresp(m_axi_rresp),
        .m_axi_rlast(m_axi_rlast)
    );
endmodule

// Holds a frame until its length is known, which OpenNIC wants beside every beat of it.
//
// Frames of up to 128 beats; 16 of them, or 256 beats, wait at once. A beat per clock.
module tessera_opennic_size (
    input  wire clk,
    input  wire rst,
    input  wire [511:0] s_tdata,
    input  wire [63:0] s_tkeep,
    input  wire s_tvalid,
    output wire s_tready,
    input  wire s_tlast,
    output reg  [511:0] m_tdata,
    output reg  [63:0] m_tkeep,
    output reg  m_tvalid,
    input  wire m_tready,
    output reg  m_tlast,
    output reg  [15:0] m_size
);
    reg [576:0] beats [0:255];
    (* ram_style = "distributed" *) reg [15:0] sizes [0:15];
    // Counters with a bit more than addresses have: equal is empty, equal but for it full.
    reg [8:0] beat_in;
    reg [8:0] beat_out;
    reg [4:0] size_in;
    reg [4:0] size_out;
    reg [15:0] so_far;

    // Bytes of a beat: tkeep is contiguous from bit 0, and a beat has at least one.
    function [15:0] bytes;
        input [63:0] keep;
        integer i;
        begin
            bytes = 16'd0;
            for (i = 0; i < 64; i = i + 1) if (keep[i]) bytes = 16'd1 + i[15:0];
        end
    endfunction

    wire beats_full = beat_in == {~beat_out[8], beat_out[7:0]};
    wire sizes_full = size_in == {~size_out[4], size_out[3:0]};
    wire [15:0] size = so_far + bytes(s_tkeep);
    wire put = s_tvalid && s_tready;
    // Whole frames only: there is a size where a frame's last beat is in.
    wire get = size_in != size_out && (!m_tvalid || m_tready);
    wire [576:0] next = beats[beat_out[7:0]];

    assign s_tready = !beats_full && !sizes_full;

    always @(posedge clk) begin
        if (put) beats[beat_in[7:0]] <= {s_tlast, s_tkeep, s_tdata};
        if (put && s_tlast) sizes[size_in[3:0]] <= size;
        if (get) begin
            {m_tlast, m_tkeep, m_tdata} <= next;
            m_size <= sizes[size_out[3:0]];
        end
        m_tvalid <= get || (m_tvalid && !m_tready);
        beat_in <= beat_in + {8'd0, put};
        size_in <= size_in + {4'd0, put && s_tlast};
        beat_out <= beat_out + {8'd0, get};
        size_out <= size_out + {4'd0, get && next[576]};
        if (put) so_far <= s_tlast ? 16'd0 : size;
        if (rst) begin
            m_tvalid <= 1'b0;
            beat_in <= 9'd0;
            beat_out <= 9'd0;
            size_in <= 5'd0;
            size_out <= 5'd0;
            so_far <= 16'd0;
        end
    end
endmodule

`default_nettype wire
