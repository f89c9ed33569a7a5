// SPDX-License-Identifier: MIT OR Apache-2.0
// block: round_robin
// of: stream/round_robin, 8-bit words; a word stands until it is taken; resets at any time
// proof fairness: induction 2, quick
//   Who waits is served after at most one word of each of the others; a word is shown in the clock
//   after one came, at the latest.
// proof order: induction 2, quick
//   What goes out is what one stream shows, which is taken then and no other; it stays until it is taken.
// broken fairness within 8: stream 2 only goes when stream 0 is silent
//   - two_d = in2_valid;
//   + two_d = in2_valid & ~in0_valid;
// broken fairness within 8: stream 1 goes again though stream 0 waits
//   - one_d = in1_valid & ~in0_valid;
//   + one_d = in1_valid;
// broken order within 8: the turn goes on before what is shown is taken
//   - if (out_ready | ~shown) begin
//   + if (1'd1) begin
// broken order within 8: a word is taken that is not yet
//   - assign in1_ready = out_ready & one_q;
//   + assign in1_ready = one_q;
// cover: 12
module proof (
  input wire clk,
  input wire rst,
  input wire in0_valid,
  input wire [7:0] in0_data,
  input wire in1_valid,
  input wire [7:0] in1_data,
  input wire in2_valid,
  input wire [7:0] in2_data,
  input wire out_ready
);
  wire in0_ready, in1_ready, in2_ready, out_valid;
  wire [7:0] out_data;
  round_robin dut (.clk, .rst, .in0_valid, .in0_data, .in0_ready, .in1_valid, .in1_data, .in1_ready,
                   .in2_valid, .in2_data, .in2_ready, .out_valid, .out_data, .out_ready);

  wire [2:0] valid = {in2_valid, in1_valid, in0_valid};
  wire [2:0] take = valid & {in2_ready, in1_ready, in0_ready};
  // Words of each other stream that were taken while this one waited, up to 2.
  reg [1:0] by1_0 = 0, by2_0 = 0, by0_1 = 0, by2_1 = 0, by0_2 = 0, by1_2 = 0;
  reg past = 0, past_idle = 0, past_stays = 0;
  reg [2:0] past_waits = 0;
  reg [7:0] past_word = 0, past0 = 0, past1 = 0, past2 = 0;
  always @(posedge clk) begin
    past <= !rst;
    by1_0 <= rst | take[0] | ~valid[0] ? 2'd0 : by1_0 + (take[1] && by1_0 != 2);
    by2_0 <= rst | take[0] | ~valid[0] ? 2'd0 : by2_0 + (take[2] && by2_0 != 2);
    by0_1 <= rst | take[1] | ~valid[1] ? 2'd0 : by0_1 + (take[0] && by0_1 != 2);
    by2_1 <= rst | take[1] | ~valid[1] ? 2'd0 : by2_1 + (take[2] && by2_1 != 2);
    by0_2 <= rst | take[2] | ~valid[2] ? 2'd0 : by0_2 + (take[0] && by0_2 != 2);
    by1_2 <= rst | take[2] | ~valid[2] ? 2'd0 : by1_2 + (take[1] && by1_2 != 2);
    past_idle <= ~out_valid & |valid;
    past_stays <= out_valid & ~out_ready;
    past_word <= out_data;
    past_waits <= rst ? 3'd0 : valid & ~take;
    past0 <= in0_data;
    past1 <= in1_data;
    past2 <= in2_data;
  end

  // A word stands until it is taken.
  always @* begin
    assume ((past_waits & ~valid) == 0);
    if (past_waits[0]) assume (in0_data == past0);
    if (past_waits[1]) assume (in1_data == past1);
    if (past_waits[2]) assume (in2_data == past2);
  end

`ifdef PROVE_fairness
  always @* begin
    assert (by1_0 <= 1 && by2_0 <= 1 && by0_1 <= 1 && by2_1 <= 1 && by0_2 <= 1 && by1_2 <= 1);
    if (past && past_idle) assert (out_valid);
  end
`endif

`ifdef INDUCTION
  // What holds it together: whose turn may be next.
  (* hierconn *) wire \dut.one_q ;
  (* hierconn *) wire \dut.two_q ;
  always @* begin
    assert (!(\dut.one_q && \dut.two_q ));
    if (by1_0 == 1) assert (!\dut.one_q );
    if (by2_0 == 1) assert (!\dut.one_q && !\dut.two_q );
    if (by0_1 == 1) assert (\dut.one_q );
    if (by2_1 == 1) assert (!\dut.two_q );
    if (by0_2 == 1) assert (\dut.one_q || \dut.two_q );
    if (by1_2 == 1) assert (\dut.two_q );
    // Who had its turn waits no longer; a turn that was given is of one that waits.
    if (by1_0 == 1 && \dut.two_q ) assert (past_waits[2] && valid[2]);
    if (by0_2 == 1 && \dut.one_q ) assert (past_waits[1] && valid[1]);
    if (by2_1 == 1 && !\dut.one_q ) assert (past_waits[0] && valid[0]);
  end
`endif

`ifdef PROVE_order
  always @* begin
    assert (take == 0 || take == 1 || take == 2 || take == 4);
    assert (|take == (out_valid && out_ready));
    if (take[0]) assert (out_data == in0_data);
    if (take[1]) assert (out_data == in1_data);
    if (take[2]) assert (out_data == in2_data);
    if (past && past_stays) assert (out_valid && out_data == past_word);
  end
`endif

`ifdef COVER
  reg [2:0] last = 0, before_last = 0;
  always @(posedge clk) if (|take) begin
    last <= take;
    before_last <= last;
  end
  always @* begin
    cover (take == 4 && last == 2 && before_last == 1);
    cover (by1_0 == 1 && by2_0 == 1 && take[0]);
    cover (by0_1 == 1 && by2_1 == 1 && take[1]);
    cover (by0_2 == 1 && by1_2 == 1 && take[2]);
  end
`endif
endmodule
