//! The same messages on the Verilated NICs and on the packet-level network: completion
//! times within a twentieth of each other.
//!
//! The network's hosts run the model with the registers' defaults, as the NICs have them.
//! It knows no beats, no pipelines and no bus: what a message takes in these besides its
//! packets is measured once, of a message of one packet, and added to each ([`Latency`]);
//! that every packet's payload is read first is told, because a sender that had to wait for
//! a grant feels it again.

use tessera_abi::params::CLOCK_MHZ;
use tessera_abi::regs;
use tessera_driver::{Access, DmaMemory};
use tessera_net::fabric::{Latency, Links, Switching};
use tessera_net::network::{Make, Network};
use tessera_net::tessera::{Options, Tessera};
use tessera_net::topology::Shape;
use tessera_net::traffic::List;
use tessera_net::Ps;
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::session::{untag, Session};
use tessera_testbenches::{config, nic_model};

const PATHS: usize = 4;
/// From one NIC's last beat to the other's first, clocks.
const DELAY: u64 = 500;
const PAYLOAD_LOG2: u8 = 12;
const CLOCK: Ps = 1_000_000 / CLOCK_MHZ as Ps;
/// A read of host memory takes 225 to 275 clocks.
const READ: Ps = 250 * CLOCK;
/// Who sends how much to whom, all at once.
struct Scenario {
    name: &'static str,
    nics: usize,
    messages: Vec<(usize, usize, usize)>,
}

fn scenarios() -> Vec<Scenario> {
    let all_to_all = |nics: usize, bytes: usize| {
        let pairs = (1..nics).flat_map(move |step| (0..nics).map(move |from| (from, (from + step) % nics)));
        pairs.map(|(from, to)| (from, to, bytes)).collect()
    };
    vec![
        Scenario { name: "one message of 1 MiB", nics: 4, messages: vec![(0, 3, 1 << 20)] },
        Scenario {
            name: "ring of 256 KiB",
            nics: 4,
            messages: (0..4).map(|nic| (nic, (nic + 1) % 4, 1 << 18)).collect(),
        },
        Scenario { name: "all to all of 64 KiB", nics: 4, messages: all_to_all(4, 1 << 16) },
        Scenario { name: "all to all of 32 KiB", nics: 8, messages: all_to_all(8, 1 << 15) },
        Scenario {
            name: "three to one, 128 KiB",
            nics: 4,
            messages: (1..4).map(|nic| (nic, 0, 1 << 17)).collect(),
        },
    ]
}

/// Completion times in clocks, by message.
fn on_hardware(scenario: &Scenario) -> Vec<f64> {
    let nics = scenario.nics;
    let fabric = FabricOptions::new(PATHS, DELAY, 0, 1);
    let mut cluster = Cluster::new(nic_model(), nics, &NicOptions::default(), fabric).unwrap();
    // A host's requests are read at one visit, not one by one.
    cluster.batch_doorbells();
    let settings = [(regs::PATH_COUNT, PATHS as u32)];
    let mut session =
        Session::open(SharedCluster::new(cluster), nics, 1, 1 << PAYLOAD_LOG2, &settings).unwrap();
    let most = scenario.messages.iter().map(|message| message.2).max().unwrap();
    let regions: Vec<_> = (0..nics)
        .map(|nic| {
            let sink = session.register(nic, &DmaMemory::new(most), Access::LOCAL_WRITE).unwrap();
            let source = session.register(nic, &DmaMemory::new(most), Access::READ).unwrap();
            (sink, source)
        })
        .collect();
    for &(_, to, _) in &scenario.messages {
        session.recv(to, &regions[to].0, 0..most, 0).unwrap();
    }
    // The receives are there before the first message is.
    let context = session.hosts[0].context.clone();
    (0..20).for_each(|_| context.wait().unwrap());
    let posted = session.clock();
    for (number, &(from, to, bytes)) in scenario.messages.iter().enumerate() {
        session.send(&regions[from].1, 0..bytes, (1, from, to, number)).unwrap();
    }
    let mut times = vec![0.0; scenario.messages.len()];
    let mut left = times.len();
    let mut known = 0;
    while left > 0 {
        for arrived in session.poll().unwrap() {
            let (.., number) = untag(arrived.tag);
            times[number] = (session.samples[known].done - posted) as f64;
            known += 1;
            left -= 1;
        }
    }
    times
}

fn on_the_network(scenario: &Scenario, post: Ps) -> Vec<f64> {
    let half = DELAY / 2 * CLOCK;
    let gbps = 64 * 8 * CLOCK_MHZ / 1000;
    let make = Make {
        shape: Some(Shape::Star { hosts: scenario.nics as u32 }),
        links: Links { host_gbps: gbps, fabric_gbps: gbps, host_delay: half, ..Links::default() },
        latency: Latency { post, read: READ, tell: 0 },
        switching: Switching { ecn: None, ..Switching::default() },
        ..Make::default()
    };
    let settings = tessera_model::Settings { path_count: PATHS as u32, ..Default::default() };
    // The hosts of the hardware post all they have.
    let options = Options { config: config(), settings, payload_log2: PAYLOAD_LOG2, stream_bytes: u64::MAX };
    let mut network = Network::new(&make, |host| Tessera::new(host, &options).unwrap()).unwrap();
    let mut list = List::default();
    for &(from, to, bytes) in &scenario.messages {
        list.add(0, from as u32, to as u32, bytes as u32);
    }
    assert!(network.run(&mut list, Ps::MAX, |_| true));
    list.records.iter().map(|record| record.delivered.unwrap() as f64 / CLOCK as f64).collect()
}

#[test]
fn hardware_and_network_agree_on_completion_times() {
    let alone = Scenario { name: "one packet", nics: 2, messages: vec![(0, 1, 1 << PAYLOAD_LOG2)] };
    let besides = on_hardware(&alone)[0] - on_the_network(&alone, 0)[0];
    println!("besides its packets a message takes {besides:.0} clocks");
    // A read and two writes of host memory of some 200 clocks each, and the NIC's own pipelines.
    assert!((300.0..1500.0).contains(&besides));
    for scenario in scenarios() {
        let hardware = on_hardware(&scenario);
        let network = on_the_network(&scenario, besides as Ps * CLOCK);
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let last = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        let figures = [("mean", mean(&hardware), mean(&network)), ("last", last(&hardware), last(&network))];
        for (what, ours, theirs) in figures {
            let off = theirs / ours - 1.0;
            println!(
                "{} ({} NICs), {what}: {ours:.0} clocks in hardware, {theirs:.0} on the network, {:+.1} %",
                scenario.name,
                scenario.nics,
                100.0 * off
            );
            assert!(off.abs() < 0.05, "{}: {what} {ours:.0} and {theirs:.0} clocks", scenario.name);
        }
    }
}
