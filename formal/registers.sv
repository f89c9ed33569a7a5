// SPDX-License-Identifier: MIT OR Apache-2.0
// block: registers
// of: host/registers of tiny, which is the top's s_axil; whatever else it listens to, but no reset
// proof stable: induction 2, quick
//   AXI4-Lite: BVALID and RVALID stay, and BRESP, RDATA and RRESP do not change, until they are
//   taken; BRESP and RRESP are OKAY or SLVERR.
// proof answers: induction 2, quick
//   One answer per request: none before AW and W, or AR; beside one that is answered at most one
//   is held.
// proof time: bounded 12, quick
//   A write is answered within 4 clocks of its later half.
// broken stable within 10: an answer to a write does not wait for its taker
//   - if (s_axil_bready) begin
//   + if (1'd1) begin
// broken answers within 10: a write is answered when its address has come
//   - if (aw_held_q & w_held_q) begin
//   + if (aw_held_q) begin
// broken time within 12: a refused write is never answered
//   - writing_d = WRITING_ACT;
//   + writing_d = w_whole_q ? WRITING_ACT : WRITING_DECODE;
// cover: 12
module proof (
  input wire clk,
  input wire [20:0] s_axil_awaddr, s_axil_araddr,
  input wire [31:0] s_axil_wdata,
  input wire [3:0] s_axil_wstrb,
  input wire s_axil_awvalid, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready,
  input wire fence_busy, sends_left, contexts_left, drained, order_ready, order_met, ready,
  input wire [2:0] before_left,
  input wire [4:0] reset_waits,
  input wire [63:0] events,
  input wire [18:0] path_use,
  input wire [31:0] outstanding, unsolicited,
  input wire [12:0] free_slots, free_contexts,
  input wire [13:0] free_blocks,
  input wire [15:0] tombstones, interrupt_count
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire core_rst = 0, reset_ended = 0;
  wire s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid;
  wire [1:0] s_axil_bresp, s_axil_rresp;
  wire [31:0] s_axil_rdata, now;
  wire [836:0] settings;
  wire [524:0] table_write;
  wire [42:0] doorbell;
  wire [8:0] reclaim;
  wire [2:0] marks;
  wire [63:0] order_data;
  wire fence_begin, drain, order_valid, reset_begin;
  registers dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  wire aw = s_axil_awvalid & s_axil_awready & !rst;
  wire w = s_axil_wvalid & s_axil_wready & !rst;
  wire b = s_axil_bvalid & s_axil_bready & !rst;
  wire ar = s_axil_arvalid & s_axil_arready & !rst;
  wire r = s_axil_rvalid & s_axil_rready & !rst;
  // Requests that have no answer yet.
  reg [1:0] aws = 0, ws = 0, ars = 0;
  reg [3:0] waits = 0;
  always @(posedge clk) begin
    aws <= aws + aw - b;
    ws <= ws + w - b;
    ars <= ars + ar - r;
    waits <= aws != 0 && ws != 0 && !s_axil_bvalid ? waits + (waits != 15) : 4'd0;
  end

`ifdef PROVE_stable
  always @(posedge clk) if (past) begin
    if ($past(s_axil_bvalid && !s_axil_bready)) assert (s_axil_bvalid && $stable(s_axil_bresp));
    if ($past(s_axil_rvalid && !s_axil_rready))
      assert (s_axil_rvalid && $stable(s_axil_rdata) && $stable(s_axil_rresp));
  end
  always @* if (!rst) assert (!s_axil_bresp[0] && !s_axil_rresp[0]);
`endif

`ifdef PROVE_answers
  always @* if (!rst) begin
    assert (aws <= 2 && ws <= 2 && ars <= 1);
    if (s_axil_bvalid) assert (aws != 0 && ws != 0);
    else assert (aws <= 1 && ws <= 1);
    if (s_axil_rvalid) assert (ars == 1);
  end
`ifdef INDUCTION
  (* hierconn *) wire \dut.aw_held_q ;
  (* hierconn *) wire \dut.w_held_q ;
  (* hierconn *) wire [1:0] \dut.writing_q ;
  (* hierconn *) wire [2:0] \dut.reading_q ;
  always @* if (!rst) begin
    // Decode and act are on what is held; the answer is of what was.
    if (\dut.writing_q == 0) assert (aws == \dut.aw_held_q && ws == \dut.w_held_q );
    if (\dut.writing_q == 1 || \dut.writing_q == 2) assert (\dut.aw_held_q && \dut.w_held_q && aws == 1 && ws == 1);
    if (\dut.writing_q == 3) assert (aws == 1 + \dut.aw_held_q && ws == 1 + \dut.w_held_q );
    assert (\dut.reading_q <= 4);
    assert (ars == (\dut.reading_q != 0));
  end
`endif
`endif

`ifdef PROVE_time
  always @* if (!rst) assert (waits <= 3);
`endif

`ifdef COVER
  reg [1:0] writes = 0, reads = 0;
  reg good = 0, bad = 0;
  always @(posedge clk) begin
    writes <= writes + b;
    reads <= reads + r;
    good <= good || (b && s_axil_bresp == 0);
    bad <= bad || (b && s_axil_bresp == 2);
  end
  always @* if (!rst) begin
    cover (writes == 2);
    cover (good);
    cover (bad);
    cover (r && s_axil_rresp == 0 && s_axil_rdata != 0);
    cover (r && s_axil_rresp == 2);
  end
`endif
endmodule
