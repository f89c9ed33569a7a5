//! The packet path end to end: `TxBuild` -> `IcrcInsert` -> `RxParse`, and their
//! narrow siblings, beat by beat, with a wire between that flips bits.

use std::collections::VecDeque;
use tessera_abi::params::NIC512;
use tessera_abi::wire::{Form, Trh, NO_SAMPLE};
use tessera_rtl::wire::narrow::{NarrowIcrcInsert, NarrowRxParse, NarrowTxBuild};
use tessera_rtl::wire::{IcrcInsert, RxParse, TxBuild};
use tessera_sim::tb::{cycle, AxisDriver, AxisMonitor, Pattern, Rng, StreamDriver, StreamMonitor, Word};
use tessera_sim::verilator::{BuildOptions, Dut, Model};
use tessera_testbenches::packets::{self, Layout, Packet, HERE, NARROW, THERE, WIDE};

/// The three blocks with what feeds and drains them.
struct Loop {
    build: Dut,
    insert: Dut,
    parse: Dut,
    feedback: StreamDriver,
    built: StreamDriver,
    payload_in: StreamDriver,
    frame_out: StreamMonitor,
    frame_in: StreamDriver,
    axis_out: AxisMonitor,
    axis_in: AxisDriver,
    data: StreamMonitor,
    answers: StreamMonitor,
    payload_out: StreamMonitor,
    packet: Layout,
    answer: Layout,
    order: VecDeque<bool>,
    /// Bytes of a beat.
    size: usize,
    /// Of all frames, without tag: no block here adds one.
    form: Form,
}

impl Loop {
    fn new(size: usize, v6: bool, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let instance = |design| Model::build(&design, &BuildOptions::hurried()).unwrap().instance().unwrap();
        let (build, insert, parse) = if size == WIDE {
            (
                tessera_testbenches::design("tx_build", || TxBuild::new(&NIC512)),
                tessera_testbenches::design("icrc_insert", || IcrcInsert::new(&NIC512)),
                tessera_testbenches::design("rx_parse", || RxParse::new(&NIC512)),
            )
        } else {
            (
                tessera_testbenches::design("narrow_tx_build", || NarrowTxBuild::new(&NIC512)),
                tessera_testbenches::design("narrow_icrc_insert", || NarrowIcrcInsert::new(&NIC512)),
                tessera_testbenches::design("narrow_rx_parse", || NarrowRxParse::new(&NIC512)),
            )
        };
        let (mut build, mut insert, mut parse) = (instance(build), instance(insert), instance(parse));
        packets::set_up(&mut build, &HERE);
        packets::set_up(&mut parse, &THERE);
        let rst = insert.port("rst").unwrap();
        insert.reset(rst, 3);
        Loop {
            feedback: StreamDriver::new(&build, "feedback", idle, rng).unwrap(),
            built: StreamDriver::new(&build, "built", idle, rng).unwrap(),
            payload_in: StreamDriver::new(&build, "payload", Pattern::Always, rng).unwrap(),
            frame_out: StreamMonitor::new(&build, "frame", stall, rng).unwrap(),
            frame_in: StreamDriver::new(&insert, "frame", Pattern::Always, rng).unwrap(),
            axis_out: AxisMonitor::new(&insert, "m_axis", stall, rng).unwrap(),
            axis_in: AxisDriver::new(&parse, "s_axis", idle, rng).unwrap(),
            data: StreamMonitor::new(&parse, "data", Pattern::Always, rng).unwrap(),
            answers: StreamMonitor::new(&parse, "feedback", Pattern::Always, rng).unwrap(),
            payload_out: StreamMonitor::new(&parse, "payload", Pattern::Always, rng).unwrap(),
            packet: Layout::of(&build, "built_data"),
            answer: Layout::of(&build, "feedback_data"),
            order: VecDeque::new(),
            size,
            form: Form { tagged: false, v6 },
            build,
            insert,
            parse,
        }
    }

    fn send(&mut self, packet: &Packet) {
        if let Trh::Release(header) = packet.trh {
            let mut word = self.answer.word();
            packets::put_destination(&self.answer, &mut word, self.form, &THERE);
            for (name, value) in [
                ("release", 1),
                ("dst_endpoint", u64::from(THERE.endpoint)),
                ("endpoint", u64::from(HERE.endpoint & 0xFF)),
                ("slot", header.message.slot().into()),
                ("generation", header.message.generation().into()),
            ] {
                self.answer.put(&mut word, name, value);
            }
            self.feedback.send(word);
            return;
        }
        let Trh::Feedback(header) = packet.trh else {
            // The Q_Key of the peer's endpoint comes from the packet.
            self.built.send(packets::tx_packet(&self.packet, self.form, &THERE, &HERE, packet));
            let beats = packets::beats_of(&packet.payload, self.size);
            beats.into_iter().for_each(|beat| self.payload_in.send(beat));
            return;
        };
        let mut word = self.answer.word();
        packets::put_destination(&self.answer, &mut word, self.form, &THERE);
        for (name, value) in [
            ("dst_endpoint", u64::from(THERE.endpoint)),
            ("endpoint", u64::from(HERE.endpoint & 0xFF)),
            ("flags", header.flags.into()),
            ("ev_echo", header.ev.into()),
            ("status", header.status.into()),
            ("slot", header.message.slot().into()),
            ("generation", header.message.generation().into()),
            ("cumulative", header.cumulative.into()),
            ("sequence", header.sequence.into()),
            ("grant", header.grant.into()),
            ("duplicates", header.duplicates.into()),
            ("base", header.base.into()),
            ("limit", header.limit.into()),
        ] {
            self.answer.put(&mut word, name, value);
        }
        let bitmap: Vec<u8> = header.bitmap.iter().rev().copied().collect();
        self.answer.put_bytes(&mut word, "bitmap", &bitmap);
        self.feedback.send(word);
    }

    /// One clock of all three; `on_wire` may spoil a frame between them.
    fn clock(&mut self, on_wire: &mut dyn FnMut(&mut Vec<u8>)) {
        cycle(
            &mut self.build,
            &mut [&mut self.feedback, &mut self.built, &mut self.payload_in, &mut self.frame_out],
        );
        if self.build.sampled(self.build.port("ev_take").unwrap()) == 1 {
            self.order.push_back(self.build.sampled(self.build.port("feedback_valid").unwrap()) == 1);
        }
        while let Some(beat) = self.frame_out.take() {
            self.frame_in.send(beat.word);
        }
        cycle(&mut self.insert, &mut [&mut self.frame_in, &mut self.axis_out]);
        while let Some(mut frame) = self.axis_out.take() {
            on_wire(&mut frame.bytes);
            self.axis_in.send(frame.bytes);
        }
        cycle(
            &mut self.parse,
            &mut [&mut self.axis_in, &mut self.data, &mut self.answers, &mut self.payload_out],
        );
    }

    fn payload(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            bytes.extend(packets::beat_bytes(&self.payload_out.take().expect("payload").word).0);
        }
        bytes
    }
}

fn expect_fields(layout: &Layout, word: &Word, fields: &[(&str, u64)]) {
    for (name, value) in fields {
        assert_eq!(layout.get(word, name), *value, "{name}");
    }
}

/// What `parse` must say of `packet`.
fn expect(bench: &mut Loop, packet: &Packet) {
    let gid = HERE.gid(bench.form).to_vec();
    match packet.trh {
        Trh::Data(header) => {
            let word = bench.data.take().expect("a word").word;
            let layout = Layout::of(&bench.parse, "data_data");
            assert_eq!(layout.bytes(&word, "src_gid"), gid);
            assert_eq!(layout.bytes(&word, "src_mac"), HERE.mac);
            expect_fields(
                &layout,
                &word,
                &[
                    ("src_endpoint", HERE.endpoint.into()),
                    ("probe", header.probe.into()),
                    ("flags", header.flags.into()),
                    ("payload_log2", header.payload_log2.into()),
                    ("traffic_class", header.traffic_class.into()),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                    ("index", header.index.into()),
                    ("initial_window", header.initial_window.into()),
                    ("length", header.length.into()),
                    ("tag", header.tag),
                    ("rkey", header.rkey.into()),
                    ("imm", header.immediate.into()),
                    ("rtt", header.rtt.into()),
                    ("payload_len", packet.payload.len() as u64),
                ],
            );
            assert_eq!(bench.payload(packet.payload.len()), packet.payload);
        }
        Trh::Release(header) => {
            let word = bench.data.take().expect("a word").word;
            let layout = Layout::of(&bench.parse, "data_data");
            assert_eq!(layout.bytes(&word, "src_gid"), gid);
            expect_fields(
                &layout,
                &word,
                &[
                    ("release", 1),
                    ("src_endpoint", HERE.endpoint.into()),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                ],
            );
        }
        Trh::Feedback(header) => {
            let word = bench.answers.take().expect("a word").word;
            let layout = Layout::of(&bench.parse, "feedback_data");
            assert_eq!(layout.bytes(&word, "src_gid"), gid);
            let bitmap: Vec<u8> = header.bitmap.iter().rev().copied().collect();
            assert_eq!(layout.bytes(&word, "bitmap"), bitmap);
            expect_fields(
                &layout,
                &word,
                &[
                    ("src_endpoint", HERE.endpoint.into()),
                    ("flags", header.flags.into()),
                    ("ev", header.ev.into()),
                    ("status", header.status.into()),
                    ("slot", header.message.slot().into()),
                    ("generation", header.message.generation().into()),
                    ("cumulative", header.cumulative.into()),
                    ("sequence", header.sequence.into()),
                    ("grant", header.grant.into()),
                    ("duplicates", header.duplicates.into()),
                    ("base", header.base.into()),
                    ("limit", header.limit.into()),
                    ("delay", NO_SAMPLE.into()),
                    ("echo", 0),
                ],
            );
        }
    }
}

/// Bytes of a beat, and whether over IPv6.
const PATHS: [(usize, bool); 4] = [(WIDE, false), (WIDE, true), (NARROW, false), (NARROW, true)];

/// FEEDBACK carries the Q_Key of its own endpoint, so both sides share one.
fn share_qkey(bench: &mut Loop) {
    packets::write_endpoint(&mut bench.build, HERE.endpoint, THERE.qkey, true);
}

#[test]
fn what_goes_in_comes_out() {
    let patterns = Pattern::matrix().flat_map(|pair| PATHS.map(|(size, v6)| (size, v6, pair)));
    for (size, v6, (idle, stall)) in patterns {
        let mut rng = Rng::for_test(&format!("packet_loop::whole {size} {v6} {idle:?} {stall:?}"));
        let mut bench = Loop::new(size, v6, idle, stall, &mut rng);
        share_qkey(&mut bench);
        let (mut data, mut feedback): (VecDeque<Packet>, VecDeque<Packet>) = Default::default();
        for _ in 0..120 {
            let packet = packets::any(&mut rng);
            bench.send(&packet);
            match packet.trh {
                Trh::Data(_) => data.push_back(packet),
                Trh::Feedback(_) | Trh::Release(_) => feedback.push_back(packet),
            }
        }
        let mut clocks = 0;
        while bench.data.total() + bench.answers.total() < 120 || clocks % 128 != 0 {
            bench.clock(&mut |_| {});
            clocks += 1;
            assert!(clocks < 60_000 * WIDE / size, "{} of 120", bench.data.total() + bench.answers.total());
        }
        (0..200 * WIDE / size).for_each(|_| bench.clock(&mut |_| {}));
        for is_feedback in std::mem::take(&mut bench.order) {
            let packet = if is_feedback { feedback.pop_front() } else { data.pop_front() }.unwrap();
            expect(&mut bench, &packet);
        }
    }
}

/// RX-2 over the whole path: a frame with any covered bit flipped on the wire
/// leaves no trace but its count, and its neighbours are whole.
#[test]
fn a_corrupted_frame_vanishes_alone() {
    PATHS.into_iter().for_each(corrupted);
}

fn corrupted((size, v6): (usize, bool)) {
    let mut rng = Rng::for_test(&format!("packet_loop::corrupted {size} {v6}"));
    let mut bench = Loop::new(size, v6, Pattern::Always, Pattern::Always, &mut rng);
    let bth_at = bench.form.bth_at();
    let sent: Vec<Packet> = (0..300)
        .map(|_| {
            let length = packets::any_length(&mut rng);
            packets::data(&mut rng, length)
        })
        .collect();
    sent.iter().for_each(|packet| bench.send(packet));
    let (mut spoiled, mut seen) = (vec![false; sent.len()], 0);
    let drops = bench.parse.port("drop_icrc").unwrap();
    let mut dropped = 0;
    for _ in 0..25_000 * WIDE / size {
        bench.clock(&mut |frame| {
            if rng.chance(0.3) {
                // From the BTH on every byte but its fifth is covered, and wrong
                // lengths or ports would be found before the ICRC is.
                let at = loop {
                    let at = bth_at + rng.below((frame.len() - bth_at) as u64) as usize;
                    if at != bth_at + 4 {
                        break at;
                    }
                };
                frame[at] ^= 1 << rng.below(8);
                spoiled[seen] = true;
            }
            seen += 1;
        });
        dropped += bench.parse.sampled(drops);
    }
    assert_eq!(seen, sent.len());
    assert_eq!(dropped, spoiled.iter().filter(|spoiled| **spoiled).count() as u64);
    for (packet, _) in sent.iter().zip(&spoiled).filter(|(_, spoiled)| !**spoiled) {
        expect(&mut bench, packet);
    }
    assert_eq!((bench.data.available(), bench.payload_out.available()), (0, 0));
}
