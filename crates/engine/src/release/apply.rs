//! Server-side apply, rank by rank, objects of one rank at once, only what differs.
//!
//! All objects of a rank are tried and each has its own result (P14); the next rank begins when all of them are
//! applied, because what comes later needs what comes before: the version that runs is worth more than half of a new
//! one. Names are recorded before the first object is made (P15).

use std::ops::Range;
use std::time::Duration;

use domain::finding::Finding;
use domain::policy::{ConflictPolicy, UpdateStrategy};
use domain::release::{StageName, StageState};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use super::drift::{self, Now};
use super::pass::{Flow, Pass, waiting};
use super::plan::{Asked, Step, plan};
use super::preflight;
use super::retry::{Failure, sentence};
use crate::api::{Api, Applied, Force, Resource};
use crate::error::Error;
use crate::observe::{Condition, Live};
use crate::record::{Entry, Record};
use crate::wanted::Wanted;

/// Kinds that were there before us and may hold things of others: they are never deleted by us.
const SHARED: [&str; 4] =
    ["Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim"];

/// One write to do.
struct Job {
    at: usize,
    step: Step,
    force: Force,
    /// The uid it had when it was last applied.
    uid: String,
    live: Option<Value>,
    /// What has to be known of an object that may have been there before us.
    look_first: Option<LookFirst>,
    body: Vec<u8>,
}

/// Why an object is read before it is written: the watch sees only what carries our label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookFirst {
    /// It is left alone if it is there.
    LeaveIfThere,
    /// It is adopted only if nothing of it would change.
    AdoptIfIdentical,
    /// Fields of it are the cluster's.
    KeepFields,
}

/// Applies what differs.
pub(crate) async fn run(pass: &mut Pass<'_>) -> Flow {
    if let Err(state) = intend(pass).await {
        pass.stage(StageName::Applied, state);
        return Flow::Stop;
    }
    let mut blocked = false;
    for group in ranks(pass) {
        if pass.is_outdated() {
            return Flow::Again;
        }
        if blocked {
            group.for_each(|at| only_look(pass, at));
            continue;
        }
        let jobs = decide(pass, group.clone()).await;
        write(pass, jobs).await;
        blocked = pass.targets[group].iter().any(|target| !target.applied);
        super::conclude::interim(pass);
    }
    let state = stage(pass);
    pass.stage(StageName::Applied, state);
    if blocked { Flow::Stop } else { Flow::Go }
}

/// Positions of the targets of each rank.
fn ranks(pass: &Pass<'_>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in 0..pass.targets.len() {
        let rank = |at: usize| pass.prepared.objects[pass.targets[at].index].rank;
        match groups.last_mut() {
            Some(group) if rank(group.start) == rank(at) => group.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// Records the names of everything that may be made, unless they are recorded already.
async fn intend(pass: &mut Pass<'_>) -> Result<(), StageState> {
    let mut news = false;
    for target in &pass.targets {
        let wanted = &pass.prepared.objects[target.index];
        let known = pass.entries.iter().any(|entry| entry.object.same_object(&wanted.object));
        if known || pass.is_read_only(&wanted.object) {
            continue;
        }
        news = true;
        let plural = target.resource.as_ref().map(|resource| resource.plural.clone());
        let live = target.live(wanted).filter(|live| live.release == Some(pass.slot.id));
        pass.entries.push(Entry {
            object: wanted.object.clone(),
            resource: plural.unwrap_or_default(),
            uid: live.as_ref().map(|live| live.uid.clone()).unwrap_or_default(),
            hash: live.map(|live| live.hash.clone()).unwrap_or_default(),
            ..Entry::default()
        });
    }
    let known = pass.cx.records.get(pass.slot.id);
    let generation = pass.order.want.generation;
    // A record that is ahead of the hub is set back before anything is: a restart in between finds what was decided.
    if !news && known.as_ref().is_some_and(|known| known.generation <= generation) {
        return Ok(());
    }
    let record = Record {
        revision: pass.revision,
        generation,
        bundle: Some(pass.prepared.digest.clone()),
        applied: pass.memory.applied.clone(),
        resources: pass.entries.clone(),
        eviction_start: None,
        ..known.map_or_else(
            || pass.cx.records.blank(pass.slot.id, &pass.order.want.workload),
            |known| (*known).clone(),
        )
    };
    let name = record.name.clone();
    let held = pass.memory.record.clone().filter(|failure| !failure.is_due());
    let failure = match held {
        Some(failure) => failure,
        None => match pass.cx.records.write(record).await {
            Ok(_) => {
                pass.memory.record = None;
                return Ok(());
            }
            Err(error) => Failure::after(pass.memory.record.as_ref(), error, &pass.cx.options),
        },
    };
    pass.wake_at(failure.due);
    let state = failure.stage(&format!("Record {name}"));
    pass.memory.record = Some(failure);
    Err(state)
}

/// What to write for the objects of one rank.
async fn decide(pass: &mut Pass<'_>, group: Range<usize>) -> Vec<Job> {
    let mut jobs = Vec::new();
    for at in group {
        if pass.targets[at].objects.is_none() && !established(pass, at).await {
            continue;
        }
        let prepared = pass.prepared.clone();
        let wanted = &prepared.objects[pass.targets[at].index];
        let live = pass.targets[at].live(wanted);
        let entry = pass.entry(&wanted.object).cloned();
        let release = pass.release();
        let rules = pass.rules.clone();
        let rule = rules.about(&pass.policies, &wanted.object);
        let asked = Asked { wanted, rule: &rule };
        let step = plan(release, asked, live.as_deref(), entry.as_ref(), pass.memory.object(&wanted.object));
        jobs.extend(job(pass, at, step, live.as_deref(), entry.map(|entry| entry.uid).unwrap_or_default()));
    }
    jobs
}

fn job(pass: &mut Pass<'_>, at: usize, step: Step, live: Option<&Live>, uid: String) -> Option<Job> {
    let prepared = pass.prepared.clone();
    let wanted = &prepared.objects[pass.targets[at].index];
    let take_over = pass.policies.conflict == ConflictPolicy::TakeOver;
    let mut force = if take_over { Force::Yes } else { Force::No };
    let needed =
        matches!(step, Step::Drifted(_)) || wanted.autoscaled || pass.rule(&wanted.object).leaves_fields();
    let value = live.filter(|_| needed).map(Live::value);
    match &step {
        Step::Settled | Step::Completed => {
            pass.targets[at].completed = step == Step::Completed;
            pass.targets[at].problem = outlived(wanted, &step, live);
            settle(pass, at);
            return None;
        }
        Step::Awaited => {
            pass.wait(at, Error::ObjectAwaited(wanted.object.to_string()));
            return None;
        }
        Step::Terminating => {
            let finalizers = live.map(|live| super::remove::finalizers(&live.value())).unwrap_or_default();
            pass.wait(at, Error::ObjectTerminating(finalizers));
            return None;
        }
        Step::Foreign(_) => {
            if let Some(message) = live.and_then(|live| preflight::taken(pass, live)) {
                let message = format!("{}: {message}", wanted.object);
                pass.targets[at].hold = Some(waiting("ResourceConflict", message));
                return None;
            }
            force = Force::Yes;
        }
        Step::Create | Step::Update | Step::Vanished | Step::Drifted(_) => {}
    }
    if let Some(failure) =
        pass.memory.object(&wanted.object).failure.clone().filter(|failure| !failure.is_due())
    {
        hold(pass, at, &failure);
        return None;
    }
    let drift = match &step {
        Step::Drifted(changes) => Some(&changes[..]),
        Step::Vanished => Some(&[][..]),
        _ => None,
    };
    if let Some(changes) = drift {
        // Told or not, what was applied was applied; whether it still is so is the other axis.
        pass.targets[at].applied = true;
        if drift::decide(pass, at, changes, value.as_ref()) == Now::Leave {
            return None;
        }
        pass.targets[at].applied = false;
        if matches!(step, Step::Drifted(_)) {
            force = Force::Yes;
        }
    }
    let rule = pass.rule(&wanted.object);
    let heal = matches!(step, Step::Drifted(_));
    let body = wanted.body(value.as_ref(), &rule, heal);
    let look_first = match step {
        Step::Create if rule.strategy == UpdateStrategy::CreateOnly => Some(LookFirst::LeaveIfThere),
        Step::Create | Step::Foreign(_) if pass.policies.conflict == ConflictPolicy::IfIdentical => {
            Some(LookFirst::AdoptIfIdentical)
        }
        Step::Create | Step::Vanished if rule.leaves_fields() => Some(LookFirst::KeepFields),
        _ => None,
    };
    Some(Job { at, step, force, uid, live: value, look_first, body })
}

/// What ran to its end is not updated any more; that a new revision would have changed it is said.
fn outlived(wanted: &Wanted, step: &Step, live: Option<&Live>) -> Option<Finding> {
    let differs = live.is_some_and(|live| live.hash != wanted.hash);
    (*step == Step::Completed && differs).then(|| {
        Finding::warning(
            "CompleteNotUpdated",
            "It ran to its end with the content of an earlier revision and is not updated any more.",
            "Give it another name to run the new content.",
        )
        .about(wanted.object.to_string())
    })
}

fn settle(pass: &mut Pass<'_>, at: usize) {
    let prepared = pass.prepared.clone();
    let memory = pass.memory.object(&prepared.objects[pass.targets[at].index].object);
    memory.failure = None;
    memory.waiting = None;
    memory.noted = None;
    pass.targets[at].applied = true;
}

fn hold(pass: &mut Pass<'_>, at: usize, failure: &Failure) {
    let object = &pass.prepared.objects[pass.targets[at].index].object;
    let subject = object.to_string();
    let problem = Finding::error(failure.error.label(), sentence("", &failure.error), failure.error.hint());
    pass.targets[at].problem = Some(problem.about(&*subject));
    pass.targets[at].hold = Some(failure.stage(&subject));
    pass.wake_at(failure.due);
}

/// A target of a rank whose turn has not come.
fn only_look(pass: &mut Pass<'_>, at: usize) {
    let wanted = &pass.prepared.objects[pass.targets[at].index];
    let live = pass.targets[at].live(wanted);
    pass.targets[at].applied =
        live.is_some_and(|live| live.hash == wanted.hash && live.release == Some(pass.slot.id));
}

/// Whether the definition of a custom resource is established and its kind is served by now. A wait, not an error.
async fn established(pass: &mut Pass<'_>, at: usize) -> bool {
    let prepared = pass.prepared.clone();
    let wanted = &prepared.objects[pass.targets[at].index];
    let Some(resource) = pass.targets[at].resource.clone() else { return false };
    if is_established(pass, &resource) {
        let served =
            pass.cx.discovery.refresh().await.ok().and_then(|kinds| kinds.of(&wanted.object).cloned());
        if let Some(served) = served {
            let objects = pass.cx.observed.objects(&served);
            if !matches!(objects.settled().await, Condition::NotServed | Condition::Failing(..)) {
                pass.targets[at].objects = Some(objects);
                pass.memory.object(&wanted.object).waiting = None;
                return true;
            }
            pass.cx.observed.forget_ended();
        }
        // Discovery follows the definition a moment later; nothing tells when.
        pass.wake_in(Duration::from_millis(50));
    }
    pass.slot.set_waiting(true);
    pass.wait(at, Error::DefinitionNotEstablished(wanted.object.kind.clone()));
    false
}

fn is_established(pass: &Pass<'_>, resource: &Resource) -> bool {
    let name = format!("{}.{}", resource.plural, resource.group);
    let definition = pass.targets.iter().find_map(|target| {
        let wanted = &pass.prepared.objects[target.index];
        let is_it = wanted.object.kind == "CustomResourceDefinition" && wanted.object.name == name;
        is_it.then(|| target.live(wanted)).flatten()
    });
    definition.is_some_and(|live| {
        let value = live.value();
        let conditions =
            value.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
    })
}

/// Does the writes of one rank at once.
async fn write(pass: &mut Pass<'_>, jobs: Vec<Job>) {
    if jobs.is_empty() {
        return;
    }
    // From the first write on, no bundle is applied completely until this one is.
    if pass.memory.applied.as_ref() != Some(&pass.prepared.digest) {
        pass.memory.applied = None;
    }
    pass.wrote = true;
    let (api, shared) = (&pass.api(), &*pass);
    let all: Vec<_> = jobs.into_iter().map(|job| write_job(shared, api, job)).collect();
    let results: Vec<(Job, Result<Applied, Error>)> =
        stream::iter(all).buffer_unordered(pass.cx.options.concurrency.max(1)).collect().await;
    for (job, result) in results {
        take(pass, job, result);
    }
}

async fn write_job(pass: &Pass<'_>, api: &Api, job: Job) -> (Job, Result<Applied, Error>) {
    let target = &pass.targets[job.at];
    let wanted = &pass.prepared.objects[target.index];
    let rule = pass.rule(&wanted.object);
    let asked = Asked { wanted, rule: &rule };
    let result = match &target.resource {
        Some(resource) => write_one(api, resource, asked, &job).await,
        None => Err(Error::ApiMissing(wanted.object.kind.clone())),
    };
    (job, result)
}

async fn write_one(api: &Api, resource: &Resource, asked: Asked<'_>, job: &Job) -> Result<Applied, Error> {
    let Asked { wanted, rule } = asked;
    let path = resource.object(&wanted.object.namespace, &wanted.object.name);
    let there = match job.look_first {
        None => None,
        Some(_) => match api.get(&path).await {
            Ok(there) => Some(there),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error),
        },
    };
    let body = match (job.look_first, there) {
        (Some(LookFirst::LeaveIfThere), Some(object)) => return Ok(Applied { object, created: false }),
        (Some(LookFirst::AdoptIfIdentical), Some(there)) => {
            identical(asked, &there)?;
            wanted.body(Some(&there), rule, false)
        }
        (Some(LookFirst::KeepFields), Some(there)) => wanted.body(Some(&there), rule, false),
        _ => job.body.clone(),
    };
    let result = api.apply(&path, body, job.force, false).await;
    if !matches!(result, Err(Error::ApplyConflict { .. })) || job.step != Step::Vanished || job.uid.is_empty()
    {
        return result;
    }
    // It looked gone because somebody took our label off. If it is the very object that was applied, it is put back;
    // one that somebody made anew is theirs, and the conflict stands.
    let there = api.get(&path).await?;
    if there.pointer("/metadata/uid").and_then(Value::as_str) != Some(&job.uid) {
        return result;
    }
    api.apply(&path, wanted.body(Some(&there), rule, true), Force::Yes, false).await
}

/// Whether applying would change nothing of an object that was there before, apart from our own marks.
pub(crate) fn identical(Asked { wanted, rule }: Asked<'_>, there: &Value) -> Result<(), Error> {
    let mut changes = domain::plan::diff(&wanted.compared(rule), there);
    let is_mark = |path: &str| {
        crate::wanted::MARKS.iter().any(|mark| path.ends_with(&mark.replace('/', "~1")))
            || matches!(path, "/metadata/labels" | "/metadata/annotations")
    };
    changes.retain(|change| !is_mark(&change.path) && !rule.ignores(&change.path));
    let unmarked = |field: &str| {
        let marks = wanted.compared(rule);
        let of = |value: &Value| value["metadata"][field].as_object().cloned().unwrap_or_default();
        of(&marks)
            .into_iter()
            .filter(|(key, _)| !crate::wanted::MARKS.contains(&key.as_str()))
            .all(|(key, value)| there["metadata"][field].get(&key) == Some(&value))
    };
    let mut fields: Vec<String> = changes.into_iter().map(|change| change.path).collect();
    for field in ["labels", "annotations"] {
        if !unmarked(field) && !fields.iter().any(|path| path.starts_with(&format!("/metadata/{field}"))) {
            fields.push(format!("/metadata/{field}"));
        }
    }
    if fields.is_empty() { Ok(()) } else { Err(Error::NotIdentical(fields)) }
}

fn take(pass: &mut Pass<'_>, job: Job, result: Result<Applied, Error>) {
    let prepared = pass.prepared.clone();
    let wanted = &prepared.objects[pass.targets[job.at].index];
    let applied = match result {
        Ok(applied) => applied,
        Err(error) => {
            let before = pass.memory.object(&wanted.object).failure.clone();
            let failure = Failure::after(before.as_ref(), error, &pass.cx.options);
            tracing::debug!(object = %wanted.object, reason = failure.error.label(), "apply failed");
            hold(pass, job.at, &failure);
            pass.memory.object(&wanted.object).failure = Some(failure);
            return;
        }
    };
    let live = Live::of(&applied.object);
    pass.cx.observed.pods.note_owner(&live);
    let memory = pass.memory.object(&wanted.object);
    memory.equal = Some((live.version.clone(), wanted.hash.clone()));
    let rules = pass.rules.clone();
    let rule = rules.about(&pass.policies, &wanted.object);
    let memory = pass.memory.object(&wanted.object);
    memory.own = domain::plan::diff(&wanted.compared(&rule), &applied.object);
    pass.targets[job.at].shared =
        job.step == Step::Create && !applied.created && SHARED.contains(&wanted.object.kind.as_str());
    let same = live.uid == job.uid;
    if let Some(objects) = &pass.targets[job.at].objects {
        objects.put(live);
    }
    settle(pass, job.at);
    match &job.step {
        Step::Drifted(changes) => {
            drift::healed(pass, &wanted.object, &drift::paths(changes), job.live.as_ref());
        }
        Step::Vanished if same => {
            let label = format!("/metadata/labels/{}", crate::wanted::RELEASE_LABEL.replace('/', "~1"));
            drift::healed(pass, &wanted.object, &[label], Some(&applied.object));
        }
        Step::Vanished => drift::healed(pass, &wanted.object, &[], None),
        _ => {}
    }
}

/// The stage: done, or the worst of what holds it.
fn stage(pass: &Pass<'_>) -> StageState {
    let holds: Vec<&StageState> = pass.targets.iter().filter_map(|target| target.hold.as_ref()).collect();
    let worst = holds.iter().find(|state| matches!(state, StageState::Failed(_))).or(holds.first());
    let Some(worst) = worst else {
        return StageState::Done;
    };
    let mut state = (*worst).clone();
    if let StageState::Failed(trouble) | StageState::Waiting(trouble) = &mut state
        && holds.len() > 1
    {
        trouble.message = format!("{} (and {} more)", trouble.message, holds.len() - 1);
    }
    state
}
