//! Requests whose bytes are copied when they are posted, against a device of registers only.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::sync::Arc;

use fake::{Fake, SMALL};
use tessera_abi::queue::{self, done, send};
use tessera_abi::regs::table;
use tessera_driver::*;

struct Bench {
    fake: Arc<Fake>,
    _context: Context,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

fn bench(kind: EndpointKind) -> Bench {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), fake::options()).unwrap();
    let cq = context.create_cq(16).unwrap();
    let endpoint = context.alloc_pd().create_endpoint(&EndpointOptions { kind, ..SMALL }, &cq, &cq).unwrap();
    Bench { fake, _context: context, cq, endpoint }
}

fn request(work_id: u64, bytes: &[u8], what: Inline) -> InlineRequest<'_> {
    let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, SMALL.qkey);
    InlineRequest { work_id, bytes, to, immediate: Some(5), round: None, payload_size: 1024, what }
}

impl Bench {
    /// Entry `n` of the send ring, and the bytes that it names.
    fn entry(&self, n: usize) -> (Vec<u8>, Vec<u8>) {
        let words = self.fake.table(table::ENDPOINT, self.endpoint.number() & 0xFF);
        let (lsb, _) = tessera_abi::regs::endpoint::SQ_BASE;
        let base = (0..64).map(|bit| u64::from(words[(lsb + bit) / 32] >> ((lsb + bit) % 32) & 1) << bit);
        let len = queue::SEND_ENTRY_LEN;
        let entry = self.fake.dma_read(base.sum::<u64>() + (n % 4 * len) as u64, len);
        let u64_at = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
        let u32_at = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
        let bytes = self.fake.dma_read(u64_at(send::ADDRESS), u32_at(send::LENGTH) as usize);
        (entry, bytes)
    }

    fn end(&mut self, n: usize, entry: u8) {
        let fields = [(done::OPCODE, queue::DONE_SEND), (done::ENTRY, entry)];
        self.fake.complete((0, 16), n, &fields);
        assert_eq!(self.cq.poll(&mut [WorkCompletion::default(); 2]), Ok(1));
    }
}

/// The bytes of every request stay until it has ended, whatever the caller does with its own.
#[test]
fn bytes_are_copied_and_stay_until_the_end() {
    let mut bench = bench(EndpointKind::Messages);
    bench.endpoint.set_inline(24).unwrap();
    assert_eq!(bench.endpoint.max_inline(), 24);
    let mut bytes = [0; 24];
    for n in 0..4 {
        bytes.fill(n + 1);
        let what = Inline::Send { tag: n.into() };
        bench.endpoint.post_inline(&request(n.into(), &bytes[..20 + usize::from(n)], what)).unwrap();
    }
    let all = |bench: &Bench| (0..4).map(|n| bench.entry(n).1).collect::<Vec<_>>();
    let expected: Vec<_> = (0..4u8).map(|n| vec![n + 1; 20 + usize::from(n)]).collect();
    assert_eq!(all(&bench), expected);
    let full = bench.endpoint.post_inline(&request(9, &[99; 24], Inline::Send { tag: 0 }));
    assert_eq!(full, Err(PostError::RingFull { outstanding: 4 }));
    assert_eq!(all(&bench), expected, "a refused one touches nothing");
    // A place ends and is used again.
    bench.end(0, 0);
    bench.endpoint.post_inline(&request(4, &[77; 3], Inline::Send { tag: 0 })).unwrap();
    assert_eq!(bench.entry(4).1, [77; 3]);
    assert_eq!(bench.entry(1).1, expected[1]);
}

#[test]
fn every_kind_is_posted_as_it_would_be_from_a_region() {
    let mut messages = bench(EndpointKind::Messages);
    messages.endpoint.set_inline(8).unwrap();
    let remote = RemoteMemory { address: 0x1234_5678_9ABC, rkey: 0xAA55 };
    messages.endpoint.post_inline(&request(1, b"tagged", Inline::Send { tag: 0x77 })).unwrap();
    messages.endpoint.post_inline(&request(2, b"written", Inline::Write { remote })).unwrap();
    let (entry, bytes) = messages.entry(0);
    assert_eq!((entry[send::OPCODE], entry[send::TAG], &bytes[..]), (queue::OP_SEND, 0x77, &b"tagged"[..]));
    assert_eq!(entry[send::IMMEDIATE], 5);
    let (entry, bytes) = messages.entry(1);
    assert_eq!((entry[send::OPCODE], &bytes[..]), (queue::OP_WRITE, &b"written"[..]));
    assert_eq!(entry[send::RKEY..send::RKEY + 4], 0xAA55_u32.to_le_bytes());
    let wrong = messages.endpoint.post_inline(&request(3, b"", Inline::Datagram));
    assert!(matches!(wrong, Err(PostError::Kind { .. })));

    let mut datagrams = bench(EndpointKind::Datagrams);
    datagrams.endpoint.set_inline(8).unwrap();
    datagrams.endpoint.post_inline(&request(1, b"datagram", Inline::Datagram)).unwrap();
    let (entry, bytes) = datagrams.entry(0);
    assert_eq!((entry[send::OPCODE], &bytes[..]), (queue::OP_UD, &b"datagram"[..]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut bench = bench(EndpointKind::Messages);
    let what = Inline::Send { tag: 0 };
    assert_eq!(bench.endpoint.post_inline(&request(1, b"x", what)), Err(PostError::NoInline));
    bench.endpoint.set_inline(8).unwrap();
    let long = bench.endpoint.post_inline(&request(1, &[0; 9], what)).unwrap_err();
    assert_eq!(long, PostError::InlineTooLong { len: 9, most: 8 });
    assert!(long.to_string().contains("set_inline"), "{long}");
    bench.endpoint.post_inline(&request(1, &[0; 8], what)).unwrap();
    bench.end(0, 0);
    // Its memory and its key come back.
    bench.endpoint.set_inline(0).unwrap();
    assert_eq!(bench.endpoint.post_inline(&request(1, b"", what)), Err(PostError::NoInline));
    assert_eq!(bench.fake.mapped.lock().unwrap().len(), 3, "two rings and a queue");
}
