//! Registers are words of the file, or views.

use tessera_abi::regs::{self, Reg};
use tessera_rtl::host::registers::{FILE, VIEWS, WORDS};

#[test]
fn every_register_is_served_once() {
    let mut served: Vec<u32> = FILE.iter().chain(&VIEWS).map(|reg| reg.offset).collect();
    served.sort_unstable();
    let map: Vec<u32> = regs::MAP.iter().map(|reg| reg.offset).collect();
    assert_eq!(served, map);
    let host_writes = |reg: &&Reg| reg.access == regs::Access::Rw && **reg != regs::TABLE_COMMAND;
    assert_eq!(regs::MAP.iter().filter(host_writes).count(), WORDS);
    assert!(FILE.iter().all(|reg| reg.access == regs::Access::Rw));
}
