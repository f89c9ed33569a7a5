//! What counterparts are told of the network, and what follows from it.

use super::qp_cache::Size;
use super::spread::Balance;
use super::{Wire, MOST, PAYLOAD};
use crate::congestion::{swift, Control, Dcqcn, Fixed};
use crate::Ps;

/// Round trip of the fabric that IRN's timeouts were chosen for, and those
/// timeouts, microseconds: 40 Gb/s, longest path 24 us (section 4.1 of the
/// paper).
const IRN_TIMES_US: [Ps; 3] = [24, 100, 320];

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlKind {
    /// A window alone.
    Window,
    /// DCQCN within the window.
    Dcqcn,
}

/// What a counterpart is told. Its page says what it makes of it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Rate of a host's link.
    pub gbps: u32,
    /// Round trip of the longest path, without queues.
    pub round_trip: Ps,
    /// While few are in flight, and else.
    pub timeouts: [Ps; 2],
    /// Congestion control.
    pub control: ControlKind,
    /// Choice of paths.
    pub balance: Balance,
    /// Contexts that the NIC holds; none: all of them.
    pub cache: Option<Size>,
    /// Of paths.
    pub seed: u64,
}

/// Why there is no such counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The window's bitmap has a size.
    #[error("a window of {0} packets for this rate and round trip; at most {MOST} can be kept track of")]
    Window(u64),
    /// No rate or no round trip.
    #[error("rate and round trip must be above 0")]
    Zero,
}

impl Options {
    /// For a network of such a rate and round trip: one path per connection, no
    /// congestion control beyond the window, every context in the NIC, IRN's timeouts
    /// scaled with the round trip but never below the paper's own, for queues here are
    /// as long as there.
    pub fn for_network(gbps: u32, round_trip: Ps) -> Self {
        let [paper, low, high] = IRN_TIMES_US;
        let timeouts = [low, high].map(|us| (us * 1_000_000).max(round_trip * us / paper));
        Self {
            gbps,
            round_trip,
            timeouts,
            control: ControlKind::Window,
            balance: Balance::Ecmp,
            cache: None,
            seed: 1,
        }
    }

    /// Packets of one and a half bandwidth-delay products, and `more`.
    pub fn window(&self, more: u32) -> Result<u32, OptionsError> {
        if self.gbps == 0 || self.round_trip == 0 {
            return Err(OptionsError::Zero);
        }
        let packet = Wire { placed: true, answer: 4 }.data(0, PAYLOAD) as u64;
        let bytes = self.round_trip * self.gbps as u64 / 8000;
        let window = (bytes * 3 / 2).div_ceil(packet) + 4 + more as u64;
        if window > MOST as u64 {
            return Err(OptionsError::Window(window));
        }
        Ok(window as u32)
    }

    /// Numbers of Swift on this network, whose round trip is so much longer by what
    /// hosts add.
    pub fn swift(&self, more: Ps) -> Result<swift::Parameters, OptionsError> {
        if self.gbps == 0 || self.round_trip == 0 {
            return Err(OptionsError::Zero);
        }
        let packet = Wire { placed: true, answer: 4 }.data(0, PAYLOAD) as f64;
        let round_trip = self.round_trip + more;
        let product = round_trip as f64 * self.gbps as f64 / 8000.0 / packet;
        Ok(swift::Parameters::for_network(round_trip, product.max(1.0)))
    }

    /// The congestion control, within a window.
    pub fn control(&self, window: u32) -> Control {
        match self.control {
            ControlKind::Window => Control::Fixed(Fixed::new(window)),
            ControlKind::Dcqcn => Control::Dcqcn(Dcqcn::new(self.gbps, window)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_the_network_and_end_at_what_a_bitmap_holds() {
        let options = Options::for_network(400, 9_000_000);
        assert_eq!(options.window(0), Ok(165));
        assert_eq!(options.timeouts, [100_000_000, 320_000_000]);
        let long = Options::for_network(400, 48_000_000);
        assert_eq!(long.window(0), Err(OptionsError::Window(863)));
        assert_eq!(long.timeouts, [200_000_000, 640_000_000]);
        assert_eq!(Options::for_network(0, 1).window(0), Err(OptionsError::Zero));
    }
}
