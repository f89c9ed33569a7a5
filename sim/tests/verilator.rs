//! The Verilator driver on small hand-written designs.

use std::io::Write as _;
use std::path::PathBuf;
use tessera_sim::tools::ToolError;
use tessera_sim::verilator::{
    BuildOptions, Design, Direction, InstanceOptions, Lint, Model, ModelError, Port, Trace,
};

/// A counter with enable, a combinational output and an unset memory.
fn counter() -> Design {
    let verilog = "\
module counter (
  input  wire clk, input wire rst, input wire enable, input wire [3:0] offset,
  output wire [7:0] count, output wire [7:0] sum, output wire [7:0] stored);
  reg [7:0] value;
  reg [7:0] memory [0:255];
  initial value = 8'd7;
  assign count = value;
  assign sum = value + {4'd0, offset};
  assign stored = memory[value];
  always @(posedge clk) begin
    if (rst) value <= 8'd0;
    else if (enable) value <= value + 8'd1;
    if (rst & enable) memory[value] <= 8'd0;
  end
endmodule
";
    let ports = vec![
        Port::clock("clk"),
        Port::input("rst", 1),
        Port::input("enable", 1),
        Port::input("offset", 4),
        Port::output("count", 8),
        Port::output("sum", 8),
        Port::output("stored", 8),
    ];
    Design::new("counter", verilog, ports)
}

/// A registered 512-bit adder, a record-like bus and names C++ cannot take.
fn wide() -> Design {
    let verilog = "\
module wide (
  input  wire clk, input wire [511:0] a, input wire [511:0] b__in, input wire [99:0] word,
  output reg  [511:0] q, output wire [99:0] back, output wire [69:0] rotated);
  assign back = ~word;
  assign rotated = {word[0], word[69:1]};
  always @(posedge clk) q <= a + b__in;
endmodule
";
    let word = |port: Port| {
        port.with_field("valid", 0, 1)
            .with_field("generation", 1, 12)
            .with_field("deadline", 50, 40)
            .with_field("tail", 90, 10)
    };
    let ports = vec![
        Port::input("a", 512),
        Port::input("b__in", 512),
        word(Port::input("word", 100)),
        Port::clock("clk"),
        Port::output("q", 512),
        word(Port::output("back", 100)),
        Port::output("rotated", 70),
    ];
    Design::new("wide", verilog, ports)
}

fn build(design: &Design) -> Model {
    Model::build(design, &BuildOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn with_trace(trace: Trace) -> BuildOptions {
    BuildOptions { trace, ..Default::default() }
}

/// A folder of this test's own, under the target folder.
fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn outputs_follow_the_documented_order() {
    let mut dut = build(&counter()).instance().unwrap();
    let [rst, enable, offset] = ["rst", "enable", "offset"].map(|n| dut.port(n).unwrap());
    let [count, sum] = ["count", "sum"].map(|n| dut.port(n).unwrap());
    assert_eq!((dut.get(count), dut.get(sum)), (7, 7), "initial values show before any clock");
    dut.set(offset, 5u64);
    assert_eq!(dut.get(sum), 7, "set alone changes no output");
    dut.settle();
    assert_eq!((dut.get(count), dut.get(sum)), (7, 12), "settle moves combinational outputs only");
    dut.set(enable, true);
    dut.clock();
    assert_eq!((dut.get(count), dut.get(sum)), (8, 13), "outputs are those after the edge, inputs held");
    assert_eq!((dut.sampled(count), dut.sampled(sum)), (7, 12), "at the edge they were those before it");
    dut.settle();
    dut.set(offset, 1u64);
    dut.settle();
    assert_eq!((dut.get(count), dut.get(sum)), (8, 9), "settle is no clock edge");
    assert_eq!((dut.sampled(count), dut.sampled(offset)), (7, 5), "nor does it change what the edge saw");
    dut.set(offset, 5u64);
    dut.set(enable, false);
    dut.clock();
    assert_eq!(dut.get(count), 8, "the edge samples the inputs set just before it");
    dut.set(enable, true);
    dut.clock_by(250);
    assert_eq!(dut.get(count), 2, "the count wraps at 8 bits");
    assert_eq!(dut.cycles(), 252);
    dut.reset(rst, 2);
    assert_eq!((dut.get(count), dut.cycles()), (0, 254));
}

#[test]
fn wide_ports_and_fields_reach_the_right_bits() {
    let mut dut = build(&wide()).instance().unwrap();
    let [a, b, q] = ["a", "b__in", "q"].map(|n| dut.port(n).unwrap());
    let mut words = [0u64; 8];
    dut.set_wide(a, &[u64::MAX; 8]);
    dut.set_wide(b, &[2, 0, 0, 0, 0, 0, 0, 1 << 63]);
    dut.clock();
    dut.get_wide(q, &mut words);
    assert_eq!(words, [1, 0, 0, 0, 0, 0, 0, 1 << 63], "the carry runs through all words");

    for (name, value) in [("valid", 1), ("generation", 0xabc), ("deadline", 0x12_3456_789a), ("tail", 0x2a5)]
    {
        let set = dut.port(&format!("word.{name}")).unwrap();
        dut.set(set, value);
        dut.settle();
        assert_eq!(dut.get(set), value);
        let back = dut.port(&format!("back.{name}")).unwrap();
        let ones = (1u64 << back.width()) - 1;
        assert_eq!(dut.get(back), !value & ones, "{name}");
    }
    let whole = dut.port("word").unwrap();
    let mut whole_words = [0u64; 2];
    dut.get_wide(whole, &mut whole_words);
    let expected: u128 = 1 | 0xabc << 1 | 0x12_3456_789a << 50 | 0x2a5 << 90;
    assert_eq!(whole_words, [expected as u64, (expected >> 64) as u64]);
    assert_eq!(dut.get(whole.bits(50, 40)), 0x12_3456_789a);
    let rotated = dut.port("rotated").unwrap();
    let mut rotated_words = [0u64; 2];
    dut.get_wide(rotated, &mut rotated_words);
    let low = expected & ((1 << 70) - 1);
    let turned = low >> 1 | (low & 1) << 69;
    assert_eq!(rotated_words, [turned as u64, (turned >> 64) as u64]);
}

#[test]
fn instances_and_models_share_nothing() {
    let model = build(&counter());
    let other = build(&wide());
    let (mut one, mut two) = (model.instance().unwrap(), model.instance().unwrap());
    let mut third = other.instance().unwrap();
    let [enable, count] = ["enable", "count"].map(|n| model.port(n).unwrap());
    one.set(enable, true);
    one.clock_by(3);
    two.clock_by(3);
    third.clock();
    assert_eq!((one.get(count), two.get(count)), (10, 7));
    // An instance may move to another thread, with others running meanwhile.
    let handles: Vec<_> = (1..=4u64)
        .map(|n| {
            let mut dut = model.instance().unwrap();
            std::thread::spawn(move || {
                dut.set(enable, true);
                for _ in 0..n * 20 {
                    dut.clock();
                }
                dut.get(count)
            })
        })
        .collect();
    let counts: Vec<u64> = handles.into_iter().map(|h| h.join().unwrap()).collect();
    assert_eq!(counts, [27, 47, 67, 87]);
    drop(one);
    two.set(enable, true);
    two.clock();
    assert_eq!(two.get(count), 8, "an instance outlives its siblings");
}

#[test]
fn an_exported_block_is_clocked() {
    use tessera_rtl::prelude::{Bits, Dff};
    let mut holder = Dff::<Bits<8>>::default();
    let export = tessera_rtl::emit::export(&mut holder, "holder").unwrap();
    let mut dut = build(&Design::from(&export)).instance().unwrap();
    let [d, q] = ["d", "q"].map(|n| dut.port(n).unwrap());
    dut.set(d, 0xa5u64);
    dut.clock();
    assert_eq!((dut.sampled(q), dut.get(q)), (0, 0xa5));
}

#[test]
fn unset_memory_is_zero_or_drawn_from_a_seed() {
    let model = build(&counter());
    let [enable, stored] = ["enable", "stored"].map(|n| model.port(n).unwrap());
    let contents = |random_init| {
        let options = InstanceOptions { random_init, ..Default::default() };
        let mut dut = model.instance_with(&options).unwrap();
        dut.set(enable, true);
        (0..256)
            .map(|_| {
                dut.clock();
                dut.get(stored)
            })
            .collect::<Vec<_>>()
    };
    assert!(contents(None).iter().all(|b| *b == 0));
    assert_eq!(contents(Some(5)), contents(Some(5)));
    assert_ne!(contents(Some(5)), contents(Some(6)));
}

#[test]
fn an_equal_build_is_taken_from_the_cache() {
    let mut options = BuildOptions::default();
    // A cache of its own, with the tool fetched only once.
    let verilator = tessera_sim::tools::verilator(&options.tools).unwrap();
    let cache = scratch("cache-hit");
    options.tools.cache = Some(cache.clone());
    std::os::unix::fs::symlink(tessera_sim::tools::cache_dir().join("tools"), cache.join("tools")).unwrap();
    drop(verilator);
    let design = counter();
    let first = Model::build(&design, &options).unwrap();
    let written = std::fs::metadata(first.shared_object()).unwrap().modified().unwrap();
    let again = Model::build(&design, &options).unwrap();
    assert_eq!(first.shared_object(), again.shared_object());
    assert_eq!(std::fs::metadata(again.shared_object()).unwrap().modified().unwrap(), written);
    assert_eq!(std::fs::read_to_string(first.verilog()).unwrap(), design.verilog);

    let mut remarked = counter();
    remarked.verilog = remarked.verilog.replace("  reg [7:0] value;", "  // Revision 2.\n  reg [7:0] value;");
    let with_line = Model::build(&remarked, &options).unwrap();
    assert_ne!(with_line.key(), first.key(), "line numbers are part of a model");
    remarked.verilog = remarked.verilog.replace("Revision 2", "Revision 3");
    assert_eq!(Model::build(&remarked, &options).unwrap().key(), with_line.key(), "remarks are not");

    let mut changed = counter();
    changed.verilog = changed.verilog.replace("value + 8'd1", "value + 8'd3");
    let changed = Model::build(&changed, &options).unwrap();
    assert_ne!(changed.key(), first.key(), "other Verilog is another model");
    let mut dut = changed.instance().unwrap();
    let enable = dut.port("enable").unwrap();
    dut.set(enable, true);
    dut.clock();
    assert_eq!(dut.get(dut.port("count").unwrap()), 10);
    let leftovers: Vec<_> = std::fs::read_dir(cache.join("verilated"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".partial") || n.ends_with(".lock"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

#[test]
fn a_vcd_shows_what_the_ports_did() {
    let model = Model::build(&counter(), &with_trace(Trace::Vcd)).unwrap();
    let path = scratch("vcd").join("counter.vcd");
    let mut dut = model.instance().unwrap();
    let enable = dut.port("enable").unwrap();
    dut.set(enable, true);
    dut.clock_by(2);
    dut.open_trace(&path).unwrap();
    dut.clock_by(3);
    dut.close_trace().unwrap();
    dut.clock_by(100);

    let mut parser = vcd::Parser::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap()));
    let header = parser.parse_header().unwrap();
    let count = header
        .items
        .iter()
        .find_map(|_| {
            header.find_var(&["counter", "count"]).or_else(|| header.find_var(&["dut", "counter", "count"]))
        })
        .expect("the trace has the port")
        .code;
    let mut values = Vec::new();
    for command in parser {
        if let vcd::Command::ChangeVector(code, value) = command.unwrap() {
            if code == count {
                values.push(value.iter().fold(0u64, |v, bit| v << 1 | u64::from(bit == vcd::Value::V1)));
            }
        }
    }
    assert_eq!(values, [9, 10, 11, 12]);
}

#[test]
fn an_fst_opens_and_names_the_ports() {
    let model = match Model::build(&wide(), &with_trace(Trace::Fst)) {
        Err(ModelError::Tool(error @ ToolError::Missing { .. })) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED an_fst_opens_and_names_the_ports: {error}\n");
            return;
        }
        built => built.unwrap_or_else(|e| panic!("{e}")),
    };
    let dir = scratch("fst");
    let mut dut = model.instance().unwrap();
    for name in ["one.fst", "two.fst"] {
        dut.open_trace(dir.join(name)).unwrap();
        dut.clock_by(10);
    }
    drop(dut);
    for name in ["one.fst", "two.fst"] {
        let wave = wellen::simple::read(dir.join(name)).unwrap();
        let tree = wave.hierarchy();
        let names: Vec<&str> = tree.all_vars().map(|v| tree[v].name(tree)).collect();
        assert!(names.contains(&"q") && names.contains(&"word"), "{names:?}");
        assert!(wave.time_table().len() >= 20, "{} times in {name}", wave.time_table().len());
    }
}

#[test]
fn tracing_must_be_built_in_and_the_file_writable() {
    let mut dut = build(&counter()).instance().unwrap();
    let error = dut.open_trace("/nowhere/x.vcd").unwrap_err();
    assert!(matches!(error, ModelError::NotBuilt { .. }), "{error}");
    let model = Model::build(&counter(), &with_trace(Trace::Vcd)).unwrap();
    let mut dut = model.instance().unwrap();
    let error = dut.open_trace("/nowhere/x.vcd").unwrap_err();
    assert!(matches!(error, ModelError::Write { .. }), "{error}");
}

#[test]
fn coverage_counts_are_written() {
    let options = BuildOptions { coverage: true, ..Default::default() };
    let model = Model::build(&counter(), &options).unwrap();
    let mut dut = model.instance().unwrap();
    dut.clock_by(5);
    let path = scratch("coverage").join("counter.dat");
    dut.write_coverage(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("counter.v") && text.lines().count() > 10, "{text}");
}

#[test]
fn a_stopped_simulation_is_an_error_and_not_the_end_of_the_process() {
    let verilog = "\
module stops (input wire clk, input wire [2:0] how, output wire loop);
  reg held; initial held = 1'b0;
  assign loop = held;
  always @(posedge clk) begin
    held <= ~held;
    if (how == 3'd1) $stop;
    if (how == 3'd2) $finish;
    if (how == 3'd3) $fatal(1, \"told so\");
    if (how == 3'd4) begin $display(\"first\"); $error(\"how is %0d\", how); end
  end
endmodule
";
    let ports = vec![Port::clock("clk"), Port::input("how", 3), Port::output("loop", 1)];
    let model = build(&Design::new("stops", verilog, ports));
    for (how, words) in
        [(1u64, "stopped at"), (2, "$finish at"), (3, "told so"), (4, "first\n"), (4, "how is 4")]
    {
        let mut dut = model.instance().unwrap();
        let port = dut.port("how").unwrap();
        dut.clock();
        dut.set(port, how);
        let message = dut.try_clock(1).unwrap_err().to_string();
        assert!(message.contains("stops stopped in clock 1") && message.contains(words), "{message}");
        assert!(message.contains("stops.v:"), "{message}");
    }
}

#[test]
fn what_an_initial_block_says_is_in_the_error() {
    let verilog = "\
module refuses #(parameter W = 9) (input wire clk, output wire q);
  assign q = clk;
  initial if (W > 8) begin
    $error(\"W is %0d: 8 at most\", W);
    $finish;
  end
endmodule
";
    let model = build(&Design::new("refuses", verilog, vec![Port::clock("clk"), Port::output("q", 1)]));
    let message = model.instance().err().expect("it stops").to_string();
    assert!(message.contains("refuses stopped in clock 0"), "{message}");
    assert!(message.contains("refuses.v:4") && message.contains("W is 9: 8 at most"), "{message}");
    assert!(model.instance().is_err(), "once more");
}

#[test]
fn wrong_verilog_is_refused_in_verilators_words() {
    let refuse = |verilog: &str| {
        let ports = vec![Port::clock("clk"), Port::output("q", 4)];
        let error =
            Model::build(&Design::new("bad", verilog, ports), &BuildOptions::default()).err().unwrap();
        assert!(matches!(error, ModelError::Verilog { .. }), "{error}");
        error.to_string()
    };
    let message = refuse(
        "module bad (input wire clk, output reg [3:0] q);\n always @(posedge clk) q <= nope;\nendmodule\n",
    );
    assert!(message.contains("bad.v:2") && message.contains("nope"), "{message}");
    let message = refuse("module bad (input wire clk, output reg [3:0] q);\n always @(posedge clk) q <= q + 8'd1;\nendmodule\n");
    assert!(message.contains("WIDTH"), "a warning is an error: {message}");
    let message = refuse(
        "module bad (input wire clk, output reg [3:0] q);\n always @(posedge clk q <= 4'd1;\nendmodule\n",
    );
    assert!(message.contains("syntax error"), "{message}");
}

#[test]
fn warnings_of_foreign_verilog_can_be_let_through() {
    let verilog =
        "module bad (input wire clk, output reg [3:0] q);\n always @(posedge clk) q <= q + 8'd1;\nendmodule\n";
    let options = BuildOptions { lint: Lint::ErrorsOnly, ..Default::default() };
    let design = Design::new("bad", verilog, vec![Port::clock("clk"), Port::output("q", 4)]);
    let mut dut = Model::build(&design, &options).unwrap().instance().unwrap();
    dut.clock_by(17);
    assert_eq!(dut.get(dut.port("q").unwrap()), 1);
}

#[test]
fn wrong_ports_are_named() {
    let message = |design: &Design| {
        let error = Model::build(design, &BuildOptions::default()).err().unwrap();
        assert!(matches!(error, ModelError::Ports { .. }), "{error}");
        error.to_string()
    };
    let mut design = counter();
    design.ports[6].name = "storage".into();
    assert!(message(&design).contains("storage is not a port"), "{}", message(&design));
    let mut design = counter();
    design.ports[4].width = 9;
    assert!(
        message(&design).contains("count is described as output of 9 bits, in the Verilog it is output of 8")
    );
    let mut design = counter();
    design.ports[0].is_clock = false;
    assert!(message(&design).contains("no port is marked as the clock"));
    let mut design = counter();
    design.ports[1].is_clock = true;
    assert!(message(&design).contains("2 clocks (clk, rst)"));
    let mut design = counter();
    design.ports[0].direction = Direction::Out;
    assert!(message(&design).contains("clk must be a one-bit input"));
    let mut design = counter();
    design.ports[4] = design.ports[4].clone().with_field("high", 4, 5);
    assert!(message(&design).contains("field count.high lies outside the port"));
    let error = build(&counter()).port("coutn").unwrap_err().to_string();
    assert!(error.contains("counter has no port coutn; it has count, enable"), "{error}");
}

#[test]
fn misuse_of_a_port_is_told() {
    let told = |body: fn(&mut tessera_sim::verilator::Dut)| {
        let mut dut = build(&counter()).instance().unwrap();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&mut dut))).unwrap_err();
        panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
            .unwrap()
    };
    assert!(told(|dut| dut.set(dut.port("offset").unwrap(), 16u64))
        .contains("0x10 does not fit a port of 4 bits"));
    assert!(told(|dut| dut.set(dut.port("count").unwrap(), 1u64)).contains("an output cannot be set"));
}
