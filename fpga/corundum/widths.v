// Boards whose streams or DMA RAM are narrower than the NIC's core: what mqnic_app_block puts between.
//
//   tessera_rx_width   a port's received frames: those of others pass as they are, all go to the core
//   tessera_tx_width   the core's frames, narrowed, between those of the host
//   tessera_event_frame  a frame for the host's kernel when the host is to look for completions
//   tessera_ram_width  segments of a DMA RAM, of other number and width than the core's two of 512 bits
//
// By hand, since their widths are parameters of a board's build; `cargo tessera export --shell corundum`
// appends them to the core.

`timescale 1ns / 1ps
`default_nettype none

// Of numbers that are computed not every bit is of use.
/* verilator lint_off UNUSEDSIGNAL */

// Says to the kernel that the host is to look for completions: a frame of 60 bytes between those of
// others when `irq` rises, and again every 2^REPEAT clocks while it is high, since a kernel may drop it.
//
//   bytes 0..6    01:80:C2:00:00:0E, which no bridge hands on
//   bytes 6..12   02:54:53:52:41:pp, pp the port
//   bytes 12..14  88 B5, an EtherType for local experiments
//   bytes 14..18  "TSRA"; all behind is zero, side band included
//
// Contract: frames pass unchanged, in the clock they come; they wait only while one of these leaves.
module tessera_event_frame #(
    parameter W = 512,
    parameter U = 97,
    parameter REPEAT = 20
) (
    input  wire clk,
    input  wire rst,
    input  wire irq,
    input  wire [7:0] port,
    input  wire [W - 1:0] s_tdata,
    input  wire [W / 8 - 1:0] s_tkeep,
    input  wire s_tvalid,
    output wire s_tready,
    input  wire s_tlast,
    input  wire [U - 1:0] s_tuser,
    output wire [W - 1:0] m_tdata,
    output wire [W / 8 - 1:0] m_tkeep,
    output wire m_tvalid,
    input  wire m_tready,
    output wire m_tlast,
    output wire [U - 1:0] m_tuser
);
    localparam R = 512 / W;
    wire [511:0] frame = {368'd0, 32'h41525354, 16'hb588, port, 40'h4152535402, 48'h0e0000c28001};
    wire [63:0] keep = {4'd0, {60{1'b1}}};

    reg midway;
    reg sending;
    reg [3:0] place;
    reg was;
    reg due;
    reg [REPEAT - 1:0] timer;

    // The clock before the next frame of others may begin.
    wire between = s_tvalid ? (m_tready && s_tlast && !sending) : !midway;
    wire [31:0] at = {28'd0, place};
    wire last = at == R - 1;

    assign s_tready = m_tready && !sending;
    assign m_tvalid = sending || s_tvalid;
    assign m_tdata = sending ? frame[at * W +: W] : s_tdata;
    assign m_tkeep = sending ? keep[at * (W / 8) +: W / 8] : s_tkeep;
    assign m_tlast = sending ? last : s_tlast;
    assign m_tuser = sending ? {U{1'b0}} : s_tuser;

    always @(posedge clk) begin
        if (s_tvalid && s_tready) midway <= !s_tlast;
        was <= irq;
        timer <= irq ? timer + 1'b1 : {REPEAT{1'b0}};
        if (irq && (!was || (&timer))) due <= 1'b1;
        if (!irq) due <= 1'b0;
        if (sending) begin
            if (m_tready) begin
                place <= place + 1'b1;
                if (last) sending <= 1'b0;
            end
        end else if (due && irq && between) begin
            sending <= 1'b1;
            place <= 4'd0;
            due <= 1'b0;
        end
        if (rst) begin
            midway <= 1'b0;
            sending <= 1'b0;
            place <= 4'd0;
            was <= 1'b0;
            due <= 1'b0;
            timer <= {REPEAT{1'b0}};
        end
    end
endmodule

// Every frame goes to the core in beats of 512 bits, and waits here until the core has said whose it
// is: two such beats are looked at. Those of others leave as they came, beat by beat, side band
// included; the core's own copies of them are thrown away, and so are its frames here.
//
// Contract: a beat per clock; `s_tready` falls only when the host's side stands still. `wide_*` has no
// ready, the core takes all. `verdict_valid` comes once for each frame, in their order.
module tessera_rx_width #(
    parameter W = 64,
    parameter U = 97
) (
    input  wire clk,
    input  wire rst,
    input  wire [W - 1:0] s_tdata,
    input  wire [W / 8 - 1:0] s_tkeep,
    input  wire s_tvalid,
    output wire s_tready,
    input  wire s_tlast,
    input  wire [U - 1:0] s_tuser,
    output wire [W - 1:0] m_tdata,
    output wire [W / 8 - 1:0] m_tkeep,
    output wire m_tvalid,
    input  wire m_tready,
    output wire m_tlast,
    output wire [U - 1:0] m_tuser,
    output reg  [511:0] wide_tdata,
    output reg  [63:0] wide_tkeep,
    output reg  wide_tvalid,
    output reg  wide_tlast,
    output reg  [U - 1:0] wide_tuser,
    input  wire verdict_valid,
    input  wire verdict_ours
);
    localparam R = 512 / W;
    localparam K = W / 8;
    // Two wide beats and the core's clocks, twice over.
    localparam D = 6;

    wire take = s_tvalid && s_tready;

    // To the core.
    reg [3:0] place;
    integer r;
    always @(posedge clk) begin
        wide_tvalid <= 1'b0;
        if (take) begin
            for (r = 0; r < R; r = r + 1) begin
                if ({28'd0, place} == r) begin
                    wide_tdata[r * W +: W] <= s_tdata;
                    wide_tkeep[r * K +: K] <= s_tkeep;
                end else if (place == 4'd0) begin
                    wide_tdata[r * W +: W] <= {W{1'b0}};
                    wide_tkeep[r * K +: K] <= {K{1'b0}};
                end
            end
            wide_tuser <= s_tuser;
            wide_tlast <= s_tlast;
            wide_tvalid <= s_tlast || {28'd0, place} == R - 1;
            place <= (s_tlast || {28'd0, place} == R - 1) ? 4'd0 : place + 4'd1;
        end
        if (rst) begin
            wide_tvalid <= 1'b0;
            place <= 4'd0;
        end
    end

    // What waits. There are never more verdicts than beats.
    reg [U + K + W:0] beats [0:(1 << D) - 1];
    reg [(1 << D) - 1:0] verdicts;
    reg [D:0] beat_in, beat_out, verdict_in, verdict_out;
    reg begun, ours;
    // As wide as the counters, which wrap.
    wire [D:0] held = beat_in - beat_out;
    assign s_tready = !held[D];
    wire there = beat_in != beat_out;
    wire known = there && (begun || verdict_in != verdict_out);
    wire drop = begun ? ours : verdicts[verdict_out[D - 1:0]];
    assign {m_tuser, m_tlast, m_tkeep, m_tdata} = beats[beat_out[D - 1:0]];
    assign m_tvalid = known && !drop;
    wire leaves = known && (drop || m_tready);
    always @(posedge clk) begin
        if (take) begin
            beats[beat_in[D - 1:0]] <= {s_tuser, s_tlast, s_tkeep, s_tdata};
            beat_in <= beat_in + 1'b1;
        end
        if (verdict_valid) begin
            verdicts[verdict_in[D - 1:0]] <= verdict_ours;
            verdict_in <= verdict_in + 1'b1;
        end
        if (leaves) begin
            beat_out <= beat_out + 1'b1;
            begun <= !m_tlast;
            ours <= drop;
            if (!begun) verdict_out <= verdict_out + 1'b1;
        end
        if (rst) begin
            beat_in <= 0;
            beat_out <= 0;
            verdict_in <= 0;
            verdict_out <= 0;
            begun <= 1'b0;
        end
    end
endmodule

// The core's frames in beats of the port's width, and the host's as they are; frames of the two
// alternate while both wait. Ours have tag 0.
//
// Contract: a beat per clock; what is offered stays; `passed` with the last beat of a host's frame.
module tessera_tx_width #(
    parameter W = 64,
    parameter U = 17
) (
    input  wire clk,
    input  wire rst,
    input  wire [W - 1:0] s_tdata,
    input  wire [W / 8 - 1:0] s_tkeep,
    input  wire s_tvalid,
    output wire s_tready,
    input  wire s_tlast,
    input  wire [U - 1:0] s_tuser,
    input  wire [511:0] wide_tdata,
    input  wire [63:0] wide_tkeep,
    input  wire wide_tvalid,
    output wire wide_tready,
    input  wire wide_tlast,
    output wire [W - 1:0] m_tdata,
    output wire [W / 8 - 1:0] m_tkeep,
    output wire m_tvalid,
    input  wire m_tready,
    output wire m_tlast,
    output wire [U - 1:0] m_tuser,
    output wire passed
);
    localparam K = W / 8;
    localparam D = 3;

    // The host's beats.
    reg [U + K + W:0] beats [0:(1 << D) - 1];
    reg [D:0] beat_in, beat_out;
    // As wide as the counters, which wrap.
    wire [D:0] held = beat_in - beat_out;
    assign s_tready = !held[D];
    wire there = beat_in != beat_out;
    wire [W - 1:0] host_tdata;
    wire [K - 1:0] host_tkeep;
    wire host_tlast;
    wire [U - 1:0] host_tuser;
    assign {host_tuser, host_tlast, host_tkeep, host_tdata} = beats[beat_out[D - 1:0]];

    // The core's: what is left of a wide beat, its next part the lowest.
    reg [511:0] data;
    reg [63:0] keep;
    reg last, full;
    // Nothing above it: a wide beat ends early only with its frame.
    wire at_end = (keep >> K) == 64'd0;
    wire own_tlast = last && at_end;

    // Whose turn it is.
    reg begun, begun_own, own_first;
    wire own_now = begun ? begun_own : full && (own_first || !there);
    assign m_tvalid = own_now ? full : there;
    assign m_tdata = own_now ? data[W - 1:0] : host_tdata;
    assign m_tkeep = own_now ? keep[K - 1:0] : host_tkeep;
    assign m_tlast = own_now ? own_tlast : host_tlast;
    assign m_tuser = own_now ? {U{1'b0}} : host_tuser;
    wire leaves = m_tvalid && m_tready;
    wire next = leaves && own_now;
    assign wide_tready = !full || (next && at_end);
    assign passed = leaves && m_tlast && !own_now;
    always @(posedge clk) begin
        if (s_tvalid && s_tready) begin
            beats[beat_in[D - 1:0]] <= {s_tuser, s_tlast, s_tkeep, s_tdata};
            beat_in <= beat_in + 1'b1;
        end
        if (leaves && !own_now) beat_out <= beat_out + 1'b1;
        if (next) begin
            data <= data >> W;
            keep <= keep >> K;
            full <= !at_end;
        end
        if (wide_tvalid && wide_tready) begin
            data <= wide_tdata;
            keep <= wide_tkeep;
            last <= wide_tlast;
            full <= 1'b1;
        end
        if (m_tvalid) begin
            // An offer stays, whoever comes beside it.
            begun <= !(leaves && m_tlast);
            begun_own <= own_now;
        end
        if (leaves && m_tlast) own_first <= !own_now;
        if (rst) begin
            beat_in <= 0;
            beat_out <= 0;
            full <= 1'b0;
            begun <= 1'b0;
            own_first <= 1'b0;
        end
    end
endmodule

// N segments of S bits as the engine has them, on the core's two of 512. A word of the engine's is part
// of one of the core's; of those that want different lines of one of the core's segments in a clock, one
// goes and the others wait, in turns.
//
// Contract: N * S is 256, 512 or 1024. Words of a segment are written, confirmed and read in their
// order; each is confirmed two clocks after it was taken. The core answers a read two clocks after
// it, as long as its answers are taken, and they are: nothing is asked for that there is no place for.
module tessera_ram_width #(
    parameter N = 2,
    parameter S = 256,
    parameter A = 11
) (
    input  wire clk,
    input  wire rst,
    input  wire [N - 1:0] wr_cmd_valid,
    output reg  [N - 1:0] wr_cmd_ready,
    input  wire [N * S / 8 - 1:0] wr_cmd_be,
    input  wire [N * A - 1:0] wr_cmd_addr,
    input  wire [N * S - 1:0] wr_cmd_data,
    output reg  [N - 1:0] wr_done,
    output reg  [1:0] core_wr_valid,
    output reg  [127:0] core_wr_be,
    output reg  [8:0] core_wr_addr_0,
    output reg  [8:0] core_wr_addr_1,
    output reg  [1023:0] core_wr_data,
    input  wire [N - 1:0] rd_cmd_valid,
    output reg  [N - 1:0] rd_cmd_ready,
    input  wire [N * A - 1:0] rd_cmd_addr,
    output wire [N * S - 1:0] rd_resp_data,
    output wire [N - 1:0] rd_resp_valid,
    input  wire [N - 1:0] rd_resp_ready,
    output reg  [1:0] core_rd_valid,
    output reg  [8:0] core_rd_addr_0,
    output reg  [8:0] core_rd_addr_1,
    input  wire [1023:0] core_rd_data
);
    // Lines of the engine's in one of the core's, and words of the engine's in a word of the core's.
    localparam L = 1024 / (N * S);
    localparam LB = $clog2(L);
    localparam G = 512 / S;
    localparam B = S / 8;

    // The core's line that an address is in, and which of the engine's lines it is there.
    function [8:0] line_of(input [A - 1:0] address);
        reg [A - 1:0] shifted;
        begin
            shifted = address >> LB;
            line_of = shifted[8:0];
        end
    endfunction
    function [31:0] part_of(input [A - 1:0] address);
        part_of = {{(32 - A){1'b0}}, address} & (L - 1);
    endfunction
    // The core's segment that a word of an engine's segment is in.
    function segment_of(input [A - 1:0] address, input integer segment);
        reg [31:0] word;
        begin
            word = (part_of(address) * N + segment) / G;
            segment_of = word[0];
        end
    endfunction

    // Turns: who is looked at first.
    reg [3:0] turn;
    always @(posedge clk) turn <= (rst || {28'd0, turn} == N - 1) ? 4'd0 : turn + 4'd1;

    // Writes. Of each of the core's segments: whether somebody is there, and the line.
    reg [1:0] write_busy;
    reg [17:0] write_line;
    reg write_to;
    integer i, j;
    always @* begin
        write_busy = 2'b00;
        write_line = 18'd0;
        write_to = 1'b0;
        wr_cmd_ready = {N{1'b0}};
        for (i = 0; i < N; i = i + 1) begin
            if ({28'd0, turn} == i) begin
                for (j = 0; j < N; j = j + 1) begin
                    write_to = segment_of(wr_cmd_addr[((i + j) % N) * A +: A], (i + j) % N);
                    if (wr_cmd_valid[(i + j) % N] && (!write_busy[write_to]
                        || write_line[write_to * 9 +: 9] == line_of(wr_cmd_addr[((i + j) % N) * A +: A]))) begin
                        wr_cmd_ready[(i + j) % N] = 1'b1;
                        write_busy[write_to] = 1'b1;
                        write_line[write_to * 9 +: 9] = line_of(wr_cmd_addr[((i + j) % N) * A +: A]);
                    end
                end
            end
        end
    end
    // Every word of the core's line has one segment that it may come from.
    reg [N - 1:0] accepted;
    integer w;
    always @(posedge clk) begin
        core_wr_valid <= write_busy;
        core_wr_addr_0 <= write_line[8:0];
        core_wr_addr_1 <= write_line[17:9];
        for (w = 0; w < 1024 / S; w = w + 1) begin
            core_wr_data[w * S +: S] <= wr_cmd_data[(w % N) * S +: S];
            core_wr_be[w * B +: B] <= {B{1'b0}};
            if (wr_cmd_valid[w % N] && wr_cmd_ready[w % N] && part_of(wr_cmd_addr[(w % N) * A +: A]) == w / N) begin
                core_wr_be[w * B +: B] <= wr_cmd_be[(w % N) * B +: B];
            end
        end
        accepted <= wr_cmd_valid & wr_cmd_ready;
        wr_done <= accepted;
        if (rst) begin
            core_wr_valid <= 2'b00;
            accepted <= {N{1'b0}};
            wr_done <= {N{1'b0}};
        end
    end

    // Reads: the same, as far as there is a place for the answer.
    localparam D = 3;
    wire [N - 1:0] no_room;
    reg read_to;
    integer k, m;
    always @* begin
        core_rd_valid = 2'b00;
        {core_rd_addr_1, core_rd_addr_0} = 18'd0;
        read_to = 1'b0;
        rd_cmd_ready = {N{1'b0}};
        for (k = 0; k < N; k = k + 1) begin
            if ({28'd0, turn} == k) begin
                for (m = 0; m < N; m = m + 1) begin
                    read_to = segment_of(rd_cmd_addr[((k + m) % N) * A +: A], (k + m) % N);
                    if (rd_cmd_valid[(k + m) % N] && !no_room[(k + m) % N] && (!core_rd_valid[read_to]
                        || (read_to ? core_rd_addr_1 : core_rd_addr_0) == line_of(rd_cmd_addr[((k + m) % N) * A +: A]))) begin
                        rd_cmd_ready[(k + m) % N] = 1'b1;
                        core_rd_valid[read_to] = 1'b1;
                        if (read_to) core_rd_addr_1 = line_of(rd_cmd_addr[((k + m) % N) * A +: A]);
                        else core_rd_addr_0 = line_of(rd_cmd_addr[((k + m) % N) * A +: A]);
                    end
                end
            end
        end
    end

    genvar g;
    generate
        for (g = 0; g < N; g = g + 1) begin : answers
            reg asked, reads;
            reg [31:0] part, reads_part;
            reg [S - 1:0] answer;
            integer l;
            always @* begin
                answer = {S{1'b0}};
                for (l = 0; l < L; l = l + 1) begin
                    if (part == l) answer = core_rd_data[(l * N + g) * S +: S];
                end
            end
            reg [S - 1:0] places [0:(1 << D) - 1];
            // What is read of a segment that has nothing to say is known too.
            integer place;
            initial for (place = 0; place < 1 << D; place = place + 1) places[place] = {S{1'b0}};
            reg [D:0] in, out, lent;
            assign no_room[g] = lent[D];
            wire taken = rd_resp_valid[g] && rd_resp_ready[g];
            wire asks = rd_cmd_valid[g] && rd_cmd_ready[g];
            assign rd_resp_valid[g] = in != out;
            assign rd_resp_data[g * S +: S] = places[out[D - 1:0]];
            always @(posedge clk) begin
                reads <= asks;
                reads_part <= part_of(rd_cmd_addr[g * A +: A]);
                asked <= reads;
                part <= reads_part;
                if (asked) begin
                    places[in[D - 1:0]] <= answer;
                    in <= in + 1'b1;
                end
                if (taken) out <= out + 1'b1;
                if (asks && !taken) lent <= lent + 1'b1;
                if (!asks && taken) lent <= lent - 1'b1;
                if (rst) begin
                    reads <= 1'b0;
                    asked <= 1'b0;
                    in <= 0;
                    out <= 0;
                    lent <= 0;
                end
            end
        end
    endgenerate
endmodule
/* verilator lint_on UNUSEDSIGNAL */

`default_nettype wire
