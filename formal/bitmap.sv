// SPDX-License-Identifier: MIT OR Apache-2.0
// block: bitmap
// of: recovery/bitmap of tiny: 8 blocks of 256 bits; only a block that is allocated is freed
// proof count: induction 5, quick
//   The count is that of the zeros below the limit; the first zero is one and has none below it;
//   full is when there is none.
// proof bits: bounded 12
//   Each bit is what the operations before made it, if those of a block are three clocks apart.
// proof blocks: bounded 19
//   No block is given out twice before it is freed, none that does not exist; free_count is
//   that of the blocks that were not given out a clock ago.
// broken count within 8: the sum leaves out a sixteenth
//   - assign of_two_7 = sum_count_7_q + sum_count_15_q;
//   + assign of_two_7 = sum_count_7_q;
// broken count within 8: the upper half is preferred
//   - if (pick2_any_0) begin
//   + if (pick2_any_0 & ~pick2_any_1) begin
// broken bits within 9: an initialised block is not written
//   - scan_write_d = select_valid_q & (select_kind_q != 2'd0);
//   + scan_write_d = select_valid_q & (select_kind_q == 2'd1);
// broken blocks within 15: a block taken stays where it was
//   - assign pool_out_ready = ready & (alloc_take | ~alloc_available);
//   + assign pool_out_ready = ready & ((alloc_take & free_valid) | ~alloc_available);
// cover: 26
module proof (
  input wire clk,
  input wire op_valid,
  input wire [31:0] op,
  input wire alloc_take,
  input wire free_valid,
  input wire [2:0] freed
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire result_valid, alloc_available, ready;
  wire [274:0] result;
  wire [12:0] alloc_block;
  wire [13:0] free_count;
  wire [12:0] free_block = freed;
  bitmap dut (.*);

  wire [1:0] kind = op[1:0];
  wire [12:0] block = op[14:2];
  wire [7:0] index = op[22:15];
  wire [8:0] limit = op[31:23];
  wire was_set = result[0];
  wire [255:0] bits = result[256:1];
  wire [7:0] first_zero = result[264:257];
  wire full = result[265];
  wire [8:0] missing = result[274:266];
  always @* assume (limit <= 256 && block < 8 && kind != 3);
  reg [3:0] before1 = 0, before2 = 0;
  always @(posedge clk) {before2, before1} <= {before1, op_valid, block[2:0]};
  always @* if (op_valid) assume (before1 != {1'b1, block[2:0]} && before2 != {1'b1, block[2:0]});
  // Any bit.
  (* anyconst *) reg [7:0] bit_at;

`ifdef PROVE_count
  reg [8:0] limit1, limit2, limit3;
  always @(posedge clk) {limit3, limit2, limit1} <= {limit2, limit1, limit};
  reg [2:0] age = 0;
  always @(posedge clk) age <= age + (age != 7);

  // In two steps, each seen through at once: the counts of the sixteenths, of which any one is
  // looked at, and a clock later their sum.
  (* hierconn *) wire [255:0] \dut.sum_bits_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_0_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_1_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_2_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_3_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_4_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_5_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_6_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_7_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_8_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_9_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_10_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_11_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_12_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_13_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_14_q ;
  (* hierconn *) wire [8:0] \dut.sum_count_15_q ;
  wire [143:0] counts = {\dut.sum_count_15_q , \dut.sum_count_14_q , \dut.sum_count_13_q , \dut.sum_count_12_q , \dut.sum_count_11_q , \dut.sum_count_10_q , \dut.sum_count_9_q , \dut.sum_count_8_q , \dut.sum_count_7_q , \dut.sum_count_6_q , \dut.sum_count_5_q , \dut.sum_count_4_q , \dut.sum_count_3_q , \dut.sum_count_2_q , \dut.sum_count_1_q , \dut.sum_count_0_q };
  (* anyconst *) reg [3:0] sixteenth;
  wire [15:0] its_bits = \dut.sum_bits_q [sixteenth * 16 +: 16];
  integer i;
  reg [4:0] zeros;
  // In the block's own order: of others a solver does not see that they are the same.
  reg [71:0] twos;
  reg [35:0] fours;
  reg [8:0] total;
  always @* begin
    zeros = 0;
    for (i = 0; i < 16; i = i + 1) zeros = zeros + (sixteenth * 16 + i < limit3 && !its_bits[i]);
    for (i = 0; i < 8; i = i + 1) twos[i * 9 +: 9] = counts[i * 9 +: 9] + counts[(i + 8) * 9 +: 9];
    for (i = 0; i < 4; i = i + 1) fours[i * 9 +: 9] = twos[i * 9 +: 9] + twos[(i + 4) * 9 +: 9];
    total = (fours[8:0] + fours[26:18]) + (fours[17:9] + fours[35:27]);
  end
  reg [8:0] past_total;
  reg [255:0] past_bits;
  always @(posedge clk) {past_total, past_bits} <= {total, \dut.sum_bits_q };
  always @* if (age >= 5) begin
    assert (counts[sixteenth * 9 +: 9] == zeros);
    assert (missing == past_total && bits == past_bits);
    if (full) assert (bits[bit_at] && first_zero == 0);
    else begin
      assert (!bits[first_zero]);
      if (bit_at < first_zero) assert (bits[bit_at]);
    end
  end
`endif

`ifdef PROVE_bits
  (* anyconst *) reg [2:0] the_block;
  reg known = 0, value = 0;
  wire mine = op_valid && block == the_block && !rst;
  wire sets = mine && kind == 1 && index == bit_at;
  wire next = sets | (mine && kind == 2 ? bit_at >= limit : value);
  wire next_known = known | (mine && kind == 2);
  // What follows the operation by four clocks: is it of the block, and how is the bit before and after.
  reg [4:0] delay0 = 0, delay1 = 0, delay2 = 0, delay3 = 0;
  always @(posedge clk) begin
    value <= next;
    known <= next_known;
    {delay3, delay2, delay1, delay0} <=
      {delay2, delay1, delay0, {op_valid && !rst, mine && next_known, next, value && kind != 2, index == bit_at}};
  end
  always @* begin
    assert (result_valid == delay3[4]);
    if (delay3[3]) begin
      assert (bits[bit_at] == delay3[2]);
      if (delay3[0]) assert (was_set == delay3[1]);
    end
  end
`endif

  reg [7:0] out = 0;
  wire take = alloc_take & alloc_available;
  always @* assume (!free_valid || (ready && out[freed]));
  always @(posedge clk) begin
    if (take) out[alloc_block[2:0]] <= 1;
    if (free_valid) out[freed] <= 0;
  end
  reg [3:0] given_before = 0;
  always @(posedge clk) given_before <= given;
  wire [3:0] given = out[0] + out[1] + out[2] + out[3] + out[4] + out[5] + out[6] + out[7];

`ifdef PROVE_blocks
  always @* if (!rst) begin
    if (alloc_available) assert (alloc_block < 8 && !out[alloc_block[2:0]] && ready);
    if (ready) assert (free_count + given_before == 8);
  end
`endif

`ifdef COVER
  reg none = 0, again = 0;
  always @(posedge clk) begin
    none <= none || given == 8;
    again <= again || (none && take);
  end
  always @* if (!rst) begin
    cover (none && again);
    cover (result_valid && missing == 5 && first_zero == 3);
    cover (result_valid && full);
    cover (result_valid && was_set);
  end
`endif
endmodule
