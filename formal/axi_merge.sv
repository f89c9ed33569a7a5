// SPDX-License-Identifier: MIT OR Apache-2.0
// block: axi_merge
// of: shell/axi_merge, 64 bits; both clients keep AXI's rules; reset at power-up
// proof fairness: induction 2, quick
//   Each way, who waits with an address is served after at most one of the other, and at once where
//   the bus takes addresses.
// proof rules: induction 2, quick
//   AR and AW stay, unchanged, until they are taken; each is an address that its owner gave, once.
//   No answer goes to both.
// proof owners: bounded 16
//   Data of writes goes in the order of their addresses, each burst from its owner, and never before
//   its address is offered.
// broken fairness within 8: ctrl goes first whenever it comes
//   - assign ar_ctrl = (~arvalid & ctrl_arvalid) & (arid | ~data_arvalid);
//   + assign ar_ctrl = ~arvalid & ctrl_arvalid;
// broken fairness within 8: data of writes goes first whenever it comes
//   - assign aw_ctrl = (aw_open & ctrl_awvalid) & (awid | ~data_awvalid);
//   + assign aw_ctrl = (aw_open & ctrl_awvalid) & ~data_awvalid;
// broken rules within 8: an address is replaced before it is taken
//   - assign aw_open = ~awvalid & owners_in_ready;
//   + assign aw_open = owners_in_ready;
// broken rules within 8: an answer goes to who has not read
//   - assign ctrl_bvalid = (bvalid & ~bid) & data_bready;
//   + assign ctrl_bvalid = bvalid & data_bready;
// broken owners within 14: a burst's owner is forgotten at its first beat
//   - assign owners_out_ready = (wvalid & wready) & wlast;
//   + assign owners_out_ready = wvalid & wready;
// cover: 12
module proof (
  input wire clk,
  input wire ctrl_arvalid, data_arvalid, ctrl_awvalid, data_awvalid, ctrl_wvalid, data_wvalid,
  input wire [63:0] ctrl_araddr, data_araddr, ctrl_awaddr, data_awaddr, ctrl_wdata, data_wdata,
  input wire [7:0] ctrl_arlen, data_arlen, ctrl_awlen, data_awlen, ctrl_wstrb, data_wstrb,
  input wire ctrl_wlast, data_wlast, ctrl_rready, data_rready, ctrl_bready, data_bready,
  input wire arready, awready, wready, rvalid, rid, bvalid, bid
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire ctrl_arready, data_arready, ctrl_awready, data_awready, ctrl_wready, data_wready;
  wire ctrl_rvalid, data_rvalid, ctrl_bvalid, data_bvalid;
  wire arvalid, awvalid, wvalid, arid, awid, wlast, rready, bready;
  wire [63:0] araddr, awaddr, wdata;
  wire [7:0] arlen, awlen, wstrb;
  axi_merge dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  // The clients keep the rules: what is offered stays until it is taken.
  always @(posedge clk) if (past) begin
    if ($past(ctrl_arvalid && !ctrl_arready))
      assume (ctrl_arvalid && $stable(ctrl_araddr) && $stable(ctrl_arlen));
    if ($past(data_arvalid && !data_arready))
      assume (data_arvalid && $stable(data_araddr) && $stable(data_arlen));
    if ($past(ctrl_awvalid && !ctrl_awready))
      assume (ctrl_awvalid && $stable(ctrl_awaddr) && $stable(ctrl_awlen));
    if ($past(data_awvalid && !data_awready))
      assume (data_awvalid && $stable(data_awaddr) && $stable(data_awlen));
    if ($past(ctrl_wvalid && !ctrl_wready))
      assume (ctrl_wvalid && $stable(ctrl_wdata) && $stable(ctrl_wstrb) && $stable(ctrl_wlast));
    if ($past(data_wvalid && !data_wready))
      assume (data_wvalid && $stable(data_wdata) && $stable(data_wstrb) && $stable(data_wlast));
  end

  wire ctrl_ar = ctrl_arvalid & ctrl_arready, data_ar = data_arvalid & data_arready;
  wire ctrl_aw = ctrl_awvalid & ctrl_awready, data_aw = data_awvalid & data_awready;
  // Addresses of the other that were taken while this one waited, up to 2.
  reg [1:0] ctrl_r = 0, data_r = 0, ctrl_w = 0, data_w = 0;
  always @(posedge clk) if (!rst) begin
    ctrl_r <= ctrl_ar | ~ctrl_arvalid ? 2'd0 : ctrl_r + (data_ar && ctrl_r != 2);
    data_r <= data_ar | ~data_arvalid ? 2'd0 : data_r + (ctrl_ar && data_r != 2);
    ctrl_w <= ctrl_aw | ~ctrl_awvalid ? 2'd0 : ctrl_w + (data_aw && ctrl_w != 2);
    data_w <= data_aw | ~data_awvalid ? 2'd0 : data_w + (ctrl_aw && data_w != 2);
  end

`ifdef PROVE_fairness
  always @* if (!rst) begin
    assert (ctrl_r <= 1 && data_r <= 1 && ctrl_w <= 1 && data_w <= 1);
    if ((ctrl_arvalid || data_arvalid) && !arvalid) assert (ctrl_ar || data_ar);
    assert (!(ctrl_ar && data_ar) && !(ctrl_aw && data_aw));
  end
`ifdef INDUCTION
  // Who waited is next: the other's address was the last.
  always @* begin
    if (ctrl_r != 0) assert (arid);
    if (data_r != 0) assert (!arid);
    if (ctrl_w != 0) assert (awid);
    if (data_w != 0) assert (!awid);
  end
`endif
`endif

`ifdef PROVE_rules
  always @(posedge clk) if (past) begin
    assert (arvalid == $past(ctrl_ar || data_ar || (arvalid && !arready)));
    assert (awvalid == $past(ctrl_aw || data_aw || (awvalid && !awready)));
    if ($past(arvalid && !arready))
      assert ($stable(araddr) && $stable(arlen) && $stable(arid) && !$past(ctrl_ar || data_ar));
    if ($past(awvalid && !awready))
      assert ($stable(awaddr) && $stable(awlen) && $stable(awid) && !$past(ctrl_aw || data_aw));
    if ($past(ctrl_ar)) assert (!arid && araddr == $past(ctrl_araddr) && arlen == $past(ctrl_arlen));
    if ($past(data_ar)) assert (arid && araddr == $past(data_araddr) && arlen == $past(data_arlen));
    if ($past(ctrl_aw)) assert (!awid && awaddr == $past(ctrl_awaddr) && awlen == $past(ctrl_awlen));
    if ($past(data_aw)) assert (awid && awaddr == $past(data_awaddr) && awlen == $past(data_awlen));
  end
  always @* begin
    assert ((ctrl_rvalid && ctrl_rready) == (rvalid && rready && !rid));
    assert ((data_rvalid && data_rready) == (rvalid && rready && rid));
    assert ((ctrl_bvalid && ctrl_bready) == (bvalid && bready && !bid));
    assert ((data_bvalid && data_bready) == (bvalid && bready && bid));
  end
`endif

  // Whose bursts of writes have an address, the oldest in bit 0.
  reg [15:0] owners = 0;
  reg [4:0] bursts = 0;
  wire ends = wvalid & wready & wlast;
  wire [15:0] kept = ends ? owners >> 1 : owners;
  wire [4:0] before = bursts - ends;
  always @(posedge clk) if (!rst) begin
    owners <= data_aw ? kept | 16'd1 << before[3:0] : kept;
    bursts <= before + (ctrl_aw || data_aw);
  end

`ifdef PROVE_owners
  always @* if (!rst) begin
    assert (!(ctrl_wvalid && ctrl_wready && data_wvalid && data_wready));
    if (wvalid) begin
      assert (bursts != 0);
      if (owners[0]) assert (data_wvalid && wdata == data_wdata && wstrb == data_wstrb && wlast == data_wlast);
      else assert (ctrl_wvalid && wdata == ctrl_wdata && wstrb == ctrl_wstrb && wlast == ctrl_wlast);
    end
    assert ((ctrl_wvalid && ctrl_wready) == (wvalid && wready && !owners[0]));
    assert ((data_wvalid && data_wready) == (wvalid && wready && owners[0]));
  end
  always @(posedge clk) if (past && $past(wvalid && !wready))
    assert (wvalid && $stable(wdata) && $stable(wstrb) && $stable(wlast));
`endif

`ifdef COVER
  reg [2:0] done = 0;
  reg both = 0;
  always @(posedge clk) if (!rst && ends) begin
    done <= done + (done != 7);
    both <= both || (done != 0 && owners[0] != owners[1]);
  end
  always @* if (!rst) begin
    cover (done == 3 && both && bursts == 0);
    cover (ctrl_r == 1 && ctrl_ar);
    cover (data_w == 1 && data_aw);
    cover (bursts == 3 && owners[2:0] == 3'b010);
  end
`endif
endmodule
