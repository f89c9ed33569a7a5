//! Runs Tessera's Verilog under Verilator: clocks, co-simulation and a lossy multipath fabric
