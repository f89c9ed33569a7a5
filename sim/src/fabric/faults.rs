//! What goes wrong on the way, and the dice that decide it.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use tessera_abi::wire::{self, fb, flag};

use crate::counterpart::frame as counterpart;

/// What a frame is, for faults that aim at a kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketClass {
    /// DATA, sent for the first time.
    Data,
    /// DATA, sent again.
    Retransmission,
    /// PROBE.
    Probe,
    /// FEEDBACK that asks for retransmissions.
    Nack,
    /// FEEDBACK that ends a message (COMPLETE or ABORT).
    Complete,
    /// FEEDBACK that says BUSY.
    Busy,
    /// Any other FEEDBACK.
    Feedback,
    /// RELEASE.
    Release,
    /// Not a reliable-message packet.
    Other,
}

impl PacketClass {
    /// Every class.
    pub const ALL: [Self; 9] = [
        Self::Data,
        Self::Retransmission,
        Self::Probe,
        Self::Nack,
        Self::Complete,
        Self::Busy,
        Self::Feedback,
        Self::Release,
        Self::Other,
    ];

    /// The class of a frame.
    pub fn of(frame: &[u8]) -> Self {
        if let Some(class) = counterpart::class(frame) {
            return class;
        }
        let Some(form) = wire::Form::of(frame) else { return Self::Other };
        let Some(trh) = frame.get(form.trh_at()..form.trh_at() + 2) else { return Self::Other };
        if frame[form.bth_at()] != wire::OPCODE_UD_SEND || trh[0] >> 4 != wire::TRH_VERSION {
            return Self::Other;
        }
        match trh[0] & 0xF {
            wire::TYPE_DATA if trh[1] & flag::RETX != 0 => Self::Retransmission,
            wire::TYPE_DATA => Self::Data,
            wire::TYPE_PROBE => Self::Probe,
            wire::TYPE_FEEDBACK if trh[1] & (fb::COMPLETE | fb::ABORT) != 0 => Self::Complete,
            wire::TYPE_FEEDBACK if trh[1] & fb::NACK != 0 => Self::Nack,
            wire::TYPE_FEEDBACK if trh[1] & fb::BUSY != 0 => Self::Busy,
            wire::TYPE_FEEDBACK => Self::Feedback,
            wire::TYPE_RELEASE => Self::Release,
            _ => Self::Other,
        }
    }
}

/// How frames are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// Never.
    #[default]
    None,
    /// Each frame with this probability.
    Uniform(f64),
    /// In bursts (two-state chain per path): mean probability, and mean frames
    /// per burst. All frames of a burst are lost.
    Bursty {
        /// Fraction of frames lost in the long run.
        mean: f64,
        /// Mean frames per burst, at least 1.
        burst: f64,
    },
}

/// A path that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadPath {
    /// Which.
    pub path: usize,
    /// First clock at which it loses everything.
    pub from: u64,
    /// Clock at which it works again.
    pub until: u64,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Loss of any frame.
    pub loss: Loss,
    /// Further loss of single classes: (class, probability).
    pub class_loss: Vec<(PacketClass, f64)>,
    /// Probability that a frame is duplicated.
    pub duplicate: f64,
    /// Most extra copies of a duplicated frame.
    pub max_copies: u32,
    /// Probability that one bit of a frame flips.
    pub corrupt: f64,
    /// Probability that a frame is marked congestion-experienced, beside those
    /// that waited too long (`FabricOptions::mark_above`).
    pub mark: f64,
    /// Failing paths.
    pub dead_paths: Vec<DeadPath>,
}

/// What a [`Script`] does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: the other faults decide.
    Pass,
    /// It is lost.
    Lose,
    /// It passes, and so many copies of it with it.
    Copy(u32),
    /// It arrives so many clocks later than it would.
    Delay(u64),
    /// It arrives as it would, and a copy so many clocks later.
    Echo(u64),
}

/// Decides on single frames: clock, port it left, the frame. Asked before the
/// other faults, and for every frame.
pub type Script = Box<dyn FnMut(u64, usize, &[u8]) -> Verdict + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Deliver,
    Lost,
    DeadPath,
}

/// The dice. Every question draws at most once, and none when it cannot matter,
/// so that a run without a fault does not depend on the seed.
#[derive(Debug)]
pub(super) struct FaultState {
    faults: Faults,
    rng: Pcg64Mcg,
    in_burst: Vec<bool>,
}

impl FaultState {
    pub(super) fn new(faults: &Faults, seed: u64, paths: usize) -> Self {
        Self { faults: faults.clone(), rng: Pcg64Mcg::seed_from_u64(seed), in_burst: vec![false; paths] }
    }

    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random::<f64>() < probability
    }

    pub(super) fn judge(&mut self, class: PacketClass, path: usize, now: u64) -> Fate {
        if self
            .faults
            .dead_paths
            .iter()
            .any(|dead| dead.path == path && (dead.from..dead.until).contains(&now))
        {
            return Fate::DeadPath;
        }
        let lost = match self.faults.loss {
            Loss::None => false,
            Loss::Uniform(probability) => self.chance(probability),
            Loss::Bursty { mean, burst } => {
                // Leaving probability 1/burst; entering so that the long-run share is `mean`.
                let leave = 1.0 / burst.max(1.0);
                let enter = if mean < 1.0 { leave * mean / (1.0 - mean) } else { 1.0 };
                let change = self.chance(if self.in_burst[path] { leave } else { enter });
                self.in_burst[path] ^= change;
                self.in_burst[path]
            }
        };
        let aimed = self.faults.class_loss.iter().find(|(aim, _)| *aim == class).map(|&(_, p)| p);
        if lost || aimed.is_some_and(|probability| self.chance(probability)) {
            Fate::Lost
        } else {
            Fate::Deliver
        }
    }

    pub(super) fn copies(&mut self) -> u32 {
        if self.chance(self.faults.duplicate) {
            self.rng.random_range(1..=self.faults.max_copies.max(1))
        } else {
            0
        }
    }

    pub(super) fn corrupts(&mut self) -> bool {
        self.chance(self.faults.corrupt)
    }

    pub(super) fn marks(&mut self) -> bool {
        self.chance(self.faults.mark)
    }

    pub(super) fn flip_a_bit(&mut self, frame: &mut [u8]) {
        // The Ethernet header is guarded by the FCS, which the MAC checks and
        // the fabric does not model; TOS, TTL, IP checksum, UDP checksum and
        // BTH byte 4 are outside the ICRC and change nothing when flipped.
        let from = wire::Form::of(frame).map_or(wire::ETH_LEN, wire::Form::deth_at);
        // Short frames from outside may say that they are what they are not.
        let from = if from < frame.len() { from } else { 0 };
        let at = self.rng.random_range(from..frame.len());
        frame[at] ^= 1 << self.rng.random_range(0..8);
    }
}
