//! The demo's figures, as a table and as JSON.

use serde::Serialize;
use tessera_abi::params::CLOCK_MHZ;
use tessera_sim::fabric::Fabric;

use super::{DemoArgs, Input, PathPolicy};
use tessera_sim::session::Sample;

/// One entropy value at all NICs together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PathShare {
    pub ev: u8,
    /// Packets of any kind that took it.
    pub sent: u64,
    /// Its echoes, without and with congestion-experienced.
    pub clean: u64,
    pub ce: u64,
}

/// What a demo measured. Field names are those of the JSON file.
#[derive(Debug, Serialize)]
pub struct Report {
    pub ok: bool,
    pub nics: u16,
    pub paths: u16,
    pub loss: f64,
    pub skew_us: f64,
    pub dead_path: Option<u16>,
    pub payload_bytes: u32,
    pub seed: u64,
    /// Delivered whole and checked.
    pub messages: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// Payload bytes delivered per clock and NIC, from the first post to the
    /// last completion.
    pub goodput_bytes_per_clock: f64,
    /// The same at the block's clock.
    pub goodput_gbps: f64,
    /// Post to receive completion, microseconds at the block's clock.
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// DATA packets sent for the first time.
    pub packets: u64,
    /// Frames of any kind that the fabric lost.
    pub dropped: u64,
    /// Frames that NICs lost for want of room.
    pub overflow: u64,
    /// DATA packets sent again: needed + spurious.
    pub retransmitted: u64,
    /// Of these, made up for a lost copy.
    pub needed: u64,
    /// Of these, did not.
    pub spurious: u64,
    pub probes: u64,
    pub feedbacks: u64,
    /// Loss-detection deadlines and sender backstops that fired.
    pub nack_expiries: u64,
    pub backstop_expiries: u64,
    pub path_policy: PathPolicy,
    /// Of policy `weighted`, else none.
    pub path_weights: Vec<u32>,
    pub path_use: Vec<PathShare>,
    /// Simulated clocks, reset included.
    pub clocks: u64,
    pub wall_s: f64,
    pub clocks_per_s: f64,
}

/// The `q`-quantile of sorted values (nearest rank), 0 of none.
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied().unwrap_or(0)
}

/// Microseconds of a number of clocks.
pub fn us(clocks: u64) -> f64 {
    clocks as f64 / f64::from(CLOCK_MHZ)
}

impl Report {
    #[allow(clippy::too_many_arguments)] // Each is one measurement; a struct of them would be this struct.
    pub fn new(
        args: &DemoArgs,
        samples: &[Sample],
        fabric: &Fabric,
        (first, last): (u64, u64),
        clocks: u64,
        wall_s: f64,
        [nack_expiries, backstop_expiries]: [u64; 2],
        overflow: u64,
        path_use: Vec<PathShare>,
    ) -> Self {
        let mut times: Vec<u64> = samples.iter().map(|sample| sample.done - sample.posted).collect();
        times.sort_unstable();
        let bytes: u64 = samples.iter().map(|sample| sample.bytes).sum();
        let goodput = bytes as f64 / (last - first).max(1) as f64 / f64::from(args.nics);
        let tracker = fabric.tracker();
        Self {
            ok: true,
            nics: args.nics,
            paths: args.paths,
            loss: args.loss,
            skew_us: args.skew_us,
            dead_path: args.dead_path,
            payload_bytes: args.payload,
            seed: args.seed,
            messages: samples.len() as u64,
            bytes,
            goodput_bytes_per_clock: goodput,
            goodput_gbps: goodput * 8.0 * f64::from(CLOCK_MHZ) / 1000.0,
            p50_us: us(quantile(&times, 0.5)),
            p99_us: us(quantile(&times, 0.99)),
            max_us: us(times.last().copied().unwrap_or(0)),
            packets: tracker.data,
            dropped: fabric.stats().dropped(),
            overflow,
            retransmitted: tracker.needed + tracker.spurious,
            needed: tracker.needed,
            spurious: tracker.spurious,
            probes: tracker.probes,
            feedbacks: tracker.feedbacks,
            nack_expiries,
            backstop_expiries,
            path_policy: args.path_policy,
            path_weights: match args.path_policy {
                PathPolicy::Weighted => super::weights(args),
                _ => Vec::new(),
            },
            path_use,
            clocks,
            wall_s,
            clocks_per_s: clocks as f64 / wall_s.max(1e-9),
        }
    }

    /// Label and value of every line of the table.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let share = |part: u64| 100.0 * part as f64 / self.packets.max(1) as f64;
        vec![
            ("messages delivered, checked", format!("{} ({} bytes)", self.messages, self.bytes)),
            (
                "goodput per NIC",
                format!(
                    "{:.1} bytes/clock, {:.1} Gb/s at {CLOCK_MHZ} MHz",
                    self.goodput_bytes_per_clock, self.goodput_gbps
                ),
            ),
            (
                "message time p50 / p99 / max",
                format!("{:.1} / {:.1} / {:.1} us", self.p50_us, self.p99_us, self.max_us),
            ),
            ("data packets", self.packets.to_string()),
            ("dropped by the fabric", format!("{} frames", self.dropped)),
            ("dropped by a NIC", format!("{} frames", self.overflow)),
            (
                "retransmitted",
                format!("{} needed, {} spurious ({:.3} %)", self.needed, self.spurious, share(self.spurious)),
            ),
            ("probes / feedbacks", format!("{} / {}", self.probes, self.feedbacks)),
            (
                "timer expiries",
                format!("{} loss detection, {} backstop", self.nack_expiries, self.backstop_expiries),
            ),
            ("packets by entropy value", {
                let shown: Vec<_> = self.path_use.iter().take(8).map(|path| path.sent.to_string()).collect();
                shown.join(" / ") + if self.path_use.len() > 8 { " / .." } else { "" }
            }),
            ("simulated", format!("{} clocks of {} NICs", self.clocks, self.nics)),
            ("wall time", format!("{:.1} s, {:.0} clocks/s", self.wall_s, self.clocks_per_s)),
        ]
    }

    /// Prints the table.
    pub fn print(&self, inputs: &[Input]) {
        let dead = self.dead_path.map(|path| format!(", path {path} dead")).unwrap_or_default();
        println!(
            "{} NICs, {} paths, skew {} us, loss {} %{dead}, seed {}",
            self.nics,
            self.paths,
            self.skew_us,
            100.0 * self.loss,
            self.seed
        );
        for input in inputs {
            println!("  file {} ({} bytes): SHA-256 right at every NIC", input.name, input.bytes.len());
        }
        println!("  ring all-reduce and all-to-all of f32 tensors: right to the last bit");
        for (label, value) in self.rows() {
            println!("  {label:<30} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_rank() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!(quantile(&values, 0.5), 50);
        assert_eq!(quantile(&values, 0.99), 99);
        assert_eq!(quantile(&values, 1.0), 100);
        assert_eq!(quantile(&[7], 0.5), 7);
        assert_eq!(quantile(&[], 0.5), 0);
    }
}
