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
//! use std::sync::Arc;
//! use tessera_driver::*;
//!
//! fn open(device: Arc<dyn Device>, host: u8) -> Result<Context, OpenError> {
//!     let (mac, ip) = ([2, 0, 0, 0, 0, host], [10, 0, 0, host]);
//!     let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 1, settings: Vec::new() };
//!     Context::open(device, options)
//! }
//!
//! fn say(text: &[u8], here: &Context, there: &Context) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let (pd, mut sent) = (here.alloc_pd(), here.create_cq(64)?);
//!     let mut sender = pd.create_endpoint(&EndpointOptions::default(), &sent, &sent)?;
//!     let from = pd.register(&DmaMemory::from_slice(text), Access::READ)?;
//!
//!     let (pd, mut received) = (there.alloc_pd(), there.create_cq(128)?);
//!     let mut receiver = pd.create_endpoint(&EndpointOptions::default(), &received, &received)?;
//!     let into = pd.register(&DmaMemory::new(1 << 20), Access::LOCAL_WRITE)?;
//!
//!     receiver.post_recv(&RecvRequest { work_id: 1, region: &into, range: 0..into.len() })?;
//!     sender.post_send(&SendRequest {
//!         work_id: 2,
//!         region: &from,
//!         range: 0..from.len(),
//!         to: receiver.address(),
//!         tag: 7,
//!         immediate: None,
//!         round: None,
//!         payload_size: 4096,
//!     })?;
//!     let mut done = [WorkCompletion::default()];
//!     for cq in [&mut received, &mut sent] {
//!         while cq.poll(&mut done)? == 0 {
//!             here.wait()?;
//!         }
//!         if done[0].status != Status::Success {
//!             return Err(format!("request {} ended: {:?}", done[0].work_id, done[0].status).into());
//!         }
//!     }
//!     Ok(into.memory().to_vec(0, text.len()))
//! }
//! ```
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
mod list;
mod memory;
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

pub use address::{open_device, open_socket, socket, AddressError};
pub use completion::{CompletionEvent, CompletionQueue, DatagramSource, WorkCompletion};
pub use context::{setting, Context, ContextOptions, ProtectionDomain};
pub use device::{Device, DeviceError};
pub use endpoint::{Endpoint, EndpointKind, EndpointOptions};
pub use error::{CreateError, DestroyError, OpenError, PollError, PostError, RegisterError, ResetError};
pub use event::EventError;
pub use list::{devices, devices_at, DeviceAttributes, ListedDevice};
pub use memory::{Access, DmaMemory, MemoryRegion, RemoteMemory};
pub use paths::{PathError, PathUse};
pub use recovery::{ChunkOptions, ChunkWatch, ChunkedMessage};
pub use request::{
    AddressHandle, DatagramRequest, Inline, InlineRequest, RecvRequest, SendRequest, WriteRequest,
};
pub use reset::State;
pub use shared_receive::SharedReceive;
pub use tessera_abi::status::Status;
