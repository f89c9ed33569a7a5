//! Resets: every duty ends, no generation comes again.

use super::*;

/// Messages both ways, and resets in the middle of them; the host goes on with
/// another endpoint.
fn run_reset(seed: u64) -> Run {
    let config = small();
    let settings =
        Settings { rx_give_up: 100_000, t_open: 60_000, grant_wait: 60_000, ..Settings::default() };
    let faults = Faults { loss: 0.02, paths: vec![800, 1100], ..Faults::default() };
    let mut world = World::new(2, &config, settings, faults, seed);
    world.watch = Some(Vec::new());
    for life in 0..4 {
        for length in [70_000, 300, 5000, 40_000] {
            for (from, to) in [(0, 1), (1, 0)] {
                world.recv(to, life, 70_000);
                world.send(from, to, life, length, 8);
            }
        }
        if life < 3 {
            let pause = world.rng.below(1200);
            world.run(world.clock + ticks(pause));
            world.reset(0, life + 1);
        }
    }
    assert!(world.run(ticks(40_000_000)), "still busy at the end of time");
    world.assert_idle();
    Run {
        setups: setups(&world, &config),
        log: world.watch.take().expect("kept"),
        end: world.clock + 100_000,
    }
}

//= RS-1 test
//= RS-2 test
#[test]
fn a_reset_ends_every_duty_and_no_generation() {
    let base = seed();
    for case in 0..20 {
        clean(&run_reset(base.wrapping_add(case)));
    }
    // A NIC that draws its generations again.
    let mut run = run_reset(base);
    let resets: Vec<usize> =
        (0..run.log.len()).filter(|&at| matches!(run.log[at].2, Seen::Reset(_))).collect();
    let name = |seen: &Seen| match seen {
        Seen::FrameOut(frame) => match wire::parse(frame).expect("a model frame").trh {
            Trh::Data(header) => Some(header.message),
            _ => None,
        },
        _ => None,
    };
    let sent = |at: &usize| run.log[*at].0 == 0;
    let first = (0..resets[0]).filter(sent).find_map(|at| name(&run.log[at].2)).expect("something was sent");
    let slot = first.slot();
    let again: Vec<usize> = (resets[0]..resets[1])
        .filter(sent)
        .filter(|&at| name(&run.log[at].2).is_some_and(|id| id.slot() == slot))
        .collect();
    assert!(!again.is_empty(), "slot {slot} is not used again");
    for at in again {
        let Seen::FrameOut(frame) = &mut run.log[at].2 else { unreachable!() };
        let at = wire::Form::of(frame).expect("a model frame").trh_at() + data::MESSAGE;
        frame[at..at + 4].copy_from_slice(&first.0.to_be_bytes());
        seal(frame);
    }
    let (_, violations) = judge(&run.setups, &run.log, run.end);
    assert!(violations.iter().any(|violation| violation.rule == "RS-2"), "{violations:?}");
}
