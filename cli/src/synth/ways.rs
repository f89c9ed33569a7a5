//! How long the ways of a mapped design take, block by block: from a register, memory or input to a
//! register, memory or output, in cells alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use serde::Serialize;

use super::cells::{self, Kind, Times};
use super::netlist::{Cell, Module, Names, Netlist, Parameters, Place};
use super::pairs::{pairs, unread};

/// The longest way of those that end in a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Path of the instance where it ends; the top's is its module.
    pub block: String,
    pub from: String,
    pub to: String,
    pub ps: u64,
    pub luts: usize,
    pub carries: usize,
    /// Ends in this block that take longer than is aimed at, and than is known to close.
    pub ends_above_3000_ps: usize,
    pub ends_above_3900_ps: usize,
    /// Modules of the block and those that it is in, from the top's down; none if no name tells.
    #[serde(skip)]
    pub modules: Vec<String>,
}

/// A register, memory or input where ways begin that take longer than is aimed at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beginning {
    /// As ways name it, without the bit.
    pub from: String,
    /// Ends above 3,000 ps whose longest way begins there, and the longest of these.
    pub ends: usize,
    pub ps: u64,
}

/// Ends of ways that take so long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// More than this, up to half a nanosecond more.
    pub above_ps: u64,
    pub ends: usize,
}

/// All that is known of a design's ways.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ways {
    /// The longest way of each block, worst first.
    pub ways: Vec<Way>,
    /// Pins of registers and memories, and outputs, where a way ends.
    pub ends: usize,
    pub ends_above_3000_ps: usize,
    pub ends_above_3900_ps: usize,
    /// Where those above 3,000 ps begin, with the most ends first.
    pub beginnings: Vec<Beginning>,
    /// Pairs of LUTs that can share a table of their device.
    pub pairs: usize,
    /// Tables of memories of which nobody reads.
    pub unread: usize,
    pub histogram: Vec<Bin>,
    /// Cells of which nothing is known, by type: ways end at their inputs and begin at their outputs.
    pub unknown_cells: BTreeMap<String, usize>,
    /// Combinational loops. What goes round in them is cut at one place.
    pub loops: usize,
    /// The first of them, by the cells on it.
    pub first_loops: Vec<String>,
    /// The worst ways in detail, as text.
    #[serde(skip)]
    pub details: Vec<String>,
}

/// What is not a netlist with ways.
#[derive(Debug, thiserror::Error)]
pub enum WaysError {
    #[error("Yosys's netlist is not what it was: {0}")]
    Netlist(#[from] serde_json::Error),
    #[error("Yosys's netlist has no module {0}")]
    NoModule(String),
    #[error("Yosys's netlist is broken: {cell} has no port {port}")]
    NoPort { cell: String, port: String },
}

const BIN: u64 = 500;
const LOOPS_NAMED: usize = 5;
const NONE: u32 = u32::MAX;

/// From an input to an output of a cell, between nets.
struct Arc {
    from: u32,
    to: u32,
    ps: u64,
    cell: u32,
    input: String,
    output: String,
}

/// Where a way begins or ends.
#[derive(Clone)]
struct Pin {
    /// The cell's number, or none of a port of the design.
    cell: Option<u32>,
    port: String,
    /// The bit of a port that has several.
    bit: Option<usize>,
    ps: u64,
}

/// What a design is made of, as far as ways go.
struct Graph<'a> {
    cells: Vec<(&'a str, &'a Cell)>,
    /// In the order of the nets that they end at.
    arcs: Vec<Arc>,
    /// For each net, where its arcs begin in those.
    first: Vec<usize>,
    starts: HashMap<u32, Pin>,
    ends: Vec<(u32, Pin)>,
    unknown: BTreeMap<String, usize>,
}

fn pin(cell: Option<u32>, port: &str, at: usize, width: usize, ps: u64) -> Pin {
    Pin { cell, port: port.into(), bit: (width > 1).then_some(at), ps }
}

/// The name of a pin without which bit it is: the last number in brackets.
fn without_bit(name: &str) -> String {
    let bit = name.rfind('[').and_then(|at| Some((at, at + name[at..].find(']')?)));
    match bit {
        Some((from, to)) if name[from + 1..to].bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{}{}", &name[..from], &name[to + 1..])
        }
        _ => name.to_owned(),
    }
}

impl<'a> Graph<'a> {
    fn new(module: &'a Module) -> Result<Self, WaysError> {
        let mut graph = Graph {
            cells: module.cells.iter().map(|(name, cell)| (name.as_str(), cell)).collect(),
            arcs: Vec::new(),
            first: Vec::new(),
            starts: HashMap::new(),
            ends: Vec::new(),
            unknown: BTreeMap::new(),
        };
        for (name, port) in &module.ports {
            for (at, net) in port.bits.iter().enumerate().filter_map(|(at, bit)| Some((at, bit.0?))) {
                let pin = pin(None, name, at, port.bits.len(), 0);
                if port.direction != "output" {
                    graph.starts.insert(net, pin.clone());
                }
                if port.direction != "input" {
                    graph.ends.push((net, pin));
                }
            }
        }
        let mut known: HashMap<(&str, &Parameters), Option<Times>> = HashMap::new();
        for number in 0..graph.cells.len() {
            let (name, cell) = graph.cells[number];
            let kind = cells::plain(&cell.kind);
            let times =
                known.entry((kind, &cell.parameters)).or_insert_with(|| Times::of(kind, &cell.parameters));
            match times {
                Some(times) => graph.add(number as u32, name, cell, times)?,
                None => {
                    *graph.unknown.entry(kind.to_owned()).or_default() += 1;
                    graph.add(number as u32, name, cell, &Times::default())?;
                }
            }
        }
        graph.arcs.sort_by_key(|arc| arc.to);
        let nets =
            graph.arcs.iter().flat_map(|arc| [arc.from, arc.to]).chain(graph.ends.iter().map(|end| end.0));
        let nets = nets.max().map_or(0, |last| last as usize + 1);
        graph.first =
            (0..=nets).map(|net| graph.arcs.partition_point(|arc| (arc.to as usize) < net)).collect();
        Ok(graph)
    }

    /// Adds a cell: its arcs, its outputs that a clock or nothing known drives, and its inputs that no
    /// arc takes.
    fn add(&mut self, number: u32, name: &str, cell: &Cell, times: &Times) -> Result<(), WaysError> {
        let nets = |port: &str, bit: Option<usize>| {
            let bits = cell.connections.get(port).map_or(&[][..], Vec::as_slice);
            bits.iter()
                .enumerate()
                .filter(move |(at, _)| bit.is_none_or(|bit| bit == *at))
                .filter_map(move |(at, net)| Some((at, bits.len(), net.0?)))
        };
        let mut taken = BTreeSet::new();
        for ((from, from_bit), (to, to_bit), ps) in &times.arcs {
            taken.extend([from.as_str(), to.as_str()]);
            for (at, width, from_net) in nets(from, *from_bit) {
                let input = if width > 1 { format!("{from}[{at}]") } else { from.clone() };
                for (at, width, to_net) in nets(to, *to_bit) {
                    let output = if width > 1 { format!("{to}[{at}]") } else { to.clone() };
                    let input = input.clone();
                    self.arcs.push(Arc { from: from_net, to: to_net, ps: *ps, cell: number, input, output });
                }
            }
        }
        for ((port, bit), ps) in &times.launches {
            taken.insert(port);
            for (at, width, net) in nets(port, *bit) {
                self.starts.insert(net, pin(Some(number), port, at, width, *ps));
            }
        }
        for ((port, bit), ps) in &times.setups {
            taken.insert(port);
            for (at, width, net) in nets(port, *bit) {
                self.ends.push((net, pin(Some(number), port, at, width, *ps)));
            }
        }
        for port in cell.connections.keys() {
            if taken.contains(port.as_str()) || times.clocks.contains(port) {
                continue;
            }
            let direction = cell.port_directions.get(port);
            let direction =
                direction.ok_or_else(|| WaysError::NoPort { cell: name.into(), port: port.clone() })?;
            for (at, width, net) in nets(port, None) {
                let pin = pin(Some(number), port, at, width, 0);
                if direction != "output" {
                    self.ends.push((net, pin.clone()));
                }
                if direction != "input" {
                    self.starts.insert(net, pin);
                }
            }
        }
        Ok(())
    }

    fn arcs_to(&self, net: u32) -> std::ops::Range<usize> {
        let net = net as usize;
        if net + 1 < self.first.len() {
            self.first[net]..self.first[net + 1]
        } else {
            0..0
        }
    }
}

/// When nets have settled.
struct Arrivals {
    ps: Vec<u64>,
    /// The arc that is the last to arrive.
    by: Vec<u32>,
    /// Loops, by the arcs on them.
    loops: usize,
    first_loops: Vec<Vec<u32>>,
}

impl Arrivals {
    /// Depth first, without recursion: a way may have thousands of cells.
    fn new(graph: &Graph) -> Self {
        const NEW: u8 = 0;
        const ON_STACK: u8 = 1;
        const DONE: u8 = 2;
        let nets = graph.first.len().saturating_sub(1);
        let mut all = Self { ps: vec![0; nets], by: vec![NONE; nets], loops: 0, first_loops: Vec::new() };
        let mut state = vec![NEW; nets];
        let mut stack: Vec<(u32, usize)> = Vec::new();
        // From the ends, so that a loop is cut behind what comes into it.
        let ends = graph.ends.iter().map(|end| end.0);
        for root in ends.chain(graph.arcs.iter().map(|arc| arc.to)) {
            if state[root as usize] != NEW {
                continue;
            }
            stack.push((root, graph.arcs_to(root).start));
            while let Some((net, next)) = stack.last_mut() {
                let (at, end) = (*net as usize, graph.arcs_to(*net).end);
                if state[at] == NEW {
                    state[at] = ON_STACK;
                    all.ps[at] = graph.starts.get(net).map_or(0, |pin| pin.ps);
                }
                if *next == end {
                    state[at] = DONE;
                    stack.pop();
                    continue;
                }
                let number = *next;
                let arc = &graph.arcs[number];
                let from = arc.from as usize;
                match state[from] {
                    NEW => stack.push((arc.from, graph.arcs_to(arc.from).start)),
                    DONE => {
                        *next += 1;
                        let ps = all.ps[from] + arc.ps;
                        // An equal start is shorter to tell.
                        if ps > all.ps[at] {
                            (all.ps[at], all.by[at]) = (ps, number as u32);
                        }
                    }
                    _ => {
                        *next += 1;
                        all.loops += 1;
                        if all.first_loops.len() < LOOPS_NAMED {
                            let begin = stack.iter().position(|(net, _)| *net == arc.from).unwrap_or(0);
                            // What each net on the stack waits for; the last was counted on above.
                            let waits = stack[begin..stack.len() - 1].iter().map(|(_, next)| *next as u32);
                            all.first_loops.push(waits.chain([number as u32]).collect());
                        }
                    }
                }
            }
        }
        all
    }

    /// The arcs to a net, from the first, and the net where they begin.
    fn way(&self, graph: &Graph, net: u32) -> (Vec<u32>, u32) {
        let (mut way, mut net) = (Vec::new(), net);
        while let Some(by) = self.by.get(net as usize).copied().filter(|by| *by != NONE) {
            way.push(by);
            net = graph.arcs[by as usize].from;
        }
        way.reverse();
        (way, net)
    }
}

/// A design with its times and names.
struct Design<'a> {
    graph: Graph<'a>,
    arrivals: Arrivals,
    names: Names<'a>,
}

/// An end of a way: when it is reached, and where that is.
struct End {
    ps: u64,
    net: u32,
    pin: Pin,
}

impl Design<'_> {
    fn place(&self, pin: &Pin) -> Place {
        let Some(number) = pin.cell else { return self.names.port(&pin.port, pin.bit) };
        let (name, cell) = self.graph.cells[number as usize];
        let kind = cells::plain(&cell.kind);
        if kind.starts_with("FD") || kind.starts_with("SRL") {
            let output = cell.connections.get("Q").and_then(|bits| bits.first()?.0);
            self.names.register(name, &cell.attributes.scopename, output)
        } else {
            self.names.cell(name)
        }
    }

    /// What a pin is called.
    fn label(&self, pin: &Pin, place: &Place) -> String {
        let bit = |bit: Option<usize>| bit.map(|bit| format!("[{bit}]")).unwrap_or_default();
        let name = format!("{}{}", place.name, bit(place.bit));
        let Some(number) = pin.cell else { return name };
        let kind = cells::plain(&self.graph.cells[number as usize].1.kind);
        let port = format!("{}{}", pin.port, bit(pin.bit));
        match (kind.starts_with("FD"), pin.port.as_str()) {
            (true, "D" | "Q") => name,
            (true, _) => format!("{name} {port}"),
            (false, _) => format!("{name} {port} ({kind})"),
        }
    }

    fn start(&self, net: u32) -> (String, u64) {
        match self.graph.starts.get(&net) {
            Some(pin) => (self.label(pin, &self.place(pin)), pin.ps),
            None => (format!("{}, which nothing drives", self.net(net)), 0),
        }
    }

    fn net(&self, net: u32) -> String {
        self.names.net(net).unwrap_or_else(|| format!("net {net}"))
    }

    fn count(&self, way: &[u32], kind: Kind) -> usize {
        let is = |arc: &&u32| {
            let cell = self.graph.arcs[**arc as usize].cell;
            cells::kind(cells::plain(&self.graph.cells[cell as usize].1.kind)) == kind
        };
        way.iter().filter(is).count()
    }

    fn told(&self, end: &End, place: Place) -> Way {
        let (way, start) = self.arrivals.way(&self.graph, end.net);
        Way {
            from: self.start(start).0,
            to: self.label(&end.pin, &place),
            ps: end.ps,
            luts: self.count(&way, Kind::Lut),
            carries: self.count(&way, Kind::Carry),
            ends_above_3000_ps: 0,
            ends_above_3900_ps: 0,
            block: place.block,
            modules: place.modules,
        }
    }

    /// Where ways begin that take longer than that, of ends by how long they take.
    fn beginnings(&self, ends: &[End], above: u64) -> Vec<Beginning> {
        let mut found: BTreeMap<String, Beginning> = BTreeMap::new();
        for end in ends.iter().take_while(|end| end.ps > above) {
            let (_, start) = self.arrivals.way(&self.graph, end.net);
            let from = without_bit(&self.start(start).0);
            let begins = || Beginning { from: from.clone(), ends: 0, ps: end.ps };
            found.entry(from.clone()).or_insert_with(begins).ends += 1;
        }
        let mut all: Vec<_> = found.into_values().collect();
        all.sort_by_key(|beginning| std::cmp::Reverse(beginning.ends));
        all
    }

    /// A way with each of its cells and when what it puts out is there.
    fn detail(&self, end: &End, place: Place) -> String {
        let (way, start) = self.arrivals.way(&self.graph, end.net);
        let told = self.told(end, place);
        let mut text =
            format!("{} ps, {} LUTs, {} carries, to {}\n", told.ps, told.luts, told.carries, told.to);
        let (from, ps) = self.start(start);
        let _ = writeln!(text, "  {ps:>6} from {from}");
        for arc in way.iter().map(|arc| &self.graph.arcs[*arc as usize]) {
            let kind = cells::plain(&self.graph.cells[arc.cell as usize].1.kind);
            let ps = self.arrivals.ps[arc.to as usize];
            let net = self.names.net(arc.to).map(|name| format!(" {name}")).unwrap_or_default();
            let _ = writeln!(text, "  {ps:>6} {kind} {} to {}{net}", arc.input, arc.output);
        }
        let setup = if end.pin.ps == 0 { "without setup".into() } else { format!("setup {}", end.pin.ps) };
        let _ = write!(text, "  {:>6} at {}, {setup}", end.ps, told.to);
        text
    }

    /// The cells of a loop.
    fn loop_text(&self, arcs: &[u32]) -> String {
        const SHOWN: usize = 6;
        let cell = |arc: &u32| {
            let arc = &self.graph.arcs[*arc as usize];
            let (name, cell) = self.graph.cells[arc.cell as usize];
            let name = self.names.net(arc.to).unwrap_or_else(|| name.to_owned());
            format!("{name} ({})", cells::plain(&cell.kind))
        };
        let mut text: Vec<String> = arcs.iter().take(SHOWN).map(cell).collect();
        if arcs.len() > SHOWN {
            text.push(format!("{} more", arcs.len() - SHOWN));
        }
        text.join(", ")
    }
}

impl Ways {
    /// Those of a netlist (`write_json`) that is flat and mapped to a Xilinx device, the worst so many in
    /// detail. `leaves` are modules that are part of the block that has them.
    pub fn parse(text: &str, top: &str, leaves: &[&str], details: usize) -> Result<Self, WaysError> {
        let netlist: Netlist = serde_json::from_str(text)?;
        let module = netlist.modules.get(top).ok_or_else(|| WaysError::NoModule(top.into()))?;
        let graph = Graph::new(module)?;
        let arrivals = Arrivals::new(&graph);
        let names = Names::new(top, module, leaves);
        Ok(Self {
            pairs: pairs(module),
            unread: unread(module),
            ..Self::of(&Design { graph, arrivals, names }, details)
        })
    }

    fn of(design: &Design, details: usize) -> Self {
        let graph = &design.graph;
        let end = |(net, pin): &(u32, Pin)| End {
            ps: design.arrivals.ps[*net as usize] + pin.ps,
            net: *net,
            pin: pin.clone(),
        };
        let mut ends: Vec<End> = graph.ends.iter().map(end).collect();
        ends.sort_by_key(|end| std::cmp::Reverse(end.ps));
        let above = |ps: u64| ends.partition_point(|end| end.ps > ps);
        let last = ends.first().map_or(0, |end| end.ps);
        let bin = |number: u64| {
            let above_ps = number * BIN;
            // Nought is in the first.
            let all = if number == 0 { ends.len() } else { above(above_ps) };
            Bin { above_ps, ends: all - above(above_ps + BIN) }
        };
        let mut all = Self {
            ends: ends.len(),
            ends_above_3000_ps: above(3_000),
            ends_above_3900_ps: above(3_900),
            beginnings: design.beginnings(&ends, 3_000),
            histogram: (0..last.div_ceil(BIN)).map(bin).collect(),
            unknown_cells: graph.unknown.clone(),
            loops: design.arrivals.loops,
            first_loops: design.arrivals.first_loops.iter().map(|arcs| design.loop_text(arcs)).collect(),
            ..Self::default()
        };
        // A cell's place is that of all its pins.
        let mut places: HashMap<u32, Place> = HashMap::new();
        let (mut blocks, mut registers) = (HashMap::new(), BTreeSet::new());
        for end in &ends {
            let place = match end.pin.cell {
                Some(cell) => places.entry(cell).or_insert_with(|| design.place(&end.pin)).clone(),
                None => design.place(&end.pin),
            };
            // All bits of a register tell the same.
            if all.details.len() < details && registers.insert((place.name.clone(), end.pin.port.clone())) {
                all.details.push(design.detail(end, place.clone()));
            }
            let way = *blocks.entry(place.block.clone()).or_insert(all.ways.len());
            if way == all.ways.len() {
                all.ways.push(design.told(end, place));
            }
            all.ways[way].ends_above_3000_ps += usize::from(end.ps > 3_000);
            all.ways[way].ends_above_3900_ps += usize::from(end.ps > 3_900);
        }
        all
    }

    /// The longest way of all.
    pub fn longest(&self) -> Option<&Way> {
        self.ways.first()
    }

    /// The longest way that ends in a row of the table: `row` has the modules from the outermost to the
    /// row's, and `rows` all that have one. `itself` is without what the module instantiates.
    pub fn of_row(&self, row: &[&str], itself: bool, rows: &BTreeSet<&str>) -> Option<&Way> {
        self.ways.iter().filter(|way| !way.modules.is_empty()).find(|way| {
            let of: Vec<&str> =
                way.modules.iter().skip(1).map(String::as_str).filter(|name| rows.contains(name)).collect();
            if itself {
                of == row
            } else {
                of.starts_with(row)
            }
        })
    }

    /// What is said under the table.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "ends of ways: {}, {} above 3.0 ns, {} above 3.9 ns",
            self.ends, self.ends_above_3000_ps, self.ends_above_3900_ps
        )];
        if !self.unknown_cells.is_empty() {
            let cells: Vec<_> = self.unknown_cells.iter().map(|(cell, n)| format!("{cell} ({n})")).collect();
            notes.push(format!(
                "no times are known of these cells, ways end and begin there: {}",
                cells.join(", ")
            ));
        }
        if self.loops > 0 {
            notes.push(format!(
                "combinational loops: {}, cut at one place each; the first: {}",
                self.loops, self.first_loops[0]
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
