// SPDX-License-Identifier: MIT OR Apache-2.0
// block: axi_write
// of: shell/axi_write, 64 bits; descriptors of 1 to 4136 bytes, B only after its burst
// proof bursts: induction 2, quick
//   No burst crosses 4 KiB, each begins at a beat; AW stays, unchanged, until it is taken.
// proof beats: bounded 10
//   WLAST comes with the beat that AWLEN says, never before its address is offered; W stays,
//   unchanged, until it is taken. Up to 3 descriptors of up to 40 bytes below 8 KiB.
// proof bytes: bounded 9
//   Each byte goes where its descriptor says, once, and no other is written; the status comes
//   when all are answered, with the descriptor's tag. One descriptor of up to 24 bytes below 8 KiB.
// broken bursts within 8: a burst may have as many beats as are left
//   - if (room < left_q) begin
//   + if (1'd0) begin
// broken bursts within 8: addresses are not rounded down to a beat
//   - at_d = desc_address - {58'h0, offset};
//   + at_d = desc_address;
// broken beats within 10: WLAST forgets that a burst ends at a boundary
//   - assign closes = ends | ((here + 10'h1) == window);
//   + assign closes = ends;
// broken beats within 10: data does not wait for its address
//   - assign open = (~wvalid | wready) & (ahead_q != 9'h0);
//   + assign open = ~wvalid | wready;
// broken bytes within 9: the end of a descriptor is not masked
//   - if (ends & (present[11:6] != 6'h0)) begin
//   + if (1'd0) begin
// broken bytes within 9: a byte is rotated to the wrong place
//   - assign mask = ones << front;
//   + assign mask = ones << 3;
// broken bytes within 9: each burst is a status
//   - told_d = answered & awaited_out_data[8];
//   + told_d = answered;
// cover: 16
module proof (
  input wire clk,
  input wire desc_valid,
  input wire [63:0] desc_address,
  input wire [12:0] desc_length,
  input wire [7:0] desc_tag,
  input wire data_valid,
  input wire [63:0] data_tdata,
  input wire awready, wready, bvalid,
  input wire [1:0] bresp
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire desc_ready, data_ready, status_valid, status_error, awvalid, wvalid, wlast, bready;
  wire [7:0] status_tag, awlen, wstrb;
  wire [63:0] awaddr, wdata;
  axi_write dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  always @* assume (desc_length >= 1 && desc_length <= 4136);
  wire take = desc_valid & desc_ready & !rst;
  wire aw = awvalid & awready, w = wvalid & wready, b = bvalid & bready;

`ifdef PROVE_bursts
  always @* if (awvalid && !rst) begin
    assert (awaddr[2:0] == 0);
    assert (awaddr[11:3] + awlen <= 511);
  end
  always @(posedge clk) if (past && $past(awvalid && !awready))
    assert (awvalid && $stable(awaddr) && $stable(awlen));
`ifdef INDUCTION
  (* hierconn *) wire [63:0] \dut.at_q ;
  always @* if (!rst) assert (\dut.at_q [2:0] == 0);
`endif
`else

  // Descriptors taken, and how many of their beats of data have come.
  reg [12:0] addresses[0:3];
  reg [12:0] lengths[0:3];
  reg [7:0] tags[0:3];
  reg [2:0] taken = 0, filled = 0, told = 0;
  reg [9:0] beat = 0;
`ifdef PROVE_bytes
  localparam MOST = 24, COUNT = 1;
`else
  localparam MOST = 40, COUNT = 3;
`endif
  always @* begin
    assume (desc_length <= MOST);
    assume (!desc_valid || taken < COUNT);
    // What the induction above shows of all addresses: sums of fewer bits here.
    assume (desc_address[63:13] == 0);
    // Data comes behind its descriptor, and says by itself where it goes.
    assume (!data_valid || filled < taken);
  end
  wire [12:0] data_at = addresses[filled[1:0]] + beat * 8;
`ifdef PROVE_bytes
  integer i;
  always @* if (data_valid) for (i = 0; i < 8; i = i + 1)
    assume (data_tdata[i * 8 +: 8] == ((data_at + i) & 13'hff));
`endif
  always @(posedge clk) begin
    if (take) begin
      addresses[taken[1:0]] <= desc_address;
      lengths[taken[1:0]] <= desc_length;
      tags[taken[1:0]] <= desc_tag;
      taken <= taken + 1;
    end
    if (data_valid && data_ready) begin
      beat <= beat + 1;
      if ((beat + 1) * 8 >= lengths[filled[1:0]]) begin
        beat <= 0;
        filled <= filled + 1;
      end
    end
  end
  always @(posedge clk) if (past) begin
    if ($past(desc_valid && !desc_ready))
      assume (desc_valid && $stable(desc_address) && $stable(desc_length) && $stable(desc_tag));
    if ($past(data_valid && !data_ready)) assume (data_valid && $stable(data_tdata));
  end

  // Bursts in the order in which they were offered, W's place in them, and B's.
  reg [13:0] starts[0:7];
  reg [7:0] lasts[0:7];
  reg [3:0] offered = 0, gone = 0, written = 0, answers = 0;
  reg [7:0] at = 0;
  reg shown = 0;
  wire fresh = awvalid & ~shown;
  always @(posedge clk) if (!rst) begin
    shown <= awvalid & ~awready;
    if (fresh) begin
      starts[offered[2:0]] <= awaddr;
      lasts[offered[2:0]] <= awlen;
    end
    offered <= offered + fresh;
    gone <= gone + aw;
    if (w) at <= wlast ? 8'd0 : at + 8'd1;
    written <= written + (w & wlast);
    answers <= answers + b;
  end
  wire new_one = fresh && offered == written;
  wire [13:0] start = new_one ? awaddr : starts[written[2:0]];
  wire [7:0] last = new_one ? awlen : lasts[written[2:0]];
  wire [13:0] place = start + at * 8;
  always @* assume (!bvalid || (answers < written && answers < gone));
  always @* assume (offered < 8);

`ifdef PROVE_beats
  always @* if (!rst && wvalid) begin
    assert (written < offered || fresh);
    assert (wlast == (at == last));
  end
  always @(posedge clk) if (past && $past(wvalid && !wready))
    assert (wvalid && $stable(wdata) && $stable(wstrb) && $stable(wlast));
`endif

`ifdef PROVE_bytes
  // Any byte of memory.
  (* anyconst *) reg [13:0] byte_at;
  wire [13:0] inside = byte_at - desc_address;
  wire [13:0] of_beat = byte_at - place;
  wire hit = w && of_beat < 8 && wstrb[of_beat[2:0]];
  reg [2:0] wanted = 0, hits = 0;
  reg [3:0] failures = 0;
  reg failed = 0;
  always @(posedge clk) if (!rst) begin
    wanted <= wanted + (take && inside < desc_length);
    hits <= hits + hit;
  end
  always @* if (!rst) begin
    assert (hits <= wanted && (!hit || hits < wanted));
    if (hit) assert (wdata[of_beat[2:0] * 8 +: 8] == byte_at[7:0]);
    if (status_valid) begin
      assert (told < taken && status_tag == tags[told[1:0]]);
      if (told + 1 == taken) assert (hits == wanted && answers == offered && !fresh);
    end
  end
  always @(posedge clk) if (!rst) told <= told + status_valid;
`endif

`ifdef COVER
  reg split = 0, failed = 0;
  always @(posedge clk) if (!rst) begin
    split <= split || (aw && awaddr[10:3] + awlen == 255 && lengths[0] > 16);
    failed <= failed || (status_valid && status_error);
    told <= told + status_valid;
  end
  always @* if (!rst) begin
    cover (told == 2 && split && answers == 3);
    cover (failed && status_valid && !status_error);
    cover (w && wlast && at == 5 && wstrb == 8'h01);
    cover (taken == 3 && told == 0 && filled == 2);
  end
`endif
`endif
endmodule
