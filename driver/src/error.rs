//! One error per operation. Refusals only: a request that was accepted and then
//! failed comes back as a completion with its [`Status`](crate::Status).

use tessera_abi::regs::sizes2;

use crate::device::DeviceError;

/// The NIC was built without a part (SIZES2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this NIC was built without {0} (SIZES2): do without, or take a configuration that has that")]
pub struct LeftOut(pub &'static str);

impl LeftOut {
    /// What bits of SIZES2 stand for: the lowest of them.
    pub(crate) fn of(parts: u32) -> Self {
        let names = [
            (sizes2::NO_IPV6, "IPv6"),
            (sizes2::NO_VLAN, "VLAN tags"),
            (sizes2::NO_ROUNDS, "rounds of collectives"),
            (sizes2::NO_CLASSES, "turns and DSCPs by the length of a message"),
            (sizes2::NO_PATH_TABLES, "weights and counters of paths"),
            (sizes2::NO_DATAGRAMS, "datagrams"),
        ];
        let name = names.into_iter().find(|(part, _)| parts & part != 0);
        Self(name.map_or("a part that this driver does not know", |(_, name)| name))
    }
}

/// Why a device could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The VLAN is no VLAN's number.
    #[error("VLAN {0} does not exist; use 1 to 4094, or none")]
    Vlan(u16),
    /// The IPv6 address is no host's.
    #[error("{} is no IPv6 address of a host; give it in `ip` if it is IPv4", std::net::Ipv6Addr::from(*.0))]
    Ip6([u8; 16]),
    /// An address of a kind that the NIC does not have.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// Not a Tessera block.
    #[error("register MAGIC reads {0:#010x}, not {expected:#010x}: this is not a Tessera NIC", expected = tessera_abi::regs::MAGIC_VALUE)]
    NotTessera(u32),
    /// The register map is of another major version.
    #[error("the NIC speaks ABI {found:#010x}, this driver {driver:#010x}: use a driver and a bitstream of the same major version")]
    Version {
        /// What the NIC says.
        found: u32,
        /// What this driver was built for.
        driver: u32,
    },
    /// The NIC did not finish clearing its tables.
    #[error("the NIC did not become ready after {waits} waits: reset it")]
    NotReady {
        /// How often device time was let run.
        waits: u32,
    },
    /// The device is open.
    #[error(
        "this device is open: use a clone of its Context, or drop that and all that was made of it first"
    )]
    InUse,
    /// The NIC was at work, and does not let go of what it was told to do before.
    #[error("the NIC is at work for a program before this one and still waits for {} after {waits} waits: reset the whole device", waits_for(*.status))]
    Held {
        /// RESET_STATUS.
        status: u32,
        /// How often device time was let run.
        waits: u32,
    },
    /// The NIC says to have more than a number here can tell apart.
    #[error("registers SIZES0 {sizes0:#010x} and SIZES1 {sizes1:#010x} make no sense: at most 256 endpoints, completion queues and keys are possible")]
    Sizes {
        /// As read.
        sizes0: u32,
        /// As read.
        sizes1: u32,
    },
    /// A seed of 0 cannot be used.
    #[error("the seed must not be 0")]
    ZeroSeed,
    /// The settings have messages remembered for longer than their numbers differ.
    #[error("RX_GIVE_UP is {rx_give_up}, the longer of TIME_WAIT and MPL {after}: make them {} ticks together or less, or a message may be taken for one of long ago", tessera_abi::wire::MAX_REMEMBERED)]
    Remembered {
        /// Register RX_GIVE_UP as it would be.
        rx_give_up: u32,
        /// The larger of TIME_WAIT and MPL as they would be.
        after: u32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why an endpoint could not be destroyed. Its number, its rings and the completion queues
/// that it names stay taken; of one that is [`Held`](Self::Held) until the NIC is found to
/// have let go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DestroyError {
    /// The NIC still holds something of it.
    #[error("endpoint {endpoint:#08x} still has {} in the NIC after {waits} waits: keep its memory, and reset the NIC", what(*sends, *receives))]
    Held {
        /// Its number.
        endpoint: u32,
        /// Sends that have not ended.
        sends: bool,
        /// Messages being received that have not ended.
        receives: bool,
        /// How often device time was let run.
        waits: u32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a NIC could not be reset. What that means to what was made before says
/// [`Context::reset`](crate::Context::reset).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// Somebody beside the NIC does not let go of it. What was outstanding stays so:
    /// the NIC may still write its memory.
    #[error("the NIC still waits for {} after {waits} waits: see that it answers and call reset again, or reset the whole device", waits_for(*.status))]
    Held {
        /// RESET_STATUS.
        status: u32,
        /// How often device time was let run.
        waits: u32,
    },
    /// The NIC did not finish clearing its tables. It has let go of host memory, and
    /// what was outstanding has ended.
    #[error("the NIC did not become ready after {waits} waits: reset the whole device")]
    NotReady {
        /// How often device time was let run.
        waits: u32,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn waits_for(status: u32) -> String {
    let names = ["a frame to the MAC", "ring reads", "ring writes", "payload reads", "payload writes"];
    let held: Vec<_> =
        (1..).zip(names).filter(|(bit, _)| status >> bit & 1 == 1).map(|(_, name)| name).collect();
    if held.is_empty() {
        return "its own reset".into();
    }
    held.join(", ")
}

fn what(sends: bool, receives: bool) -> &'static str {
    match (sends, receives) {
        (true, true) => "sends and messages being received",
        (true, false) => "sends",
        (false, true) => "messages being received",
        (false, false) => "packets on their way",
    }
}

/// Why memory could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// All keys are taken.
    #[error("all {0} memory keys of this NIC are in use: drop a MemoryRegion first")]
    NoKey(usize),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a queue or an endpoint could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The ring size is not possible.
    #[error("a ring of {entries} entries is not possible: use a power of two from 2 to {max}")]
    Entries {
        /// What was asked for.
        entries: usize,
        /// Largest ring.
        max: usize,
    },
    /// None is left.
    #[error("all {count} {what} of this NIC are in use: drop one first, of completion queues the endpoints and shared rings that complete in it, too")]
    None {
        /// What is used up.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A completion queue of another context was given.
    #[error("the completion queue belongs to another context")]
    ForeignQueue,
    /// Tag matching was asked for plain datagrams.
    #[error("datagrams have no tags to match: use EndpointKind::Messages, or leave tags off")]
    DatagramTags,
    /// Tag matching was asked of a NIC that was built without it.
    #[error("this NIC has no room for tagged receives (SIZES1): leave tags off, or take a configuration with tagged_log2")]
    NoTags,
    /// Of a kind that the NIC does not have.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// Tag matching and a shared ring were asked for together.
    #[error("an endpoint with a shared receive ring cannot match tags: give it a ring of its own")]
    SharedTags,
    /// A shared receive ring of another context was given.
    #[error("the shared receive ring belongs to another context")]
    ForeignRing,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a request was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The endpoint is of the other kind.
    #[error("this endpoint speaks {own}; post with `{call}`")]
    Kind {
        /// What it speaks.
        own: &'static str,
        /// What to call.
        call: &'static str,
    },
    /// The destination is of a family that this NIC has no address of.
    #[error("the destination is an IPv6 address and this NIC has none; open it with `ip6`")]
    NoIp6,
    /// What the NIC does not have.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// A datagram longer than the path takes.
    #[error("a datagram of {len} bytes does not fit a path MTU of {mtu}; send a message instead")]
    TooLongForMtu {
        /// Bytes.
        len: usize,
        /// Path MTU, bytes.
        mtu: u32,
    },
    /// The ring is full.
    #[error("the ring is full, {outstanding} requests are outstanding: poll the completion queue")]
    RingFull {
        /// Requests without completion.
        outstanding: usize,
    },
    /// The message is larger than a message may be.
    #[error("a message of {len} bytes in packets of {payload} bytes has more than {max} packets: use a larger payload size", max = tessera_abi::params::MAX_PACKETS)]
    TooLong {
        /// Bytes.
        len: u64,
        /// Payload size in bytes.
        payload: u32,
    },
    /// The payload size is not one of 256, 512, 1024, 2048, 4096.
    #[error("a payload size of {0} bytes is not possible: use 256, 512, 1024, 2048 or 4096")]
    PayloadSize(u32),
    /// The peer's feedback could not reach this endpoint.
    #[error("this endpoint's Q_Key is {own:#010x}, the destination's {peer:#010x}: feedback comes back with the latter and would be dropped (counter q_key); create both endpoints with one Q_Key")]
    QKey {
        /// Of the endpoint that sends.
        own: u32,
        /// In the request's address.
        peer: u32,
    },
    /// Nothing was set aside for inline requests.
    #[error("this endpoint has no memory for inline requests: call Endpoint::set_inline first")]
    NoInline,
    /// The bytes do not fit what was set aside for them.
    #[error("an inline request of {len} bytes does not fit the {most} that were set aside: post them from a memory region, or give Endpoint::set_inline more")]
    InlineTooLong {
        /// Bytes.
        len: usize,
        /// Most of them.
        most: usize,
    },
    /// The endpoint has been posted to.
    #[error("requests have been posted to this endpoint: create another one")]
    Used,
    /// The endpoint does not match tags.
    #[error("this endpoint does not match tags: create it with EndpointOptions::tags")]
    NoTags,
    /// The tagged receive to cancel is not known to be in place.
    #[error("no receive {work_id} of tag {tag:#x} is in place: poll its Posted first, or it has ended")]
    NotInPlace {
        /// The tag given.
        tag: u64,
        /// The work id given.
        work_id: u64,
    },
    /// No chunk area of such chunks tells of so many packets.
    #[error("{packets} packets per chunk for messages of up to {most} packets are not possible: use 1, 2, 4, 8, 16 or 32, and more of them for longer messages")]
    Chunks {
        /// Packets per chunk.
        packets: u32,
        /// Most packets of a message.
        most: u32,
    },
    /// The receive has no place for its chunk area.
    #[error("bytes {offset}..+{len} cannot begin with a chunk area of {area} bytes: begin at a multiple of 64 and add ChunkOptions::area_len to the message's length")]
    ChunkArea {
        /// First byte.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Bytes of the area.
        area: usize,
    },
    /// The endpoint's receives come from a shared ring.
    #[error("this endpoint uses a shared receive ring: post to the SharedReceive")]
    SharedRing,
    /// The memory is registered with another NIC.
    #[error("the memory region belongs to another context: register the memory with this endpoint's")]
    ForeignRegion,
    /// The destination's endpoint number is none.
    #[error("endpoint number {0:#x} has more than 24 bits: use the peer's Endpoint::number")]
    EndpointNumber(u32),
    /// The range is outside its memory region.
    #[error("bytes {offset}..+{len} are outside the {region} bytes of the memory region")]
    OutOfRegion {
        /// First byte.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Size of the region.
        region: usize,
    },
    /// The device failed. Whether it knows of the request nobody can say: it stays
    /// outstanding, and ends after a reset at the latest.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why polling failed. The queue cannot be trusted afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PollError {
    /// A completion carries an opcode this driver does not know.
    #[error("completion {index} has the unknown opcode {opcode}: driver and NIC versions differ")]
    Opcode {
        /// Running index.
        index: u16,
        /// What it says.
        opcode: u8,
    },
    /// A completion carries a status this driver does not know.
    #[error("completion {index} has the unknown status {status}: driver and NIC versions differ")]
    Status {
        /// Running index.
        index: u16,
        /// What it says.
        status: u8,
    },
    /// A completion gives a tagged receive a handle that is none.
    #[error("completion {index} puts a tagged receive in place under handle {handle:#x}, which is none")]
    Handle {
        /// Running index.
        index: u16,
        /// What it says.
        handle: u32,
    },
    /// The NIC failed to write a completion. It is lost, and those behind it cannot be
    /// read; other queues go on.
    #[error("completion {index} was never written, for an access to host memory failed (counter DmaErrors), and those behind it cannot be read: reset the NIC with Context::reset, and poll what has ended")]
    Lost {
        /// Running index.
        index: u16,
    },
    /// A completion names a request that is not outstanding.
    #[error("completion {index} ends entry {entry} of endpoint {endpoint}, which is not outstanding")]
    NotOutstanding {
        /// Running index.
        index: u16,
        /// Endpoint's table index.
        endpoint: u16,
        /// Running index of the request.
        entry: u16,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
