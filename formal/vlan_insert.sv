// SPDX-License-Identifier: MIT OR Apache-2.0
// block: vlan_insert
// of: wire/vlan_insert, which drives the top's m_axis; a tag before each frame, at most 32 ahead
// proof stream: induction 2, quick
//   AXI4-Stream: TVALID stays and TDATA, TKEEP and TLAST do not change until TREADY. Never a
//   beat without bytes.
// proof frames: bounded 8
//   Every byte of a frame leaves once, in its place: behind the tag, if the frame has one, four
//   bytes on. A frame ends where it ended.
// broken stream within 8: a beat is replaced before it is taken
//   - assign room = ~m_axis_tvalid | m_axis_tready;
//   + assign room = 1'd1;
// broken frames within 8: a frame that grows by a beat ends before it
//   - out_d[576] = frame_data[576] & ~frame_data[572];
//   + out_d[576] = frame_data[576];
// broken frames within 8: a tag is taken at every beat
//   - assign tags_out_ready = take & ~begun_q;
//   + assign tags_out_ready = take;
// cover: 12
module proof (
  input wire clk,
  input wire tag_valid,
  input wire [16:0] tag_data,
  input wire frame_valid,
  input wire [576:0] frame_data,
  input wire m_axis_tready
);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire frame_ready, m_axis_tvalid, m_axis_tlast;
  wire [511:0] m_axis_tdata;
  wire [63:0] m_axis_tkeep;
  vlan_insert dut (.*);

  reg past = 0;
  always @(posedge clk) past <= !rst;
  wire [511:0] tdata = frame_data[511:0];
  wire [63:0] tkeep = frame_data[575:512];
  wire tlast = frame_data[576];
  wire take = frame_valid & frame_ready & !rst;
  wire gives = m_axis_tvalid & m_axis_tready & !rst;
  reg begun = 0;
  reg [5:0] tags = 0;
  always @(posedge clk) begin
    if (take) begun <= !tlast;
    tags <= tags + (tag_valid & !rst) - (take & !begun);
  end
  always @* begin
    // As frames come: bytes from bit 0 on, all but in the last beat; of a first beat 16 at least.
    assume ((~tkeep[62:0] & tkeep[63:1]) == 0 && tkeep[0]);
    assume (tlast || tkeep[63]);
    assume (begun || tkeep[15]);
    assume (!tag_valid || tags < 32);
    assume (!tag_valid || !rst);
    assume (!frame_valid || begun || tags != 0 || tag_valid);
  end
  always @(posedge clk) if (past && $past(frame_valid && !frame_ready))
    assume (frame_valid && $stable(frame_data));

`ifdef PROVE_stream
  always @(posedge clk) if (past && $past(m_axis_tvalid && !m_axis_tready))
    assert (m_axis_tvalid && $stable(m_axis_tdata) && $stable(m_axis_tkeep) && $stable(m_axis_tlast));
  always @* if (m_axis_tvalid && !rst) assert (m_axis_tkeep[0]);
`ifdef INDUCTION
  (* hierconn *) wire \dut.grows_q ;
  (* hierconn *) wire [3:0] \dut.rest_keep_q ;
  always @* if (\dut.grows_q ) assert (\dut.rest_keep_q [0]);
`endif
`endif

`ifdef PROVE_frames
  // Any place in what leaves, of the first frame or the second.
  (* anyconst *) reg [7:0] place;
  (* anyconst *) reg which;
  reg [2:0] tagged = 0, came = 0, went = 0;
  reg [1:0] in_beat = 0, out_beat = 0;
  reg [16:0] tag = 0;
  reg is_there = 0, was_there = 0;
  reg [7:0] in_byte = 0, out_byte = 0;
  wire [16:0] the_tag = tag_valid && tagged == which ? tag_data : tag;
  // Where that byte stood when it came.
  wire moved = the_tag[0] && place >= 16;
  wire of_tag = tag[0] && place >= 12 && place < 16;
  wire [7:0] from = moved ? place - 8'd4 : place;
  // Frames of up to three beats.
  always @* assume (!frame_valid || tlast || in_beat != 2);
  always @(posedge clk) if (!rst) begin
    if (tag_valid) begin
      tagged <= tagged + (tagged != 7);
      if (tagged == which) tag <= tag_data;
    end
    if (take) begin
      in_beat <= tlast ? 2'd0 : in_beat + 2'd1;
      came <= came + (tlast && came != 7);
      if (came == which && from[7:6] == in_beat) begin
        is_there <= tkeep[from[5:0]];
        in_byte <= tdata[from[5:0] * 8 +: 8];
      end
    end
    if (gives) begin
      out_beat <= m_axis_tlast ? 2'd0 : out_beat + 2'd1;
      went <= went + (m_axis_tlast && went != 7);
      if (went == which && place[7:6] == out_beat) begin
        was_there <= m_axis_tkeep[place[5:0]];
        out_byte <= m_axis_tdata[place[5:0] * 8 +: 8];
      end
    end
  end
  wire [31:0] head = {tag[8:1], tag[16:9], 8'h00, 8'h81};
  always @* if (!rst) begin
    assert (went <= came);
    if (went == which + 1 && out_beat == 0) begin
      if (of_tag) assert (was_there && out_byte == head[place[1:0] * 8 +: 8]);
      else begin
        assert (was_there == is_there);
        if (is_there) assert (out_byte == in_byte);
      end
    end
  end
`endif

`ifdef COVER
  reg [2:0] beats = 0;
  reg short = 0;
  reg [1:0] frames = 0;
  always @(posedge clk) if (gives) begin
    beats <= m_axis_tlast ? 3'd0 : beats + 3'd1;
    short <= short || (m_axis_tlast && m_axis_tkeep == 64'h7);
    frames <= frames + m_axis_tlast;
  end
  always @* if (!rst) begin
    cover (frames == 2 && short);
    cover (gives && m_axis_tlast && beats == 3);
    cover (gives && m_axis_tdata[111:96] == 16'h0081 && m_axis_tdata[127:112] == 16'h3412);
  end
`endif
endmodule
