//! Changes of parts of a draft.

use domain::overrides::ClusterSelector;
use domain::placement::{MAX_ENTRIES, Placement, Predicate};
use domain::request::OverridePut;
use domain::workload::{DriftPolicy, NewWorkload, Policies, Workload};
use hub::{DraftPatch, Error, OverrideChange, WorkloadEdit};

use crate::test_hub::{CONFIG, TestHub, everywhere, source};

async fn stored_workload(test: &TestHub) -> Workload {
    test.hub.get_workload("web").await.unwrap().workload
}

fn east_only() -> DraftPatch {
    let east = Predicate { names: vec!["east".into()], ..Predicate::default() };
    let placement = Placement { predicates: vec![east], ..Placement::default() };
    DraftPatch { placement: Some(placement), ..DraftPatch::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_part_keeps_the_other_parts_of_the_draft() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let mut spec = stored_workload(&test).await.draft;
    spec.policies.executor = "deployer".into();
    let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
    let before = test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();

    let changed = test.hub.change_draft(&test.actor, "web", east_only(), before.revision).await.unwrap();
    assert_eq!(changed.draft.placement.predicates[0].names, ["east"]);
    assert_eq!(changed.draft.source, before.draft.source);
    let policies = Policies { prune: false, drift: DriftPolicy::Notify, ..before.draft.policies.clone() };
    let patch = DraftPatch { policies: Some(policies), addon: Some(true), ..DraftPatch::default() };
    test.hub.change_draft(&test.actor, "web", patch, changed.revision).await.unwrap();
    let draft = stored_workload(&test).await.draft;
    assert_eq!((draft.addon, draft.policies.prune, draft.policies.drift), (true, false, DriftPolicy::Notify));
    assert_eq!(draft.policies.executor, "deployer");
    assert_eq!(draft.placement, changed.draft.placement);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_changed_with_the_draft_and_invalid_ones_store_nothing() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let before = stored_workload(&test).await;
    let labels = |key: &str| DraftPatch {
        labels: Some([(key.to_owned(), "shop".to_owned())].into()),
        namespace: Some("other".into()),
        ..DraftPatch::default()
    };
    let rejected = test.hub.change_draft(&test.actor, "web", labels("not a key"), before.revision).await;
    assert!(matches!(rejected, Err(Error::Invalid(findings)) if findings[0].code == "G215"));
    assert_eq!(stored_workload(&test).await, before);

    let changed = test.hub.change_draft(&test.actor, "web", labels("team"), before.revision).await.unwrap();
    assert_eq!(stored_workload(&test).await, changed);
    assert_eq!((changed.labels["team"].as_str(), changed.draft.namespace.as_str()), ("shop", "other"));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_based_on_an_older_resource_version_is_rejected_and_stores_nothing() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let base = stored_workload(&test).await.revision;
    let namespace = DraftPatch { namespace: Some("other".into()), ..DraftPatch::default() };
    let edited = test.hub.change_draft(&test.actor, "web", namespace, base).await.unwrap();

    let rejected = test.hub.change_draft(&test.actor, "web", east_only(), base).await;
    assert!(
        matches!(rejected, Err(Error::RevisionConflict { current }) if current == edited.revision),
        "{rejected:?}"
    );
    assert_eq!(stored_workload(&test).await, edited);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_changes_with_one_resource_version_only_one_is_stored() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let base = stored_workload(&test).await.revision;
    let namespace = DraftPatch { namespace: Some("other".into()), ..DraftPatch::default() };
    let (first, second) = tokio::join!(
        test.hub.change_draft(&test.actor, "web", namespace, base),
        test.hub.change_draft(&test.actor, "web", east_only(), base),
    );
    let (stored, rejected) = if first.is_ok() { (first, second) } else { (second, first) };
    assert!(matches!(rejected, Err(Error::RevisionConflict { .. })), "{rejected:?}");
    assert_eq!(stored_workload(&test).await, stored.unwrap());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_accepted_with_an_older_resource_version_and_not_stored() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let base = stored_workload(&test).await.revision;
    let text = format!("{CONFIG}# saved\n");
    let patch = DraftPatch { source: Some(source(&text)), ..DraftPatch::default() };
    let saved = test.hub.change_draft(&test.actor, "web", patch.clone(), base).await.unwrap();
    let events = test.event_messages().await.len();

    let again = test.hub.change_draft(&test.actor, "web", patch, base).await.unwrap();
    assert_eq!(again, saved);
    assert_eq!(test.event_messages().await.len(), events);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_saved_again_under_its_name_keeps_its_id() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let content = |priority| OverridePut {
        target: ClusterSelector { clusters: vec!["east".into()], ..ClusterSelector::default() },
        priority,
        values: String::new(),
        patches: Vec::new(),
    };
    let save = async |priority| {
        let change = OverrideChange::Save { name: "east".into(), content: content(priority) };
        let saved = test.hub.change_override(&test.actor, "web", change, None).await;
        let overrides = saved.unwrap().draft.overrides;
        assert_eq!((overrides.len(), overrides[0].priority), (1, priority));
        overrides[0].id
    };
    assert_eq!(save(500).await, save(600).await);
    let remove = OverrideChange::Remove { name: "east".into() };
    test.hub.change_override(&test.actor, "web", remove.clone(), None).await.unwrap();
    let rejected = test.hub.change_override(&test.actor, "web", remove, None).await;
    assert!(matches!(rejected, Err(Error::NotFound { .. })), "{rejected:?}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_placement_with_too_many_predicates_is_neither_stored_nor_evaluated() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let excessive = Placement { predicates: vec![Predicate::default(); MAX_ENTRIES + 1], ..everywhere() };
    let mut spec = stored_workload(&test).await.draft;
    spec.placement = excessive.clone();
    let edit = WorkloadEdit { spec: Some(spec.clone()), ..WorkloadEdit::default() };
    let patch = DraftPatch { placement: Some(excessive.clone()), ..DraftPatch::default() };
    let new = NewWorkload { name: "other".into(), spec: spec.clone(), ..NewWorkload::default() };
    let refused = [
        test.hub.edit_workload(&test.actor, "web", edit, None).await.map(drop),
        test.hub
            .change_draft(&test.actor, "web", patch, stored_workload(&test).await.revision)
            .await
            .map(drop),
        test.hub.create_workload(&test.actor, new).await.map(drop),
        test.hub.check_workload(&test.actor, "web", &spec).await.map(drop),
        test.hub.preview_placement("web", &excessive).await.map(drop),
    ];
    for outcome in refused {
        let Err(Error::Invalid(findings)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(findings[0].path, "/placement/predicates", "{findings:?}");
    }
    assert_eq!(stored_workload(&test).await.draft.placement, everywhere());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_workload_at_the_same_time_without_a_precondition_are_all_stored() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let before = stored_workload(&test).await;
    let mut spec = before.draft.clone();
    spec.namespace = "other".to_owned();
    let labels = [("team".to_owned(), "a".to_owned())].into();
    let edits = [
        WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() },
        WorkloadEdit { labels: Some(labels), ..WorkloadEdit::default() },
        WorkloadEdit { owners: Some(vec!["ben".to_owned()]), ..WorkloadEdit::default() },
    ];
    let edited = edits.map(|edit| test.hub.edit_workload(&test.actor, "web", edit, None));
    let edited = futures::future::join_all(edited).await;
    assert!(edited.iter().all(Result::is_ok), "{edited:?}");
    let after = stored_workload(&test).await;
    assert_eq!((after.draft.namespace.as_str(), after.labels.len()), ("other", 1));
    assert_eq!((after.owners, after.revision), (vec!["ben".to_owned()], before.revision + 3));
    let owners = (0..8).map(|number| {
        let edit = WorkloadEdit { owners: Some(vec![format!("user-{number}")]), ..WorkloadEdit::default() };
        test.hub.edit_workload(&test.actor, "web", edit, None)
    });
    let edited = futures::future::join_all(owners).await;
    assert!(edited.iter().all(Result::is_ok), "{edited:?}");
    assert_eq!(stored_workload(&test).await.revision, before.revision + 11);
    test.close().await;
}
