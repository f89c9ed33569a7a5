//! What broke other transports, on two whole NICs: each story is one test. The
//! table in docs/bug-classes.md says where the stories of single blocks are.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tessera_abi::icrc;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{self, data, feedback};
use tessera_driver::Status;
use tessera_sim::fabric::{FabricOptions, PacketClass, Script, Verdict};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::tb::Rng;
use tessera_testbenches::nic_model;
use tessera_testbenches::pair::Pair;

fn fabric(seed: u64) -> FabricOptions {
    FabricOptions::new(4, 250, 500, seed)
}

fn pair_with(nic: &NicOptions, settings: &[(Reg, u32)], seed: u64) -> Pair {
    Pair::new(nic_model(), nic, fabric(seed), settings)
}

fn pair() -> Pair {
    pair_with(&NicOptions::default(), &[], 1)
}

fn bytes(len: usize, id: u64) -> Vec<u8> {
    (0..len).map(|i| (i as u64 * 31 + i as u64 / 253 + id * 57) as u8).collect()
}

/// (message id, packet index) of a DATA frame.
fn packet(frame: &[u8]) -> (u32, u32) {
    let trh = &frame[wire::TRH_AT..];
    let id = u32::from_be_bytes(trh[data::MESSAGE..][..4].try_into().unwrap());
    let index = trh[data::INDEX..][..3].iter().fold(0, |index, byte| index << 8 | u32::from(*byte));
    (id, index)
}

/// A script that loses the first `times` frames of each kind that `of` names.
fn lose_first<K>(times: u32, of: impl Fn(&[u8]) -> Option<K> + Send + 'static) -> Script
where
    K: std::hash::Hash + Eq + Send + 'static,
{
    let mut seen: HashMap<K, u32> = HashMap::new();
    Box::new(move |_, _, frame| match of(frame) {
        Some(kind) => {
            let count = seen.entry(kind).or_default();
            *count += 1;
            if *count <= times {
                Verdict::Lose
            } else {
                Verdict::Pass
            }
        }
        None => Verdict::Pass,
    })
}

fn is_data(frame: &[u8]) -> bool {
    matches!(PacketClass::of(frame), PacketClass::Data | PacketClass::Retransmission)
}

/// The ICRC of a frame that was changed.
fn seal(frame: &mut [u8]) {
    let end = frame.len() - wire::ICRC_LEN;
    let crc = icrc::rocev2(&frame[wire::IP_AT..end]);
    frame[end..].copy_from_slice(&crc);
}

/// Frames, each with the port it left.
type Kept = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// A script that keeps every frame for later.
fn record() -> (Script, Kept) {
    let kept = Kept::default();
    let keep = Arc::clone(&kept);
    let script = move |_, from, frame: &[u8]| {
        keep.lock().unwrap().push((from, frame.to_vec()));
        Verdict::Pass
    };
    (Box::new(script), kept)
}

#[test]
fn every_packet_of_a_message_is_lost() {
    let mut pair = pair();
    for (id, times) in [(1, 1), (2, 3)] {
        pair.script(lose_first(times, |frame| is_data(frame).then(|| packet(frame))));
        pair.deliver(&bytes(100_000, id), id);
    }
    pair.assert_returned();
    assert!(pair.a.count(Counter::TxRetransmitted) >= 4 * 25, "each packet went four times in all");
}

#[test]
fn the_last_packet_is_lost() {
    let mut pair = pair();
    for (id, len) in [(1, 4 * 4096), (2, 4 * 4096 + 1), (3, 300_000)] {
        let last = (len as u32 - 1) / 4096;
        pair.script(lose_first(2, move |frame| (is_data(frame) && packet(frame).1 == last).then_some(())));
        pair.deliver(&bytes(len, id), id);
    }
    pair.assert_returned();
}

#[test]
fn the_final_complete_is_lost_and_the_slot_used_again() {
    let mut pair = pair();
    for id in 1..=6 {
        // The probe finds a tombstone, which repeats what it knows. Up to five
        // answers in a row are lost; then the slot takes the next message.
        let times = id as u32 - 1;
        pair.script(lose_first(times, |frame| {
            (PacketClass::of(frame) == PacketClass::Complete).then_some(())
        }));
        pair.deliver(&bytes(5000, id), id);
    }
    pair.assert_returned();
    assert!(pair.b.dropped(DropReason::Finished) >= 15, "every lost answer was asked for again");
    assert_eq!(pair.b.count(Counter::RxCompleted), 6);
}

#[test]
fn late_packets_after_the_slot_was_used_again() {
    let mut pair = pair();
    // Every packet of the first message comes once more, long after its end.
    let late = 60_000;
    let mut first = None;
    pair.script(Box::new(move |_, _, frame| {
        if is_data(frame) && *first.get_or_insert(packet(frame).0) == packet(frame).0 {
            Verdict::Echo(late)
        } else {
            Verdict::Pass
        }
    }));
    pair.deliver(&bytes(20_000, 1), 1);
    // By then the slot is four generations on, and a receive waits for a fifth.
    for id in 2..6 {
        pair.deliver(&bytes(20_000, id), id);
    }
    let buffer = pair.b.recv(20_000, 9);
    pair.pass(800);
    assert!(buffer.to_vec(0, 20_000).iter().all(|byte| *byte == 0), "an old copy took a new receive");
    let to = pair.b.endpoint.address();
    pair.a.send(to, &bytes(20_000, 9), 9);
    pair.arrived(&buffer, &bytes(20_000, 9), 9);
    assert_eq!(pair.b.dropped(DropReason::Stale), 5, "five late copies, each of an older generation");
    pair.assert_returned();
}

#[test]
fn a_storm_of_copies_delivers_once() {
    let mut pair = pair();
    let mut rng = Rng::new(tessera_testbenches::seed("bug_classes::copies"));
    pair.script(Box::new(move |_, _, _| Verdict::Copy(1 + rng.below(15) as u32)));
    for (id, len) in [(1, 0), (2, 1), (3, 4096), (4, 70_000)] {
        pair.deliver(&bytes(len, id), id);
    }
    pair.no_script();
    pair.assert_returned();
    assert_eq!(pair.b.count(Counter::RxNew), 1 + 1 + 1 + 18);
    assert_eq!(pair.b.count(Counter::RxCompleted), 4);
}

/// The n-th FEEDBACK of a message is lost: what it was, if there was one.
fn with_a_feedback_lost(pair: &mut Pair, lost: usize) -> Option<u8> {
    let flags = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&flags);
    pair.script(Box::new(move |_, from, frame| {
        if from == 0 {
            return Verdict::Pass;
        }
        let mut seen = seen.lock().unwrap();
        seen.push(frame[wire::TRH_AT + 1]);
        if seen.len() == lost + 1 {
            Verdict::Lose
        } else {
            Verdict::Pass
        }
    }));
    let lost_before = pair.cluster.lock().fabric().stats().lost;
    pair.deliver(&bytes(400_000, lost as u64), lost as u64);
    pair.no_script();
    let flags = flags.lock().unwrap();
    let dropped = pair.cluster.lock().fabric().stats().lost - lost_before;
    assert_eq!(dropped, u64::from(lost < flags.len()), "feedback {lost} of {}", flags.len());
    flags.get(lost).copied()
}

#[test]
fn any_one_feedback_may_be_lost() {
    let mut pair = pair();
    // Each of them once: from the first grant to the COMPLETE.
    let lost: Vec<u8> = (0..).map_while(|lost| with_a_feedback_lost(&mut pair, lost)).collect();
    assert!(lost.len() >= 6, "a message drew {} feedbacks", lost.len());
    let grants = lost.iter().filter(|flags| *flags & wire::fb::GRANT != 0).count();
    assert!(grants >= 3, "{grants} of {} feedbacks lost were grants", lost.len());
    assert!(lost.iter().any(|flags| flags & wire::fb::COMPLETE != 0), "the COMPLETE was never lost");
    pair.assert_returned();
}

#[test]
fn a_storm_of_nacks_asks_once() {
    let mut pair = pair();
    let (mut lost, mut data) = (0u32, 0u32);
    let counts = Arc::new(Mutex::new((0u32, 0u32)));
    let seen = Arc::clone(&counts);
    pair.script(Box::new(move |_, _, frame| {
        let class = PacketClass::of(frame);
        let mut counts = seen.lock().unwrap();
        match class {
            PacketClass::Data => {
                data += 1;
                if data % 10 == 3 {
                    lost += 1;
                    counts.0 = lost;
                    return Verdict::Lose;
                }
                Verdict::Pass
            }
            PacketClass::Retransmission => {
                counts.1 += 1;
                Verdict::Pass
            }
            PacketClass::Nack => Verdict::Copy(15),
            _ => Verdict::Pass,
        }
    }));
    pair.deliver(&bytes(1 << 20, 1), 1);
    let (lost, retransmitted) = *counts.lock().unwrap();
    assert!(lost >= 25, "{lost} packets lost");
    assert!(
        retransmitted >= lost && retransmitted <= lost + lost / 4,
        "{lost} packets lost, sixteen NACKs for each block, {retransmitted} sent again"
    );
    pair.no_script();
    pair.assert_returned();
}

#[test]
fn a_spent_retry_limit_is_an_error_and_the_engine_lives() {
    let settings = [(regs::MAX_RETRY, 4), (regs::RTO, 200), (regs::RX_GIVE_UP, 40_000)];
    let mut pair = pair_with(&NicOptions::default(), &settings, 1);
    // Some of the message arrives, then nothing does, either way.
    let frames = AtomicU64::new(0);
    pair.script(Box::new(move |_, _, _| match frames.fetch_add(1, Ordering::Relaxed) {
        0..20 => Verdict::Pass,
        _ => Verdict::Lose,
    }));
    let buffer = pair.b.recv(500_000, 1);
    let to = pair.b.endpoint.address();
    pair.a.send(to, &bytes(500_000, 1), 1);
    assert_eq!(pair.a.done(false, 1).status, Status::RetryExceeded);
    assert_eq!(pair.b.done(true, 1).status, Status::GaveUp);
    drop(buffer);
    pair.no_script();
    pair.deliver(&bytes(500_000, 2), 2);
    pair.assert_returned();
}

#[test]
fn nothing_completes_before_its_payload() {
    // Payload writes are slow and scattered, ring writes instant: a completion
    // that did not wait for its payload would be seen first.
    let data = DmaOptions { read_delay: (225, 275), write_delay: (20, 6000), ready: 1.0 };
    let ctrl = DmaOptions { read_delay: (20, 30), write_delay: (1, 2), ready: 1.0 };
    let nic = NicOptions { dma_ctrl: ctrl, dma_data: data, ..NicOptions::default() };
    let mut pair = pair_with(&nic, &[], 1);
    let to = pair.b.endpoint.address();
    let messages: Vec<_> =
        (0..24).map(|id| bytes([1, 64, 4096, 9000, 40_000][id as usize % 5], id)).collect();
    let buffers: Vec<_> = (0..24).map(|id| pair.b.recv(40_000, id)).collect();
    for (id, message) in messages.iter().enumerate() {
        pair.a.send(to, message, id as u64);
    }
    // Receives are taken in order of opening, so a message is known by its tag.
    // Each completion is looked at as soon as it is seen, whichever comes next.
    let (mut seen, mut sent) = (HashSet::new(), HashSet::new());
    let mut writing = 0;
    while seen.len() < messages.len() {
        let received = pair.b.next(40_000).expect("a receive ends");
        assert!(received.receive);
        let (message, buffer) = (&messages[received.tag as usize], &buffers[received.work_id as usize]);
        assert_eq!((received.status, received.len as usize), (Status::Success, message.len()));
        assert!(
            buffer.to_vec(0, message.len()) == *message,
            "receive {} completed before its bytes were there",
            received.work_id
        );
        assert!(seen.insert(received.tag), "message {} came twice", received.tag);
        writing += usize::from(pair.cluster.lock().nics()[1].open_accesses() > 0);
    }
    assert!(writing >= messages.len() / 2, "other payloads on their way at {writing} completions only");
    while sent.len() < messages.len() {
        let done = pair.a.next(40_000).expect("a send ends");
        assert_eq!((done.receive, done.status), (false, Status::Success));
        assert!(sent.insert(done.work_id), "send {} completed twice", done.work_id);
    }
    pair.assert_returned();
}

/// What the last arbiter of each NIC let out, and where one kind joined another.
#[derive(Default)]
struct Joins {
    /// The frame before, by NIC.
    last: [Option<PacketClass>; 2],
    /// A retransmission right behind a new packet, and the other way round.
    resent: [u32; 2],
    /// FEEDBACK between DATA.
    answers: [u32; 2],
    /// Frames that were not whole: clock, NIC, length.
    broken: Vec<(u64, usize, usize)>,
}

impl Joins {
    fn see(&mut self, clock: u64, from: usize, frame: &[u8]) {
        let class = PacketClass::of(frame);
        let total = usize::from(u16::from_be_bytes([frame[wire::IP_AT + 2], frame[wire::IP_AT + 3]]));
        let end = frame.len() - wire::ICRC_LEN;
        if wire::IP_AT + total != frame.len()
            || icrc::rocev2(&frame[wire::IP_AT..end]) != frame[end..]
            || class == PacketClass::Other
        {
            self.broken.push((clock, from, frame.len()));
        }
        match (self.last[from].replace(class), class) {
            (Some(PacketClass::Data), PacketClass::Retransmission)
            | (Some(PacketClass::Retransmission), PacketClass::Data) => self.resent[from] += 1,
            (
                Some(PacketClass::Data | PacketClass::Retransmission),
                PacketClass::Feedback | PacketClass::Nack,
            ) => {
                self.answers[from] += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn frames_stay_whole_where_retransmissions_join() {
    // The MAC takes beats at random and a tenth of the packets is lost: new
    // packets, retransmissions and feedback meet at the last arbiter.
    let seed = tessera_testbenches::seed("bug_classes::whole_frames");
    let nic = NicOptions { tx_stall: 0.5, seed, ..NicOptions::default() };
    let mut pair = pair_with(&nic, &[], seed);
    let mut rng = Rng::new(seed);
    let joins = Arc::<Mutex<Joins>>::default();
    let seen = Arc::clone(&joins);
    pair.script(Box::new(move |clock, from, frame| {
        seen.lock().unwrap().see(clock, from, frame);
        if is_data(frame) && rng.below(10) == 0 {
            Verdict::Lose
        } else {
            Verdict::Pass
        }
    }));
    let (a, b) = (pair.a.endpoint.address(), pair.b.endpoint.address());
    // Half of them from each side, in packets of three sizes.
    const MESSAGES: u64 = 40;
    let message = |id: u64| bytes([1, 255, 4097, 60_000, 300_000][id as usize / 2 % 5], id);
    let buffers: Vec<_> = (0..MESSAGES)
        .map(|id| {
            let side = if id % 2 == 0 { &mut pair.b } else { &mut pair.a };
            side.recv(300_000, id)
        })
        .collect();
    for id in 0..MESSAGES {
        let (side, to) = if id % 2 == 0 { (&mut pair.a, b) } else { (&mut pair.b, a) };
        side.send_packets(to, &message(id), id, [256, 1024, 4096][id as usize % 3]);
    }
    for id in 0..MESSAGES {
        let (from, to) = if id % 2 == 0 { (&mut pair.a, &mut pair.b) } else { (&mut pair.b, &mut pair.a) };
        assert_eq!(from.done(false, id).status, Status::Success);
        let received = to.done(true, id);
        let message = message(received.tag);
        assert_eq!(received.status, Status::Success);
        assert!(buffers[id as usize].to_vec(0, message.len()) == message, "message {}", received.tag);
    }
    // A frame that is still under way takes this lock in the script.
    pair.no_script();
    let joins = joins.lock().unwrap();
    assert!(joins.broken.is_empty(), "broken frames: {:?}", joins.broken);
    for nic in 0..2 {
        let (resent, answers) = (joins.resent[nic], joins.answers[nic]);
        assert!(resent >= 50, "NIC {nic}: retransmissions and new packets met {resent} times only");
        assert!(answers >= 50, "NIC {nic}: feedback followed DATA {answers} times only");
    }
    pair.assert_returned();
}

#[test]
fn a_stalled_host_drops_here_and_says_so() {
    // Host memory takes less than the wire brings: what the receive buffer has
    // no room for is counted apart from what the network lost.
    let slow = DmaOptions { read_delay: (225, 275), write_delay: (100, 150), ready: 0.2 };
    let nic = NicOptions { dma_data: slow, ..NicOptions::default() };
    // The sender reads quickly enough to fill the wire only with its own pace,
    // so its packets are repeated instead.
    let mut pair = pair_with(&nic, &[], 1);
    pair.script(Box::new(|_, _, frame| if is_data(frame) { Verdict::Copy(7) } else { Verdict::Pass }));
    pair.deliver(&bytes(2 << 20, 1), 1);
    pair.no_script();
    assert!(pair.b.dropped(DropReason::Overflow) > 0, "nothing overflowed");
    let cluster = pair.cluster.clone();
    let stats = *cluster.lock().fabric().stats();
    assert_eq!(stats.dropped(), 0, "the network lost nothing");
    // Every frame that entered is under exactly one heading.
    let headings = [Counter::RxData, Counter::RxProbe, Counter::RxFeedback];
    let accepted: u32 = headings.into_iter().map(|counter| pair.b.count(counter)).sum();
    assert_eq!(pair.b.count(Counter::RxFrames), accepted + pair.b.dropped(DropReason::Overflow));
    pair.assert_returned();
}

#[test]
fn a_replayed_conversation_changes_nothing() {
    let mut pair = pair();
    let (script, kept) = record();
    pair.script(script);
    let buffers: Vec<_> = (0..3).map(|id| pair.b.recv(30_000, id)).collect();
    let to = pair.b.endpoint.address();
    for id in 0..3 {
        pair.a.send(to, &bytes(30_000, id), id);
    }
    for id in 0..3 {
        assert_eq!(pair.a.done(false, id).status, Status::Success);
        assert_eq!(pair.b.done(true, id).status, Status::Success);
    }
    let kept = kept.lock().unwrap().clone();
    pair.no_script();
    for buffer in &buffers {
        buffer.write(0, &[0xEE; 30_000]);
    }
    let spare = pair.b.recv(30_000, 9);
    let before = (pair.b.count(Counter::RxNew), pair.a.count(Counter::TxData));
    for (from, frame) in kept {
        pair.inject(1 - from, frame);
        pair.pass(2);
    }
    pair.pass(100);
    assert_eq!((pair.b.count(Counter::RxNew), pair.a.count(Counter::TxData)), before);
    for buffer in &buffers {
        assert!(buffer.to_vec(0, 30_000).iter().all(|byte| *byte == 0xEE), "a replay wrote host memory");
    }
    assert!(spare.to_vec(0, 30_000).iter().all(|byte| *byte == 0), "a replay took a receive");
    assert_eq!((pair.a.unclaimed(), pair.b.unclaimed()), (0, 0), "a replay completed something");
    assert!(pair.b.dropped(DropReason::Finished) > 0);
    assert!(pair.a.dropped(DropReason::FeedbackStale) > 0);
}

#[test]
fn forged_packets_reach_nothing() {
    let mut pair = pair();
    let (script, kept) = record();
    pair.script(script);
    let to = pair.b.endpoint.address();
    let buffer = pair.b.recv(2 << 20, 1);
    let message = bytes(2 << 20, 1);
    pair.a.send(to, &message, 1);
    // The message is under way, and long enough that not all of it is granted.
    while !kept.lock().unwrap().iter().any(|(from, _)| *from == 1) {
        pair.pass(1);
    }
    let frames = kept.lock().unwrap().clone();
    let find = |from: usize, class: PacketClass| -> Vec<u8> {
        let found =
            frames.iter().rev().find(|(side, frame)| *side == from && PacketClass::of(frame) == class);
        found.unwrap_or_else(|| panic!("no {class:?} from {from}")).1.clone()
    };
    let (sample, feedback) = (find(0, PacketClass::Data), find(1, PacketClass::Feedback));
    // (which NIC is lied to, what is changed, where the lie is counted)
    type Lie = (&'static str, usize, Vec<u8>, fn(&mut [u8]), DropReason);
    let lies: Vec<Lie> = vec![
        ("Q_Key", 1, sample.clone(), |f| f[wire::DETH_AT + 3] ^= 1, DropReason::QKey),
        ("endpoint", 1, sample.clone(), |f| f[wire::BTH_AT + 6] ^= 1, DropReason::Endpoint),
        ("P_Key", 1, sample.clone(), |f| f[wire::BTH_AT + 3] ^= 1, DropReason::PKey),
        (
            "ungranted index",
            1,
            sample.clone(),
            |f| f[wire::TRH_AT + data::INDEX..][..3].copy_from_slice(&[0, 1, 0xFE]),
            DropReason::NotGranted,
        ),
        ("length", 1, sample.clone(), |f| f[wire::TRH_AT + data::LENGTH + 1] ^= 8, DropReason::Mismatch),
        ("tag", 1, sample.clone(), |f| f[wire::TRH_AT + data::TAG + 7] ^= 1, DropReason::Mismatch),
        (
            "older generation",
            1,
            sample.clone(),
            |f| {
                let at = wire::TRH_AT + data::MESSAGE;
                let id = u32::from_be_bytes(f[at..at + 4].try_into().unwrap());
                let older = id & !0xF_FFFF | id.wrapping_sub(5) & 0xF_FFFF;
                f[at..at + 4].copy_from_slice(&older.to_be_bytes());
            },
            DropReason::Stale,
        ),
        ("feedback's Q_Key", 0, feedback.clone(), |f| f[wire::DETH_AT + 3] ^= 1, DropReason::QKey),
        ("feedback's source", 0, feedback.clone(), |f| f[wire::IP_AT + 15] ^= 1, DropReason::FeedbackForged),
        (
            "feedback's endpoint",
            0,
            feedback.clone(),
            |f| f[wire::DETH_AT + 7] ^= 1,
            DropReason::FeedbackForged,
        ),
        (
            "feedback beyond what was sent",
            0,
            feedback.clone(),
            |f| f[wire::TRH_AT + feedback::CUMULATIVE..][..3].copy_from_slice(&[0, 2, 0]),
            DropReason::FeedbackNonsense,
        ),
    ];
    // Of each lie several copies: that many are counted, under its reason.
    const COPIES: u32 = 3;
    let mut expected: HashMap<(usize, &str), u32> = HashMap::new();
    for (name, nic, mut frame, lie, reason) in lies {
        lie(&mut frame);
        // The IPv4 checksum is not looked at; the ICRC is.
        seal(&mut frame);
        let count = expected.entry((nic, reason.name())).or_default();
        *count += COPIES;
        (0..COPIES).for_each(|_| pair.inject(nic, frame.clone()));
        let side = if nic == 0 { &pair.a } else { &pair.b };
        // They enter behind what has arrived by now.
        let counted = (0..40).map(|_| side.dropped(reason)).find(|dropped| *dropped >= *count);
        assert_eq!(counted, Some(*count), "{name}: {COPIES} more {}", reason.name());
    }
    assert!(pair.a.find(false, 1, 0).is_none(), "the message was over before the last lie");
    pair.no_script();
    pair.arrived(&buffer, &message, 1);
    // And nothing else was dropped anywhere.
    for (nic, side) in [&pair.a, &pair.b].into_iter().enumerate() {
        for reason in DropReason::ALL {
            let lies = expected.get(&(nic, reason.name())).copied().unwrap_or_default();
            assert_eq!(side.dropped(*reason), lies, "NIC {nic}: {}", reason.name());
        }
    }
    pair.assert_returned();
}
