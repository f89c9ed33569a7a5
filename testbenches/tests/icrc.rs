//! `wire::IcrcInsert` (and with it `wire::Icrc`) and their narrow siblings against `abi::icrc`.

use tessera_abi::params::NIC512;
use tessera_abi::wire::{Form, ICRC_LEN};
use tessera_rtl::wire::narrow::NarrowIcrcInsert;
use tessera_rtl::wire::IcrcInsert;
use tessera_sim::tb::{self, cycle, AxisMonitor, Pattern, Rng, StreamDriver};
use tessera_sim::verilator::{Design, Dut};
use tessera_testbenches::packets::{self, HERE, NARROW, THERE, WIDE};

/// Clocks from a beat's acceptance to its place on `m_axis`.
fn latency(size: usize) -> u64 {
    match size {
        WIDE => 9,
        _ => 8,
    }
}

fn design(size: usize) -> Design {
    match size {
        WIDE => tessera_testbenches::design("icrc_insert", || IcrcInsert::new(&NIC512)),
        _ => tessera_testbenches::design("narrow_icrc_insert", || NarrowIcrcInsert::new(&NIC512)),
    }
}

tessera_testbenches::both_widths!(
    appends_the_icrc_of_the_emitter,
    every_length_is_right_at_full_rate,
    the_shortest_frames_are_right_at_full_rate,
    a_stalled_sink_loses_nothing_and_is_served_without_gaps,
);

struct Bench<'a> {
    dut: &'a mut Dut,
    size: usize,
    frame: StreamDriver,
    out: AxisMonitor,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let frame = StreamDriver::new(dut, "frame", idle, rng).unwrap();
        let out = AxisMonitor::new(dut, "m_axis", stall, rng).unwrap();
        let (valid, rst) = (dut.port("frame_valid").unwrap(), dut.port("rst").unwrap());
        dut.set(valid, 0u64);
        dut.reset(rst, 3);
        Bench { size: packets::beat_size(dut, "frame_data"), dut, frame, out }
    }

    /// Queues a frame without its ICRC; what lies behind its end is noise where that means nothing.
    fn send(&mut self, rng: &mut Rng, frame: &[u8]) {
        for mut beat in packets::beats_of(&frame[..frame.len() - ICRC_LEN], self.size) {
            if self.size == NARROW {
                packets::fill(&mut beat, || rng.bits(8) as u8);
            }
            self.frame.send(beat);
        }
    }

    fn clock(&mut self) {
        cycle(self.dut, &mut [&mut self.frame, &mut self.out]);
    }

    fn check(&mut self, frames: &[Vec<u8>]) -> Vec<(u64, u64)> {
        let mut times = Vec::new();
        let mut clocks = 0;
        for (i, frame) in frames.iter().enumerate() {
            let got = loop {
                if let Some(got) = self.out.take() {
                    break got;
                }
                self.clock();
                clocks += 1;
                let limit = 2000 + 600 * WIDE / self.size * frames.len();
                assert!(clocks < limit, "{i} of {} frames", frames.len());
            };
            assert_eq!(got.bytes, *frame, "frame {i} of {} bytes", frame.len());
            times.push((got.first, got.last));
        }
        times
    }
}

fn any_frame(rng: &mut Rng) -> Vec<u8> {
    let (ev, psn) = (rng.bits(8) as u8, rng.bits(24) as u32);
    let form = Form { tagged: false, v6: rng.chance(0.5) };
    let route = packets::route_in(form, &HERE, &THERE, ev, psn);
    if rng.chance(0.2) {
        let length = rng.below(60) as usize;
        let payload = rng.bytes(length);
        return packets::datagram(&route, rng.chance(0.5).then_some(psn), &payload);
    }
    packets::frame(&route, &packets::any(rng))
}

fn appends_the_icrc_of_the_emitter(size: usize) {
    let design = design(size);
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("icrc::append {size} {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            let frames: Vec<Vec<u8>> = (0..150).map(|_| any_frame(rng)).collect();
            frames.iter().for_each(|frame| bench.send(rng, frame));
            bench.check(&frames);
        });
    }
}

/// Frames at full rate: each right, each with the beats that it needs, no clock between.
fn full_rate(size: usize, name: &str, frames: &[Vec<u8>]) {
    tb::run(&format!("icrc::{name} {size}"), &design(size), |dut, rng| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        frames.iter().for_each(|frame| bench.send(rng, frame));
        let start = bench.dut.cycles();
        let times = bench.check(frames);
        assert_eq!(times[0].0 - (start + 1), latency(size), "latency");
        for (i, frame) in frames.iter().enumerate() {
            let beats = frame.len().div_ceil(size) as u64;
            assert_eq!(times[i].1 - times[i].0 + 1, beats, "beats of frame {i}");
            if i > 0 {
                assert_eq!(times[i].0, times[i - 1].1 + 1, "a gap before frame {i}");
            }
        }
    });
}

/// Every length that padding makes, so every place the ICRC can have in a beat.
fn every_length_is_right_at_full_rate(size: usize) {
    let (route, mut rng) = (packets::route(&HERE, &THERE, 1, 2), Rng::for_test("icrc::frames"));
    let frames: Vec<Vec<u8>> =
        (0..70).map(|words| packets::frame(&route, &packets::data(&mut rng, 4 * words))).collect();
    full_rate(size, "lengths", &frames);
}

/// The shortest frames that there are, 62 bytes and some words, whose ICRCs are closest together.
fn the_shortest_frames_are_right_at_full_rate(size: usize) {
    let (route, mut rng) = (packets::route(&HERE, &THERE, 1, 2), Rng::for_test("icrc::short"));
    let frames: Vec<Vec<u8>> = [0, 1, 1, 0, 2, 3, 1, 0, 0, 2, 2, 1, 4, 0, 3, 3, 0, 1, 5, 1]
        .into_iter()
        .map(|words| packets::datagram(&route, None, &rng.bytes(4 * words)))
        .collect();
    full_rate(size, "short", &frames);
}

/// Once begun, a frame has no gaps when its input had none, however the sink
/// held it up before.
fn a_stalled_sink_loses_nothing_and_is_served_without_gaps(size: usize) {
    let fit = if size == WIDE { 28 } else { 16 };
    tb::run(&format!("icrc::stall {size}"), &design(size), |dut, rng| stalled(dut, rng, size, fit));
}

fn stalled(dut: &mut Dut, rng: &mut Rng, size: usize, fit: u64) {
    let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
    let frames: Vec<Vec<u8>> = (0..200).map(|_| any_frame(rng)).collect();
    frames.iter().for_each(|frame| bench.send(rng, frame));
    let (ready, valid) = (bench.dut.port("m_axis_tready").unwrap(), bench.dut.port("m_axis_tvalid").unwrap());
    // Nobody takes a beat until everything inside is full.
    for _ in 0..100 {
        bench.dut.set(ready, 0u64);
        cycle(bench.dut, &mut [&mut bench.frame]);
    }
    // What stands inside has its ICRCs, which may be a beat more per frame.
    let (mut sent, mut inside) = (bench.frame.sent(), 0);
    for frame in &frames {
        let beats = (frame.len() - ICRC_LEN).div_ceil(size) as u64;
        if beats > sent {
            break;
        }
        sent -= beats;
        inside += frame.len().div_ceil(size) as u64;
    }
    inside += sent;
    assert!(inside >= fit, "only {inside} beats fit");
    let mut clocks = 0;
    while bench.out.available() < frames.len() {
        bench.clock();
        clocks += 1;
        assert!(clocks < 80_000);
        let idle = bench.dut.sampled(valid) == 0;
        assert!(!(idle && bench.out.inside_frame()), "a gap inside a frame in clock {clocks}");
    }
    bench.check(&frames);
}
