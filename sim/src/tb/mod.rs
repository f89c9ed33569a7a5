//! Testbench helpers.
