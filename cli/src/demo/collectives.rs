//! Two collectives of f32 tensors, checked bit for bit against software.

use std::collections::HashMap;

use tessera_driver::{Access, DmaMemory};
use tessera_sim::progress::Progress;

use crate::output::RunError;
use tessera_sim::session::{untag, Session};

/// Number of the all-reduce in tags.
pub const ALL_REDUCE: u8 = 2;
/// Number of the all-to-all in tags.
pub const ALL_TO_ALL: u8 = 3;

/// Round of a step of the all-reduce, and of the all-to-all.
fn round_of(phase: u8, step: usize) -> u16 {
    u16::from(phase) << 12 | step as u16
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Ring all-reduce: reduce-scatter, then all-gather, 2(n-1) steps; in each step
/// every NIC sends one chunk to its right neighbour. `tensors[nic]` is what
/// each NIC starts with; lengths are equal and a multiple of the NICs.
pub fn all_reduce(session: &mut Session, tensors: &[Vec<f32>], progress: &Progress) -> Result<(), RunError> {
    let nics = session.nics();
    let chunk = tensors[0].len() / nics;
    let chunk_bytes = chunk * 4;
    let steps = 2 * (nics - 1);
    let mut values: Vec<Vec<f32>> = tensors.to_vec();
    let mut sources = Vec::new();
    let mut sinks = Vec::new();
    for nic in 0..nics {
        sources.push(session.register(nic, &DmaMemory::new(steps * chunk_bytes), Access::READ)?);
        sinks.push(session.register(nic, &DmaMemory::new(steps * chunk_bytes), Access::LOCAL_WRITE)?);
        for step in 0..steps {
            session.register_round(nic, round_of(ALL_REDUCE, step), 1)?;
            session.recv(nic, &sinks[nic], step * chunk_bytes..(step + 1) * chunk_bytes, step as u64)?;
        }
    }
    // The chunk that `nic` sends in a step; it receives its left neighbour's.
    let chunk_of = |nic: usize, step: usize| {
        if step < nics - 1 {
            (nic + nics - step) % nics
        } else {
            (nic + 1 + nics - (step - (nics - 1))) % nics
        }
    };
    let send = |session: &mut Session, values: &[Vec<f32>], nic: usize, step: usize| {
        let c = chunk_of(nic, step);
        sources[nic].memory().write(step * chunk_bytes, &to_bytes(&values[nic][c * chunk..(c + 1) * chunk]));
        let range = step * chunk_bytes..(step + 1) * chunk_bytes;
        let what = (ALL_REDUCE, nic, (nic + 1) % nics, step);
        session.send_in_round(&sources[nic], range, what, Some(round_of(ALL_REDUCE, step)))
    };
    for nic in 0..nics {
        send(session, &values, nic, 0)?;
    }
    let mut next = vec![0; nics];
    let mut waiting: HashMap<(usize, usize), Vec<f32>> = HashMap::new();
    while next.iter().any(|&step| step < steps) || session.sends_open() > 0 {
        for arrived in session.poll()? {
            let (phase, from, to, step) = untag(arrived.tag);
            let fits = phase == ALL_REDUCE && to == arrived.nic && (from + 1) % nics == to && step < steps;
            if !fits || arrived.len != chunk_bytes {
                return Err(RunError::Unexpected { nic: arrived.nic, tag: arrived.tag });
            }
            let bytes = sinks[to].memory().to_vec(arrived.work_id as usize * chunk_bytes, chunk_bytes);
            if waiting.insert((to, step), from_bytes(&bytes)).is_some() {
                return Err(RunError::Twice { what: format!("all-reduce step {step} at NIC {to}") });
            }
        }
        for nic in 0..nics {
            while let Some(received) = waiting.remove(&(nic, next[nic])) {
                let step = next[nic];
                let c = chunk_of((nic + nics - 1) % nics, step);
                for (own, theirs) in values[nic][c * chunk..(c + 1) * chunk].iter_mut().zip(received) {
                    *own = if step < nics - 1 { theirs + *own } else { theirs };
                }
                next[nic] += 1;
                if next[nic] < steps {
                    send(session, &values, nic, next[nic])?;
                }
            }
        }
        progress.detail(format_args!("all-reduce, step {} of {steps}", next.iter().min().unwrap_or(&0)));
    }
    // The same sums in the same order, without a network: chunk c starts at NIC c.
    let mut expected = vec![0.0; tensors[0].len()];
    for c in 0..nics {
        for i in c * chunk..(c + 1) * chunk {
            expected[i] = (1..nics).fold(tensors[c][i], |sum, hop| sum + tensors[(c + hop) % nics][i]);
        }
    }
    match values.iter().position(|values| !same_bits(values, &expected)) {
        Some(nic) => Err(RunError::Corrupt { what: format!("the all-reduce result at NIC {nic}") }),
        None => Ok(()),
    }
}

/// All-to-all: block j of every NIC's tensor goes to NIC j.
pub fn all_to_all(session: &mut Session, tensors: &[Vec<f32>], progress: &Progress) -> Result<(), RunError> {
    let nics = session.nics();
    let block = tensors[0].len() / nics;
    let block_bytes = block * 4;
    let mut sources = Vec::new();
    let mut sinks = Vec::new();
    for (nic, tensor) in tensors.iter().enumerate() {
        sources.push(session.register(nic, &DmaMemory::from_slice(&to_bytes(tensor)), Access::READ)?);
        sinks.push(session.register(nic, &DmaMemory::new(nics * block_bytes), Access::LOCAL_WRITE)?);
        session.register_round(nic, round_of(ALL_TO_ALL, 0), nics as u16 - 1)?;
        for buffer in 0..nics - 1 {
            session.recv(
                nic,
                &sinks[nic],
                buffer * block_bytes..(buffer + 1) * block_bytes,
                buffer as u64,
            )?;
        }
    }
    for distance in 1..nics {
        for (from, source) in sources.iter().enumerate() {
            let to = (from + distance) % nics;
            let range = to * block_bytes..(to + 1) * block_bytes;
            let round = Some(round_of(ALL_TO_ALL, 0));
            session.send_in_round(source, range, (ALL_TO_ALL, from, to, 0), round)?;
        }
    }
    let mut seen = vec![false; nics * nics];
    let mut received = 0;
    while received < nics * (nics - 1) || session.sends_open() > 0 {
        for arrived in session.poll()? {
            let (phase, from, to, _) = untag(arrived.tag);
            if phase != ALL_TO_ALL || to != arrived.nic || from >= nics || arrived.len != block_bytes {
                return Err(RunError::Unexpected { nic: arrived.nic, tag: arrived.tag });
            }
            let bytes = sinks[to].memory().to_vec(arrived.work_id as usize * block_bytes, block_bytes);
            if !same_bits(&from_bytes(&bytes), &tensors[from][to * block..(to + 1) * block]) {
                return Err(RunError::Corrupt {
                    what: format!("the all-to-all block from NIC {from} at NIC {to}"),
                });
            }
            if std::mem::replace(&mut seen[from * nics + to], true) {
                return Err(RunError::Twice {
                    what: format!("the all-to-all block from NIC {from} at NIC {to}"),
                });
            }
            received += 1;
        }
        progress.detail(format_args!("all-to-all, {received} of {} messages", nics * (nics - 1)));
    }
    Ok(())
}
