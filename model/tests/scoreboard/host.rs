//! What the NIC writes to host memory: payload and completions.

use super::*;

#[test]
fn writes_are_held_to_what_arrived() {
    let run = lossy();
    clean(&run);
    for n in [3, 50, 200, 500] {
        let write = nth(&run.log, n, |seen| matches!(seen, Seen::Write { .. }));
        caught("a dropped write", &run, without(&run.log, write), |f| {
            matches!(f, Fault::MissingWrite(_) | Fault::Early { .. })
        });
        let flipped = edit(&run.log, write, |bytes| bytes[0] ^= 1);
        caught("a flipped byte", &run, flipped, |f| matches!(f, Fault::Misplaced(_)));
        caught("a repeated write", &run, repeated(&run.log, write, 1), |f| {
            matches!(f, Fault::Unexplained { .. } | Fault::OutsideBuffer { .. })
        });
        let mut shifted = run.log.clone();
        if let Seen::Write { address, .. } = &mut shifted[write].2 {
            *address += 4;
        }
        caught("a write four bytes off", &run, shifted, |f| {
            matches!(f, Fault::Unexplained { .. } | Fault::OutsideBuffer { .. })
        });
        let mut wild = run.log.clone();
        if let Seen::Write { address, .. } = &mut wild[write].2 {
            *address += 1 << 36;
        }
        caught("a wild write", &run, wild, |f| matches!(f, Fault::OutsideBuffer { .. }));
        let late = delayed(&run.log, write, 40_000_000);
        caught("a write after completion", &run, late, |f| {
            matches!(f, Fault::OutsideBuffer { .. } | Fault::MissingWrite(_))
        });
    }
}

#[test]
fn completions_are_held_to_their_messages() {
    let run = lossy();
    for n in 0..7 {
        for opcode in [tessera_abi::queue::DONE_SEND, DONE_RECV] {
            let done = nth(&run.log, n, |seen| done_of(seen, opcode).is_some());
            caught("a lost completion", &run, without(&run.log, done), |f| {
                matches!(f, Fault::MissingCompletion | Fault::NeverEnded(_))
            });
            caught("a doubled completion", &run, repeated(&run.log, done, 1), |f| {
                matches!(f, Fault::UnknownCompletion { .. })
            });
            let change = |edit: fn(&mut Completion)| {
                let mut log = run.log.clone();
                if let Seen::Done(completion) = &mut log[done].2 {
                    edit(completion);
                }
                log
            };
            caught("a wrong status", &run, change(|c| c.status = 3), |f| matches!(f, Fault::Status(3)));
            caught("a wrong length", &run, change(|c| c.length ^= 8), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong tag", &run, change(|c| c.tag ^= 8), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong kind", &run, change(|c| c.write ^= true), |f| matches!(f, Fault::Field { .. }));
            caught("a wrong entry", &run, change(|c| c.entry ^= 0x4000), |f| {
                matches!(f, Fault::UnknownCompletion { .. })
            });
        }
    }
    // Early: before the last write of its message, or before COMPLETE came.
    let done = nth(&run.log, 5, |seen| done_of(seen, DONE_RECV).is_some_and(|d| d.length > 5000));
    let node = run.log[done].0;
    let write =
        (0..done).rev().find(|&at| run.log[at].0 == node && matches!(run.log[at].2, Seen::Write { .. }));
    let early = moved(&run.log, done, write.expect("written"));
    caught("an early completion", &run, early, |f| matches!(f, Fault::Early { .. }));
    let sent = nth(&run.log, 5, |seen| done_of(seen, 1).is_some_and(|d| d.length > 5000));
    let early = moved(&run.log, sent, sent - 40);
    caught("an early send completion", &run, early, |f| matches!(f, Fault::Status(0)));
}
