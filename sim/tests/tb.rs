//! The testbench helpers on small hand-written designs.

use proptest::prelude::*;
use std::collections::VecDeque;
use std::path::Path;
use tessera_sim::tb::{
    check, cycle, run, Agent, AxiLite, AxisDriver, AxisMonitor, BusError, Clocked, Pattern, Rng,
    StreamDriver, StreamMonitor,
};
use tessera_sim::verilator::{BuildOptions, Design, Dut, Model, Port};

/// A four-word FIFO of 100-bit records with `last`. `BUG` breaks it when full.
fn fifo(bug: bool) -> Design {
    let verilog = "\
module fifo (
  input wire clk, input wire rst,
  input wire in_valid, output wire in_ready, input wire [99:0] in_data, input wire in_last,
  output wire out_valid, input wire out_ready, output wire [99:0] out_data, output wire out_last);
  reg [100:0] memory [0:3];
  reg [2:0] head, tail;
  wire [2:0] fill = tail - head;
  initial head = 3'd0;
  initial tail = 3'd0;
  assign in_ready = fill LIMIT 3'd4;
  assign out_valid = fill != 3'd0;
  assign {out_last, out_data} = memory[head[1:0]];
  always @(posedge clk) begin
    if (in_valid & in_ready) begin
      memory[tail[1:0]] <= {in_last, in_data};
      tail <= tail + 3'd1;
    end
    if (out_valid & out_ready) head <= head + 3'd1;
    if (rst) begin head <= 3'd0; tail <= 3'd0; end
  end
endmodule
";
    let record =
        |port: Port| port.with_field("kind", 0, 4).with_field("address", 4, 64).with_field("length", 68, 32);
    let ports = vec![
        Port::clock("clk"),
        Port::input("rst", 1),
        Port::input("in_valid", 1),
        Port::output("in_ready", 1),
        record(Port::input("in_data", 100)),
        Port::input("in_last", 1),
        Port::output("out_valid", 1),
        Port::input("out_ready", 1),
        record(Port::output("out_data", 100)),
        Port::output("out_last", 1),
    ];
    Design::new("fifo", verilog.replace("LIMIT", if bug { "<=" } else { "<" }), ports)
}

/// Adds one to each byte of a stream, one register deep.
fn byte_adder() -> Design {
    let verilog = "\
module byte_adder (
  input wire clk,
  input wire [511:0] s_axis_tdata, input wire [63:0] s_axis_tkeep, input wire s_axis_tvalid,
  output wire s_axis_tready, input wire s_axis_tlast, input wire [7:0] s_axis_tuser,
  output reg [511:0] m_axis_tdata, output reg [63:0] m_axis_tkeep, output reg m_axis_tvalid,
  input wire m_axis_tready, output reg m_axis_tlast, output reg [7:0] m_axis_tuser);
  initial m_axis_tvalid = 1'b0;
  assign s_axis_tready = ~m_axis_tvalid | m_axis_tready;
  integer i;
  always @(posedge clk) if (s_axis_tready) begin
    m_axis_tvalid <= s_axis_tvalid;
    m_axis_tkeep <= s_axis_tkeep;
    m_axis_tlast <= s_axis_tlast;
    m_axis_tuser <= s_axis_tuser;
    for (i = 0; i < 64; i = i + 1) m_axis_tdata[8*i +: 8] <= s_axis_tdata[8*i +: 8] + 8'd1;
  end
endmodule
";
    let mut ports = vec![Port::clock("clk")];
    for (prefix, forward, back) in [
        ("s_axis", Port::input as fn(&str, usize) -> Port, Port::output as fn(&str, usize) -> Port),
        ("m_axis", Port::output, Port::input),
    ] {
        for (name, width) in [("tdata", 512), ("tkeep", 64), ("tvalid", 1), ("tlast", 1), ("tuser", 8)] {
            ports.push(forward(&format!("{prefix}_{name}"), width));
        }
        ports.push(back(&format!("{prefix}_tready"), 1));
    }
    Design::new("byte_adder", verilog, ports)
}

/// Four registers; 0x10 is refused, 0x14 never answers a read.
fn registers() -> Design {
    let verilog = "\
module registers (
  input wire clk,
  input wire [7:0] s_axil_awaddr, input wire s_axil_awvalid, output wire s_axil_awready,
  input wire [31:0] s_axil_wdata, input wire [3:0] s_axil_wstrb, input wire s_axil_wvalid, output wire s_axil_wready,
  output reg [1:0] s_axil_bresp, output reg s_axil_bvalid, input wire s_axil_bready,
  input wire [7:0] s_axil_araddr, input wire s_axil_arvalid, output wire s_axil_arready,
  output reg [31:0] s_axil_rdata, output reg [1:0] s_axil_rresp, output reg s_axil_rvalid, input wire s_axil_rready);
  reg [31:0] file [0:3];
  wire write = s_axil_awvalid & s_axil_wvalid & ~s_axil_bvalid;
  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_arready = ~s_axil_rvalid;
  integer i;
  initial begin s_axil_bvalid = 1'b0; s_axil_rvalid = 1'b0; end
  always @(posedge clk) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (write) begin
      s_axil_bvalid <= 1'b1;
      s_axil_bresp <= s_axil_awaddr >= 8'h10 ? 2'd2 : 2'd0;
      for (i = 0; i < 4; i = i + 1)
        if (s_axil_wstrb[i] && s_axil_awaddr < 8'h10)
          file[s_axil_awaddr[3:2]][8*i +: 8] <= s_axil_wdata[8*i +: 8];
    end
    if (s_axil_arvalid & s_axil_arready & s_axil_araddr != 8'h14) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rresp <= s_axil_araddr >= 8'h10 ? 2'd2 : 2'd0;
      s_axil_rdata <= file[s_axil_araddr[3:2]];
    end
  end
endmodule
";
    let mut ports = vec![Port::clock("clk")];
    for (name, width) in [
        ("awaddr", 8),
        ("awvalid", 1),
        ("wdata", 32),
        ("wstrb", 4),
        ("wvalid", 1),
        ("bready", 1),
        ("araddr", 8),
        ("arvalid", 1),
        ("rready", 1),
    ] {
        ports.push(Port::input(&format!("s_axil_{name}"), width));
    }
    for (name, width) in [
        ("awready", 1),
        ("wready", 1),
        ("bresp", 2),
        ("bvalid", 1),
        ("arready", 1),
        ("rdata", 32),
        ("rresp", 2),
        ("rvalid", 1),
    ] {
        ports.push(Port::output(&format!("s_axil_{name}"), width));
    }
    Design::new("registers", verilog, ports)
}

#[test]
fn words_pass_in_order_under_every_pattern() {
    run("tb::words", &fifo(false), |dut, rng| {
        reset(dut);
        for (idle, stall) in Pattern::matrix() {
            let mut source = StreamDriver::new(dut, "in", idle, rng).unwrap();
            let mut sink = StreamMonitor::new(dut, "out", stall, rng).unwrap();
            let frames: Vec<Vec<[u64; 3]>> = (0..40)
                .map(|_| (0..rng.range(1..6)).map(|_| [rng.bits(4), rng.bits(64), rng.bits(32)]).collect())
                .collect();
            for frame in &frames {
                let shape = source.shape().clone();
                source.send_frame(
                    frame
                        .iter()
                        .map(|[k, a, l]| shape.pack(&[("kind", *k), ("address", *a), ("length", *l)])),
                );
            }
            let total: usize = frames.iter().map(Vec::len).sum();
            for _ in 0..total * 20 + 200 {
                cycle(dut, &mut [&mut source, &mut sink]);
            }
            assert_eq!((source.pending(), source.sent(), sink.total()), (0, total as u64, total as u64));
            for frame in &frames {
                let words = sink.take_frame().expect("a frame for each sent");
                let shape = sink.shape();
                let read = |w| [shape.get(w, "kind"), shape.get(w, "address"), shape.get(w, "length")];
                assert_eq!(words.iter().map(read).collect::<Vec<_>>(), *frame, "{idle:?} {stall:?}");
            }
            assert_eq!(sink.available(), 0);
        }
    });
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 1);
}

#[test]
fn a_reset_that_forgets_a_register_shows() {
    let verilog = "\
module past (input wire clk, input wire rst, input wire up, output reg [15:0] kept, output reg [15:0] reset);
  initial kept = 16'd0;
  initial reset = 16'd0;
  always @(posedge clk) begin
    if (up) begin kept <= kept + 16'd1; reset <= reset + 16'd1; end
    if (rst) reset <= 16'd0;
  end
endmodule
";
    let mut ports = vec![Port::clock("clk"), Port::input("rst", 1), Port::input("up", 1)];
    ports.extend(["kept", "reset"].map(|name| Port::output(name, 16)));
    run("tb::past", &Design::new("past", verilog, ports), |dut, _| {
        reset(dut);
        let [kept, reset] = ["kept", "reset"].map(|name| dut.port(name).unwrap());
        assert_eq!(dut.get(reset), 0);
        assert_ne!(dut.get(kept), 0, "a test begins with a past");
    });
}

#[test]
fn an_open_stream_moves_a_word_every_clock() {
    run("tb::rate", &fifo(false), |dut, rng| {
        reset(dut);
        let start = dut.cycles();
        let mut source = StreamDriver::new(dut, "in", Pattern::Always, rng).unwrap();
        let mut sink = StreamMonitor::new(dut, "out", Pattern::Always, rng).unwrap();
        (0..100u64).for_each(|i| source.send(vec![i, 0]));
        for _ in 0..101 {
            cycle(dut, &mut [&mut source, &mut sink]);
        }
        let times: Vec<u64> = std::iter::from_fn(|| sink.take_timed()).map(|(clock, _)| clock).collect();
        assert_eq!(
            times,
            (start + 2..start + 102).collect::<Vec<u64>>(),
            "one clock through, then one a clock"
        );
    });
}

#[test]
fn frames_keep_their_bytes_and_lengths() {
    run("tb::frames", &byte_adder(), |dut, rng| {
        for (idle, stall) in Pattern::matrix() {
            let mut source = AxisDriver::new(dut, "s_axis", idle, rng).unwrap();
            let mut sink = AxisMonitor::new(dut, "m_axis", stall, rng).unwrap();
            let mut sent = VecDeque::new();
            for length in [1, 63, 64, 65, 127, 128, 129, 1500] {
                let (bytes, user) = (rng.bytes(length), rng.bits(8));
                source.send_with_user(bytes.clone(), user);
                sent.push_back((bytes, user));
            }
            let mut clocks = 0;
            while let Some((bytes, user)) = sent.front() {
                cycle(dut, &mut [&mut source, &mut sink]);
                clocks += 1;
                assert!(clocks < 3000, "stuck with {} frames left", sent.len());
                if let Some(frame) = sink.take() {
                    let expected: Vec<u8> = bytes.iter().map(|b| b.wrapping_add(1)).collect();
                    assert_eq!(
                        (&frame.bytes, frame.user),
                        (&expected, u128::from(*user)),
                        "{idle:?} {stall:?}"
                    );
                    assert!(frame.last - frame.first + 1 >= bytes.len().div_ceil(64) as u64);
                    sent.pop_front();
                }
            }
            assert_eq!((source.pending(), source.beats(), sink.beats()), (0, 36, 36));
            assert!(!sink.inside_frame());
        }
    });
}

#[test]
fn registers_are_read_and_written() {
    run("tb::registers", &registers(), |dut, rng| {
        let mut bus = AxiLite::new(dut, "s_axil").unwrap().with_patience(20);
        let values: Vec<u64> = (0..4).map(|_| rng.bits(32)).collect();
        for (i, value) in values.iter().enumerate() {
            bus.write(dut, 4 * i as u64, *value).unwrap();
        }
        bus.write_bytes(dut, 8, 0xaabb_ccdd, 0b0101).unwrap();
        for (i, value) in values.iter().enumerate() {
            let expected = if i == 2 { value & 0xff00_ff00 | 0x00bb_00dd } else { *value };
            assert_eq!(bus.read(dut, 4 * i as u64), Ok(expected));
        }
        let refused = bus.write(dut, 0x10, 1);
        assert_eq!(refused, Err(BusError::Refused { access: "write", address: 0x10, response: 2 }));
        let silent = bus.read(dut, 0x14);
        assert_eq!(silent, Err(BusError::Timeout { access: "read", address: 0x14, clocks: 20 }));
        assert_eq!(silent.unwrap_err().to_string(), "no answer to the read of 0x14 within 20 clocks");
    });
}

#[test]
fn a_bench_with_agents_of_its_own_is_clocked_while_the_bus_waits() {
    struct Bench {
        dut: Dut,
        clocks: Clocks,
    }
    struct Clocks(u64);
    impl Agent for Clocks {
        fn drive(&mut self, _: &mut Dut) {}
        fn sample(&mut self, _: &Dut) {
            self.0 += 1;
        }
    }
    impl Clocked for Bench {
        fn clock_with(&mut self, agent: &mut dyn Agent) {
            cycle(&mut self.dut, &mut [&mut self.clocks, agent]);
        }
    }
    let model = Model::build(&registers(), &BuildOptions::default()).unwrap();
    let mut bench = Bench { dut: model.instance().unwrap(), clocks: Clocks(0) };
    let mut bus = AxiLite::new(&bench.dut, "s_axil").unwrap();
    bus.write(&mut bench, 4, 77).unwrap();
    assert_eq!(bus.read(&mut bench, 4), Ok(77));
    assert!(bench.clocks.0 >= 4 && bench.clocks.0 == bench.dut.cycles());
}

#[derive(Clone, Debug)]
struct Case {
    words: Vec<u64>,
    stall: u64,
}

fn pass_words(dut: &mut Dut, case: &Case) {
    let mut rng = Rng::new(1);
    reset(dut);
    let mut source = StreamDriver::new(dut, "in", Pattern::Always, &mut rng).unwrap();
    let mut sink = StreamMonitor::new(dut, "out", Pattern::Always, &mut rng).unwrap();
    case.words.iter().for_each(|w| source.send(vec![*w, 0]));
    for _ in 0..case.stall {
        cycle(dut, &mut [&mut source]);
    }
    for _ in 0..case.words.len() + 2 {
        cycle(dut, &mut [&mut source, &mut sink]);
    }
    let got: Vec<u64> = std::iter::from_fn(|| sink.take()).map(|t| t.word.0[0]).collect();
    assert_eq!(got, case.words, "the words that came out");
}

fn cases() -> impl Strategy<Value = Case> {
    (proptest::collection::vec(any::<u64>(), 0..20), 0u64..20)
        .prop_map(|(words, stall)| Case { words, stall })
}

#[test]
fn random_cases_pass_on_a_right_design() {
    check("tb::right", &fifo(false), 64, cases(), pass_words);
}

#[test]
fn a_failing_case_is_made_small_and_traced() {
    let waves = tessera_sim::tools::cache_dir().join("waves");
    for kind in ["fst", "vcd"] {
        let _ = std::fs::remove_file(waves.join(format!("tb-wrong.{kind}")));
    }
    let failed = std::panic::catch_unwind(|| check("tb::wrong", &fifo(true), 256, cases(), pass_words));
    let message =
        *failed.expect_err("the FIFO that takes a fifth word is found").downcast::<String>().unwrap();
    assert!(message.contains("TESSERA_SEED=0x") && message.contains("the words that came out"), "{message}");
    // Five words and five clocks of stalling overfill it; nothing smaller does.
    assert!(message.contains("stall: 5") && message.matches("0,\n").count() >= 4, "{message}");
    let trace =
        ["fst", "vcd"].map(|kind| waves.join(format!("tb-wrong.{kind}"))).into_iter().find(|p| p.is_file());
    assert!(wave_times(&trace.expect("a trace was written")) >= 20);
}

#[test]
fn a_panicking_body_leaves_a_trace() {
    let waves = tessera_sim::tools::cache_dir().join("waves");
    for kind in ["fst", "vcd"] {
        let _ = std::fs::remove_file(waves.join(format!("tb-panics.{kind}")));
    }
    let failed = std::panic::catch_unwind(|| {
        run("tb::panics", &fifo(false), |dut, _| {
            dut.clock_by(12);
            assert!(dut.cycles() < 10, "on purpose");
        });
    });
    assert!(failed.is_err());
    let trace =
        ["fst", "vcd"].map(|kind| waves.join(format!("tb-panics.{kind}"))).into_iter().find(|p| p.is_file());
    assert!(wave_times(&trace.expect("a trace was written")) >= 20);
}

fn wave_times(path: &Path) -> usize {
    wellen::simple::read(path).unwrap().time_table().len()
}

#[test]
fn a_source_that_withdraws_its_word_is_caught() {
    // Valid is high in every other clock, whatever ready says.
    let verilog = "\
module fickle (input wire clk, output reg out_valid, input wire out_ready, output wire [7:0] out_data);
  initial out_valid = 1'b0;
  assign out_data = {8{out_ready}};
  always @(posedge clk) out_valid <= ~out_valid;
endmodule
";
    let ports = vec![
        Port::clock("clk"),
        Port::output("out_valid", 1),
        Port::input("out_ready", 1),
        Port::output("out_data", 8),
    ];
    let model = Model::build(&Design::new("fickle", verilog, ports), &BuildOptions::default()).unwrap();
    let watch = |checked: bool| {
        let mut dut = model.instance().unwrap();
        let mut sink = StreamMonitor::new(&dut, "out", Pattern::Random(0.5), &mut Rng::new(2)).unwrap();
        if !checked {
            sink = sink.without_hold_check();
        }
        (0..40).for_each(|_| cycle(&mut dut, &mut [&mut sink]));
        sink.total()
    };
    let caught = std::panic::catch_unwind(|| watch(true)).unwrap_err();
    let message = caught.downcast_ref::<String>().unwrap();
    assert!(message.contains("out: valid fell in clock"), "{message}");
    assert!((5..15).contains(&watch(false)));
}
