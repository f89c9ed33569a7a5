use super::*;

/// A netlist of a module `top` of cells, nets and ports.
fn netlist(ports: &str, cells: &str, nets: &str) -> String {
    format!(r#"{{"modules":{{"top":{{"ports":{{{ports}}},"cells":{{{cells}}},"netnames":{{{nets}}}}}}}}}"#)
}

/// A cell with its connections; of those in capitals before the colon of `outputs` it is said that they
/// are outputs.
fn cell(name: &str, kind: &str, connections: &[(&str, &str)], outputs: &[&str]) -> String {
    let list: Vec<_> = connections.iter().map(|(port, bits)| format!(r#""{port}":[{bits}]"#)).collect();
    let directions: Vec<_> = connections
        .iter()
        .map(|(port, _)| {
            let direction = if outputs.contains(port) { "output" } else { "input" };
            format!(r#""{port}":"{direction}""#)
        })
        .collect();
    format!(
        r#""{name}":{{"type":"{kind}","port_directions":{{{}}},"connections":{{{}}}}}"#,
        directions.join(","),
        list.join(",")
    )
}

fn flip_flop(name: &str, d: &str, q: &str) -> String {
    cell(name, "FDRE", &[("C", "2"), ("CE", "\"1\""), ("D", d), ("R", "\"0\""), ("Q", q)], &["Q"])
}

fn lut(name: &str, i0: &str, i1: &str, o: &str) -> String {
    cell(name, "LUT2", &[("I0", i0), ("I1", i1), ("O", o)], &["O"])
}

fn scope(path: &str, module: &str) -> String {
    format!(r#""{path}":{{"type":"$scopeinfo","attributes":{{"module":"{module}"}}}}"#)
}

fn net(name: &str, bits: &str) -> String {
    format!(r#""{name}":{{"hide_name":0,"bits":[{bits}]}}"#)
}

fn parse(text: &str, details: usize) -> Ways {
    Ways::parse(text, "top", &["tessera_dff_*"], details).unwrap()
}

/// Two registers with three tables between.
fn chain() -> String {
    let cells = [
        flip_flop("$a", "3", "10"),
        lut("$1", "10", "4", "11"),
        lut("$2", "4", "11", "12"),
        lut("$3", "12", "4", "13"),
        flip_flop("$b", "13", "14"),
        scope("one", "tessera_one"),
        scope("one.first", "tessera_dff_1"),
        scope("one.second", "tessera_dff_1"),
        scope("one.inner", "tessera_inner"),
        scope("one.inner.last", "tessera_dff_1"),
    ];
    let nets = [
        net("one.first.q", "10"),
        net("one.inner.wire", "\"x\",10"),
        net("one.inner.last.q", "14"),
        net("one.out", "14"),
    ];
    let ports = r#""clock":{"direction":"input","bits":[2]},"i":{"direction":"input","bits":[3,4]},
                   "o":{"direction":"output","bits":[12]}"#;
    netlist(ports, &cells.join(","), &nets.join(","))
}

#[test]
fn a_chain_of_luts_has_its_sum() {
    let ways = parse(&chain(), 1);
    // Clock to output 303, I0 238, I1 127, I0 238, no setup.
    let worst = ways.longest().unwrap();
    assert_eq!((worst.ps, worst.luts, worst.carries), (303 + 238 + 127 + 238, 3, 0));
    assert_eq!((worst.block.as_str(), worst.from.as_str()), ("one.inner", "one.inner.wire[1]"));
    assert_eq!(worst.to, "one.inner.last");
    assert_eq!(worst.modules, ["top", "tessera_one", "tessera_inner"]);
    // The output, and the first register, whose input is a port's.
    let rest: Vec<_> =
        ways.ways[1..].iter().map(|way| (way.block.as_str(), way.to.as_str(), way.ps)).collect();
    assert_eq!(rest, [("top", "o", 668)]);
    assert_eq!((ways.ends, ways.loops, ways.unknown_cells.len()), (3, 0, 0));
    assert_eq!(ways.histogram, [Bin { above_ps: 0, ends: 1 }, Bin { above_ps: 500, ends: 2 }]);
    let told: Vec<&str> = ways.details[0].lines().map(str::trim).collect();
    assert_eq!(
        told,
        [
            "906 ps, 3 LUTs, 0 carries, to one.inner.last",
            "303 from one.inner.wire[1]",
            "541 LUT2 I0 to O",
            "668 LUT2 I1 to O",
            "906 LUT2 I0 to O",
            "906 at one.inner.last, without setup",
        ]
    );
}

/// The same, with the instance of the register that the way begins at.
fn chain_from(instance: &str) -> String {
    let attributes = format!(r#""type":"FDRE","attributes":{{"scopename":"{instance}"}}"#);
    chain().replacen(r#""type":"FDRE""#, &attributes, 1)
}

/// A register is in its instance, and not where its longest name is.
#[test]
fn a_register_is_of_its_instance() {
    let told = |instance: &str| {
        let ways = parse(&chain_from(instance), 0);
        let blocks: Vec<_> = ways.ways.iter().map(|way| (way.block.clone(), way.ps)).collect();
        (ways.longest().unwrap().from.clone(), blocks)
    };
    let blocks = |last: &str| {
        [("one.inner", 906), ("top", 668), (last, 0)].map(|(block, ps)| (block.to_owned(), ps)).to_vec()
    };
    // A register with a name of its own, and one that has only its instance's.
    assert_eq!(told("one first"), ("one.first".into(), blocks("one")));
    assert_eq!(told("one second"), ("one.second".into(), blocks("one")));
    // A block's register with another's name is that block's.
    assert_eq!(told("one"), ("one: one.inner.wire[1]".into(), blocks("one")));
}

#[test]
fn rows_have_the_worst_of_what_is_in_them() {
    let text = chain_from("one first");
    let ways = parse(&text, 0);
    let rows = BTreeSet::from(["tessera_one", "tessera_inner"]);
    let ps = |row: &[&str], itself, rows| ways.of_row(row, itself, rows).map(|way| way.ps);
    assert_eq!(ps(&["tessera_one"], false, &rows), Some(906));
    assert_eq!(ps(&["tessera_one"], true, &rows), Some(0));
    assert_eq!(ps(&["tessera_one", "tessera_inner"], false, &rows), Some(906));
    // An output is the top's own.
    assert_eq!(ps(&[], true, &rows), Some(668));
    assert_eq!(ps(&["tessera_other"], false, &rows), None);
    // What has no row is part of what it is in.
    assert_eq!(ps(&["tessera_one"], true, &BTreeSet::from(["tessera_one"])), Some(906));
}

#[test]
fn carries_are_counted_and_take_their_times() {
    let carry = |name: &str, ci: &str, s: &str, co: &str, o: &str| {
        let zero = "\"0\",\"0\",\"0\",\"0\"";
        let ports = [("CI", ci), ("CYINIT", "\"0\""), ("DI", zero), ("S", s), ("CO", co), ("O", o)];
        cell(name, "CARRY4", &ports, &["CO", "O"])
    };
    let cells = [
        flip_flop("$a", "\"0\"", "10"),
        carry("$c1", "\"0\"", "10,\"0\",\"0\",\"0\"", "20,21,22,23", "30,31,32,33"),
        carry("$c2", "23", "\"0\",\"0\",\"0\",\"0\"", "24,25,26,27", "34,35,36,37"),
        cell("$b", "FDRE", &[("C", "2"), ("D", "\"0\""), ("R", "35"), ("Q", "11")], &["Q"]),
    ];
    let ways = parse(&netlist("", &cells.join(","), &net("sum", "11")), 0);
    let worst = ways.longest().unwrap();
    // S[0] to CO[3], CI to O[1], and the reset before the clock.
    assert_eq!((worst.ps, worst.luts, worst.carries), (303 + 508 + 334 + 404, 0, 2));
    assert_eq!((worst.to.as_str(), worst.from.as_str()), ("sum R", "$a"));
}

#[test]
fn memories_begin_and_end_ways() {
    let ram = |name: &str, address: &str, write: &str, out: &str, parameters: &str| {
        let ports = [
            ("CLKARDCLK", "2"),
            ("ADDRARDADDR", address),
            ("WEA", write),
            ("SLEEP", "\"0\""),
            ("DOUTADOUT", out),
        ];
        let text = cell(name, "RAMB36E2", &ports, &["DOUTADOUT"]);
        text.replacen(r#""type""#, &format!(r#""parameters":{{{parameters}}},"type""#), 1)
    };
    let cells = |parameters: &str| {
        [
            ram("queue.ram.mem.0.1", "3,4", "\"0\"", "10,11", parameters),
            lut("$1", "11", "4", "12"),
            ram("heap.ram.mem.0.0", "3,12", "4", "13,14", ""),
            scope("queue", "tessera_fifo"),
        ]
        .join(",")
    };
    let ports = r#""a":{"direction":"input","bits":[3,4]}"#;
    let ways = parse(&netlist(ports, &cells(""), ""), 0);
    let worst = ways.longest().unwrap();
    assert_eq!((worst.ps, worst.luts), (2454 + 238 + 566, 1));
    assert_eq!(worst.from, "queue.ram DOUTADOUT[1] (RAMB36E2)");
    assert_eq!(worst.to, "heap.ram ADDRARDADDR[1] (RAMB36E2)");
    assert_eq!(ways.ways[1].block, "queue");
    assert_eq!((ways.ends_above_3000_ps, ways.ends_above_3900_ps), (1, 0));
    // In the block where it ends, and by the memory where it begins.
    let of_blocks: Vec<usize> = ways.ways.iter().map(|way| way.ends_above_3000_ps).collect();
    assert_eq!(of_blocks, [1, 0]);
    let from = "queue.ram DOUTADOUT (RAMB36E2)".to_owned();
    assert_eq!(ways.beginnings, [Beginning { from, ends: 1, ps: 2454 + 238 + 566 }]);
    let registered = parse(&netlist(ports, &cells(r#""DOA_REG":"00000001""#), ""), 0);
    assert_eq!(registered.longest().unwrap().ps, 882 + 238 + 566);
    // A table that is a memory: from its address as a table.
    let ports = [("ADDRA", "3,4,3,4,3,4"), ("DIA", "3"), ("WE", "4"), ("WCLK", "2"), ("DOA", "12")];
    let cells = [cell("list.mem.0.0", "RAM64M8", &ports, &["DOA"]), flip_flop("$q", "12", "13")];
    let ways = parse(&netlist("", &cells.join(","), ""), 0);
    assert_eq!(ways.longest().map(|way| (way.ps, way.luts)), Some((1153, 0)));
    assert_eq!(ways.longest().unwrap().from, "list DOA (RAM64M8)");
}

#[test]
fn loops_are_reported_and_end() {
    let cells = [
        flip_flop("$a", "\"0\"", "10"),
        lut("$1", "10", "13", "11"),
        lut("$2", "11", "4", "12"),
        lut("$3", "12", "4", "13"),
        flip_flop("$b", "13", "14"),
    ];
    let nets = [net("x", "11"), net("y", "12"), net("z", "13")];
    let ways = parse(&netlist("", &cells.join(","), &nets.join(",")), 0);
    assert_eq!(ways.loops, 1);
    assert_eq!(ways.longest().map(|way| way.ps), Some(303 + 3 * 238));
    let notes = ways.notes().join("\n");
    assert!(notes.contains("combinational loops: 1"), "{notes}");
    for name in ["x (LUT2)", "y (LUT2)", "z (LUT2)"] {
        assert!(notes.contains(name), "{notes}");
    }
    let itself = parse(&netlist("", &lut("$1", "10", "10", "10"), &net("x", "10")), 0);
    assert_eq!((itself.loops, itself.ends), (2, 0));
    // A way of a hundred thousand cells is no loop, and takes no stack.
    let long: Vec<_> =
        (10..100_010).map(|n| lut(&format!("${n}"), &n.to_string(), "4", &(n + 1).to_string())).collect();
    let cells = format!("{},{}", long.join(","), flip_flop("$q", "100010", "1"));
    let ways = parse(&netlist("", &cells, ""), 0);
    assert_eq!((ways.loops, ways.longest().unwrap().ps), (0, 238 * 100_000));
}

#[test]
fn unknown_cells_are_named_and_end_ways() {
    let cells = [
        flip_flop("$a", "\"0\"", "10"),
        lut("$1", "10", "4", "11"),
        cell("hard.block", "PCIE4CE4", &[("REQ", "11,4"), ("ACK", "12")], &["ACK"]),
        cell("hard.other", "PCIE4CE4", &[("REQ", "12,4"), ("ACK", "13")], &["ACK"]),
        lut("$2", "13", "4", "14"),
        flip_flop("$b", "14", "15"),
    ];
    let text = netlist("", &cells.join(","), "");
    let ways = parse(&text, 0);
    assert_eq!(ways.unknown_cells, BTreeMap::from([("PCIE4CE4".to_owned(), 2)]));
    assert_eq!(ways.longest().map(|way| way.to.as_str()), Some("hard.block REQ[0] (PCIE4CE4)"));
    assert_eq!(ways.longest().map(|way| way.ps), Some(303 + 238));
    assert!(ways.notes().iter().any(|note| note.contains("PCIE4CE4 (2)")));
    // Without directions nobody knows which of its ports are which.
    let refused = Ways::parse(&text.replace("port_directions", "directions"), "top", &[], 0).unwrap_err();
    assert!(refused.to_string().contains("no port ACK") || refused.to_string().contains("no port REQ"));
}

#[test]
fn what_is_no_netlist_is_refused() {
    let refused = |text: &str| Ways::parse(text, "top", &[], 0).unwrap_err().to_string();
    assert!(refused("").contains("is not what it was"));
    assert!(refused(r#"{"modules":{}}"#).contains("has no module top"));
    assert!(
        refused(&netlist(r#""a":{"direction":"input","bits":[-1]}"#, "", "")).contains("is not what it was")
    );
    let empty = parse(&netlist("", "", ""), 3);
    assert_eq!((empty.longest(), empty.ends, empty.details.len()), (None, 0, 0));
}
