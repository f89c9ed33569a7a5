//! Whole NICs against the model: every frame, payload write and completion of
//! the Verilated `nic512` (or what `TESSERA_CONFIG` names) is judged by `model::scoreboard`, which knows the
//! specification and nothing of the hardware. docs/verification.md says what
//! may differ and by how much. `TESSERA_RUNS=N` judges N fresh seeds and names
//! every one that fails.

use std::ops::Range;
use tessera_abi::regs::{self, Reg};
use tessera_abi::wire::{self, Form};
use tessera_driver::{
    Access, AddressHandle, CompletionEvent, CompletionQueue, DatagramRequest, DmaMemory, Dscps, EndpointKind,
    EndpointOptions, MemoryRegion, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_model::scoreboard::Tolerance;
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::judged;
use tessera_sim::nic::NicOptions;
use tessera_sim::session::Session;
use tessera_testbenches::{config, nearest, nic_model};

const PAYLOAD: u32 = 4096;
/// Q_Key of the plain UD endpoints.
const PLAIN_QKEY: u32 = 0x0BAD_CAFE;
/// The VLAN of tagged runs.
const VLAN: u16 = 0x123;
const PATHS: u32 = 4;

/// Datagrams each NIC sends, and receives it posts for them.
const DATAGRAMS: usize = 40;
/// Room of a datagram's receive; every third takes a few hundred bytes only.
const PLACE: usize = 4096 + wire::GRH_LEN;

/// A plain UD endpoint, which nobody polls: the scoreboard sees its ring. There is none without datagrams.
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

/// A session beside the scoreboard.
struct Judged {
    plain: Vec<Plain>,
    session: Session,
    judged: judged::Judged,
}

/// The round that every third message of an exchange is part of.
fn round_of(number: usize) -> Option<u16> {
    number.is_multiple_of(3).then_some(number as u16 * 7)
}

impl Judged {
    fn new(form: Form, nics: usize, faults: Faults, seed: u64) -> Self {
        let fabric = FabricOptions { faults, ..FabricOptions::new(PATHS as usize, 250, 500, seed) };
        Self::on(fabric, form, nics, &[])
    }

    /// With these weights of paths, if any.
    fn on(fabric: FabricOptions, form: Form, nics: usize, weights: &[u32]) -> Self {
        let (seed, nic) = (fabric.seed, NicOptions { seed: fabric.seed, ..NicOptions::default() });
        let mut judged =
            judged::Judged::new(nic_model(), config(), nics, (&nic, fabric), Tolerance::default()).unwrap();
        let registers: [(Reg, u32); 1] = [(regs::PATH_COUNT, PATHS)];
        let mut session = Session::open(judged.cluster().clone(), nics, seed, PAYLOAD, &registers).unwrap();
        session.speak(form.v6, form.tagged.then_some(VLAN)).unwrap();
        for host in session.hosts.iter().filter(|_| !weights.is_empty()) {
            host.context.weight_paths(weights).unwrap();
        }
        // Half of the forms have short messages first, with DSCPs that say so.
        for host in session.hosts.iter().filter(|_| form.v6) {
            host.context.set_dscps(&Dscps::SHORT_FIRST).unwrap();
            host.context.set_short_first(true, true).unwrap();
        }
        let plains = if config().datagrams { nics } else { 0 };
        let plain: Vec<Plain> = (0..plains).map(|nic| Plain::new(&session, nic)).collect();
        judged.begin();
        Self { plain, session, judged }
    }

    fn send(&mut self, region: &MemoryRegion, range: Range<usize>, what: (u8, usize, usize, usize)) {
        self.session.send_in_round(region, range, what, round_of(what.3)).unwrap();
    }

    /// Memory of a NIC that its peers may write.
    fn window(&mut self, nic: usize, len: usize) -> MemoryRegion {
        self.session.register(nic, &DmaMemory::new(len), Access::REMOTE_WRITE).unwrap()
    }

    /// Takes what has completed, or lets a window pass; judges it.
    fn poll(&mut self) -> Vec<tessera_sim::session::Arrived> {
        let arrived = self.session.poll().unwrap();
        self.judged.judge();
        arrived
    }

    /// What is still on its way is judged too.
    fn settle(&mut self) {
        for _ in 0..200 {
            self.judged.pass().unwrap();
        }
    }

    /// Posts datagrams and receives for them, more than fit.
    fn datagrams(&mut self) {
        let nics = self.plain.len();
        for nic in 0..nics {
            for i in 0..DATAGRAMS / 2 {
                let length = if i % 3 == 2 { 300 } else { PLACE };
                let plain = &mut self.plain[nic];
                let at = i * PLACE;
                let request = RecvRequest { work_id: i as u64, region: &plain.sink, range: at..at + length };
                plain.endpoint.post_recv(&request).unwrap();
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
            }
        }
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
                self.session.recv(nic, &sink, place * largest..(place + 1) * largest, place as u64).unwrap();
            }
            regions.push(sink);
            for round in (0..sizes.len()).filter_map(round_of) {
                self.session.register_round(nic, round, nics as u16 - 1).unwrap();
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
        self.judged.judge();
        let mut received = 0;
        while received < nics * incoming || self.session.sends_open() > 0 {
            received += self.poll().len();
        }
        self.settle();
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
                self.session.recv(nic, &sink, place * 5000..(place + 1) * 5000, place as u64).unwrap();
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
                    let (remote, what) = (windows[to].remote(place), (2, from, to, number));
                    self.session.write(&source, 0..len, remote, what, number % 2 == 1).unwrap();
                    regions.push(source);
                }
                let source = self.session.register(from, &DmaMemory::new(5000), Access::READ).unwrap();
                self.send(&source, 0..5000, (1, from, to, 99));
                regions.push(source);
            }
        }
        self.judged.judge();
        let (mut received, mut written) = (0, 0);
        while received < nics * (told + peers) || self.session.sends_open() > 0 {
            for arrived in self.poll() {
                received += 1;
                written += arrived.written.iter().len();
            }
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
        self.settle();
    }

    /// Every NIC sends tagged messages to the next one, whose endpoint has some
    /// tagged receives, some of them taken back, beside those of its ring.
    //= RO-12 test
    //= TM-4 test
    //= TM-6 test
    fn exchange_tags(&mut self, messages: usize) {
        const ROOM: usize = 6000;
        const TAGS: usize = 5;
        let nics = self.session.nics();
        let byte = |nic: usize, i: usize| (i * 7 + i / 253 + nic * 11) as u8;
        let mut hosts = Vec::new();
        for host in &self.session.hosts {
            let cq = host.context.create_cq(1024).unwrap();
            let options = EndpointOptions { qkey: PLAIN_QKEY, tags: true, ..Default::default() };
            let mut endpoint = host.pd.create_endpoint(&options, &cq, &cq).unwrap();
            let sink = host.pd.register(&DmaMemory::new(messages * ROOM), Access::LOCAL_WRITE).unwrap();
            let bytes: Vec<u8> = (0..2 * ROOM).map(|i| byte(host.nic, i)).collect();
            let source = host.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
            for place in 0..messages {
                let range = place * ROOM..(place + 1) * ROOM;
                let request = RecvRequest { work_id: place as u64, region: &sink, range };
                if place % 2 == 0 {
                    endpoint.post_tagged_recv((place % TAGS) as u64, &request).unwrap();
                } else {
                    endpoint.post_recv(&request).unwrap();
                }
            }
            hosts.push((cq, endpoint, sink, source));
        }
        let addresses: Vec<_> = (0..nics).map(|nic| hosts[nic].1.address()).collect();
        for (nic, (_, endpoint, _, source)) in hosts.iter_mut().enumerate() {
            for number in 0..messages / 2 {
                let range = number..number + [0, 1, 300, 4096, 4097, 5900][number % 6];
                let request = SendRequest {
                    work_id: number as u64,
                    region: source,
                    range,
                    to: addresses[(nic + 1) % nics],
                    tag: (number * 3 % TAGS) as u64,
                    immediate: Some(number as u32),
                    round: None,
                    payload_size: PAYLOAD,
                };
                endpoint.post_send(&request).unwrap();
            }
        }
        let (mut ended, mut cancelled) = (0, 0);
        while ended < nics * 2 * (messages / 2) || cancelled < nics * 3 {
            let mut taken = [WorkCompletion::default(); 16];
            for (nic, (cq, endpoint, sink, _)) in hosts.iter_mut().enumerate() {
                let count = cq.poll(&mut taken).unwrap();
                for done in &taken[..count] {
                    match done.event {
                        // The first few in place are taken back, if no message was faster.
                        CompletionEvent::Posted if done.work_id < 6 => {
                            cancelled += usize::from(endpoint.cancel(done.tag, done.work_id).is_err());
                        }
                        CompletionEvent::Posted | CompletionEvent::Unexpected => {}
                        CompletionEvent::Cancelled => cancelled += 1,
                        CompletionEvent::Ended => {
                            assert_eq!(done.status, Status::Success);
                            ended += 1;
                            if done.receive {
                                let (number, len) = (done.immediate.unwrap() as usize, done.len as usize);
                                let got = sink.memory().to_vec(done.work_id as usize * ROOM, len);
                                let from = (nic + nics - 1) % nics;
                                let same = got.iter().enumerate().all(|(i, &b)| b == byte(from, number + i));
                                assert!(same, "message {number} is not what was sent");
                            }
                        }
                    }
                }
            }
            self.judged.pass().unwrap();
        }
        self.settle();
    }

    /// The violations; `least` frames must have been judged for none to mean anything.
    fn finish(self, least: u64) -> Result<(), String> {
        let (summary, violations) = self.judged.finish();
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
        let [v4, v4_tagged, v6, v6_tagged] = Form::ALL.map(nearest);
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
            let form = if loss == Loss::Uniform(0.0) { nearest(Form::ALL[3]) } else { Form::ALL[0] };
            let mut judged = Judged::new(form, 3, faults, seed);
            judged.exchange_writes(&[0, 1, 4096, 4097, 50_000, 300_000]);
            judged.finish(500).map_err(|told| format!("{loss:?}: {told}"))?;
        }
        Ok(())
    });
}

/// Marks as a fabric sets them, on its own and in its queues, over paths of unequal
/// weight.
//= TX-13 test
#[test]
fn marks_and_weights_keep_the_contract() {
    soak("nic_scoreboard::marks", |seed| {
        let faults = Faults { mark: 0.1, loss: Loss::Uniform(0.005), ..Faults::default() };
        let fabric = FabricOptions {
            faults,
            mark_above: Some(1 << 12),
            ..FabricOptions::new(PATHS as usize, 250, 500, seed)
        };
        let weights: &[u32] = if config().path_tables { &[3, 0, 5, 1] } else { &[] };
        let mut judged = Judged::on(fabric, nearest(Form::ALL[2]), 3, weights);
        judged.exchange(&SIZES[..7]);
        judged.finish(500)
    });
}

#[test]
fn tags_keep_the_contract() {
    soak("nic_scoreboard::tags", |seed| {
        let faults =
            Faults { loss: Loss::Uniform(0.02), duplicate: 0.01, max_copies: 2, ..Faults::default() };
        let mut judged = Judged::new(Form::ALL[0], 2, faults, seed);
        if tessera_testbenches::config().tagged_log2 == 0 {
            judged.exchange(&[1, 700, 3000, 6000, 200_000]);
        } else {
            judged.exchange_tags(48);
        }
        judged.finish(100)
    });
}
