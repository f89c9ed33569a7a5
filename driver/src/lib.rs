//! The host side of Tessera: a verbs-like Rust API over any device
