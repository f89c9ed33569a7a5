//! Between two ends of an Ethernet of datagram sockets: looks at every frame, and puts wrong
//! ones before the right ones.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tessera_abi::wire::{self, Form};

use crate::output::Failure;

/// What is wrong with a frame, and nothing else is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A bit of the ICRC.
    Icrc,
    /// A bit of what the ICRC covers.
    Damaged,
    /// The Q_Key.
    QKey,
    /// The queue pair that it is for.
    Endpoint,
    /// The partition.
    PKey,
}

impl Wrong {
    pub const ALL: [Self; 5] = [Self::Icrc, Self::Damaged, Self::QKey, Self::Endpoint, Self::PKey];

    /// A frame made wrong. Those whose ICRC is right again also say something else than
    /// the right frame, if it says anything.
    fn of(self, frame: &[u8], form: Form) -> Vec<u8> {
        let mut frame = frame.to_vec();
        let (bth, deth, last) = (form.bth_at(), form.deth_at(), frame.len() - 1);
        match self {
            Self::Icrc => frame[last] ^= 0x10,
            // The sender's queue pair.
            Self::Damaged => frame[deth + 7] ^= 1,
            Self::QKey => frame[deth] ^= 0x40,
            Self::Endpoint => frame[bth + 5] ^= 0x80,
            Self::PKey => frame[bth + 2] ^= 0x40,
        }
        if !matches!(self, Self::Icrc | Self::Damaged) {
            if frame.len() > form.trh_at() + wire::ICRC_LEN {
                frame[form.trh_at()] ^= 0xFF;
            }
            wire::reseal(&mut frame);
        }
        frame
    }
}

/// RoCEv2 frames of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// That somebody sent.
    pub frames: u64,
    /// Of these, those whose ICRC is not the one that `abi` computes.
    pub icrc_wrong: u64,
    /// That were put in, by what is wrong with them: as in [`Wrong::ALL`].
    pub wrong: [u64; Wrong::ALL.len()],
}

/// Both directions, while it lives: from the first end to the second, and back.
pub struct Tap {
    seen: [Arc<Mutex<Seen>>; 2],
    stopped: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// An end's own socket, and the one that it sends to.
pub struct End {
    pub own: PathBuf,
    pub ours: PathBuf,
}

impl Tap {
    /// Passes frames on between two ends, with or without wrong ones.
    pub fn between(first: &End, second: &End, spoil: bool) -> Result<Self, Failure> {
        let bind = |path: &Path| {
            let socket = UnixDatagram::bind(path)?;
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
            Ok::<_, Failure>(socket)
        };
        let sockets = [bind(&first.ours)?, bind(&second.ours)?];
        let stopped = Arc::new(AtomicBool::new(false));
        let seen: [Arc<Mutex<Seen>>; 2] = Default::default();
        let mut threads = Vec::new();
        for (from, to) in [(0, second), (1, first)] {
            let socket = sockets[from].try_clone()?;
            let (stopped, seen, to) = (stopped.clone(), seen[from].clone(), to.own.clone());
            threads.push(std::thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while !stopped.load(Ordering::Relaxed) {
                    let Ok(len) = socket.recv(&mut bytes) else { continue };
                    let frames =
                        look(&bytes[..len], spoil, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
                    for frame in frames {
                        // An end that is not there yet, or not any more, misses it.
                        let _ = socket.send_to(&frame, &to);
                    }
                }
            }));
        }
        Ok(Self { seen, stopped, threads })
    }

    /// What the first end sent, and the second.
    pub fn seen(&self) -> [Seen; 2] {
        [0, 1].map(|at| *self.seen[at].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The frames that go on for one that came.
fn look(frame: &[u8], spoil: bool, seen: &mut Seen) -> Vec<Vec<u8>> {
    let right = frame.to_vec();
    let (Some(datagram), Some(form)) = (wire::parse_datagram(frame), Form::of(frame)) else {
        return vec![right];
    };
    let which = (seen.frames % Wrong::ALL.len() as u64) as usize;
    seen.frames += 1;
    seen.icrc_wrong += u64::from(!datagram.icrc_ok);
    if !spoil {
        return vec![right];
    }
    seen.wrong[which] += 1;
    vec![Wrong::ALL[which].of(frame, form), right]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_frame_is_wrong_in_one_way() {
        let route = wire::Route {
            dst_mac: [2, 0, 0, 0, 0, 1],
            src_mac: [2, 0, 0, 0, 0, 2],
            vlan: None,
            src_gid: wire::ipv4_gid([10, 0, 0, 1]),
            dst_gid: wire::ipv4_gid([10, 0, 0, 2]),
            tos: 2,
            hop_limit: 64,
            flow_label: 0,
            sport: wire::SPORT_BASE,
            pkey: wire::DEFAULT_PKEY,
            dst_endpoint: 17,
            psn: 5,
            qkey: 7,
            src_endpoint: 19,
        };
        for payload in [&[][..], &[1, 2, 3]] {
            let mut frame = vec![0; 200];
            let len = wire::emit_datagram(&route, None, payload, &mut frame).unwrap();
            let mut seen = Seen::default();
            for (count, wrong) in Wrong::ALL.into_iter().enumerate() {
                let out = look(&frame[..len], true, &mut seen);
                assert_eq!((out.len(), &out[1][..]), (2, &frame[..len]));
                let other = wire::parse_datagram(&out[0]).unwrap();
                let r = &other.route;
                let same =
                    [r.qkey == 7, r.dst_endpoint == 17, r.pkey == wire::DEFAULT_PKEY, r.src_endpoint == 19];
                let right = match wrong {
                    Wrong::Icrc => !other.icrc_ok && same == [true; 4],
                    Wrong::Damaged => !other.icrc_ok && same == [true, true, true, false],
                    Wrong::QKey => other.icrc_ok && same == [false, true, true, true],
                    Wrong::Endpoint => other.icrc_ok && same == [true, false, true, true],
                    Wrong::PKey => other.icrc_ok && same == [true, true, false, true],
                };
                assert!(right, "{wrong:?}");
                assert!(!other.icrc_ok || payload.is_empty() || other.payload != payload);
                assert_eq!(
                    (seen.frames, seen.wrong.iter().sum::<u64>(), seen.icrc_wrong),
                    (count as u64 + 1, count as u64 + 1, 0)
                );
            }
        }
        let mut seen = Seen::default();
        assert_eq!(look(&[0; 60], true, &mut seen), [vec![0; 60]], "what is no datagram passes");
        assert_eq!(seen.frames, 0);
    }
}
