//! RELEASE on whole NICs, of a size that runs out of tombstones: pressure that
//! ends sooner with it, and every kind of it beside the scoreboard.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tessera_abi::params::CLOCKS_PER_TICK;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{self, data};
use tessera_driver::{Access, DmaMemory};
use tessera_model::scoreboard::Tolerance;
use tessera_model::settings::Settings;
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss, PacketClass, Verdict};
use tessera_sim::judged::{registers, Judged};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::session::{untag, Session};
use tessera_testbenches::pressed::{model, CONFIG};
use tessera_testbenches::scripts::{lose_some, Aimed};

/// Bytes of a message's place in memory.
const PLACE: usize = 3000;

fn content(number: usize) -> Vec<u8> {
    (0..PLACE).map(|i| (i * 31 + i / 251 + number * 13) as u8).collect()
}

fn length(number: usize) -> usize {
    [100, 0, 1, 2000, 256, PLACE][number % 6]
}

/// Clocks that `messages` take to arrive, with what was counted meanwhile:
/// refused for want of places, RELEASEs sent and received.
fn pressure(low: u32, messages: usize, seed: u64) -> (u64, [u32; 3]) {
    let cluster =
        Cluster::new(model(), 2, &NicOptions::default(), FabricOptions::new(4, 250, 500, seed)).unwrap();
    let settings: [(Reg, u32); 4] =
        [(regs::PATH_COUNT, 4), (regs::TIME_WAIT, 10_000), (regs::MPL, 400), (regs::RELEASE_LOW, low)];
    let mut session = Session::open(SharedCluster::new(cluster), 2, seed, 256, &settings).unwrap();
    let sink = session.register(1, &DmaMemory::new(messages * PLACE), Access::LOCAL_WRITE).unwrap();
    let mut bytes = Vec::new();
    for number in 0..messages {
        session.recv(1, &sink, number * PLACE..(number + 1) * PLACE, number as u64).unwrap();
        bytes.extend(content(number));
    }
    let source = session.register(0, &DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    let start = session.clock();
    for number in 0..messages {
        let range = number * PLACE..number * PLACE + length(number);
        session.send(&source, range, (1, 0, 1, number)).unwrap();
    }
    let mut arrived = 0;
    while arrived < messages {
        for message in session.poll().unwrap() {
            let (.., number) = untag(message.tag);
            assert_eq!(message.len, length(number));
            let got = sink.memory().to_vec(message.work_id as usize * PLACE, message.len);
            assert!(got == content(number)[..message.len], "message {number} is not what was sent");
            arrived += 1;
        }
    }
    let clocks = session.clock() - start;
    let [a, b] = [0, 1].map(|nic: usize| session.hosts[nic].context.clone());
    // The last RELEASE may still be on its way.
    for _ in 0..40 {
        a.wait().unwrap();
    }
    let busy = b.dropped(DropReason::BusyResources).unwrap();
    (clocks, [busy, a.counter(Counter::TxRelease).unwrap(), b.counter(Counter::RxRelease).unwrap()])
}

/// Places for a few messages, more messages at once: without RELEASE the rest of
/// them waits for the whole life of the tombstones before.
//= RL-3 test
#[test]
fn busy_for_want_of_tombstones_ends_sooner_with_releases() {
    let seed = tessera_testbenches::seed("nic_release::pressure");
    const MESSAGES: usize = 64;
    let (without, [busy, sent, heard]) = pressure(0, MESSAGES, seed);
    assert_eq!((sent, heard), (0, 0), "nobody asked");
    assert!(busy > 0, "the places never ran out");
    let least = 10_000 * 16;
    assert!(without > least, "{without} clocks, at least {least} by the life of tombstones");
    let (with, [fewer, sent, heard]) = pressure(2, MESSAGES, seed);
    assert!(sent > 0 && sent == heard, "{sent} RELEASEs sent, {heard} received");
    println!("{MESSAGES} messages: {without} clocks, {busy} BUSY without RELEASE; {with}, {fewer} with");
    assert!(with * 3 < without, "{with} clocks with RELEASE, {without} without");
    assert!(fewer < busy, "{fewer} BUSY with RELEASE, {busy} without");
}

/// Two NICs beside the scoreboard.
struct Run {
    session: Session,
    judged: Judged,
}

impl Run {
    fn open(settings: Settings, faults: Faults, seed: u64) -> Self {
        let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
        let nic = NicOptions { seed, ..NicOptions::default() };
        let mut judged = Judged::new(model(), CONFIG, 2, (&nic, fabric), Tolerance::default()).unwrap();
        let mut session =
            Session::open(judged.cluster().clone(), 2, seed, 256, &registers(&settings)).unwrap();
        session.speak(seed & 1 != 0, (seed & 2 != 0).then_some(0x123)).unwrap();
        judged.begin();
        Self { session, judged }
    }

    fn pause(&mut self, windows: usize) {
        for _ in 0..windows {
            self.judged.pass().unwrap();
        }
    }
}

fn short(settings: Settings) -> Settings {
    Settings { path_count: 4, time_wait: 6000, mpl: 500, release_low: 1, ..settings }
}

#[track_caller]
fn clean(Run { session, mut judged }: Run) {
    let contexts: Vec<_> = session.hosts.iter().map(|host| host.context.clone()).collect();
    assert_eq!(judged.kept(&contexts).unwrap(), Vec::<String>::new());
    let (summary, violations) = judged.finish();
    for violation in violations.iter().take(20) {
        eprintln!("{violation}");
    }
    assert!(violations.is_empty(), "{} violations in {summary:?}", violations.len());
}

/// Loss, copies and damage of everything, RELEASEs too, while places are few.
#[test]
fn releases_beside_the_scoreboard() {
    let seed = tessera_testbenches::seed("nic_release::judged");
    let faults = Faults {
        loss: Loss::Uniform(0.02),
        duplicate: 0.02,
        max_copies: 4,
        corrupt: 0.005,
        ..Faults::default()
    };
    let mut run = Run::open(short(Settings::default()), faults, seed);
    let (script, aimed) = lose_some(PacketClass::Release, 0.3, seed);
    run.session.cluster.lock().fabric_mut().set_script(Some(script));
    const MESSAGES: usize = 150;
    let memory = |of: usize| (0..MESSAGES).flat_map(|number| content(number + of)).collect::<Vec<u8>>();
    let mut kept = Vec::new();
    for nic in 0..2 {
        let sink = run.session.register(nic, &DmaMemory::new(MESSAGES * PLACE), Access::LOCAL_WRITE).unwrap();
        for number in 0..MESSAGES {
            run.session.recv(nic, &sink, number * PLACE..(number + 1) * PLACE, number as u64).unwrap();
        }
        let source = run.session.register(nic, &DmaMemory::from_slice(&memory(nic)), Access::READ).unwrap();
        kept.extend([sink, source]);
    }
    for number in 0..MESSAGES {
        for nic in 0..2 {
            let range = number * PLACE..number * PLACE + length(number + nic);
            run.session.send(&kept[2 * nic + 1], range, (1, nic, 1 - nic, number)).unwrap();
        }
    }
    let mut arrived = 0;
    while arrived < 2 * MESSAGES {
        arrived += run.session.poll().unwrap().len();
        run.judged.judge();
    }
    run.pause(60);
    for host in &run.session.hosts {
        let released = host.context.counter(Counter::RxRelease).unwrap();
        assert!(released > MESSAGES as u32 / 4, "NIC {}: {released} RELEASEs heard", host.nic);
    }
    let Aimed { seen, lost } = *aimed.lock().unwrap();
    assert!(lost > 10 && lost < seen, "{lost} of {seen} RELEASEs lost");
    clean(run);
}

/// Senders that hear nothing let go, and say so: receivers let go at once, long
/// before they would give up.
//= RL-1 test
//= RL-2 test
#[test]
fn who_gives_up_releases_the_receiver() {
    let seed = tessera_testbenches::seed("nic_release::aborts");
    use PacketClass::{Busy, Complete, Feedback, Nack};
    for lost in
        [&[Feedback, Nack, Complete, Busy][..], &[Feedback, Nack, Complete, Busy, PacketClass::Release]]
    {
        let faults =
            Faults { class_loss: lost.iter().map(|class| (*class, 1.0)).collect(), ..Faults::default() };
        let settings = Settings { rto: 300, max_retry: 3, rx_give_up: 60_000, ..short(Settings::default()) };
        let mut run = Run::open(settings, faults, seed);
        let sink = run.session.register(1, &DmaMemory::new(8 * 40_000), Access::LOCAL_WRITE).unwrap();
        // No two packets alike: what is written tells which it was.
        let bytes: Vec<u8> = (0..8 * 40_000u32).map(|i| (i.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        let source = run.session.register(0, &DmaMemory::from_slice(&bytes), Access::READ).unwrap();
        // Some are whole with their first window, most are not.
        for number in 0..8 {
            run.session.recv(1, &sink, number * 40_000..(number + 1) * 40_000, number as u64).unwrap();
            let len = [40_000, 300, 40_000, 40_000][number % 4];
            let range = number * 40_000..number * 40_000 + len;
            run.session.send(&source, range, (1, 0, 1, number)).unwrap();
        }
        let [a, b] = [0, 1].map(|nic: usize| run.session.hosts[nic].context.clone());
        let mut clocks = 0;
        while a.counter(Counter::TxFailed).unwrap() < 8 {
            run.pause(10);
            clocks = run.session.clock();
            assert!(clocks < 6_000_000, "the senders never end");
        }
        run.pause(40);
        let released = !lost.contains(&PacketClass::Release);
        assert_eq!(a.counter(Counter::TxRelease).unwrap(), 8);
        assert_eq!(b.counter(Counter::RxRelease).unwrap(), if released { 8 } else { 0 });
        if released {
            assert!(clocks < 16 * 60_000, "later than RX_GIVE_UP: nothing was shown");
            assert_eq!(b.counter(Counter::RxAborted).unwrap(), 6);
            assert_eq!(b.counter(Counter::RxCompleted).unwrap(), 2);
        } else {
            // Nobody told it: it gives up in its own time.
            while b.counter(Counter::RxAborted).unwrap() < 6 {
                run.pause(10);
                assert!(run.session.clock() < 16 * 200_000, "the receiver never gives up");
            }
        }
        clean(run);
    }
}

/// How long a receiver may remember a message counts on it: in that time a slot
/// shall not be used 2^19 times.
//= RO-3 test
#[test]
fn a_slot_is_used_again_after_six_ticks_at_the_earliest() {
    const LEAST: u64 = (wire::MAX_REMEMBERED as u64 * CLOCKS_PER_TICK as u64) >> 19;
    let seed = tessera_testbenches::seed("nic_release::reuse");
    // A network of no length and a host of no latency: what remains are the NICs.
    let at_once = DmaOptions { read_delay: (1, 1), write_delay: (1, 1), ready: 1.0 };
    let nic = NicOptions { dma_ctrl: at_once, dma_data: at_once, ..NicOptions::default() };
    let cluster = Cluster::new(model(), 2, &nic, FabricOptions::new(1, 1, 0, seed)).unwrap();
    let cluster = SharedCluster::new(cluster);
    let mut session = Session::open(cluster, 2, seed, 256, &[(regs::PATH_COUNT, 1)]).unwrap();
    let sink = session.register(1, &DmaMemory::new(64), Access::LOCAL_WRITE).unwrap();
    let source = session.register(0, &DmaMemory::new(64), Access::READ).unwrap();
    // All slots but one are never heard of; that one then takes all the rest.
    let slots = 1 << CONFIG.tx_slots_log2;
    let starts = Arc::<Mutex<Vec<u64>>>::default();
    let seen = Arc::clone(&starts);
    let mut lost = BTreeSet::new();
    session.cluster.lock().fabric_mut().set_script(Some(Box::new(move |clock, from, frame| {
        if from == 1 {
            return Verdict::Pass;
        }
        let slot = u16::from_be_bytes(frame[wire::TRH_AT + data::MESSAGE..][..2].try_into().unwrap()) >> 4;
        if lost.len() + 1 < slots {
            lost.insert(slot);
        }
        if lost.contains(&slot) {
            return Verdict::Lose;
        }
        if PacketClass::of(frame) == PacketClass::Data {
            seen.lock().unwrap().push(clock);
        }
        Verdict::Pass
    })));
    let messages = slots - 1 + 24;
    for number in 0..messages {
        session.recv(1, &sink, 0..64, number as u64).unwrap();
        session.send(&source, 0..0, (1, 0, 1, number)).unwrap();
    }
    while starts.lock().unwrap().len() < 20 {
        session.poll().unwrap();
    }
    let least = starts.lock().unwrap().windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    println!("a slot is used again after {least} clocks");
    assert!(least >= LEAST, "{least} clocks from a message to the next of its slot, at least {LEAST}");
}
