//! Frames under way: where they go, what they say in words, and forged versions of them.

use std::fmt::{self, Display};

use tessera_abi::params::MAX_FRAME;
use tessera_abi::wire::{self, fb, flag, MessageId, Packet, Trh};

/// A frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// All of it but the FCS.
    pub bytes: Vec<u8>,
    /// The node it is for.
    pub to: usize,
}

/// Writes a frame anew, its ICRC right.
fn emit(packet: &Packet<'_>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; MAX_FRAME];
    let length = wire::emit(&packet.route, &packet.trh, packet.payload, &mut bytes)?;
    bytes.truncate(length);
    Some(bytes)
}

/// The same frame with another reliability header.
pub fn with_trh(bytes: &[u8], change: impl FnOnce(&mut Trh)) -> Option<Vec<u8>> {
    let mut packet = wire::parse(bytes).ok()?;
    change(&mut packet.trh);
    emit(&packet)
}

/// Versions of a frame that nobody sent, each of which must be refused whatever
/// state its receiver is in.
pub fn forged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let Ok(packet) = wire::parse(bytes) else { return Vec::new() };
    let mut all = Vec::new();
    let mut broken = bytes.to_vec();
    if let Some(last) = broken.last_mut() {
        *last ^= 1;
    }
    all.push(broken);
    all.push(bytes[..bytes.len() - 1].to_vec());
    let mut push = |change: &dyn Fn(&mut Packet<'_>)| {
        let mut forged = packet;
        change(&mut forged);
        all.extend(emit(&forged));
    };
    push(&|packet| packet.route.qkey ^= 1);
    push(&|packet| packet.route.dst_endpoint ^= 1 << 23);
    push(&|packet| packet.route.pkey = 0x1234);
    match packet.trh {
        Trh::Data(_) => push(&|packet| {
            if let Trh::Data(header) = &mut packet.trh {
                (header.probe, header.index) = (false, header.index + 1000);
            }
        }),
        Trh::Feedback(_) => {
            // From somebody else, and of a message that is yet to come.
            push(&|packet| packet.route.src_endpoint ^= 1 << 23);
            push(&|packet| {
                if let Trh::Feedback(header) = &mut packet.trh {
                    let message = header.message;
                    header.message = MessageId::new(message.slot(), message.generation() + 1000);
                }
            });
            // An end with a status that is no receiver's to give.
            push(&|packet| {
                if let Trh::Feedback(header) = &mut packet.trh {
                    (header.flags, header.status) = (fb::ABORT, 0);
                }
            });
        }
        Trh::Release(_) => {}
    }
    all
}

/// The letter of a node.
pub fn letter(node: usize) -> char {
    (b'A' + node as u8) as char
}

/// The node of an address: they have the addresses 10.0.0.1 and so on.
pub fn node_of(gid: [u8; 16]) -> usize {
    wire::gid_ipv4(&gid).map_or(0, |ip| usize::from(ip[3]).saturating_sub(1))
}

impl Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(packet) = wire::parse(&self.bytes) else { return write!(f, "a broken frame") };
        let (from, to) = (node_of(packet.route.src_gid), node_of(packet.route.dst_gid));
        // Message 3 of slot 0 of node A is A0.3.
        let name = |sender: usize, message: MessageId| {
            format!("{}{}.{}", letter(sender), message.slot(), message.generation())
        };
        match packet.trh {
            Trh::Data(header) => {
                let kind = if header.probe { "PROBE" } else { "DATA" };
                write!(f, "{kind} {} #{}", name(from, header.message), header.index)?;
                let flags = [(flag::AR, "AR"), (flag::RETX, "RETX"), (flag::EST, "EST")];
                let mut set = flags.iter().filter(|(bit, _)| header.flags & bit != 0);
                set.try_for_each(|(_, name)| write!(f, " {name}"))
            }
            Trh::Feedback(header) => {
                let flags = [
                    (fb::COMPLETE, "COMPLETE"),
                    (fb::NACK, "NACK"),
                    (fb::GRANT, "GRANT"),
                    (fb::BUSY, "BUSY"),
                    (fb::ABORT, "ABORT"),
                    (fb::RELEASE_REQ, "RELEASE_REQ"),
                ];
                let set = flags.iter().filter(|(bit, _)| header.flags & bit != 0);
                let named: Vec<&str> = set.map(|&(_, name)| name).collect();
                let kind = if named.is_empty() { "FEEDBACK".into() } else { named.join("|") };
                write!(f, "{kind} {} <{}", name(to, header.message), header.cumulative)
            }
            Trh::Release(header) => write!(f, "RELEASE {}", name(from, header.message)),
        }
    }
}
