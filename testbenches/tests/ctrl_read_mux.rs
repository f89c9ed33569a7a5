//! `host::CtrlReadMux`: every client gets its own data, statuses and turns.

use std::collections::VecDeque;
use tessera_rtl::host::ctrl_read_mux::CtrlReadMux;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{DmaReader, SharedMemory};

fn design() -> Design {
    tessera_testbenches::design("ctrl_read_mux", CtrlReadMux::new)
}

struct Client {
    name: &'static str,
    descs: StreamDriver,
    beats: StreamMonitor,
    status_valid: PortId,
    status_error: PortId,
    /// Beats and errors to come.
    words: VecDeque<(Vec<u64>, u64, bool)>,
    errors: VecDeque<bool>,
}

impl Client {
    fn new(dut: &Dut, name: &'static str, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let port = |field: &str| dut.port(&format!("{name}_status_{field}")).unwrap();
        Client {
            name,
            descs: StreamDriver::new(dut, &format!("{name}_desc"), idle, rng).unwrap(),
            beats: StreamMonitor::new(dut, &format!("{name}_beat"), stall, rng).unwrap(),
            status_valid: port("valid"),
            status_error: port("data.error"),
            words: VecDeque::new(),
            errors: VecDeque::new(),
        }
    }

    fn ask(&mut self, memory: &SharedMemory, address: u64, length: usize, fails: bool) {
        self.descs.send_fields(&[("address", address), ("length", length as u64), ("tag", 0x55)]);
        let bytes = if fails { vec![0; length] } else { memory.borrow().read(address, length) };
        let count = bytes.chunks(64).count();
        for (i, chunk) in bytes.chunks(64).enumerate() {
            let mut chunk = chunk.to_vec();
            let keep = u64::MAX >> (64 - chunk.len());
            chunk.resize(64, 0);
            let words = chunk.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
            self.words.push_back((words, keep, i + 1 == count));
        }
        self.errors.push_back(fails);
    }

    fn check(&mut self, dut: &Dut) {
        while let Some(transfer) = self.beats.take() {
            let word = &transfer.word;
            let (data, keep, last) = self.words.pop_front().expect("a beat nobody asked for");
            assert_eq!(word.0[..8], data, "{}: data", self.name);
            assert_eq!((word.bits(512, 64), word.bits(576, 1) != 0), (keep, last), "{}", self.name);
        }
        if dut.sampled(self.status_valid) != 0 {
            let expected = self.errors.pop_front().expect("a status nobody asked for");
            assert_eq!(dut.sampled(self.status_error) != 0, expected, "{}: error", self.name);
        }
    }
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.set(rst, 1u64);
    dut.clock_by(2);
    dut.set(rst, 0u64);
}

#[test]
fn each_client_gets_what_it_asked_for() {
    let design = design();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("ctrl_read_mux::random {idle:?} {stall:?}"), &design, |dut, rng| {
            let memory = SharedMemory::default();
            for page in 0..64u64 {
                memory.borrow_mut().write(page * 1024, &rng.bytes(1024));
            }
            memory.borrow_mut().poisoned.push(0x4000..0x4010);
            reset(dut);
            let mut dma = DmaReader::new(dut, "read", memory.clone(), stall, idle, rng);
            dma.prompt = false;
            dma.latency = rng.pick(&[1..2, 1..40, 100..300]).clone();
            let mut sq = Client::new(dut, "sq", idle, stall, rng);
            let mut rq = Client::new(dut, "rq", idle, stall, rng);
            for _ in 0..200 {
                let (address, length) = (rng.below(60 * 1024), rng.range(1..1025) as usize);
                let fails = address < 0x4010 && address + length as u64 > 0x4000;
                let client = if rng.chance(0.5) { &mut sq } else { &mut rq };
                client.ask(&memory, address, length, fails);
            }
            let told = dut.port("dma_error").unwrap();
            let due = sq.errors.iter().chain(&rq.errors).filter(|error| **error).count() as u64;
            let mut told_errors = 0;
            let mut clocks = 0;
            while !(sq.words.is_empty()
                && rq.words.is_empty()
                && sq.errors.is_empty()
                && rq.errors.is_empty())
            {
                cycle(dut, &mut [&mut sq.descs, &mut sq.beats, &mut rq.descs, &mut rq.beats, &mut dma]);
                sq.check(dut);
                rq.check(dut);
                told_errors += dut.sampled(told);
                clocks += 1;
                assert!(clocks < 100_000, "{} and {} beats missing", sq.words.len(), rq.words.len());
            }
            dut.clock();
            assert_eq!(told_errors + dut.sampled(told), due, "reads that failed");
        });
    }
}

#[test]
fn turns_are_fair_and_one_descriptor_takes_two_clocks() {
    tb::run("ctrl_read_mux::turns", &design(), |dut, rng| {
        let memory = SharedMemory::default();
        reset(dut);
        let (idle, stall) = (Pattern::Always, Pattern::Always);
        let mut dma = DmaReader::new(dut, "read", memory.clone(), stall, idle, rng);
        dma.latency = 1..2;
        let mut sq = Client::new(dut, "sq", idle, stall, rng);
        let mut rq = Client::new(dut, "rq", idle, stall, rng);
        for i in 0..50 {
            sq.ask(&memory, 64 * i, 64, false);
            rq.ask(&memory, 0x8000 + 64 * i, 64, false);
        }
        for _ in 0..204 {
            cycle(dut, &mut [&mut sq.descs, &mut sq.beats, &mut rq.descs, &mut rq.beats, &mut dma]);
            sq.check(dut);
            rq.check(dut);
        }
        assert_eq!(dma.log.len(), 100, "one descriptor in two clocks");
        for pair in dma.log.windows(2) {
            assert_ne!(pair[0].0 < 0x8000, pair[1].0 < 0x8000, "one client was served twice in a row");
        }
    });
}

#[test]
fn a_hundred_and_twenty_eight_reads_are_in_flight() {
    tb::run("ctrl_read_mux::depth", &design(), |dut, rng| {
        let memory = SharedMemory::default();
        reset(dut);
        let mut dma = DmaReader::new(dut, "read", memory.clone(), Pattern::Always, Pattern::Always, rng);
        dma.latency = 2000..2001;
        let mut sq = Client::new(dut, "sq", Pattern::Always, Pattern::Always, rng);
        let mut rq = Client::new(dut, "rq", Pattern::Always, Pattern::Always, rng);
        for i in 0..200 {
            sq.ask(&memory, 64 * i, 64, false);
        }
        for _ in 0..1000 {
            cycle(dut, &mut [&mut sq.descs, &mut sq.beats, &mut rq.descs, &mut rq.beats, &mut dma]);
        }
        assert!((128..=131).contains(&dma.log.len()), "{} in flight", dma.log.len());
        while !sq.words.is_empty() || !sq.errors.is_empty() {
            cycle(dut, &mut [&mut sq.descs, &mut sq.beats, &mut rq.descs, &mut rq.beats, &mut dma]);
            sq.check(dut);
            assert!(dut.cycles() < 10_000);
        }
    });
}
