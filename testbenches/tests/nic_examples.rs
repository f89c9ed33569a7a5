//! The examples of the driver's pages, on Verilated NICs.

// As programs they have a `main`.
#[allow(dead_code)]
#[path = "../../driver/examples/say.rs"]
mod say;

#[allow(dead_code)]
#[path = "../../driver-tokio/examples/ended.rs"]
mod ended;

use tessera_driver::*;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_testbenches::pressed::model;

fn cluster() -> SharedCluster {
    let fabric = FabricOptions::new(2, 250, 500, 1);
    SharedCluster::new(Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap())
}

#[test]
fn a_message_is_said() {
    let cluster = cluster();
    let [here, there] = [0, 1].map(|nic| say::open(cluster.device(nic), nic as u8 + 1).unwrap());
    for text in [&b"Hello."[..], b"", &[7; 20_000]] {
        assert_eq!(say::say(text, &here, &there).unwrap(), text);
    }
}

#[test]
fn ends_are_awaited() {
    let cluster = cluster();
    let (mac, ip) = addresses(0);
    let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 1, settings: Vec::new() };
    let context = Context::open(cluster.device(0), options).unwrap();
    let (pd, queue) = (context.alloc_pd(), context.create_cq(64).unwrap());
    let mut endpoint = pd.create_endpoint(&EndpointOptions::default(), &queue, &queue).unwrap();
    endpoint.set_inline(16).unwrap();
    let sink = pd.register(&DmaMemory::new(16), Access::LOCAL_WRITE).unwrap();
    endpoint.post_recv(&RecvRequest { work_id: 0, region: &sink, range: 0..16 }).unwrap();
    let to = endpoint.address();
    let (immediate, round, payload_size) = (None, None, 256);
    let what = Inline::Send { tag: 1 };
    let hello = InlineRequest { work_id: 1, bytes: b"to myself", to, immediate, round, payload_size, what };
    endpoint.post_inline(&hello).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    assert_eq!(runtime.block_on(ended::ended(queue, 2)), Ok(2));
    assert_eq!(sink.memory().to_vec(0, 9), b"to myself");
}
