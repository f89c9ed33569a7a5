//! Host recovery against a device of registers and memory only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use tessera_abi::queue::{self, area, recv, send};
use tessera_abi::regs;
use tessera_driver::*;

/// Takes every order, and answers as it is told to.
#[derive(Default)]
struct Fake {
    tables: Mutex<Vec<u32>>,
    memory: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
    orders: Mutex<Vec<(u32, u32)>>,
    message: Mutex<u32>,
    time: Mutex<u32>,
    /// What RECOVER_STATUS reads as, one by one; then `0`.
    statuses: Mutex<VecDeque<u32>>,
}

impl Device for Fake {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        Ok(match offset {
            at if at == regs::MAGIC.offset => regs::MAGIC_VALUE,
            at if at == regs::ABI_VERSION.offset => regs::ABI_VERSION_VALUE,
            at if at == regs::SIZES0.offset => 2 << 24,
            at if at == regs::SIZES1.offset => 1 | 1 << 8 | 3 << 24,
            at if at == regs::STATUS.offset => 1,
            at if at == regs::TIME.offset => {
                let mut time = self.time.lock().unwrap();
                *time += 64;
                *time
            }
            at if at == regs::RECOVER_STATUS.offset => self.statuses.lock().unwrap().pop_front().unwrap_or(0),
            _ => 0,
        })
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if offset == regs::RECOVER_MESSAGE.offset {
            *self.message.lock().unwrap() = value;
        } else if offset == regs::RECOVER_ORDER.offset {
            let message = *self.message.lock().unwrap();
            self.orders.lock().unwrap().push((message, value));
        } else {
            self.tables.lock().unwrap().push(offset);
        }
        Ok(())
    }
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        self.memory.lock().unwrap().insert(memory.address(), memory.clone());
        Ok(memory.address())
    }
    fn unmap(&self, address: u64) {
        self.memory.lock().unwrap().remove(&address);
    }
    fn wait(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

struct Bench {
    fake: Arc<Fake>,
    context: Context,
    endpoint: Endpoint,
    region: MemoryRegion,
    /// The rings: mapped before the region, in this order.
    rings: [Arc<DmaMemory>; 2],
}

fn bench() -> Bench {
    let fake = Arc::new(Fake::default());
    let options = ContextOptions {
        mac: [2, 0, 0, 0, 0, 1],
        ip: [10, 0, 0, 1],
        ip6: None,
        vlan: None,
        seed: 7,
        settings: Vec::new(),
    };
    let context = Context::open(fake.clone(), options).unwrap();
    let cq = context.create_cq(4).unwrap();
    let pd = context.alloc_pd();
    let small = EndpointOptions { send_entries: 4, recv_entries: 4, ..EndpointOptions::default() };
    let endpoint = pd.create_endpoint(&small, &cq, &cq).unwrap();
    let ring = |len: usize| -> Arc<DmaMemory> {
        let memory = fake.memory.lock().unwrap();
        memory.values().find(|memory| memory.len() == len).expect("mapped").clone()
    };
    let rings = [ring(4 * queue::SEND_ENTRY_LEN), ring(4 * queue::RECV_ENTRY_LEN)];
    let region = pd.register(&DmaMemory::new(10_000), Access::LOCAL_WRITE).unwrap();
    Bench { fake, context, endpoint, region, rings }
}

const EIGHTS: ChunkOptions = ChunkOptions { packets_per_chunk: 8, most_packets: 600 };

#[test]
fn entries_ask_for_recovery() {
    let mut bench = bench();
    let request = SendRequest {
        work_id: 1,
        region: &bench.region,
        range: 0..5000,
        to: bench.endpoint.address(),
        tag: 9,
        immediate: None,
        round: None,
        payload_size: 256,
    };
    bench.endpoint.post_recoverable_send(&request).unwrap();
    bench.endpoint.post_send(&request).unwrap();
    let flags = |place: usize| bench.rings[0].to_vec(place * queue::SEND_ENTRY_LEN, 32)[send::FLAGS];
    assert_eq!((flags(0), flags(1)), (queue::SEND_HOST_RECOVERY, 0));
}

#[test]
fn a_chunked_receive_clears_its_area_and_says_so() {
    let mut bench = bench();
    assert_eq!(EIGHTS.area_len(), Some(64), "a header and three blocks of four bytes");
    bench.region.memory().write(128, &[0xFF; 200]);
    let request = RecvRequest { work_id: 3, region: &bench.region, range: 128..9000 };
    let watch = bench.endpoint.post_chunked_recv(&request, &EIGHTS).unwrap();
    assert_eq!(watch.payload(), 192);
    assert_eq!(watch.message(), None);
    assert_eq!(bench.region.memory().to_vec(128, 65), [vec![0; 64], vec![0xFF]].concat());
    let entry = bench.rings[1].to_vec(0, queue::RECV_ENTRY_LEN);
    assert_eq!((entry[recv::FLAGS], entry[recv::AREA]), (queue::RECV_CHUNKS, 3));
    let at = |range: std::ops::Range<usize>| RecvRequest { work_id: 4, region: &bench.region, range };
    let mut post = |range, options| bench.endpoint.post_chunked_recv(&at(range), &options).unwrap_err();
    assert_eq!(post(32..9000, EIGHTS), PostError::ChunkArea { offset: 32, len: 8968, area: 64 });
    assert_eq!(post(64..127, EIGHTS), PostError::ChunkArea { offset: 64, len: 63, area: 64 });
    let odd = ChunkOptions { packets_per_chunk: 7, most_packets: 1 };
    assert_eq!(post(64..9000, odd), PostError::Chunks { packets: 7, most: 1 });
    assert_eq!(bench.endpoint.recvs_outstanding(), 1);
}

#[test]
fn a_watch_reads_what_the_nic_wrote() {
    let mut bench = bench();
    let request = RecvRequest { work_id: 3, region: &bench.region, range: 0..9000 };
    let watch = bench.endpoint.post_chunked_recv(&request, &EIGHTS).unwrap();
    let memory = bench.region.memory();
    let mut header = [0; area::HEADER_LEN];
    header[area::HANDLE..area::HANDLE + 4].copy_from_slice(&0x00A0_0007u32.to_le_bytes());
    header[area::PACKETS..area::PACKETS + 4].copy_from_slice(&300u32.to_le_bytes());
    header[area::LENGTH..area::LENGTH + 4].copy_from_slice(&76_543u32.to_le_bytes());
    header[area::PAYLOAD_LOG2] = 8;
    header[area::TAG] = 0x55;
    memory.write(0, &header);
    assert_eq!(watch.message(), None, "not before its last byte");
    memory.write(area::OPEN, &[1]);
    let message = watch.message().unwrap();
    let want = ChunkedMessage {
        handle: 0x00A0_0007,
        packets: 300,
        len: 76_543,
        tag: 0x55,
        payload_size: 256,
        life: 0,
    };
    assert_eq!(message, want);
    let all = 0..300;
    assert_eq!(watch.missing(&message), std::slice::from_ref(&all));
    // Block 0 but for chunks 1 and 2, and chunks 0 to 4 of block 1.
    memory.write(32, &[0b1111_1001, 0xFF, 0xFF, 0xFF]);
    memory.write(36, &[0b0001_1111]);
    assert!(watch.has(7) && !watch.has(8) && !watch.has(23) && watch.has(24));
    assert_eq!(watch.missing(&message), [8..24, 296..300]);
    // Of another receive's message, what this area has bits for.
    let longer = ChunkedMessage { packets: 100_000, ..message };
    assert_eq!(watch.missing(&longer), [8..24, 296..2048]);
    // Eight blocks are what the area has bits for.
    for (packets, told) in [(2048u32, true), (2049, false), (u32::MAX, false)] {
        memory.write(area::PACKETS, &packets.to_le_bytes());
        let message = watch.message();
        assert_eq!(message.is_some(), told, "{packets}");
        assert!(message.is_none_or(|message| watch.missing(&message).last() == Some(&(296..2048))));
    }
}

/// A handle is good for one life of the NIC: after a reset it may name another message.
#[test]
fn a_message_of_before_a_reset_takes_no_order() {
    let mut bench = bench();
    let request = RecvRequest { work_id: 3, region: &bench.region, range: 0..9000 };
    let watch = bench.endpoint.post_chunked_recv(&request, &EIGHTS).unwrap();
    bench.region.memory().write(area::PACKETS, &300u32.to_le_bytes());
    bench.region.memory().write(area::OPEN, &[1]);
    let message = watch.message().unwrap();
    bench.context.reset().unwrap();
    bench.fake.statuses.lock().unwrap().extend([0, regs::ORDER_MET, regs::ORDER_MET]);
    // Neither what was read before nor what the watch still reads.
    for message in [message, watch.message().unwrap()] {
        assert_eq!(bench.context.request_retransmission(&message, 256), Ok(false));
        assert_eq!(bench.context.complete_partially(&message), Ok(false));
    }
    assert_eq!(*bench.fake.orders.lock().unwrap(), []);

    let cq = bench.context.create_cq(4).unwrap();
    let pd = bench.context.alloc_pd();
    let mut endpoint = pd.create_endpoint(&EndpointOptions::default(), &cq, &cq).unwrap();
    let region = pd.register(bench.region.memory(), Access::LOCAL_WRITE).unwrap();
    let request = RecvRequest { work_id: 3, region: &region, range: 0..9000 };
    let watch = endpoint.post_chunked_recv(&request, &EIGHTS).unwrap();
    assert_eq!(watch.message(), None);
    region.memory().write(area::PACKETS, &300u32.to_le_bytes());
    region.memory().write(area::OPEN, &[1]);
    let message = watch.message().unwrap();
    assert_eq!(bench.context.request_retransmission(&message, 256), Ok(true));
    assert_eq!(*bench.fake.orders.lock().unwrap(), [(message.handle, 256)]);
}

#[test]
fn orders_wait_their_turn_and_tell_what_they_met() {
    let bench = bench();
    let message =
        ChunkedMessage { handle: 0xABC1_2345, packets: 300, len: 1, tag: 0, payload_size: 256, life: 0 };
    let answer = |statuses: &[u32]| bench.fake.statuses.lock().unwrap().extend(statuses);
    // Another order is still under way, then this one for two reads.
    let (busy, met) = (regs::ORDER_BUSY, regs::ORDER_MET);
    answer(&[busy, 0, busy, busy, met, met]);
    assert_eq!(bench.context.request_retransmission(&message, 256), Ok(true));
    answer(&[0, met | busy, 0, 0]);
    assert_eq!(bench.context.request_retransmission(&message, u32::MAX), Ok(false));
    answer(&[0, met, met]);
    assert_eq!(bench.context.complete_partially(&message), Ok(true));
    // Packets are no order to end it, however many somebody makes of them.
    answer(&[0, met, met]);
    let longer = ChunkedMessage { packets: u32::MAX, ..message };
    assert_eq!(bench.context.request_retransmission(&longer, u32::MAX), Ok(true));
    let orders = bench.fake.orders.lock().unwrap().clone();
    let handle = message.handle;
    let most = tessera_abi::params::MAX_PACKETS;
    assert_eq!(orders, [(handle, 256), (handle, 300), (handle, regs::ORDER_PARTIAL), (handle, most)]);
}
