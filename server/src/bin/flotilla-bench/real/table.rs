//! The table: one row per scenario, printed and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Figures, load_average, rss_mib};

use super::world::World;

/// CPU time of each kind of process so far, in milliseconds.
pub struct Usage(pub Vec<(&'static str, f64)>);

/// What each kind of process uses at rest, in CPU milliseconds per second.
pub struct Idle(pub Vec<(&'static str, f64)>);

impl Usage {
    /// What was used per second between two looks that were so far apart.
    pub fn at_rest(&self, now: &Self, apart: Duration) -> Idle {
        let mut idle = self.per(now, 1);
        idle.iter_mut().for_each(|(_, value)| *value /= apart.as_secs_f64());
        Idle(idle)
    }

    /// What was used since, for each of `n`.
    fn per(&self, now: &Self, n: usize) -> Vec<(&'static str, f64)> {
        let each = |((name, before), (_, after)): (&(&'static str, f64), &(&'static str, f64))| {
            (*name, (after - before).max(0.0) / n.max(1) as f64)
        };
        self.0.iter().zip(&now.0).map(each).collect()
    }
}

/// One scenario.
#[derive(Default)]
pub struct Row {
    pub scenario: String,
    pub ours: Figures,
    /// What a plain client needs for the same.
    pub limit: Option<Figures>,
    pub target: &'static str,
    /// CPU milliseconds per release or repair.
    pub cpu: Vec<(&'static str, f64)>,
    pub rss: Vec<(&'static str, f64)>,
    pub load: f64,
    pub note: String,
}

impl Row {
    /// A row of what was measured until now, since `before`, for `n` releases or repairs.
    pub fn of(scenario: impl Into<String>, world: &World, before: &Usage, n: usize) -> Self {
        Self { scenario: scenario.into(), cpu: before.per(&world.usage(), n), ..Self::now(world) }
    }

    /// A row with memory and load only.
    pub fn now(world: &World) -> Self {
        let agents = world.agents.iter().map(|agent| rss_mib(agent.pid)).fold(0.0, f64::max);
        let rss = vec![("server", rss_mib(world.server.pid)), ("agent", agents)];
        Self { rss, load: load_average(), ..Self::default() }
    }

    /// Takes off what the processes use at rest, for so long each.
    pub fn without(&mut self, idle: &Idle, each: Duration) {
        for ((_, value), (_, rate)) in self.cpu.iter_mut().zip(&idle.0) {
            *value = (*value - rate * each.as_secs_f64()).max(0.0);
        }
    }

    fn ratio(&self) -> Option<f64> {
        let limit = self.limit.as_ref().filter(|limit| limit.len() > 0)?;
        (self.ours.len() > 0).then(|| self.ours.percentile(50) / limit.percentile(50))
    }

    fn json(&self) -> Value {
        let named = |pairs: &[(&str, f64)]| -> Value {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
        };
        let cpu: f64 = self.cpu.iter().map(|(_, value)| value).sum();
        json!({
            "scenario": self.scenario, "ms": spread(&self.ours), "limitMs": self.limit.as_ref().map(spread),
            "ratio": self.ratio(), "target": self.target, "cpuMs": named(&self.cpu), "cpuMsAll": cpu,
            "rssMib": named(&self.rss), "load": self.load, "note": self.note,
        })
    }
}

fn spread(figures: &Figures) -> Value {
    let p = |p| figures.percentile(p);
    json!({"n": figures.len(), "p50": p(50), "p95": p(95), "p99": p(99), "max": p(100)})
}

/// All rows.
#[derive(Default)]
pub struct Table(Vec<Row>);

impl Table {
    /// Adds a row and shows it: a long run should not keep what it knows to itself.
    pub fn add(&mut self, row: Row) {
        if self.0.is_empty() {
            println!("{HEAD}");
        }
        println!("{}", line(&row));
        self.0.push(row);
    }

    /// Everything again, together.
    pub fn print(&self) {
        println!("\n{HEAD}");
        self.0.iter().for_each(|row| println!("{}", line(row)));
        println!("times in ms; CPU in ms per release or repair, without the plain client's; RSS in MiB");
    }

    /// The same for programs.
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.0.iter().map(Row::json).collect();
        format!("{:#}\n", Value::Array(rows))
    }
}

const HEAD: &str = "scenario                         n      p50      p95      p99      max  limit50  limit95  ratio   \
                    CPU client+server+agents+apiserver+etcd = all   RSS server agent  load  target";

fn line(row: &Row) -> String {
    let number = |figures: Option<&Figures>, p| match figures.filter(|figures| figures.len() > 0) {
        Some(figures) => format!("{:>8.2}", figures.percentile(p)),
        None => format!("{:>8}", "-"),
    };
    let ours: String = [50, 95, 99, 100].map(|p| format!(" {}", number(Some(&row.ours), p))).concat();
    let limit: String = [50, 95].map(|p| format!(" {}", number(row.limit.as_ref(), p))).concat();
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

/// Figures of these durations.
pub fn figures(all: impl IntoIterator<Item = Duration>) -> Figures {
    let mut figures = Figures::default();
    all.into_iter().for_each(|one| figures.add(one));
    figures
}
