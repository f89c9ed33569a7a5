//! Whose packets go first: DSCPs by length of message, turns by what is left.

use tessera_abi::regs::{self, sizes2};

use crate::context::Context;
use crate::device::DeviceError;
use crate::error::LeftOut;

/// DSCPs (0..64, RFC 2474) of the frames that a NIC sends; which queue each has is the
/// network's business. Those of datagrams are in their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscps {
    /// Of FEEDBACK and RELEASE.
    pub control: u8,
    /// Of DATA and PROBEs, by class of message.
    pub messages: [u8; 4],
    /// Lengths, log2 of bytes (0..32): a message's class is how many of them it is
    /// longer than. 31: hardly any message is longer than 2 GiB.
    pub longer_than: [u8; 3],
}

impl Dscps {
    /// One for everything.
    pub const fn all(dscp: u8) -> Self {
        Self { control: dscp, messages: [dscp; 4], longer_than: [31; 3] }
    }

    /// Class selectors: CS6 for control, CS5 for messages up to 4 KiB, CS4 up to 64 KiB,
    /// CS3 up to 1 MiB, CS2 for the longest.
    pub const SHORT_FIRST: Self = Self { control: 48, messages: [40, 32, 24, 16], longer_than: [12, 16, 20] };
}

/// Why DSCPs could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DscpError {
    /// It has six bits.
    #[error("DSCP {0} is out of range: 0 to 63")]
    Dscp(u8),
    /// It has five bits.
    #[error("a class ends at 2^{0} bytes: the logarithm must be 0 to 31")]
    Length(u8),
    /// The NIC knows no classes.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// What DSCP and CLASS_SIZES have to hold.
fn words(dscps: &Dscps) -> Result<(u32, u32), DscpError> {
    let Dscps { control, messages, longer_than } = *dscps;
    let [a, b, c, d] = messages;
    let mut word = 0;
    for dscp in [d, c, b, a, control] {
        if dscp > 0x3F {
            return Err(DscpError::Dscp(dscp));
        }
        word = word << 6 | u32::from(dscp);
    }
    let mut lengths = 0;
    for log2 in longer_than.into_iter().rev() {
        if log2 > 31 {
            return Err(DscpError::Length(log2));
        }
        lengths = lengths << 5 | u32::from(log2);
    }
    Ok((word, lengths))
}

impl Context {
    /// The DSCPs of what is sent from now on; all 0 after reset. A message of which some
    /// packets have gone changes too.
    pub fn set_dscps(&self, dscps: &Dscps) -> Result<(), DscpError> {
        let (word, lengths) = words(dscps)?;
        if dscps.messages.iter().any(|dscp| *dscp != dscps.messages[0]) {
            self.shared.has(sizes2::NO_CLASSES)?;
        }
        self.write(regs::CLASS_SIZES, lengths)?;
        Ok(self.write(regs::DSCP, word)?)
    }

    /// Whether messages with little left go before others: packets of those that this NIC
    /// sends, grants to those that it receives. Off after reset: each in its turn. Who waits
    /// already keeps his place.
    pub fn set_short_first(&self, sends: bool, grants: bool) -> Result<(), DscpError> {
        if sends || grants {
            self.shared.has(sizes2::NO_CLASSES)?;
        }
        let policy =
            if sends { regs::TURNS_BY_LEFT } else { 0 } | if grants { regs::GRANTS_BY_LEFT } else { 0 };
        Ok(self.write(regs::TURN_POLICY, policy)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(words(&Dscps::all(0)), Ok((0, 0x7FFF)));
        let (dscps, lengths) = words(&Dscps::SHORT_FIRST).unwrap();
        let class = |place: u32| dscps >> (6 * place) & 0x3F;
        assert_eq!([0, 1, 2, 3, 4].map(class), [48, 40, 32, 24, 16]);
        assert_eq!([0, 5, 10].map(|at| lengths >> at & 0x1F), [12, 16, 20]);
        assert_eq!(words(&Dscps::all(64)), Err(DscpError::Dscp(64)));
        let long = Dscps { longer_than: [12, 32, 20], ..Dscps::all(0) };
        assert_eq!(words(&long), Err(DscpError::Length(32)));
    }
}
