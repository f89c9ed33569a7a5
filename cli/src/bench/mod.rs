//! `tessera bench`: the block's figures, in clocks, on the exported Verilog.

mod blocks;
mod cocotb;
mod connections;
mod figure;
mod latency;
mod peers;
mod state;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tessera_abi::params::{Config, CLOCKS_PER_TICK, CLOCK_MHZ};
use tessera_abi::regs::{self, Reg};
use tessera_abi::wire;
use tessera_driver::{Access, DmaMemory};
use tessera_rtl::emit::Export;
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, PacketClass};
use tessera_sim::nic::{DmaOptions, NicEvent, NicOptions};
use tessera_sim::progress::Progress;
use tessera_sim::tb::Rng;
use tessera_sim::tools::ToolOptions;
use tessera_sim::verilator::{Design, Model};

use crate::args;
use crate::model::{self, ModelArgs};
use crate::output::{self, Failure, RunError};
use figure::{Figure, Figures};
use latency::{nack_to_wire, request_to_wire, wire_to_completion, Times};
use tessera_sim::session::Session;

/// Tag phase of bench messages.
const PHASE: u8 = 9;
/// Delay of the only path, clocks.
const DELAY: u64 = 250;

/// Measure the block on its exported Verilog and print each figure.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Only these rows [default: all]
    #[arg(value_enum)]
    rows: Vec<Row>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Row cocotb: seconds of processor time after which a simulator under cocotb
    /// is stopped, and the row says "at least"
    #[arg(long, default_value_t = 180, value_name = "SECONDS", value_parser = args::seconds)]
    cocotb_limit: usize,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Beats per clock each way, both directions at once, 4096-byte payloads
    Stream,
    /// The same with 256-byte payloads
    SmallStream,
    /// Packets of two beats back to back: how much of a burst is absorbed, and the
    /// pace that lasts
    Burst,
    /// Clocks per single-packet message, both directions at once
    Messages,
    /// Operations per clock of bitmap, lookup and timer wheel
    Blocks,
    /// Clocks from work request to wire, wire to completion, NACK to wire: median
    /// and largest
    Latency,
    /// Bytes of state per message, from the memories the Verilog declares
    State,
    /// The same load from and to 16, 1,024 and 65,536 peers
    Peers,
    /// A verbs program with 1, 100 and 10,000 RC connections: pace, and what they take
    Connections,
    /// Simulated clocks per second of one NIC
    Speed,
    /// Simulation speed against cocotb with Verilator and with Icarus Verilog;
    /// takes minutes, so only when named
    Cocotb,
}

struct Bench<'a> {
    model: &'a Model,
    config: &'static Config,
    tools: ToolOptions,
    seed: u64,
    figures: Vec<Figure>,
}

/// Settings of every bench: one path, and credit beyond what the figures need.
const SETTINGS: [(Reg, u32); 2] = [(regs::PATH_COUNT, 1), (regs::CREDIT_LIMIT, 1 << 20)];

impl Bench<'_> {
    fn add(&mut self, row: Row, figure: Figure) {
        let name = row.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
        let figure = figure.by(&name, self.config, self.seed);
        figure.print();
        self.figures.push(figure);
    }

    fn session(&self, dma: Option<DmaOptions>, faults: Faults, payload: u32) -> Result<Session, Failure> {
        let mut nic = NicOptions { seed: self.seed, ..NicOptions::default() };
        if let Some(dma) = dma {
            (nic.dma_ctrl, nic.dma_data) = (dma, dma);
        }
        let fabric = FabricOptions { faults, ..FabricOptions::new(1, DELAY, 0, self.seed) };
        let cluster = Cluster::new(self.model, 2, &nic, fabric)?;
        Ok(Session::open(SharedCluster::new(cluster), 2, self.seed, payload, &SETTINGS)?)
    }

    /// Both NICs send `count` messages of `len` bytes to each other; calls
    /// `between` with the session after each poll until all are delivered.
    fn exchange(
        session: &mut Session,
        count: usize,
        len: usize,
        mut between: impl FnMut(&Session, usize),
    ) -> Result<(), RunError> {
        // Enough in flight to keep the NICs busy, few enough for the rings.
        const OPEN: usize = 1000;
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let source = DmaMemory::from_slice(&bytes);
        let sources =
            [session.register(0, &source, Access::READ)?, session.register(1, &source, Access::READ)?];
        let sinks = [0, 1].map(|nic| session.register(nic, &DmaMemory::new(len), Access::LOCAL_WRITE));
        let [a, b] = sinks;
        let sinks = [a?, b?];
        let mut sent = [0; 2];
        let mut offered = [0; 2];
        let mut received = [0; 2];
        while received.iter().sum::<usize>() < 2 * count || session.sends_open() > 0 {
            for nic in 0..2 {
                while offered[nic] < count && session.outstanding(nic).1 < OPEN {
                    session.recv(nic, &sinks[nic], 0..len, 0)?;
                    offered[nic] += 1;
                }
                while sent[nic] < count && session.outstanding(nic).0 < OPEN {
                    session.send(&sources[nic], 0..len, (PHASE, nic, 1 - nic, sent[nic]))?;
                    sent[nic] += 1;
                }
            }
            for arrived in session.poll()? {
                received[arrived.nic] += 1;
            }
            between(session, received.iter().sum());
        }
        for sink in &sinks {
            if sink.memory().to_vec(0, len) != bytes {
                return Err(RunError::Corrupt { what: "a bench message".into() });
            }
        }
        Ok(())
    }

    /// Least beats per clock out of either NIC while it sends the middle half of
    /// its packets. Messages share the link, so their ends tell nothing.
    fn stream(&mut self, row: Row, payload: u32, target: f64) -> Result<(), Failure> {
        let mut session = self.session(None, Faults::default(), payload)?;
        let (count, packets) = (40, 64);
        let frame =
            (payload as usize + wire::DATA_HEADER_LEN + wire::ICRC_LEN).div_ceil(self.config.data_bits / 8);
        let total = (count * packets * frame) as u64;
        let mut marks: Vec<(u64, [u64; 2])> = Vec::new();
        Self::exchange(&mut session, count, packets * payload as usize, |session, _| {
            let cluster = session.cluster.lock();
            let beats = [0, 1].map(|nic| cluster.nics()[nic].beats().1);
            let least = beats[0].min(beats[1]);
            let due = match marks.len() {
                0 => least * 4 >= total,
                1 => least * 4 >= 3 * total,
                _ => false,
            };
            if due {
                marks.push((cluster.clock(), beats));
            }
        })?;
        let [(from, first), (to, last)] = marks[..] else {
            return Err(Failure::new("the exchange was too short to measure"));
        };
        let rate = |nic: usize| (last[nic] - first[nic]) as f64 / (to - from) as f64;
        let beats = rate(0).min(rate(1));
        let what = format!("{payload}-byte payloads, both ways: beats out");
        self.add(row, Figure::new(what, beats, "beats/clock").at_least(target));
        Ok(())
    }

    fn messages(&mut self) -> Result<(), Failure> {
        let mut session = self.session(None, Faults::default(), 4096)?;
        let count = 4000;
        let mut marks: Vec<(u64, usize)> = Vec::new();
        Self::exchange(&mut session, count, 64, |session, received| {
            let due = match marks.len() {
                0 => received * 4 >= 2 * count,
                1 => received * 4 >= 6 * count,
                _ => false,
            };
            if due {
                marks.push((session.clock(), received));
            }
        })?;
        let [(from, first), (to, last)] = marks[..] else {
            return Err(Failure::new("the exchange was too short to measure"));
        };
        let clocks = (to - from) as f64 * 2.0 / (last - first) as f64;
        let what = "64-byte messages, both ways: clocks per message";
        self.add(Row::Messages, Figure::new(what, clocks, "clocks").at_most(8.0));
        Ok(())
    }

    /// Packets of two beats of the core, no clock between them: a burst that fits
    /// where packets wait, and a flood that does not.
    fn burst(&mut self) -> Result<(), Failure> {
        let peers::Burst { sent, absorbed } = peers::burst(self.model, self.config, self.seed)?;
        let what = format!("burst of {sent} two-beat packets at line rate: absorbed");
        let figure = Figure::new(what, f64::from(absorbed) / sent as f64, "of all").at_least(1.0);
        let places = 1 << self.config.rx_packets_log2;
        self.add(Row::Burst, figure.note(format!("{places} packets may wait; what lasts is the next row")));
        let peers::Pace { packets, offered } = peers::pace(self.model, self.config, self.seed)?;
        let what = "two-beat packets at line rate without end: received";
        let figure = Figure::new(what, packets, "packets/clock").at_least(offered);
        let note =
            "lookup takes 4 clocks; each is a message, whose receive takes about 5 (docs/architecture.md)";
        self.add(Row::Burst, figure.note(note));
        Ok(())
    }

    fn blocks(&mut self) -> Result<(), Failure> {
        let mut rng = Rng::new(self.seed);
        let bitmap = blocks::bitmap(self.config, &self.tools, &mut rng)?;
        self.add(Row::Blocks, Figure::new("bitmap: operations", bitmap, "per clock").at_least(1.0));
        let lookup = blocks::lookup(self.config, &self.tools, &mut rng)?;
        self.add(Row::Blocks, Figure::new("lookup: packets", lookup, "per clock").at_least(1.0));
        let blocks::WheelPace { inserts, pops } = blocks::wheel(self.config, &self.tools, &mut rng)?;
        let figure = Figure::new("timer wheel: inserts, while as many expire", inserts, "per clock");
        let taking = CLOCKS_PER_TICK << self.config.wheel_tick_log2;
        let note =
            format!("of the clocks with one offered; none is taken in one of {taking}, a slot's taking");
        self.add(Row::Blocks, figure.at_least(1.0).note(note));
        let figure = Figure::new("timer wheel: pops, while as many are inserted", pops, "per clock");
        self.add(Row::Blocks, figure.at_least(1.0).note("of the clocks with a timer due"));
        Ok(())
    }

    fn state(&mut self) -> Result<(), Failure> {
        let state = state::measure(self.config)?;
        let rows = [
            ("state of a message being sent", state.slot, 64.0),
            ("state of a message being received", state.context, 128.0),
            ("state of a message that ended (tombstone)", state.tombstone, 32.0),
        ];
        for (what, value, limit) in rows {
            self.add(Row::State, Figure::new(what, value, "bytes").at_most(limit));
        }
        Ok(())
    }

    fn peers(&mut self) -> Result<(), Failure> {
        const MESSAGES: u64 = 66_000;
        let mut clocks = Vec::new();
        for count in [16, 1024, 65_536] {
            let run = peers::run(self.model, self.config, count, MESSAGES, self.seed)?;
            if run.counts.nonsense > 0 {
                return Err(Failure::new(format!(
                    "{count} peers were sent {} wrong frames",
                    run.counts.nonsense
                )));
            }
            let what = format!("{count} peers, 64-byte messages in and out");
            self.add(Row::Peers, Figure::new(what, run.clocks, "clocks").note(peers::cut(self.config)));
            let what = format!("{count} peers: slots and contexts in use");
            self.add(Row::Peers, Figure::new(what, f64::from(run.peak), "messages"));
            let what = format!("{count} peers: messages sent away for now (BUSY)");
            self.add(Row::Peers, Figure::new(what, run.counts.busy as f64, "answers"));
            for (reason, times) in run.busy.iter().filter(|(_, times)| *times > 0) {
                let what = format!("{count} peers: of these {}", reason.name());
                self.add(Row::Peers, Figure::new(what, f64::from(*times), "answers"));
            }
            clocks.push((run.clocks, run.host_bytes));
        }
        let most = clocks.iter().map(|(clocks, _)| *clocks).fold(f64::MIN, f64::max);
        let least = clocks.iter().map(|(clocks, _)| *clocks).fold(f64::MAX, f64::min);
        let spread = 100.0 * (most - least) / least;
        self.add(Row::Peers, Figure::new("spread of these", spread, "%").at_most(1.0));
        // One export is run with all of them, so its memories are the same.
        let memory = state::measure(self.config)?.all + clocks[0].1 as f64;
        let same = clocks.iter().all(|(_, host)| *host == clocks[0].1);
        let what = "memory of NIC and of host with any of them";
        self.add(Row::Peers, Figure::new(what, memory / 1024.0, "KiB").judged("the same", Some(same)));
        Ok(())
    }

    fn connections(&mut self) -> Result<(), Failure> {
        use connections::Receives::{Own, Shared};
        let kinds =
            [("receives of its own", Own, &[1, 100, 10_000][..]), ("a shared queue", Shared, &[100, 10_000])];
        for (name, receives, counts) in kinds {
            let mut clocks = Vec::new();
            for &count in counts {
                let run = connections::run(self.model, self.config, (count, receives), self.seed)?;
                let what = format!("{count} RC connections, {name}: 64-byte messages, 64 under way");
                self.add(Row::Connections, Figure::new(what, run.clocks, "clocks"));
                let what = format!("{count} RC connections, {name}: slots and contexts of idle ones");
                self.add(Row::Connections, Figure::new(what, f64::from(run.idle), "messages").at_most(0.0));
                let what = format!("{count} RC connections, {name}: memory that the NIC may reach");
                let kib = run.host_bytes as f64 / 1024.0;
                self.add(Row::Connections, Figure::new(what, kib, "KiB"));
                clocks.push(run.clocks);
            }
            let most = clocks.iter().copied().fold(f64::MIN, f64::max);
            let least = clocks.iter().copied().fold(f64::MAX, f64::min);
            let what = format!("RC connections, {name}: spread of these");
            self.add(Row::Connections, Figure::new(what, 100.0 * (most - least) / least, "%").at_most(1.0));
        }
        Ok(())
    }

    fn latency(&mut self) -> Result<(), Failure> {
        let fixed = DmaOptions { read_delay: (10, 10), write_delay: (10, 10), ready: 1.0 };
        let lossy = Faults { class_loss: vec![(PacketClass::Data, 0.02)], ..Faults::default() };
        let plain = self.observed(fixed, Faults::default(), 64)?;
        let request = Times::of(plain.iter().flat_map(|events| request_to_wire(events)).collect());
        let completion = Times::of(plain.iter().flat_map(|events| wire_to_completion(events)).collect());
        let lost = self.observed(fixed, lossy, 64 * 4096)?;
        let nack = Times::of(lost.iter().flat_map(|events| nack_to_wire(events)).collect());
        let rows = [
            ("work request in to first beat out, without DMA", request, 40.0),
            ("last beat in to completion entry out, without DMA", completion, 40.0),
            ("NACK in to retransmission out, without DMA or queue", nack, 64.0),
        ];
        for (what, times, limit) in rows {
            let Some(Times { median, max, count }) = times else {
                return Err(Failure::new(format!("{what}: the run held no such event")));
            };
            let figure = Figure::new(what, median, "clocks").at_most(limit);
            self.add(Row::Latency, Figure { max: Some(max), samples: Some(count), ..figure });
        }
        Ok(())
    }

    /// Events of both NICs while messages go one at a time.
    fn observed(&self, dma: DmaOptions, faults: Faults, len: usize) -> Result<Vec<Vec<NicEvent>>, Failure> {
        let mut session = self.session(Some(dma), faults, 4096)?;
        for nic in 0..2 {
            session.cluster.lock().nic_mut(nic).observe();
        }
        for _ in 0..20 {
            Self::exchange(&mut session, 1, len, |_, _| {})?;
        }
        let events = session.cluster.lock().take_events();
        Ok(events.into_iter().map(|(_, events)| events).collect())
    }

    /// The same stimulus under this harness and under cocotb.
    fn cocotb(&mut self, export: &Export, limit: Duration) -> Result<(), Failure> {
        let fabric = FabricOptions::new(1, DELAY, 0, self.seed);
        let nic = NicOptions { seed: self.seed, ..NicOptions::default() };
        let mut cluster = Cluster::new(self.model, 2, &nic, fabric)?;
        cluster.nic_mut(0).record(&Design::from(export).ports)?;
        let mut session = Session::open(SharedCluster::new(cluster), 2, self.seed, 4096, &SETTINGS)?;
        Self::exchange(&mut session, 4, 4 * 4096, |_, _| {})?;
        let record = session.cluster.lock().nic_mut(0).take_record();
        let record = record.ok_or_else(|| Failure::new("nothing was recorded"))?;
        let own = cocotb::own(&record, self.model)?;
        let what = format!("replay of {} clocks: this harness", record.steps.len());
        self.add(Row::Cocotb, Figure::new(what, own / 1000.0, "kclocks/s"));
        let bench = match cocotb::Bench::new(&record, self.model.top(), &export.verilog, &self.tools, limit)?
        {
            Ok(bench) => bench,
            Err(why) => {
                println!("  SKIPPED cocotb: {why}");
                return Ok(());
            }
        };
        let speed = bench.verilator(&self.tools)?;
        self.versus("Verilator", own, speed, 20.0);
        let speed = bench.icarus()?;
        self.versus("Icarus", own, speed, 100.0);
        Ok(())
    }

    fn versus(&mut self, name: &str, own: f64, speed: cocotb::Speed, target: f64) {
        let versus = format!("this harness against cocotb with {name}");
        match speed {
            cocotb::Speed::Measured { clocks, unknown } => {
                let what = format!("the same under cocotb with {name}");
                self.add(Row::Cocotb, Figure::new(what, clocks / 1000.0, "kclocks/s"));
                self.add(Row::Cocotb, Figure::new(versus, own / clocks, "times").at_least(target));
                if unknown > 0 {
                    println!("    {unknown} bits of valid outputs had no value under {name}");
                }
            }
            cocotb::Speed::Cut { reached, of, seconds } => {
                let what = format!("the same under cocotb with {name}, its first clocks");
                self.add(Row::Cocotb, Figure::new(what, reached / seconds / 1000.0, "kclocks/s"));
                // All clocks take longer than those it came to.
                let least = own * seconds / of as f64;
                let figure = Figure::new(versus, least, "times");
                let figure = figure.judged(format!(">= {target}"), (least >= target).then_some(true));
                let note = format!(
                    "at least: stopped after {reached} of {of} clocks in {seconds:.0} s (--cocotb-limit)"
                );
                self.add(Row::Cocotb, Figure { bound: Some("at least"), ..figure.note(note) });
            }
            cocotb::Speed::Skipped(why) => println!("  SKIPPED cocotb with {name}: {why}"),
        }
    }

    fn speed(&mut self) -> Result<(), Failure> {
        let mut session = self.session(None, Faults::default(), 4096)?;
        let begun = Instant::now();
        let from = session.clock();
        Self::exchange(&mut session, 20, 64 * 4096, |_, _| {})?;
        let clocks = (session.clock() - from) as f64 * 2.0;
        let rate = clocks / begun.elapsed().as_secs_f64() / 1000.0;
        self.add(Row::Speed, Figure::new("two busy NICs: clocks of a NIC per second", rate, "kclocks/s"));
        Ok(())
    }
}

pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let config = args.model.config()?;
    let export = model::export(config)?;
    let model = args.model.build(&export)?;
    let wanted = |row: Row| args.rows.contains(&row) || (args.rows.is_empty() && row != Row::Cocotb);
    println!("{} at {CLOCK_MHZ} MHz, seed {}", config.name, args.seed);
    let tools = args.model.tools.options();
    let mut bench = Bench { model: &model, config, tools, seed: args.seed, figures: Vec::new() };
    let progress = Progress::start("bench");
    if wanted(Row::Stream) {
        bench.stream(Row::Stream, 4096, 0.99)?;
    }
    if wanted(Row::SmallStream) {
        bench.stream(Row::SmallStream, 256, 0.95)?;
    }
    if wanted(Row::Burst) {
        bench.burst()?;
    }
    if wanted(Row::Messages) {
        bench.messages()?;
    }
    if wanted(Row::Blocks) {
        bench.blocks()?;
    }
    if wanted(Row::Latency) {
        bench.latency()?;
    }
    if wanted(Row::State) {
        bench.state()?;
    }
    if wanted(Row::Peers) {
        bench.peers()?;
    }
    if wanted(Row::Connections) {
        bench.connections()?;
    }
    if wanted(Row::Speed) {
        bench.speed()?;
    }
    if wanted(Row::Cocotb) {
        bench.cocotb(&export, Duration::from_secs(args.cocotb_limit as u64))?;
    }
    drop(progress);
    if args.rows.is_empty() {
        for figure in figure::elsewhere() {
            figure.print();
            bench.figures.push(figure);
        }
    }
    if let Some(path) = &args.json {
        let Bench { figures, .. } = bench;
        let (configuration, revision) = (config.name, model::revision());
        output::write_json(path, &Figures { configuration, revision, seed: args.seed, figures })?;
    }
    Ok(())
}
