//! Percentiles and CPU time.

use std::time::Duration;

/// Durations of many runs.
#[derive(Default)]
pub struct Durations(Vec<Duration>);

impl Durations {
    pub fn add(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// The `p`-th percentile in milliseconds, by nearest rank.
    pub fn percentile(&self, p: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * p).div_ceil(100).clamp(1, sorted.len().max(1)) - 1;
        sorted.get(rank).map_or(f64::NAN, |duration| duration.as_secs_f64() * 1000.0)
    }

    /// Number of durations.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One line: name, p50, p95, largest.
    pub fn summary_line(&self, name: &str) -> String {
        let (p50, p95, most) = (self.percentile(50), self.percentile(95), self.percentile(100));
        format!("{name:<28} n={:<4} p50 {p50:>8.2} ms   p95 {p95:>8.2} ms   max {most:>8.2} ms", self.0.len())
    }
}

/// CPU time of this process so far, in milliseconds; 0 without procfs.
pub fn cpu_millis() -> f64 {
    process_cpu_millis("self")
}

/// CPU time of a process so far, by its id, in milliseconds; 0 without procfs.
pub fn process_cpu_millis(process: &str) -> f64 {
    // Fields 14 and 15 of /proc/N/stat, in ticks of 10 ms; the name in field 2 may contain spaces, so read after ')'.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |field: usize| -> f64 {
        after.split_whitespace().nth(field).and_then(|text| text.parse().ok()).unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) * 10.0
}

/// Resident memory of a process, in MiB; 0 without procfs.
pub fn rss_mib(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Load average of the last minute.
pub fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}
