// SPDX-License-Identifier: MIT OR Apache-2.0
// block: timer_wheel
// of: recovery/timer_wheel of tiny, with 4 + 4 slots of 2 ticks and 4 timers; a timer is inserted when it is not linked, at most 40 ticks ahead or 4 behind; any beginning of time, a tick at least 4 clocks
// proof once: bounded 22
//   What pops was inserted, and has not popped since; never before its deadline.
// proof lateness: bounded 36
//   Where pops are taken at once and a tick is 4 clocks from 0 on, each of two near timers pops at most 20 clocks after its
//   deadline, or after its insertion if that was later: none is lost.
// broken once within 22: a timer pops when it is met, due or not
//   - sort_pop_d = judge_valid_q & ~since[31];
//   + sort_pop_d = judge_valid_q;
// broken lateness within 36: two timers linked one after the other: the first is forgotten
//   - if (last_valid_q & (last_at_q == link_at_q)) begin
//   + if (1'd0) begin
// cover: 30
module proof (
  input wire clk,
  input wire tick,
  input wire insert_valid,
  input wire second,
  input wire message,
  input wire [5:0] ahead,
  input wire pops
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  (* anyconst *) reg [31:0] start;
  reg [31:0] since = 0;
  reg [1:0] gap = 0;
  wire [31:0] now = start + since;
  always @(posedge clk) if (!rst) begin
    since <= since + (tick && gap == 3);
    gap <= gap == 3 ? (tick ? 2'd0 : 2'd3) : gap + 2'd1;
  end
  wire [12:0] node = {second, 11'd0, message};
  wire [31:0] deadline = now + ahead - 4;
  wire [44:0] insert_data = {deadline, node};
  always @* assume (ahead < 45);
`ifdef PROVE_lateness
  wire pop_ready = 1;
  // Time goes on from 0, and as fast as it may.
  always @* assume (start == 0 && tick);
  // Two timers, near ones, each inserted once.
  reg [1:0] begun = 0;
  always @(posedge clk) if (insert_valid && insert_ready && !rst) begun[second] <= 1;
  always @* assume (!message && ahead < 10 && !(insert_valid && begun[second]));
`else
  wire pop_ready = pops;
`endif
  wire insert_ready, pop_valid, late, ready;
  wire [12:0] pop_node;
  timer_wheel dut (.clk, .rst, .now, .insert_valid, .insert_data, .insert_ready, .pop_valid, .pop_node,
                   .pop_ready, .late, .ready);

  wire [1:0] inserted = {second, message};
  wire [1:0] popped = {pop_node[12], pop_node[0]};
  reg [3:0] linked = 0;
  wire insert = insert_valid & insert_ready & !rst;
  wire pop = pop_valid & pop_ready & !rst;
  always @* assume (!insert_valid || !linked[inserted]);
  always @(posedge clk) begin
    if (insert) linked[inserted] <= 1;
    if (pop) linked[popped] <= 0;
  end
  // Any one of them.
  (* anyconst *) reg [1:0] one;
  reg [31:0] due = 0;
  reg [5:0] waits = 0;
  wire [31:0] left = due - now;
  always @(posedge clk) begin
    if (insert && inserted == one) due <= deadline;
    waits <= linked[one] && !(pop && popped == one) && (left == 0 || left[31]) ? waits + (waits != 63) : 6'd0;
  end

`ifdef PROVE_once
  always @* if (!rst && pop_valid) begin
    assert (pop_node[11:1] == 0 && linked[popped]);
    if (popped == one) assert (left == 0 || left[31]);
  end
`endif
`ifdef PROVE_lateness
  always @* if (!rst) assert (waits <= 20);
`endif

`ifdef COVER
  reg [2:0] count = 0;
  reg again = 0;
  always @(posedge clk) begin
    if (pop) count <= count + 1;
    again <= again || (insert && count != 0);
  end
  always @* if (!rst) begin
    cover (count == 4);
    cover (pop && again);
    cover (linked == 4'hf && pop_valid);
  end
`endif
endmodule
