//! What Tessera's hardware and software agree on: wire headers, registers, queue entries, parameters
