//! The fabric: order, delays, faults, counting, repeatability.

use tessera_abi::wire::{self, flag, DataHeader, MessageId, Route, Trh};
use tessera_sim::fabric::{Capture, DeadPath, Fabric, FabricOptions, Faults, Loss, PacketClass};

const MACS: [[u8; 6]; 3] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]];

fn frame(to: usize, ev: u8, index: u32, flags: u8) -> Vec<u8> {
    let route = Route {
        dst_mac: MACS[to],
        src_mac: MACS[0],
        vlan: None,
        src_gid: wire::ipv4_gid([10, 0, 0, 1]),
        dst_gid: wire::ipv4_gid([10, 0, 0, to as u8 + 1]),
        hop_limit: wire::TTL,
        flow_label: 0,
        tos: wire::TOS,
        sport: wire::SPORT_BASE + u16::from(ev),
        pkey: wire::DEFAULT_PKEY,
        dst_endpoint: 0x100,
        psn: index,
        qkey: 1,
        src_endpoint: 0x100,
    };
    let header = DataHeader {
        probe: false,
        flags,
        ev,
        payload_log2: 8,
        traffic_class: 0,
        message: MessageId::new(1, 2),
        index,
        initial_window: 16,
        length: 25_600,
        tag: 0,
        rkey: 0,
        immediate: 0,
        round: 0,
        rtt: 0,
        timestamp: 0,
    };
    let mut bytes = vec![0; 1000];
    let len = wire::emit(&route, &Trh::Data(header), &[index as u8; 256], &mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}

fn index_of(frame: &[u8]) -> u32 {
    match wire::parse(frame).unwrap().trh {
        Trh::Data(header) => header.index,
        other => panic!("{other:?}, only DATA was sent"),
    }
}

#[test]
fn a_frame_takes_its_paths_delay_and_the_port_keeps_its_rate() {
    let mut fabric = Fabric::new(&MACS, FabricOptions::new(1, 100, 0, 1));
    fabric.send(10, 0, frame(1, 0, 0, 0)).unwrap();
    fabric.send(10, 2, frame(1, 0, 1, 0)).unwrap();
    assert!(fabric.deliver(110).unwrap().is_empty());
    let deliveries = fabric.deliver(200).unwrap();
    assert_eq!(
        deliveries.iter().map(|d| (d.at, d.port, index_of(&d.frame))).collect::<Vec<_>>(),
        [
            (110, 1, 0),
            // 362 bytes are six beats.
            (116, 1, 1),
        ]
    );
    assert!(fabric.is_idle());
}

#[test]
fn paths_differ_by_source_port_and_reorder() {
    let mut fabric = Fabric::new(&MACS, FabricOptions::new(4, 100, 300, 1));
    let paths: Vec<usize> = (0..4).map(|ev| fabric.path_of(&frame(1, ev, 0, 0))).collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3], "consecutive entropy values spread over all paths");
    for index in 0..40 {
        fabric.send(u64::from(index) * 6, 0, frame(1, index as u8, index, 0)).unwrap();
    }
    let arrived: Vec<u32> = fabric.deliver(10_000).unwrap().iter().map(|d| index_of(&d.frame)).collect();
    assert_eq!(arrived.len(), 40);
    assert!(arrived.windows(2).any(|w| w[0] > w[1]), "four delays, no reordering: {arrived:?}");
    for path in 0..4 {
        let of_path: Vec<u32> = arrived.iter().copied().filter(|i| paths[*i as usize % 4] == path).collect();
        assert!(of_path.is_sorted(), "path {path} reorders: {of_path:?}");
    }
}

fn lost_of(faults: Faults, seed: u64, frames: u32) -> (u64, Vec<u32>) {
    let options = FabricOptions { faults, ..FabricOptions::new(2, 10, 5, seed) };
    let mut fabric = Fabric::new(&MACS, options);
    for index in 0..frames {
        fabric.send(u64::from(index) * 10, 0, frame(1, index as u8, index, 0)).unwrap();
    }
    let arrived = fabric.deliver(u64::MAX).unwrap().iter().map(|d| index_of(&d.frame)).collect();
    (fabric.stats().dropped(), arrived)
}

#[test]
fn loss_has_its_rate_and_its_seed() {
    for loss in [Loss::Uniform(0.05), Loss::Bursty { mean: 0.05, burst: 4.0 }] {
        let faults = Faults { loss, ..Faults::default() };
        let (lost, arrived) = lost_of(faults.clone(), 3, 20_000);
        assert!((800..1200).contains(&lost), "{loss:?} lost {lost} of 20000");
        assert_eq!(arrived.len() as u64, 20_000 - lost);
        assert_eq!(lost_of(faults.clone(), 3, 20_000), (lost, arrived.clone()), "same seed, same run");
        assert_ne!(lost_of(faults, 4, 20_000).1, arrived);
    }
}

#[test]
fn a_dead_path_loses_what_is_sent_on_it_meanwhile() {
    let dead = DeadPath { path: 0, from: 1000, until: 2000 };
    let faults = Faults { dead_paths: vec![dead], ..Faults::default() };
    let (lost, arrived) = lost_of(faults, 1, 300);
    assert_eq!(lost, 50);
    assert_eq!(arrived.len(), 250);
}

#[test]
fn corruption_spoils_the_icrc_and_duplicates_are_counted() {
    let faults = Faults { corrupt: 1.0, duplicate: 1.0, max_copies: 3, ..Faults::default() };
    let options = FabricOptions { faults, ..FabricOptions::new(1, 10, 0, 9) };
    let mut fabric = Fabric::new(&MACS, options);
    for n in 0..50 {
        fabric.send(n * 100, 0, frame(1, 0, 0, 0)).unwrap();
    }
    let deliveries = fabric.deliver(u64::MAX).unwrap();
    let good = deliveries.iter().filter(|d| wire::parse(&d.frame).is_ok_and(|p| p.icrc_ok)).count();
    let stats = fabric.stats();
    assert_eq!(stats.corrupted, 50);
    assert_eq!(good as u64, stats.duplicated, "copies are made before the bit flips");
    assert_eq!(deliveries.len() as u64, 50 + stats.duplicated);
}

#[test]
fn aimed_loss_hits_its_class_only() {
    let faults = Faults { class_loss: vec![(PacketClass::Retransmission, 1.0)], ..Faults::default() };
    let mut fabric = Fabric::new(&MACS, FabricOptions { faults, ..FabricOptions::new(1, 10, 0, 9) });
    fabric.send(0, 0, frame(1, 0, 0, 0)).unwrap();
    fabric.send(1, 0, frame(1, 0, 0, flag::RETX)).unwrap();
    assert_eq!(fabric.deliver(u64::MAX).unwrap().len(), 1);
    assert_eq!(fabric.stats().lost, 1);
}

#[test]
fn a_retransmission_is_needed_once_per_drop() {
    let faults = Faults { class_loss: vec![(PacketClass::Data, 1.0)], ..Faults::default() };
    let mut fabric = Fabric::new(&MACS, FabricOptions { faults, ..FabricOptions::new(1, 10, 0, 9) });
    fabric.send(0, 0, frame(1, 0, 7, 0)).unwrap();
    for n in 1..4 {
        fabric.send(n, 0, frame(1, 0, 7, flag::RETX)).unwrap();
    }
    fabric.send(9, 0, frame(1, 0, 8, flag::RETX)).unwrap();
    let tracker = fabric.tracker();
    assert_eq!((tracker.data, tracker.needed, tracker.spurious), (1, 1, 3));
}

#[test]
fn a_full_queue_drops_and_a_long_one_marks() {
    let options =
        FabricOptions { queue_limit: 2000, mark_above: Some(1000), ..FabricOptions::new(1, 10, 0, 9) };
    let mut fabric = Fabric::new(&MACS, options);
    for index in 0..20 {
        fabric.send(0, 0, frame(1, 0, index, 0)).unwrap();
    }
    let deliveries = fabric.deliver(u64::MAX).unwrap();
    let stats = *fabric.stats();
    assert!(stats.queue_drops > 5 && stats.marked > 0, "{stats:?}");
    let marked =
        deliveries.iter().filter(|d| wire::parse(&d.frame).unwrap().route.tos & 3 == wire::ECN_CE).count();
    assert_eq!(marked as u64, stats.marked);
    for delivery in &deliveries {
        assert_eq!(wire::ipv4_checksum(&delivery.frame[wire::IP_AT..wire::UDP_AT]), 0);
        assert!(wire::parse(&delivery.frame).unwrap().icrc_ok, "the mark is outside the ICRC");
    }
}

#[test]
fn captures_hold_every_frame_twice_with_its_time() {
    let path = std::env::temp_dir().join(format!("tessera-capture-{}.pcapng", std::process::id()));
    let mut fabric = Fabric::new(&MACS, FabricOptions::new(1, 25, 0, 1));
    fabric.start_capture(Capture::create(&path, 3).unwrap());
    fabric.send(1000, 0, frame(1, 0, 0, 0)).unwrap();
    fabric.deliver(u64::MAX).unwrap();
    fabric.finish_capture().unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Some(packet) = block.unwrap().into_enhanced_packet() {
            packets.push((packet.interface_id, packet.timestamp.as_nanos(), packet.data.len()));
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(packets, [(0, 4000, 362), (1, 4100, 362)]);
}

#[test]
fn strangers_are_unroutable() {
    let mut fabric = Fabric::new(&MACS[..1], FabricOptions::new(1, 10, 0, 1));
    fabric.send(0, 0, frame(2, 0, 0, 0)).unwrap();
    assert_eq!(fabric.stats().unroutable, 1);
    assert!(fabric.is_idle());
}
