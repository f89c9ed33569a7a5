//! `host::DmaGate` and `host::SoftReset`: what passes a port that closes, and
//! when the core may be reset. The references count for themselves.

use std::collections::VecDeque;
use tessera_rtl::host::dma_gate::DmaGate;
use tessera_rtl::host::soft_reset::SoftReset;
use tessera_sim::tb::{self, Pattern, Rng};
use tessera_sim::verilator::{Dut, PortId};

fn ports<const N: usize>(dut: &Dut, names: [&str; N]) -> [PortId; N] {
    names.map(|name| dut.port(name).unwrap())
}

/// One valid/ready pair through a gate, from outside.
#[derive(Default)]
struct Offer {
    /// Offered and not taken at the last edge.
    stuck: bool,
}

impl Offer {
    /// After an edge: whether it moved. What is on offer must stay.
    #[track_caller]
    fn sample(&mut self, what: &str, valid: bool, ready: bool) -> bool {
        assert!(!self.stuck || valid, "{what}: an offer was taken back");
        self.stuck = valid && !ready;
        valid && ready
    }
}

/// Descriptors, beats and statuses of a DMA direction, at random, with the port
/// closed at random; every descriptor has 1 to 3 beats. `ahead`: beats may be
/// taken before their descriptor, as of completions.
fn gate(dut: &mut Dut, rng: &mut Rng, (offers, takes): (Pattern, Pattern), ahead: bool) {
    let [closed, status, quiet] = ports(dut, ["closed", "status", "quiet"]);
    let [in_desc, desc_ready, out_desc, take_desc] =
        ports(dut, ["in_desc_valid", "in_desc_ready", "out_desc_valid", "out_desc_ready"]);
    let [in_data, in_last, data_ready, out_data, take_data] =
        ports(dut, ["in_data_valid", "in_data_last", "in_data_ready", "out_data_valid", "out_data_ready"]);
    for port in [closed, status, in_desc, take_desc, in_data, in_last, take_data] {
        dut.set(port, 0u64);
    }
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 2);
    let (mut desc_gate, mut data_gate) = (offers.gate(rng.fork()), offers.gate(rng.fork()));
    let (mut desc_takes, mut data_takes) = (takes.gate(rng.fork()), takes.gate(rng.fork()));
    // What the core (or, for data of reads, the host) wants to move: beats of each
    // descriptor that was offered.
    let mut beats: VecDeque<u64> = VecDeque::new();
    let (mut offering_desc, mut offering_data) = (false, false);
    let (mut desc_offer, mut data_offer) = (Offer::default(), Offer::default());
    let (mut taken, mut ended, mut answered) = (0u64, 0u64, 0u64);
    let mut is_closed = false;
    // Descriptors that may pass a closed port: the one on offer when it closed.
    let mut excused = 0;
    let (mut closings, mut quiets, mut held_closings, mut passed_closed) = (0, 0, 0, 0);
    let mut was_quiet = false;
    for _ in 0..6000 {
        let was_closed = is_closed;
        if is_closed {
            // Most times all ends before it opens.
            is_closed = !rng.chance(if was_quiet { 0.2 } else { 0.002 });
        } else {
            is_closed = rng.chance(0.03);
        }
        if is_closed && !was_closed {
            closings += 1;
            excused = u64::from(desc_offer.stuck);
            held_closings += excused;
        }
        // A core that has a descriptor has its beats too.
        if !offering_desc && desc_gate.is_open() {
            offering_desc = true;
            beats.push_back(if ahead { 1 } else { rng.range(1..4) });
        }
        let may = beats.len() as u64 > u64::from(offering_desc && !ahead);
        offering_data = may && (offering_data || data_gate.is_open());
        let last = beats.front() == Some(&1);
        let answers = answered < ended && answered < taken && rng.chance(0.5);
        dut.set(closed, is_closed);
        dut.set(in_desc, offering_desc);
        dut.set(take_desc, desc_takes.is_open());
        dut.set(in_data, offering_data);
        dut.set(in_last, last);
        dut.set(take_data, data_takes.is_open());
        dut.set(status, answers);
        dut.clock();
        let is = |port| dut.sampled(port) != 0;
        // Open, it is not there.
        if !is_closed {
            assert_eq!((is(out_desc), is(desc_ready)), (is(in_desc), is(take_desc)), "descriptor");
            assert_eq!((is(out_data), is(data_ready)), (is(in_data), is(take_data)), "beat");
        }
        // Both sides agree.
        assert_eq!(
            is(out_desc) && is(take_desc),
            is(in_desc) && is(desc_ready),
            "descriptor at one side only"
        );
        assert_eq!(is(out_data) && is(take_data), is(in_data) && is(data_ready), "beat at one side only");
        let idle = taken == ended && taken == answered && !desc_offer.stuck && !data_offer.stuck;
        assert_eq!(is(quiet), idle, "quiet: {taken} taken, {ended} ended, {answered} answered");
        was_quiet = is(quiet);
        quiets += u64::from(was_quiet && is_closed);
        let owed = ended < taken;
        let data_was_stuck = data_offer.stuck;
        if desc_offer.sample("descriptor", is(out_desc), is(take_desc)) {
            if is_closed {
                assert!(excused > 0, "a new descriptor passed a closed port");
                excused -= 1;
                passed_closed += 1;
            }
            taken += 1;
            offering_desc = false;
        }
        if is_closed && is(out_data) {
            assert!(owed || data_was_stuck, "a beat of no descriptor passed a closed port");
        }
        if is_closed && owed && is(in_data) {
            assert!(is(out_data), "a beat that is owed is held back");
        }
        if data_offer.sample("beat", is(out_data), is(take_data)) {
            offering_data = false;
            let left = beats.front_mut().expect("a beat of nothing");
            *left -= 1;
            if *left == 0 {
                beats.pop_front();
                ended += 1;
            }
        }
        answered += u64::from(answers);
    }
    assert!(
        closings > 20 && quiets > 50 && taken > 100,
        "{closings} closings, {quiets} quiet, {taken} taken"
    );
    // In step with each other, both sides never meet a refusal.
    if matches!(takes, Pattern::Random(_) | Pattern::Bursty) {
        assert!(held_closings > 0 && passed_closed > 0, "no descriptor was on offer when the port closed");
    }
}

//= RS-1 test
#[test]
fn a_gate_closes_between_accesses() {
    let design = tessera_testbenches::design("dma_gate", DmaGate::new);
    for patterns in Pattern::matrix() {
        for ahead in [false, true] {
            tb::run(&format!("soft_reset::gate {patterns:?} {ahead}"), &design, |dut, rng| {
                gate(dut, rng, patterns, ahead);
            });
        }
    }
}

#[test]
fn a_status_nobody_waits_for_is_ignored() {
    let design = tessera_testbenches::design("dma_gate", DmaGate::new);
    tb::run("soft_reset::spare status", &design, |dut, _| {
        let inputs =
            ports(dut, ["closed", "in_desc_valid", "out_desc_ready", "in_data_valid", "in_data_last"]);
        let [status, quiet, take_data, rst] = ports(dut, ["status", "quiet", "out_data_ready", "rst"]);
        inputs.into_iter().chain([take_data]).for_each(|port| dut.set(port, 0u64));
        dut.set(status, 1u64);
        dut.reset(rst, 2);
        dut.clock_by(3);
        assert_eq!(dut.get(quiet), 1);
        // One descriptor of one beat needs a status of its own.
        dut.set(status, 0u64);
        inputs[1..].iter().chain([&take_data]).for_each(|&port| dut.set(port, 1u64));
        dut.clock();
        inputs.into_iter().for_each(|port| dut.set(port, 0u64));
        dut.clock_by(9);
        assert_eq!(dut.get(quiet), 0);
        dut.set(status, 1u64);
        dut.clock();
        assert_eq!(dut.get(quiet), 1);
    });
}

/// Frames in the making: whether one has begun, and how many beats it still has.
struct Frames {
    left: u64,
    inside: bool,
}

impl Frames {
    fn new() -> Self {
        Self { left: 0, inside: false }
    }
    /// The next beat is there; is it the last?
    fn last(&mut self, rng: &mut Rng) -> bool {
        if self.left == 0 {
            self.left = rng.range(1..6);
        }
        self.left == 1
    }
    fn moved(&mut self) {
        self.left -= 1;
        self.inside = self.left > 0;
    }
}

//= RS-1 test
//= RS-3 test
#[test]
fn the_core_is_reset_when_its_neighbours_are_done() {
    let design = tessera_testbenches::design("soft_reset", SoftReset::new);
    for (idle, stall) in Pattern::matrix() {
        tb::run(&format!("soft_reset::core {idle:?} {stall:?}"), &design, |dut, rng| {
            resets(dut, rng, idle, stall)
        });
    }
}

fn resets(dut: &mut Dut, rng: &mut Rng, idle: Pattern, stall: Pattern) {
    let [start, ended, core_rst, keeps, closed, quiet, waits, rst] =
        ports(dut, ["start", "ended", "core_rst", "keeps", "closed", "quiet", "waits", "rst"]);
    let [rx_valid, rx_last, core_rx] = ports(dut, ["rx_valid", "rx_last", "core_rx_valid"]);
    let [core_tx, core_last, core_ready, tx_valid, tx_ready] =
        ports(dut, ["core_tx_valid", "core_tx_last", "core_tx_ready", "tx_valid", "tx_ready"]);
    for port in [start, quiet, rx_valid, rx_last, core_tx, core_last, tx_ready] {
        dut.set(port, 0u64);
    }
    // As at power-on: high with `rst` and 8 clocks longer, and nothing is kept.
    dut.reset(rst, 2);
    for clock in 0..8 {
        dut.clock();
        assert_eq!((dut.sampled(core_rst), dut.sampled(keeps)), (1, 0), "clock {clock} after power-on");
        assert_eq!(dut.sampled(closed), 1);
    }
    let (mut rx_gate, mut tx_gate, mut mac) =
        (idle.gate(rng.fork()), idle.gate(rng.fork()), stall.gate(rng.fork()));
    let (mut coming, mut going) = (Frames::new(), Frames::new());
    let (mut core_frame, mut core_offers) = (Frames::new(), false);
    let mut tx_offer = Offer::default();
    // What the core takes for a frame: it sees the frame's first beat first.
    let mut core_inside = false;
    let mut draining = false;
    let mut was_rst = true;
    let mut rst_clocks = 8;
    let (mut count, mut cut, mut swallowed, mut half_out) = (0, 0, 0, 0);
    let mut busy = 0u64;
    let mut since = 0;
    for _ in 0..8000 {
        since += 1;
        let asks = !draining && !was_rst && since > 30 && rng.chance(0.02);
        // Neighbours end in any order, and with the ports closed they begin nothing.
        if draining {
            busy &= if rng.chance(0.1) { rng.below(16) } else { 15 };
        } else {
            busy = rng.below(16);
        }
        let rx = rx_gate.is_open();
        let last_in = coming.last(rng);
        let first_in = !coming.inside;
        core_offers = !was_rst && (core_offers || tx_gate.is_open());
        let last_out = core_frame.last(rng);
        dut.set(start, asks);
        dut.set(quiet, !busy & 15);
        dut.set(rx_valid, rx);
        dut.set(rx_last, last_in);
        dut.set(core_tx, core_offers);
        dut.set(core_last, last_out);
        dut.set(tx_ready, mac.is_open());
        dut.clock();
        let get = |port| dut.sampled(port);
        let is = |port| dut.sampled(port) != 0;
        let now_rst = is(core_rst);
        assert_eq!(is(closed), draining || now_rst, "the ports are closed when nothing is reset, or open");
        let tx_busy = going.inside || tx_offer.stuck;
        let want = if draining && !now_rst { busy << 1 | u64::from(tx_busy) } else { 0 };
        assert_eq!(get(waits), want, "waits");
        if now_rst && !was_rst {
            assert!(draining, "the core is reset for nothing");
            assert!(
                !tx_busy && busy == 0,
                "the core is reset while {busy:#x} are busy, or a frame is half out"
            );
            assert!(is(keeps), "a soft reset is not that of power-on");
            (draining, core_inside, rst_clocks) = (false, false, 0);
            core_frame = Frames::new();
            core_offers = false;
            count += 1;
        }
        rst_clocks += u64::from(now_rst);
        assert_eq!(is(ended), was_rst && !now_rst, "ended");
        if is(ended) {
            assert!(rst_clocks >= 8, "{rst_clocks} clocks of reset");
            since = 0;
        }

        // To the MAC: whole frames; from the core as it is while open.
        let moved = tx_offer.sample("frame", is(tx_valid), is(tx_ready));
        assert_eq!(moved, is(core_tx) && is(core_ready), "a beat at one side only");
        if moved {
            assert!(!is(closed) || going.inside || tx_busy, "a frame begins with the ports closed");
            half_out += u64::from(is(closed));
            core_offers = false;
            core_frame.moved();
            going.inside = !last_out;
        }
        if !is(closed) {
            assert_eq!((is(tx_valid), is(core_ready)), (is(core_tx), is(tx_ready)));
        }

        // From the MAC: the core sees frames from their beginning, all of those that
        // begin while it is open.
        if rx {
            if is(core_rx) {
                assert!(
                    !is(closed) && (core_inside || first_in),
                    "the core sees a frame without its beginning"
                );
                core_inside = !last_in;
            } else {
                assert!(is(closed) || !core_inside, "a frame was cut without a reset");
                assert!(is(closed) || !first_in, "a frame was thrown away without a reset");
                swallowed += 1;
                cut += u64::from(core_inside);
                core_inside = false;
            }
            coming.moved();
        }
        draining |= asks;
        was_rst = now_rst;
    }
    assert!(count > 20, "{count} resets");
    assert!(swallowed > 50 && cut > 0, "{swallowed} beats thrown away, {cut} frames cut");
    assert!(half_out > 0, "no frame was half out");
    // Power-on forgets that one was soft.
    dut.reset(rst, 2);
    dut.clock();
    assert_eq!((dut.sampled(keeps), dut.sampled(closed)), (0, 1));
}
