//! Sending: from requests to packets with their payload.

mod payload_reader;
pub use payload_reader::PayloadReader;
