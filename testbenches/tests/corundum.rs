//! Corundum's application block, instantiated as its core does.

use tessera_abi::params::TINY;
use tessera_rtl::export;
use tessera_sim::corundum::{design, Board};
use tessera_sim::verilator::{BuildOptions, Model};

#[test]
fn builds() {
    let nic = export::corundum_nic(&TINY, "").unwrap_or_else(|error| panic!("{error}"));
    let options = BuildOptions { hurried: true, ..BuildOptions::default() };
    let _ =
        Model::build(&design(&nic, &Board::default()), &options).unwrap_or_else(|error| panic!("{error}"));
}
