//! Arguments, harnesses, and one proof with its broken twin.

use super::*;
use clap::Parser;
use std::io::Write as _;

#[derive(Parser, Debug)]
struct Command {
    #[command(flatten)]
    args: ProveArgs,
}

fn args(words: &[&str]) -> ProveArgs {
    Command::try_parse_from([&["prove"], words].concat()).unwrap().args
}

#[test]
fn every_harness_says_what_it_proves_and_each_mistake_is_one_of_its_block() {
    for (entry, harness) in chosen(&[]).unwrap_or_else(|failure| panic!("{failure}")) {
        let export = entry.export().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let probed = harness.probed(&export.verilog).unwrap_or_else(|error| panic!("{error}"));
        for broken in &harness.broken {
            let text = harness.broken(&probed, broken).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(text, probed, "{}: {}", entry.name, broken.what);
        }
        assert!(
            harness.text.contains("`ifdef COVER\n"),
            "{}: nothing shows that it is not vacuous",
            entry.name
        );
    }
}

#[test]
fn blocks_and_values_that_make_no_sense_are_refused() {
    let refused = run(&args(&["fifo", "bitmop"])).unwrap_err().to_string();
    assert!(refused.contains("block bitmop") && refused.contains("bitmap"), "{refused}");
    let refused = run(&args(&["fifo", "--json", "/absent/result.json"])).unwrap_err().to_string();
    assert!(refused.contains("mkdir -p /absent"), "{refused}");
    for words in [["--jobs", "0"], ["--timeout", "0"], ["--timeout", "soon"], ["--list", "--jobs=1"]] {
        let refused = Command::try_parse_from([&["prove"], &words[..]].concat());
        assert!(refused.is_err(), "{words:?}");
    }
}

#[test]
fn of_the_protocol_what_is_quick_goes_along() {
    let names = |words: &[&str]| -> Vec<String> {
        let chosen = protocol::chosen(&args(words)).unwrap_or_else(|failure| panic!("{failure}"));
        chosen.into_iter().map(|scenario| scenario.name).collect()
    };
    let quick = names(&["--quick"]);
    assert!(!quick.is_empty() && quick == names(&[]) && quick == names(&["--protocol", "--quick"]));
    assert!(names(&["--protocol"]).len() > quick.len() && names(&["fifo"]).is_empty());
    assert_eq!(names(&["--protocol", "wrap"]), ["wrap"]);
    assert_eq!(names(&["--broken"]), names(&["--protocol", "--broken"]));
    let refused = run(&args(&["--protocol", "fifo"])).unwrap_err().to_string();
    assert!(refused.contains("scenario fifo") && refused.contains("wrap"), "{refused}");
    let refused = run(&args(&["--protocol", "--quick", "wrap_deep"])).unwrap_err().to_string();
    assert!(refused.contains("leave --quick out"), "{refused}");
}

#[test]
fn a_scenario_holds_and_a_mistake_in_the_protocol_is_noticed() {
    for words in [&["--protocol", "short"][..], &["--protocol", "--broken", "no_tombstone"]] {
        let args = args(words);
        let scenarios = protocol::chosen(&args).unwrap_or_else(|failure| panic!("{failure}"));
        let rows = protocol::explore(&scenarios, &args).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(rows.len() == 1 && rows[0].good, "{words:?}: {:?}", rows[0].outcome);
        assert_eq!(rows[0].outcome.trace.is_empty(), !args.broken);
    }
}

#[test]
fn quick_is_a_part_of_all_and_every_proof_has_a_mistake() {
    let chosen = chosen(&[]).unwrap_or_else(|failure| panic!("{failure}"));
    let count = |quick, broken| chosen.iter().map(|(_, h)| parts(h, quick, broken).len()).sum::<usize>();
    assert!(0 < count(true, false) && count(true, false) <= count(false, false));
    let proofs: usize = chosen.iter().map(|(_, harness)| harness.proofs.len()).sum();
    assert!(count(false, true) >= proofs && count(true, true) <= count(false, true));
}

/// A proof of the smallest block, its covers, and its broken twins.
#[test]
fn a_proof_holds_and_notices_each_mistake() {
    let options = ToolArgs { verilator: None }.options();
    let prover = match tools::prover(&options) {
        Ok(prover) => prover,
        Err(error) => {
            let _ = write!(std::io::stdout(), "\nSKIPPED a_proof_holds_and_notices_each_mistake: {error}\n");
            return;
        }
    };
    let chosen = chosen(&["round_robin".to_owned()]).unwrap_or_else(|failure| panic!("{failure}"));
    let (entry, harness) = &chosen[0];
    let verilog = harness.probed(&entry.export().unwrap().verilog).unwrap();
    let timeout = Duration::from_secs(600);
    for (index, what) in
        [parts(harness, true, false), parts(harness, true, true)].concat().into_iter().enumerate()
    {
        let row = Work { harness, verilog: &verilog, what }.run(&prover, timeout, 100 + index);
        let row = row.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(row.good, "{}", line(&row));
        match what {
            What::Proof(_) => assert_eq!(row.result, "proved by induction"),
            What::Broken(_) => {
                let trace = row.trace.expect("a failed proof has a trace");
                assert!(trace.is_file(), "{}", trace.display());
                // The same as a proof is bad, and the command would say so.
                let ran = Ran {
                    verdict: Verdict::Fails { what: "it".into(), trace: Some(trace) },
                    took: Duration::ZERO,
                };
                let what = What::Proof(&harness.proofs[0]);
                let row = Work { harness, verilog: &verilog, what }.row(ran);
                assert!(!row.good && row.trace.is_some() && row.result.contains("FAILED"));
            }
            What::Cover => assert_eq!(row.result, "reached"),
        }
    }
}
