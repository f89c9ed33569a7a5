// SPDX-License-Identifier: MIT OR Apache-2.0
// block: fifo
// of: stream/fifo, 8-bit words, a RAM of 4; resets at any time
// probe behind   (* ram_style = "distributed" *) reg [7:0] mem [0:3];
//     wire [7:0] word0 = mem[0], word1 = mem[1], word2 = mem[2], word3 = mem[3];
// proof order: induction 2, quick
//   Words come out as they went in: none lost, doubled, changed or overtaken. One is never offered
//   from nothing, and always after a clock at most where one is there; fewer than 4 leave room.
// broken order within 12: a word goes past one that is being fetched
//   - assign direct = ((put & (used_q == 16'h0)) & ~fetched_q) & (~back_valid_q | take);
//   + assign direct = (put & (used_q == 16'h0)) & (~back_valid_q | take);
// broken order within 12: a fetch is not counted against the places
//   - if (back_valid_q | fetched_q) begin
//   -         ahead = 2'd2;
//   + if (back_valid_q) begin
//   +         ahead = 2'd2;
// broken order within 12: a reset forgets one of the output words
//   - back_valid_d = 1'd0;
//   -     end
//   + end
// cover: 16
module proof (
  input wire clk,
  input wire rst,
  input wire in_valid,
  input wire [7:0] in_data,
  input wire out_ready
);
  wire in_ready, out_valid;
  wire [7:0] out_data;
  fifo dut (.clk, .rst, .in_valid, .in_data, .in_ready, .out_valid, .out_data, .out_ready);

  // What should be in it: the oldest word is words[0].
  reg [7:0] words[0:7];
  reg [3:0] count = 0;
  // A word was there, and none was offered.
  reg waits = 0;
  wire put = in_valid & in_ready;
  wire take = out_valid & out_ready;
  wire [3:0] left = count - take;
  integer i;
  always @(posedge clk) begin
    for (i = 0; i < 7; i = i + 1) if (take) words[i] <= words[i + 1];
    if (put) words[left[2:0]] <= in_data;
    count <= rst ? 4'd0 : left + put;
    waits <= !rst && count != 0 && !out_valid;
  end

`ifdef PROVE_order
  always @* begin
    if (out_valid) assert (count != 0 && out_data == words[0]);
    if (count != 0 && waits) assert (out_valid);
    assert (count <= 6);
    if (count < 4) assert (in_ready);
  end
`endif

`ifdef INDUCTION
  // What holds it together: where each of the words is.
  (* hierconn *) wire [15:0] \dut.used_q ;
  (* hierconn *) wire [2:0] \dut.write_at_q ;
  (* hierconn *) wire [2:0] \dut.read_at_q ;
  (* hierconn *) wire \dut.fetched_q ;
  (* hierconn *) wire \dut.back_valid_q ;
  (* hierconn *) wire [7:0] \dut.back_q ;
  (* hierconn *) wire [7:0] \dut.ram_read_data ;
  (* hierconn *) wire [7:0] \dut.ram.word0 ;
  (* hierconn *) wire [7:0] \dut.ram.word1 ;
  (* hierconn *) wire [7:0] \dut.ram.word2 ;
  (* hierconn *) wire [7:0] \dut.ram.word3 ;
  wire [31:0] ram = {\dut.ram.word3 , \dut.ram.word2 , \dut.ram.word1 , \dut.ram.word0 };
  wire [2:0] ahead = out_valid + \dut.back_valid_q + \dut.fetched_q ;
  wire [2:0] distance = \dut.write_at_q - \dut.read_at_q ;
  integer j;
  reg [1:0] at;
  always @* begin
    assert (count == \dut.used_q + ahead);
    assert (\dut.used_q <= 4 && ahead <= 2 && distance == \dut.used_q );
    if (\dut.back_valid_q ) assert (out_valid && \dut.back_q == words[1]);
    if (\dut.fetched_q ) assert (\dut.ram_read_data == words[ahead - 1]);
    if (\dut.used_q != 0) assert (ahead != 0);
    if (waits) assert (out_valid);
    for (j = 0; j < 4; j = j + 1) begin
      at = \dut.read_at_q + j;
      if (j < \dut.used_q ) assert (ram[at * 8 +: 8] == words[ahead + j]);
    end
  end
`endif

`ifdef COVER
  reg was_full = 0;
  always @(posedge clk) if (!rst && count == 6) was_full <= 1;
  always @* begin
    cover (count == 6 && !in_ready);
    cover (was_full && count == 0 && !rst);
    cover (was_full && take && put && out_data == 8'h5a);
  end
`endif
endmodule
