//! Whole NICs: the real driver over the exported Verilog of `nic512` (or the
//! configuration that `TESSERA_CONFIG` names), on a fabric that drops, delays,
//! reorders, duplicates and corrupts.

use tessera_abi::regs::{self, endpoint, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{Access, AddressHandle, DmaMemory, EndpointOptions, Status};
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss, PacketClass};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::session::Session;
use tessera_sim::tb;
use tessera_sim::verilator::Direction;
use tessera_testbenches::pair::{Pair, Side, QKEY};
use tessera_testbenches::scripts::{lose_some, Aimed};
use tessera_testbenches::{config, nic_design, nic_model};

/// 1 us and 2 us in clocks.
const BASE: u64 = 250;
const SKEW: u64 = 500;

fn fabric(faults: Faults, seed: u64) -> FabricOptions {
    FabricOptions { faults, ..FabricOptions::new(4, BASE, SKEW, seed) }
}

fn session(nics: usize, faults: Faults, nic: &NicOptions, seed: u64, payload: u32) -> Session {
    let cluster = Cluster::new(nic_model(), nics, nic, fabric(faults, seed)).unwrap();
    Session::open(SharedCluster::new(cluster), nics, seed, payload, &[(regs::PATH_COUNT, 4)]).unwrap()
}

/// Every NIC sends a message of each size to every other; bytes are compared,
/// and nothing may be delivered twice.
fn exchange(session: &mut Session, sizes: &[usize]) {
    exchange_late(session, sizes, 0);
}

/// The same, with receives that are posted so many windows behind the sends.
fn exchange_late(session: &mut Session, sizes: &[usize], late: usize) {
    let nics = session.nics();
    let largest = sizes.iter().copied().max().unwrap();
    let content = |from: usize, number: usize, len: usize| -> Vec<u8> {
        (0..len).map(|i| (i * 31 + i / 251 + from * 7 + number * 13) as u8).collect()
    };
    let incoming = (nics - 1) * sizes.len();
    let sinks: Vec<_> = (0..nics)
        .map(|nic| session.register(nic, &DmaMemory::new(incoming * largest), Access::LOCAL_WRITE).unwrap())
        .collect();
    let post_receives = |session: &mut Session| {
        for (nic, sink) in sinks.iter().enumerate() {
            for place in 0..incoming {
                session.recv(nic, sink, place * largest..(place + 1) * largest, place as u64).unwrap();
            }
        }
    };
    if late == 0 {
        post_receives(session);
    }
    let mut sources = Vec::new();
    for from in 0..nics {
        for (number, &len) in sizes.iter().enumerate() {
            let memory = DmaMemory::from_slice(&content(from, number, len));
            sources.push(session.register(from, &memory, Access::READ).unwrap());
            for to in (0..nics).filter(|to| *to != from) {
                let source = &sources[sources.len() - 1];
                session.send(source, 0..len, (1, from, to, number)).unwrap();
            }
        }
    }
    if late > 0 {
        (0..late).for_each(|_| session.hosts[0].context.wait().unwrap());
        post_receives(session);
    }
    let mut seen = std::collections::HashSet::new();
    while seen.len() < nics * incoming || session.sends_open() > 0 {
        for arrived in session.poll().unwrap() {
            let (_, from, to, number) = tessera_sim::session::untag(arrived.tag);
            assert_eq!(to, arrived.nic);
            assert!(seen.insert(arrived.tag), "{from}->{to} #{number} came twice");
            let bytes = sinks[to].memory().to_vec(arrived.work_id as usize * largest, arrived.len);
            assert!(
                bytes == content(from, number, sizes[number]),
                "{from}->{to} #{number} is not what was sent"
            );
        }
    }
}

/// Everything a finished run must have given back.
fn assert_returned(session: &mut Session) {
    for nic in 0..session.nics() {
        let context = session.hosts[nic].context.clone();
        let read = |reg| context.read(reg).unwrap();
        // The last retirements trail the last completion by some clocks, and
        // timers that are linked keep their context until they pop.
        for _ in 0..2000 {
            if read(regs::FREE_CONTEXTS) == 1 << config().rx_contexts_log2
                && read(regs::FREE_SLOTS) == 1 << config().tx_slots_log2
            {
                break;
            }
            context.wait().unwrap();
        }
        assert_eq!(read(regs::FREE_SLOTS), 1 << config().tx_slots_log2, "NIC {nic}: slots");
        assert_eq!(read(regs::FREE_CONTEXTS), 1 << config().rx_contexts_log2, "NIC {nic}: contexts");
        assert_eq!(read(regs::OUTSTANDING), 0, "NIC {nic}: credit");
        assert_eq!(read(regs::UNSOLICITED), 0, "NIC {nic}: unasked bytes");
        assert_eq!(context.dropped(DropReason::FeedbackNonsense).unwrap(), 0, "NIC {nic}: nonsense");
        assert_eq!(context.counter(Counter::CqOverrun).unwrap(), 0, "NIC {nic}: completions lost");
        assert_eq!(session.cluster.lock().nics()[nic].dma_faults(), 0, "NIC {nic}: DMA");
    }
}

const SIZES: [usize; 14] = [0, 1, 2, 3, 63, 255, 256, 257, 4095, 4096, 4097, 65_535, 65_537, 300_000];

#[test]
fn every_size_arrives_at_every_payload_size() {
    let seed = tessera_testbenches::seed("nic::sizes");
    for payload in [256, 1024, 4096] {
        let faults = Faults { loss: Loss::Uniform(0.01), ..Faults::default() };
        let mut session = session(2, faults, &NicOptions::default(), seed, payload);
        exchange(&mut session, &SIZES);
        assert_returned(&mut session);
    }
}

/// RX-8, RX-9: over either IP, tagged or not, with answers that find back.
#[test]
fn messages_cross_in_every_form() {
    let seed = tessera_testbenches::seed("nic::forms");
    for form in tessera_testbenches::forms() {
        let faults = Faults { loss: Loss::Uniform(0.02), corrupt: 0.005, ..Faults::default() };
        let mut session = session(2, faults, &NicOptions::default(), seed, 1024);
        session.speak(form.v6, form.tagged.then_some(0x123)).unwrap();
        exchange(&mut session, &SIZES[..12]);
        assert_returned(&mut session);
        for host in &session.hosts {
            assert_eq!(host.context.dropped(DropReason::NotOurs).unwrap(), 0, "{form:?}");
            assert_eq!(host.context.dropped(DropReason::FeedbackForged).unwrap(), 0, "{form:?}");
        }
    }
}

/// RX-9: a NIC on another VLAN hears nothing.
#[test]
fn vlans_are_apart() {
    let mut pair = pair(&[(regs::T_OPEN, 2000), (regs::MAX_RETRY, 200)]);
    if !tessera_testbenches::config().vlan {
        return; // What it says to a tag: configs.rs.
    }
    pair.b.context.write(regs::VLAN, 0x124).unwrap();
    let to = pair.b.endpoint.address().on_vlan(0x123);
    assert_eq!(end_of_send(&mut pair.a, to, 100, 2000), Status::Unheard);
    assert!(pair.b.dropped(DropReason::NotOurs) > 0);
}

/// RELEASEs need a receiver that is short of places: nic_release.rs.
#[test]
fn any_class_of_packet_may_be_lost() {
    use PacketClass::{Busy, Complete, Data, Feedback, Nack, Probe, Retransmission};
    let seed = tessera_testbenches::seed("nic::class_loss");
    for class in [Data, Retransmission, Probe, Nack, Complete, Busy, Feedback] {
        // Of the other packets enough are lost that there are NACKs and their
        // like; receives come after some refusals where those are aimed at.
        let faults = Faults { loss: Loss::Uniform(0.03), ..Faults::default() };
        let mut session = session(2, faults, &NicOptions::default(), seed, 1024);
        let (script, aimed) = lose_some(class, 0.3, seed);
        session.cluster.lock().fabric_mut().set_script(Some(script));
        exchange_late(
            &mut session,
            &[0, 100, 4096, 20_000, 150_000, 500_000],
            if matches!(class, Busy | Probe) { 300 } else { 0 },
        );
        assert_returned(&mut session);
        let Aimed { seen, lost } = *aimed.lock().unwrap();
        assert!(lost >= 2 && lost < seen, "{class:?}: {lost} of {seen} lost");
    }
}

#[test]
fn copies_and_flipped_bits_change_nothing() {
    let seed = tessera_testbenches::seed("nic::copies");
    let faults = Faults { duplicate: 0.1, max_copies: 15, corrupt: 0.02, ..Faults::default() };
    let mut session = session(3, faults, &NicOptions::default(), seed, 4096);
    exchange(&mut session, &[0, 1, 5000, 100_000]);
    assert_returned(&mut session);
    let corrupted = session.cluster.lock().fabric().stats().corrupted;
    let refused: u64 = [DropReason::Icrc, DropReason::Length, DropReason::Frame, DropReason::NotOurs]
        .into_iter()
        .map(|reason| session.sum(regs::counter(reason as u32)).unwrap())
        .sum();
    assert_eq!(refused, corrupted, "each corrupted frame is counted under one reason");
}

#[test]
fn bursts_of_loss_and_slow_hosts_are_survived() {
    let seed = tessera_testbenches::seed("nic::bursts");
    let dma = DmaOptions { read_delay: (50, 1500), write_delay: (20, 1500), ready: 0.6 };
    let nic = NicOptions { dma_ctrl: dma, dma_data: dma, tx_stall: 0.2, seed };
    let faults = Faults { loss: Loss::Bursty { mean: 0.03, burst: 6.0 }, ..Faults::default() };
    let mut session = session(3, faults, &nic, seed, 4096);
    exchange(&mut session, &[0, 64, 4097, 200_000]);
    assert_returned(&mut session);
}

#[test]
fn reordering_alone_is_not_loss() {
    let seed = tessera_testbenches::seed("nic::reordering");
    // Only while every message finds a context: what is sent away comes again.
    let nics = if config().rx_contexts_log2 > 4 { 4 } else { 2 };
    for skew in [SKEW, 10 * BASE] {
        let options = FabricOptions::new(8, BASE, skew, seed);
        let cluster = Cluster::new(nic_model(), nics, &NicOptions::default(), options).unwrap();
        let settings = [(regs::PATH_COUNT, 8)];
        let mut session = Session::open(SharedCluster::new(cluster), nics, seed, 4096, &settings).unwrap();
        exchange(&mut session, &[1000, 100_000, 1 << 20]);
        let cluster = session.cluster.lock();
        let tracker = cluster.fabric().tracker();
        assert_eq!(tracker.needed, 0);
        let (spurious, data) = (tracker.spurious, tracker.data);
        assert!(
            spurious * 1000 < data,
            "skew {skew}: {spurious} of {data} packets sent again without a loss"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let faults =
            Faults { loss: Loss::Uniform(0.02), duplicate: 0.01, max_copies: 2, ..Faults::default() };
        let mut session = session(3, faults, &NicOptions::default(), 7, 4096);
        exchange(&mut session, &[10, 50_000]);
        let stats = *session.cluster.lock().fabric().stats();
        (session.clock(), stats)
    };
    assert_eq!(run(), run());
}

fn pair(settings: &[(regs::Reg, u32)]) -> Pair {
    Pair::new(nic_model(), &NicOptions::default(), fabric(Faults::default(), 1), settings)
}

/// Sends `len` zeros to `to` as request 1, and says how that ends.
#[track_caller]
fn end_of_send(side: &mut Side, to: AddressHandle, len: usize, waits: usize) -> Status {
    side.send(to, &vec![0; len], 1);
    side.find(false, 1, waits).expect("the send ends").status
}

#[test]
fn nobody_there_ends_in_unheard_within_its_bound() {
    let mut pair = pair(&[(regs::T_OPEN, 2000), (regs::MAX_RETRY, 200)]);
    let (mac, ip) = addresses(40);
    let nobody = AddressHandle::ipv4(mac, ip, 0x100, QKEY);
    assert_eq!(end_of_send(&mut pair.a, nobody, 5000, 2000), Status::Unheard);
    assert_eq!(pair.a.context.read(regs::FREE_SLOTS).unwrap(), 1 << config().tx_slots_log2);
}

#[test]
fn no_receive_posted_ends_in_receiver_not_ready() {
    let mut pair = pair(&[(regs::T_OPEN, 4000), (regs::MAX_RETRY, 200)]);
    let to = pair.b.endpoint.address();
    assert_eq!(end_of_send(&mut pair.a, to, 100, 3000), Status::ReceiverNotReady);
    assert!(pair.b.dropped(DropReason::BusyReceive) > 0);
}

#[test]
fn a_receive_posted_late_is_found() {
    let mut pair = pair(&[]);
    pair.a.send(pair.b.endpoint.address(), &[3; 100], 1);
    assert!(pair.a.find(false, 1, 200).is_none());
    let buffer = pair.b.recv(100, 2);
    let received = pair.b.done(true, 2);
    assert_eq!((received.status, pair.a.done(false, 1).status), (Status::Success, Status::Success));
    assert_eq!((received.len, received.tag, received.immediate), (100, 1, Some(!1)));
    assert_eq!(received.peer_endpoint, pair.a.endpoint.number());
    assert_eq!(buffer.to_vec(0, 100), [3; 100]);
}

#[test]
fn a_receive_that_is_too_short_stays_and_the_sender_is_told() {
    let mut pair = pair(&[]);
    let to = pair.b.endpoint.address();
    pair.b.recv(50, 2);
    assert_eq!(end_of_send(&mut pair.a, to, 100, 3000), Status::Length);
    assert_eq!(end_of_send(&mut pair.a, to, 50, 3000), Status::Success);
    assert_eq!(pair.b.find(true, 2, 3000).expect("the receive ends").len, 50);
}

#[test]
fn a_wrong_qkey_reaches_nothing() {
    let mut pair = pair(&[(regs::T_OPEN, 2000), (regs::MAX_RETRY, 200)]);
    let stranger = AddressHandle { qkey: QKEY + 1, ..pair.b.endpoint.address() };
    let options = EndpointOptions { qkey: QKEY + 1, ..EndpointOptions::default() };
    pair.a.endpoint = pair.a.pd.create_endpoint(&options, &pair.a.cq, &pair.a.cq).unwrap();
    assert_eq!(end_of_send(&mut pair.a, stranger, 100, 2000), Status::Unheard);
    assert!(pair.b.dropped(DropReason::QKey) > 0);
}

/// Rings that are nowhere in the host's memory: each read that fails is counted,
/// beside failed accesses of other kinds.
#[test]
fn reads_of_rings_that_fail_are_counted() {
    let mut pair = Pair::new(nic_model(), &NicOptions::default(), fabric(Faults::default(), 3), &[]);
    let index = (1 << config().endpoints_log2) - 1;
    let nowhere = 0xDEAD_0000_0000u64;
    let mut entry = [0u32; 16];
    for ((lsb, _), value) in [
        (endpoint::VALID, 1),
        (endpoint::SEND_ENABLE, 1),
        (endpoint::SQ_LOG2, 6),
        (endpoint::RQ_LOG2, 6),
        (endpoint::SQ_BASE, nowhere),
        (endpoint::RQ_BASE, nowhere + 0x10_0000),
    ] {
        entry[lsb / 32] |= (value << (lsb % 32)) as u32;
        if lsb % 64 == 0 {
            entry[lsb / 32 + 1] |= (value >> 32) as u32;
        }
    }
    // Its keys are not needed: what was not read has none.
    let page = regs::doorbell_page(index);
    let words = (0..).map(|i| regs::TABLE_DATA + 4 * i).zip(entry);
    let command = 1 << 31 | regs::table::ENDPOINT << 24 | index;
    let last = [
        (regs::TABLE_COMMAND.offset, command),
        (page + regs::DOORBELL_SQ, 11),
        (page + regs::DOORBELL_RQ, 9),
    ];
    for (offset, value) in words.chain(last) {
        pair.cluster.lock().nic_mut(0).write_register(offset, value);
    }
    pair.pass(40);
    let faults = pair.cluster.lock().nic_mut(0).dma_faults();
    // Of send entries, which have two beats, a read has as many as leave room for another read.
    let sends = ((1 << config().ring_beats_log2) / 4).min(8);
    let reads = 11u64.div_ceil(sends) + 2;
    let counted = u64::from(pair.a.count(Counter::DmaErrors));
    assert_eq!((faults, counted), (reads, reads), "reads of both rings");
    // Those of whom nothing was wrong go on.
    pair.deliver(&[7; 300], 1);
    assert_eq!(u64::from(pair.a.count(Counter::DmaErrors)), reads);
}

#[test]
fn outputs_depend_on_registers_only() {
    tb::run("nic::outputs", nic_design(), |dut, rng| {
        let rst = dut.port("rst").unwrap();
        dut.reset(rst, 4);
        let ports = &nic_design().ports;
        let inputs: Vec<_> = ports
            .iter()
            .filter(|port| port.direction == Direction::In && !port.is_clock && port.name != "rst")
            .map(|port| dut.port(&port.name).unwrap())
            .collect();
        let outputs: Vec<_> = ports
            .iter()
            .filter(|port| port.direction == Direction::Out)
            .map(|port| (port.name.clone(), dut.port(&port.name).unwrap()))
            .collect();
        let snapshot = |dut: &tessera_sim::verilator::Dut| -> Vec<Vec<u64>> {
            let read = |port: tessera_sim::verilator::PortId| {
                let mut words = vec![0; port.words()];
                dut.get_wide(port, &mut words);
                words
            };
            outputs.iter().map(|(_, port)| read(*port)).collect()
        };
        for _ in 0..300 {
            dut.clock();
            let before = snapshot(dut);
            for port in &inputs {
                dut.set_wide(*port, &rng.wide(port.width()));
            }
            dut.settle();
            for ((name, _), (old, new)) in outputs.iter().zip(before.iter().zip(snapshot(dut))) {
                assert_eq!(*old, new, "{name} follows an input within the clock");
            }
        }
    });
}
