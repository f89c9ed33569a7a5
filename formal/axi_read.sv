// SPDX-License-Identifier: MIT OR Apache-2.0
// block: axi_read
// of: shell/axi_read, 64 bits; descriptors of 1 to 4136 bytes
// proof bursts: induction 2, quick
//   No burst crosses 4 KiB, each begins at a beat; AR stays, unchanged, until it is taken.
// proof data: induction 2, quick
//   Data stays, unchanged, until it is taken; a status comes with a last beat, and only then.
// proof beats: bounded 12
//   As many beats are asked for as hold the descriptor's bytes, and one status comes for each
//   descriptor, with its tag, in order. Up to 3 descriptors of up to 40 bytes below 8 KiB.
// broken bursts within 8: a burst may have as many beats as are left
//   - if (room < left_q) begin
//   + if (1'd0) begin
// broken data within 8: a beat is replaced before it is taken
//   - assign open = ~data_valid | data_ready;
//   + assign open = 1'd1;
// broken beats within 10: a descriptor that is not aligned lacks its last beat
//   - assign beats = (behind + round) >> 3;
//   + assign beats = (desc_length + round) >> 3;
// cover: 14
module proof (
  input wire clk,
  input wire desc_valid,
  input wire [63:0] desc_address,
  input wire [12:0] desc_length,
  input wire [7:0] desc_tag,
  input wire data_ready, arready, rvalid,
  input wire [63:0] rdata,
  input wire [1:0] rresp
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire desc_ready, data_valid, data_tlast, status_valid, status_error, arvalid, rready;
  wire [63:0] data_tdata, araddr;
  wire [7:0] status_tag, arlen;
  axi_read dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  always @* assume (desc_length >= 1 && desc_length <= 4136);
  wire take = desc_valid & desc_ready & !rst;
  wire ar = arvalid & arready & !rst;
  wire r = rvalid & rready & !rst;

`ifdef PROVE_bursts
  always @* if (arvalid && !rst) begin
    assert (araddr[2:0] == 0);
    assert (araddr[11:3] + arlen <= 511);
  end
  always @(posedge clk) if (past && $past(arvalid && !arready))
    assert (arvalid && $stable(araddr) && $stable(arlen));
`ifdef INDUCTION
  (* hierconn *) wire [63:0] \dut.at_q ;
  always @* if (!rst) assert (\dut.at_q [2:0] == 0);
`endif
`endif

`ifdef PROVE_data
  always @(posedge clk) if (past && $past(data_valid && !data_ready))
    assert (data_valid && $stable(data_tdata) && $stable(data_tlast) && $stable(status_tag)
            && $stable(status_error));
  always @* if (!rst) assert (status_valid == (data_valid && data_ready && data_tlast));
`endif

`ifndef PROVE_bursts
`ifndef PROVE_data
  reg [7:0] tags[0:3];
  reg [2:0] taken = 0, told = 0;
  // Beats that hold the bytes of the descriptors taken; asked for; come.
  reg [5:0] needed = 0, asked = 0, came = 0;
  wire [12:0] its = desc_address[2:0] + desc_length + 7;
  always @* begin
    assume (desc_length <= 40 && desc_address[63:13] == 0);
    assume (!desc_valid || taken < 3);
    // The bus gives what it was asked for.
    assume (!rvalid || came < asked);
  end
  always @(posedge clk) if (past && $past(desc_valid && !desc_ready))
    assume (desc_valid && $stable(desc_address) && $stable(desc_length) && $stable(desc_tag));
  always @(posedge clk) if (!rst) begin
    if (take) begin
      tags[taken[1:0]] <= desc_tag;
      taken <= taken + 1;
      needed <= needed + its[12:3];
    end
    if (ar) asked <= asked + arlen + 1;
    if (r) came <= came + 1;
    told <= told + status_valid;
  end
`ifdef PROVE_beats
  always @* if (!rst) begin
    assert (asked + (arvalid ? arlen + 1 : 0) <= needed);
    if (status_valid) begin
      assert (told < taken && status_tag == tags[told[1:0]]);
      if (told + 1 == taken) assert (asked == needed && came == needed);
    end
  end
`endif
`ifdef COVER
  reg split = 0;
  always @(posedge clk) split <= split || (ar && araddr[10:3] + arlen == 255 && asked + arlen + 1 < needed);
  always @* if (!rst) begin
    cover (told == 2 && came == 7 && split);
    cover (status_valid && status_error);
    cover (status_valid && data_tdata == 64'h5a);
  end
`endif
`endif
`endif
endmodule
