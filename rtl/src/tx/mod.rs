//! The sender: slots of messages being sent, and what turns them into packets.

mod act;
mod flight;
mod free_list;
mod intake;
mod judge;
mod nack;
mod packet;
mod payload_reader;
mod rtt_table;
mod sender;
mod slot_ring;
mod slots;
mod starter;
mod timers;
mod unasked;
pub mod words;

pub use act::Act;
pub use flight::Flight;
pub use free_list::FreeList;
pub use intake::Intake;
pub use judge::Judge;
pub use nack::Nack;
pub use packet::PacketMaker;
pub use payload_reader::PayloadReader;
pub use rtt_table::RttTable;
pub use sender::Sender;
pub use slot_ring::SlotRing;
pub use slots::Slots;
pub use starter::Starter;
pub use timers::Timers;
pub use unasked::Unasked;
