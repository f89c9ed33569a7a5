//! `host::Registers`: the whole map, the bus, tables, doorbells, counters.

use std::collections::BTreeMap;
use tessera_abi::params::{Config, CLOCKS_PER_TICK, NIC512};
use tessera_abi::regs::{self, table, Access, PathCounter, Reg};
use tessera_rtl::host::registers::{
    Registers, DOORBELL_KIND_CQ, DOORBELL_KIND_ROUND, DOORBELL_KIND_RQ, DOORBELL_KIND_SQ, FILE,
};
use tessera_sim::tb::{self, cycle, Agent, AxiLite, BusError, Clocked, Pattern};
use tessera_sim::verilator::{Design, Dut, PortId};

/// Fewer endpoints than the address space holds, so that there are indexes past
/// the end.
const SMALL: Config = Config { endpoints_log2: 5, cqs_log2: 6, mrs_log2: 7, ..NIC512 };

fn design(config: &'static Config) -> Design {
    tessera_testbenches::design("registers", || Registers::new(config))
}

/// Watches the broadcasts.
#[derive(Default)]
struct Pulses {
    /// (clock, kind, index, value)
    bells: Vec<(u64, u64, u64, u64)>,
    /// (clock, table, index, entry)
    tables: Vec<(u64, u64, u64, [u64; 8])>,
}

struct Watcher {
    bell: [PortId; 5],
    table: [PortId; 4],
    seen: Pulses,
    /// An output, and the clocks it was high in.
    watched: Option<PortId>,
    high: Vec<u64>,
}

impl Agent for Watcher {
    fn drive(&mut self, _dut: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        if self.watched.is_some_and(|port| dut.sampled(port) != 0) {
            self.high.push(dut.cycles());
        }
        if dut.sampled(self.bell[0]) != 0 {
            let [_, kind, index, value, more] = self.bell.map(|port| dut.sampled(port));
            self.seen.bells.push((dut.cycles(), kind, index, more << 16 | value));
        }
        if dut.sampled(self.table[0]) != 0 {
            let mut entry = [0; 8];
            dut.sampled_wide(self.table[3], &mut entry);
            let (table, index) = (dut.sampled(self.table[1]), dut.sampled(self.table[2]));
            self.seen.tables.push((dut.cycles(), table, index, entry));
        }
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    bus: Option<AxiLite>,
    watcher: Watcher,
}

struct Inner<'b, 'a> {
    dut: &'b mut &'a mut Dut,
    watcher: &'b mut Watcher,
}

impl Clocked for Inner<'_, '_> {
    fn clock_with(&mut self, agent: &mut dyn Agent) {
        cycle(self.dut, &mut [agent, self.watcher]);
    }
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let watcher = Watcher {
            bell: ["valid", "kind", "index", "value", "more"].map(|f| port(&format!("doorbell.{f}"))),
            table: ["valid", "table", "index", "entry"].map(|f| port(&format!("table_write.{f}"))),
            seen: Pulses::default(),
            watched: None,
            high: Vec::new(),
        };
        let (rst, ready) = (port("rst"), port("ready"));
        let bus = Some(AxiLite::new(dut, "s_axil").unwrap());
        for input in ["core_rst", "reset_ended", "reset_waits"].map(port) {
            dut.set(input, 0u64);
        }
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        dut.set(ready, 1u64);
        Bench { dut, bus, watcher }
    }

    fn until_ready(mut self) -> Self {
        for _ in 0..2000 {
            if self.read(regs::STATUS.offset) == 1 {
                return self;
            }
        }
        panic!("STATUS.ready never rises");
    }

    fn until_ready_again(&mut self) {
        assert!((0..2000).any(|_| self.read(regs::STATUS.offset) == 1), "STATUS.ready never rises again");
    }

    /// In how many clocks an output is high during something and a bit beyond.
    fn count_clocks(&mut self, output: &str, what: impl FnOnce(&mut Self)) -> usize {
        let before = self.watcher.high.len();
        self.watcher.watched = Some(self.dut.port(output).unwrap());
        what(self);
        for _ in 0..8 {
            cycle(self.dut, &mut [&mut self.watcher]);
        }
        self.watcher.watched = None;
        self.watcher.high.len() - before
    }

    fn try_read(&mut self, address: u32) -> Result<u64, BusError> {
        let mut bus = self.bus.take().unwrap();
        let mut inner = Inner { dut: &mut self.dut, watcher: &mut self.watcher };
        let answer = bus.read(&mut inner, address.into());
        self.bus = Some(bus);
        answer
    }

    fn read(&mut self, address: u32) -> u64 {
        self.try_read(address).unwrap_or_else(|e| panic!("{e}"))
    }

    fn try_write(&mut self, address: u32, data: u32, strobe: u64) -> Result<(), BusError> {
        let mut bus = self.bus.take().unwrap();
        let mut inner = Inner { dut: &mut self.dut, watcher: &mut self.watcher };
        let answer = bus.write_bytes(&mut inner, address.into(), data.into(), strobe);
        self.bus = Some(bus);
        answer
    }

    fn write(&mut self, address: u32, data: u32) {
        self.try_write(address, data, 0xF).unwrap_or_else(|e| panic!("{e}"));
    }

    fn get(&self, name: &str) -> u64 {
        self.dut.get(self.dut.port(name).unwrap())
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.dut.port(name).unwrap();
        self.dut.set(port, value);
    }

    /// Fills TABLE_DATA and gives a command.
    fn table(&mut self, command: u32, words: &[u32; 16]) -> Result<(), BusError> {
        for (i, word) in words.iter().enumerate() {
            self.write(regs::TABLE_DATA + 4 * i as u32, *word);
        }
        self.try_write(regs::TABLE_COMMAND.offset, command, 0xF)
    }
}

fn refused<T: std::fmt::Debug>(answer: Result<T, BusError>, what: &str) {
    assert!(
        matches!(answer, Err(BusError::Refused { response: 2, .. })),
        "{what} was answered {answer:?}, not SLVERR"
    );
}

fn mask(reg: &Reg) -> u32 {
    u32::MAX >> (32 - reg.width)
}

#[test]
fn registers_reset_to_the_values_of_the_map() {
    tb::run("registers::reset", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        let sizes = SMALL.sizes();
        for reg in regs::MAP {
            let expected = match *reg {
                regs::SIZES0 => sizes[0],
                regs::SIZES1 => sizes[1],
                regs::SIZES2 => sizes[2],
                regs::STATUS => 1,
                regs::TIME => continue,
                _ => reg.reset,
            };
            assert_eq!(bench.read(reg.offset), u64::from(expected), "{}", reg.name);
        }
        assert_eq!(sizes[0] >> 24, 5, "endpoints are in the top byte");
    });
}

//= RE-3 test
#[test]
fn a_reclaim_is_busy_while_anything_is_left() {
    tb::run("registers::reclaim", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        for (endpoint, held) in [(5, 0), (31, 3000), (0, 100)] {
            bench.write(regs::RECLAIM.offset, endpoint);
            assert_eq!((bench.get("reclaim.active"), bench.get("reclaim.endpoint")), (1, endpoint.into()));
            // What is on its way shows late: it is never over at once.
            assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 1);
            for (sends, contexts, seen) in [(1, 0, 3), (1, 1, 7), (0, 1, 5)] {
                bench.set("sends_left", sends);
                bench.set("contexts_left", contexts);
                bench.dut.clock_by(held);
                assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), seen);
                assert_eq!(bench.get("reclaim.active"), 1);
            }
            bench.set("contexts_left", 0);
            bench.dut.clock_by(1100);
            assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 0);
            assert_eq!(bench.get("reclaim.active"), 0);
        }
        refused(bench.try_write(regs::RECLAIM_STATUS.offset, 1, 0xF), "a status");
    });
}

/// Plays `soft_reset`: the reset itself, and that it is over.
fn core_reset(bench: &mut Bench) {
    bench.set("core_rst", 1);
    bench.dut.clock_by(8);
    bench.set("core_rst", 0);
    bench.set("reset_ended", 1);
    bench.dut.clock();
    bench.set("reset_ended", 0);
}

//= RS-1 test
//= RS-3 test
#[test]
fn a_reset_takes_all_back_but_time_and_counters() {
    tb::run("registers::soft reset", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let tables = [(table::ENDPOINT, 3), (table::CQ, 60), (table::MR, 127)];
        let mut counted = 0;
        for round in 0..3 {
            // Everything differs from what it is after reset, and an event is counted.
            for reg in &FILE {
                bench.write(reg.offset, !reg.reset);
            }
            bench.until_ready_again();
            let words: [u32; 16] = std::array::from_fn(|_| rng.bits(32) as u32 | 1);
            for (table, index) in tables {
                bench.table(1 << 31 | table << 24 | index, &words).unwrap();
            }
            bench.write(regs::RECLAIM.offset, 1);
            bench.set("events", 1 << 40);
            bench.dut.clock();
            bench.set("events", 0);
            counted += 1;
            let before = bench.read(regs::TIME.offset);

            // A write of 0 asks for nothing.
            bench.write(regs::RESET.offset, 0);
            bench.dut.clock_by(4);
            assert_eq!((bench.read(regs::RESET_STATUS.offset), bench.read(regs::STATUS.offset)), (0, 1));
            let pulses = bench.count_clocks("reset_begin", |bench| bench.write(regs::RESET.offset, 1));
            assert_eq!(pulses, 1, "one beginning");
            // Until it is over: what it waits for shows, nothing but RESET may be
            // written, and a second one begins nothing.
            for waits in [0, 1, 0b10110, 31] {
                bench.set("reset_waits", waits);
                bench.dut.clock();
                assert_eq!(bench.read(regs::RESET_STATUS.offset), waits << 1 | 1);
                assert_eq!(bench.read(regs::STATUS.offset), 0, "STATUS.ready");
                assert_eq!(bench.read(regs::TABLE_STATUS.offset), 1);
                refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register");
                refused(bench.try_write(regs::TABLE_DATA, 1, 0xF), "table data");
                refused(bench.try_write(regs::TABLE_COMMAND.offset, 1 << 31, 0xF), "a table command");
                refused(bench.try_write(regs::FENCE.offset, 1, 0xF), "a fence");
                refused(bench.try_write(regs::RECLAIM.offset, 0, 0xF), "a reclaim");
                refused(bench.try_write(regs::doorbell_page(0), 1, 0xF), "a doorbell");
                let again = bench.count_clocks("reset_begin", |bench| bench.write(regs::RESET.offset, 1));
                assert_eq!(again, 0, "it has begun already");
            }
            assert_eq!(bench.get("settings.enable"), 1, "nothing is taken back before all have ended");
            bench.set("reset_waits", 0);
            if round == 1 {
                // An access under way is not lost.
                bench.set("core_rst", 1);
                assert_eq!(bench.read(regs::RESET_STATUS.offset), 1);
                assert_eq!(bench.read(regs::counter(40)), counted);
                refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register");
            }
            core_reset(&mut bench);
            assert_eq!(bench.read(regs::RESET_STATUS.offset), 0);
            assert_eq!((bench.get("settings.enable"), bench.get("reclaim.active")), (0, 0));
            bench.until_ready_again();
            for reg in &FILE {
                assert_eq!(bench.read(reg.offset), u64::from(reg.reset), "{} after reset", reg.name);
            }
            for (table, index) in tables {
                bench.write(regs::TABLE_COMMAND.offset, table << 24 | index);
                for word in 0..16 {
                    assert_eq!(bench.read(regs::TABLE_DATA + 4 * word), 0, "table {table}");
                }
            }
            assert!(bench.read(regs::TIME.offset) > before, "TIME goes on");
            assert_eq!(bench.read(regs::counter(40)), counted, "counters go on");
        }
        // The reset of power-on says nothing of its own, and refuses like the other.
        bench.set("core_rst", 1);
        refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register in reset");
        core_reset(&mut bench);
        bench.write(regs::SEED.offset, 77);
        assert_eq!(bench.read(regs::SEED.offset), 77);
    });
}

#[test]
fn every_writable_register_keeps_its_bits_and_no_others() {
    tb::run("registers::write", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let mut kept = BTreeMap::new();
        for reg in &FILE {
            kept.insert(reg.offset, reg.reset);
        }
        for _ in 0..400 {
            let reg = rng.pick(&FILE);
            let data = rng.bits(32) as u32;
            match rng.below(4) {
                0 => {
                    let strobe = rng.below(15);
                    refused(bench.try_write(reg.offset, data, strobe), "a partial write");
                }
                1 => {
                    let misplaced = reg.offset + rng.range(1..4) as u32;
                    refused(bench.try_write(misplaced, data, 0xF), "a misaligned write");
                }
                _ => {
                    bench.write(reg.offset, data);
                    kept.insert(reg.offset, data & mask(reg));
                }
            }
            let other = rng.pick(&FILE);
            assert_eq!(bench.read(other.offset), u64::from(kept[&other.offset]), "{}", other.name);
        }
        for reg in regs::MAP.iter().filter(|reg| reg.access == Access::Ro) {
            let before = bench.read(reg.offset);
            refused(bench.try_write(reg.offset, !0, 0xF), reg.name);
            if *reg != regs::TIME {
                assert_eq!(bench.read(reg.offset), before, "{}", reg.name);
            }
        }
    });
}

/// Which field of `settings` shows which register.
const SETTINGS: [(Reg, &str); 34] = [
    (regs::CONTROL, "enable"),
    (regs::LOCAL_IP, "local_ip"),
    (regs::PKEY, "pkey"),
    (regs::SEED, "seed"),
    (regs::PATH_POLICY, "path_policy"),
    (regs::PATH_COUNT, "path_count"),
    (regs::PATH_BASE, "path_base"),
    (regs::GAP0, "gap0"),
    (regs::SKEW0, "skew0"),
    (regs::SKEW_MAX, "skew_max"),
    (regs::GUARD, "guard"),
    (regs::D_MIN, "d_min"),
    (regs::RTT_DEFAULT, "rtt_default"),
    (regs::RTO, "rto"),
    (regs::MAX_RETRY, "max_retry"),
    (regs::T_OPEN, "t_open"),
    (regs::GRANT_WAIT, "grant_wait"),
    (regs::RX_GIVE_UP, "rx_give_up"),
    (regs::TIME_WAIT, "time_wait"),
    (regs::BUSY_WAIT, "busy_wait"),
    (regs::NACK_BURST, "nack_burst"),
    (regs::ACK_EVERY, "ack_every"),
    (regs::INITIAL_WINDOW, "initial_window"),
    (regs::UNSOLICITED_LIMIT, "unsolicited_limit"),
    (regs::CREDIT_LIMIT, "credit_limit"),
    (regs::GRANT_QUANTUM, "grant_quantum"),
    (regs::LD_POLICY, "ld_policy"),
    (regs::LD_FIXED, "ld_fixed"),
    (regs::ANSWER0, "answer0"),
    (regs::RTO_ROUND, "rto_round"),
    (regs::CREDIT_POLICY, "credit_policy"),
    (regs::CREDIT_DELAY, "credit_delay"),
    (regs::MPL, "mpl"),
    (regs::RELEASE_LOW, "release_low"),
];

/// The settings that are joined from several registers, or part of one.
#[test]
fn addresses_are_put_together() {
    tb::run("registers::addresses", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        for _ in 0..20 {
            let words: [u32; 4] = std::array::from_fn(|_| rng.bits(32) as u32);
            let parts = [regs::LOCAL_IP6_0, regs::LOCAL_IP6_1, regs::LOCAL_IP6_2, regs::LOCAL_IP6_3];
            for (reg, word) in parts.iter().zip(words) {
                bench.write(reg.offset, word);
            }
            let vlan = rng.bits(13);
            bench.write(regs::VLAN.offset, vlan as u32);
            (0..4).for_each(|_| bench.dut.clock());
            let port = bench.dut.port("settings.local_ip6").unwrap();
            let mut seen = [0; 2];
            bench.dut.get_wide(port, &mut seen);
            let wide = |hi: u32, lo: u32| u64::from(hi) << 32 | u64::from(lo);
            assert_eq!(seen, [wide(words[2], words[3]), wide(words[0], words[1])]);
            assert_eq!(bench.get("settings.vlan_id"), vlan & 0xFFF);
            assert_eq!(bench.get("settings.vlan_any"), vlan >> 12);
        }
    });
}

#[test]
fn settings_show_their_registers() {
    tb::run("registers::settings", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        for (reg, field) in &SETTINGS {
            let field = format!("settings.{field}");
            assert_eq!(bench.get(&field), u64::from(reg.reset), "{field} after reset");
            let width = bench.dut.port(&field).unwrap().width();
            assert_eq!(width, reg.width, "{field}");
        }
        let mut values = BTreeMap::new();
        for _ in 0..300 {
            let (reg, field) = rng.pick(&SETTINGS);
            // Never 0: SEED has a rule of its own.
            let value = (rng.bits(32) as u32 & mask(reg)).max(1);
            bench.write(reg.offset, value);
            values.insert(*field, value);
            for (field, value) in &values {
                assert_eq!(bench.get(&format!("settings.{field}")), u64::from(*value), "{field}");
            }
        }
        bench.write(regs::SEED.offset, 0);
        assert_eq!(bench.get("settings.seed"), 1, "0 is taken as 1");
        bench.write(regs::LOCAL_MAC_LO.offset, 0x3344_5566);
        bench.write(regs::LOCAL_MAC_HI.offset, 0xFFFF_1122);
        assert_eq!(bench.get("settings.local_mac"), 0x1122_3344_5566);
    });
}

/// HR-5: an order keeps the handle it was given with, is offered until it is
/// taken, and its fate is told until the next.
#[test]
fn orders_are_offered_until_taken() {
    tb::run("registers::orders", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        for _ in 0..40 {
            let (handle, order) = (rng.bits(32) as u32, rng.bits(32) as u32);
            bench.write(regs::RECOVER_MESSAGE.offset, handle);
            bench.write(regs::RECOVER_ORDER.offset, order);
            bench.write(regs::RECOVER_MESSAGE.offset, !handle);
            refused(bench.try_write(regs::RECOVER_ORDER.offset, !order, 0xF), "an order while one waits");
            assert_eq!(bench.read(regs::RECOVER_STATUS.offset), u64::from(regs::ORDER_BUSY));
            assert_eq!(bench.get("order_valid"), 1);
            assert_eq!(bench.get("order_data.handle"), u64::from(handle));
            assert_eq!(bench.get("order_data.value"), u64::from(order));
            let meets = rng.chance(0.5);
            bench.set("order_ready", 1);
            bench.set("order_met", u64::from(meets));
            bench.dut.clock_by(1);
            bench.set("order_ready", 0);
            bench.set("order_met", u64::from(!meets));
            let told = if meets { regs::ORDER_MET } else { 0 };
            assert_eq!(bench.read(regs::RECOVER_STATUS.offset), u64::from(told));
            assert_eq!(bench.get("order_valid"), 0);
            refused(bench.try_write(regs::RECOVER_ORDER.offset, order, 7), "a partial order");
            assert_eq!(bench.get("order_valid"), 0);
        }
    });
}

#[test]
fn what_is_not_mapped_is_refused() {
    tb::run("registers::unmapped", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let mapped = |address: u32| {
            let word = |base: u32, count: u32| (base..base + 4 * count).contains(&address);
            let global = regs::MAP.iter().any(|reg| reg.offset == address)
                || word(regs::TABLE_DATA, regs::TABLE_WORDS as u32)
                || word(regs::COUNTERS, regs::COUNTER_COUNT)
                || word(regs::PATH_COUNTERS, 3 * 256);
            let page = (address >> 12) & 0xFF;
            let bell = match address & 0xFFF {
                regs::DOORBELL_SQ | regs::DOORBELL_RQ | regs::DOORBELL_ROUND => page < 32,
                regs::DOORBELL_CQ => page < 64,
                _ => false,
            };
            address.is_multiple_of(4) && (global || (address >= regs::doorbell_page(0) && bell))
        };
        let mut check = |address: u32| match bench.try_read(address) {
            Ok(_) => assert!(mapped(address), "{address:#x} is not mapped and answers OKAY"),
            Err(BusError::Refused { response: 2, .. }) => {
                assert!(!mapped(address), "{address:#x} is mapped and answers SLVERR");
            }
            Err(other) => panic!("{address:#x}: {other}"),
        };
        for address in (0..0x800).step_by(4) {
            check(address);
        }
        for _ in 0..1500 {
            check(rng.below(1 << regs::ADDRESS_BITS) as u32);
            check(regs::PATH_COUNTERS + rng.below(0x1800) as u32);
            check(regs::doorbell_page(rng.below(256) as u32) + 4 * rng.below(4) as u32);
            check(1 << rng.below(21) | (rng.below(0x500) as u32 & !3));
        }
        for address in [0x14, 0x2000, 0x10_0010, regs::doorbell_page(64) + regs::DOORBELL_CQ] {
            refused(bench.try_write(address, 1, 0xF), "an unmapped write");
        }
        assert!(bench.watcher.seen.bells.is_empty() && bench.watcher.seen.tables.is_empty());
    });
}

#[test]
fn doorbells_pulse_once_with_kind_index_and_value() {
    tb::run("registers::doorbells", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let mut expected = Vec::new();
        for _ in 0..200 {
            let (offset, kind, pages) = *rng.pick(&[
                (regs::DOORBELL_SQ, DOORBELL_KIND_SQ, 32),
                (regs::DOORBELL_RQ, DOORBELL_KIND_RQ, 32),
                (regs::DOORBELL_CQ, DOORBELL_KIND_CQ, 64),
                (regs::DOORBELL_ROUND, DOORBELL_KIND_ROUND, 32),
            ]);
            let (page, value) = (rng.below(2 * pages), rng.bits(32));
            let address = regs::doorbell_page(page as u32) + offset;
            let answer = bench.try_write(address, value as u32, 0xF);
            if page < pages {
                answer.unwrap();
                expected.push((kind, page, value));
            } else {
                refused(answer, "a page past the end");
            }
        }
        let bells: Vec<_> = bench.watcher.seen.bells.iter().map(|(_, k, i, v)| (*k, *i, *v)).collect();
        assert_eq!(bells, expected);
        // Types say which kind is which.
        let kinds = (DOORBELL_KIND_SQ, DOORBELL_KIND_RQ, DOORBELL_KIND_CQ, DOORBELL_KIND_ROUND);
        assert_eq!(kinds, (0, 1, 2, 3));
    });
}

#[test]
fn tables_are_written_whole_and_read_back() {
    tb::run("registers::tables", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let sizes = [(table::ENDPOINT, 32), (table::CQ, 64), (table::MR, 128)];
        let mut kept: BTreeMap<(u32, u32), [u32; 16]> = BTreeMap::new();
        let mut written = 0;
        for _ in 0..150 {
            let (number, size) = *rng.pick(&sizes);
            let index = rng.below(u64::from(size)) as u32;
            if rng.chance(0.6) {
                let words: [u32; 16] = std::array::from_fn(|_| rng.bits(32) as u32);
                let command = 1 << 31 | number << 24 | index;
                bench.table(command, &words).unwrap();
                kept.insert((number, index), words);
                let (_, table, at, entry) = *bench.watcher.seen.tables.last().unwrap();
                assert_eq!((table, at), (number.into(), index.into()));
                for (i, word) in words.iter().enumerate() {
                    assert_eq!((entry[i / 2] >> (32 * (i % 2))) as u32, *word, "word {i}");
                }
                written += 1;
                assert_eq!(bench.read(regs::TABLE_COMMAND.offset), u64::from(command));
            } else {
                bench.write(regs::TABLE_COMMAND.offset, number << 24 | index);
                assert_eq!(bench.read(regs::TABLE_STATUS.offset), 0);
                let expected = kept.get(&(number, index)).copied().unwrap_or_default();
                for (i, word) in expected.iter().enumerate() {
                    let address = regs::TABLE_DATA + 4 * i as u32;
                    assert_eq!(bench.read(address), u64::from(*word), "{number} {index} word {i}");
                }
            }
        }
        assert_eq!(bench.watcher.seen.tables.len(), written, "one pulse per write");
        let (number, size) = *rng.pick(&sizes);
        let none = [0; 16];
        refused(bench.table(1 << 31 | number << 24 | size, &none), "an index past the end");
        refused(bench.table(1 << 31 | number << 24 | 0x8000, &none), "a huge index");
        refused(bench.table(1 << 31 | 3 << 24, &none), "an unknown table");
        refused(bench.table(1 << 31 | 8 << 24, &none), "an unknown table");
        assert_eq!(bench.watcher.seen.tables.len(), written);
    });
}

#[test]
fn nothing_reaches_the_blocks_before_they_are_ready() {
    tb::run("registers::ready", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut);
        bench.set("ready", 0);
        for _ in 0..400 {
            assert_eq!(bench.read(regs::STATUS.offset), 0);
            assert_eq!(bench.read(regs::TABLE_STATUS.offset), 1);
        }
        refused(bench.try_write(regs::doorbell_page(0), 1, 0xF), "an early doorbell");
        refused(bench.table(1 << 31, &[0; 16]), "an early table write");
        bench.set("ready", 1);
        let mut bench = bench.until_ready();
        assert!(bench.watcher.seen.bells.is_empty() && bench.watcher.seen.tables.is_empty());
        bench.write(regs::doorbell_page(0), 1);
        assert_eq!(bench.watcher.seen.bells.len(), 1);
    });
}

/// The blocks have some clocks to say that enabling or disabling keeps them
/// busy; then it is their word alone again.
#[test]
fn enabling_ends_in_ready_again() {
    tb::run("registers::settle", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        for (rung, value) in [1, 0, 1, 1].into_iter().enumerate() {
            bench.write(regs::CONTROL.offset, value);
            bench = bench.until_ready();
            bench.write(regs::doorbell_page(0), 1);
            assert_eq!(bench.watcher.seen.bells.len(), rung + 1);
        }
    });
}

#[test]
fn gauges_and_time_are_read_live() {
    tb::run("registers::gauges", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let gauges = [
            (regs::OUTSTANDING, "outstanding"),
            (regs::UNSOLICITED, "unsolicited"),
            (regs::FREE_SLOTS, "free_slots"),
            (regs::FREE_CONTEXTS, "free_contexts"),
            (regs::FREE_BLOCKS, "free_blocks"),
            (regs::TOMBSTONES, "tombstones"),
        ];
        for _ in 0..60 {
            let (reg, port) = rng.pick(&gauges);
            let value = rng.bits(reg.width);
            bench.set(port, value);
            assert_eq!(bench.read(reg.offset), value, "{}", reg.name);
        }
        let (first, at) = (bench.get("now"), bench.dut.cycles());
        bench.dut.clock_by(16 * 100);
        let ticks = (bench.dut.cycles() - at) / u64::from(CLOCKS_PER_TICK);
        assert_eq!(bench.get("now") - first, ticks);
        let time = bench.read(regs::TIME.offset);
        assert!(bench.get("now") - time <= 1);
    });
}

#[test]
fn counters_lose_no_event() {
    tb::run("registers::counters", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let events = bench.dut.port("events").unwrap();
        // From never over sometimes to every clock, for each event in turn.
        let mut odds: Vec<f64> = (0..64).map(|i| [0.0, 0.01, 0.5, 1.0, 0.99][i % 5]).collect();
        let mut counts = [0u64; 64];
        for round in 0..40 {
            odds.rotate_left(1);
            for _ in 0..rng.below(400) {
                let mut word = 0u64;
                for (i, odds) in odds.iter().enumerate() {
                    if rng.chance(*odds) {
                        word |= 1 << i;
                        counts[i] += 1;
                    }
                }
                bench.dut.set(events, word);
                bench.dut.clock();
            }
            bench.dut.set(events, 0u64);
            // All of them now and then, a few otherwise.
            for index in 0..64u32 {
                if round % 10 == 9 || rng.chance(0.1) {
                    let value = bench.read(regs::counter(index));
                    assert_eq!(value, counts[index as usize], "counter {index}");
                }
            }
        }
        // A read while events come lies between the counts around it.
        bench.dut.set(events, 1u64 << 33);
        let begin = bench.dut.cycles();
        let base = counts[33];
        for _ in 0..20 {
            let low = base + bench.dut.cycles() - begin;
            let value = bench.read(regs::counter(33));
            let high = base + bench.dut.cycles() - begin;
            assert!((low..=high).contains(&value), "{value} outside {low}..={high}");
        }
        refused(bench.try_write(regs::counter(1), 0, 0xF), "a counter");
    });
}

/// Packets every second clock and echoes every third, under few values and many;
/// read in between, and wrapped from a value just below the end.
#[test]
fn path_counters_lose_no_event() {
    tb::run("registers::paths", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let names = ["sent", "sent_ev", "clean", "ce", "echo_ev"];
        let ports = names.map(|name| bench.dut.port(&format!("path_use.{name}")).unwrap());
        let mut counts = BTreeMap::<(u32, u8), u64>::new();
        let mut touched = Vec::new();
        for round in 0..30 {
            let width = if round % 2 == 0 { 1 } else { 8 };
            let base = rng.bits(8);
            for clock in 0..rng.below(600) {
                let mut word = [0; 5];
                word[1] = base ^ rng.bits(width);
                word[4] = base ^ rng.bits(width);
                word[0] = u64::from(clock % 2 == 0 && rng.below(8) != 0);
                if clock % 3 == 0 {
                    word[2 + rng.below(2) as usize] = u64::from(rng.below(8) != 0);
                }
                for (bank, ev) in [(0, 1), (1, 4), (2, 4)] {
                    if word[[0, 2, 3][bank]] == 1 {
                        *counts.entry((bank as u32, word[ev] as u8)).or_default() += 1;
                        touched.push((bank as u32, word[ev] as u8));
                    }
                }
                ports.iter().zip(word).for_each(|(&port, value)| bench.dut.set(port, value));
                bench.dut.clock();
            }
            [0, 2, 3].iter().for_each(|&i| bench.dut.set(ports[i], 0u64));
            for _ in 0..20 {
                let at = if rng.below(2) == 0 {
                    (rng.below(3) as u32, rng.bits(8) as u8)
                } else {
                    *rng.pick(&touched)
                };
                let (bank, ev) = at;
                let address = regs::PATH_COUNTERS + bank * regs::PATH_BANK + 4 * u32::from(ev);
                let count = counts.get(&at).copied().unwrap_or(0);
                assert_eq!(bench.read(address), count, "bank {bank}, value {ev}");
            }
        }
        let kinds = [PathCounter::Sent, PathCounter::Clean, PathCounter::Ce];
        for (bank, kind) in (0..).zip(kinds) {
            let count = (0..=255).map(|ev| bench.read(regs::path_counter(kind, ev))).sum::<u64>();
            let of_bank = counts.iter().filter(|(at, _)| at.0 == bank).map(|(_, count)| count).sum::<u64>();
            assert_eq!(count, of_bank, "{kind:?}");
        }
        // A read while packets come lies between the counts around it.
        bench.dut.set(ports[1], 77u64);
        let base = counts.get(&(0, 77)).copied().unwrap_or(0);
        bench.dut.set(ports[0], 1u64);
        bench.dut.clock();
        bench.dut.set(ports[0], 0u64);
        assert_eq!(bench.read(regs::path_counter(PathCounter::Sent, 77)), base + 1);
        refused(bench.try_write(regs::path_counter(PathCounter::Clean, 1), 0, 0xF), "a path counter");
        // A reset forgets them all.
        let rst = bench.dut.port("rst").unwrap();
        bench.dut.reset(rst, 2);
        let mut bench = bench.until_ready();
        for (&(bank, ev), _) in counts.iter().take(60) {
            assert_eq!(bench.read(regs::PATH_COUNTERS + bank * regs::PATH_BANK + 4 * u32::from(ev)), 0);
        }
    });
}

/// The place table of policy `weighted` is written and broadcast, never read;
/// what lies at its index in other tables stays.
#[test]
fn path_places_are_written_and_not_read() {
    tb::run("registers::places", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        let command = |write: u32, table: u32, index: u32| write << 31 | table << 24 | index;
        bench.write(regs::TABLE_DATA, 0x1234_5678);
        for table in [table::ENDPOINT, table::CQ, table::MR] {
            bench.write(regs::TABLE_COMMAND.offset, command(1, table, 5));
        }
        bench.write(regs::TABLE_DATA, 0x0000_00AB);
        bench.write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 5));
        bench.write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 255));
        let last = *bench.watcher.seen.tables.last().unwrap();
        assert_eq!((last.1, last.2, last.3[0] & 0xFFFF_FFFF), (table::PATH.into(), 255, 0xAB));
        assert_eq!(bench.watcher.seen.tables.len(), 5);
        refused(
            bench.try_write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 256), 0xF),
            "a place too far",
        );
        refused(
            bench.try_write(regs::TABLE_COMMAND.offset, command(0, table::PATH, 5), 0xF),
            "a read of a place",
        );
        for table in [table::ENDPOINT, table::CQ, table::MR] {
            bench.write(regs::TABLE_COMMAND.offset, command(0, table, 5));
            while bench.read(regs::TABLE_STATUS.offset) == 1 {}
            assert_eq!(bench.read(regs::TABLE_DATA), 0x1234_5678, "table {table}");
        }
    });
}

/// The five channels driven on their own, to see every order of AW and W and
/// every stall of B and R.
#[test]
fn channels_move_in_any_order_and_answers_wait() {
    let design = design(&SMALL);
    for pattern in Pattern::ALL {
        tb::run(&format!("registers::channels {pattern:?}"), &design, |dut, rng| {
            let bench = Bench::new(dut).until_ready();
            let dut = bench.dut;
            let port = |name: &str| dut.port(&format!("s_axil_{name}")).unwrap();
            let [awaddr, awvalid, awready] = ["awaddr", "awvalid", "awready"].map(port);
            let [wdata, wstrb, wvalid, wready] = ["wdata", "wstrb", "wvalid", "wready"].map(port);
            let [bresp, bvalid, bready] = ["bresp", "bvalid", "bready"].map(port);
            let [araddr, arvalid, arready] = ["araddr", "arvalid", "arready"].map(port);
            let [rdata, rresp, rvalid, rready] = ["rdata", "rresp", "rvalid", "rready"].map(port);
            let mut gates: Vec<_> = (0..5).map(|_| pattern.gate(rng.fork())).collect();
            // Writes to two registers and to nothing; reads follow a register
            // that no write touches.
            let targets = [regs::RTO.offset, regs::SEED.offset, 0x14];
            let writes: Vec<(u32, u32)> =
                (0..300).map(|_| (*rng.pick(&targets), rng.bits(32) as u32)).collect();
            let reads: Vec<u32> =
                (0..300).map(|_| *rng.pick(&[regs::MAGIC.offset, regs::MPL.offset, 0x18])).collect();
            let (mut aw, mut w, mut b, mut ar, mut r) = (0, 0, 0, 0, 0);
            let mut offering = [false; 3];
            let mut held_b = None;
            let mut held_r = None;
            for clock in 0.. {
                assert!(clock < 60_000, "{b} writes and {r} reads were answered");
                if b == writes.len() && r == reads.len() {
                    break;
                }
                let open: Vec<bool> = gates.iter_mut().map(|gate| gate.is_open()).collect();
                offering[0] = aw < writes.len() && (offering[0] || open[0]);
                offering[1] = w < writes.len() && (offering[1] || open[1]);
                offering[2] = ar < reads.len() && (offering[2] || open[2]);
                dut.set(awvalid, offering[0]);
                dut.set(wvalid, offering[1]);
                dut.set(arvalid, offering[2]);
                if offering[0] {
                    dut.set(awaddr, writes[aw].0);
                }
                if offering[1] {
                    dut.set(wdata, writes[w].1);
                    dut.set(wstrb, 0xFu64);
                }
                if offering[2] {
                    dut.set(araddr, reads[ar]);
                }
                dut.set(bready, open[3]);
                dut.set(rready, open[4]);
                dut.clock();
                let moved = |valid, ready| dut.sampled(valid) != 0 && dut.sampled(ready) != 0;
                if dut.sampled(bvalid) != 0 {
                    assert!(b < aw && b < w, "a write was answered before both halves came");
                    let answer = dut.sampled(bresp);
                    assert_eq!(answer == 0, writes[b].0 != 0x14, "write {b}");
                    assert_eq!(*held_b.get_or_insert(answer), answer, "an answer changed");
                } else {
                    assert!(held_b.is_none(), "bvalid fell before bready");
                }
                if dut.sampled(rvalid) != 0 {
                    assert!(r < ar, "a read was answered before it came");
                    let answer = (dut.sampled(rdata), dut.sampled(rresp));
                    let expected = match reads[r] {
                        0x18 => (0, 2),
                        0 => (regs::MAGIC_VALUE.into(), 0),
                        _ => (regs::MPL.reset.into(), 0),
                    };
                    assert_eq!(answer, expected, "read {r}");
                    assert_eq!(*held_r.get_or_insert(answer), answer, "an answer changed");
                } else {
                    assert!(held_r.is_none(), "rvalid fell before rready");
                }
                if moved(bvalid, bready) {
                    b += 1;
                    held_b = None;
                }
                if moved(rvalid, rready) {
                    r += 1;
                    held_r = None;
                }
                for (i, (valid, ready, count)) in
                    [(awvalid, awready, &mut aw), (wvalid, wready, &mut w), (arvalid, arready, &mut ar)]
                        .into_iter()
                        .enumerate()
                {
                    if moved(valid, ready) {
                        *count += 1;
                        offering[i] = false;
                    }
                }
            }
            // The last write of each register is what is left.
            for valid in [awvalid, wvalid, arvalid] {
                dut.set(valid, 0u64);
            }
            dut.clock_by(4);
            let last = |address| writes.iter().rev().find(|(at, _)| *at == address).unwrap().1;
            let settings = |field: &str| dut.get(dut.port(&format!("settings.{field}")).unwrap());
            assert_eq!(settings("rto"), u64::from(last(regs::RTO.offset) & 0xFF_FFFF));
            assert_eq!(settings("seed"), u64::from(last(regs::SEED.offset)).max(1));
        });
    }
}

/// Back to back, the pulses keep the distance that the blocks rely on.
#[test]
fn broadcasts_keep_four_clocks_apart() {
    tb::run("registers::spacing", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let port = |name: &str| bench.dut.port(&format!("s_axil_{name}")).unwrap();
        let [awaddr, awvalid, awready, wdata, wstrb, wvalid, bready] =
            ["awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "bready"].map(port);
        bench.dut.set(awvalid, 1u64);
        bench.dut.set(wvalid, 1u64);
        bench.dut.set(wstrb, 0xFu64);
        bench.dut.set(bready, 1u64);
        let (mut address, mut data) = (regs::doorbell_page(3), 5);
        let mut writes = 0;
        for _ in 0..400 {
            bench.dut.set(awaddr, address);
            bench.dut.set(wdata, data);
            cycle(bench.dut, &mut [&mut bench.watcher]);
            if bench.dut.sampled(awready) != 0 {
                writes += 1;
                (address, data) = match rng.below(2) {
                    0 => (regs::doorbell_page(rng.below(32) as u32), rng.bits(16) as u32),
                    _ => (regs::TABLE_COMMAND.offset, 1 << 31 | rng.below(32) as u32),
                };
            }
        }
        let seen = &bench.watcher.seen;
        let mut clocks: Vec<u64> =
            seen.bells.iter().map(|b| b.0).chain(seen.tables.iter().map(|t| t.0)).collect();
        clocks.sort_unstable();
        assert!(clocks.windows(2).all(|pair| pair[1] - pair[0] >= 4), "{clocks:?}");
        assert!(clocks.len() + 2 >= writes && writes >= 98, "{writes} writes in 400 clocks");
    });
}

#[test]
fn the_full_size_exports_and_answers() {
    tb::run("registers::nic512", &design(&NIC512), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        assert_eq!(bench.read(regs::SIZES0.offset), u64::from(NIC512.sizes()[0]));
        bench.table(1 << 31 | table::MR << 24 | 255, &[7; 16]).unwrap();
        bench.write(regs::doorbell_page(255) + regs::DOORBELL_CQ, 9);
        assert_eq!(bench.watcher.seen.bells.last().unwrap().2, 255);
    });
}

/// The clocks that the block promises.
#[test]
fn answers_come_in_the_promised_time() {
    tb::run("registers::latency", &design(&SMALL), |dut, _| {
        let bench = Bench::new(dut).until_ready();
        let dut = bench.dut;
        let port = |name: &str| dut.port(&format!("s_axil_{name}")).unwrap();
        let [awvalid, wvalid, wstrb, bvalid, bready] =
            ["awvalid", "wvalid", "wstrb", "bvalid", "bready"].map(port);
        let [arvalid, rvalid, rready, araddr] = ["arvalid", "rvalid", "rready", "araddr"].map(port);
        dut.set(bready, 1u64);
        dut.set(rready, 1u64);
        dut.set(wstrb, 0xFu64);
        let after = |dut: &mut Dut, valids: &[PortId], answer: PortId| {
            for valid in valids {
                dut.set(*valid, 1u64);
            }
            dut.clock();
            for valid in valids {
                dut.set(*valid, 0u64);
            }
            let begin = dut.cycles();
            while dut.sampled(answer) == 0 {
                dut.clock();
                assert!(dut.cycles() - begin < 100);
            }
            dut.cycles() - begin
        };
        assert_eq!(after(dut, &[awvalid, wvalid], bvalid), 4);
        assert_eq!(after(dut, &[arvalid], rvalid), 3);
        let mut slowest = 0;
        for i in 0..200 {
            dut.set(araddr, regs::counter(i % 64));
            slowest = slowest.max(after(dut, &[arvalid], rvalid));
            dut.clock_by(u64::from(i % 7));
        }
        assert!(slowest <= 70, "{slowest}");
    });
}
