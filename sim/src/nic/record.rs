//! What went in and came out of a NIC, clock by clock, to be played to the
//! same Verilog again, here or by another simulator.
//!
//! Only what changes is kept. Outputs are those after the clock's edge, which
//! in a NIC depend on registers only. A replay compares, every clock, each
//! output that always means something, and those of a stream while its valid
//! says that they mean something.

use std::time::Duration;

use serde::Serialize;

use crate::verilator::{Direction, Dut, Model, ModelError, Port, PortId};

/// Clocks of reset before the first step.
pub const RESET_CLOCKS: u64 = 4;

/// A new value of a port: its place in the list of its kind, least significant
/// word first.
pub type Change = (u16, Vec<u64>);

/// One clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Inputs that change before the edge.
    pub set: Vec<Change>,
    /// Outputs that have changed behind it.
    pub see: Vec<Change>,
}

/// Outputs that mean something while another is high.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Place of the one.
    pub valid: u16,
    /// Places of the others.
    pub data: Vec<u16>,
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Inputs but for clock and reset.
    pub inputs: Vec<String>,
    /// Outputs.
    pub outputs: Vec<String>,
    /// Places of the outputs that always mean something.
    pub plain: Vec<u16>,
    /// The others.
    pub streams: Vec<Stream>,
    /// What happened, from the first clock behind the reset on.
    pub steps: Vec<Step>,
}

/// A replay did not go as recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The simulation gave up.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Another value came out.
    #[error("clock {clock}: {output} differs from the record")]
    Differs {
        /// Clock behind the reset.
        clock: usize,
        /// Port.
        output: String,
    },
    /// The time this takes cannot be measured.
    #[error("the processor time of this thread is not known: {0}")]
    Time(std::io::Error),
}

/// Processor time of this thread so far: what else the machine does is not in
/// it.
fn thread_time() -> Result<Duration, ReplayError> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).map_err(ReplayError::Time)?;
    let spent = text.split_whitespace().next().and_then(|first| first.parse().ok());
    let nonsense = || ReplayError::Time(std::io::Error::other(format!("{file} says {text:?}")));
    spent.map(Duration::from_nanos).ok_or_else(nonsense)
}

fn names(ports: &[Port], direction: Direction) -> Vec<String> {
    let plain = |port: &&Port| port.direction == direction && !port.is_clock && port.name != "rst";
    ports.iter().filter(plain).map(|port| port.name.clone()).collect()
}

/// `m_axis_tvalid` rules all that begin with `m_axis_`, `s_axil_rvalid` what
/// begins with `s_axil_r`.
fn streams(outputs: &[String]) -> (Vec<u16>, Vec<Stream>) {
    let mut plain: Vec<u16> = (0..outputs.len() as u16).collect();
    let mut streams = Vec::new();
    for (valid, name) in outputs.iter().enumerate() {
        let Some(stem) = name.strip_suffix("valid") else { continue };
        let stem = stem.strip_suffix("_t").map_or(stem.to_owned(), |stem| format!("{stem}_"));
        let ruled = |i: &u16| {
            let other = &outputs[*i as usize];
            other != name && other.starts_with(&stem) && !other.ends_with("ready")
        };
        let data: Vec<u16> = plain.iter().copied().filter(ruled).collect();
        plain.retain(|i| !data.contains(i));
        streams.push(Stream { valid: valid as u16, data });
    }
    (plain, streams)
}

fn ids(dut: &Dut, names: &[String]) -> Result<Vec<PortId>, ModelError> {
    names.iter().map(|name| dut.port(name)).collect()
}

fn value(dut: &Dut, port: PortId) -> Vec<u64> {
    let mut words = vec![0; port.words()];
    dut.get_wide(port, &mut words);
    words
}

/// Watches the ports of a NIC.
pub(super) struct Recorder {
    inputs: Vec<PortId>,
    outputs: Vec<PortId>,
    last_in: Vec<Vec<u64>>,
    last_out: Vec<Vec<u64>>,
    record: Record,
}

impl Recorder {
    pub(super) fn new(dut: &Dut, ports: &[Port]) -> Result<Self, ModelError> {
        let (in_names, out_names) = (names(ports, Direction::In), names(ports, Direction::Out));
        let (inputs, outputs) = (ids(dut, &in_names)?, ids(dut, &out_names)?);
        let (plain, streams) = streams(&out_names);
        // What differs from zero at the start is a change of the first clock.
        let zeros = |ports: &[PortId]| ports.iter().map(|port| vec![0; port.words()]).collect();
        let (last_in, last_out) = (zeros(&inputs), zeros(&outputs));
        let record = Record { inputs: in_names, outputs: out_names, plain, streams, steps: Vec::new() };
        Ok(Self { inputs, outputs, last_in, last_out, record })
    }

    fn changes(dut: &Dut, ports: &[PortId], last: &mut [Vec<u64>]) -> Vec<Change> {
        let mut changes = Vec::new();
        for (i, (port, last)) in ports.iter().zip(last).enumerate() {
            let now = value(dut, *port);
            if now != *last {
                last.clone_from(&now);
                changes.push((i as u16, now));
            }
        }
        changes
    }

    pub(super) fn before_clock(&mut self, dut: &Dut) {
        let set = Self::changes(dut, &self.inputs, &mut self.last_in);
        self.record.steps.push(Step { set, see: Vec::new() });
    }

    pub(super) fn after_clock(&mut self, dut: &Dut) {
        let see = Self::changes(dut, &self.outputs, &mut self.last_out);
        if let Some(step) = self.record.steps.last_mut() {
            step.see = see;
        }
    }

    pub(super) fn finish(self) -> Record {
        self.record
    }
}

impl Record {
    /// Plays it to a new instance of the model and compares. Returns the
    /// processor time from the end of the reset on.
    ///
    /// # Errors
    /// If an output differs, the simulation gives up, or the time is not known.
    pub fn replay(&self, model: &Model) -> Result<Duration, ReplayError> {
        let mut dut = model.instance()?;
        let (inputs, outputs) = (ids(&dut, &self.inputs)?, ids(&dut, &self.outputs)?);
        let rst = dut.port("rst")?;
        dut.reset(rst, RESET_CLOCKS);
        let mut expected: Vec<Vec<u64>> = outputs.iter().map(|port| vec![0; port.words()]).collect();
        let begun = thread_time()?;
        let mut words = [0; 8];
        for (clock, step) in self.steps.iter().enumerate() {
            for (i, value) in &step.set {
                dut.set_wide(inputs[*i as usize], value);
            }
            dut.try_clock(1)?;
            for (i, value) in &step.see {
                expected[*i as usize].clone_from(value);
            }
            let mut same = |i: u16| {
                let port = outputs[i as usize];
                let words = &mut words[..port.words()];
                dut.get_wide(port, words);
                match *words == expected[i as usize][..] {
                    true => Ok(()),
                    false => Err(ReplayError::Differs { clock, output: self.outputs[i as usize].clone() }),
                }
            };
            for &i in &self.plain {
                same(i)?;
            }
            for stream in &self.streams {
                if expected[stream.valid as usize][0] != 0 {
                    stream.data.iter().try_for_each(|&i| same(i))?;
                }
            }
        }
        Ok(thread_time()?.saturating_sub(begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_goes_with_its_valid() {
        let names = ["s_axis_tready", "m_axis_tdata", "m_axis_tvalid", "m_axis_tlast", "s_axil_rdata"];
        let names: Vec<String> =
            names.into_iter().chain(["s_axil_rvalid", "s_axil_awready"]).map(String::from).collect();
        let (plain, streams) = streams(&names);
        assert_eq!(plain, [0, 2, 5, 6]);
        assert_eq!(streams, [Stream { valid: 2, data: vec![1, 3] }, Stream { valid: 5, data: vec![4] }]);
    }
}
