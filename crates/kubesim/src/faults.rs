//! What can be made to go wrong, switchable while the cluster runs.
//!
//! Faults of the connection act on every request; faults of the workloads act on pods that start afterwards. The
//! names that cause a fault without any switch are in the crate's documentation.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::Rng;
use serde_json::Value;
use tokio::sync::watch;

use crate::object;
use crate::selector::LabelSelector;

/// How often requests fail, each between 0.0 (never) and 1.0 (always).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// 429 with `Retry-After: 1`.
    pub too_many_requests: f64,
    /// 500.
    pub internal_error: f64,
    /// 503 with `Retry-After: 1`.
    pub unavailable: f64,
    /// The request is taken and never answered, until the client gives up.
    pub hang: f64,
}

/// A refusal as an admission webhook would give it. Empty parts match everything.
#[derive(Clone, Debug, Default)]
pub struct AdmissionRule {
    /// Name of the webhook the message blames.
    pub webhook: String,
    /// `Deployment`, `Pod` …
    pub kind: String,
    /// Part of the object's name.
    pub name: String,
    /// Label selector in query form.
    pub labels: String,
    /// What the webhook says.
    pub message: String,
    /// It has side effects, so it is not asked in a dry run, which is refused; otherwise it denies nothing.
    pub no_dry_run: bool,
}

/// Why a webhook lets nothing pass.
#[derive(Debug)]
pub(crate) enum Denial {
    Denied { webhook: String, message: String },
    NoDryRun { webhook: String },
}

#[derive(Debug, Default)]
struct Switches {
    offline: bool,
    delay: Duration,
    rates: Rates,
    admission: Vec<AdmissionRule>,
    unpullable: Vec<String>,
    crashing: Vec<String>,
    out_of_memory: Vec<String>,
    unschedulable: Vec<String>,
    slow_start: Vec<(String, Duration)>,
    never_ready: Vec<String>,
    pod_limits: Vec<(String, i64)>,
    no_metrics: bool,
}

/// The switches of one cluster.
#[derive(Debug)]
pub struct Faults {
    switches: Mutex<Switches>,
    cuts: watch::Sender<u64>,
}

/// What becomes of a request before it is looked at.
pub(crate) enum Fate {
    Pass(Duration),
    Offline,
    Hang,
    Refuse(u16),
}

/// What is wrong with a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ailment {
    ImagePull,
    Crash,
    OutOfMemory,
    NeverReady,
}

impl Faults {
    pub(crate) fn new() -> Faults {
        Faults { switches: Mutex::default(), cuts: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts the cluster off: running watches break, every new call fails without an answer.
    pub fn set_offline(&self, offline: bool) {
        self.lock().offline = offline;
        if offline {
            self.cut_watches();
        }
    }

    /// Whether the cluster is cut off.
    pub fn is_offline(&self) -> bool {
        self.lock().offline
    }

    /// Breaks all running watches once; clients may reconnect.
    pub fn cut_watches(&self) {
        self.cuts.send_modify(|n| *n += 1);
    }

    /// Delays every answer.
    pub fn set_delay(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// Makes a share of all requests fail.
    pub fn set_rates(&self, rates: Rates) {
        self.lock().rates = rates;
    }

    /// Replaces the admission rules.
    pub fn set_admission(&self, rules: Vec<AdmissionRule>) {
        self.lock().admission = rules;
    }

    /// Images that contain one of these cannot be pulled.
    pub fn set_unpullable_images(&self, parts: Vec<String>) {
        self.lock().unpullable = parts;
    }

    /// Containers whose image contains one of these exit with 1 soon after they start.
    pub fn set_crashing_images(&self, parts: Vec<String>) {
        self.lock().crashing = parts;
    }

    /// Containers whose image contains one of these are killed for their memory soon after they start.
    pub fn set_out_of_memory_images(&self, parts: Vec<String>) {
        self.lock().out_of_memory = parts;
    }

    /// Containers whose image contains one of these run, but never become ready.
    pub fn set_never_ready_images(&self, parts: Vec<String>) {
        self.lock().never_ready = parts;
    }

    /// Pods whose name contains one of these find no node.
    pub fn set_unschedulable_pods(&self, parts: Vec<String>) {
        self.lock().unschedulable = parts;
    }

    /// Pods whose name contains the text take that much longer to start.
    pub fn set_slow_start(&self, rules: Vec<(String, Duration)>) {
        self.lock().slow_start = rules;
    }

    /// At most so many pods in a namespace, refused as by a ResourceQuota called `pods`.
    pub fn set_pod_limit(&self, namespace: &str, pods: Option<u32>) {
        let limits = &mut self.lock().pod_limits;
        limits.retain(|(ns, _)| ns != namespace);
        limits.extend(pods.map(|pods| (namespace.to_owned(), pods.into())));
    }

    /// Whether autoscalers find nobody who measures anything.
    pub fn set_no_metrics(&self, none: bool) {
        self.lock().no_metrics = none;
    }

    /// Switches everything off.
    pub fn clear(&self) {
        *self.lock() = Switches::default();
    }

    pub(crate) fn cuts(&self) -> watch::Receiver<u64> {
        self.cuts.subscribe()
    }

    pub(crate) fn fate(&self) -> Fate {
        let switches = self.lock();
        if switches.offline {
            return Fate::Offline;
        }
        let rates = switches.rates;
        if rates == Rates::default() {
            return Fate::Pass(switches.delay);
        }
        let roll: f64 = rand::rng().random();
        let mut edge = 0.0;
        for (rate, fate) in [
            (rates.too_many_requests, Fate::Refuse(429)),
            (rates.internal_error, Fate::Refuse(500)),
            (rates.unavailable, Fate::Refuse(503)),
            (rates.hang, Fate::Hang),
        ] {
            edge += rate;
            if roll < edge {
                return fate;
            }
        }
        Fate::Pass(switches.delay)
    }

    /// What the first rule that is about the object says, if that is a refusal.
    pub(crate) fn denial(&self, kind: &str, object: &Value, dry_run: bool) -> Option<Denial> {
        let switches = self.lock();
        let rule = switches.admission.iter().find(|rule| {
            let labels = LabelSelector::parse(&rule.labels).unwrap_or_default();
            (rule.kind.is_empty() || rule.kind == kind)
                && object::name(object).contains(&rule.name)
                && labels.selects(object)
        })?;
        let webhook = if rule.webhook.is_empty() { "policy.kubesim.local" } else { &rule.webhook };
        match rule.no_dry_run {
            true if !dry_run => None,
            true => Some(Denial::NoDryRun { webhook: webhook.to_owned() }),
            false => Some(Denial::Denied { webhook: webhook.to_owned(), message: rule.message.clone() }),
        }
    }

    pub(crate) fn lacks_metrics(&self) -> bool {
        self.lock().no_metrics
    }

    pub(crate) fn pod_limit(&self, namespace: &str) -> Option<i64> {
        self.lock().pod_limits.iter().find(|(ns, _)| ns == namespace).map(|(_, limit)| *limit)
    }

    pub(crate) fn unschedulable(&self, pod: &str) -> bool {
        pod.contains("unschedulable") || self.lock().unschedulable.iter().any(|part| pod.contains(part))
    }

    pub(crate) fn start_delay(&self, pod: &str) -> Duration {
        let switches = self.lock();
        switches.slow_start.iter().filter(|(part, _)| pod.contains(part)).map(|(_, delay)| *delay).sum()
    }

    /// What ails a container, by the switches and the sentinels in its image, command or environment.
    pub(crate) fn ailment(&self, container: &Value) -> Option<Ailment> {
        let image = object::text(container, "image");
        let switches = self.lock();
        let listed = |parts: &[String]| parts.iter().any(|part| image.contains(part));
        if image.contains("does-not-exist") || image.contains("nonexistent") || listed(&switches.unpullable) {
            return Some(Ailment::ImagePull);
        }
        let asked =
            object::list(container, "env").iter().find(|e| object::text(e, "name") == "KUBESIM_FAULT");
        let asked = asked.map_or("", |e| object::text(e, "value"));
        let arguments = object::list(container, "command").iter().chain(object::list(container, "args"));
        let fails = arguments.filter_map(Value::as_str).any(|a| a.trim() == "exit 1" || a == "false");
        if image.contains("oomkill") || asked == "oom" || listed(&switches.out_of_memory) {
            return Some(Ailment::OutOfMemory);
        }
        if image.contains("crashloop") || asked == "crash" || fails || listed(&switches.crashing) {
            return Some(Ailment::Crash);
        }
        (image.contains("neverready") || asked == "never-ready" || listed(&switches.never_ready))
            .then_some(Ailment::NeverReady)
    }
}
