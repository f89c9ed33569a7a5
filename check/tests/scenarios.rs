//! The checker checked: small scenarios hold, every mistake is found, and what counts
//! as one state is one.

use std::time::Duration;

use tessera_check::{check, scenarios, seeded, Outcome, Rule, Scenario, Verdict};

fn explore(scenario: &Scenario, threads: usize) -> Outcome {
    check(scenario, threads, Duration::from_secs(600), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn named(name: &str) -> Scenario {
    let all = scenarios().into_iter().chain(seeded());
    all.into_iter().find(|scenario| scenario.name == name).unwrap_or_else(|| panic!("no scenario {name}"))
}

/// Each for another reason: copies, a generation that wraps, resets, endpoints that go.
#[test]
fn small_scenarios_hold() {
    for name in ["again", "short", "resets", "quota", "duplex"] {
        let outcome = explore(&named(name), 2);
        assert_eq!(outcome.verdict, Verdict::Holds, "{outcome:#?}");
        assert!(outcome.trace.is_empty() && outcome.steps == 0);
    }
}

#[test]
fn every_mistake_is_found_and_its_way_told() {
    for scenario in seeded() {
        let outcome = explore(&scenario, 1);
        assert!(outcome.is_good(&scenario), "{outcome:#?}");
        assert!(outcome.unique < 20_000, "{}: {} states", scenario.name, outcome.unique);
        let told = outcome.trace.last().unwrap_or_else(|| panic!("{}: no way", scenario.name));
        assert!(told.contains("broken: "), "{told}");
        assert!(outcome.trace.iter().all(|line| line.len() < 100), "{:#?}", outcome.trace);
    }
}

/// Without its mistake each of them holds: the rules do not cry wolf.
#[test]
fn without_the_mistake_all_holds() {
    for scenario in seeded() {
        let right = Scenario { fault: None, breaks: None, ..scenario };
        let outcome = explore(&right, 2);
        assert_eq!(outcome.verdict, Verdict::Holds, "{outcome:#?}");
    }
}

/// One thread finds the nearest fault: a copy of the only packet arrives second.
#[test]
fn the_way_to_a_fault_is_the_shortest() {
    let outcome = explore(&named("no_tombstone"), 1);
    assert_eq!(outcome.verdict, Verdict::Broken(Rule::DeliveredTwice));
    assert_eq!(outcome.steps, 3, "{:#?}", outcome.trace);
}

/// The order in which threads come upon states changes none of their number.
#[test]
fn states_are_the_same_on_one_thread_and_on_two() {
    let [one, two] = [1, 2].map(|threads| explore(&named("resets"), threads));
    assert_eq!((one.unique, one.states, one.nodes), (two.unique, two.states, two.nodes));
}

#[test]
fn what_never_occurs_is_said() {
    let idle = Scenario { reaches: &["success", "stale"], ..named("short") };
    assert_eq!(explore(&idle, 1).verdict, Verdict::Unreached("success"));
}

#[test]
fn what_is_not_seen_whole_is_not_said_to_hold() {
    let outcome = check(&named("single"), 1, Duration::from_millis(1), |_| {});
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.verdict, Verdict::Unfinished, "{outcome:#?}");
}

#[test]
fn names_are_of_one_scenario_each_and_the_quick_ones_come_first() {
    let all = scenarios();
    let mut names: Vec<String> = all.iter().chain(&seeded()).map(|scenario| scenario.name.clone()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(all.iter().all(|scenario| scenario.quick != scenario.name.ends_with("_deep")));
    assert!(all.iter().any(|scenario| scenario.quick) && all.iter().any(|scenario| !scenario.quick));
}
