// SPDX-License-Identifier: MIT OR Apache-2.0
// block: placement
// of: rx/placement of tiny: 2 write tags, 4 contexts; commands of up to 4136 bytes, whose place is any
// proof window: bounded 11
//   Where the commands lie inside a window of host memory, every DMA write does: each descriptor is
//   that of a command which writes, in order, once; none without one. It stays, unchanged, until taken.
// proof tags: bounded 24
//   No tag is used for two writes at once.
// broken window within 11: a command that throws its payload away is written
//   - assign is_write = command[0];
//   + assign is_write = command[0] | ~command[1];
// broken window within 11: the next command's place is taken while a descriptor waits
//   - assign issue = ((commands_out_valid & ready) & room) & ~write_desc_valid;
//   + assign issue = (commands_out_valid & ready) & room;
// broken tags within 11: the ring may be full of writes and take one more
//   - assign room = (used != tags) & frames_in_ready;
//   + assign room = frames_in_ready;
// cover: 18
module proof (
  input wire clk,
  input wire place_valid,
  input wire [94:0] place_data,
  input wire payload_valid,
  input wire [576:0] payload_data,
  input wire write_desc_ready, write_beat_ready, fence_ready,
  input wire write_status_valid,
  input wire [8:0] write_status
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire place_ready, payload_ready, write_desc_valid, write_beat_valid, fence_valid, issued, dma_error, ready;
  wire [84:0] write_desc_data;
  wire [576:0] write_beat_data;
  wire [16:0] fence_data;
  wire [6:0] ring_head, ring_tail;
  placement dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  wire [1:0] kind = place_data[1:0];
  wire [63:0] address = place_data[66:3];
  wire [12:0] length = place_data[79:67];
  // Any window, which does not go round memory's end.
  (* anyconst *) reg [63:0] low;
  (* anyconst *) reg [63:0] high;
  always @* begin
    assume (low < high);
    assume (!place_valid || !kind[0] ||
            (address >= low && address < high && length >= 1 && length <= 4136 && high - address >= length));
  end
  always @(posedge clk) if (past && $past(place_valid && !place_ready))
    assume (place_valid && $stable(place_data));

  wire [63:0] to = write_desc_data[63:0];
  wire [12:0] bytes = write_desc_data[76:64];
  wire [7:0] tag = write_desc_data[84:77];
  wire command = place_valid & place_ready & kind[0] & !rst;
  wire written = write_desc_valid & write_desc_ready & !rst;
  // A write in the order of commands, any of the first four.
  (* anyconst *) reg [1:0] which;
  reg [4:0] commands = 0, writes = 0;
  reg [76:0] wanted = 0;
  reg [3:0] open = 0;
  always @(posedge clk) begin
    commands <= commands + command;
    writes <= writes + written;
    if (command && commands == which) wanted <= {length, address};
    if (write_status_valid) open[write_status[1:0]] <= 0;
    if (written) open[tag[1:0]] <= 1;
  end
  // The engine answers what it has been given.
  always @* assume (!write_status_valid || (!rst && write_status[7:2] == 0 && open[write_status[1:0]]));

`ifdef PROVE_window
  always @* if (!rst && write_desc_valid) begin
    assert (to >= low && to < high && high - to >= bytes);
    assert (writes < commands);
    if (writes == which) assert ({bytes, to} == wanted);
  end
  always @(posedge clk) if (past && $past(write_desc_valid && !write_desc_ready))
    assert (write_desc_valid && $stable(write_desc_data));
`endif
`ifdef PROVE_tags
  always @* if (!rst && write_desc_valid) assert (tag < 2 && !open[tag[1:0]]);
`endif

`ifdef COVER
  always @* if (!rst) begin
    cover (writes == 3 && commands == 3 && open == 0);
    cover (open == 4'h3);
    cover (fence_valid && fence_data[13]);
    cover (written && to == low && high == low + 1);
  end
`endif
endmodule
