//! A host as both networks hold it, and losses that are the same in both.
//!
//! A network of its own draws losses in the order of its own events, so two networks
//! lose different packets. Here it is settled as a packet leaves: the n-th of a host
//! is lost or not, whatever network it is in. It goes all the way and is thrown away
//! where it arrives.

use tessera_model::Bare;
use tessera_net::raw::{self, Raw};
use tessera_net::tessera::Tessera;
use tessera_net::topology::mix;
use tessera_net::transport::{Arrived, Departing, Done, Message, Tally, Transport};
use tessera_net::Ps;

/// What a host speaks.
pub enum Speaks {
    /// No protocol.
    Raw(Raw),
    /// The model.
    Tessera(Box<Tessera>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Raw(raw::Header),
    Tessera(Bare),
}

/// A packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    said: Said,
    lost: bool,
}

/// One host.
pub struct Host {
    number: u32,
    speaks: Speaks,
    /// A packet is lost whose draw is below: of 2^32.
    lost_below: u64,
    seed: u64,
    sent: u64,
    lost: u64,
}

impl Host {
    /// Host `number`, whose packets are lost with that chance.
    pub fn new(number: u32, speaks: Speaks, loss: f64, seed: u64) -> Self {
        let lost_below = (loss.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64;
        Self { number, speaks, lost_below, seed, sent: 0, lost: 0 }
    }

    /// Packets that arrived here and were lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn draws_loss(&mut self) -> bool {
        self.sent += 1;
        let drawn = mix(u64::from(mix(self.seed << 32 ^ u64::from(self.number))) << 32 | self.sent);
        u64::from(drawn) < self.lost_below
    }
}

impl Transport for Host {
    type Header = Header;

    fn post(&mut self, now: Ps, message: &Message) {
        match &mut self.speaks {
            Speaks::Raw(raw) => raw.post(now, message),
            Speaks::Tessera(tessera) => tessera.post(now, message),
        }
    }

    fn receive(&mut self, now: Ps, packet: &Arrived<Header>) {
        let Arrived { from, ce, trimmed, header: Header { said, lost } } = *packet;
        if lost {
            self.lost += 1;
            return;
        }
        match (&mut self.speaks, said) {
            (Speaks::Raw(raw), Said::Raw(header)) => {
                raw.receive(now, &Arrived { from, ce, trimmed, header });
            }
            (Speaks::Tessera(tessera), Said::Tessera(header)) => {
                tessera.receive(now, &Arrived { from, ce, trimmed, header });
            }
            // Hosts of one plan speak the same.
            _ => {}
        }
    }

    fn expire(&mut self, now: Ps) {
        match &mut self.speaks {
            Speaks::Raw(raw) => raw.expire(now),
            Speaks::Tessera(tessera) => tessera.expire(now),
        }
    }

    fn deadline(&self) -> Option<Ps> {
        match &self.speaks {
            Speaks::Raw(raw) => raw.deadline(),
            Speaks::Tessera(tessera) => tessera.deadline(),
        }
    }

    fn transmit(&mut self, now: Ps) -> Option<Departing<Header>> {
        fn with<A, B>(leaving: Departing<A>, header: impl FnOnce(A) -> B) -> Departing<B> {
            let Departing { to, bytes, label, class, payload, trimmable, header: said } = leaving;
            Departing { to, bytes, label, class, payload, trimmable, header: header(said) }
        }
        let leaving = match &mut self.speaks {
            Speaks::Raw(raw) => with(raw.transmit(now)?, Said::Raw),
            Speaks::Tessera(tessera) => with(tessera.transmit(now)?, Said::Tessera),
        };
        let lost = self.draws_loss();
        Some(with(leaving, |said| Header { said, lost }))
    }

    fn take_done(&mut self) -> Option<Done> {
        match &mut self.speaks {
            Speaks::Raw(raw) => raw.take_done(),
            Speaks::Tessera(tessera) => tessera.take_done(),
        }
    }

    fn tally(&self) -> Tally {
        match &self.speaks {
            Speaks::Raw(raw) => raw.tally(),
            Speaks::Tessera(tessera) => tessera.tally(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_as_many_as_asked_for_and_a_host_s_own() {
        let lost = |number, loss, seed| -> Vec<bool> {
            let mut host = Host::new(number, Speaks::Raw(Raw::new(4096, 104, 1)), loss, seed);
            (0..100_000).map(|_| host.draws_loss()).collect()
        };
        let count = |lost: &[bool]| lost.iter().filter(|&&lost| lost).count();
        assert_eq!(count(&lost(0, 0.0, 1)), 0);
        for host in 0..4 {
            let some = count(&lost(host, 0.01, 1));
            assert!((900..1100).contains(&some), "{some} of host {host}");
        }
        assert_eq!(lost(3, 0.01, 1), lost(3, 0.01, 1));
        assert_ne!(lost(3, 0.01, 1), lost(4, 0.01, 1));
        assert_ne!(lost(3, 0.01, 1), lost(3, 0.01, 2));
    }
}
