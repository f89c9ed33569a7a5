//! The Tessera transport as plain, sans-io Rust: the oracle of every test
