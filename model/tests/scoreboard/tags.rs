//! Tagged receives.

use super::*;

/// Node 1 matches tags: of entries 0 and 1 with the tag of the first message, 2
/// with one that never comes, and 3 of the ring, the first message takes 0, the
/// second 3; 2 is taken back.
fn tagged() -> Run {
    let config = small();
    let mut world = World::new(2, &config, Settings::default(), Faults::default(), 3);
    let mut setups = setups(&world, &config);
    setups[1].endpoints[0].tags = true;
    world.nodes[1].nic.set_endpoint(setups[1].endpoints[0]);
    world.watch = Some(Vec::new());
    world.recv(1, 2, 10);
    let first = world.send(0, 1, 2, 10, 8) + (1 << 8);
    for tag in [first, first, u64::MAX] {
        world.recv_kind(1, 0, 5000, RecvKind::Tagged(tag));
    }
    world.recv_kind(1, 0, 5000, RecvKind::Plain);
    for length in [3000, 4000] {
        world.send(0, 1, 0, length, 8);
        let later = world.clock + ticks(10_000);
        world.run(later);
    }
    let third = |done: &&Completion| (done.opcode, done.entry) == (DONE_POSTED, 2);
    let handle =
        world.nodes[1].done.iter().map(|(_, done)| done).find(third).expect("in place").length as u16;
    world.recv_kind(1, 0, 0, RecvKind::Cancel { tag: u64::MAX, target: 2, handle });
    let end = world.clock + ticks(10_000);
    world.run(end);
    Run { log: world.watch.take().expect("kept"), setups, end: world.clock + 100_000 }
}

//= RO-12 test
//= TM-2 test
//= TM-3 test
//= TM-4 test
//= TM-6 test
#[test]
fn tagged_receives_are_held_to_their_tags() {
    let run = tagged();
    assert_eq!(clean(&run).completions, 3 + 8);
    let told = |opcode: u8, entry: u16| {
        nth(&run.log, 0, |seen| {
            done_of(seen, opcode).is_some_and(|done| done.entry == entry && done.ring != 2)
        })
    };
    let [posted, unexpected] = [told(DONE_POSTED, 0), told(DONE_UNEXPECTED, 3)];
    for (name, at) in [("POSTED", posted), ("UNEXPECTED", unexpected)] {
        caught(name, &run, without(&run.log, at), |f| matches!(f, Fault::MissingCompletion));
        caught(name, &run, repeated(&run.log, at, 1), |f| matches!(f, Fault::UnknownCompletion { .. }));
    }
    let of_tag = |index: u16, tag: u64| {
        let mut log = run.log.clone();
        for (node, _, seen) in &mut log {
            match seen {
                Seen::Recv { index: of, entry, .. } if (*node, *of) == (1, index) && entry.length == 5000 => {
                    entry.kind = RecvKind::Tagged(tag);
                }
                _ => {}
            }
        }
        log
    };
    let Some(second) = done_of(&run.log[unexpected].2, DONE_UNEXPECTED) else { unreachable!() };
    caught("a receive of its tag passed over", &run, of_tag(1, second.tag), |f| {
        matches!(f, Fault::ReceiveSkipped(3))
    });
    caught("a receive of another tag", &run, of_tag(0, 99), |f| {
        matches!(f, Fault::Unexplained { .. } | Fault::UnknownMessage(_))
    });
    let change = |at: usize, edit: fn(&mut Completion)| {
        let mut log = run.log.clone();
        if let Seen::Done(done) = &mut log[at].2 {
            edit(done);
        }
        log
    };
    let refused = change(told(DONE_POSTED, 1), |done| {
        (done.opcode, done.status) = (DONE_RECV, Status::NoTagSpace as u8);
    });
    caught("no_tag_space with room", &run, refused, |f| *f == Fault::Status(Status::NoTagSpace as u8));
    let cancel = told(DONE_CANCEL, 4);
    caught("a lost cancel", &run, without(&run.log, cancel), |f| matches!(f, Fault::NeverEnded(4)));
    let untaken = change(cancel, |done| done.status = Status::NotPosted as u8);
    caught("a cancel that nobody forestalled", &run, untaken, |f| {
        *f == Fault::Status(Status::NotPosted as u8)
    });
}
