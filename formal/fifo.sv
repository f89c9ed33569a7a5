// SPDX-License-Identifier: MIT OR Apache-2.0
// block: fifo
// of: stream/fifo, 8-bit words, a RAM of 4; resets at any time
// probe behind   (* ram_style = "distributed" *) reg [7:0] mem [0:3];
//     wire [7:0] word0 = mem[0], word1 = mem[1], word2 = mem[2], word3 = mem[3];
// proof order: induction 2, quick
//   Words come out as they went in: none lost, doubled, changed or overtaken. One is offered in
//   every clock in which one is there, and never from nothing; there is room unless it holds four.
// broken order within 12: a word that comes as another goes is counted twice
//   - if (put & ~take) begin
//   + if (put) begin
// broken order within 12: the RAM is asked for the word that is in front now
//   - ram_read_address = next_at;
//   + ram_read_address = read_at_q;
// broken order within 12: a reset leaves it full
//   - filled_d = 1'd0;
//   -       full_d = 1'd0;
//   + filled_d = 1'd0;
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
  wire put = in_valid & in_ready;
  wire take = out_valid & out_ready;
  wire [3:0] left = count - take;
  integer i;
  always @(posedge clk) begin
    for (i = 0; i < 7; i = i + 1) if (take) words[i] <= words[i + 1];
    if (put) words[left[2:0]] <= in_data;
    count <= rst ? 4'd0 : left + put;
  end

`ifdef PROVE_order
  always @* begin
    assert (out_valid == (count != 0));
    if (out_valid) assert (out_data == words[0]);
    assert (count <= 4 && in_ready == (count != 4));
  end
`endif

`ifdef INDUCTION
  // What holds it together: where each of the words is.
  (* hierconn *) wire [2:0] \dut.write_at_q ;
  (* hierconn *) wire [2:0] \dut.read_at_q ;
  (* hierconn *) wire [1:0] \dut.ram.at ;
  (* hierconn *) wire [7:0] \dut.ram.word0 ;
  (* hierconn *) wire [7:0] \dut.ram.word1 ;
  (* hierconn *) wire [7:0] \dut.ram.word2 ;
  (* hierconn *) wire [7:0] \dut.ram.word3 ;
  wire [31:0] ram = {\dut.ram.word3 , \dut.ram.word2 , \dut.ram.word1 , \dut.ram.word0 };
  wire [2:0] distance = \dut.write_at_q - \dut.read_at_q ;
  integer j;
  reg [1:0] at;
  always @* begin
    assert (distance == count);
    if (count != 0) assert (\dut.ram.at == \dut.read_at_q [1:0]);
    for (j = 0; j < 4; j = j + 1) begin
      at = \dut.read_at_q + j;
      if (j < count) assert (ram[at * 8 +: 8] == words[j]);
    end
  end
`endif

`ifdef COVER
  reg was_full = 0;
  always @(posedge clk) if (!rst && count == 4) was_full <= 1;
  always @* begin
    cover (count == 4 && !in_ready);
    cover (was_full && count == 0 && !rst);
    cover (was_full && take && put && out_data == 8'h5a);
  end
`endif
endmodule
