//! Whole NICs against the model: every frame, payload write and completion of
//! the Verilated `nic512` (or what `TESSERA_CONFIG` names) is judged by `model::scoreboard`, which knows the
//! specification and nothing of the hardware. docs/verification.md says what
//! may differ and by how much. `TESSERA_RUNS=N` judges N fresh seeds and names
//! every one that fails.

use std::ops::Range;
use std::sync::OnceLock;

use tessera_abi::queue::{OP_SEND, OP_UD, OP_WRITE};
use tessera_abi::regs::{self, Reg};
use tessera_abi::wire::{self, Form};
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DmaMemory, EndpointKind, EndpointOptions,
    MemoryRegion, RecvRequest, RemoteMemory,
};
use tessera_model::queue::{RecvEntry, SendEntry};
use tessera_model::scoreboard::{Event, NicSetup, Scoreboard, Tolerance};
use tessera_model::settings::{Endpoint, Identity, MemoryKey, Settings};
use tessera_sim::cluster::{addresses, ip6, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaClass, NicEvent, NicOptions};
use tessera_sim::session::{nic_seed, Session};
use tessera_sim::verilator::{BuildOptions, Design, Model};
use tessera_testbenches::config;

const PAYLOAD_LOG2: u8 = 12;
/// Q_Key of the plain UD endpoints.
const PLAIN_QKEY: u32 = 0x0BAD_CAFE;
/// The VLAN of tagged runs.
const VLAN: u16 = 0x123;
const PATHS: u32 = 4;

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let export = tessera_rtl::export::nic(config(), "").unwrap_or_else(|error| panic!("{error}"));
        Model::build(&Design::from(&export), &BuildOptions::default()).unwrap_or_else(|e| panic!("{e}"))
    })
}

/// Datagrams each NIC sends, and receives it posts for them.
const DATAGRAMS: usize = 40;
/// Room of a datagram's receive; every third takes a few hundred bytes only.
const PLACE: usize = 4096 + wire::GRH_LEN;

/// A plain UD endpoint, which nobody polls: the scoreboard sees its ring.
struct Plain {
    endpoint: tessera_driver::Endpoint,
    _cq: CompletionQueue,
    sink: MemoryRegion,
    source: MemoryRegion,
}

impl Plain {
    fn new(session: &Session, nic: usize) -> Self {
        let host = &session.hosts[nic];
        let cq = host.context.create_cq(256).unwrap();
        let options =
            EndpointOptions { kind: EndpointKind::Datagrams, qkey: PLAIN_QKEY, ..Default::default() };
        let endpoint = host.pd.create_endpoint(&options, &cq, &cq).unwrap();
        let sink = session.register(nic, &DmaMemory::new(DATAGRAMS * PLACE), Access::LOCAL_WRITE).unwrap();
        let bytes: Vec<u8> = (0..8192).map(|i| (i * 41 + i / 256 + nic * 3) as u8).collect();
        let source = session.register(nic, &DmaMemory::from_slice(&bytes), Access::READ).unwrap();
        Self { endpoint, _cq: cq, sink, source }
    }
}

/// A session whose every observable event goes to the scoreboard.
struct Judged {
    plain: Vec<Plain>,
    session: Session,
    board: Scoreboard,
    sends: Vec<u16>,
    recvs: Vec<u16>,
    /// Posts of the present window, to be told after its arrivals.
    posts: Vec<(u64, usize, Post)>,
}

enum Post {
    Key(MemoryKey),
    Send(u16, SendEntry, Vec<u8>),
    Recv(u16, RecvEntry),
    /// The same at the plain UD endpoint.
    Datagram(u16, SendEntry, Vec<u8>),
    Place(u16, RecvEntry),
    /// A round's id and the messages it needs.
    Round(u16, u16),
}

/// The round that every third message of an exchange is part of.
fn round_of(number: usize) -> Option<u16> {
    number.is_multiple_of(3).then_some(number as u16 * 7)
}

impl Judged {
    fn new(form: Form, nics: usize, faults: Faults, seed: u64) -> Self {
        let fabric = FabricOptions { faults, ..FabricOptions::new(PATHS as usize, 250, 500, seed) };
        let nic = NicOptions { seed, ..NicOptions::default() };
        let mut cluster = Cluster::new(model(), nics, &nic, fabric).unwrap();
        for nic in 0..nics {
            cluster.nic_mut(nic).observe();
        }
        let registers: [(Reg, u32); 1] = [(regs::PATH_COUNT, PATHS)];
        let mut session =
            Session::open(SharedCluster::new(cluster), nics, seed, 1 << PAYLOAD_LOG2, &registers).unwrap();
        let vlan = form.tagged.then_some(VLAN);
        session.speak(form.v6, vlan).unwrap();
        let plain: Vec<Plain> = (0..nics).map(|nic| Plain::new(&session, nic)).collect();
        let setup = |nic: usize| {
            let (mac, ip) = addresses(nic);
            let address = session.address(nic);
            let settings = Settings { path_count: PATHS, seed: nic_seed(seed, nic), ..Settings::default() };
            NicSetup {
                config: *config(),
                identity: Identity {
                    mac,
                    ip,
                    ip6: ip6(nic),
                    vlan: vlan.unwrap_or(0),
                    pkey: tessera_abi::wire::DEFAULT_PKEY,
                },
                settings,
                endpoints: vec![
                    Endpoint::new(address.endpoint, address.qkey),
                    Endpoint { datagram: true, ..Endpoint::new(plain[nic].endpoint.number(), PLAIN_QKEY) },
                ],
                keys: Vec::new(),
                places: Vec::new(),
                time_at_zero: 0,
            }
        };
        let board = Scoreboard::new((0..nics).map(setup).collect(), Tolerance::default());
        Self { plain, session, board, sends: vec![0; nics], recvs: vec![0; nics], posts: Vec::new() }
    }

    fn send(&mut self, region: &MemoryRegion, range: Range<usize>, what: (u8, usize, usize, usize)) {
        let (phase, from, to, number) = what;
        let round = round_of(number);
        let peer = self.session.address(to);
        let entry = SendEntry {
            opcode: OP_SEND,
            immediate: None,
            round,
            payload_log2: PAYLOAD_LOG2,
            traffic_class: 0,
            length: range.len() as u32,
            address: region.address() + range.start as u64,
            lkey: region.lkey(),
            initial_window: 0,
            tag: tessera_sim::session::tag(phase, from, to, number),
            rkey: 0,
            qkey: peer.qkey,
            endpoint: peer.endpoint,
            mac: peer.mac,
            gid: peer.gid,
            hop_limit: 0,
            vlan: peer.vlan,
        };
        let payload = region.memory().to_vec(range.start, range.len());
        self.posts.push((self.session.clock(), from, Post::Send(self.sends[from], entry, payload)));
        self.sends[from] = self.sends[from].wrapping_add(1);
        self.session.send_in_round(region, range, what, round).unwrap();
    }

    fn register(&mut self, nic: usize, id: u16, messages: u16) {
        self.posts.push((self.session.clock(), nic, Post::Round(id, messages)));
        self.session.register_round(nic, id, messages).unwrap();
    }

    /// Memory of a NIC that its peers may write.
    fn window(&mut self, nic: usize, len: usize) -> MemoryRegion {
        let region = self.session.register(nic, &DmaMemory::new(len), Access::REMOTE_WRITE).unwrap();
        let key = MemoryKey {
            key: region.rkey(),
            base: region.address(),
            length: len as u64,
            // The first domain that the driver gives out.
            pd: 1,
            local_write: false,
            remote_write: true,
        };
        self.posts.push((self.session.clock(), nic, Post::Key(key)));
        region
    }

    fn write(
        &mut self,
        region: &MemoryRegion,
        remote: RemoteMemory,
        what: (u8, usize, usize, usize),
        notify: bool,
    ) {
        let (_, from, to, number) = what;
        let peer = self.session.address(to);
        let entry = SendEntry {
            opcode: OP_WRITE,
            immediate: notify.then_some(number as u32),
            payload_log2: PAYLOAD_LOG2,
            traffic_class: 0,
            length: region.len() as u32,
            address: region.address(),
            lkey: region.lkey(),
            initial_window: 0,
            tag: remote.address,
            rkey: remote.rkey,
            round: None,
            qkey: peer.qkey,
            endpoint: peer.endpoint,
            mac: peer.mac,
            gid: peer.gid,
            hop_limit: 0,
            vlan: peer.vlan,
        };
        let payload = region.memory().to_vec(0, region.len());
        self.posts.push((self.session.clock(), from, Post::Send(self.sends[from], entry, payload)));
        self.sends[from] = self.sends[from].wrapping_add(1);
        self.session.write(region, 0..region.len(), remote, what, notify).unwrap();
    }

    fn recv(&mut self, nic: usize, region: &MemoryRegion, range: Range<usize>, id: u64) {
        let address = region.address() + range.start as u64;
        let entry = RecvEntry::new(address, range.len() as u32, region.lkey());
        self.posts.push((self.session.clock(), nic, Post::Recv(self.recvs[nic], entry)));
        self.recvs[nic] = self.recvs[nic].wrapping_add(1);
        self.session.recv(nic, region, range, id).unwrap();
    }

    /// Posts datagrams and receives for them, more than fit.
    fn datagrams(&mut self) {
        let nics = self.session.nics();
        for nic in 0..nics {
            for i in 0..DATAGRAMS / 2 {
                let length = if i % 3 == 2 { 300 } else { PLACE };
                let plain = &mut self.plain[nic];
                let at = i * PLACE;
                let request = RecvRequest { work_id: i as u64, region: &plain.sink, range: at..at + length };
                plain.endpoint.post_recv(&request).unwrap();
                let (address, lkey) = (plain.sink.address() + at as u64, plain.sink.lkey());
                let entry = RecvEntry::new(address, length as u32, lkey);
                self.posts.push((self.session.clock(), nic, Post::Place(i as u16, entry)));
            }
        }
        for from in 0..nics {
            let peer = self.session.address((from + 1) % nics);
            let number = self.plain[(from + 1) % nics].endpoint.number();
            for i in 0..DATAGRAMS {
                let length = [0, 1, 130, 250, 700, 4096, 200, 5][i % 8];
                let plain = &mut self.plain[from];
                let to = AddressHandle {
                    endpoint: number,
                    qkey: if i % 2 == 0 { PLAIN_QKEY } else { 0x8000_0000 },
                    traffic_class: i as u8,
                    hop_limit: (i % 5) as u8,
                    ..peer
                };
                let immediate = (i % 3 == 0).then_some(i as u32);
                let request = DatagramRequest {
                    work_id: i as u64,
                    region: &plain.source,
                    range: i..i + length,
                    to,
                    immediate,
                    path_mtu: 4096,
                };
                plain.endpoint.post_datagram(&request).unwrap();
                let entry = SendEntry {
                    opcode: OP_UD,
                    immediate,
                    round: None,
                    payload_log2: 12,
                    traffic_class: to.traffic_class,
                    length: length as u32,
                    address: plain.source.address() + i as u64,
                    lkey: plain.source.lkey(),
                    initial_window: 0,
                    hop_limit: to.hop_limit,
                    vlan: to.vlan,
                    tag: 0,
                    rkey: 0,
                    qkey: to.qkey,
                    endpoint: number,
                    mac: to.mac,
                    gid: to.gid,
                };
                let payload = plain.source.memory().to_vec(i, length);
                self.posts.push((self.session.clock(), from, Post::Datagram(i as u16, entry, payload)));
            }
        }
    }

    /// Tells the scoreboard what was seen since the last call, in order.
    fn judge(&mut self) {
        let observed = self.session.cluster.lock().take_events();
        for (nic, events) in observed {
            let endpoint = self.session.address(nic).endpoint;
            let plain = self.plain[nic].endpoint.number();
            let mut posts = self.posts.iter().filter(|(_, of, _)| *of == nic).peekable();
            let mut tell_posts = |board: &mut Scoreboard, until: u64| {
                while let Some((clock, _, post)) = posts.next_if(|(clock, ..)| *clock < until) {
                    match post {
                        Post::Key(key) => {
                            let index = (key.key & 0xFF) as u8;
                            board.observe(*clock, nic, Event::Key { index, key: Some(key) });
                        }
                        Post::Send(index, entry, payload) => {
                            board.observe(
                                *clock,
                                nic,
                                Event::PostedSend { endpoint, index: *index, entry, payload },
                            );
                        }
                        Post::Recv(index, entry) => {
                            board.observe(*clock, nic, Event::PostedRecv { endpoint, index: *index, entry });
                        }
                        Post::Datagram(index, entry, payload) => {
                            let posted = Event::PostedSend { endpoint: plain, index: *index, entry, payload };
                            board.observe(*clock, nic, posted);
                        }
                        Post::Place(index, entry) => {
                            let posted = Event::PostedRecv { endpoint: plain, index: *index, entry };
                            board.observe(*clock, nic, posted);
                        }
                        &Post::Round(round, messages) => {
                            board.observe(*clock, nic, Event::Registered { endpoint, round, messages });
                        }
                    }
                }
            };
            for event in &events {
                let clock = match event {
                    NicEvent::Received { at, .. } => *at,
                    NicEvent::Sent(frame) => frame.last,
                    NicEvent::Read(read) => read.at,
                    NicEvent::Wrote(write) => write.at,
                };
                tell_posts(&mut self.board, clock);
                match event {
                    NicEvent::Received { bytes, .. } => {
                        self.board.observe(clock, nic, Event::Received(bytes))
                    }
                    NicEvent::Sent(frame) => self.board.observe(clock, nic, Event::Sent(&frame.bytes)),
                    NicEvent::Read(_) => {}
                    NicEvent::Wrote(write) if write.class == DmaClass::Data => {
                        let (address, bytes) = (write.address, &write.bytes[..]);
                        self.board.observe(clock, nic, Event::Wrote { address, bytes });
                    }
                    NicEvent::Wrote(write) => {
                        let entry = write.bytes[..].try_into().expect("a completion entry has 64 bytes");
                        self.board.observe(clock, nic, Event::Completed(entry));
                    }
                }
            }
            tell_posts(&mut self.board, u64::MAX);
        }
        self.posts.clear();
    }

    /// Every NIC sends a message of each size to every other.
    fn exchange(&mut self, sizes: &[usize]) {
        let nics = self.session.nics();
        let largest = sizes.iter().copied().max().unwrap();
        let incoming = (nics - 1) * sizes.len();
        let mut regions = Vec::new();
        for nic in 0..nics {
            let sink =
                self.session.register(nic, &DmaMemory::new(incoming * largest), Access::LOCAL_WRITE).unwrap();
            for place in 0..incoming {
                self.recv(nic, &sink, place * largest..(place + 1) * largest, place as u64);
            }
            regions.push(sink);
            for round in (0..sizes.len()).filter_map(round_of) {
                self.register(nic, round, nics as u16 - 1);
            }
        }
        for from in 0..nics {
            for (number, &len) in sizes.iter().enumerate() {
                // No two messages alike: the scoreboard tells them apart by their bytes.
                let byte = |i: usize| (i * 17 + i / 255 + from * 5 + number * 29) as u8;
                let memory = DmaMemory::from_slice(&(0..len).map(byte).collect::<Vec<_>>());
                let source = self.session.register(from, &memory, Access::READ).unwrap();
                for to in (0..nics).filter(|to| *to != from) {
                    self.send(&source, 0..len, (1, from, to, number));
                }
                regions.push(source);
            }
        }
        self.datagrams();
        self.judge();
        let mut received = 0;
        while received < nics * incoming || self.session.sends_open() > 0 {
            received += self.session.poll().unwrap().len();
            self.judge();
        }
        // What is still on its way is judged too.
        for _ in 0..200 {
            self.session.hosts[0].context.wait().unwrap();
            self.judge();
        }
    }

    /// Every NIC writes each size to every other, every second one with an
    /// immediate, beside sends.
    //= WR-2 test
    fn exchange_writes(&mut self, sizes: &[usize]) {
        let nics = self.session.nics();
        let largest = sizes.iter().copied().max().unwrap();
        let peers = nics - 1;
        let told = sizes.len() / 2 * peers;
        let mut regions = Vec::new();
        let mut windows = Vec::new();
        for nic in 0..nics {
            // One place per sender and size; receives are for immediates and sends alike.
            windows.push(self.window(nic, nics * sizes.len() * largest));
            let sink = self
                .session
                .register(nic, &DmaMemory::new((told + peers) * 5000), Access::LOCAL_WRITE)
                .unwrap();
            for place in 0..told + peers {
                self.recv(nic, &sink, place * 5000..(place + 1) * 5000, place as u64);
            }
            regions.push(sink);
        }
        let byte = |i: usize, from: usize, to: usize, number: usize| {
            (i * 13 + i / 253 + from * 7 + to * 3 + number * 31 + 1) as u8
        };
        for from in 0..nics {
            for to in (0..nics).filter(|to| *to != from) {
                for (number, &len) in sizes.iter().enumerate() {
                    let bytes: Vec<_> = (0..len).map(|i| byte(i, from, to, number)).collect();
                    let source =
                        self.session.register(from, &DmaMemory::from_slice(&bytes), Access::READ).unwrap();
                    let place = (from * sizes.len() + number) * largest;
                    self.write(&source, windows[to].remote(place), (2, from, to, number), number % 2 == 1);
                    regions.push(source);
                }
                let source = self.session.register(from, &DmaMemory::new(5000), Access::READ).unwrap();
                self.send(&source, 0..5000, (1, from, to, 99));
                regions.push(source);
            }
        }
        self.judge();
        let (mut received, mut written) = (0, 0);
        while received < nics * (told + peers) || self.session.sends_open() > 0 {
            for arrived in self.session.poll().unwrap() {
                received += 1;
                written += arrived.written.iter().len();
            }
            self.judge();
        }
        assert_eq!(written, nics * told);
        for (to, window) in windows.iter().enumerate() {
            for from in (0..nics).filter(|from| *from != to) {
                for (number, &len) in sizes.iter().enumerate() {
                    let place = (from * sizes.len() + number) * largest;
                    let bytes = window.memory().to_vec(place, len);
                    let good = bytes.iter().enumerate().all(|(i, &b)| b == byte(i, from, to, number));
                    assert!(good, "write {from}->{to} #{number}");
                }
            }
        }
        for _ in 0..200 {
            self.session.hosts[0].context.wait().unwrap();
            self.judge();
        }
    }

    /// The violations; `least` frames must have been judged for none to mean anything.
    fn finish(self, least: u64) -> Result<(), String> {
        let (summary, violations) = self.board.finish(self.session.clock());
        if violations.is_empty() && summary.frames > least {
            return Ok(());
        }
        let shown: Vec<String> =
            violations.iter().take(12).map(|violation| format!("{violation:?}")).collect();
        Err(format!("{} violations in {summary:?}:\n{}", violations.len(), shown.join("\n")))
    }
}

/// Judges a run of every seed; all that fail are told at the end.
fn soak(test: &str, run: impl Fn(u64) -> Result<(), String>) {
    let seeds = tessera_testbenches::seeds(test);
    let failed: Vec<String> = seeds
        .iter()
        .filter_map(|&seed| run(seed).err().map(|told| format!("TESSERA_SEED={seed:#018x}: {told}")))
        .collect();
    assert!(failed.is_empty(), "{} of {} seeds:\n{}", failed.len(), seeds.len(), failed.join("\n"));
}

const SIZES: [usize; 8] = [0, 1, 100, 4096, 4097, 50_000, 200_000, 1_200_000];

#[test]
fn a_lossless_run_keeps_the_contract() {
    soak("nic_scoreboard::lossless", |seed| {
        let mut judged = Judged::new(Form::ALL[0], 2, Faults::default(), seed);
        judged.exchange(&SIZES);
        judged.finish(1000)
    });
}

#[test]
fn loss_copies_and_damage_keep_the_contract() {
    soak("nic_scoreboard::faults", |seed| {
        let [v4, v4_tagged, v6, v6_tagged] = Form::ALL;
        let one_in_twenty = Loss::Uniform(0.05);
        for (form, loss) in [
            (v4, Loss::Uniform(0.01)),
            (v6_tagged, one_in_twenty),
            (v6, Loss::Bursty { mean: 0.03, burst: 4.0 }),
            (v4_tagged, one_in_twenty),
        ] {
            let faults = Faults { loss, duplicate: 0.01, max_copies: 3, corrupt: 0.002, ..Faults::default() };
            let mut judged = Judged::new(form, 3, faults, seed);
            judged.exchange(&SIZES[..7]);
            judged.finish(500).map_err(|told| format!("{form:?} {loss:?}: {told}"))?;
        }
        Ok(())
    });
}

//= WR-1 test
//= WR-2 test
#[test]
fn writes_keep_the_contract() {
    soak("nic_scoreboard::writes", |seed| {
        for loss in [Loss::Uniform(0.0), Loss::Uniform(0.02)] {
            let faults = Faults { loss, duplicate: 0.01, max_copies: 3, corrupt: 0.001, ..Faults::default() };
            let form = if loss == Loss::Uniform(0.0) { Form::ALL[3] } else { Form::ALL[0] };
            let mut judged = Judged::new(form, 3, faults, seed);
            judged.exchange_writes(&[0, 1, 4096, 4097, 50_000, 300_000]);
            judged.finish(500).map_err(|told| format!("{loss:?}: {told}"))?;
        }
        Ok(())
    });
}
