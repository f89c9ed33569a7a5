//! `shell::FrameTap` and `shell::FrameJoin`: whose frames are whose, bit for bit, at one beat per clock.

use std::collections::VecDeque;

use tessera_abi::wire::UDP_PORT;
use tessera_rtl::shell::frame_join::FrameJoin;
use tessera_rtl::shell::frame_tap::FrameTap;
use tessera_sim::tb::{self, cycle, Agent, AxisDriver, AxisMonitor, Pattern, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};

const MAC: [u8; 6] = [0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0x01];
const IP4: [u8; 4] = [10, 1, 2, 3];
const IP6: [u8; 16] = [0xFD, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const VALUE: u32 = 0x12_3400;
const MASK: u32 = 0xFF_FF00;

/// A frame with everything in it that makes it the NIC's.
fn ours(v6: bool, tagged: bool, len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut frame = rng.bytes(len);
    frame[..6].copy_from_slice(&MAC);
    let l3 = if tagged { 18 } else { 14 };
    if tagged {
        frame[12..14].copy_from_slice(&[0x81, 0]);
    }
    frame[l3 - 2..l3].copy_from_slice(if v6 { &[0x86, 0xDD] } else { &[8, 0] });
    let udp = if v6 {
        frame[l3 + 6] = 17;
        frame[l3 + 24..l3 + 40].copy_from_slice(&IP6);
        l3 + 40
    } else {
        frame[l3] = 0x45;
        // May be "do not fragment".
        frame[l3 + 6..l3 + 8].copy_from_slice(&[if rng.chance(0.5) { 0x40 } else { 0 }, 0]);
        frame[l3 + 9] = 17;
        frame[l3 + 16..l3 + 20].copy_from_slice(&IP4);
        l3 + 20
    };
    frame[udp + 2..udp + 4].copy_from_slice(&UDP_PORT.to_be_bytes());
    let number = VALUE | rng.bits(8) as u32;
    frame[udp + 13..udp + 16].copy_from_slice(&number.to_be_bytes()[1..]);
    frame
}

/// Whose a frame is, read as a host would.
fn is_ours(frame: &[u8]) -> bool {
    let u16_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    // Below this no packet of ours is.
    if frame.len() <= 64 || frame[..6] != MAC {
        return false;
    }
    let l3 = if u16_at(12) == 0x8100 { 18 } else { 14 };
    let udp = match u16_at(l3 - 2) {
        0x0800 => {
            let plain = frame[l3] == 0x45 && u16_at(l3 + 6) & 0x3FFF == 0 && frame[l3 + 9] == 17;
            if !plain || frame[l3 + 16..l3 + 20] != IP4 {
                return false;
            }
            l3 + 20
        }
        0x86DD if frame[l3 + 6] == 17 && frame[l3 + 24..l3 + 40] == IP6 => l3 + 40,
        _ => return false,
    };
    let number = u32::from_be_bytes([0, frame[udp + 13], frame[udp + 14], frame[udp + 15]]);
    u16_at(udp + 2) == UDP_PORT && (number ^ VALUE) & MASK == 0
}

/// Every form, whole and with any one bit of its first 80 bytes turned; frames of others.
fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for round in 0..400 {
        let (v6, tagged) = (round & 1 == 1, round & 2 == 2);
        let len = rng.range(86..400) as usize;
        let mut frame = ours(v6, tagged, len, rng);
        if rng.chance(0.6) {
            let bit = rng.below(80 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        frames.push(frame);
        if rng.chance(0.3) {
            let len = *rng.pick(&[1, 14, 60, 64, 65, 128, 1500]);
            let mut frame = rng.bytes(len);
            if len > 14 && rng.chance(0.5) {
                // One beat of it looks like ours.
                let twin = ours(false, tagged, 86, rng);
                let same = len.min(86);
                frame[..same].copy_from_slice(&twin[..same]);
            }
            frames.push(frame);
        }
    }
    frames
}

fn set_up_tap(dut: &mut Dut) {
    let set = |dut: &mut Dut, name: &str, bytes: &[u8]| {
        let words: Vec<u64> = bytes
            .chunks(8)
            .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
            .collect();
        let port = dut.port(name).unwrap();
        dut.set_wide(port, &words);
    };
    set(dut, "mac", &MAC);
    set(dut, "ip4", &IP4);
    set(dut, "ip6", &IP6);
    set(dut, "qpn_value", &VALUE.to_be_bytes()[1..]);
    set(dut, "qpn_mask", &MASK.to_be_bytes()[1..]);
    let enable = dut.port("enable").unwrap();
    dut.set(enable, 1u64);
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 2);
}

/// Counts clocks in which a bit is high.
struct Pulses(PortId, u64);

impl Pulses {
    fn new(dut: &Dut, name: &str) -> Self {
        Self(dut.port(name).unwrap(), 0)
    }
}

impl Agent for Pulses {
    fn drive(&mut self, _: &mut Dut) {}

    fn sample(&mut self, dut: &Dut) {
        self.1 += dut.sampled(self.0);
    }
}

fn tap() -> Design {
    tessera_testbenches::design("frame_tap", FrameTap::new)
}

fn join() -> Design {
    tessera_testbenches::design("frame_join", FrameJoin::new)
}

#[test]
fn each_frame_goes_where_it_belongs() {
    let design = tap();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("frames::tap {idle:?} {stall:?}"), &design, |dut, rng| {
            set_up_tap(dut);
            let mut input = AxisDriver::new(dut, "s_axis", idle, rng).unwrap();
            let mut host = AxisMonitor::new(dut, "m_axis", stall, rng).unwrap();
            let mut nic = AxisMonitor::new(dut, "ours", Pattern::Always, rng).unwrap();
            let [mut took, mut passed] = ["took", "passed"].map(|name| Pulses::new(dut, name));
            reset(dut);
            let frames = frames(rng);
            let mut wanted = [VecDeque::new(), VecDeque::new()];
            for frame in frames {
                let user = u128::from(rng.bits(33)) << 64 | u128::from(rng.next_u64());
                input.send_with_user(frame.clone(), user);
                wanted[usize::from(is_ours(&frame))].push_back((frame, user));
            }
            let counts = [wanted[0].len() as u64, wanted[1].len() as u64];
            assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
            let mut clocks = 0;
            while wanted.iter().any(|wanted| !wanted.is_empty()) {
                cycle(dut, &mut [&mut input, &mut host, &mut nic, &mut took, &mut passed]);
                clocks += 1;
                assert!(clocks < 100_000, "frames that do not come");
                for (monitor, wanted) in [&mut host, &mut nic].into_iter().zip(&mut wanted) {
                    while let Some(frame) = monitor.take() {
                        assert_eq!((frame.bytes, frame.user), wanted.pop_front().expect("a frame too many"));
                    }
                }
            }
            assert_eq!([passed.1, took.1], counts, "what is counted");
        });
    }
}

#[test]
fn what_is_not_enabled_takes_nothing() {
    tb::run("frames::off", &tap(), |dut, rng| {
        set_up_tap(dut);
        let enable = dut.port("enable").unwrap();
        dut.set(enable, 0u64);
        let mut input = AxisDriver::new(dut, "s_axis", Pattern::Always, rng).unwrap();
        let mut host = AxisMonitor::new(dut, "m_axis", Pattern::Always, rng).unwrap();
        let mut nic = AxisMonitor::new(dut, "ours", Pattern::Always, rng).unwrap();
        reset(dut);
        for frame in frames(rng) {
            input.send(frame.clone());
            while host.available() == 0 {
                cycle(dut, &mut [&mut input, &mut host, &mut nic]);
            }
            assert_eq!(host.take().unwrap().bytes, frame);
        }
        assert_eq!(nic.available(), 0);
    });
}

#[test]
fn a_beat_goes_through_in_every_clock() {
    tb::run("frames::rate", &tap(), |dut, rng| {
        set_up_tap(dut);
        let mut input = AxisDriver::new(dut, "s_axis", Pattern::Always, rng).unwrap();
        let mut host = AxisMonitor::new(dut, "m_axis", Pattern::Always, rng).unwrap();
        let mut nic = AxisMonitor::new(dut, "ours", Pattern::Always, rng).unwrap();
        reset(dut);
        let mut beats = 0;
        for _ in 0..300 {
            let len = *rng.pick(&[60, 64, 65, 90, 128, 1024]);
            let frame =
                if len > 86 && rng.chance(0.5) { ours(false, false, len, rng) } else { rng.bytes(len) };
            beats += len.div_ceil(64) as u64;
            input.send(frame);
        }
        let mut clocks = 0;
        while host.beats() + nic.beats() < beats {
            cycle(dut, &mut [&mut input, &mut host, &mut nic]);
            clocks += 1;
        }
        assert!(clocks <= beats + 4, "{beats} beats in {clocks} clocks");
    });
}

#[test]
fn a_side_alone_waits_for_nobody() {
    for side in ["s_axis", "ours"] {
        tb::run(&format!("frames::alone {side}"), &join(), |dut, rng| {
            let mut input = AxisDriver::new(dut, side, Pattern::Always, rng).unwrap();
            let mut out = AxisMonitor::new(dut, "m_axis", Pattern::Always, rng).unwrap();
            reset(dut);
            for _ in 0..5 {
                let bytes = rng.bytes(130);
                input.send(bytes.clone());
                (0..8).for_each(|_| cycle(dut, &mut [&mut input, &mut out]));
                assert_eq!(out.take().expect("it goes out").bytes, bytes);
            }
        });
    }
}

/// What was sent: tag and time.
struct Completions {
    ports: [PortId; 4],
    offers: VecDeque<(u64, u64)>,
    offered: bool,
    gate: tb::Gate,
}

impl Agent for Completions {
    fn drive(&mut self, dut: &mut Dut) {
        let [valid, ts, tag, _] = self.ports;
        let open = self.gate.is_open();
        self.offered = !self.offers.is_empty() && (self.offered || open);
        dut.set(valid, self.offered);
        if let Some(&(offer_tag, time)) = self.offers.front() {
            dut.set_wide(ts, &[time, 7]);
            dut.set(tag, offer_tag);
        }
    }

    fn sample(&mut self, dut: &Dut) {
        if self.offered && dut.sampled(self.ports[3]) != 0 {
            self.offers.pop_front();
            self.offered = false;
        }
    }
}

/// The lower bits; the upper ones are always the same.
fn time(dut: &Dut, port: PortId) -> u64 {
    let mut words = [0; 2];
    dut.sampled_wide(port, &mut words);
    assert_eq!(words[1], 7);
    words[0]
}

struct Taken {
    ports: [PortId; 4],
    gate: tb::Gate,
    came: Vec<(u64, u64)>,
    ended: [PortId; 2],
    own: Vec<u64>,
}

impl Agent for Taken {
    fn drive(&mut self, dut: &mut Dut) {
        let open = self.gate.is_open();
        dut.set(self.ports[3], open);
    }

    fn sample(&mut self, dut: &Dut) {
        let [valid, ts, tag, ready] = self.ports;
        if dut.sampled(valid) != 0 && dut.sampled(ready) != 0 {
            self.came.push((dut.sampled(tag), time(dut, ts)));
        }
        if dut.sampled(self.ended[0]) != 0 {
            self.own.push(time(dut, self.ended[1]));
        }
    }
}

#[test]
fn frames_of_both_sides_go_out_whole_and_in_turn() {
    let design = join();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("frames::join {idle:?} {stall:?}"), &design, |dut, rng| {
            let mut host = AxisDriver::new(dut, "s_axis", idle, rng).unwrap();
            let mut nic = AxisDriver::new(dut, "ours", idle, rng).unwrap();
            let mut out = AxisMonitor::new(dut, "m_axis", stall, rng).unwrap();
            let [mut injected, mut passed] = ["injected", "passed"].map(|name| Pulses::new(dut, name));
            reset(dut);
            let mut wanted = [VecDeque::new(), VecDeque::new()];
            for i in 0..300usize {
                let len = *rng.pick(&[1, 60, 64, 65, 128, 700]);
                let mut bytes = rng.bytes(len);
                // Whose it is, in its first bit.
                bytes[0] = bytes[0] & !1 | (i & 1) as u8;
                let user = u128::from(rng.bits(32) | 1 << 31);
                if i & 1 == 0 {
                    host.send_with_user(bytes.clone(), user);
                    wanted[0].push_back((bytes, user));
                } else {
                    nic.send(bytes.clone());
                    wanted[1].push_back((bytes, 0));
                }
            }
            let mut turns = Vec::new();
            let mut clocks = 0;
            while wanted.iter().any(|wanted| !wanted.is_empty()) {
                cycle(dut, &mut [&mut host, &mut nic, &mut out, &mut injected, &mut passed]);
                clocks += 1;
                assert!(clocks < 100_000, "frames that do not come");
                while let Some(frame) = out.take() {
                    let side = usize::from(frame.bytes[0] & 1);
                    turns.push(side);
                    let next = wanted[side].pop_front().expect("a frame too many");
                    assert_eq!((frame.bytes, frame.user), next, "of side {side}");
                }
            }
            assert_eq!([passed.1, injected.1], [150, 150]);
            if idle == Pattern::Always {
                // Both wait all the time.
                let alike = turns[..280].windows(2).filter(|pair| pair[0] == pair[1]).count();
                assert!(alike <= 1, "{alike} times a side went twice: {turns:?}");
            }
        });
    }
}

#[test]
fn completions_of_the_host_go_on_and_ours_end() {
    let design = join();
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("frames::completions {idle:?} {stall:?}"), &design, |dut, rng| {
            let ports = |dut: &Dut, from: &str| {
                ["valid", "ts", "tag", "ready"].map(|name| dut.port(&format!("{from}_cpl_{name}")).unwrap())
            };
            let top = dut.port("tag_top").unwrap();
            dut.set(top, 1u64 << 15);
            let offers: VecDeque<_> = (0..200).map(|time| (rng.bits(16), time)).collect();
            let mut offer = Completions {
                ports: ports(dut, "s"),
                offers: offers.clone(),
                offered: false,
                gate: idle.gate(rng.fork()),
            };
            let ended = ["ended", "ended_ts"].map(|name| dut.port(name).unwrap());
            let gate = stall.gate(rng.fork());
            let mut taken = Taken { ports: ports(dut, "m"), gate, came: Vec::new(), ended, own: Vec::new() };
            reset(dut);
            for _ in 0..4000 {
                cycle(dut, &mut [&mut offer, &mut taken]);
            }
            let hosts: Vec<_> = offers.iter().copied().filter(|offer| offer.0 >> 15 == 1).collect();
            let own: Vec<_> = offers.iter().filter(|offer| offer.0 >> 15 == 0).map(|offer| offer.1).collect();
            assert_eq!((taken.came, taken.own), (hosts, own));
        });
    }
}
