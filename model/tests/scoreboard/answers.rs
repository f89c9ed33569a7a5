//! Feedback against arrivals and timers.

use super::*;

#[test]
fn feedback_is_held_to_arrivals_and_timers() {
    let run = lossy();
    let plain = |header: &FeedbackHeader| header.flags & !fb::CE == 0 && header.cumulative % 256 > 3;
    for n in [2, 9, 20] {
        let ack = nth(&run.log, n, |seen| feedback_of(seen).as_ref().is_some_and(plain));
        caught("a missing answer", &run, without(&run.log, ack), |f| {
            matches!(f, Fault::Unanswered(_) | Fault::Field { field: "sequence", .. })
        });
        let at = TRH_AT + feedback::CUMULATIVE + 2;
        caught("cumulative too high", &run, edit(&run.log, ack, |f| f[at] = f[at].wrapping_add(1)), |f| {
            matches!(f, Fault::Cumulative { .. })
        });
        caught("cumulative too low", &run, edit(&run.log, ack, |f| f[at] = f[at].wrapping_sub(1)), |f| {
            matches!(f, Fault::Cumulative { .. })
        });
        let hole = feedback_of(&run.log[ack].2).expect("feedback").cumulative as usize % 256;
        let flip =
            |bit: usize| edit(&run.log, ack, |f| f[TRH_AT + feedback::BITMAP + bit / 8] ^= 1 << (bit % 8));
        for (name, bit) in [("a bit too many", hole), ("a bit too few", hole - 1)] {
            caught(name, &run, flip(bit), |f| matches!(f, Fault::Bitmap(_) | Fault::Cumulative { .. }));
        }
        let sequence = TRH_AT + feedback::SEQUENCE;
        caught(
            "a skipped sequence",
            &run,
            edit(&run.log, ack, |f| f[sequence] = f[sequence].wrapping_add(1)),
            |f| matches!(f, Fault::Field { field: "sequence", .. }),
        );
        let grant = TRH_AT + feedback::GRANT;
        caught("a grant too far", &run, edit(&run.log, ack, |f| f[grant + 1] = 0x7F), |f| {
            matches!(f, Fault::Grant { .. })
        });
        let echo = TRH_AT + feedback::ECHO + 3;
        caught("an echo of nothing", &run, edit(&run.log, ack, |f| f[echo] ^= 0x40), |f| {
            matches!(f, Fault::Undue)
        });
        let delay = TRH_AT + feedback::DELAY + 1;
        caught("a delay of another time", &run, edit(&run.log, ack, |f| f[delay] ^= 0x80), |f| {
            matches!(f, Fault::Field { field: "delay", .. })
        });
        caught("a doubled answer", &run, repeated(&run.log, ack, 1), |f| matches!(f, Fault::Undue));
        let status = TRH_AT + feedback::STATUS;
        caught("a status in an answer", &run, edit(&run.log, ack, |f| f[status] = 4), |f| {
            matches!(f, Fault::Field { field: "status", .. })
        });
    }
    let nack = nth(&run.log, 1, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::NACK != 0));
    let limit = TRH_AT + feedback::LIMIT;
    caught("a NACK beyond the grant", &run, edit(&run.log, nack, |f| f[limit + 1] = 0x7F), |f| {
        matches!(f, Fault::NackLimit { .. })
    });
    caught("a NACK of nothing", &run, edit(&run.log, nack, |f| f[limit..limit + 3].fill(0)), |f| {
        matches!(f, Fault::NackLimit { .. })
    });
    let bitmap = TRH_AT + feedback::BITMAP;
    caught("a NACK of what is there", &run, edit(&run.log, nack, |f| f[bitmap..bitmap + 32].fill(0)), |f| {
        matches!(f, Fault::Bitmap(_) | Fault::Cumulative { .. })
    });
    // A NACK soon after another of the same block is before its hold.
    caught("an extra NACK", &run, repeated(&run.log, nack, 64), |f| matches!(f, Fault::EarlyNack(_)));
    let complete = nth(&run.log, 5, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::COMPLETE != 0));
    caught("COMPLETE too early", &run, moved(&run.log, complete, complete - 60), |f| {
        matches!(f, Fault::Early { .. } | Fault::Undue)
    });
    caught("COMPLETE never sent", &run, without(&run.log, complete), |f| matches!(f, Fault::Unanswered(_)));
    let busy = nth(&run.log, 0, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::BUSY != 0));
    caught("BUSY never sent", &run, without(&run.log, busy), |f| {
        matches!(f, Fault::Unanswered(_) | Fault::MissingWrite(_))
    });
    let grant = nth(&run.log, 3, |seen| feedback_of(seen).is_some_and(|h| h.flags & fb::GRANT != 0));
    caught("a doubled grant", &run, repeated(&run.log, grant, 1), |f| matches!(f, Fault::Grant { .. }));
}

#[test]
fn every_nack_has_to_come() {
    // One hole, seen clearly: everything behind it arrives.
    let faults = Faults { first: [(Class::Last, 1)].into(), ..Faults::default() };
    let run = run(2, faults, Settings::default(), seed());
    clean(&run);
    let nacks: Vec<usize> = (0..run.log.len())
        .filter(|&at| feedback_of(&run.log[at].2).is_some_and(|h| h.flags & fb::NACK != 0))
        .collect();
    assert!(!nacks.is_empty());
    // The run stops at the first NACK, which never leaves.
    let log = run.log[..nacks[0]].to_vec();
    caught("a NACK that never comes", &run, log, |f| matches!(f, Fault::MissingNack(_)));
}

/// A NACK that was decided when all that was granted had been seen asks for what a
/// grant just before it added; one long after the grant may not.
//= LD-4 test
#[test]
fn a_nack_may_cross_a_grant() {
    let settings = Settings { credit_limit: 2048, grant_quantum: 4, ..Settings::default() };
    let (base, mut shown) = (seed(), 0);
    for case in 0..8 {
        let run = run(2, Faults { loss: 0.1, ..Faults::default() }, settings, base ^ case);
        for nack in (0..run.log.len()).filter(|&at| asks_for_the_tail(&run.log[at].2)) {
            if goes_beyond(&run, nack, 100) {
                shown += 1;
                assert!(!goes_beyond(&run, nack, 2), "case {case}, event {nack}");
            }
        }
    }
    assert!(shown > 0, "no NACK of which it shows");
}

/// Who may be owed little keeps to it; who may be owed anything is found to be granted too much by that.
//= GR-8 test
#[test]
fn a_grant_to_who_is_owed_enough() {
    const EACH: u32 = 1024;
    let bounded = Settings { credit_each: EACH, grant_quantum: 4, ..Settings::default() };
    let at_will = Settings { credit_each: Settings::default().credit_each, ..bounded };
    let seed = seed();
    // What keeps to it is judged by it, too.
    run(2, Faults::default(), bounded, seed);
    let mut run = run(2, Faults::default(), at_will, seed);
    for setup in &mut run.setups {
        setup.settings.credit_each = EACH;
    }
    let log = run.log.clone();
    caught("a grant to who is owed enough", &run, log, |f| matches!(f, Fault::Ample { .. }));
}

/// A NACK when the last packet granted is there.
fn asks_for_the_tail(seen: &Seen) -> bool {
    feedback_of(seen).is_some_and(|h| {
        let last = h.grant.wrapping_sub(h.base + 1) as usize;
        let tail = h.bitmap.get(last / 8).is_some_and(|byte| byte >> (last % 8) & 1 != 0);
        h.flags & fb::NACK != 0 && tail && h.grant <= u32::from(u8::MAX - MORE)
    })
}

/// Whether a NACK, made to ask for what a grant added so many ticks before, is found
/// to ask for too much, though the message has as many.
fn goes_beyond(run: &Run, nack: usize, apart: u64) -> bool {
    let mut log = edit(&run.log, nack, |f| {
        f[TRH_AT + feedback::GRANT + 2] += MORE;
        f[TRH_AT + feedback::LIMIT + 2] += MORE;
    });
    let mut grant = edit(&log, nack, |f| {
        f[TRH_AT + feedback::FLAGS] = fb::GRANT;
        f[TRH_AT + feedback::LIMIT..][..3].fill(0);
    })[nack]
        .clone();
    let clock = log[nack].1;
    grant.1 = clock - ticks(apart);
    let at = log.iter().position(|(_, clock, _)| *clock > grant.1).expect("the NACK is later");
    log.insert(at, grant);
    log.truncate(nack + 2);
    let (_, violations) = judge(&run.setups, &log, clock);
    let whole = violations.iter().all(|v| !matches!(v.fault, Fault::Grant { .. }));
    whole && violations.iter().any(|v| v.clock == clock && matches!(v.fault, Fault::NackLimit { .. }))
}
