//! The register map: AXI4-Lite, 32-bit registers, byte addresses.
//!
//! | range | holds |
//! |---|---|
//! | `0x000000..0x001000` | global registers, below |
//! | `0x100000 + endpoint * 0x1000` | doorbell page of an endpoint: [`DOORBELL_SQ`], [`DOORBELL_RQ`], [`DOORBELL_ROUND`] |
//! | `0x100000 + cq * 0x1000` | the same pages also carry [`DOORBELL_CQ`] of the completion queue of that number |
//!
//! An access of a whole, aligned word that the map lists is answered OKAY. All
//! else (other addresses, partial writes, writes of what only hardware writes)
//! is answered SLVERR, changes nothing and reads as 0.
//!
//! Tables (endpoints, completion queues, memory keys) are written whole:
//! fill [`TABLE_DATA`], then write [`TABLE_COMMAND`]; hardware sees the old or
//! the new word, never half of one.

/// Address bits of the AXI4-Lite port.
pub const ADDRESS_BITS: usize = 21;

/// Reads as "TSRA".
pub const MAGIC_VALUE: u32 = 0x5453_5241;
/// Version of this map and of the queue entries: major in the upper half.
pub const ABI_VERSION_VALUE: u32 = 0x0001_0001;

/// A 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reg {
    /// Name in documents and dumps.
    pub name: &'static str,
    /// Byte address.
    pub offset: u32,
    /// Who may write.
    pub access: Access,
    /// Bits that exist, from bit 0 on; the others are ignored and read as 0.
    pub width: usize,
    /// Value after reset.
    pub reset: u32,
    /// Unit and meaning.
    pub doc: &'static str,
}

/// Who may write a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Hardware only.
    Ro,
    /// Host; hardware never moves it.
    Rw,
    /// Host; reads as 0.
    Wo,
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $offset:literal, $access:ident $width:literal, $reset:expr, $text:literal;)+) => {
        $(#[doc = $text] pub const $name: Reg = Reg {
            name: stringify!($name),
            offset: $offset,
            access: Access::$access,
            width: $width,
            reset: $reset,
            doc: $text,
        };)+
        /// Every global register, by address.
        pub const MAP: &[Reg] = &[$($name,)+];
    };
}

registers! {
    MAGIC = 0x000, Ro 32, MAGIC_VALUE, "\"TSRA\"";
    ABI_VERSION = 0x004, Ro 32, ABI_VERSION_VALUE, "major in the upper half, minor in the lower; a driver refuses another major";
    SIZES0 = 0x008, Ro 32, 0, "log2 sizes: tx slots [4:0], rx contexts [12:8], bitmap blocks [20:16], endpoints [28:24]";
    SIZES1 = 0x00C, Ro 32, 0, "log2 sizes: completion queues [4:0], memory keys [12:8], receive prefetch [20:16], tagged receives [28:24], 0 for none; [31] = 1: messages may be recovered by the host";
    SIZES2 = 0x010, Ro 32, 0, "[15:0] tombstones; parts that are left out: [16] IPv6, [17] VLAN tags, [18] rounds, [19] TURN_POLICY and CLASS_SIZES, [20] policy weighted and the counters of paths, [21] policy recycle, which is round_robin then, [22] datagrams. Registers of such parts keep their reset value";
    CONTROL = 0x020, Rw 1, 0, "bit 0: enable; packets are refused while 0";
    STATUS = 0x024, Ro 1, 0, "bit 0: ready, tables are cleared after reset";
    LOCAL_MAC_LO = 0x030, Rw 32, 0, "last four bytes of the MAC address, first of them in the upper byte";
    LOCAL_MAC_HI = 0x034, Rw 16, 0, "first two bytes of the MAC address in the low half";
    LOCAL_IP = 0x038, Rw 32, 0, "IPv4 address, first byte in the upper byte";
    LOCAL_IP6_0 = 0x03C, Rw 32, 0, "IPv6 address, bytes 0..4, first of them in the upper byte; an address of zeros: no IPv6";
    LOCAL_IP6_1 = 0x040, Rw 32, 0, "IPv6 address, bytes 4..8";
    LOCAL_IP6_2 = 0x044, Rw 32, 0, "IPv6 address, bytes 8..12";
    PKEY = 0x048, Rw 16, 0xFFFF, "partition key, 16 bits";
    LOCAL_IP6_3 = 0x04C, Rw 32, 0, "IPv6 address, bytes 12..16";
    SEED = 0x050, Rw 32, 1, "seed of hashes, generations and the path scheduler; taken when CONTROL.enable rises; 0 is taken as 1";
    VLAN = 0x054, Rw 13, 0, "[11:0]: the VLAN whose tagged frames are accepted, 0 = none; bit 12: those of any VLAN. Untagged and priority-tagged frames always are";
    PATH_POLICY = 0x060, Rw 3, 3, "0 single, 1 round_robin, 2 random, 3 recycle, 4 weighted";
    PATH_COUNT = 0x064, Rw 9, 4, "number of entropy values, 1..=256";
    PATH_BASE = 0x068, Rw 8, 0, "first entropy value; the only one of policy single";
    TURN_POLICY = 0x06C, Rw 2, 0, "who goes first by how much is left of his message (TX-17, GR-7): bit 0 packets of this NIC's senders, bit 1 grants of its receiver; else in turn";
    DSCP = 0x070, Rw 30, 0, "[5:0] DSCP of FEEDBACK, PROBE and RELEASE; of DATA [11:6], [17:12], [23:18], [29:24]: of the classes 0 to 3 of CLASS_SIZES";
    CLASS_SIZES = 0x074, Rw 15, 0x7FFF, "three logarithms of bytes, [4:0], [9:5], [14:10]; the class of a message is how many of them its length is above";
    CREDIT_EACH = 0x078, Rw 24, 0xFF_FFFF, "granted bytes not yet arrived of one message above which it waits for no grant (GR-8); 0xFFFFFF = never";
    GAP0 = 0x080, Rw 16, 128, "packet gap before the first sample, 1/16 tick";
    SKEW0 = 0x084, Rw 16, 160, "path skew before the first sample, ticks";
    SKEW_MAX = 0x088, Rw 16, 512, "cap of the measured skew, ticks";
    GUARD = 0x08C, Rw 16, 16, "added to every tail deadline, ticks";
    D_MIN = 0x090, Rw 16, 32, "shortest loss-detection interval, ticks";
    RTT_DEFAULT = 0x094, Rw 16, 160, "round-trip time while unknown, ticks";
    RTO = 0x098, Rw 24, 800, "sender's backstop while a grant is awaited, ticks; 32 times that is the longest of all";
    MAX_RETRY = 0x09C, Rw 8, 20, "probes in a row without any feedback before retry_exceeded";
    T_OPEN = 0x0A0, Rw 24, 1_000_000, "first packet until first non-BUSY feedback, ticks";
    GRANT_WAIT = 0x0A4, Rw 24, 1_000_000, "longest time without progress though feedback comes, ticks";
    RX_GIVE_UP = 0x0A8, Rw 24, 2_000_000, "receiver hears nothing of an unfinished message, ticks; with the larger of TIME_WAIT and MPL at most 3,145,728 (RO-3)";
    TIME_WAIT = 0x0AC, Rw 24, 1_100_000, "life of a tombstone, ticks; at least T_OPEN + MPL";
    MPL = 0x0B0, Rw 24, 16_000, "longest life of a packet, ticks";
    BUSY_WAIT = 0x0B4, Rw 24, 160, "first wait after BUSY, doubling up to 32 times, ticks";
    NACK_BURST = 0x0B8, Rw 3, 4, "most NACKs per expiry, one per block";
    ACK_EVERY = 0x0BC, Rw 8, 16, "distinct packets between unasked feedbacks";
    INITIAL_WINDOW = 0x0C0, Rw 8, 16, "packets sent unasked when a request names none, 1..=255";
    UNSOLICITED_LIMIT = 0x0C4, Rw 32, 1_048_576, "unasked bytes in flight of this NIC";
    CREDIT_LIMIT = 0x0C8, Rw 32, 524_288, "granted bytes not yet arrived at this NIC";
    GRANT_QUANTUM = 0x0CC, Rw 8, 16, "most packets per grant, 1..=255; 0 is taken as 1";
    LD_POLICY = 0x0D0, Rw 2, 2, "loss-detection interval: 0 fixed (LD_FIXED), 1 moving, 2 moving and pulled in by rounds";
    LD_FIXED = 0x0D4, Rw 16, 800, "the interval of policy 0, ticks";
    ANSWER0 = 0x0D8, Rw 16, 480, "from a NACK to the retransmission it draws, before the first sample, ticks";
    RTO_ROUND = 0x0DC, Rw 24, 160, "sender's first backstop of a message of a round, ticks";
    CREDIT_POLICY = 0x0E0, Rw 3, 5, "what moves the credit: bit 0 packets marked CE shrink it, bit 1 packets later than CREDIT_DELAY do, bit 2 a message lends its own after two NACKs without a new packet";
    CREDIT_DELAY = 0x0E4, Rw 16, 256, "skew sample that counts as congestion, ticks";
    INTERRUPT_SEEN = 0x0E8, Rw 17, 0, "[15:0]: INTERRUPT_COUNT up to which the host has looked; bit 16: the interrupt is enabled, high while they differ";
    INTERRUPT_DELAY = 0x0EC, Rw 16, 0, "what is not seen waits so long before the interrupt rises, ticks";
    RELEASE_LOW = 0x0F0, Rw 3, 2, "COMPLETE asks for a RELEASE while fewer places than SIZES2 >> this are free of messages received and tombstones; 0 = never";
    RECOVER_MESSAGE = 0x0F4, Rw 32, 0, "handle of the host-recovered message that the next order is for, as its chunk area tells it";
    RECOVER_ORDER = 0x0F8, Wo 32, 0, "begins an order: bit 31 complete the message partially; else [23:0] = limit, NACK the holes below it in the block of packet limit - 1; refused while RECOVER_STATUS.busy";
    RECOVER_STATUS = 0x0FC, Ro 2, 0, "bit 0: busy, the last order is not yet taken; bit 1: the last order taken met its message open";
    TABLE_COMMAND = 0x100, Rw 32, 0, "bit 31: 1 write, 0 read into TABLE_DATA; [27:24] table; [15:0] index; starts the access; refused while TABLE_STATUS.busy, for an unknown table and for an index past its end";
    TABLE_STATUS = 0x104, Ro 1, 0, "bit 0: busy, an access is under way or STATUS.ready is 0";
    FENCE = 0x108, Wo 1, 0, "bit 0: begin a fence behind every packet that was checked against the memory keys before this write";
    FENCE_STATUS = 0x10C, Ro 1, 0, "bit 0: busy, a payload that was checked before the last fence may still be on its way to host memory";
    RECLAIM = 0x110, Wo 8, 0, "endpoint whose sends and messages being received are to be ended; its table entry must not be VALID";
    RECLAIM_STATUS = 0x114, Ro 3, 0, "bit 0: busy; bit 1: send entries of the endpoint are in the NIC, bit 2: context numbers; with neither, what came before is on its way through the NIC, or completions to host memory";
    RESET = 0x118, Wo 1, 0, "bit 0: reset the NIC as RS-1 says; any other write is refused until it is over";
    RESET_STATUS = 0x11C, Ro 6, 0, "bit 0: busy; what it waits for: bit 1 a frame to the MAC, 2 ring reads, 3 ring writes, 4 payload reads, 5 payload writes";
    OUTSTANDING = 0x120, Ro 32, 0, "gauge: granted bytes not yet arrived";
    UNSOLICITED = 0x124, Ro 32, 0, "gauge: unasked bytes in flight";
    FREE_SLOTS = 0x128, Ro 13, 0, "gauge: free tx slots";
    FREE_CONTEXTS = 0x12C, Ro 13, 0, "gauge: free rx contexts";
    FREE_BLOCKS = 0x130, Ro 14, 0, "gauge: free bitmap blocks";
    TOMBSTONES = 0x134, Ro 16, 0, "gauge: tombstones held";
    TIME = 0x138, Ro 32, 0, "NIC time, ticks";
    INTERRUPT_COUNT = 0x13C, Ro 16, 0, "completion entries whose writes to host memory are over, wrapping; RESET does not set it back";
}

/// SIZES2: tombstones, and the parts that are left out.
pub mod sizes2 {
    /// The number of tombstones.
    pub const TOMBSTONES: u32 = 0xFFFF;
    /// IPv4 only.
    pub const NO_IPV6: u32 = 1 << 16;
    /// No 802.1Q tags.
    pub const NO_VLAN: u32 = 1 << 17;
    /// No rounds of collectives.
    pub const NO_ROUNDS: u32 = 1 << 18;
    /// TURN_POLICY and CLASS_SIZES stay as a reset leaves them.
    pub const NO_CLASSES: u32 = 1 << 19;
    /// Neither policy `weighted` nor counters of entropy values.
    pub const NO_PATH_TABLES: u32 = 1 << 20;
    /// Policy `recycle` is `round_robin`.
    pub const NO_RECYCLE: u32 = 1 << 21;
    /// No endpoints of datagrams.
    pub const NO_DATAGRAMS: u32 = 1 << 22;
}

/// INTERRUPT_SEEN: the interrupt is enabled.
pub const INTERRUPT_ENABLE: u32 = 1 << 16;

/// TURN_POLICY: packets go by what is left of their messages.
pub const TURNS_BY_LEFT: u32 = 1 << 0;
/// TURN_POLICY: grants do.
pub const GRANTS_BY_LEFT: u32 = 1 << 1;

/// RECOVER_ORDER: end the message as it is. Else the value is a limit.
pub const ORDER_PARTIAL: u32 = 1 << 31;
/// RECOVER_STATUS: the order is not yet taken.
pub const ORDER_BUSY: u32 = 1 << 0;
/// RECOVER_STATUS: the last order met its message.
pub const ORDER_MET: u32 = 1 << 1;

/// What the credit never shrinks below: two largest payloads, bytes.
pub const CREDIT_FLOOR: u32 = 2 << crate::params::MAX_PAYLOAD_LOG2;

/// First of sixteen words of table data.
pub const TABLE_DATA: u32 = 0x140;
/// Words of a table entry.
pub const TABLE_WORDS: usize = 16;
/// Words of it that have fields.
pub const TABLE_WORDS_USED: usize = 9;
/// First counter: 32 bits each, wrapping, in [`Counter`] order.
pub const COUNTERS: u32 = 0x400;

/// Base address of doorbell page `index`.
pub const fn doorbell_page(index: u32) -> u32 {
    0x10_0000 + index * 0x1000
}
/// Offset in a page: send queue tail, 16-bit running index.
pub const DOORBELL_SQ: u32 = 0x0;
/// Offset in a page: receive queue tail, 16-bit running index.
pub const DOORBELL_RQ: u32 = 0x4;
/// Offset in a page: completion queue head, 16-bit running index of entries consumed.
pub const DOORBELL_CQ: u32 = 0x8;

/// Offset in a page: a round of this endpoint; id in the lower half, messages it
/// needs in the upper half, 0 = forget it.
pub const DOORBELL_ROUND: u32 = 0xC;

/// Table numbers.
pub mod table {
    /// Endpoints.
    pub const ENDPOINT: u32 = 0;
    /// Completion queues.
    pub const CQ: u32 = 1;
    /// Memory keys.
    pub const MR: u32 = 2;
    /// Places of policy `weighted`; written, never read.
    pub const PATH: u32 = 4;
}

/// Some bits of a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in documents and dumps.
    pub name: &'static str,
    /// Lowest bit in the 512-bit entry; data word `w` is bits `32w..32w+32`.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
    /// Unit and meaning.
    pub doc: &'static str,
}

macro_rules! layout {
    ($($name:ident = ($lsb:literal, $width:literal), $text:literal;)+) => {
        $(#[doc = $text] pub const $name: (usize, usize) = ($lsb, $width);)+
        /// Every field, by position.
        pub const FIELDS: &[super::Field] = &[
            $(super::Field { name: stringify!($name), lsb: $lsb, width: $width, doc: $text },)+
        ];
    };
}

/// Word layout of the endpoint table: `(lsb, width)` in the 512-bit entry,
/// where data word `w` is bits `32w..32w+32`. Writing an entry sets the running
/// indexes of the endpoint's rings to 0; entries of its rings that were read
/// and not yet begun are forgotten.
pub mod endpoint {
    layout! {
        VALID = (0, 1), "1 = exists";
        SEND_ENABLE = (1, 1), "1 = may send (request processing enabled)";
        DATAGRAM = (2, 1), "1 = plain UD endpoint (else reliable messages)";
        SHARES = (4, 1), "1 = receives are taken from the ring of entry SHARED_RING";
        RING = (5, 1), "1 = the receive ring is read though VALID is 0: a shared ring and nothing else";
        TAGS = (6, 1), "1 = messages are matched with tagged receives by their tag";
        NUMBER_HI = (16, 16), "Upper 16 bits of the endpoint number; the lower 8 are the index";
        QKEY = (32, 32), "Q_Key";
        SQ_BASE = (64, 64), "Send ring address";
        RQ_BASE = (128, 64), "Receive ring address";
        SQ_LOG2 = (192, 4), "log2 of send ring entries, 1..=15";
        RQ_LOG2 = (196, 4), "log2 of receive ring entries, 1..=15";
        SEND_CQ = (200, 8), "Completion queue of sends";
        RECV_CQ = (208, 8), "Completion queue of receives";
        RX_QUOTA = (216, 16), "Receive contexts it may hold, and tagged receives, 0 = as many as there are";
        SHARED_RING = (232, 8), "With SHARES: the entry whose receive ring it uses";
        PD = (240, 16), "Protection domain: only keys of the same one are good for this endpoint";
        TX_QUOTA = (256, 16), "Send entries it may have between their reading and their end, 0 = any number";
    }
}

/// Word layout of the completion queue table. Writing an entry sets both
/// running indexes to 0, so the next pass writes phase 1.
pub mod cq {
    layout! {
        VALID = (0, 1), "1 = exists";
        LOG2 = (4, 4), "log2 of entries, 1..=15";
        BASE = (64, 64), "Ring address";
    }
}

/// Word layout of the memory key table. A key is `hi << 8 | index`.
pub mod mr {
    layout! {
        VALID = (0, 1), "1 = exists";
        REMOTE_WRITE = (1, 1), "Remote write allowed";
        LOCAL_WRITE = (2, 1), "Local write allowed (receives)";
        KEY_HI = (8, 24), "Upper 24 bits of the key";
        PD = (32, 16), "Protection domain: only endpoints of the same one may use or offer the key";
        BASE = (64, 64), "First address";
        LENGTH = (128, 64), "Length in bytes; base + length must not wrap";
    }
}

/// Word layout of the place table of policy `weighted`: a round of packets goes
/// through its [`path::PLACES`] places. The weight of a path is the number of
/// places that name it.
pub mod path {
    layout! {
        K = (0, 8), "Path: the entropy value less PATH_BASE";
    }
    /// Places.
    pub const PLACES: usize = 256;
}

macro_rules! counters {
    ($($name:ident = $index:literal, $text:literal;)+) => {
        /// Event counters that are not drops.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Counter { $(#[doc = $text] $name = $index,)+ }
        impl Counter {
            /// Every event counter.
            pub const ALL: &'static [Counter] = &[$(Counter::$name,)+];
            /// Its name in documents and dumps.
            pub const fn name(self) -> &'static str { match self { $(Counter::$name => stringify!($name),)+ } }
            /// What it counts.
            pub const fn doc(self) -> &'static str { match self { $(Counter::$name => $text,)+ } }
        }
    };
}

/// Counters 0..DROP_COUNTERS are the drop reasons of [`crate::status::Drop`].
pub const DROP_COUNTERS: u32 = 32;
/// Number of counters.
pub const COUNTER_COUNT: u32 = 64;

counters! {
    RxFrames = 32, "frames received";
    RxData = 33, "verified DATA packets";
    RxProbe = 34, "verified PROBE packets";
    RxFeedback = 35, "verified FEEDBACK packets";
    RxNew = 36, "DATA packets placed for the first time";
    RxOpened = 37, "messages opened";
    RxCompleted = 38, "messages received whole";
    RxAborted = 39, "messages given up by the receiver";
    TxData = 40, "DATA packets sent, first time";
    TxRetransmitted = 41, "DATA packets sent again";
    TxProbe = 42, "PROBE packets sent";
    TxFeedback = 43, "FEEDBACK packets sent";
    TxNack = 44, "FEEDBACK packets sent with NACK";
    TxOpened = 45, "messages accepted for sending";
    TxCompleted = 46, "messages sent whole";
    TxFailed = 47, "messages ended in error by the sender";
    NackExpiries = 48, "loss-detection deadlines that fired";
    BackstopExpiries = 49, "sender backstops that fired";
    WheelPops = 50, "timer entries popped";
    CqOverrun = 51, "completions lost to a full or missing completion queue";
    DmaErrors = 52, "host memory accesses that failed";
    GrantsSent = 53, "grants that advanced";
    WheelLate = 54, "timer entries popped more than one wheel tick late";
    TxRecycled = 55, "packets sent on an entropy value that came back clean";
    TxRelease = 56, "RELEASE packets sent";
    RoundsDone = 57, "rounds whose last message arrived";
    RoundPulls = 58, "times that the messages left of a round halved";
    RxUd = 59, "verified plain UD packets";
    TxUd = 60, "plain UD packets sent";
    TagsFull = 62, "tagged receives refused for want of room or quota";
    RxRelease = 63, "verified RELEASE packets";
}

/// PATH_POLICY: those whose packets arrived.
pub const PATH_RECYCLE: u32 = 3;
/// PATH_POLICY: by the places of [`table::PATH`].
pub const PATH_WEIGHTED: u32 = 4;

/// First of the counters of entropy values: [`PATH_BANK`] bytes each of packets
/// sent, echoes that came back clean, and echoes with congestion-experienced; 32
/// bits per value, wrapping, 0 after reset.
pub const PATH_COUNTERS: u32 = 0x8000;
/// Bytes of one kind of counter for all 256 entropy values.
pub const PATH_BANK: u32 = 0x400;

/// What is counted per entropy value, in the order of its banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PathCounter {
    /// Packets of any kind that took it.
    Sent,
    /// Echoes of it that came back clean.
    Clean,
    /// Echoes of it with congestion-experienced.
    Ce,
}

/// Byte address of a counter of an entropy value.
pub const fn path_counter(counter: PathCounter, ev: u8) -> u32 {
    PATH_COUNTERS + PATH_BANK * counter as u32 + 4 * ev as u32
}

/// Byte address of counter `index`.
pub const fn counter(index: u32) -> u32 {
    COUNTERS + 4 * index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_is_sorted_aligned_and_apart() {
        for pair in MAP.windows(2) {
            assert!(pair[0].offset < pair[1].offset, "{} before {}", pair[0].name, pair[1].name);
        }
        for reg in MAP {
            assert_eq!(reg.offset % 4, 0, "{}", reg.name);
            assert!(reg.offset < TABLE_DATA, "{} lies in the table window", reg.name);
            assert!(reg.reset >> (reg.width - 1) <= 1, "{} resets to more than its bits", reg.name);
        }
        assert!(TABLE_DATA + 4 * TABLE_WORDS as u32 <= COUNTERS);
        assert!(counter(COUNTER_COUNT) <= 0x1000);
    }

    #[test]
    fn table_fields_are_apart_and_inside() {
        for fields in [endpoint::FIELDS, cq::FIELDS, mr::FIELDS, path::FIELDS] {
            for pair in fields.windows(2) {
                assert!(
                    pair[0].lsb + pair[0].width <= pair[1].lsb,
                    "{} before {}",
                    pair[0].name,
                    pair[1].name
                );
            }
            let last = fields[fields.len() - 1];
            assert!(last.lsb + last.width <= 32 * TABLE_WORDS_USED);
        }
        const { assert!(TABLE_WORDS_USED <= TABLE_WORDS) };
    }

    #[test]
    fn counters_do_not_meet_the_drops() {
        for counter in Counter::ALL {
            assert!((*counter as u32) >= DROP_COUNTERS && (*counter as u32) < COUNTER_COUNT);
        }
        assert!(crate::status::Drop::ALL.len() as u32 <= DROP_COUNTERS);
    }

    #[test]
    fn time_wait_covers_the_sender() {
        const { assert!(TIME_WAIT.reset >= T_OPEN.reset + MPL.reset) };
        let silence: u32 = (MAX_RETRY.reset + 1) * (RTO.reset << 5);
        assert!(RX_GIVE_UP.reset > silence + MPL.reset);
        const { assert!(RX_GIVE_UP.reset + TIME_WAIT.reset <= crate::wire::MAX_REMEMBERED) };
        const { assert!(MPL.reset <= TIME_WAIT.reset) };
    }
}
