//! `wire::VlanStrip` and `wire::VlanInsert` and their narrow siblings: the tag goes and
//! comes, nothing else changes, and nothing waits.

use std::collections::VecDeque;
use tessera_abi::params::NIC512;
use tessera_abi::wire::ICRC_LEN;
use tessera_rtl::wire::narrow::{NarrowVlanInsert, NarrowVlanStrip};
use tessera_rtl::wire::{VlanInsert, VlanStrip};
use tessera_sim::tb::{self, cycle, AxisMonitor, Pattern, Rng, StreamDriver, Word};
use tessera_sim::verilator::{Design, Dut};
use tessera_testbenches::packets::{self, WIDE};

fn strip() -> Design {
    tessera_testbenches::design("vlan_strip", || VlanStrip::new(&NIC512))
}

fn narrow_strip() -> Design {
    tessera_testbenches::design("narrow_vlan_strip", || NarrowVlanStrip::new(&NIC512))
}

/// The block, and how many tags may be ahead.
fn insert(size: usize) -> (Design, usize) {
    match size {
        WIDE => (tessera_testbenches::design("vlan_insert", || VlanInsert::new(&NIC512)), 32),
        _ => (tessera_testbenches::design("narrow_vlan_insert", || NarrowVlanInsert::new(&NIC512)), 16),
    }
}

tessera_testbenches::both_widths!(the_tag_is_put_in, only_a_beat_more_costs_a_clock);

/// A frame of any content with another EtherType than the tag's, and its tag.
fn any_frame(rng: &mut Rng, length: usize) -> (Vec<u8>, Option<u16>) {
    let mut frame = rng.bytes(length);
    frame[12] &= 0x7F;
    (frame, rng.chance(0.5).then(|| rng.bits(16) as u16))
}

fn tagged(frame: &[u8], tag: Option<u16>) -> Vec<u8> {
    let Some(tci) = tag else { return frame.to_vec() };
    [&frame[..12], &[0x81, 0], &tci.to_be_bytes(), &frame[12..]].concat()
}

/// One beat at the input of a stripper.
struct Beat {
    word: Word,
    user: u64,
}

/// Words of 64 bits that hold a beat's data; what follows is `keep` and `last`.
fn lanes(beat: usize) -> usize {
    beat / 8
}

/// Beats of a frame, noise behind its end; only the last one's `user` counts.
fn beats(rng: &mut Rng, beat: usize, frame: &[u8], bad: bool) -> Vec<Beat> {
    let mut words = packets::beats_of(frame, beat);
    let count = words.len();
    let noise: Vec<u64> = (0..8).map(|_| rng.next_u64()).collect();
    if let Some(last) = words.last_mut() {
        for at in last.bits(8 * beat, beat).trailing_ones() as usize..beat {
            last.0[at / 8] |= noise[at / 8] & 0xFF << (8 * (at % 8));
        }
    }
    let user = |i: usize| if i + 1 == count { bad.into() } else { noise[i % 8] & 1 };
    words.into_iter().enumerate().map(|(i, word)| Beat { word, user: user(i) }).collect()
}

/// A beat at the output: bytes, last, user, arrival, tag.
type Shown = (Vec<u8>, bool, u64, u64, Option<u16>);

/// What one clock shows at the output.
fn out(dut: &Dut, beat: usize) -> Option<Shown> {
    let get = |name: &str| dut.sampled(dut.port(name).unwrap());
    if get("out_valid") == 0 {
        return None;
    }
    let mut word = Word(vec![0; lanes(beat)]);
    dut.sampled_wide(dut.port("out_data").unwrap(), &mut word.0);
    word.set_bits(8 * beat, beat, get("out_keep"));
    word.set_bits(9 * beat, 1, get("out_last"));
    let (bytes, last) = packets::beat_bytes(&word);
    let tag = (get("out_tag.valid") == 1).then(|| get("out_tag.tci") as u16);
    Some((bytes, last, get("out_user"), get("out_arrival"), tag))
}

struct Due {
    frame: Vec<u8>,
    tag: Option<u16>,
    bad: bool,
    arrival: u64,
}

/// Drives frames with gaps of any kind; checks every frame, and that none waits
/// for anything but its own next beat.
fn strips(dut: &mut Dut, beat: usize, rng: &mut Rng, idle: f64, lengths: &[usize]) {
    let rst = dut.port("rst").unwrap();
    let port = |dut: &Dut, name: &str| dut.port(name).unwrap();
    let (valid, last) = (port(dut, "in_valid"), port(dut, "in_last"));
    dut.set(valid, 0u64);
    dut.reset(rst, 2);
    let mut queue = VecDeque::new();
    let mut due: VecDeque<Due> = VecDeque::new();
    for length in lengths {
        let (frame, tag) = any_frame(rng, *length);
        let bad = rng.chance(0.3);
        queue.extend(beats(rng, beat, &tagged(&frame, tag), bad));
        due.push_back(Due { frame, tag, bad, arrival: 0 });
    }
    let (mut seen, mut ended, mut arrived) = (Vec::new(), 0, 0);
    let (mut now, mut clocks) = (rng.bits(30), 0);
    while !due.is_empty() {
        now += rng.below(3);
        let offered = if rng.chance(idle) { None } else { queue.pop_front() };
        dut.set(port(dut, "now"), now);
        dut.set(valid, u64::from(offered.is_some()));
        if let Some(Beat { word, user }) = &offered {
            let is_last = word.bits(9 * beat, 1);
            dut.set_wide(port(dut, "in_data"), &word.0[..lanes(beat)]);
            dut.set(port(dut, "in_keep"), word.bits(8 * beat, beat));
            dut.set(last, is_last);
            dut.set(port(dut, "in_user"), *user);
            if is_last == 1 {
                due[arrived - ended].arrival = now;
                arrived += 1;
            }
        }
        dut.clock();
        if let Some((bytes, is_last, user, arrival, tag)) = out(dut, beat) {
            seen.extend(bytes);
            assert_eq!(tag, due[0].tag, "the tag of all beats of a frame");
            if is_last {
                let Due { frame, bad, arrival: came, .. } = due.pop_front().unwrap();
                assert_eq!(seen, frame);
                assert_eq!((user == 1, arrival), (bad, came));
                seen.clear();
                ended += 1;
            }
        }
        clocks += 1;
        assert!(clocks < 100 + 400 * 64 / beat * lengths.len(), "{} frames did not come out", due.len());
        // The last beat of the last frame has left within a clock.
        assert!(!queue.is_empty() || offered.is_some() || due.is_empty(), "a whole frame waits");
    }
}

/// Frames from `least` bytes on, each length and any.
fn takes_tags_out(design: &Design, beat: usize, least: usize) {
    tb::run(&format!("vlan::strip {beat}"), design, |dut, rng| {
        for idle in [0.0, 0.3, 0.8] {
            let edges: Vec<usize> = (least..200).collect();
            strips(dut, beat, rng, idle, &edges);
            let any: Vec<usize> = (0..200).map(|_| rng.range(60..1600) as usize).collect();
            strips(dut, beat, rng, idle, &any);
        }
    });
}

#[test]
fn the_tag_is_taken_out() {
    takes_tags_out(&strip(), 64, 60);
}

/// There a tag is the end of the first beat, which may be the only one.
#[test]
fn the_tag_is_taken_out_of_narrow_beats() {
    takes_tags_out(&narrow_strip(), 16, 14);
}

struct Inserter<'a> {
    dut: &'a mut Dut,
    size: usize,
    frame: StreamDriver,
    out: AxisMonitor,
    /// Frames queued, those whose tag was given, those that came out whole.
    frames: Vec<(Vec<u8>, Option<u16>)>,
    given: usize,
    times: Vec<(u64, u64)>,
}

impl<'a> Inserter<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let frame = StreamDriver::new(dut, "frame", idle, rng).unwrap();
        let out = AxisMonitor::new(dut, "m_axis", stall, rng).unwrap();
        for name in ["frame_valid", "tag_valid"] {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 3);
        let size = packets::beat_size(dut, "frame_data");
        Self { dut, size, frame, out, frames: Vec::new(), given: 0, times: Vec::new() }
    }

    fn send(&mut self, frame: Vec<u8>, tag: Option<u16>) {
        packets::beats_of(&frame, self.size).into_iter().for_each(|beat| self.frame.send(beat));
        self.frames.push((frame, tag));
    }

    /// Clocks until every frame is out, with a tag in each clock in which fewer than `ahead`
    /// are not used up.
    fn run(&mut self, ahead: usize) {
        let mut clocks = 0;
        while self.times.len() < self.frames.len() {
            let given = self.dut.port("tag_valid").unwrap();
            let tag = self.frames.get(self.given).filter(|_| self.given < self.times.len() + ahead);
            self.dut.set(given, u64::from(tag.is_some()));
            if let Some((_, tag)) = tag {
                let [valid, tci] =
                    ["tag_data.valid", "tag_data.tci"].map(|name| self.dut.port(name).unwrap());
                self.dut.set(valid, u64::from(tag.is_some()));
                self.dut.set(tci, u64::from(tag.unwrap_or(0x5A5A)));
                self.given += 1;
            }
            cycle(self.dut, &mut [&mut self.frame, &mut self.out]);
            while let Some(got) = self.out.take() {
                let (frame, tag) = &self.frames[self.times.len()];
                assert_eq!(got.bytes, tagged(frame, *tag), "a frame of {} bytes", frame.len());
                self.times.push((got.first, got.last));
            }
            clocks += 1;
            assert!(clocks < 300_000, "{} of {} frames", self.times.len(), self.frames.len());
        }
    }
}

fn the_tag_is_put_in(size: usize) {
    let (design, ahead) = insert(size);
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("vlan::insert {size} {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut bench = Inserter::new(dut, idle, stall, rng);
            for length in (66..330).chain((0..40).map(|i| 1500 + i)) {
                let (frame, tag) = any_frame(rng, length);
                bench.send(frame, tag);
            }
            // One frame has used its tag up before it is out.
            bench.run(ahead - 2);
        });
    }
}

/// Untagged frames lose no clock; tagged ones one when they grow by a beat.
fn only_a_beat_more_costs_a_clock(size: usize) {
    let (design, ahead) = insert(size);
    tb::run(&format!("vlan::rate {size}"), &design, |dut, rng| {
        for tag in [None, Some(7)] {
            let mut bench = Inserter::new(dut, Pattern::Always, Pattern::Always, rng);
            for i in 0..30 {
                bench.send(rng.bytes(122 + ICRC_LEN + 4 * (i % 20)), tag);
            }
            bench.run(ahead - 2);
            for (i, (frame, _)) in bench.frames.iter().enumerate() {
                let beats = (frame.len() + if tag.is_some() { 4 } else { 0 }).div_ceil(size) as u64;
                let (first, last) = bench.times[i];
                assert_eq!(last - first + 1, beats, "beats of frame {i}");
                if i > 0 {
                    assert_eq!(first, bench.times[i - 1].1 + 1, "a gap before frame {i}");
                }
            }
        }
    });
}
