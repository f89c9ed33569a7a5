// SPDX-License-Identifier: MIT OR Apache-2.0
// block: merge
// of: stream/merge, 8-bit words; resets at any time
// proof fairness: induction 2, quick
//   Who waits is served after at most one word of the other; whenever there is room, someone is.
// proof order: induction 2, quick
//   Every word taken is offered in the next clock, unchanged, once; what is offered stays
//   until it is taken.
// broken fairness within 8: stream 1 goes first whenever it comes
//   - assign choose_one = in1_valid & (one_first_q | ~in0_valid);
//   + assign choose_one = in1_valid;
// broken fairness within 8: stream 1 only goes when stream 0 is silent
//   - assign choose_one = in1_valid & (one_first_q | ~in0_valid);
//   + assign choose_one = in1_valid & ~in0_valid;
// broken order within 8: what is offered is replaced before it is taken
//   - assign room = ~out_valid;
//   + assign room = 1'd1;
// cover: 12
module proof (
  input wire clk,
  input wire rst,
  input wire in0_valid,
  input wire [7:0] in0_data,
  input wire in1_valid,
  input wire [7:0] in1_data,
  input wire out_ready
);
  wire in0_ready, in1_ready, out_valid;
  wire [7:0] out_data;
  merge dut (.clk, .rst, .in0_valid, .in0_data, .in0_ready, .in1_valid, .in1_data, .in1_ready,
             .out_valid, .out_data, .out_ready);

  wire take0 = in0_valid & in0_ready;
  wire take1 = in1_valid & in1_ready;
  // Words of the other that were taken while this one waited, up to 2.
  reg [1:0] waited0 = 0, waited1 = 0;
  reg past = 0, past_take = 0, past_stays = 0;
  reg [7:0] past_word = 0;
  always @(posedge clk) begin
    past <= !rst;
    waited0 <= rst | take0 | ~in0_valid ? 2'd0 : waited0 + (take1 && waited0 != 2);
    waited1 <= rst | take1 | ~in1_valid ? 2'd0 : waited1 + (take0 && waited1 != 2);
    past_take <= take0 | take1;
    past_stays <= out_valid & ~out_ready;
    past_word <= take0 ? in0_data : take1 ? in1_data : out_data;
  end

`ifdef PROVE_fairness
  always @* begin
    assert (waited0 <= 1 && waited1 <= 1);
    assert (!(take0 && take1));
    if ((in0_valid || in1_valid) && !out_valid) assert (take0 || take1);
  end
`endif

`ifdef INDUCTION
  // What holds it together: who waited is next.
  (* hierconn *) wire \dut.one_first_q ;
  always @* begin
    if (waited0 == 1) assert (!\dut.one_first_q );
    if (waited1 == 1) assert (\dut.one_first_q );
  end
`endif

`ifdef PROVE_order
  always @* if (past) begin
    assert (out_valid == (past_take || past_stays));
    if (out_valid) assert (out_data == past_word);
    assert (!(past_take && past_stays));
  end
  always @* if (out_valid) assert (!take0 && !take1);
`endif

`ifdef COVER
  reg [2:0] turns = 0;
  reg last = 0;
  always @(posedge clk) begin
    if (take0 || take1) begin
      last <= take1;
      turns <= in0_valid && in1_valid && take1 != last ? turns + (turns != 7) : 3'd0;
    end
  end
  always @* begin
    cover (turns == 4);
    cover (waited0 == 1 && take0);
    cover (waited1 == 1 && take1);
  end
`endif
endmodule
