//! The example of the crate's page: a message from one NIC to another.

use std::sync::Arc;
use tessera_driver::*;

/// Opens a NIC with the addresses that simulated fabrics have it under.
pub fn open(device: Arc<dyn Device>, host: u8) -> Result<Context, OpenError> {
    let (mac, ip) = ([2, 0x54, 0x53, 0, 0, host], [10, 0, 0, host]);
    let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 1, settings: Vec::new() };
    Context::open(device, options)
}

/// Sends a text from one to the other, and gives what came.
pub fn say(text: &[u8], here: &Context, there: &Context) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (pd, mut sent) = (here.alloc_pd(), here.create_cq(64)?);
    let mut sender = pd.create_endpoint(&EndpointOptions::default(), &sent, &sent)?;
    let from = pd.register(&DmaMemory::from_slice(text), Access::READ)?;

    let (pd, mut received) = (there.alloc_pd(), there.create_cq(128)?);
    let mut receiver = pd.create_endpoint(&EndpointOptions::default(), &received, &received)?;
    let into = pd.register(&DmaMemory::new(1 << 20), Access::LOCAL_WRITE)?;

    receiver.post_recv(&RecvRequest { work_id: 1, region: &into, range: 0..into.len() })?;
    sender.post_send(&SendRequest {
        work_id: 2,
        region: &from,
        range: 0..from.len(),
        to: receiver.address(),
        tag: 7,
        immediate: None,
        round: None,
        payload_size: 4096,
    })?;
    let mut done = [WorkCompletion::default()];
    for cq in [&mut received, &mut sent] {
        while cq.poll(&mut done)? == 0 {
            here.wait()?;
        }
        if done[0].status != Status::Success {
            return Err(format!("request {} ended: {:?}", done[0].work_id, done[0].status).into());
        }
    }
    Ok(into.memory().to_vec(0, text.len()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Of two NICs on one fabric, such as socket:/tmp/nics.sock?nic=0 and ?nic=1.
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    if let [here, there] = &addresses[..] {
        let (here, there) = (open(open_device(here)?, 1)?, open(open_device(there)?, 2)?);
        println!("{}", String::from_utf8_lossy(&say(b"Hello.", &here, &there)?));
    }
    Ok(())
}
