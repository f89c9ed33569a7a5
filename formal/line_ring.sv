// SPDX-License-Identifier: MIT OR Apache-2.0
// block: line_ring
// of: shell/line_ring, 128 lines, runs of 1 to 33; who lends waits for ready, at most 4 runs are out, each is given back as it was lent; resets at any time
// proof apart: induction 2, quick
//   A run that is lent ends before the ring does, and has no line of another that is out.
// proof open: induction 4, quick
//   When nothing has been lent or given back for four clocks, the longest run may be lent if and
//   only if its lines are free.
// broken apart within 14: whoever comes is let in while another is
//   - fits_d = ((used <= last_place) & ~head_ends) & ~lend;
//   + fits_d = (used <= last_place) & ~head_ends;
// broken apart within 14: the room is what another, shorter run needs
//   - fits_d = ((used <= last_place) & ~head_ends) & ~lend;
//   + fits_d = ((used <= mask) & ~head_ends) & ~lend;
// broken apart within 14: the ring begins again a line too late
//   - assign head_ends = place > last_place;
//   + assign head_ends = place > last_place + 12'h1;
// broken open within 16: of a run that comes back only its first line is free
//   - oldest_d = behind + {6'h0, returned};
//   + oldest_d = behind + 12'h1;
// cover: 24
module proof (
  input wire clk,
  input wire rst,
  input wire lend,
  input wire [5:0] count,
  input wire back
);
  localparam [11:0] LONGEST = 33, LAST = 128 - LONGEST;
  wire ready;
  wire [11:0] line;
  wire [5:0] returned = counts[0];
  line_ring dut (.*);

  // Those that are out, the oldest first.
  reg [6:0] lines[0:4];
  reg [5:0] counts[0:4];
  reg [2:0] held = 0;
  wire [2:0] left = held - back;
  always @* begin
    assume (!lend || (ready && held < 4 && count >= 1 && count <= LONGEST));
    assume (!back || held != 0);
  end
  integer i;
  always @(posedge clk) begin
    for (i = 0; i < 4; i = i + 1) if (back) {lines[i], counts[i]} <= {lines[i + 1], counts[i + 1]};
    if (lend) {lines[left], counts[left]} <= {line[6:0], count};
    held <= rst ? 3'd0 : left + lend;
  end

`ifdef PROVE_apart
  integer a;
  always @* if (lend) begin
    assert (line + count <= 128);
    for (a = 0; a < 4; a = a + 1)
      if (a < held) assert (line + count <= lines[a] || lines[a] + counts[a] <= line);
  end
`endif

`ifdef PROVE_open
  // How long nothing has been lent and given back.
  reg [2:0] quiet = 0;
  always @(posedge clk) quiet <= rst || lend || back ? 3'd0 : quiet + (quiet != 7);
  // How far the runs reach, with what was left out at the end.
  wire [11:0] first = lines[0], next = lines[held - 1] + counts[held - 1];
  wire [11:0] begins = next > LAST ? 12'd0 : next;
  wire [11:0] reach = begins > first || held == 0 ? begins - first : 128 + begins - first;
  always @* if (quiet >= 3) begin
    if (held == 0) assert (ready);
    else assert (ready == (reach <= LAST));
  end
`endif

`ifdef INDUCTION
  // What holds it together: each run begins where the one before it ends, or the ring again.
  (* hierconn *) wire [11:0] \dut.head_q ;
  (* hierconn *) wire [11:0] \dut.oldest_q ;
  function [11:0] again(input [11:0] at);
    again = (at & 12'h7f) > LAST ? (at | 12'h7f) + 12'h1 : at;
  endfunction
  integer j;
  reg [11:0] at;
  always @* begin
    assert (held <= 4);
    at = again(\dut.oldest_q );
    for (j = 0; j < 4; j = j + 1) if (j < held) begin
      assert (lines[j] == at[6:0] && counts[j] >= 1 && counts[j] <= LONGEST);
      at = again(at + counts[j]);
    end
    assert (again(\dut.head_q ) == at);
    // Never more than the ring is out, be it left out at its end.
    at = again(\dut.head_q ) - again(\dut.oldest_q );
    assert (at <= 128);
    if (ready) begin
      assert (\dut.head_q == again(\dut.head_q ));
      at = \dut.head_q - \dut.oldest_q ;
      assert (at <= LAST);
    end
  end
`endif

`ifdef COVER
  reg past_end = 0;
  always @(posedge clk) if (!rst && lend && line == 0 && held != 0) past_end <= 1;
  always @* if (!rst) begin
    cover (held == 3 && !ready && past_end);
    cover (past_end && held == 0 && ready);
    cover (lend && line + count == 128);
  end
`endif
endmodule
