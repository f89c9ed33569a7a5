//! What the scoreboard has to know of hosts and NICs to judge them: rings whose places
//! are used again before anybody asks, contexts that are out after their message's end,
//! and deadlines that come nearer with what is known of a path.

use std::ops::Range;

use tessera_abi::status::Drop as DropReason;
use tessera_driver::{
    Access, CompletionQueue, Context, ContextOptions, DmaMemory, Endpoint, EndpointOptions, MemoryRegion,
    ProtectionDomain, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_model::scoreboard::Tolerance;
use tessera_model::settings::Settings;
use tessera_sim::cluster::{addresses, ip6};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::judged::{registers, Judged};
use tessera_sim::nic::NicOptions;
use tessera_sim::tb::Rng;
use tessera_testbenches::nic_model;

const QKEY: u32 = 0x5453_0007;

/// One NIC's host, one endpoint.
struct Host {
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

/// Two hosts on judged NICs.
fn open(settings: &Settings, options: EndpointOptions, seed: u64) -> (Judged, [Host; 2]) {
    let nic = NicOptions { seed, ..NicOptions::default() };
    let fabric = FabricOptions::new(1, 250, 250, seed);
    let config = tessera_testbenches::config();
    let mut judged = Judged::new(nic_model(), config, 2, (&nic, fabric), Tolerance::default()).unwrap();
    let hosts = [0, 1].map(|nic| {
        let (mac, ip) = addresses(nic);
        let settings = registers(settings);
        let own = ContextOptions {
            mac,
            ip,
            ip6: config.ipv6.then(|| ip6(nic)),
            vlan: None,
            seed: 1 + nic as u32,
            settings,
        };
        let context = Context::open(judged.cluster().device(nic), own).unwrap();
        let pd = context.alloc_pd();
        let cq = context.create_cq(1024).unwrap();
        let endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
        Host { context, pd, cq, endpoint }
    });
    judged.begin();
    (judged, hosts)
}

impl Host {
    fn send(&mut self, to: &Self, region: &MemoryRegion, range: Range<usize>, tag: u64) {
        let request = SendRequest {
            work_id: tag,
            region,
            range,
            to: to.endpoint.address(),
            tag,
            immediate: None,
            round: None,
            payload_size: 256,
        };
        self.endpoint.post_send(&request).unwrap();
    }

    fn recv(&mut self, region: &MemoryRegion, place: usize, len: usize) {
        let range = place * len..(place + 1) * len;
        self.endpoint.post_recv(&RecvRequest { work_id: place as u64, region, range }).unwrap();
    }

    fn ended(&mut self) -> Vec<WorkCompletion> {
        let mut taken = [WorkCompletion::default(); 64];
        let count = self.cq.poll(&mut taken).unwrap();
        assert!(taken[..count].iter().all(|done| done.status == Status::Success));
        taken[..count].to_vec()
    }
}

#[track_caller]
fn clean(mut judged: Judged, hosts: [Host; 2]) {
    for _ in 0..60 {
        judged.pass().unwrap();
    }
    let contexts = hosts.each_ref().map(|host| host.context.clone());
    assert_eq!(judged.kept(&contexts).unwrap(), Vec::<String>::new());
    let (summary, violations) = judged.finish();
    assert!(violations.is_empty(), "{} violations in {summary:?}: {}", violations.len(), violations[0]);
}

/// What a host reads of its NIC takes time, in which rings of four places go round
/// several times: each entry is the one that its doorbell told of.
#[test]
fn rings_go_round_before_anybody_asks() {
    let seed = tessera_testbenches::seed("nic_judged::rings");
    let small =
        EndpointOptions { qkey: QKEY, send_entries: 4, recv_entries: 4, ..EndpointOptions::default() };
    let (judged, [mut a, mut b]) = open(&Settings::default(), small, seed);
    const LEN: usize = 700;
    const MESSAGES: usize = 24;
    // No two alike, and a place for each: what is read too late is another's.
    let bytes = Rng::new(seed).bytes(MESSAGES * LEN);
    let source = a.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    let sink = b.pd.register(&DmaMemory::new(MESSAGES * LEN), Access::LOCAL_WRITE).unwrap();
    let (mut sent, mut posted, mut arrived) = (0, 0, 0);
    while arrived < MESSAGES {
        while posted < MESSAGES && b.endpoint.recvs_outstanding() < 4 {
            b.recv(&sink, posted, LEN);
            posted += 1;
        }
        while sent < MESSAGES && a.endpoint.sends_outstanding() < 4 {
            a.send(&b, &source, sent * LEN..(sent + 1) * LEN, sent as u64);
            sent += 1;
        }
        a.context.wait().unwrap();
        a.ended();
        for done in b.ended() {
            let got = sink.memory().to_vec(done.work_id as usize * LEN, LEN);
            let sent = done.tag as usize * LEN;
            assert!(got == bytes[sent..sent + LEN], "message {} is not what was sent", done.tag);
            arrived += 1;
        }
    }
    clean(judged, [a, b]);
}

/// A message that begins where nothing is known of its sender's gap is armed for as long
/// as that could be. It may end long before, and its context's number counts towards
/// RX_QUOTA until the timer has popped.
//= RO-11 test
#[test]
fn a_number_is_out_until_its_timer_pops() {
    let seed = tessera_testbenches::seed("nic_judged::quota");
    // 300 ticks from packet to packet: the first 16 packets are expected to take 4,800.
    let settings = Settings { gap0: 300 << 4, path_count: 1, ..Settings::default() };
    let one = EndpointOptions { qkey: QKEY, rx_quota: 1, ..EndpointOptions::default() };
    let (mut judged, [mut a, mut b]) = open(&settings, one, seed);
    const LEN: usize = 64 * 256;
    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 11 + i / 250) as u8).collect();
    let source = a.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    let sink = b.pd.register(&DmaMemory::new(2 * LEN), Access::LOCAL_WRITE).unwrap();
    (0..2).for_each(|place| b.recv(&sink, place, LEN));
    let mut times = Vec::new();
    for number in 0..2 {
        a.send(&b, &source, 0..LEN, number);
        while b.ended().is_empty() {
            judged.pass().unwrap();
        }
        times.push(judged.cluster().lock().clock());
    }
    assert!(b.context.dropped(DropReason::BusyQuota).unwrap() > 0, "the quota was never met");
    let apart = times[1] - times[0];
    println!("{apart} clocks from the first message's end to the second's");
    assert!(apart > 4800 * 16, "{apart} clocks from the first message's end to the second's");
    clean(judged, [a, b]);
}
