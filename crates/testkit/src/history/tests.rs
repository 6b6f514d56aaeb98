//! A correct history has no violation, and for every rule a history that breaks it has exactly that violation.

use super::*;

const RELEASE: &str = "release-1";
const ROW: &str = "placer_queue/web";

/// A correct run: two publishes of one workload on one cluster, the second with a lost response, and the reads at the end.
struct Example {
    entries: Vec<Action>,
    database: Vec<DatabaseChange>,
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn publish(message: &str, content: &str) -> ClientOperation {
    let contents = BTreeMap::from([(text("eu-1"), text(content))]);
    ClientOperation::Publish { workload: text("web"), message: text(message), contents }
}

fn shown(number: u32, message: &str) -> ShownRevision {
    ShownRevision { number, message: text(message) }
}

fn on_cluster(change: ApiServerChange) -> Action {
    Action::Cluster { cluster: text("eu-1"), change }
}

fn record(generation: i64, uids: &[&str]) -> Action {
    let objects = uids.iter().map(|uid| listed("web", uid)).collect();
    on_cluster(ApiServerChange::RecordWritten { release: text(RELEASE), generation, objects })
}

fn listed(name: &str, uid: &str) -> ListedObject {
    ListedObject { name: text(name), uid: text(uid) }
}

fn written(uid: &str, owner: &str) -> Action {
    let (name, content) = (text("web"), String::new());
    on_cluster(ApiServerChange::ObjectWritten { uid: text(uid), name, owner: text(owner), content })
}

fn deleted(uid: &str) -> Action {
    on_cluster(ApiServerChange::ObjectDeleted { uid: text(uid), name: text("web") })
}

fn report(generation: i64, applied: &str) -> SentReport {
    SentReport {
        cluster: text("eu-1"),
        release: text(RELEASE),
        generation,
        applied: Some(text(applied)),
        sync: text("Synced"),
        health: text("Healthy"),
        removed: false,
    }
}

fn healthy(generation: i64, applied: &str) -> ShownRelease {
    ShownRelease {
        release: text(RELEASE),
        cluster: text("eu-1"),
        state: text("Healthy"),
        generation,
        applied: Some(text(applied)),
        sync: text("Synced"),
        health: text("Healthy"),
    }
}

fn read_releases(id: u64, releases: Vec<ShownRelease>) -> [Action; 2] {
    [
        Action::Invoked { id, operation: ClientOperation::ReadReleases { workload: text("web") } },
        Action::Completed { id, outcome: Outcome::Releases(releases) },
    ]
}

fn read_revisions(id: u64, revisions: Vec<ShownRevision>) -> [Action; 2] {
    [
        Action::Invoked { id, operation: ClientOperation::ReadRevisions { workload: text("web") } },
        Action::Completed { id, outcome: Outcome::Revisions(revisions) },
    ]
}

fn final_state() -> FinalState {
    FinalState {
        workload: text("web"),
        cluster: text("eu-1"),
        state: text("Healthy"),
        desired: Some(text("bundle-2")),
        applied: Some(text("bundle-2")),
        content: Some(text("2")),
    }
}

/// A server places a revision: claim, write, state, event, end of the claim.
fn placed(epoch: i64, revision: i64, holder: &str) -> Vec<DatabaseChange> {
    let (row, release) = (text(ROW), text(RELEASE));
    vec![
        DatabaseChange::ClaimTaken { row: row.clone(), epoch, holder: text(holder) },
        DatabaseChange::DesiredWritten {
            row: row.clone(),
            release: release.clone(),
            revision,
            holder: text(holder),
        },
        DatabaseChange::GenerationWritten { release, generation: revision },
        state_changed("Healthy", "Queued"),
        DatabaseChange::ClaimEnded { row, epoch, holder: text(holder) },
        event("web", "", None),
    ]
}

fn state_changed(from: &str, to: &str) -> DatabaseChange {
    DatabaseChange::StateChanged {
        release: text(RELEASE),
        workload: text("web"),
        cluster: text("eu-1"),
        from: text(from),
        to: text(to),
    }
}

fn event(workload: &str, cluster: &str, published: Option<u32>) -> DatabaseChange {
    DatabaseChange::EventWritten {
        workload: text(workload),
        cluster: text(cluster),
        release: String::new(),
        published,
        message: String::new(),
    }
}

impl Example {
    fn new() -> Self {
        let unknown = Outcome::Unknown { reason: text("the connection broke") };
        let mut entries = vec![
            Action::Invoked { id: 1, operation: publish("first", "1") },
            Action::Completed { id: 1, outcome: Outcome::Accepted { revision: 1 } },
            record(1, &["a"]),
            Action::ReportSent(report(1, "bundle-1")),
        ];
        entries.extend(read_releases(2, vec![healthy(1, "bundle-1")]));
        entries.extend(read_revisions(3, vec![shown(1, "first")]));
        entries.extend([
            Action::Invoked { id: 4, operation: publish("second", "2") },
            Action::Completed { id: 4, outcome: unknown },
            record(2, &["a", "b"]),
            deleted("a"),
            Action::ReportSent(report(2, "bundle-2")),
            Action::Final(final_state()),
        ]);
        entries.extend(read_releases(5, vec![healthy(2, "bundle-2")]));
        entries.extend(read_revisions(6, vec![shown(2, "second"), shown(1, "first")]));
        let mut database = vec![event("web", "", Some(1))];
        database.extend(placed(1, 1, "one"));
        database.extend([state_changed("Queued", "Healthy"), event("web", "eu-1", None)]);
        database.push(event("web", "", Some(2)));
        database.extend(placed(2, 2, "two"));
        Self { entries, database }
    }

    fn check(self) -> Vec<String> {
        let entries = self.entries.into_iter().map(|action| HistoryEntry { millis: 0, action }).collect();
        let history = History { seed: 1, entries, database: self.database };
        check(&history).iter().map(InvariantViolation::to_string).collect()
    }

    /// Replaces the first entry that equals `old`.
    fn replace(mut self, old: &Action, new: Action) -> Self {
        let found = self.entries.iter_mut().find(|action| *action == old).unwrap();
        *found = new;
        self
    }

    fn with(mut self, more: impl IntoIterator<Item = Action>) -> Self {
        self.entries.extend(more);
        self
    }

    fn with_changes(mut self, more: impl IntoIterator<Item = DatabaseChange>) -> Self {
        self.database.extend(more);
        self
    }

    /// Exactly one violation: of this invariant, and with all of these words.
    #[track_caller]
    fn violates(self, invariant: Invariant, words: &[&str]) {
        let found = self.check();
        assert_eq!(found.len(), 1, "{found:#?}");
        let prefix = format!("{invariant:?}: ");
        assert!(
            found[0].starts_with(&prefix) && words.iter().all(|word| found[0].contains(word)),
            "{found:#?}"
        );
    }
}

fn complete(id: u64, outcome: Outcome) -> Action {
    Action::Completed { id, outcome }
}

#[test]
fn a_correct_history_has_no_violation() {
    assert_eq!(Example::new().check(), [""; 0]);
}

#[test]
fn i1_an_accepted_revision_that_a_later_read_lacks_is_a_violation() {
    let both = Outcome::Revisions(vec![shown(2, "second"), shown(1, "first")]);
    let lost = Outcome::Revisions(vec![shown(2, "second")]);
    let found = Example::new().replace(&complete(6, both), complete(6, lost)).check();
    let words = "I1: revision 1 of web (\"first\") was accepted and is lost";
    assert!(found.iter().any(|fault| fault == words), "{found:#?}");
    assert!(found.iter().all(|fault| fault.starts_with("I1: ")), "{found:#?}");
}

#[test]
fn i1_a_revision_with_a_lost_response_that_was_shown_and_is_gone_is_a_violation() {
    let more = read_revisions(7, vec![shown(1, "first")]);
    let finals = FinalState { content: Some(text("1")), ..final_state() };
    let example = Example::new().replace(&Action::Final(final_state()), Action::Final(finals));
    example.with(more).violates(Invariant::I1, &["revision 2", "was shown and is lost"]);
}

#[test]
fn i1_a_rejected_publish_with_a_revision_is_a_violation() {
    let unknown = Outcome::Unknown { reason: text("the connection broke") };
    let rejected = Outcome::Rejected { reason: text("403") };
    let example = Example::new().replace(&complete(4, unknown), complete(4, rejected));
    example.violates(Invariant::I1, &["\"second\"", "was rejected"]);
}

#[test]
fn i1_one_publish_with_two_revisions_is_a_violation() {
    let mut example = Example::new()
        .with(read_revisions(7, vec![shown(3, "second"), shown(2, "second"), shown(1, "first")]));
    example.database.push(event("web", "", Some(3)));
    example.violates(Invariant::I1, &["\"second\"", "two revisions"]);
}

#[test]
fn i1_a_revision_that_nobody_published_is_a_violation() {
    let more = read_revisions(7, vec![shown(3, "third"), shown(2, "second"), shown(1, "first")]);
    let example = Example::new().with(more).with_changes([event("web", "", Some(3))]);
    example.violates(Invariant::I1, &["revision 3", "never published"]);
}

#[test]
fn i1_a_revision_with_the_number_of_an_earlier_one_is_a_violation() {
    let unknown = Outcome::Unknown { reason: text("the connection broke") };
    let example =
        Example::new().replace(&complete(4, unknown), complete(4, Outcome::Accepted { revision: 1 }));
    let found = example.check();
    assert!(found.iter().any(|fault| fault.contains("revision 1 had been accepted before")), "{found:#?}");
}

#[test]
fn i1_a_publish_after_which_nothing_was_read_is_not_proven() {
    let unread = [Action::Invoked { id: 7, operation: publish("third", "3") }];
    Example::new().with(unread).violates(Invariant::I1, &["never read after its last publish"]);
}

#[test]
fn i2_a_record_with_an_older_generation_is_a_violation() {
    Example::new().with([record(1, &["b"])]).violates(Invariant::I2, &["from generation 2 to 1"]);
}

#[test]
fn i2_a_record_that_was_deleted_may_begin_again() {
    let gone = on_cluster(ApiServerChange::RecordDeleted { release: text(RELEASE) });
    assert_eq!(Example::new().with([gone, record(1, &["b"])]).check(), [""; 0]);
}

#[test]
fn i2_a_generation_that_decreases_in_the_database_is_a_violation() {
    let back = DatabaseChange::GenerationWritten { release: text(RELEASE), generation: 1 };
    Example::new().with_changes([back]).violates(Invariant::I2, &["generation", "from 2 to 1"]);
}

#[test]
fn i2_an_older_revision_that_becomes_desired_again_is_a_violation() {
    let mut changes = placed(3, 1, "one");
    changes.retain(|change| !matches!(change, DatabaseChange::GenerationWritten { .. }));
    Example::new().with_changes(changes).violates(Invariant::I2, &["desired revision", "from 2 to 1"]);
}

#[test]
fn i3_a_claim_that_is_settled_by_another_holder_is_a_violation() {
    let taken = DatabaseChange::ClaimTaken { row: text(ROW), epoch: 3, holder: text("one") };
    let ended = DatabaseChange::ClaimEnded { row: text(ROW), epoch: 3, holder: text("two") };
    Example::new()
        .with_changes([taken, ended])
        .violates(Invariant::I3, &["two settled", "one has claimed it in epoch 3"]);
}

#[test]
fn i3_a_claim_that_is_settled_twice_or_after_another_one_is_a_violation() {
    let ended = DatabaseChange::ClaimEnded { row: text(ROW), epoch: 2, holder: text("two") };
    Example::new().with_changes([ended.clone()]).violates(Invariant::I3, &["has ended"]);
    let taken =
        |epoch, holder: &str| DatabaseChange::ClaimTaken { row: text(ROW), epoch, holder: text(holder) };
    let late = DatabaseChange::ClaimEnded { row: text(ROW), epoch: 3, holder: text("two") };
    Example::new()
        .with_changes([taken(3, "two"), taken(4, "one"), late])
        .violates(Invariant::I3, &["epoch 3", "one has claimed it in epoch 4"]);
}

#[test]
fn i3_an_epoch_that_is_issued_twice_is_a_violation() {
    let taken = DatabaseChange::ClaimTaken { row: text(ROW), epoch: 2, holder: text("one") };
    Example::new().with_changes([taken]).violates(Invariant::I3, &["in epoch 2"]);
}

#[test]
fn i3_a_write_without_the_claim_is_a_violation() {
    let write = |holder: &str| DatabaseChange::DesiredWritten {
        row: text(ROW),
        release: text(RELEASE),
        revision: 3,
        holder: text(holder),
    };
    Example::new().with_changes([write("two")]).violates(Invariant::I3, &["without the claim", "has ended"]);
    let taken = DatabaseChange::ClaimTaken { row: text(ROW), epoch: 3, holder: text("one") };
    Example::new()
        .with_changes([taken, write("two")])
        .violates(Invariant::I3, &["two set", "one has claimed it in epoch 3"]);
}

#[test]
fn i4_a_cluster_with_other_content_than_the_newest_revision_is_a_violation() {
    let old = FinalState { content: Some(text("1")), ..final_state() };
    Example::new()
        .replace(&Action::Final(final_state()), Action::Final(old))
        .violates(Invariant::I4, &["Some(\"1\")", "\"second\""]);
}

#[test]
fn i4_a_release_that_is_not_healthy_or_applies_another_bundle_is_a_violation() {
    let queued = FinalState { state: text("Queued"), ..final_state() };
    Example::new()
        .replace(&Action::Final(final_state()), Action::Final(queued))
        .violates(Invariant::I4, &["\"Queued\" at the end"]);
    let other = FinalState { applied: Some(text("bundle-1")), ..final_state() };
    Example::new()
        .replace(&Action::Final(final_state()), Action::Final(other))
        .violates(Invariant::I4, &["bundle-1", "bundle-2"]);
}

#[test]
fn i4_a_cluster_that_was_not_read_at_the_end_is_not_proven() {
    let mut example = Example::new();
    example.entries.retain(|action| !matches!(action, Action::Final(_)));
    example.violates(Invariant::I4, &["was not read at the end"]);
}

#[test]
fn i4_an_object_that_is_applied_again_while_it_is_unpublished_is_a_violation() {
    let unpublish =
        Action::Invoked { id: 9, operation: ClientOperation::Unpublish { workload: text("web") } };
    let unpublished = Action::Completed { id: 9, outcome: Outcome::Unpublished };
    let removal = [unpublish, unpublished, deleted("b")];
    let again = written("d", RELEASE);
    assert_eq!(Example::new().with(removal.clone()).check(), [""; 0]);
    let example = Example::new().with(removal).with([again.clone()]);
    example.violates(Invariant::I4, &["web on eu-1", "applied again"]);
    assert_eq!(Example::new().with([deleted("b"), again]).check(), [""; 0], "it is published");
}

#[test]
fn i5_a_deletion_of_an_object_that_no_record_lists_is_a_violation() {
    Example::new().with([deleted("bystander")]).violates(Invariant::I5, &["bystander", "no record lists it"]);
    let mut example = Example::new();
    example.entries.retain(|action| *action != record(2, &["a", "b"]));
    assert_eq!(example.check(), [""; 0], "the first record lists it");
    let gone = on_cluster(ApiServerChange::RecordDeleted { release: text(RELEASE) });
    Example::new().with([gone, deleted("b")]).violates(Invariant::I5, &["(b)"]);
}

#[test]
fn i5_an_object_that_is_listed_without_uid_may_be_deleted_only_with_the_label_of_the_release() {
    let unrecorded = [record(3, &[""]), written("c", RELEASE), deleted("c")];
    assert_eq!(Example::new().with(unrecorded).check(), [""; 0]);
    let foreign = [record(3, &[""]), written("c", "release-2"), deleted("c")];
    Example::new().with(foreign).violates(Invariant::I5, &["(c)"]);
    let never_labelled = [record(3, &[""]), written("c", ""), deleted("c")];
    Example::new().with(never_labelled).violates(Invariant::I5, &["(c)"]);
}

#[test]
fn i5_a_deletion_by_the_run_itself_explains_one_deletion() {
    let user = on_cluster(ApiServerChange::UserDeletes { name: text("web") });
    assert_eq!(Example::new().with([user.clone(), deleted("c")]).check(), [""; 0]);
    Example::new().with([user, deleted("c"), deleted("d")]).violates(Invariant::I5, &["(d)"]);
}

#[test]
fn i6_healthy_without_a_report_of_this_generation_is_a_violation() {
    let more = read_releases(7, vec![healthy(3, "bundle-2")]);
    Example::new().with(more).violates(Invariant::I6, &["generation 3", "no report says so"]);
}

#[test]
fn i6_a_status_that_is_shown_before_its_report_is_sent_is_a_violation() {
    let late = read_releases(7, vec![healthy(3, "bundle-3")]);
    let example = Example::new().with(late).with([Action::ReportSent(report(3, "bundle-3"))]);
    example.violates(Invariant::I6, &["bundle-3", "no report says so"]);
}

#[test]
fn i6_a_removal_or_a_health_that_nobody_reported_is_a_violation() {
    let with_state = |state: &str, health: &str| ShownRelease {
        state: text(state),
        health: text(health),
        applied: None,
        ..healthy(2, "")
    };
    let removed = read_releases(7, vec![with_state("Removed", "Unknown")]);
    Example::new().with(removed).violates(Invariant::I6, &["Removed"]);
    let degraded = read_releases(7, vec![with_state("Degraded", "Degraded")]);
    Example::new().with(degraded).violates(Invariant::I6, &["Degraded"]);
    let pending = read_releases(7, vec![with_state("Pending", "Unknown")]);
    assert_eq!(Example::new().with(pending).check(), [""; 0], "it is a state of the hub");
    let undelivered = ShownRelease { release: text("release-9"), ..with_state("Removed", "Unknown") };
    let undelivered = read_releases(7, vec![undelivered]);
    assert_eq!(Example::new().with(undelivered).check(), [""; 0], "nothing of it was on the cluster");
}

#[test]
fn i7_a_change_of_a_state_without_an_event_is_a_violation() {
    let changes = [
        state_changed("Queued", "Applying"),
        state_changed("Applying", "Healthy"),
        event("web", "eu-1", None),
    ];
    Example::new().with_changes(changes).violates(Invariant::I7, &["\"Queued\" to \"Applying\""]);
    let last = [state_changed("Queued", "Healthy"), event("web", "us-1", None), event("api", "", None)];
    Example::new().with_changes(last).violates(Invariant::I7, &["\"Queued\" to \"Healthy\""]);
    let offline = [state_changed("Healthy", "Unknown"), event("", "eu-1", None)];
    assert_eq!(Example::new().with_changes(offline).check(), [""; 0], "an event of the cluster is one");
}

#[test]
fn i7_a_revision_without_an_event_or_with_two_is_a_violation() {
    Example::new()
        .with_changes([event("web", "", Some(2))])
        .violates(Invariant::I7, &["revision 2", "2 events"]);
    let mut example = Example::new();
    example.database.retain(|change| *change != event("web", "", Some(1)));
    example.violates(Invariant::I7, &["revision 1", "0 events"]);
}

#[test]
fn a_saved_history_reads_back() {
    let entries =
        Example::new().entries.into_iter().map(|action| HistoryEntry { millis: 7, action }).collect();
    let history = History { seed: 42, entries, database: Example::new().database };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/history.json");
    history.save(&path).unwrap();
    let read: History = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(read, history);
}

#[test]
fn a_recorder_numbers_operations_and_retains_the_order() {
    let recorder = HistoryRecorder::new(42);
    let first = recorder.invoke(publish("first", "1"));
    let second = recorder.invoke(ClientOperation::ReadRevisions { workload: text("web") });
    recorder.complete(second, Outcome::Revisions(Vec::new()));
    recorder.complete(first, Outcome::Accepted { revision: 1 });
    let history = recorder.finish(Vec::new());
    let ids: Vec<u64> = history
        .entries
        .iter()
        .filter_map(|entry| match &entry.action {
            Action::Invoked { id, .. } | Action::Completed { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!((history.seed, ids), (42, vec![first, second, second, first]));
}
