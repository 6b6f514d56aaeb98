//! Fault injection, configurable while the cluster runs.
//!
//! Connection faults apply to every request; workload faults apply to pods that start afterwards. The names that
//! trigger a fault without any setting are listed in the crate's documentation.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rand::Rng;
use serde_json::Value;
use tokio::sync::watch;

use crate::object;
use crate::selector::LabelRequirements;

mod registry;

/// The share of requests that fail, each between 0.0 (none) and 1.0 (all).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorRates {
    /// 429 with `Retry-After: 1`.
    pub too_many_requests: f64,
    /// 500.
    pub internal_error: f64,
    /// 503 with `Retry-After: 1`.
    pub unavailable: f64,
    /// The request is accepted and never answered; the client must time out.
    pub hang: f64,
}

/// A simulated admission webhook. Empty match fields match everything.
#[derive(Clone, Debug, Default)]
pub struct AdmissionRule {
    /// Name of the webhook in the error message.
    pub webhook: String,
    /// `Deployment`, `PodTemplate` …
    pub kind: String,
    /// Substring of the object's name.
    pub name: String,
    /// Label selector in query form.
    pub labels: String,
    /// The webhook's denial message.
    pub message: String,
    /// The webhook has side effects: dry runs are rejected because it cannot be called; other requests are allowed.
    pub no_dry_run: bool,
}

/// Why a webhook rejects a request.
#[derive(Debug)]
pub(crate) enum AdmissionDenial {
    Denied { webhook: String, message: String },
    NoDryRun { webhook: String },
}

#[derive(Debug, Default)]
struct FaultSettings {
    offline: bool,
    delay: Duration,
    error_rates: ErrorRates,
    admission_rules: Vec<AdmissionRule>,
    checks_known_tags: bool,
    unpullable_images: Vec<String>,
    crashing_images: Vec<String>,
    out_of_memory_images: Vec<String>,
    unschedulable_pods: Vec<String>,
    slow_start: Vec<(String, Duration)>,
    never_ready_images: Vec<String>,
    pod_limits: Vec<(String, i64)>,
    no_metrics: bool,
    failing_paths: Vec<String>,
}

/// The fault settings of one cluster.
#[derive(Debug)]
pub struct Faults {
    settings: Mutex<FaultSettings>,
    watch_disconnects: watch::Sender<u64>,
}

/// The fault applied to a request before it is processed.
pub(crate) enum FaultAction {
    Pass(Duration),
    Offline,
    Hang,
    Fail(u16),
}

/// The fault of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerFault {
    ImagePull,
    Crash,
    OutOfMemory,
    NeverReady,
}

impl Faults {
    pub(crate) fn new() -> Faults {
        Faults { settings: Mutex::default(), watch_disconnects: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, FaultSettings> {
        self.settings.lock()
    }

    /// Makes the cluster unreachable: running watches break, every new request fails without a response.
    pub fn set_offline(&self, offline: bool) {
        self.lock().offline = offline;
        if offline {
            self.disconnect_watches();
        }
    }

    /// Whether the cluster is unreachable.
    pub fn is_offline(&self) -> bool {
        self.lock().offline
    }

    /// Breaks all running watches once; clients may reconnect.
    pub fn disconnect_watches(&self) {
        self.watch_disconnects.send_modify(|n| *n += 1);
    }

    /// Delays every response.
    pub fn set_delay(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// Sets the share of requests that fail.
    pub fn set_error_rates(&self, rates: ErrorRates) {
        self.lock().error_rates = rates;
    }

    /// Replaces the admission rules.
    pub fn set_admission_rules(&self, rules: Vec<AdmissionRule>) {
        self.lock().admission_rules = rules;
    }

    /// Tags of well-known images that can't exist fail to be pulled, as `nginx:9.9`.
    pub fn check_known_tags(&self) {
        self.lock().checks_known_tags = true;
    }

    /// This image cannot be pulled, until [`Faults::restore_image`].
    pub fn fail_pulls_of(&self, image: &str) {
        self.lock().unpullable_images.push(image.to_owned());
    }

    /// Containers with this image exit with 1 soon after they start, until [`Faults::restore_image`].
    pub fn crash_containers_of(&self, image: &str) {
        self.lock().crashing_images.push(image.to_owned());
    }

    /// Ends the faults of this image.
    pub fn restore_image(&self, image: &str) {
        let mut settings = self.lock();
        settings.unpullable_images.retain(|part| part != image);
        settings.crashing_images.retain(|part| part != image);
    }

    /// Images whose name contains one of `parts` cannot be pulled.
    pub fn set_unpullable_images(&self, parts: Vec<String>) {
        self.lock().unpullable_images = parts;
    }

    /// Containers whose image contains one of `parts` exit with 1 soon after they start.
    pub fn set_crashing_images(&self, parts: Vec<String>) {
        self.lock().crashing_images = parts;
    }

    /// Containers whose image contains one of `parts` are OOM-killed soon after they start.
    pub fn set_out_of_memory_images(&self, parts: Vec<String>) {
        self.lock().out_of_memory_images = parts;
    }

    /// Containers whose image contains one of `parts` run, but never become ready.
    pub fn set_never_ready_images(&self, parts: Vec<String>) {
        self.lock().never_ready_images = parts;
    }

    /// Pods whose name contains one of `parts` are unschedulable.
    pub fn set_unschedulable_pods(&self, parts: Vec<String>) {
        self.lock().unschedulable_pods = parts;
    }

    /// Adds a start delay to pods whose name contains the text.
    pub fn set_slow_start(&self, rules: Vec<(String, Duration)>) {
        self.lock().slow_start = rules;
    }

    /// Limits the pods of a namespace, as a ResourceQuota named `pods` does; `None` removes the limit.
    pub fn set_pod_limit(&self, namespace: &str, pods: Option<u32>) {
        let limits = &mut self.lock().pod_limits;
        limits.retain(|(ns, _)| ns != namespace);
        limits.extend(pods.map(|pods| (namespace.to_owned(), pods.into())));
    }

    /// Whether autoscalers find no metrics API.
    pub fn set_no_metrics(&self, none: bool) {
        self.lock().no_metrics = none;
    }

    /// Requests whose path contains one of `parts` fail with 500.
    pub fn set_failing_paths(&self, parts: Vec<String>) {
        self.lock().failing_paths = parts;
    }

    /// Resets all settings.
    pub fn clear(&self) {
        *self.lock() = FaultSettings::default();
    }

    pub(crate) fn subscribe_watch_disconnects(&self) -> watch::Receiver<u64> {
        self.watch_disconnects.subscribe()
    }

    /// The fault of a request for this path.
    pub(crate) fn next_fault_action(&self, path: &str) -> FaultAction {
        let switches = self.lock();
        if switches.offline {
            return FaultAction::Offline;
        }
        if switches.failing_paths.iter().any(|part| path.contains(part)) {
            return FaultAction::Fail(500);
        }
        let rates = switches.error_rates;
        if rates == ErrorRates::default() {
            return FaultAction::Pass(switches.delay);
        }
        let roll: f64 = rand::rng().random();
        let mut edge = 0.0;
        for (rate, fate) in [
            (rates.too_many_requests, FaultAction::Fail(429)),
            (rates.internal_error, FaultAction::Fail(500)),
            (rates.unavailable, FaultAction::Fail(503)),
            (rates.hang, FaultAction::Hang),
        ] {
            edge += rate;
            if roll < edge {
                return fate;
            }
        }
        FaultAction::Pass(switches.delay)
    }

    /// The denial of the first rule that matches the object, if that rule denies the request.
    pub(crate) fn check_admission(
        &self,
        kind: &str,
        object: &Value,
        dry_run: bool,
    ) -> Option<AdmissionDenial> {
        let switches = self.lock();
        let rule = switches.admission_rules.iter().find(|rule| {
            let labels = LabelRequirements::parse(&rule.labels).unwrap_or_default();
            (rule.kind.is_empty() || rule.kind == kind)
                && object::name(object).contains(&rule.name)
                && labels.selects(object)
        })?;
        let webhook = if rule.webhook.is_empty() { "policy.kubesim.local" } else { &rule.webhook };
        match rule.no_dry_run {
            true if !dry_run => None,
            true => Some(AdmissionDenial::NoDryRun { webhook: webhook.to_owned() }),
            false => {
                Some(AdmissionDenial::Denied { webhook: webhook.to_owned(), message: rule.message.clone() })
            }
        }
    }

    pub(crate) fn has_no_metrics(&self) -> bool {
        self.lock().no_metrics
    }

    pub(crate) fn pod_limit(&self, namespace: &str) -> Option<i64> {
        self.lock().pod_limits.iter().find(|(ns, _)| ns == namespace).map(|(_, limit)| *limit)
    }

    pub(crate) fn is_unschedulable(&self, pod: &str) -> bool {
        pod.contains("unschedulable") || self.lock().unschedulable_pods.iter().any(|part| pod.contains(part))
    }

    pub(crate) fn start_delay(&self, pod: &str) -> Duration {
        let switches = self.lock();
        switches.slow_start.iter().filter(|(part, _)| pod.contains(part)).map(|(_, delay)| *delay).sum()
    }

    /// The fault of a container, by the settings and by the markers in its image, command or environment.
    pub(crate) fn container_fault(&self, container: &Value) -> Option<ContainerFault> {
        let image = object::str_at(container, "image");
        let switches = self.lock();
        let listed = |parts: &[String]| parts.iter().any(|part| image.contains(part));
        if image.contains("does-not-exist")
            || image.contains("nonexistent")
            || listed(&switches.unpullable_images)
            || switches.checks_known_tags && !registry::has_image(image)
        {
            return Some(ContainerFault::ImagePull);
        }
        let injected =
            object::array_at(container, "env").iter().find(|e| object::str_at(e, "name") == "KUBESIM_FAULT");
        let injected = injected.map_or("", |e| object::str_at(e, "value"));
        let arguments =
            object::array_at(container, "command").iter().chain(object::array_at(container, "args"));
        let fails = arguments.filter_map(Value::as_str).any(|a| a.trim() == "exit 1" || a == "false");
        if image.contains("oomkill") || injected == "oom" || listed(&switches.out_of_memory_images) {
            return Some(ContainerFault::OutOfMemory);
        }
        if image.contains("crashloop") || injected == "crash" || fails || listed(&switches.crashing_images) {
            return Some(ContainerFault::Crash);
        }
        (image.contains("neverready") || injected == "never-ready" || listed(&switches.never_ready_images))
            .then_some(ContainerFault::NeverReady)
    }
}
