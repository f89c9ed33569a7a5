//! Completion statuses and drop reasons.

/// Defines a `repr(u8)` enum with its names and a checked conversion.
macro_rules! coded_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $code,)+ }

        impl $name {
            /// Every value, in code order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name that reports and registers use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value of a code read from hardware, or the code itself.
            pub const fn from_code(code: u8) -> Result<Self, u8> {
                match code { $($code => Ok(Self::$variant),)+ other => Err(other) }
            }
        }
    };
}

coded_enum! {
    /// How a work request ended. Also the status byte of COMPLETE and ABORT
    /// feedback (codes below 16 travel on the wire).
    Status {
        /// Delivered, every byte in place.
        Success = 0, "success";
        /// The posted receive is shorter than the message.
        Length = 1, "length";
        /// The receiver holds neither context nor tombstone for this message.
        NoContext = 2, "no_context";
        /// The receiver heard nothing for `rx_give_up` and let go.
        GaveUp = 3, "gave_up";
        /// The receiver replaced the message by a newer generation of its slot.
        Replaced = 4, "replaced";
        /// A host memory access failed at the receiver.
        RemoteDma = 5, "remote_dma";
        /// A write's key, bounds or rights were refused.
        RemoteAccess = 6, "remote_access";
        /// Software completed a host-recovered message partially.
        Partial = 7, "partial";
        /// The sender said that it will never send this message again.
        Released = 8, "released";
        /// The receiver's endpoint was destroyed.
        Destroyed = 9, "destroyed";
        /// `T_open` passed without any non-BUSY feedback, and none was BUSY.
        Unheard = 16, "unheard";
        /// `T_open` passed and the receiver only ever said BUSY.
        ReceiverNotReady = 17, "receiver_not_ready";
        /// `max_retry` probes in a row drew no feedback.
        RetryExceeded = 18, "retry_exceeded";
        /// No progress for `grant_wait`, though the receiver answers.
        GrantTimeout = 19, "grant_timeout";
        /// Local key, bounds or rights refused.
        LocalProtection = 20, "local_protection";
        /// A host memory access failed at this NIC.
        LocalDma = 21, "local_dma";
        /// The work request makes no sense (opcode, payload size, length).
        BadRequest = 22, "bad_request";
        /// The endpoint was destroyed or the NIC disabled.
        Flushed = 23, "flushed";
        /// The NIC has no room for another tagged receive, or the endpoint's quota
        /// of them is used up.
        NoTagSpace = 27, "no_tag_space";
        /// The tagged receive to cancel is not there: it has matched, or never was.
        NotPosted = 28, "not_posted";
    }
}

impl Status {
    /// Codes from this one on are told to the host only.
    pub const FIRST_LOCAL: u8 = 16;
}

coded_enum! {
    /// Why an arriving packet was dropped, in code order. Of a packet that is
    /// wrong twice one reason counts: which one say RX-1, RX-7 and RO-6. The code
    /// is the index of the reason's counter.
    Drop {
        /// No room in the receive buffer: dropped here, not by the network.
        Overflow = 0, "overflow";
        /// Shorter than its headers, longer than the largest frame, or marked bad by the MAC.
        Frame = 1, "frame";
        /// Not IPv4 or IPv6, UDP to port 4791, at this NIC's MAC and address, on a VLAN it accepts.
        NotOurs = 2, "not_ours";
        /// IPv4 options, fragments, IPv6 extension headers, or a source that is no host's.
        IpHeader = 3, "ip_header";
        /// IP or UDP length disagrees with the frame.
        Length = 4, "length";
        /// The invariant CRC is wrong.
        Icrc = 5, "icrc";
        /// A congestion notification packet (counted apart).
        Cnp = 6, "cnp";
        /// BTH opcode, version or pad count not ours.
        Bth = 7, "bth";
        /// Partition key mismatch.
        PKey = 8, "p_key";
        /// No such endpoint, or no endpoint of this kind takes the opcode.
        Endpoint = 9, "endpoint";
        /// Q_Key mismatch.
        QKey = 10, "q_key";
        /// TRH version or type unknown, or the TRH does not fit.
        Trh = 11, "trh";
        /// A flag whose feature this configuration does not have: of none now.
        Unsupported = 12, "unsupported";
        /// DATA or PROBE fields that contradict each other.
        Fields = 13, "fields";
        /// Older generation than the one held.
        Stale = 14, "stale";
        /// Differs from its message in a field that never changes.
        Mismatch = 15, "mismatch";
        /// Already arrived.
        Duplicate = 16, "duplicate";
        /// At or above the grant: the sender was never asked.
        NotGranted = 17, "not_granted";
        /// FEEDBACK for a slot or generation that is not live.
        FeedbackStale = 18, "feedback_stale";
        /// FEEDBACK from another address, endpoint or Q_Key than the message's.
        FeedbackForged = 19, "feedback_forged";
        /// FEEDBACK whose numbers are impossible.
        FeedbackNonsense = 20, "feedback_nonsense";
        /// NACK dropped because the retransmit queue is full.
        NackOverflow = 21, "nack_overflow";
        /// First packet refused with BUSY: no receive posted.
        BusyReceive = 22, "busy_receive";
        /// First packet refused with BUSY: no context, block or tombstone free.
        BusyResources = 23, "busy_resources";
        /// First packet refused with BUSY: both hash buckets full.
        BusyConflict = 24, "busy_conflict";
        /// Established message without a context: answered ABORT.
        NoContext = 25, "no_context";
        /// Repeats a finished message: answered with its status.
        Finished = 26, "finished";
        /// The NIC is not enabled.
        Disabled = 27, "disabled";
        /// Plain UD: no receive posted, or one too short. Nobody is told.
        UdReceive = 28, "ud_receive";
        /// A write whose key, rights, bounds or protection domain are refused:
        /// its message is aborted.
        RemoteAccess = 29, "remote_access";
        /// First packet refused with BUSY: the endpoint holds as many contexts as
        /// its quota allows.
        BusyQuota = 30, "busy_quota";
    }
}
