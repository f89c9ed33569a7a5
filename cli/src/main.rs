//! `tessera`, the one command. `cargo tessera --help` lists its verbs.

// The command's types are described where their options are; nothing here is a library.
#![allow(missing_docs)]

mod args;
mod bench;
mod coverage;
mod demo;
mod export;
mod export_template;
mod fabric;
mod foreign;
mod guest;
mod interval;
mod model;
mod mutate;
mod net;
mod output;
mod peers;
mod programs;
mod prove;
mod route;
mod run;
mod setup;
mod simulated;
mod soak;
mod stop;
mod sweep;
mod synth;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An open RNIC transport block without queue pairs: Rust HDL to Verilog,
/// simulated, driven and measured.
#[derive(Parser, Debug)]
#[command(name = "tessera", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Demo(Box<demo::DemoArgs>),
    Test(test::TestArgs),
    Export(export::ExportArgs),
    Interval(interval::IntervalArgs),
    Bench(bench::BenchArgs),
    Sweep(sweep::SweepArgs),
    Soak(soak::SoakArgs),
    Run(run::RunArgs),
    Guest(guest::command::GuestArgs),
    Setup(setup::SetupArgs),
    Mutate(mutate::MutateArgs),
    Synth(synth::SynthArgs),
    Route(route::RouteArgs),
    Prove(prove::ProveArgs),
    Net(net::NetArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Test(args) => test::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Interval(args) => interval::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Sweep(args) => sweep::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Guest(args) => guest::command::run(&args),
        Verb::Setup(args) => setup::run(&args),
        Verb::Mutate(args) => mutate::run(&args),
        Verb::Synth(args) => synth::run(&args),
        Verb::Route(args) => route::run(&args),
        Verb::Prove(args) => prove::run(&args),
        Verb::Net(args) => net::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("tessera: {failure}");
            ExitCode::FAILURE
        }
    }
}
