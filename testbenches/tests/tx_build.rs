//! `wire::TxBuild` and its narrow sibling against `abi::wire::emit`, bit for bit, and their rate.

use std::collections::VecDeque;
use tessera_abi::params::NIC512;
use tessera_abi::wire::{fb, flag, Form, Trh, ICRC_LEN, NO_SAMPLE, QKEY_OWN};
use tessera_rtl::wire::narrow::NarrowTxBuild;
use tessera_rtl::wire::TxBuild;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::packets::{self, Layout, Packet, HERE, NARROW, THERE, WIDE};

/// One of the two blocks and what its contract says.
struct Width {
    /// Bytes of a beat.
    size: usize,
    /// Clocks from the acceptance of a packet to its first beat's acceptance.
    latency: u64,
    /// Beats of others that may be ahead of a packet when it is taken.
    ahead: u64,
}

impl Width {
    /// Beats of a frame of so many bytes.
    fn beats(&self, bytes: usize) -> u64 {
        bytes.div_ceil(self.size) as u64
    }
}

const WIDTHS: [Width; 2] =
    [Width { size: WIDE, latency: 5, ahead: 8 }, Width { size: NARROW, latency: 3, ahead: 2 }];

fn design(width: &Width) -> Design {
    match width.size {
        WIDE => tessera_testbenches::design("tx_build", || TxBuild::new(&NIC512)),
        _ => tessera_testbenches::design("narrow_tx_build", || NarrowTxBuild::new(&NIC512)),
    }
}

/// On the block with beats of this size.
fn on(size: usize, name: &str, test: impl Fn(&mut Dut, &mut Rng, &Width)) {
    let width = WIDTHS.iter().find(|width| width.size == size).expect("a width");
    tb::run(&format!("tx_build::{name} {size}"), &design(width), |dut, rng| test(dut, rng, width));
}

tessera_testbenches::both_widths!(
    frames_are_those_of_the_emitter,
    every_length_class_is_exact,
    one_beat_per_clock_from_packet_to_packet,
    one_beat_per_clock_over_ipv6_too,
    the_shortest_frames_follow_each_other,
    feedback_goes_first,
    delays_stop_short_of_no_sample,
    timestamps_are_taken_late,
);

/// What is to be built.
#[derive(Clone, Debug)]
enum Item {
    Rm(Packet),
    /// A datagram: its place, PSN, Q_Key as asked for, traffic class and hops.
    Ud {
        slot: u16,
        psn: u32,
        qkey: u32,
        tos: u8,
        hops: u8,
        immediate: Option<u32>,
        payload: Vec<u8>,
    },
}

/// Everything around the block: sources, the sink, and what is due.
struct Bench<'a> {
    dut: &'a mut Dut,
    size: usize,
    rng: Rng,
    feedback: StreamDriver,
    built: StreamDriver,
    payload: StreamDriver,
    frame: StreamMonitor,
    packet: Layout,
    answer: Layout,
    now: u32,
    step: u32,
    /// Queued at the inputs: the packet, and for FEEDBACK the answered arrival.
    feedback_queue: VecDeque<(Form, Packet, Option<u32>)>,
    built_queue: VecDeque<(Form, Item)>,
    /// Frames due, in the order in which packets were taken.
    due: VecDeque<(Vec<u8>, Item)>,
    /// Their tags: due with the first beats.
    tags: VecDeque<Option<u64>>,
    taken: VecDeque<u64>,
    sent: VecDeque<(u16, bool)>,
    counts: [u64; 7],
    expected_counts: [u64; 7],
    ports: Ports,
    /// What the registers of classes say: DSCPs, logarithms of lengths.
    dscps: [u8; 5],
    class_sizes: [u32; 3],
    bytes: Vec<u8>,
    finished: u64,
    /// Clocks of first and last beats of frames.
    firsts: Vec<u64>,
    lasts: Vec<u64>,
}

struct Ports {
    now: PortId,
    ev: PortId,
    asks: PortId,
    take: PortId,
    gid: PortId,
    kind: PortId,
    feedback: PortId,
    sent: PortId,
    slot: PortId,
    ud: PortId,
    error: PortId,
    tag: [PortId; 3],
    events: [PortId; 7],
}

/// The tag is another block's business.
fn untagged(form: Form) -> Form {
    Form { tagged: false, ..form }
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let feedback = StreamDriver::new(dut, "feedback", idle, rng).unwrap();
        let built = StreamDriver::new(dut, "built", idle, rng).unwrap();
        // A packet offered is in the buffer whole: payload never makes it wait.
        let payload = StreamDriver::new(dut, "payload", Pattern::Always, rng).unwrap();
        let frame = StreamMonitor::new(dut, "frame", stall, rng).unwrap();
        for name in ["feedback_valid", "built_valid", "payload_valid"] {
            let port = dut.port(name).unwrap();
            dut.set(port, 0u64);
        }
        packets::set_up(dut, &HERE);
        let dscps: [u8; 5] = std::array::from_fn(|_| rng.bits(6) as u8);
        // Lengths are drawn evenly by their number of bits, too.
        let class_sizes: [u32; 3] = std::array::from_fn(|_| rng.below(32) as u32);
        let packed = |values: &[u64], width: usize| -> u64 {
            values.iter().enumerate().map(|(i, value)| value << (i * width)).sum()
        };
        let settings = [
            ("settings.dscp", packed(&dscps.map(u64::from), 6)),
            ("settings.class_sizes", packed(&class_sizes.map(u64::from), 5)),
        ];
        for (name, value) in settings {
            let port = dut.port(name).unwrap();
            dut.set(port, value);
        }
        let port = |name: &str| dut.port(name).unwrap();
        let ports = Ports {
            now: port("now"),
            ev: port("ev"),
            asks: port("ev_asks"),
            take: port("ev_take"),
            gid: port("ev_gid"),
            kind: port("ev_kind"),
            feedback: port("feedback_valid"),
            sent: port("sent.valid"),
            slot: port("sent.slot"),
            ud: port("sent.ud"),
            tag: ["tag_valid", "tag_data.valid", "tag_data.tci"].map(port),
            error: port("sent.error"),
            events: [
                "tx_data",
                "tx_retransmitted",
                "tx_probe",
                "tx_feedback",
                "tx_nack",
                "tx_ud",
                "tx_release",
            ]
            .map(port),
        };
        let (packet, answer) = (Layout::of(dut, "built_data"), Layout::of(dut, "feedback_data"));
        Bench {
            feedback,
            built,
            payload,
            frame,
            packet,
            answer,
            now: rng.bits(32) as u32,
            step: 0,
            rng: rng.fork(),
            feedback_queue: VecDeque::new(),
            built_queue: VecDeque::new(),
            due: VecDeque::new(),
            tags: VecDeque::new(),
            taken: VecDeque::new(),
            sent: VecDeque::new(),
            counts: [0; 7],
            expected_counts: [0; 7],
            ports,
            dscps,
            class_sizes,
            bytes: Vec::new(),
            finished: 0,
            firsts: Vec::new(),
            lasts: Vec::new(),
            size: packets::beat_size(dut, "frame_data"),
            dut,
        }
    }

    /// By TX-16.
    fn tos(&self, length: Option<u32>) -> u8 {
        let above = |length: u64| self.class_sizes.iter().filter(|&&log2| length > 1 << log2).count();
        let dscp = length.map_or(self.dscps[0], |length| self.dscps[1 + above(length.into())]);
        dscp << 2 | 0x02
    }

    fn send(&mut self, packet: Packet) {
        self.send_in(Form::ALL[0], packet);
    }

    fn send_in(&mut self, form: Form, packet: Packet) {
        if let Trh::Feedback(_) = packet.trh {
            let sample =
                *self.rng.pick(&[None, Some(0), Some(1), Some(0xFFFD), Some(0x1_0000), Some(u32::MAX)]);
            self.send_feedback(form, packet, sample);
            return;
        }
        if let Trh::Release(_) = packet.trh {
            self.send_release(form, packet);
            return;
        }
        self.built.send(packets::tx_packet(&self.packet, form, &THERE, &HERE, &packet));
        self.send_payload(&packet.payload);
        self.built_queue.push_back((form, Item::Rm(packet)));
    }

    fn send_datagram(&mut self, form: Form, length: usize) {
        let rng = &mut self.rng;
        let item = Item::Ud {
            slot: rng.bits(6) as u16,
            psn: rng.bits(24) as u32,
            qkey: rng.bits(32) as u32,
            tos: rng.bits(8) as u8,
            hops: rng.bits(8) as u8,
            immediate: rng.chance(0.5).then(|| rng.bits(32) as u32),
            payload: rng.bytes(length),
        };
        let Item::Ud { slot, psn, qkey, tos, hops, immediate, payload } = &item else { unreachable!() };
        let (layout, mut word) = (&self.packet, self.packet.word());
        packets::put_destination(layout, &mut word, form, &THERE);
        for (name, value) in [
            ("ud", 1),
            ("dst_endpoint", u64::from(THERE.endpoint)),
            ("qkey", (*qkey).into()),
            ("endpoint", (HERE.endpoint & 0xFF).into()),
            ("flags", if immediate.is_some() { flag::IMM.into() } else { 0 }),
            ("slot", (*slot).into()),
            ("index", (*psn).into()),
            ("tag", u64::from(*tos) | u64::from(*hops) << 8),
            ("imm", immediate.unwrap_or(0x5555_5555).into()),
            ("payload_len", payload.len() as u64),
        ] {
            layout.put(&mut word, name, value);
        }
        self.built.send(word);
        self.send_payload(payload);
        self.built_queue.push_back((form, item));
    }

    /// Host memory beyond the payload must not reach the wire.
    fn send_payload(&mut self, payload: &[u8]) {
        for mut beat in packets::beats_of(payload, self.size) {
            packets::fill(&mut beat, || 0xA5);
            self.payload.send(beat);
        }
    }

    /// A RELEASE, beside which every other field of the word holds garbage.
    fn send_release(&mut self, form: Form, packet: Packet) {
        let Trh::Release(header) = packet.trh else { unreachable!() };
        let (layout, mut word) = (&self.answer, self.answer.word());
        for name in ["flags", "ev_echo", "status", "cumulative", "sequence", "grant", "duplicates", "base"] {
            layout.put(&mut word, name, self.rng.bits(8));
        }
        layout.put(&mut word, "sample", self.rng.bits(1));
        packets::put_destination(layout, &mut word, form, &THERE);
        layout.put(&mut word, "release", 1u64);
        layout.put(&mut word, "dst_endpoint", THERE.endpoint);
        layout.put(&mut word, "endpoint", HERE.endpoint & 0xFF);
        layout.put(&mut word, "slot", header.message.slot());
        layout.put(&mut word, "generation", header.message.generation());
        self.feedback.send(word);
        self.feedback_queue.push_back((form, packet, None));
    }

    /// `age`: how long ago, at the present time, the packet answered arrived.
    fn send_feedback(&mut self, form: Form, packet: Packet, age: Option<u32>) {
        let Trh::Feedback(header) = packet.trh else { unreachable!() };
        let arrival = age.map(|age| self.now.wrapping_sub(age));
        let (layout, mut word) = (&self.answer, self.answer.word());
        packets::put_destination(layout, &mut word, form, &THERE);
        layout.put(&mut word, "dst_endpoint", THERE.endpoint);
        layout.put(&mut word, "endpoint", HERE.endpoint & 0xFF);
        layout.put(&mut word, "flags", header.flags);
        layout.put(&mut word, "ev_echo", header.ev);
        layout.put(&mut word, "status", header.status);
        layout.put(&mut word, "slot", header.message.slot());
        layout.put(&mut word, "generation", header.message.generation());
        layout.put(&mut word, "cumulative", header.cumulative);
        layout.put(&mut word, "sequence", header.sequence);
        layout.put(&mut word, "grant", header.grant);
        layout.put(&mut word, "duplicates", header.duplicates);
        layout.put(&mut word, "base", header.base);
        layout.put(&mut word, "limit", header.limit);
        layout.put(&mut word, "sample", arrival.is_some());
        layout.put(&mut word, "arrival", arrival.unwrap_or(self.now));
        layout.put(&mut word, "echo", header.echo);
        let bitmap: Vec<u8> = header.bitmap.iter().rev().copied().collect();
        layout.put_bytes(&mut word, "bitmap", &bitmap);
        self.feedback.send(word);
        self.feedback_queue.push_back((form, packet, arrival));
    }

    /// What the block has to make of the packet it took at this edge.
    /// Returns the kind it must have told the path scheduler, and to whom.
    fn take(&mut self, ev: u8, asks: bool) -> (u64, Form) {
        let (form, frame, item);
        let mut told = 3;
        if self.dut.sampled(self.ports.feedback) == 1 {
            let (sent_in, mut packet, arrival) =
                self.feedback_queue.pop_front().expect("FEEDBACK was waiting");
            match &mut packet.trh {
                Trh::Feedback(header) => {
                    (header.delay, header.echo) = match arrival {
                        None => (NO_SAMPLE, 0),
                        Some(arrival) => {
                            let age = self.now.wrapping_sub(arrival);
                            (age.min(u32::from(NO_SAMPLE) - 1) as u16, header.echo)
                        }
                    };
                    self.expected_counts[3] += 1;
                    self.expected_counts[4] += u64::from(header.flags & fb::NACK != 0);
                }
                Trh::Release(header) => {
                    (header.ev, header.timestamp) = (ev, self.now);
                    self.expected_counts[6] += 1;
                }
                Trh::Data(_) => unreachable!(),
            }
            form = sent_in;
            let mut route = packets::route_in(untagged(form), &HERE, &THERE, ev, 0);
            route.qkey = HERE.qkey;
            route.tos = self.tos(None);
            frame = packets::frame(&route, &packet);
            item = Item::Rm(packet);
        } else {
            let (sent_in, queued) = self.built_queue.pop_front().expect("a packet was waiting");
            form = sent_in;
            (frame, item) = match queued {
                Item::Rm(mut packet) => {
                    let Trh::Data(header) = &mut packet.trh else { unreachable!() };
                    header.ev = ev;
                    header.flags |= if asks { flag::AR } else { 0 };
                    header.timestamp = self.now;
                    let kind = if header.probe { 2 } else { usize::from(header.flags & flag::RETX != 0) };
                    self.expected_counts[kind] += 1;
                    told = kind as u64;
                    let mut route = packets::route_in(untagged(form), &HERE, &THERE, ev, header.index);
                    route.tos = self.tos(Some(header.length));
                    (packets::frame(&route, &packet), Item::Rm(packet))
                }
                Item::Ud { psn, qkey, tos, hops, immediate, ref payload, .. } => {
                    self.expected_counts[5] += 1;
                    let mut route = packets::route_in(untagged(form), &HERE, &THERE, ev, psn);
                    (route.tos, route.hop_limit) = (tos, hops);
                    route.qkey = if qkey & QKEY_OWN != 0 { HERE.qkey } else { qkey };
                    (packets::datagram(&route, immediate, payload), queued)
                }
            };
        }
        self.taken.push_back(self.dut.cycles());
        self.tags.push_back(form.tagged.then_some(u64::from(0xA000 | packets::VLAN)));
        self.due.push_back((frame, item));
        (told, form)
    }

    fn clock(&mut self) {
        self.now = self.now.wrapping_add(self.step);
        self.dut.set(self.ports.now, self.now);
        cycle(self.dut, &mut [&mut self.feedback, &mut self.built, &mut self.payload, &mut self.frame]);
        if self.dut.sampled(self.ports.take) == 1 {
            // Its value comes in the next clock, and stays until the next take.
            let (ev, asks) = (self.rng.bits(8) as u8, self.rng.below(4) == 0);
            self.dut.set(self.ports.ev, ev);
            let kind = self.dut.sampled(self.ports.kind);
            let mut gid = [0; 2];
            self.dut.sampled_wide(self.ports.gid, &mut gid);
            let asks = asks && kind < 2;
            self.dut.set(self.ports.asks, asks);
            let (told, form) = self.take(ev, asks);
            let there = u128::from_be_bytes(THERE.gid(form));
            assert_eq!(gid, [there as u64, (there >> 64) as u64]);
            assert_eq!(kind, told);
        }
        if self.dut.sampled(self.ports.sent) == 1 {
            assert_eq!(self.dut.sampled(self.ports.error), 0);
            let (slot, ud) = self.sent.pop_front().expect("no packet left for this `sent`");
            assert_eq!(self.dut.sampled(self.ports.slot), u64::from(slot));
            assert_eq!(self.dut.sampled(self.ports.ud), u64::from(ud));
        }
        let [given, valid, tci] = self.ports.tag.map(|port| self.dut.sampled(port));
        if given == 1 {
            let tag = self.tags.pop_front().expect("a tag for a frame");
            assert_eq!((valid == 1).then_some(tci), tag, "the tag of the frame that begins");
        }
        for (count, port) in self.counts.iter_mut().zip(self.ports.events) {
            *count += self.dut.sampled(port);
        }
        while let Some((at, transfer)) = self.frame.take_timed() {
            if self.bytes.is_empty() {
                self.firsts.push(at);
            }
            let (bytes, last) = packets::beat_bytes(&transfer.word);
            if self.size == WIDE {
                let mut rest = bytes.len()..WIDE;
                assert!(rest.all(|at| transfer.word.bits(8 * at, 8) == 0), "no zeros behind a frame's end");
            }
            self.bytes.extend(bytes);
            if last {
                self.lasts.push(at);
                let (frame, packet) = self.due.pop_front().expect("a frame nobody asked for");
                assert_eq!(self.bytes, frame[..frame.len() - ICRC_LEN], "{packet:?}");
                match packet {
                    Item::Rm(packet) => {
                        if let Trh::Data(header) = packet.trh {
                            self.sent.push_back((header.message.slot(), false));
                        }
                    }
                    Item::Ud { slot, .. } => self.sent.push_back((slot, true)),
                }
                self.bytes.clear();
                self.finished += 1;
            }
        }
    }

    fn run(&mut self, frames: u64) {
        let mut clocks = 0;
        while self.finished < frames {
            self.clock();
            clocks += 1;
            let limit = 2000 + frames * 600 * (WIDE / self.size) as u64;
            assert!(clocks < limit, "{} of {frames} frames", self.finished);
        }
        self.clock();
        self.clock();
        assert!(self.tags.is_empty(), "{} tags are missing", self.tags.len());
        assert!(self.sent.is_empty(), "`sent` is missing for {:?}", self.sent);
        assert_eq!(
            self.counts, self.expected_counts,
            "data, retransmitted, probe, feedback, nack, ud, release"
        );
    }
}

fn frames_are_those_of_the_emitter(size: usize) {
    for (idle, stall) in Pattern::matrix() {
        on(size, &format!("frames {idle:?} {stall:?}"), |dut, rng, _| {
            let mut bench = Bench::new(dut, idle, stall, rng);
            bench.step = rng.below(3) as u32;
            for _ in 0..150 {
                let form = packets::any_form(rng);
                if rng.chance(0.25) {
                    bench.send_datagram(form, packets::any_length(rng));
                } else {
                    bench.send_in(form, packets::any(rng));
                }
            }
            bench.run(150);
        });
    }
}

fn every_length_class_is_exact(size: usize) {
    on(size, "lengths", |dut, rng, _| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for form in Form::ALL {
            for length in packets::EDGE_LENGTHS {
                bench.send_in(form, packets::data(rng, *length));
                bench.send_datagram(form, *length);
            }
        }
        bench.run(8 * packets::EDGE_LENGTHS.len() as u64);
    });
}

/// 66 beats for 4096 bytes (narrow ones 263), two for a small packet (7), no clock between frames.
fn one_beat_per_clock_from_packet_to_packet(size: usize) {
    on(size, "rate", |dut, rng, width| {
        for lengths in
            [vec![4096; 6], vec![1; 60], vec![0; 60], vec![26, 4096, 3, 64, 27, 4000, 12, 7, 9, 2000]]
        {
            let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
            for length in &lengths {
                let packet = packets::data(rng, *length);
                bench.send(packet);
            }
            bench.run(lengths.len() as u64);
            assert_eq!(bench.firsts[0] - bench.taken[0], width.latency, "latency");
            for (i, length) in lengths.iter().enumerate() {
                let beats = width.beats(102 + length.next_multiple_of(4));
                assert_eq!(bench.lasts[i] - bench.firsts[i] + 1, beats, "beats of {length} bytes");
                if i > 0 {
                    assert_eq!(bench.firsts[i], bench.lasts[i - 1] + 1, "a bubble before packet {i}");
                }
            }
        }
    });
}

/// The same over IPv6: 20 bytes more per packet and no clock between.
fn one_beat_per_clock_over_ipv6_too(size: usize) {
    on(size, "rate6", |dut, rng, width| {
        let form = Form { tagged: false, v6: true };
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let lengths = [0, 1, 4096, 6, 7, 58, 59, 64, 4096, 256, 256];
        for length in lengths {
            bench.send_in(form, packets::data(rng, length));
        }
        bench.run(lengths.len() as u64);
        for (i, length) in lengths.iter().enumerate() {
            let beats = width.beats(122 + length.next_multiple_of(4));
            assert_eq!(bench.lasts[i] - bench.firsts[i] + 1, beats, "beats of {length} bytes");
            if i > 0 {
                assert_eq!(bench.firsts[i], bench.lasts[i - 1] + 1, "a bubble before packet {i}");
            }
        }
    });
}

/// The shortest frames there are, 62 bytes and a few: narrow ones of four beats follow each
/// other as longer ones do, wide ones of one beat come every second clock.
fn the_shortest_frames_follow_each_other(size: usize) {
    on(size, "short", |dut, rng, width| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let lengths = [0, 0, 0, 1, 4, 0, 8, 3, 0, 2, 13, 0, 0, 5];
        for length in lengths {
            bench.send_datagram(Form::ALL[0], length);
        }
        bench.run(lengths.len() as u64);
        for i in 1..lengths.len() {
            let beats = bench.lasts[i - 1] - bench.firsts[i - 1] + 1;
            let clocks = bench.firsts[i] - bench.firsts[i - 1];
            assert_eq!(
                clocks,
                beats.max(2),
                "from packet {} to the next, {} bytes a beat",
                i - 1,
                width.size
            );
        }
    });
}

/// FEEDBACK passes waiting packets, and waits for little else: at most the
/// packet on the wire, the beats that may be ahead and the packet in stage A before it.
fn feedback_goes_first(size: usize) {
    on(size, "feedback", |dut, rng, width| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for _ in 0..6 {
            let packet = packets::data(rng, 4096);
            bench.send(packet);
        }
        for _ in 0..100 {
            bench.clock();
        }
        let asked = bench.dut.cycles();
        for _ in 0..4 {
            let packet = packets::feedback(rng);
            bench.send_feedback(Form::ALL[0], packet, None);
        }
        bench.run(10);
        let order: Vec<u64> =
            bench.firsts.iter().zip(&bench.lasts).map(|(first, last)| last - first + 1).collect();
        let feedback = width.beats(122);
        let at = order.iter().position(|beats| *beats == feedback).unwrap();
        assert_eq!(order[at..at + 4], [feedback; 4], "feedback together: {order:?}");
        assert!(at <= 3, "behind the packets already begun: {order:?}");
        let (waited, longest) = (bench.firsts[at] - asked, width.beats(4096 + 102));
        assert!(waited <= 2 * longest + width.ahead + 1, "waited {waited} clocks");
    });
}

/// The delay of an answer ends one short of the value that says there is none.
fn delays_stop_short_of_no_sample(size: usize) {
    on(size, "delay", |dut, rng, _| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        let last = u32::from(NO_SAMPLE);
        let ages: Vec<u32> = (last - 3..=last + 3).chain([0, 1, 2 * last, u32::MAX]).collect();
        for age in &ages {
            let packet = packets::feedback(rng);
            bench.send_feedback(Form::ALL[0], packet, Some(*age));
        }
        bench.run(ages.len() as u64);
    });
}

/// A packet's time is read when few beats are before its place on the wire.
fn timestamps_are_taken_late(size: usize) {
    on(size, "time", |dut, rng, width| {
        let mut bench = Bench::new(dut, Pattern::Always, Pattern::Always, rng);
        for _ in 0..20 {
            let packet = packets::data(rng, 4096);
            bench.send(packet);
        }
        bench.run(20);
        for (taken, first) in bench.taken.iter().zip(&bench.firsts) {
            let most = width.latency + width.ahead + 1;
            assert!(first - taken <= most, "taken {} clocks before its first beat", first - taken);
        }
    });
}
