use super::*;
use tessera_abi::wire::MessageId;

const SOURCE: Source = Source { skew: 64, answer: 160 };

fn packet(index: u32, timestamp: u32) -> DataHeader {
    DataHeader {
        probe: false,
        flags: 0,
        ev: 0,
        payload_log2: 8,
        traffic_class: 0,
        message: MessageId::new(0, 0),
        index,
        initial_window: 16,
        length: 1 << 20,
        tag: 0,
        rkey: 0,
        immediate: 0,
        round: 0,
        rtt: 0,
        timestamp,
    }
}

//= RC-4 test
#[test]
fn gap_follows_the_sender_and_ignores_odd_steps() {
    let settings = Settings::default();
    let mut interval = Interval::new(0, &settings);
    for i in 0..200u32 {
        interval.sample(i as u64 * 2, &packet(i, (u32::MAX - 100).wrapping_add(i * 2)));
    }
    assert!((32..=39).contains(&interval.gap), "{}", interval.gap);
    let before = interval.gap;
    interval.sample(1000, &packet(202, 5000));
    assert_eq!(interval.gap, before, "a step of three is no sample");
}

//= RC-4 test
#[test]
fn gap_grows_from_next_to_nothing() {
    for gap0 in [1, 2, 3] {
        let mut interval = Interval::new(0, &Settings { gap0, ..Settings::default() });
        for i in 0..60u32 {
            interval.sample(i as u64 * 4, &packet(i, i * 4));
        }
        assert_eq!(interval.gap, 64);
    }
}

//= RC-5 test
#[test]
fn skew_rises_at_once_and_falls_slowly() {
    let settings = Settings::default();
    let mut table = SourceTable::new(&settings);
    for _ in 0..127 {
        table.late(3, 200, &settings);
    }
    assert_eq!(table.of(3).skew, 200);
    table.late(3, 0, &settings);
    assert_eq!(table.of(3).skew, 199, "200 less a 1024th");
    for _ in 0..710 {
        table.late(3, 0, &settings);
    }
    assert!((98..=102).contains(&table.of(3).skew), "half of it after 1024 ln 2 samples");
    table.late(3, 9_999_999, &settings);
    assert_eq!(table.of(3).skew, settings.skew_max);
    assert_eq!(table.of(4).skew, settings.skew0);
}

//= RC-5 test
#[test]
fn the_skew_of_a_source_never_seen_is_soon_forgotten() {
    let settings = Settings { skew0: 160, ..Settings::default() };
    let mut table = SourceTable::new(&settings);
    table.late(3, 10, &settings);
    assert_eq!(table.of(3).skew, 157, "160 less a 64th of 150");
    for _ in 1..127 {
        table.late(3, 10, &settings);
    }
    let known = table.of(3).skew;
    assert!((28..=32).contains(&known), "{known}: e^-2 of the 150 is left after 127 samples");
    table.late(3, 10, &settings);
    assert!(known - table.of(3).skew <= 1, "a 1024th from now on");
}

//= RC-10 test
#[test]
fn the_time_of_an_answer_is_measured_between_one_nack_and_a_retransmission() {
    let settings = Settings::default();
    let mut table = SourceTable::new(&settings);
    assert_eq!(table.of(5).answer, settings.answer0);
    table.answered(5, Answered::After(80), &settings);
    assert_eq!(table.of(5).answer, settings.answer0 - (settings.answer0 - 80) / 8);
    table.answered(5, Answered::After(700), &settings);
    assert_eq!(table.of(5).answer, 700);
    table.answered(5, Answered::Again, &settings);
    assert_eq!(table.of(5).answer, settings.rto, "never beyond the sender's own backstop");
    let source = Source { skew: 64, answer: 160 };
    let mut interval = Interval::new(0, &settings);
    let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
    interval.rearm(0, &view, source, &settings);
    assert_eq!(interval.answered(50, 3, true), None, "nobody asked");
    interval.nacked(100, &view, 16, source, &settings);
    assert_eq!(interval.answered(250, 3, true), Some(Answered::After(150)));
    assert_eq!(interval.answered(250, 16, true), None, "beyond the NACK's limit");
    assert_eq!(interval.answered(250, 2, false), Some(Answered::Again));
    interval.nacked(400, &view, 16, source, &settings);
    assert_eq!(interval.answered(450, 3, true), None, "which of the two it answers is not known");
}

//= RD-4 test
#[test]
fn a_round_that_nears_its_end_pulls_its_stragglers_in() {
    let mut settings = Settings { d_min: 20, ..Settings::default() };
    let interval = Interval::new(0, &settings);
    let mut view = View { cumulative: 3, highest: 16, grant: 200, left: 10, halvings: 0 };
    let whole = 10 * settings.gap0 as u64 / 16 + 64;
    assert_eq!(interval.interval(&view, SOURCE, &settings), whole);
    view.halvings = 2;
    assert_eq!(interval.interval(&view, SOURCE, &settings), 64 + ((whole - 64) >> 2));
    view.halvings = 15;
    assert_eq!(interval.interval(&view, SOURCE, &settings), 64, "the paths differ by so much");
    let near = Source { skew: 5, ..SOURCE };
    assert_eq!(interval.interval(&view, near, &settings), 20);
    settings.ld_policy = 1;
    assert_eq!(interval.interval(&view, SOURCE, &settings), whole);
}

//= LD-8 test
#[test]
fn a_fixed_interval_looks_at_nothing() {
    let settings = Settings { ld_policy: 0, ld_fixed: 777, ..Settings::default() };
    let mut interval = Interval::new(0, &settings);
    let view = View { cumulative: 3, highest: 16, grant: 200, left: 197, halvings: 0 };
    interval.rearm(10, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(787));
    interval.nacked(800, &view, 16, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(1577));
}

//= LD-2 test
//= LD-4 test
#[test]
fn a_tail_is_over_a_skew_after_it_was_seen() {
    let settings = Settings::default();
    let tail = Interval::tail(SOURCE, &settings);
    let mut interval = Interval::new(0, &settings);
    let early = View { cumulative: 3, highest: 12, grant: 16, left: 5, halvings: 0 };
    interval.rearm(100, &early, SOURCE, &settings);
    assert!(interval.deadline() > Some(100 + tail));
    let seen = View { highest: 16, left: 3, ..early };
    interval.rearm(130, &seen, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(130 + tail), "what came with it, not with the hole");
    // Stragglers do not move it.
    let fewer = View { left: 1, ..seen };
    interval.heard(130 + tail - 1, 0, &settings);
    interval.rearm(130 + tail - 1, &fewer, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(130 + tail));
    assert_eq!(
        interval.clone().expire(130 + tail - 1, &fewer, SOURCE, &settings).limit,
        0,
        "nothing is known to be late yet"
    );
    let ask = interval.expire(130 + tail, &fewer, SOURCE, &settings);
    assert_eq!(ask, Ask { limit: 16, wide: true });
}

//= LD-2 test
//= LD-4 test
#[test]
fn the_tail_of_a_round_waits_as_any_other() {
    let settings = Settings::default();
    let tail = Interval::tail(SOURCE, &settings);
    let mut interval = Interval::new(0, &settings);
    let view = View { cumulative: 3, highest: 12, grant: 16, left: 5, halvings: 9 };
    interval.rearm(100, &view, SOURCE, &settings);
    let seen = View { highest: 16, left: 1, ..view };
    interval.heard(130, 0, &settings);
    interval.rearm(130, &seen, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(130 + tail));
    assert_eq!(interval.clone().expire(131, &seen, SOURCE, &settings).limit, 0);
}

//= LD-5 test
#[test]
fn nacks_of_a_stuck_hole_back_off() {
    let settings = Settings::default();
    let mut interval = Interval::new(0, &settings);
    let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
    interval.rearm(0, &view, SOURCE, &settings);
    let mut last = interval.deadline().unwrap();
    let mut waits = vec![];
    for _ in 0..12 {
        let ask = interval.expire(last, &view, SOURCE, &settings);
        assert_eq!(ask, Ask { limit: 16, wide: true });
        interval.nacked(last, &view, 16, SOURCE, &settings);
        let next = interval.deadline().unwrap();
        waits.push(next - last);
        last = next;
    }
    assert_eq!(waits, [248, 248, 496, 496, 992, 992, 1984, 1984, 3968, 3968, 7936, 7936]);
    // The hole is filled: the next one waits for one answer, not for all the doublings.
    let view = View { cumulative: 8, highest: 16, grant: 16, left: 1, halvings: 0 };
    interval.rearm(last - 7000, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(last - 7000 + 248));
    interval.rearm(last - 6900, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(last - 7000 + 248));
}

//= LD-5 test
#[test]
fn every_advance_cuts_the_hold_to_what_is_left() {
    let settings = Settings::default();
    let mut interval = Interval::new(0, &settings);
    let missing = |cumulative, left| View { cumulative, highest: 32, grant: 32, left, halvings: 0 };
    interval.nacked(1000, &missing(3, 20), 32, SOURCE, &settings);
    let mut held = interval.deadline().unwrap();
    for (cumulative, left) in [(4, 19), (9, 10), (16, 1)] {
        interval.rearm(1000, &missing(cumulative, left), SOURCE, &settings);
        let hold = interval.deadline().unwrap();
        assert!(hold < held, "{left} are left: {hold}, {held} before");
        held = hold;
    }
    interval.rearm(1000, &missing(16, 0), SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(held), "nothing came that was waited for");
}

//= RC-9 test
#[test]
fn a_probe_of_what_is_here_changes_nothing() {
    let settings = Settings::default();
    let mut interval = Interval::new(0, &settings);
    let view = View { cumulative: 8, highest: 8, grant: 16, left: 8, halvings: 0 };
    for _ in 0..6 {
        interval.nacked(1000, &view, 16, SOURCE, &settings);
    }
    let held = interval.deadline();
    assert_eq!(interval.probe_within(1240, 8, &view, SOURCE, &settings, 0), None);
    interval.rearm(1240, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), held);
    // One that speaks of more does, until that has come.
    interval.probe(1240, 12, &view, SOURCE, &settings);
    interval.rearm(1240, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), Some(1240 + Interval::tail(SOURCE, &settings)));
    let view = View { cumulative: 16, highest: 16, grant: 24, left: 8, halvings: 0 };
    interval.rearm(1250, &view, SOURCE, &settings);
    assert_eq!(interval.deadline(), interval.rule(&view, SOURCE, &settings));
}

//= RC-9 test
#[test]
fn a_probe_ends_the_wait_for_an_answer_that_is_due() {
    let settings = Settings::default();
    let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
    let way = u64::from(settings.rtt_default + SOURCE.skew + settings.guard);
    let tail = Interval::tail(SOURCE, &settings);
    let probed = |since: u64, margin: u64| {
        let mut interval = Interval::new(0, &settings);
        for _ in 0..6 {
            interval.nacked(1000, &view, 16, SOURCE, &settings);
        }
        let held = interval.deadline();
        let now = 1000 + since;
        let may = interval.probe_within(now, 16, &view, SOURCE, &settings, margin);
        interval.rearm(now, &view, SOURCE, &settings);
        let fell = interval.deadline() == Some(now + tail);
        assert!(fell || interval.deadline() == held);
        assert!(may.is_none_or(|due| due == now + tail));
        (fell, may.is_some())
    };
    assert_eq!(probed(way - 1, 0), (false, false));
    assert_eq!(probed(way, 0), (true, true));
    // Known to ten ticks only, it may have been either.
    assert_eq!(probed(way - 11, 10), (false, false));
    assert_eq!(probed(way - 10, 10), (false, true));
    assert_eq!(probed(way + 9, 10), (false, true));
    assert_eq!(probed(way + 10, 10), (true, true));
}
