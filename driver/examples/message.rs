//! Messages from one NIC to another and back, whatever the NICs are.
//!
//! `cargo run -p tessera-driver --example message -- ADDRESS ADDRESS`
//!
//! with two addresses of devices, such as `vfio-user:/tmp/nics/nic0`. The NICs take the
//! places 0 and 1 of a simulated fabric: 10.0.0.1 and 10.0.0.2.

use std::error::Error;
use std::process::ExitCode;

use tessera_driver::*;

/// Bytes of the messages.
const LENGTHS: [usize; 4] = [0, 1, 3000, 100_000];

struct Host {
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

impl Host {
    fn open(address: &str, place: u8) -> Result<Self, Box<dyn Error>> {
        let (mac, ip) = ([2, 0x54, 0x53, 0, 0, place + 1], [10, 0, 0, place + 1]);
        let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 1, settings: Vec::new() };
        let context = Context::open(open_device(address)?, options)?;
        let pd = context.alloc_pd();
        let cq = context.create_cq(64)?;
        let endpoint = pd.create_endpoint(&EndpointOptions::default(), &cq, &cq)?;
        Ok(Self { context, pd, cq, endpoint })
    }

    fn wait(&mut self) -> Result<WorkCompletion, Box<dyn Error>> {
        let mut done = [WorkCompletion::default()];
        while self.cq.poll(&mut done)? == 0 {
            self.context.wait()?;
        }
        match done[0].status {
            Status::Success => Ok(done[0]),
            status => Err(format!("request {} ended: {status:?}", done[0].work_id).into()),
        }
    }
}

fn send(from: &mut Host, to: &mut Host, len: usize) -> Result<(), Box<dyn Error>> {
    let sent: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
    let source = from.pd.register(&DmaMemory::from_slice(&sent), Access::READ)?;
    let sink = to.pd.register(&DmaMemory::new(len.max(1)), Access::LOCAL_WRITE)?;
    to.endpoint.post_recv(&RecvRequest { work_id: 1, region: &sink, range: 0..sink.len() })?;
    from.endpoint.post_send(&SendRequest {
        work_id: 2,
        region: &source,
        range: 0..len,
        to: to.endpoint.address(),
        tag: 7,
        immediate: None,
        round: None,
        payload_size: 4096,
    })?;
    let got = to.wait()?.len as usize;
    from.wait()?;
    if got != len || sink.memory().to_vec(0, len) != sent {
        return Err(format!("a message of {len} bytes arrived as {got} bytes, or as others").into());
    }
    Ok(())
}

fn run(addresses: &[String]) -> Result<(), Box<dyn Error>> {
    let [a, b] = addresses else {
        return Err("give two addresses of devices, such as vfio-user:/tmp/nics/nic0".into());
    };
    let (mut a, mut b) = (Host::open(a, 0)?, Host::open(b, 1)?);
    for len in LENGTHS {
        send(&mut a, &mut b, len)?;
        send(&mut b, &mut a, len)?;
        println!("{len} bytes there and back: right");
    }
    Ok(())
}

fn main() -> ExitCode {
    let addresses: Vec<String> = std::env::args().skip(1).collect();
    match run(&addresses) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
