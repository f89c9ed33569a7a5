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
//! A [`Device`] is registers plus memory the NIC can reach. This crate reaches
//! hardware through that trait and through nothing else, so the same code
//! drives a board and a simulated NIC.

mod completion;
mod context;
mod device;
mod endpoint;
mod error;
mod memory;
mod paths;
mod queue;
mod reclaim;
mod recovery;
mod request;
mod reset;
mod ring;
mod shared_receive;

pub use completion::{CompletionEvent, CompletionQueue, DatagramSource, WorkCompletion};
pub use context::{Context, ContextOptions, ProtectionDomain};
pub use device::{Device, DeviceError};
pub use endpoint::{Endpoint, EndpointKind, EndpointOptions};
pub use error::{CreateError, DestroyError, OpenError, PollError, PostError, RegisterError, ResetError};
pub use memory::{Access, DmaMemory, MemoryRegion, RemoteMemory};
pub use paths::{PathError, PathUse};
pub use recovery::{ChunkOptions, ChunkWatch, ChunkedMessage};
pub use request::{AddressHandle, DatagramRequest, RecvRequest, SendRequest, WriteRequest};
pub use shared_receive::SharedReceive;
pub use tessera_abi::status::Status;
