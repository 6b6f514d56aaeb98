//! The results: one row per scenario, as text and JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Durations, load_average, rss_mib};

use super::environment::BenchEnvironment;

/// CPU time of each kind of process so far, in milliseconds.
pub struct CpuUsage(pub Vec<(&'static str, f64)>);

/// CPU milliseconds per second of each kind of process when idle.
pub struct IdleUsage(pub Vec<(&'static str, f64)>);

impl CpuUsage {
    /// CPU per second between two measurements this far apart.
    pub fn at_rest(&self, now: &Self, apart: Duration) -> IdleUsage {
        let mut idle = self.since_per_item(now, 1);
        idle.iter_mut().for_each(|(_, value)| *value /= apart.as_secs_f64());
        IdleUsage(idle)
    }

    /// CPU since this measurement, divided by `n`.
    fn since_per_item(&self, now: &Self, n: usize) -> Vec<(&'static str, f64)> {
        let each = |((name, before), (_, after)): (&(&'static str, f64), &(&'static str, f64))| {
            (*name, (after - before).max(0.0) / n.max(1) as f64)
        };
        self.0.iter().zip(&now.0).map(each).collect()
    }
}

/// One scenario.
#[derive(Default)]
pub struct ScenarioResult {
    pub scenario: String,
    pub ours: Durations,
    /// The baseline: the same by a plain client.
    pub baseline: Option<Durations>,
    pub target: &'static str,
    /// CPU milliseconds per release or repair.
    pub cpu: Vec<(&'static str, f64)>,
    pub rss: Vec<(&'static str, f64)>,
    pub load: f64,
    pub note: String,
}

impl ScenarioResult {
    /// A row with the CPU since `before` per release or repair, of which there were `n`.
    pub fn measured(
        scenario: impl Into<String>,
        world: &BenchEnvironment,
        before: &CpuUsage,
        n: usize,
    ) -> Self {
        Self {
            scenario: scenario.into(),
            cpu: before.since_per_item(&world.cpu_usage(), n),
            ..Self::with_memory(world)
        }
    }

    /// A row with memory and load only.
    pub fn with_memory(world: &BenchEnvironment) -> Self {
        let agents = world.agents.iter().map(|agent| rss_mib(agent.pid)).fold(0.0, f64::max);
        let rss = vec![("server", rss_mib(world.server.pid)), ("agent", agents)];
        Self { rss, load: load_average(), ..Self::default() }
    }

    /// Subtracts the idle CPU of `each` duration per item.
    pub fn subtract_idle(&mut self, idle: &IdleUsage, each: Duration) {
        for ((_, value), (_, rate)) in self.cpu.iter_mut().zip(&idle.0) {
            *value = (*value - rate * each.as_secs_f64()).max(0.0);
        }
    }

    fn ratio(&self) -> Option<f64> {
        let limit = self.baseline.as_ref().filter(|limit| limit.len() > 0)?;
        (self.ours.len() > 0).then(|| self.ours.percentile(50) / limit.percentile(50))
    }

    fn json(&self) -> Value {
        let named = |pairs: &[(&str, f64)]| -> Value {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
        };
        let cpu: f64 = self.cpu.iter().map(|(_, value)| value).sum();
        json!({
            "scenario": self.scenario, "ms": percentiles_json(&self.ours), "limitMs": self.baseline.as_ref().map(percentiles_json),
            "ratio": self.ratio(), "target": self.target, "cpuMs": named(&self.cpu), "cpuMsAll": cpu,
            "rssMib": named(&self.rss), "load": self.load, "note": self.note,
        })
    }
}

fn percentiles_json(figures: &Durations) -> Value {
    let p = |p| figures.percentile(p);
    json!({"n": figures.len(), "p50": p(50), "p95": p(95), "p99": p(99), "max": p(100)})
}

/// All rows.
#[derive(Default)]
pub struct ResultTable(Vec<ScenarioResult>);

impl ResultTable {
    /// Adds a row and prints it, so that a long run shows its results as they arrive.
    pub fn add(&mut self, row: ScenarioResult) {
        if self.0.is_empty() {
            println!("{HEADER}");
        }
        println!("{}", format_line(&row));
        self.0.push(row);
    }

    /// Prints all rows.
    pub fn print(&self) {
        println!("\n{HEADER}");
        self.0.iter().for_each(|row| println!("{}", format_line(row)));
        println!("times in ms; CPU in ms per release or repair, without the plain client's; RSS in MiB");
    }

    /// All rows as JSON.
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.0.iter().map(ScenarioResult::json).collect();
        format!("{:#}\n", Value::Array(rows))
    }
}

const HEADER: &str = "scenario                         n      p50      p95      p99      max  limit50  limit95  ratio   \
                    CPU client+server+agents+apiserver+etcd = all   RSS server agent  load  target";

fn format_line(row: &ScenarioResult) -> String {
    let number = |figures: Option<&Durations>, p| match figures.filter(|figures| figures.len() > 0) {
        Some(figures) => format!("{:>8.2}", figures.percentile(p)),
        None => format!("{:>8}", "-"),
    };
    let ours: String = [50, 95, 99, 100].map(|p| format!(" {}", number(Some(&row.ours), p))).concat();
    let limit: String = [50, 95].map(|p| format!(" {}", number(row.baseline.as_ref(), p))).concat();
    let ratio = row.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let parts: Vec<String> = row.cpu.iter().map(|(_, value)| format!("{value:.1}")).collect();
    let all: f64 = row.cpu.iter().map(|(_, value)| value).sum();
    let cpu = if parts.is_empty() { "-".to_owned() } else { format!("{} = {all:.1}", parts.join("+")) };
    let rss: String = row.rss.iter().map(|(_, value)| format!(" {value:>6.1}")).collect();
    format!(
        "{:<30} {:>3}{ours}{limit} {ratio:>6}   {cpu:<46} {rss:<17} {:>4.1}  {} {}",
        row.scenario,
        row.ours.len(),
        row.load,
        row.target,
        row.note
    )
}

/// Collects durations.
pub fn collect_durations(all: impl IntoIterator<Item = Duration>) -> Durations {
    let mut figures = Durations::default();
    all.into_iter().for_each(|one| figures.add(one));
    figures
}
