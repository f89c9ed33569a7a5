//! What the host configures: register values, addresses, endpoints, keys.

use tessera_abi::params::Config;
use tessera_abi::{regs, wire};

/// How the next path is chosen (spec §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathPolicy {
    /// Always the first path.
    Single,
    /// One after the other.
    RoundRobin,
    /// By LFSR.
    Random,
    /// One whose packets arrived, per destination.
    Recycle,
    /// One after the other of 256 places.
    Weighted,
}

/// The registers a run depends on, with the defaults of [`regs`]. Intervals
/// are ticks unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Seed of hashes, generations and the path scheduler; not 0.
    pub seed: u32,
    /// Policy of the path scheduler.
    pub path_policy: PathPolicy,
    /// Number of paths, 1..=256.
    pub path_count: u32,
    /// First entropy value.
    pub path_base: u8,
    /// Packet gap before the first sample, 1/16 tick.
    pub gap0: u32,
    /// Path skew before the first sample.
    pub skew0: u32,
    /// Cap of the measured skew.
    pub skew_max: u32,
    /// Added to every tail deadline.
    pub guard: u32,
    /// Shortest loss-detection interval.
    pub d_min: u32,
    /// Round-trip time while unknown.
    pub rtt_default: u32,
    /// Time from a NACK to its retransmission before the first sample.
    pub answer0: u32,
    /// 0 a fixed interval, 1 the moving one, 2 that with rounds.
    pub ld_policy: u32,
    /// The fixed interval.
    pub ld_fixed: u32,
    /// Sender's first backstop of a message of a round.
    pub rto_round: u32,
    /// Sender's backstop after the first.
    pub rto: u32,
    /// PROBEs in a row without feedback.
    pub max_retry: u32,
    /// First packet until first non-BUSY feedback.
    pub t_open: u32,
    /// Longest time without progress though feedback comes.
    pub grant_wait: u32,
    /// Receiver hears nothing of an unfinished message.
    pub rx_give_up: u32,
    /// Life of a tombstone.
    pub time_wait: u32,
    /// Longest life of a packet.
    pub mpl: u32,
    /// COMPLETE asks for a RELEASE while fewer places than the size `>>` this are
    /// free; 0 = never.
    pub release_low: u32,
    /// First wait after BUSY.
    pub busy_wait: u32,
    /// Most NACKs per expiry.
    pub nack_burst: u32,
    /// Distinct packets between unasked feedbacks.
    pub ack_every: u32,
    /// Packets sent unasked when a request names none, 1..=255.
    pub initial_window: u32,
    /// Unasked bytes in flight.
    pub unsolicited_limit: u32,
    /// Granted bytes not yet arrived.
    pub credit_limit: u32,
    /// A context that is owed more waits for no grant.
    pub credit_each: u32,
    /// What moves the credit: bit 0 CE, bit 1 delay, bit 2 lending.
    pub credit_policy: u32,
    /// Skew sample that counts as congestion.
    pub credit_delay: u32,
    /// Most packets per grant, 1..=255.
    pub grant_quantum: u32,
    /// What goes by how much is left of a message: bit 0 the sender's turns, bit 1
    /// the receiver's grants.
    pub turn_policy: u32,
    /// DSCPs: of what is no DATA, of DATA by class.
    pub dscp: u32,
    /// Lengths at which classes of messages begin.
    pub class_sizes: u32,
}

/// A register value no NIC accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The register must not be zero.
    #[error("{0} is 0; write a value above 0")]
    Zero(&'static str),
    /// The register is out of range.
    #[error("{name} is {value}; it must be at most {max}")]
    TooLarge {
        /// Register.
        name: &'static str,
        /// Value written.
        value: u32,
        /// Largest legal value.
        max: u32,
    },
    /// Messages are remembered for longer than their generations tell them apart.
    #[error("RX_GIVE_UP is {rx_give_up}, the longer of TIME_WAIT and MPL {after}; together they must be at most {}", wire::MAX_REMEMBERED)]
    Remembered {
        /// Until a receiver lets go of a message that nothing is heard of.
        rx_give_up: u32,
        /// How long it may remember it then.
        after: u32,
    },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: regs::SEED.reset,
            path_policy: PathPolicy::Recycle,
            path_count: regs::PATH_COUNT.reset,
            path_base: regs::PATH_BASE.reset as u8,
            gap0: regs::GAP0.reset,
            skew0: regs::SKEW0.reset,
            skew_max: regs::SKEW_MAX.reset,
            guard: regs::GUARD.reset,
            d_min: regs::D_MIN.reset,
            rtt_default: regs::RTT_DEFAULT.reset,
            answer0: regs::ANSWER0.reset,
            ld_policy: regs::LD_POLICY.reset,
            ld_fixed: regs::LD_FIXED.reset,
            rto_round: regs::RTO_ROUND.reset,
            rto: regs::RTO.reset,
            max_retry: regs::MAX_RETRY.reset,
            t_open: regs::T_OPEN.reset,
            grant_wait: regs::GRANT_WAIT.reset,
            rx_give_up: regs::RX_GIVE_UP.reset,
            time_wait: regs::TIME_WAIT.reset,
            mpl: regs::MPL.reset,
            release_low: regs::RELEASE_LOW.reset,
            busy_wait: regs::BUSY_WAIT.reset,
            nack_burst: regs::NACK_BURST.reset,
            ack_every: regs::ACK_EVERY.reset,
            initial_window: regs::INITIAL_WINDOW.reset,
            unsolicited_limit: regs::UNSOLICITED_LIMIT.reset,
            credit_limit: regs::CREDIT_LIMIT.reset,
            credit_each: regs::CREDIT_EACH.reset,
            credit_policy: regs::CREDIT_POLICY.reset,
            credit_delay: regs::CREDIT_DELAY.reset,
            grant_quantum: regs::GRANT_QUANTUM.reset,
            turn_policy: regs::TURN_POLICY.reset,
            dscp: regs::DSCP.reset,
            class_sizes: regs::CLASS_SIZES.reset,
        }
    }
}

impl Settings {
    /// TOS byte or traffic class of DATA and PROBEs of a message of so many bytes; of
    /// all else with none.
    //= TX-16
    pub fn tos(&self, length: Option<u32>) -> u8 {
        let place = length.map_or(0, |length| {
            let limits = [0, 5, 10].map(|at| 1u64 << (self.class_sizes >> at & 0x1F));
            1 + limits.iter().filter(|&&limit| length as u64 > limit).count()
        });
        ((self.dscp >> (6 * place) & 0x3F) as u8) << 2 | wire::TOS
    }

    /// What a NIC of `sizes` makes of them: without rings policy `recycle` is `round_robin`.
    pub fn as_taken_by(mut self, sizes: &Config) -> Self {
        if !sizes.recycle && self.path_policy == PathPolicy::Recycle {
            self.path_policy = PathPolicy::RoundRobin;
        }
        self
    }

    /// Refuses values that would stall the block.
    pub fn check(&self) -> Result<(), SettingsError> {
        let nonzero = [
            ("SEED", self.seed),
            ("PATH_COUNT", self.path_count),
            ("RTT_DEFAULT", self.rtt_default),
            ("GUARD", self.guard),
            ("RTO", self.rto),
            ("RTO_ROUND", self.rto_round),
            ("NACK_BURST", self.nack_burst),
            ("ACK_EVERY", self.ack_every),
            ("INITIAL_WINDOW", self.initial_window),
            ("GRANT_QUANTUM", self.grant_quantum),
        ];
        for (name, value) in nonzero {
            if value == 0 {
                return Err(SettingsError::Zero(name));
            }
        }
        let bounded = [
            ("PATH_COUNT", self.path_count, 256),
            ("LD_POLICY", self.ld_policy, 2),
            ("INITIAL_WINDOW", self.initial_window, 255),
            ("GRANT_QUANTUM", self.grant_quantum, 255),
            ("CREDIT_EACH", self.credit_each, regs::CREDIT_EACH.reset),
            ("TURN_POLICY", self.turn_policy, 3),
            ("DSCP", self.dscp, (1 << 30) - 1),
            ("CLASS_SIZES", self.class_sizes, (1 << 15) - 1),
        ];
        for (name, value, max) in bounded {
            if value > max {
                return Err(SettingsError::TooLarge { name, value, max });
            }
        }
        //= RO-3
        let after = self.time_wait.max(self.mpl);
        if self.rx_give_up.saturating_add(after) > wire::MAX_REMEMBERED {
            return Err(SettingsError::Remembered { rx_give_up: self.rx_give_up, after });
        }
        Ok(())
    }
}

/// Addresses of one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
    /// IPv6 address; zeros = none.
    pub ip6: [u8; 16],
    /// Whose tagged frames are accepted, as [`regs::VLAN`] says it.
    pub vlan: u16,
    /// Partition key.
    pub pkey: u16,
}

impl Identity {
    /// The address by which others of a GID's family know this NIC.
    pub fn gid_towards(&self, gid: &[u8; 16]) -> [u8; 16] {
        match wire::gid_ipv4(gid) {
            Some(_) => wire::ipv4_gid(self.ip),
            None => self.ip6,
        }
    }

    /// Whether frames with this tag control information are accepted.
    //= RX-9
    pub fn accepts_vlan(&self, tci: u16) -> bool {
        const ANY: u16 = 1 << 12;
        let id = tci & wire::VLAN_ID;
        id == 0 || self.vlan & ANY != 0 || id == self.vlan & wire::VLAN_ID
    }
}

/// An endpoint table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// All 24 bits; the lower 8 are the table index.
    pub number: u32,
    /// Q_Key of every packet to it.
    pub qkey: u32,
    /// Table index whose receive ring it uses, if not its own.
    pub shared_ring: Option<u16>,
    /// Receive contexts it may hold, 0 = as many as there are.
    pub rx_quota: u16,
    /// Requests it may have under way, 0 = any number.
    pub tx_quota: u16,
    /// Protection domain.
    pub pd: u16,
    /// A plain UD endpoint (else reliable messages).
    pub datagram: bool,
    /// Messages are matched with tagged receives first.
    pub tags: bool,
}

impl Endpoint {
    /// An endpoint with a ring of its own and no quota, in protection domain 1.
    pub fn new(number: u32, qkey: u32) -> Self {
        Self {
            number,
            qkey,
            shared_ring: None,
            rx_quota: 0,
            tx_quota: 0,
            pd: 1,
            datagram: false,
            tags: false,
        }
    }

    /// What a NIC of `sizes` makes of it: without datagrams it is of messages.
    pub fn as_taken_by(mut self, sizes: &Config) -> Self {
        self.datagram &= sizes.datagrams;
        self
    }

    /// Table index of the ring its receives come from.
    pub fn ring(&self) -> u16 {
        self.shared_ring.unwrap_or(self.index())
    }

    /// Table index.
    pub fn index(&self) -> u16 {
        (self.number & 0xFF) as u16
    }
}

/// A memory key table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryKey {
    /// Whole key: upper 24 bits and table index.
    pub key: u32,
    /// First address.
    pub base: u64,
    /// Length, bytes.
    pub length: u64,
    /// Protection domain.
    pub pd: u16,
    /// Receives may write here.
    pub local_write: bool,
    /// Writes of peers may write here.
    pub remote_write: bool,
}

/// What a buffer is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The NIC reads: every key permits that.
    Any,
    /// The NIC writes what was received.
    LocalWrite,
    /// A peer writes.
    RemoteWrite,
}

impl MemoryKey {
    /// Whether it gives a right.
    pub fn has(&self, right: Right) -> bool {
        match right {
            Right::Any => true,
            Right::LocalWrite => self.local_write,
            Right::RemoteWrite => self.remote_write,
        }
    }

    /// Whether `address .. address + length` lies inside.
    pub fn covers(&self, address: u64, length: u32) -> bool {
        let end = address as u128 + length as u128;
        address >= self.base && end <= self.base as u128 + self.length as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= TX-16 test
    #[test]
    fn dscps_go_by_length() {
        let whole = Settings::default();
        assert_eq!([None, Some(0), Some(u32::MAX)].map(|length| whole.tos(length)), [0x02; 3]);
        let dscp = 46 | 34 << 6 | 18 << 12 | 10 << 18 | 1 << 24;
        let settings = Settings { dscp, class_sizes: 12 | 16 << 5 | 20 << 10, ..whole };
        let of = |length| settings.tos(Some(length)) >> 2;
        assert_eq!(settings.tos(None), 46 << 2 | 0x02);
        assert_eq!([0, 4096, 4097, 1 << 16, (1 << 16) + 1].map(of), [34, 34, 18, 18, 10]);
        assert_eq!([1 << 20, (1 << 20) + 1, u32::MAX].map(of), [10, 1, 1]);
        // In any order; and what is above two to the power of 31 is above them all.
        let settings = Settings { class_sizes: 31 | 8 << 5 | 31 << 10, ..settings };
        assert_eq!(
            [256, 257, 1 << 31, u32::MAX].map(|length| settings.tos(Some(length)) >> 2),
            [34, 18, 18, 1]
        );
    }

    //= RO-3 test
    #[test]
    fn messages_are_not_remembered_for_longer_than_their_generations_differ() {
        let most = wire::MAX_REMEMBERED;
        let legal = Settings::default();
        assert_eq!(legal.check(), Ok(()));
        let longest = Settings { rx_give_up: most - legal.time_wait, ..legal };
        assert_eq!(longest.check(), Ok(()));
        for settings in [
            Settings { rx_give_up: longest.rx_give_up + 1, ..legal },
            Settings { time_wait: legal.time_wait + 1, ..longest },
            Settings { mpl: legal.time_wait + 1, ..longest },
            Settings { rx_give_up: u32::MAX, ..legal },
        ] {
            let told = settings.check();
            assert!(matches!(told, Err(SettingsError::Remembered { .. })), "{told:?}");
        }
    }
}
