//! `shell::AppRegs`: what a host finds in BAR 2, beside and behind the window to the NIC.

use tessera_abi::corundum::{offset, APP_ID, VERSION, WINDOW};
use tessera_abi::regs;
use tessera_rtl::shell::app_regs::AppRegs;
use tessera_sim::tb::{self, cycle, Agent, AxiLite, BusError, Clocked, Rng};
use tessera_sim::verilator::{Dut, PortId};

/// The NIC: registers of any address, answered late; above 0x1000 those of a multiple of 64 with an error.
struct Nic {
    aw: [PortId; 3],
    w: [PortId; 4],
    b: [PortId; 3],
    ar: [PortId; 3],
    r: [PortId; 4],
    rng: Rng,
    address: Option<u64>,
    data: Option<(u64, u64)>,
    writes: Vec<(u64, u64, u64)>,
    answer: Option<u64>,
    read: Option<u64>,
    wait: u64,
    /// As while it is being reset.
    refuses: bool,
}

impl Nic {
    fn new(dut: &Dut, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(&format!("m_axil_{name}")).unwrap();
        Self {
            aw: ["awvalid", "awready", "awaddr"].map(port),
            w: ["wvalid", "wready", "wdata", "wstrb"].map(port),
            b: ["bvalid", "bready", "bresp"].map(port),
            ar: ["arvalid", "arready", "araddr"].map(port),
            r: ["rvalid", "rready", "rdata", "rresp"].map(port),
            rng: rng.fork(),
            address: None,
            data: None,
            writes: Vec::new(),
            answer: None,
            read: None,
            wait: 0,
            refuses: false,
        }
    }
}

fn response(address: u64) -> u64 {
    if address >= 0x1000 && address.is_multiple_of(64) {
        2
    } else {
        0
    }
}

impl Agent for Nic {
    fn drive(&mut self, dut: &mut Dut) {
        dut.set(self.aw[1], self.address.is_none() && self.rng.chance(0.5));
        dut.set(self.w[1], self.data.is_none() && self.rng.chance(0.5));
        dut.set(self.ar[1], self.read.is_none() && self.rng.chance(0.5));
        if let (Some(address), Some((data, strobes)), None) = (self.address, self.data, self.answer) {
            if self.rng.chance(0.3) {
                self.writes.push((address, data, strobes));
                self.answer = Some(if self.refuses { 2 } else { response(address) });
            }
        }
        dut.set(self.b[0], self.answer.is_some());
        dut.set(self.b[2], self.answer.unwrap_or(1));
        self.wait = self.wait.saturating_sub(1);
        let tells = self.read.filter(|_| self.wait == 0);
        dut.set(self.r[0], tells.is_some());
        dut.set(self.r[2], tells.map_or(0xDEAD, |address| address ^ 0x5A5A_0000));
        dut.set(self.r[3], tells.map_or(1, response));
    }

    fn sample(&mut self, dut: &Dut) {
        let moved = |ports: &[PortId]| dut.sampled(ports[0]) != 0 && dut.sampled(ports[1]) != 0;
        if moved(&self.b) {
            (self.address, self.data, self.answer) = (None, None, None);
        }
        if moved(&self.r) {
            self.read = None;
        }
        if moved(&self.aw) {
            self.address = Some(dut.sampled(self.aw[2]));
        }
        if moved(&self.w) {
            self.data = Some((dut.sampled(self.w[2]), dut.sampled(self.w[3])));
        }
        if moved(&self.ar) {
            self.read = Some(dut.sampled(self.ar[2]));
            self.wait = self.rng.below(6);
        }
    }
}

/// The block, the NIC behind it, and what goes by.
struct Bench<'a> {
    dut: &'a mut Dut,
    nic: Nic,
}

impl Clocked for Bench<'_> {
    fn clock_with(&mut self, agent: &mut dyn Agent) {
        cycle(self.dut, &mut [&mut self.nic, agent]);
    }
}

fn run(name: &str, body: impl Fn(&mut Bench, &mut AxiLite, &mut Rng)) {
    let design = tessera_testbenches::design("app_regs", AppRegs::new);
    tb::run(&format!("app_regs::{name}"), &design, |dut, rng| {
        let mut host = AxiLite::new(dut, "s_axil").unwrap().with_patience(200);
        let nic = Nic::new(dut, rng);
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 2);
        body(&mut Bench { dut, nic }, &mut host, rng);
    });
}

impl Bench<'_> {
    /// Lets something go by: a bit for one clock, a time with it.
    fn pulse(&mut self, name: &str, time: Option<(&str, [u64; 2])>) {
        let port = self.dut.port(name).unwrap();
        self.dut.set(port, 1u64);
        if let Some((name, words)) = time {
            let port = self.dut.port(name).unwrap();
            self.dut.set_wide(port, &words);
        }
        cycle(self.dut, &mut [&mut self.nic]);
        self.dut.set(port, 0u64);
        if let Some((name, _)) = time {
            let port = self.dut.port(name).unwrap();
            self.dut.set_wide(port, &[u64::MAX, 0xFFFF_FFFF]);
        }
    }

    fn wide(&mut self, name: &str) -> Vec<u8> {
        self.dut.settle();
        let port = self.dut.port(name).unwrap();
        let mut words = vec![0; port.words()];
        self.dut.get_wide(port, &mut words);
        words.iter().flat_map(|word| word.to_le_bytes()).take(port.width() / 8).collect()
    }
}

#[test]
fn tools_find_the_block_and_the_window() {
    run("block", |bench, host, _| {
        let port = bench.dut.port("port").unwrap();
        bench.dut.set(port, 3u64);
        let wanted = [
            (offset::TYPE, APP_ID),
            (offset::VERSION, VERSION),
            (offset::NEXT, 0),
            (offset::WINDOW, WINDOW),
            (offset::ENABLE, 1),
            (offset::PORT, 3),
            (offset::QPN_VALUE, 0),
            (offset::QPN_MASK, 0),
            (0x34, 0),
            (0x1F_FFFC, 0),
        ];
        for (at, value) in wanted {
            assert_eq!(host.read(bench, at.into()), Ok(value.into()), "{at:#x}");
        }
        // Nothing of the block's own is written by chance.
        for at in [0x00, 0x04, 0x0C, 0x14, 0x110, 0x10_0018] {
            host.write(bench, at, 0).unwrap();
        }
        for (at, value) in wanted {
            assert_eq!(host.read(bench, at.into()), Ok(value.into()), "{at:#x}");
        }
        for at in [0x40_0000, 0x60_0010, 0x80_0000, 0xFF_FFFC] {
            assert!(matches!(host.read(bench, at), Err(BusError::Refused { response: 3, .. })), "{at:#x}");
            assert!(
                matches!(host.write(bench, at, 0), Err(BusError::Refused { response: 3, .. })),
                "{at:#x}"
            );
        }
        assert_eq!(host.read(bench, offset::ENABLE.into()), Ok(1));
        assert!(bench.nic.writes.is_empty());
    });
}

#[test]
fn the_filter_is_set() {
    run("filter", |bench, host, _| {
        for (at, value, held) in [
            (offset::ENABLE, 0xFFFF_FFFE, 0),
            (offset::QPN_VALUE, 0xAB12_3456, 0x12_3456),
            (offset::QPN_MASK, 0xFF_0100, 0xFF_0100),
        ] {
            host.write(bench, at.into(), value).unwrap();
            assert_eq!(host.read(bench, at.into()), Ok(held), "{at:#x}");
        }
        assert_eq!(bench.wide("qpn_value"), [0x12, 0x34, 0x56]);
        assert_eq!(bench.wide("qpn_mask"), [0xFF, 0x01, 0x00]);
        let enable = bench.dut.port("enable").unwrap();
        assert_eq!(bench.dut.get(enable), 0);
        // A write of less than a word is none.
        host.write_bytes(bench, offset::QPN_MASK.into(), 0x1234, 0b0011).unwrap();
        assert_eq!(host.read(bench, offset::QPN_MASK.into()), Ok(0xFF_0100));
    });
}

#[test]
fn the_window_is_the_nic() {
    run("window", |bench, host, rng| {
        let window = u64::from(WINDOW);
        for _ in 0..300 {
            // Not an address that is listened to: those are below.
            let at = 0x1000 | (rng.below(1 << 19) * 4);
            let data = rng.bits(32);
            let strobes = rng.below(16);
            let wrote = host.write_bytes(bench, window + at, data, strobes);
            assert_eq!(wrote.is_err(), response(at) != 0, "{at:#x}");
            assert_eq!(bench.nic.writes.pop(), Some((at, data, strobes)));
            let read = host.read(bench, window + at);
            if response(at) == 0 {
                assert_eq!(read, Ok(at ^ 0x5A5A_0000));
            } else {
                assert!(read.is_err(), "{at:#x}");
            }
        }
    });
}

#[test]
fn addresses_are_heard_on_their_way() {
    run("addresses", |bench, host, _| {
        let window = u64::from(WINDOW);
        // Before: nobody's.
        for name in ["mac", "ip4", "ip6"] {
            assert!(bench.wide(name).iter().all(|&byte| byte == 0), "{name}");
        }
        let writes = [
            (regs::LOCAL_MAC_HI, 0xEEEE_0102u64),
            (regs::LOCAL_MAC_LO, 0x0304_0506),
            (regs::LOCAL_IP, 0x0A01_0203),
            (regs::LOCAL_IP6_0, 0xFD00_0102),
            (regs::LOCAL_IP6_1, 0x0304_0506),
            (regs::LOCAL_IP6_2, 0x0708_090A),
            (regs::LOCAL_IP6_3, 0x0B0C_0D0E),
        ];
        for (register, value) in writes {
            let _ = host.write(bench, window + u64::from(register.offset), value);
            assert_eq!(bench.nic.writes.pop(), Some((register.offset.into(), value, 15)));
        }
        let heard = |bench: &mut Bench| [bench.wide("mac"), bench.wide("ip4"), bench.wide("ip6")];
        let wanted: [Vec<u8>; 3] = [
            vec![1, 2, 3, 4, 5, 6],
            vec![10, 1, 2, 3],
            vec![0xFD, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        ];
        assert_eq!(heard(bench), wanted);
        // Parts of words, and the same addresses outside the window, are not.
        for (register, _) in writes {
            let at = u64::from(register.offset);
            let _ = host.write_bytes(bench, window + at, 0x1111_1111, 0b0111);
            let _ = host.write(bench, at, 0x2222_2222);
            let _ = host.write(bench, window + 0x10_0000 + at, 0x3333_3333);
        }
        // Nor what the NIC refuses, its RESET among that, nor a RESET without its bit.
        bench.nic.refuses = true;
        for (register, value) in writes.into_iter().chain([(regs::RESET, 1)]) {
            let refused = host.write(bench, window + u64::from(register.offset), !value & 0xFFFF_FFFF | 1);
            assert!(refused.is_err(), "{}", register.name);
        }
        bench.nic.refuses = false;
        host.write(bench, window + u64::from(regs::RESET.offset), 0xFFFF_FFFE).unwrap();
        host.write_bytes(bench, window + u64::from(regs::RESET.offset), 1, 0b0111).unwrap();
        assert_eq!(heard(bench), wanted);
        // With that of the NIC's they are gone.
        host.write(bench, window + u64::from(regs::RESET.offset), 1).unwrap();
        assert!(heard(bench).concat().iter().all(|&byte| byte == 0));
    });
}

#[test]
fn what_goes_by_is_counted() {
    run("counters", |bench, host, rng| {
        let counters = [
            ("rx_took", offset::RX_TAKEN),
            ("rx_passed", offset::RX_PASSED),
            ("tx_injected", offset::TX_INJECTED),
            ("tx_passed", offset::TX_PASSED),
            ("tx_ended", offset::TX_ENDED),
        ];
        let mut counts = [0; 5];
        for _ in 0..100 {
            let which = rng.below(5) as usize;
            bench.pulse(counters[which].0, None);
            counts[which] += 1;
        }
        for ((name, at), count) in counters.into_iter().zip(counts) {
            assert_eq!(host.read(bench, at.into()), Ok(count), "{name}");
        }
    });
}

#[test]
fn the_words_of_a_time_are_of_one_moment() {
    run("times", |bench, host, _| {
        bench.pulse("rx_took", Some(("rx_time", [0x1111_2222_3333_4444, 0x5555_6666])));
        bench.pulse("tx_ended", Some(("tx_time", [0x7777_8888_9999_AAAA, 0xBBBB_CCCC])));
        let now = bench.dut.port("now").unwrap();
        bench.dut.set_wide(now, &[0x0123_4567_89AB_CDEF, 0xFEDC_BA98]);
        let three = |bench: &mut Bench, host: &mut AxiLite, at: u32| {
            let first = host.read(bench, at.into()).unwrap();
            bench.dut.set_wide(now, &[0, 0]);
            bench.pulse("rx_took", Some(("rx_time", [1, 2])));
            bench.pulse("tx_ended", Some(("tx_time", [3, 4])));
            [
                first,
                host.read(bench, u64::from(at) + 4).unwrap(),
                host.read(bench, u64::from(at) + 8).unwrap(),
            ]
        };
        assert_eq!(three(bench, host, offset::NOW), [0x89AB_CDEF, 0x0123_4567, 0xFEDC_BA98]);
        assert_eq!(three(bench, host, offset::RX_TIME), [1, 0, 2]);
        assert_eq!(three(bench, host, offset::TX_TIME), [3, 0, 4]);
        bench.pulse("rx_took", Some(("rx_time", [0x1111_2222_3333_4444, 0x5555_6666])));
        assert_eq!(three(bench, host, offset::RX_TIME), [0x3333_4444, 0x1111_2222, 0x5555_6666]);
        bench.pulse("tx_ended", Some(("tx_time", [0x7777_8888_9999_AAAA, 0xBBBB_CCCC])));
        assert_eq!(three(bench, host, offset::TX_TIME), [0x9999_AAAA, 0x7777_8888, 0xBBBB_CCCC]);
    });
}
