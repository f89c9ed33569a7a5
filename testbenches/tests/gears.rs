//! `stream::Widen` and `stream::Split`: bytes, ends, marks and rate, at every
//! width to every other. The reference is the frame itself.

use tessera_rtl::stream::{Split, Widen};
use tessera_sim::tb::{self, cycle, AxisDriver, AxisMonitor, Frame, Pattern, Rng};
use tessera_sim::verilator::{Design, Dut};

/// A gear and the bytes of its narrow side.
struct Gear {
    name: String,
    design: Design,
    bytes: usize,
    /// Narrow to wide.
    widens: bool,
}

fn gears() -> Vec<Gear> {
    fn pair<const W: usize, const K: usize, const V: usize, const L: usize>() -> [Gear; 2] {
        let gear = |what: &str, design, widens| {
            let name = format!("{what} {W} {V}");
            Gear { name, design, bytes: K, widens }
        };
        [
            gear("widen", tessera_testbenches::design("widen", Widen::<W, K, V, L>::new), true),
            gear("split", tessera_testbenches::design("split", Split::<W, K, V, L>::new), false),
        ]
    }
    let wide = [pair::<64, 8, 512, 64>(), pair::<128, 16, 512, 64>(), pair::<256, 32, 512, 64>()];
    let narrow = [pair::<64, 8, 128, 16>(), pair::<128, 16, 128, 16>()];
    wide.into_iter().chain(narrow).flatten().collect()
}

struct Bench<'a> {
    dut: &'a mut Dut,
    input: AxisDriver,
    output: AxisMonitor,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let input = AxisDriver::new(dut, "in", idle, rng).unwrap();
        let output = AxisMonitor::new(dut, "out", stall, rng).unwrap();
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 2);
        Bench { dut, input, output }
    }

    /// Sends frames with their `tuser`, returns what comes out.
    fn exchange(&mut self, frames: &[(Vec<u8>, u64)]) -> Vec<Frame> {
        for (bytes, user) in frames {
            self.input.send_with_user(bytes.clone(), *user);
        }
        let limit = 200 + 20 * frames.iter().map(|(bytes, _)| bytes.len().div_ceil(8)).sum::<usize>();
        let mut out = Vec::new();
        for _ in 0..limit {
            cycle(self.dut, &mut [&mut self.input, &mut self.output]);
            out.extend(std::iter::from_fn(|| self.output.take()));
            if out.len() == frames.len() {
                break;
            }
        }
        out
    }
}

/// Every length up to two wide beats and a bit, then random ones.
fn frames(widens: bool, rng: &mut Rng) -> Vec<(Vec<u8>, u64)> {
    let lengths = (1..=140).chain((0..60).map(|_| rng.range(1..600) as usize)).collect::<Vec<_>>();
    lengths.into_iter().map(|len| (rng.bytes(len), if widens { rng.below(2) } else { 0 })).collect()
}

// A test for each kind: to find out what can be broken (`cargo tessera mutate`), a test
// only shows its first design.
#[test]
fn every_frame_keeps_its_bytes_and_its_mark() {
    keeps_bytes_and_marks(true);
}

#[test]
fn every_frame_that_is_split_keeps_its_bytes_and_its_mark() {
    keeps_bytes_and_marks(false);
}

fn keeps_bytes_and_marks(widens: bool) {
    for gear in gears().into_iter().filter(|gear| gear.widens == widens) {
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("gears::{} {idle:?} {stall:?}", gear.name), &gear.design, |dut, rng| {
                let sent = frames(gear.widens, rng);
                let came = Bench::new(dut, idle, stall, rng).exchange(&sent);
                assert_eq!(came.len(), sent.len(), "frames");
                for (i, (frame, (bytes, user))) in came.iter().zip(&sent).enumerate() {
                    assert!(frame.bytes == *bytes, "frame {i} of {} bytes came out different", bytes.len());
                    assert_eq!(frame.user, u128::from(*user), "mark of frame {i}");
                }
            });
        }
    }
}

#[test]
fn no_clock_is_lost_on_the_narrow_side() {
    loses_no_clock(true);
}

#[test]
fn no_clock_is_lost_when_beats_are_split() {
    loses_no_clock(false);
}

fn loses_no_clock(widens: bool) {
    for gear in gears().into_iter().filter(|gear| gear.widens == widens) {
        tb::run(&format!("gears::rate {}", gear.name), &gear.design, |dut, rng| {
            let lengths: Vec<_> = (0..200).map(|_| rng.range(1..300) as usize).collect();
            let sent: Vec<_> = lengths.into_iter().map(|len| (rng.bytes(len), 0)).collect();
            let beats: usize = sent.iter().map(|(bytes, _)| bytes.len().div_ceil(gear.bytes)).sum();
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            let start = bench.dut.cycles();
            let came = bench.exchange(&sent);
            let clocks = (came.last().unwrap().last - start) as usize;
            assert_eq!(came.len(), sent.len());
            // A clock through, and the one that counts from.
            assert!(clocks <= beats + 2, "{clocks} clocks for {beats} narrow beats");
        });
    }
}

#[test]
fn a_receiver_that_never_stalls_stalls_nobody() {
    for gear in gears().iter().filter(|gear| gear.widens) {
        tb::run(&format!("gears::ready {}", gear.name), &gear.design, |dut, rng| {
            let ready = dut.port("in_tready").unwrap();
            let sent = frames(true, rng);
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for (bytes, user) in &sent {
                bench.input.send_with_user(bytes.clone(), *user);
            }
            while bench.input.pending() > 0 {
                cycle(bench.dut, &mut [&mut bench.input, &mut bench.output]);
                assert_eq!(bench.dut.sampled(ready), 1, "a narrow beat was refused");
            }
        });
    }
}
