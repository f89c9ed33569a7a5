//! `recovery::TimerWheel` against a sorted map of deadlines.

use std::collections::BTreeMap;
use tessera_abi::params::{Config, CLOCKS_PER_TICK, NIC512};
use tessera_rtl::recovery::TimerWheel;
use tessera_sim::tb::{self, Gate, Pattern, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};

/// Clocks from `now` reaching a rounded deadline to the first pop of its slot.
const POP_LATENCY: u64 = 9;

/// Small enough for every turn, wrap and overrun to be met: 16 slots of two
/// ticks, then 8 slots of 32 ticks.
const SMALL: Config = Config { wheel_l0_log2: 4, wheel_l1_log2: 3, wheel_tick_log2: 1, ..NIC512 };

/// A quarter of its turn is enough to spread 128 timers: none may be late.
const MEDIUM: Config = Config { wheel_l0_log2: 6, tx_slots_log2: 6, rx_contexts_log2: 5, ..SMALL };

fn design(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design_for(top, config, TimerWheel::new)
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    deadline: u64,
    /// The wheel tick it may be expected at.
    due: u64,
    /// The deadline lay in the past when it was inserted.
    past: bool,
}

struct Ports {
    now: PortId,
    insert_valid: PortId,
    insert_node: PortId,
    insert_deadline: PortId,
    insert_ready: PortId,
    pop_valid: PortId,
    pop_node: PortId,
    pop_ready: PortId,
    late: PortId,
}

struct Bench<'a> {
    dut: &'a mut Dut,
    ports: Ports,
    /// Ticks per wheel tick.
    tick: u64,
    clocks_per_tick: u64,
    /// Absolute time in ticks at clock 0 of the bench.
    start: u64,
    clock: u64,
    linked: BTreeMap<u64, Timer>,
    /// Being offered and not yet taken.
    offer: Option<(u64, u64)>,
    /// Longest time between `now` reaching a due tick and the pop, clocks.
    worst: u64,
    lates: u64,
    /// The pop of the last clock must (not) be reported late; None: either.
    late_due: Option<bool>,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, config: &Config, clocks_per_tick: u64, start: u64) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let ports = Ports {
            now: port("now"),
            insert_valid: port("insert_valid"),
            insert_node: port("insert_data.node"),
            insert_deadline: port("insert_data.deadline"),
            insert_ready: port("insert_ready"),
            pop_valid: port("pop_valid"),
            pop_node: port("pop_node"),
            pop_ready: port("pop_ready"),
            late: port("late"),
        };
        let (rst, ready) = (port("rst"), port("ready"));
        dut.set(ports.insert_valid, 0u64);
        dut.set(ports.pop_ready, 0u64);
        dut.set(ports.now, start & 0xffff_ffff);
        dut.set(rst, 1u64);
        dut.clock();
        dut.clock();
        dut.set(rst, 0u64);
        let heads = 2 << config.wheel_l0_log2.max(config.wheel_l1_log2);
        for _ in 0..heads + 4 {
            dut.clock();
        }
        assert_eq!(dut.sampled(ready), 1, "not ready {} clocks after reset", heads + 4);
        Bench {
            dut,
            ports,
            tick: 1 << config.wheel_tick_log2,
            clocks_per_tick,
            start,
            clock: 0,
            linked: BTreeMap::new(),
            offer: None,
            worst: 0,
            lates: 0,
            late_due: Some(false),
        }
    }

    fn now(&self) -> u64 {
        self.start + self.clock / self.clocks_per_tick
    }

    /// The bench's clock in which `now` becomes `time`.
    fn clock_of(&self, time: u64) -> u64 {
        (time - self.start) * self.clocks_per_tick
    }

    /// One clock; offers `insert` until it is taken, takes a pop if `take`.
    /// Returns whether an insert was taken and the node popped.
    fn clock(&mut self, insert: Option<(u64, u64)>, take: bool) -> (bool, Option<u64>) {
        let now = self.now();
        self.offer = self.offer.or(insert);
        let ports = &self.ports;
        self.dut.set(ports.now, now & 0xffff_ffff);
        self.dut.set(ports.insert_valid, self.offer.is_some());
        if let Some((node, deadline)) = self.offer {
            self.dut.set(ports.insert_node, node);
            self.dut.set(ports.insert_deadline, deadline & 0xffff_ffff);
        }
        self.dut.set(ports.pop_ready, take);
        self.dut.clock();

        let late = self.dut.sampled(ports.late) != 0;
        if let Some(expected) = self.late_due {
            assert_eq!(late, expected, "late in clock {}", self.clock);
        }
        self.lates += u64::from(late);
        self.late_due = Some(false);

        let mut popped = None;
        if take && self.dut.sampled(ports.pop_valid) != 0 {
            let node = self.dut.sampled(ports.pop_node);
            let timer = self.linked.remove(&node).unwrap_or_else(|| panic!("node {node} is not linked"));
            assert!(now >= timer.deadline, "node {node} popped {} ticks early", timer.deadline - now);
            let reached = self.clock_of(timer.due.max(self.start));
            self.worst = self.worst.max(self.clock.saturating_sub(reached));
            // The block sees the time of the clock before.
            let seen = self.start + self.clock.saturating_sub(1) / self.clocks_per_tick;
            let over = seen / self.tick * self.tick > timer.due + self.tick;
            self.late_due = (!timer.past).then_some(over);
            popped = Some(node);
        }
        let mut taken = false;
        if self.dut.sampled(ports.insert_ready) != 0 {
            if let Some((node, deadline)) = self.offer.take() {
                let past = deadline <= now;
                let due = if past { now + 1 } else { deadline }.next_multiple_of(self.tick);
                let before = self.linked.insert(node, Timer { deadline, due, past });
                assert!(before.is_none(), "the test links node {node} twice");
                taken = true;
            }
        }
        self.clock += 1;
        (taken, popped)
    }

    /// Takes pops until nothing is linked, at most `clocks`.
    fn drain(&mut self, clocks: u64, stall: &mut Gate) {
        let end = self.clock + clocks;
        while !self.linked.is_empty() || self.offer.is_some() {
            let take = stall.is_open();
            self.clock(None, take);
            let next = self.linked.iter().next();
            assert!(self.clock < end, "{} timers never pop, such as {next:?}", self.linked.len());
        }
        // Nothing pops twice.
        for _ in 0..200 {
            self.clock(None, true);
        }
    }
}

/// Start times: nothing special, and shortly before the 32-bit time wraps.
const STARTS: [u64; 2] = [0x1234_5670, 0xffff_ff83];

#[test]
fn a_single_timer_pops_at_its_tick() {
    let design = design("timer_wheel", &SMALL);
    for start in STARTS {
        tb::run(&format!("timer_wheel::single {start:x}"), &design, |dut, rng| {
            // Past, the first ticks, both sides of every boundary, far beyond.
            let mut offsets: Vec<i64> = (-40..80).collect();
            offsets.extend([127, 128, 129, 255, 256, 257, 280, 287, 288, 289, 320, 321, 600, 1000]);
            offsets.extend((0..60).map(|_| rng.range(0..600) as i64));
            for offset in offsets {
                let mut bench = Bench::new(dut, &SMALL, 8, start);
                for _ in 0..rng.range(1..300) {
                    bench.clock(None, true);
                }
                let deadline = bench.now().wrapping_add_signed(offset);
                while !bench.clock(Some((5, deadline)), true).0 {}
                let due = bench.linked[&5].due;
                bench.drain(20_000, &mut Pattern::Always.gate(rng.fork()));
                // An insert just before its slot is taken waits for the pipeline only.
                let on_time = bench.worst == POP_LATENCY || offset <= 2 && bench.worst < POP_LATENCY + 20;
                assert!(on_time, "offset {offset}, due {due}: {} clocks", bench.worst);
                assert_eq!(bench.lates, 0);
            }
        });
    }
}

/// A deadline of every kind, `turn` ticks being one turn of level 0.
fn some_deadline(now: u64, turn: u64, rng: &mut Rng) -> u64 {
    match rng.range(0..10) {
        0 => now - rng.range(0..2 * turn),
        1 => now + rng.range(0..4),
        2..=5 => now + rng.range(0..turn),
        6..=8 => now + rng.range(0..8 * turn),
        _ => now + rng.range(8 * turn..20 * turn),
    }
}

#[test]
fn random_timers_pop_once_and_on_time() {
    const MESSAGES: u64 = 64;
    let sizes = [("timer_wheel", &SMALL, STARTS[0]), ("timer_wheel_medium", &MEDIUM, STARTS[1])];
    for (top, config, start) in sizes {
        let design = design(top, config);
        let turn = 1 << (config.wheel_l0_log2 + config.wheel_tick_log2);
        for (idle, stall) in Pattern::matrix() {
            let name = format!("{top}::random {start:x} {idle:?} {stall:?}");
            tb::run(&name, &design, |dut, rng| {
                let mut bench = Bench::new(dut, config, 8, start);
                // Two nodes per message.
                let mut free: Vec<u64> = (0..MESSAGES).flat_map(|m| [m, m | 1 << 12]).collect();
                let (mut idle, mut gate) = (idle.gate(rng.fork()), stall.gate(rng.fork()));
                let (mut inserted, mut popped) = (0, 0);
                while inserted < 20_000 {
                    let mut offer = None;
                    if idle.is_open() && bench.offer.is_none() && !free.is_empty() {
                        let node = free.swap_remove(rng.below(free.len() as u64) as usize);
                        offer = Some((node, some_deadline(bench.now(), turn, rng)));
                    }
                    let take = gate.is_open();
                    let (taken, pop) = bench.clock(offer, take);
                    inserted += u64::from(taken);
                    popped += u64::from(pop.is_some());
                    free.extend(pop);
                }
                bench.drain(40_000, &mut gate);
                assert!(popped > 19_000);
                if stall == Pattern::Always {
                    // Spreading a level-1 slot takes two clocks per timer.
                    assert!(bench.worst <= POP_LATENCY + 4 * MESSAGES, "{} clocks", bench.worst);
                    if top == "timer_wheel_medium" {
                        assert_eq!(bench.lates, 0);
                    }
                }
            });
        }
    }
}

#[test]
fn a_stalled_consumer_loses_nothing() {
    let design = design("timer_wheel", &SMALL);
    tb::run("timer_wheel::stall", &design, |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, 4, STARTS[1]);
        for node in 0..1000 {
            let deadline = some_deadline(bench.now(), 32, rng);
            while !bench.clock(Some((node, deadline)), false).0 {}
        }
        // Nobody takes anything for several turns of both levels.
        for _ in 0..20_000 {
            bench.clock(None, false);
        }
        // Inserts still work, the past included.
        for node in 1000..1100 {
            let deadline = some_deadline(bench.now(), 32, rng);
            while !bench.clock(Some((node, deadline)), false).0 {}
        }
        bench.drain(40_000, &mut Pattern::Always.gate(rng.fork()));
        assert!(bench.lates >= 900, "{} reported late", bench.lates);
    });
}

/// A list of far timers is walked over many clocks: a reset at any of them leaves
/// none that pops later.
#[test]
fn a_reset_amid_a_walk_forgets_every_timer() {
    let design = design("timer_wheel", &SMALL);
    tb::run("timer_wheel::reset", &design, |dut, rng| {
        let turn = 1 << (SMALL.wheel_l0_log2 + SMALL.wheel_tick_log2);
        let base = (STARTS[0] + 2 * turn).next_multiple_of(turn);
        // From their linking to their last pop, in steps that fall on any clock
        // of a node's walk.
        for phase in (0..3 * turn * 8).step_by(3) {
            let mut bench = Bench::new(dut, &SMALL, 8, STARTS[0]);
            for node in 0..30 {
                while !bench.clock(Some((node, base + rng.range(1..turn))), true).0 {}
            }
            for _ in 0..phase {
                bench.clock(None, true);
            }
            let mut bench = Bench::new(dut, &SMALL, 8, STARTS[0]);
            for _ in 0..4 * turn * 8 {
                bench.clock(None, true);
            }
        }
    });
}

#[test]
fn time_wrap_under_load_at_every_phase() {
    let design = design("timer_wheel", &SMALL);
    for phase in 0..40 {
        tb::run(&format!("timer_wheel::wrap {phase}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, &SMALL, 8, (1 << 32) - 300 + 7 * phase);
            for node in 0..200 {
                let deadline = bench.now() + rng.range(0..900);
                while !bench.clock(Some((node, deadline)), true).0 {}
            }
            bench.drain(30_000, &mut Pattern::Always.gate(rng.fork()));
            assert!(bench.worst <= POP_LATENCY + 2 * 200, "{} clocks", bench.worst);
        });
    }
}

#[test]
fn full_size_moves_one_timer_per_clock() {
    const NODES: u64 = 8192;
    let clocks_per_tick = u64::from(CLOCKS_PER_TICK);
    let wheel_tick = clocks_per_tick << NIC512.wheel_tick_log2;
    let turn = 1u64 << (NIC512.wheel_tick_log2 + NIC512.wheel_l0_log2);
    let design = design("timer_wheel_nic512", &NIC512);
    tb::run("timer_wheel::rate", &design, |dut, rng| {
        let mut always = Pattern::Always.gate(rng.fork());
        let start = STARTS[0];

        // All of them into one slot of level 0.
        let mut bench = Bench::new(dut, &NIC512, clocks_per_tick, start);
        let deadline = (bench.now() + 1000).next_multiple_of(8);
        let fill = |bench: &mut Bench, deadline: u64| {
            let begun = bench.clock;
            for node in 0..NODES {
                while !bench.clock(Some((node, deadline)), true).0 {}
            }
            bench.clock - begun
        };
        let clocks = fill(&mut bench, deadline);
        println!("{NODES} inserts: {clocks} clocks");
        // Only the takes of slots, one per wheel tick, come between.
        assert!(clocks <= NODES + NODES.div_ceil(wheel_tick) + 1, "{clocks} clocks");
        bench.drain(1_000_000, &mut always);
        println!("{NODES} pops of one slot: the last {} clocks after its time", bench.worst);
        assert_eq!(bench.worst, POP_LATENCY + NODES - 1);
        assert!(bench.lates > 0, "an overrun slot is reported");

        // All of them into one slot of level 1, spread over its turn: none late.
        let mut bench = Bench::new(dut, &NIC512, clocks_per_tick, start);
        let base = (start + 2 * turn).next_multiple_of(turn);
        for node in 0..NODES {
            while !bench.clock(Some((node, base + rng.range(1..turn))), true).0 {}
        }
        bench.drain(2_000_000, &mut always);
        println!("{NODES} timers of one level-1 slot: worst {} clocks", bench.worst);
        assert!(bench.worst <= POP_LATENCY + 40, "{} clocks", bench.worst);
        assert_eq!(bench.lates, 0);
    });
}
