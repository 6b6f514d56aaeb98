//! Records of releases: what is read back, and what is no record.

use domain::object::ObjectRef;

use super::hook_progress::HookOperation;
use super::*;

#[test]
fn s3_8_a_record_is_parsed_from_its_manifest_without_loss() {
    let mut record = AppliedRelease::new(ReleaseId::from_parts(1, 2), "shop", &"a".repeat(64));
    record.agent = "agent".into();
    record.eviction_start = Some(Timestamp::from_millis(5_000));
    record.revision = 4;
    record.generation = 6;
    record.bundle = Some(Digest::compute(b"b"));
    record.hooks = Some(HookProgress {
        bundle: Digest::compute(b"b"),
        operation: HookOperation::Install,
        generation: 6,
        succeeded: vec!["run".into()],
        finished: true,
        installed: true,
    });
    record.removal_hooks = vec![json!({"kind": "Job", "metadata": {"name": "a"}})];
    let object = ObjectRef { kind: "ConfigMap".into(), name: "a".into(), ..Default::default() };
    let fields = vec!["/data/key".to_owned()];
    record.contested = Some(ContestedFields {
        revision: 4,
        sync_nonce: 2,
        objects: vec![ContestedObject { object, fields }],
    });
    record.resources.push(InventoryEntry {
        object: ObjectRef {
            version: "v1".into(),
            kind: "ConfigMap".into(),
            name: "a".into(),
            ..Default::default()
        },
        resource: "configmaps".into(),
        uid: "u".into(),
        hash: "h".into(),
        ..InventoryEntry::default()
    });
    assert_eq!(AppliedRelease::from_object(&record.to_manifest()), Some(record.clone()));
    assert_eq!(record.name, format!("{}-{}", "a".repeat(64), record.release.to_string().to_lowercase()));
    assert!(domain::name::is_subdomain(&record.name));
}

#[tokio::test]
async fn a_list_older_than_a_write_does_not_drop_the_written_record() {
    let records = AppliedReleases::new(ApiClient::unreachable(), &Options::new(|| Timestamp::from_millis(0)));
    let record = Arc::new(records.new_record(ReleaseId::from_parts(1, 2), "shop"));
    records.begin_list();
    records.insert_written(record.clone(), 7);
    records.replace_listed(&[], 6);
    assert_eq!(records.get(record.release), Some(record.clone()));
    records.begin_list();
    records.replace_listed(&[], 8);
    assert_eq!(records.get(record.release), None, "the next list is newer");
    records.begin_list();
    records.insert_written(record.clone(), 9);
    records.replace_listed(&[], 10);
    assert_eq!(records.get(record.release), None, "it was deleted before the list");
}

#[test]
fn a_record_without_a_hub_hash_is_read_and_keeps_its_name() {
    let old = json!({"metadata": {"name": "shop-1", "uid": "u"}, "spec": {"releaseId": ReleaseId::from_parts(1, 2),
        "workload": "shop", "revision": 1, "bundle": Digest::compute(b"b").as_str(), "resources": []}});
    let read = AppliedRelease::from_object(&old).unwrap();
    assert_eq!((read.hub_hash.as_str(), read.bundle.clone()), ("", Some(Digest::compute(b"b"))));
    assert_eq!(read.name, "shop-1", "its name does not change");
}

#[test]
fn p13_a_record_of_an_earlier_version_does_not_tell_what_another_revision_left_to_others() {
    let read = |recorded: bool| {
        let mut record = AppliedRelease::new(ReleaseId::from_parts(1, 2), "shop", "");
        (record.revision, record.left_fields_recorded) = (1, recorded);
        let applied = InventoryEntry { hash: "h".into(), ..InventoryEntry::default() };
        record.resources = vec![applied, InventoryEntry::default()];
        AppliedRelease::from_object(&record.to_manifest()).unwrap()
    };
    let left_fields = |recorded: bool, revision: u32| -> Vec<String> {
        read(recorded).entries_for(revision).into_iter().map(|entry| entry.left_fields).collect()
    };
    assert_eq!(left_fields(false, 2), [UNKNOWN_LEFT_FIELDS, ""], "nothing was left of what was not applied");
    assert_eq!(left_fields(false, 1), ["", ""], "its policies are the desired ones");
    assert_eq!(left_fields(true, 2), ["", ""]);
}

#[test]
fn invalid_records_are_ignored() {
    assert_eq!(
        AppliedRelease::from_object(&json!({"metadata": {"name": "x"}, "spec": {"releaseId": "no"}})),
        None
    );
}
