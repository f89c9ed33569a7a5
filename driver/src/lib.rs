//! The host side of Tessera: a verbs-like Rust API over any device.
//!
//! ```text
//!  application ── Endpoint::post_send / post_recv ──> rings in host memory ──┐
//!              <── CompletionQueue::poll ────────────── completion ring <──┐ │ doorbell
//!                                                                        NIC <┘
//! ```
//!
//! The nouns are those of verbs: [`Context`], [`ProtectionDomain`],
//! [`MemoryRegion`], [`CompletionQueue`], [`Endpoint`] (what verbs call a UD
//! queue pair: an address, not a connection) and [`AddressHandle`]. A *tagged
//! send* to an endpoint is reliable whatever its size; there is nothing to
//! connect.
//!
//! A message from one NIC to another, both opened here; the other may as well be
//! elsewhere, and its program tell its [`AddressHandle`].
//!
//! ```
#![doc = include_str!("../examples/say.rs")]
//! ```
//!
//! It is run on Verilated NICs by `testbenches/tests/nic_examples.rs`. Who would rather sleep
//! than poll [arms](CompletionQueue::arm) the queue and waits for its [descriptor](CompletionQueue::event_fd).
//!
//! A [`Device`] is registers plus memory the NIC can reach. This crate reaches
//! hardware through that trait and through nothing else, so the same code
//! drives a board and a simulated NIC.

mod address;
mod arena;
mod completion;
mod context;
mod device;
mod endpoint;
mod error;
mod event;
mod event_frames;
mod huge;
mod list;
mod memory;
pub mod mqnic;
mod order;
mod outstanding;
mod paths;
pub mod pci;
mod queue;
mod ranges;
mod reclaim;
mod recovery;
pub mod remote;
mod request;
mod reset;
mod ring;
mod shared_receive;

pub use address::{open_device, open_socket, socket, AddressError, OptionError};
pub use completion::{CompletionEvent, CompletionQueue, DatagramSource, WorkCompletion};
pub use context::{setting, Context, ContextOptions, ProtectionDomain};
pub use device::{Device, DeviceError};
pub use endpoint::{Endpoint, EndpointKind, EndpointOptions};
pub use error::{
    CreateError, DestroyError, LeftOut, OpenError, PollError, PostError, RegisterError, ResetError,
};
pub use event::EventError;
pub use list::{devices, devices_at, DeviceAttributes, ListedDevice};
pub use memory::{Access, DmaMemory, MemoryRegion, RemoteMemory};
pub use order::{DscpError, Dscps};
pub use paths::{PathError, PathUse};
pub use recovery::{ChunkOptions, ChunkWatch, ChunkedMessage};
pub use request::{
    AddressHandle, DatagramRequest, Inline, InlineRequest, RecvRequest, SendRequest, WriteRequest,
};
pub use reset::State;
pub use shared_receive::SharedReceive;
pub use tessera_abi::status::Status;
