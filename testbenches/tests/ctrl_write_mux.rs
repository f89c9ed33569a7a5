//! `host::CtrlWriteMux`: every write whole and in its client's order, statuses to
//! whom they belong.

use std::collections::VecDeque;
use tessera_rtl::host::ctrl_write_mux::CtrlWriteMux;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{Design, Dut, PortId};

fn design() -> Design {
    tessera_testbenches::design("ctrl_write_mux", CtrlWriteMux::new)
}

/// Offers descriptor and beat of a write in one clock, the next one behind both.
struct Client {
    descs: StreamDriver,
    beats: StreamDriver,
    status_valid: PortId,
    status_tag: PortId,
    status_error: PortId,
    tag: u64,
    /// Addresses and data not yet offered; addresses, data not yet seen.
    to_offer: VecDeque<(u64, Word)>,
    due: VecDeque<u64>,
    due_beats: VecDeque<Word>,
    statuses: VecDeque<(u64, bool)>,
}

impl Client {
    fn new(dut: &Dut, name: &str, tag: u64, rng: &mut Rng) -> Self {
        let port = |field: &str| dut.port(&format!("{name}_status_{field}")).unwrap();
        Client {
            descs: StreamDriver::new(dut, &format!("{name}_desc"), Pattern::Always, rng).unwrap(),
            beats: StreamDriver::new(dut, &format!("{name}_beat"), Pattern::Always, rng).unwrap(),
            status_valid: port("valid"),
            status_tag: port("data.tag"),
            status_error: port("data.error"),
            tag,
            to_offer: VecDeque::new(),
            due: VecDeque::new(),
            due_beats: VecDeque::new(),
            statuses: VecDeque::new(),
        }
    }

    fn write(&mut self, address: u64, rng: &mut Rng) {
        let mut beat = Word(rng.wide(512));
        beat.set_bits(512, 64, rng.next_u64());
        beat.set_bits(576, 1, 1);
        self.to_offer.push_back((address, beat));
    }

    fn offer(&mut self) {
        if self.descs.pending() + self.beats.pending() > 0 {
            return;
        }
        if let Some((address, beat)) = self.to_offer.pop_front() {
            self.descs.send_fields(&[("address", address), ("length", 64), ("tag", self.tag)]);
            self.beats.send(beat.clone());
            self.due.push_back(address);
            self.due_beats.push_back(beat);
        }
    }

    fn check(&mut self, dut: &Dut) {
        if dut.sampled(self.status_valid) != 0 {
            let expected = self.statuses.pop_front().expect("a status of another");
            assert_eq!((dut.sampled(self.status_tag), dut.sampled(self.status_error) != 0), expected);
        }
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    cq: Client,
    area: Client,
    descriptors: StreamMonitor,
    beats: StreamMonitor,
    /// Tags in the order of descriptors, and of beats.
    log: Vec<u64>,
    beat_log: Vec<u64>,
    open: VecDeque<u64>,
    rng: Rng,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, stall: Pattern, rng: &mut Rng) -> Self {
        let cq = Client::new(dut, "cq", 0, rng);
        let area = Client::new(dut, "area", 0x83, rng);
        let descriptors = StreamMonitor::new(dut, "write_desc", stall, rng).unwrap();
        let beats = StreamMonitor::new(dut, "write_beat", stall, rng).unwrap();
        for name in
            ["cq_desc_valid", "cq_beat_valid", "area_desc_valid", "area_beat_valid", "write_status_valid"]
        {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        let rst = dut.port("rst").unwrap();
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        Bench {
            dut,
            cq,
            area,
            descriptors,
            beats,
            log: Vec::new(),
            beat_log: Vec::new(),
            open: VecDeque::new(),
            rng: rng.fork(),
        }
    }

    fn clock(&mut self) {
        let port = |name: &str| self.dut.port(name).unwrap();
        let (valid, tag, error) =
            (port("write_status_valid"), port("write_status_data.tag"), port("write_status_data.error"));
        self.dut.set(valid, 0u64);
        if !self.open.is_empty() && self.rng.chance(0.5) {
            let of = self.open.pop_front().unwrap();
            let fails = self.rng.chance(0.3);
            self.dut.set(valid, 1u64);
            self.dut.set(tag, of);
            self.dut.set(error, fails);
            let client = if of == self.area.tag { &mut self.area } else { &mut self.cq };
            client.statuses.push_back((of, fails));
        }
        self.cq.offer();
        self.area.offer();
        cycle(
            self.dut,
            &mut [
                &mut self.cq.descs,
                &mut self.cq.beats,
                &mut self.area.descs,
                &mut self.area.beats,
                &mut self.descriptors,
                &mut self.beats,
            ],
        );
        self.cq.check(self.dut);
        self.area.check(self.dut);
        while let Some(got) = self.descriptors.take() {
            let shape = self.descriptors.shape();
            let tag = shape.get(&got.word, "tag");
            let client = if tag == self.area.tag { &mut self.area } else { &mut self.cq };
            let expected = client.due.pop_front().expect("a write nobody asked for");
            assert_eq!((shape.get(&got.word, "address"), shape.get(&got.word, "length")), (expected, 64));
            self.log.push(tag);
        }
        while let Some(got) = self.beats.take() {
            let same = |client: &&mut Client| {
                client.due_beats.front().is_some_and(|beat| beat.0[..9] == got.word.0[..9])
            };
            let client = [&mut self.cq, &mut self.area].into_iter().find(same).expect("data of nobody");
            client.due_beats.pop_front();
            self.beat_log.push(client.tag);
            self.open.push_back(client.tag);
        }
        let both = self.log.len().min(self.beat_log.len());
        assert_eq!(self.log[..both], self.beat_log[..both], "a beat behind the other's descriptor");
        assert!(self.log.len().abs_diff(self.beat_log.len()) <= 1, "two writes are mixed");
    }

    fn drain(&mut self) {
        let limit = self.dut.cycles() + 20_000;
        let left = |client: &Client| {
            client.due.len() + client.due_beats.len() + client.to_offer.len() + client.statuses.len()
        };
        while left(&self.cq) + left(&self.area) + self.open.len() > 0 {
            self.clock();
            assert!(self.dut.cycles() < limit, "{} and {} left", left(&self.cq), left(&self.area));
        }
    }
}

#[test]
fn each_write_is_whole_and_in_order() {
    let design = design();
    for stall in [Pattern::Always, Pattern::Random(0.2), Pattern::Random(0.8)] {
        tb::run(&format!("ctrl_write_mux::random {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, stall, rng);
            for i in 0..400u64 {
                let client = if rng.chance(0.5) { &mut bench.cq } else { &mut bench.area };
                client.write(i * 64, rng);
                for _ in 0..rng.below(4) {
                    bench.clock();
                }
            }
            bench.drain();
            assert_eq!(bench.log.len(), 400);
        });
    }
}

#[test]
fn turns_are_fair_and_alone_nobody_waits() {
    tb::run("ctrl_write_mux::turns", &design(), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, rng);
        for i in 0..50 {
            bench.cq.write(i, rng);
            bench.area.write(i, rng);
        }
        let start = bench.dut.cycles();
        while bench.log.len() < 100 {
            bench.clock();
        }
        // The bench offers one write of each client in two clocks at best.
        assert!(bench.dut.cycles() - start <= 102, "{} clocks", bench.dut.cycles() - start);
        for pair in bench.log.windows(2) {
            assert_ne!(pair[0], pair[1], "one client was served twice in a row");
        }
        bench.drain();
        for name in ["cq", "area"] {
            let client = if name == "cq" { &mut bench.cq } else { &mut bench.area };
            client.write(7, rng);
            let before = bench.log.len();
            // What is shown changes sides first.
            if name == "area" {
                bench.clock();
                assert_eq!(bench.log.len(), before);
            }
            bench.clock();
            assert_eq!(bench.log.len(), before + 1, "{name} alone waits");
            bench.drain();
        }
    });
}
