//! Operations per clock of single blocks, on their own exported Verilog.

use std::collections::VecDeque;

use tessera_abi::params::{Config, CLOCKS_PER_TICK};
use tessera_abi::wire::flag;
use tessera_rtl::emit;
use tessera_rtl::host::rq_fetch::ANSWER_LATENCY;
use tessera_rtl::prelude::Block;
use tessera_rtl::recovery::{Bitmap, TimerWheel};
use tessera_rtl::rx::Lookup;
use tessera_sim::tb::{cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::tools::ToolOptions;
use tessera_sim::verilator::{BuildOptions, Design, Dut, Model, ModelError};

use crate::output::Failure;

/// Clocks that each block is measured for.
const CLOCKS: u64 = 20_000;

fn instance<B: Block>(
    tools: &ToolOptions,
    top: &str,
    make: impl FnOnce() -> B + Send,
) -> Result<Dut, Failure> {
    let export = emit::with_big_stack(|| emit::export(&mut make(), top))?;
    let options = BuildOptions { tools: tools.clone(), ..BuildOptions::default() };
    Ok(Model::build(&Design::from(&export), &options)?.instance()?)
}

/// Out of reset, tables cleared.
fn reset(dut: &mut Dut) -> Result<(), Failure> {
    let (rst, ready) = (dut.port("rst")?, dut.port("ready")?);
    dut.reset(rst, 4);
    for _ in 0..100_000 {
        dut.clock();
        if dut.sampled(ready) != 0 {
            return Ok(());
        }
    }
    Err(Failure::new("a block did not become ready"))
}

/// Results per clock, one operation offered in every clock.
pub fn bitmap(config: &'static Config, tools: &ToolOptions, rng: &mut Rng) -> Result<f64, Failure> {
    let mut dut = instance(tools, "bitmap", || Bitmap::new(config))?;
    reset(&mut dut)?;
    let port = |name: &str| dut.port(name);
    let (valid, result) = (port("op_valid")?, port("result_valid")?);
    let (kind, block, index, limit) =
        (port("op.kind")?, port("op.block")?, port("op.index")?, port("op.limit")?);
    let (mut results, mut first) = (0, None);
    for clock in 0..CLOCKS {
        dut.set(valid, 1u64);
        dut.set(kind, 1u64);
        // The next one each time: those of one block have to be three clocks apart.
        dut.set(block, clock % (1 << config.bitmap_blocks_log2));
        dut.set(index, rng.below(256));
        dut.set(limit, 256u64);
        dut.clock();
        if dut.sampled(result) != 0 {
            results += 1;
            first = first.or(Some(clock));
        }
    }
    let first = first.ok_or_else(|| Failure::new("the bitmap answers nothing"))?;
    Ok(f64::from(results) / (CLOCKS - first) as f64)
}

/// What a timer wheel does in a clock, inserts and pops going on at once.
pub struct WheelPace {
    /// Inserts taken, per clock in which one was offered.
    pub inserts: f64,
    /// Timers popped, per clock in which one was due.
    pub pops: f64,
}

/// Clocks from `now` reaching a deadline to its timer's pop: a latency, no wait
/// of the wheel's.
const POP_LATENCY: u64 = 9;

/// The wheel with an insert offered in every clock for which there is a timer,
/// and every pop taken at once, when as many expire as are inserted.
pub fn wheel(config: &'static Config, tools: &ToolOptions, rng: &mut Rng) -> Result<WheelPace, Failure> {
    let mut dut = instance(tools, "timer_wheel", || TimerWheel::new(config))?;
    let now = dut.port("now")?;
    dut.set(now, 0u64);
    reset(&mut dut)?;
    let port = |name: &str| dut.port(name);
    let (valid, ready) = (port("insert_valid")?, port("insert_ready")?);
    let (node, deadline) = (port("insert_data.node")?, port("insert_data.deadline")?);
    let (popped, pop_node, take) = (port("pop_valid")?, port("pop_node")?, port("pop_ready")?);
    let messages = 1u64 << config.tx_slots_log2.max(config.rx_contexts_log2);
    let mut free: VecDeque<u64> = (0..messages).flat_map(|message| [message, message | 1 << 12]).collect();
    let ticks = u64::from(CLOCKS_PER_TICK);
    let life = (32 << config.wheel_tick_log2)..(64 << config.wheel_tick_log2);
    let begin = 2 * life.end * ticks;
    let end = begin + 2 * CLOCKS;
    // Timers whose pop may be expected from a clock on.
    let mut due = vec![0i64; (end + (2 * life.end) * ticks) as usize];
    let mut waiting = 0;
    let (mut offered, mut inserted, mut expecting, mut pops) = (0u64, 0u64, 0u64, 0u64);
    dut.set(take, 1u64);
    for clock in 0..end {
        let tick = clock / ticks;
        dut.set(now, tick);
        let next = free.front().map(|&next| (next, tick + rng.range(life.clone())));
        dut.set(valid, next.is_some());
        if let Some((next, at)) = next {
            dut.set(node, next);
            dut.set(deadline, at);
        }
        dut.clock();
        waiting += due[clock as usize];
        let (taken, pop) = (next.is_some() && dut.sampled(ready) != 0, dut.sampled(popped) != 0);
        if clock >= begin {
            offered += u64::from(next.is_some());
            inserted += u64::from(taken);
            expecting += u64::from(waiting > 0 || pop);
            pops += u64::from(pop);
        }
        if let (true, Some((_, at))) = (taken, next) {
            free.pop_front();
            let rounded = at.div_ceil(1 << config.wheel_tick_log2) << config.wheel_tick_log2;
            due[(rounded * ticks + POP_LATENCY) as usize] += 1;
        }
        if pop {
            waiting -= 1;
            free.push_back(dut.sampled(pop_node));
        }
    }
    let per = |count: u64, clocks: u64| count as f64 / clocks.max(1) as f64;
    Ok(WheelPace { inserts: per(inserted, offered), pops: per(pops, expecting) })
}

/// Packets judged per clock, all of one open message.
pub fn lookup(config: &'static Config, tools: &ToolOptions, rng: &mut Rng) -> Result<f64, Failure> {
    let mut dut = instance(tools, "lookup", || Lookup::new(config))?;
    reset(&mut dut)?;
    let set = |dut: &mut Dut, name: &str, value: u64| -> Result<(), ModelError> {
        let port = dut.port(name)?;
        dut.set(port, value);
        Ok(())
    };
    let settings = [("settings.enable", 1), ("settings.seed", 7), ("settings.time_wait", 1000)];
    for (name, value) in settings.into_iter().chain([("block_available", 1)]) {
        set(&mut dut, name, value)?;
    }
    for (name, value) in [("answer.available", 1), ("answer.length", 1 << 30), ("answer.room", 1 << 30)] {
        set(&mut dut, name, value)?;
    }
    // Enabling draws the keys of the hashes.
    let ready = dut.port("ready")?;
    dut.clock();
    while dut.sampled(ready) == 0 {
        dut.clock();
    }
    for _ in 0..1000 {
        dut.clock();
    }
    let (ask, answer) = (dut.port("ask_valid")?, dut.port("answer_valid")?);
    let mut packets = StreamDriver::new(&dut, "packet", Pattern::Always, rng)?;
    let mut works = StreamMonitor::new(&dut, "work", Pattern::Always, rng)?;
    let feedback = dut.port("feedback_ready")?;
    dut.set(feedback, 1u64);
    let count = CLOCKS / 4;
    for index in 0..count {
        let flags = if index == 0 { 0 } else { u64::from(flag::EST) };
        let fields =
            [("slot", 1), ("generation", 1), ("index", index), ("flags", flags), ("length", 1 << 20)];
        packets.send_fields(&fields);
    }
    let mut answers = VecDeque::from(vec![false; ANSWER_LATENCY as usize - 1]);
    let (mut first, mut last) = (0, 0);
    while works.total() < count {
        cycle(&mut dut, &mut [&mut packets, &mut works]);
        answers.push_back(dut.sampled(ask) != 0);
        dut.set(answer, answers.pop_front() == Some(true));
        while works.take().is_some() {
            last = dut.cycles();
            if first == 0 {
                first = last;
            }
        }
        if dut.cycles() > 100 * CLOCKS {
            return Err(Failure::new("lookup gives no work"));
        }
    }
    Ok((count - 1) as f64 / (last - first) as f64)
}
