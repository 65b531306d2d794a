//! What a process uses of its machine.

use std::fs;
use std::iter::Sum;
use std::time::Duration;

use anyhow::Context;

/// The kernel counts processor time in hundredths of a second, whatever the machine.
const TICK: Duration = Duration::from_millis(10);

/// Memory now, and processor time since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub resident_bytes: u64,
    /// The most that was resident at any time.
    pub peak_bytes: u64,
    pub cpu: Duration,
}

const MIB: f64 = 1024.0 * 1024.0;

impl Usage {
    pub fn resident_mib(self) -> f64 {
        self.resident_bytes as f64 / MIB
    }

    pub fn peak_mib(self) -> f64 {
        self.peak_bytes as f64 / MIB
    }

    pub fn of(process: u32) -> anyhow::Result<Self> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
        Self::parse(&read("status")?, &read("stat")?).with_context(|| format!("what process {process} uses"))
    }

    fn parse(status: &str, stat: &str) -> anyhow::Result<Self> {
        let bytes = |field: &str| -> anyhow::Result<u64> {
            let line =
                status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("no {field}"))?;
            Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
        };
        // The second field is the name of the program, which may contain blanks and parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')').context("no name")?.1.split_whitespace().collect();
        let ticks = |index: usize| -> anyhow::Result<u32> { Ok(fields.get(index).context("too short")?.parse()?) };
        Ok(Self {
            resident_bytes: bytes("VmRSS:")?,
            peak_bytes: bytes("VmHWM:")?,
            cpu: TICK * (ticks(11)? + ticks(12)?),
        })
    }

    /// The same memory, with the processor time since then.
    pub fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(before.cpu), ..self }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            resident_bytes: sum.resident_bytes + one.resident_bytes,
            peak_bytes: sum.peak_bytes + one.peak_bytes,
            cpu: sum.cpu + one.cpu,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        let status = "Name:\tkedge\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n";
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 1 1 1";
        let expected = Usage { resident_bytes: 1 << 20, peak_bytes: 2 << 20, cpu: Duration::from_secs(3) };
        assert_eq!(Usage::parse(status, stat).unwrap(), expected);
        assert!(Usage::of(std::process::id()).unwrap().resident_bytes > 0);
    }
}
