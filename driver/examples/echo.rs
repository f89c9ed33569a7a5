//! Messages to and from another program, each with a NIC of its own.
//!
//! `cargo run -p tessera-driver --example echo -- DEVICE HOST [PEER ENDPOINT]`
//!
//! With two arguments it answers each message with its bytes, and says at which endpoint; with
//! four it sends messages there and checks the answers, the last of which ends the other. Host
//! n has the addresses of the n-th NIC of a simulated fabric: 10.0.0.n.

use std::collections::VecDeque;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tessera_driver::*;

/// Bytes of the messages.
const LENGTHS: [usize; 6] = [0, 1, 64, 3000, 4096, 100_000];
/// Short messages that are under way at a time, and in all.
const WINDOW: u64 = 16;
const SHORT: u64 = 128;
/// Most bytes of a message.
const MOST: usize = 100_000;
/// Tag of the message that is the last.
const LAST: u64 = u64::MAX;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn mac(host: u8) -> [u8; 6] {
    [2, 0x54, 0x53, 0, 0, host]
}

/// Slots for messages, in one region.
struct Slots {
    region: MemoryRegion,
}

impl Slots {
    fn new(pd: &ProtectionDomain, access: Access) -> Outcome<Self> {
        Ok(Self { region: pd.register(&DmaMemory::new(WINDOW as usize * MOST), access)? })
    }

    fn at(slot: u64) -> usize {
        (slot % WINDOW) as usize * MOST
    }

    fn memory(&self) -> &Arc<DmaMemory> {
        self.region.memory()
    }
}

struct Host {
    context: Context,
    cq: CompletionQueue,
    endpoint: Endpoint,
    sent: Slots,
    received: Slots,
    /// Slots of `sent` that no send is reading: sends end in any order.
    free: Vec<u64>,
}

impl Host {
    fn open(device: &str, host: u8) -> Outcome<Self> {
        // As `tessera run` and `tessera guest` give it: the number of paths, for one.
        let settings = std::env::var("TESSERA_SET").unwrap_or_default();
        let settings = settings.split(',').filter(|text| !text.is_empty()).map(setting);
        let settings = settings.collect::<Result<_, _>>()?;
        let options =
            ContextOptions { mac: mac(host), ip: [10, 0, 0, host], ip6: None, vlan: None, seed: 1, settings };
        let context = Context::open(open_device(device)?, options)?;
        let pd = context.alloc_pd();
        let cq = context.create_cq(256)?;
        let endpoint = pd.create_endpoint(&EndpointOptions::default(), &cq, &cq)?;
        let (sent, received) = (Slots::new(&pd, Access::READ)?, Slots::new(&pd, Access::LOCAL_WRITE)?);
        let free = (0..WINDOW).collect();
        let mut host = Self { context, cq, endpoint, sent, received, free };
        for slot in 0..WINDOW {
            host.listen(slot)?;
        }
        Ok(host)
    }

    fn listen(&mut self, slot: u64) -> Outcome<()> {
        let range = Slots::at(slot)..Slots::at(slot) + MOST;
        Ok(self.endpoint.post_recv(&RecvRequest { work_id: slot, region: &self.received.region, range })?)
    }

    /// Sends bytes from a slot that is free; `false` if none is, or the ring is full.
    fn send(&mut self, bytes: &[u8], to: AddressHandle, tag: u64) -> Outcome<bool> {
        let Some(slot) = self.free.pop() else { return Ok(false) };
        self.sent.memory().write(Slots::at(slot), bytes);
        let posted = self.endpoint.post_send(&SendRequest {
            work_id: slot,
            region: &self.sent.region,
            range: Slots::at(slot)..Slots::at(slot) + bytes.len(),
            to,
            tag,
            immediate: None,
            round: None,
            payload_size: 4096,
        });
        match posted {
            Ok(()) => Ok(true),
            // Behind one that waits for a receive, places of others are not free yet.
            Err(PostError::RingFull { .. }) => {
                self.free.push(slot);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What a receive has brought.
    fn bytes(&self, done: &WorkCompletion) -> Vec<u8> {
        self.received.memory().to_vec(Slots::at(done.work_id), done.len as usize)
    }

    fn wait(&mut self) -> Outcome<WorkCompletion> {
        let mut done = [WorkCompletion::default()];
        while self.cq.poll(&mut done)? == 0 {
            self.context.wait()?;
        }
        if !done[0].receive {
            self.free.push(done[0].work_id);
        }
        match done[0].status {
            Status::Success => Ok(done[0]),
            status => Err(format!("request {} ended: {status:?}", done[0].work_id).into()),
        }
    }

    /// Answers until the last message; how many there were.
    fn answer(&mut self) -> Outcome<u64> {
        let (mut count, mut last) = (0, false);
        // Not answered yet; their slots receive nothing new.
        let mut waiting = VecDeque::new();
        while !last || !waiting.is_empty() || self.free.len() < WINDOW as usize {
            let done = self.wait()?;
            if done.receive {
                waiting.push_back(done);
            }
            while let Some(done) = waiting.front() {
                let host = mac(done.peer_gid[15]);
                let qkey = self.endpoint.address().qkey;
                let to = AddressHandle::new(host, done.peer_gid, done.peer_endpoint, qkey);
                let (slot, tag, bytes) = (done.work_id, done.tag, self.bytes(done));
                if !self.send(&bytes, to, tag)? {
                    break;
                }
                waiting.pop_front();
                self.listen(slot)?;
                (count, last) = (count + 1, last || tag == LAST);
            }
        }
        Ok(count)
    }

    /// Sends a message, and waits for the same back.
    fn ask(&mut self, to: AddressHandle, len: usize, tag: u64) -> Outcome<()> {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251 + tag as usize) as u8).collect();
        self.send(&bytes, to, tag)?;
        let mut came = false;
        while !came || self.free.len() < WINDOW as usize {
            let done = self.wait()?;
            if !done.receive {
                continue;
            }
            let got = self.bytes(&done);
            if done.tag != tag || got != bytes {
                return Err(format!("of {len} bytes {} came back, or others", got.len()).into());
            }
            self.listen(done.work_id)?;
            came = true;
        }
        Ok(())
    }

    /// Sends many short ones, and waits for all of them.
    fn ask_many(&mut self, to: AddressHandle) -> Outcome<()> {
        let bytes = |message: u64| message.to_le_bytes().repeat(8);
        let (mut posted, mut came) = (0, vec![false; SHORT as usize]);
        while came.contains(&false) || self.free.len() < WINDOW as usize {
            while posted < SHORT && self.send(&bytes(posted), to, posted)? {
                posted += 1;
            }
            let done = self.wait()?;
            if !done.receive {
                continue;
            }
            let place = came.get_mut(done.tag as usize).filter(|place| !**place);
            let place = place.filter(|_| self.bytes(&done) == bytes(done.tag));
            *place.ok_or_else(|| format!("message {} came back as another, or again", done.tag))? = true;
            self.listen(done.work_id)?;
        }
        Ok(())
    }
}

fn run(arguments: &[String]) -> Outcome<()> {
    let number = |text: &String| -> Outcome<u32> {
        text.parse().map_err(|_| format!("`{text}` is no number of a host or an endpoint").into())
    };
    let host = |text: &String| -> Outcome<u8> {
        u8::try_from(number(text)?).map_err(|_| format!("`{text}`: hosts are 1 to 255").into())
    };
    match arguments {
        [device, here] => {
            let mut here = Host::open(device, host(here)?)?;
            println!("endpoint {}", here.endpoint.address().endpoint);
            println!("answered {} messages", here.answer()?);
        }
        [device, here, peer, endpoint] => {
            let mut here = Host::open(device, host(here)?)?;
            let (peer, qkey) = (host(peer)?, here.endpoint.address().qkey);
            let to = AddressHandle::ipv4(mac(peer), [10, 0, 0, peer], number(endpoint)?, qkey);
            for len in LENGTHS {
                let begun = Instant::now();
                here.ask(to, len, len as u64)?;
                println!("{len} bytes there and back: right, {} ms", begun.elapsed().as_millis());
            }
            let begun = Instant::now();
            here.ask_many(to)?;
            println!("{SHORT} times 64 bytes, {WINDOW} at a time: right, {} ms", begun.elapsed().as_millis());
            here.ask(to, 0, LAST)?;
        }
        _ => {
            return Err("usage: echo DEVICE HOST [PEER ENDPOINT], as in echo socket:/tmp/nics?nic=0 1".into())
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
