//! Cycle tests block by block and whole-NIC scenarios
