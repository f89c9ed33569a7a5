//! Every NIC sends every file to every other; receivers check SHA-256.

use sha2::{Digest, Sha256};
use tessera_driver::{Access, DmaMemory};
use tessera_sim::progress::Progress;

use super::Input;
use crate::output::RunError;
use tessera_sim::session::{untag, Session};

/// Number of this phase in tags.
pub const PHASE: u8 = 1;
/// Most memory that one host's receive buffers take, bytes.
const BUFFER_BUDGET: usize = 1 << 30;

/// Runs the phase. Buffers are as large as the largest file, for files arrive
/// in any order; a buffer is posted again once its file is checked.
pub fn run(session: &mut Session, inputs: &[Input], progress: &Progress) -> Result<(), RunError> {
    let nics = session.nics();
    let largest = inputs.iter().map(|input| input.bytes.len()).max().unwrap_or(0);
    let expected = (nics - 1) * inputs.len();
    let buffers = expected.min((BUFFER_BUDGET / largest.max(1)).clamp(1, 64));

    let memories: Vec<_> = inputs.iter().map(|input| DmaMemory::from_slice(&input.bytes)).collect();
    let mut sources = Vec::new();
    let mut sinks = Vec::new();
    for nic in 0..nics {
        let regions = memories.iter().map(|memory| session.register(nic, memory, Access::READ));
        sources.push(regions.collect::<Result<Vec<_>, _>>()?);
        sinks.push(session.register(nic, &DmaMemory::new(buffers * largest), Access::LOCAL_WRITE)?);
        for buffer in 0..buffers {
            session.recv(nic, &sinks[nic], buffer * largest..(buffer + 1) * largest, buffer as u64)?;
        }
    }
    // First to the next neighbour, then to the one after it: no NIC is everybody's first.
    for distance in 1..nics {
        for (file, input) in inputs.iter().enumerate() {
            for (from, source) in sources.iter().enumerate() {
                let to = (from + distance) % nics;
                session.send(&source[file], 0..input.bytes.len(), (PHASE, from, to, file))?;
            }
        }
    }
    let mut posted = vec![buffers; nics];
    let mut seen = vec![vec![false; nics * inputs.len()]; nics];
    let mut received = 0;
    while received < nics * expected || session.sends_open() > 0 {
        for arrived in session.poll()? {
            let (phase, from, to, file) = untag(arrived.tag);
            let known = phase == PHASE && to == arrived.nic && from < nics && file < inputs.len();
            if !known {
                return Err(RunError::Unexpected { nic: arrived.nic, tag: arrived.tag });
            }
            let input = &inputs[file];
            let start = arrived.work_id as usize * largest;
            let bytes = sinks[to].memory().to_vec(start, arrived.len);
            if arrived.len != input.bytes.len() || Sha256::digest(&bytes).as_slice() != input.sha256 {
                return Err(RunError::Corrupt {
                    what: format!("{} from NIC {from} at NIC {to}", input.name),
                });
            }
            if std::mem::replace(&mut seen[to][from * inputs.len() + file], true) {
                return Err(RunError::Twice { what: format!("{} from NIC {from} at NIC {to}", input.name) });
            }
            received += 1;
            if posted[to] < expected {
                posted[to] += 1;
                session.recv(to, &sinks[to], start..start + largest, arrived.work_id)?;
            }
        }
        progress.detail(format_args!("files, {received} of {} messages", nics * expected));
    }
    Ok(())
}
