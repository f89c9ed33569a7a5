//! `host::Registers`: the whole map, the bus, tables, doorbells, counters.

mod bus;
mod counters;
mod life;

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
    tessera_testbenches::design_for("registers", config, Registers::new)
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
        for input in ["core_rst", "reset_ended", "reset_waits", "drained", "before_left"].map(port) {
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
const SETTINGS: [(Reg, &str); 38] = [
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
    (regs::CREDIT_EACH, "credit_each"),
    (regs::CREDIT_DELAY, "credit_delay"),
    (regs::TURN_POLICY, "turn_policy"),
    (regs::DSCP, "dscp"),
    (regs::CLASS_SIZES, "class_sizes"),
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
            // Never 0: SEED and GRANT_QUANTUM have rules of their own.
            let value = (rng.bits(32) as u32 & mask(reg)).max(1);
            bench.write(reg.offset, value);
            values.insert(*field, value);
            for (field, value) in &values {
                assert_eq!(bench.get(&format!("settings.{field}")), u64::from(*value), "{field}");
            }
        }
        bench.write(regs::SEED.offset, 0);
        assert_eq!(bench.get("settings.seed"), 1, "0 is taken as 1");
        bench.write(regs::GRANT_QUANTUM.offset, 0);
        assert_eq!(bench.get("settings.grant_quantum"), 1, "0 is taken as 1");
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
fn the_full_size_exports_and_answers() {
    tb::run("registers::nic512", &design(&NIC512), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        assert_eq!(bench.read(regs::SIZES0.offset), u64::from(NIC512.sizes()[0]));
        bench.table(1 << 31 | table::MR << 24 | 255, &[7; 16]).unwrap();
        bench.write(regs::doorbell_page(255) + regs::DOORBELL_CQ, 9);
        assert_eq!(bench.watcher.seen.bells.last().unwrap().2, 255);
    });
}
