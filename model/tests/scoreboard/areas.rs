//! Messages that the host recovers: areas and orders.

use super::*;

/// Messages that the host recovers: whatever it finds missing it asks for.
fn recovered() -> Run {
    let (config, settings) = (small(), Settings::default());
    let mut world = World::new(2, &config, settings, Faults { loss: 0.02, ..Faults::default() }, seed());
    world.watch = Some(Vec::new());
    world.host_recovery = true;
    let lengths = [60_000, 256 * 700];
    let shape = Shape { chunk_log2: 1, area_log2: 2 };
    let areas: Vec<u64> =
        lengths.iter().enumerate().map(|(e, &length)| world.recv_chunks(1, e, length, shape).0).collect();
    for (e, &length) in lengths.iter().enumerate() {
        world.send(0, 1, e, length, 8);
    }
    (1..200).for_each(|i| world.wake(ticks(700 * i), 0));
    let end = ticks(8 * settings.time_wait as u64);
    assert!(world.run_with(end, |world, _| {
        for (&at, &length) in areas.iter().zip(&lengths) {
            let handle = u32::from_le_bytes(world.bytes(1, at, 4).try_into().expect("four"));
            for block in 0..(length / 256u32).div_ceil(256) {
                let bits = world.bytes(1, at + 32 + block as u64 * 16, 16);
                if bits.iter().any(|&byte| byte != 0xFF) {
                    world.order(1, handle, (block + 1) * 256);
                }
            }
        }
    }));
    world.assert_idle();
    assert!(world.errors.is_empty(), "{:?}", world.errors);
    let log = world.watch.take().expect("kept");
    Run { setups: setups(&world, &config), log, end: world.clock + 100_000 }
}

//= HR-3 test
//= HR-4 test
//= HR-8 test
#[test]
fn areas_and_orders_are_held_to_what_is_placed() {
    let run = recovered();
    let summary = clean(&run);
    assert!(summary.retransmissions > 10, "{summary:?}");
    let write = |len: usize| move |seen: &Seen| matches!(seen, Seen::Write { address, bytes } if bytes.len() == len && address % 16 == 0);
    let field =
        |name: &'static str| move |f: &Fault| matches!(f, Fault::Field { field, .. } if *field == name);
    for n in 0..2 {
        let header = nth(&run.log, n, write(32));
        for at in [0, 5, 12, 31] {
            let edited = edit(&run.log, header, |bytes| bytes[at] ^= 1);
            caught("a wrong header", &run, edited, |f| matches!(f, Fault::Unexplained { .. } | Fault::Undue));
        }
        caught("a repeated header", &run, repeated(&run.log, header, 1), |f| {
            matches!(f, Fault::Unexplained { .. })
        });
    }
    for n in [0, 7, 31] {
        let bits = nth(&run.log, n, write(16));
        let Seen::Write { bytes, .. } = &run.log[bits].2 else { continue };
        let clear = bytes.iter().position(|&byte| byte != 0xFF);
        if let Some(at) = clear {
            let early = edit(&run.log, bits, |bytes| bytes[at] |= bytes[at] + 1);
            caught("a bit too early", &run, early, field("chunk bits"));
        }
        let empty = edit(&run.log, bits, |bytes| bytes.fill(0));
        if n > 0 {
            caught("bits taken back", &run, empty, field("chunk bits"));
        }
        // The payload that a bit tells of comes only behind it.
        let payload = (0..bits)
            .rev()
            .find(|&at| matches!(&run.log[at].2, Seen::Write { bytes, .. } if bytes.len() == 256));
        let late = moved(&run.log, payload.expect("placed"), bits + 1);
        caught("bits before their payload", &run, late, field("chunk bits"));
    }
    let last = (0..run.log.len()).rev().find(|&at| write(16)(&run.log[at].2)).expect("bits");
    caught("bits never told", &run, without(&run.log, last), field("block told whole"));
    let order = nth(&run.log, 0, |seen| matches!(seen, Seen::Ordered { .. }));
    caught("a NACK without order", &run, without(&run.log, order), |f| matches!(f, Fault::Undue));
}
