//! What a report says about drift, and how live values are adopted.

use serde_json::json;

use super::*;
use crate::kubernetes::id::OverrideId;
use crate::model::overrides::{ClusterSelector, Override, PatchOp};
use crate::model::release::SyncStatus;
use crate::model::report::ResourceStatus;
use crate::text::finding::Finding;
use crate::text::source_file::SourceFile;

fn settings() -> ObjectRef {
    ObjectRef {
        version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: "shop".to_owned(),
        name: "settings".to_owned(),
        ..ObjectRef::default()
    }
}

fn colour(live: Option<Value>) -> DriftedField {
    DriftedField {
        path: "/data/colour".to_owned(),
        applied: Some(json!("blue")),
        live,
        manager: "kubectl-edit".to_owned(),
        ..DriftedField::default()
    }
}

fn drifted(object: ObjectRef, fields: Vec<DriftedField>) -> ResourceStatus {
    let drifted = fields.iter().map(|field| field.path.clone()).collect();
    ResourceStatus { object, applied: true, drifted, drifted_fields: fields, ..ResourceStatus::default() }
}

#[test]
fn ten_thousand_fields_are_a_few_and_the_number_of_the_others() {
    let fields: Vec<DriftedField> =
        (0..49).map(|n| DriftedField { path: format!("/data/k{n}"), ..colour(Some(json!("red"))) }).collect();
    let rest = DriftedField::from_path("… 9951 more");
    let resource = drifted(settings(), [fields, vec![rest]].concat());
    let found = list_drifted_objects(SyncStatus::Drifted, &[resource]);
    assert_eq!((found.len(), found[0].fields.len(), found[0].field_count), (1, MAX_LISTED_FIELDS, 10_000));
}

#[test]
fn contested_objects_come_first_and_too_many_objects_are_counted_by_a_last_one() {
    let mut resources: Vec<ResourceStatus> = (0..MAX_DRIFTED_OBJECTS + 5)
        .map(|n| drifted(ObjectRef { name: format!("s{n}"), ..settings() }, vec![colour(Some(json!("red")))]))
        .collect();
    resources[50].problem = Some(Finding::warning(CONTESTED, "", ""));
    let found = list_drifted_objects(SyncStatus::Drifted, &resources);
    assert_eq!(found.len(), MAX_DRIFTED_OBJECTS);
    assert!(found[0].contested && found[0].object.name == "s50");
    let last = found.last().unwrap();
    assert_eq!((last.object.name.as_str(), last.field_count), ("… 6 more", 6));
    assert!(observed::is_remainder(&last.object));
    let keys: std::collections::BTreeSet<String> = found.iter().map(DriftedObject::key).collect();
    assert_eq!(keys.len(), MAX_DRIFTED_OBJECTS);
}

#[test]
fn an_object_that_is_gone_is_drift_unless_it_is_a_job_or_nothing_drifts() {
    let gone = |group: &str, kind: &str| ResourceStatus {
        object: ObjectRef { group: group.to_owned(), kind: kind.to_owned(), ..settings() },
        applied: true,
        available: Some(false),
        ..ResourceStatus::default()
    };
    let count = |sync, resource| list_drifted_objects(sync, &[resource]).len();
    assert_eq!(count(SyncStatus::Drifted, gone("", "ConfigMap")), 1);
    assert_eq!(count(SyncStatus::Drifted, gone("batch", "Job")), 0);
    assert_eq!(count(SyncStatus::Synced, gone("", "ConfigMap")), 0);
}

#[test]
fn the_digest_follows_the_values_and_not_the_time() {
    let digest = |field: DriftedField| {
        list_drifted_objects(SyncStatus::Drifted, &[drifted(settings(), vec![field])]).remove(0).digest
    };
    let red = digest(colour(Some(json!("red"))));
    let later = DriftedField { changed_at: Some(Timestamp::from_millis(5)), ..colour(Some(json!("red"))) };
    assert_eq!(digest(later), red);
    assert_ne!(digest(colour(Some(json!("green")))), red);
    assert_ne!(digest(colour(None)), red);
}

const FILE: &str = "# of the shop\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings # ours\ndata:\n  colour: blue # brand\n  size: \"2\"\n";

fn files(text: &str) -> Vec<SourceFile> {
    vec![SourceFile { name: "app.yaml".to_owned(), text: text.to_owned() }]
}

#[test]
fn an_adopted_value_changes_its_bytes_in_the_manifest_and_no_others() {
    let mut edited = files(FILE);
    adopt_into_files(&mut edited, "shop", &settings(), &[colour(Some(json!("red")))]).unwrap();
    assert_eq!(edited[0].text, FILE.replace("colour: blue", "colour: red"));
    let mut edited = files(FILE);
    adopt_into_files(&mut edited, "shop", &settings(), &[colour(None)]).unwrap();
    assert!(!edited[0].text.contains("colour") && edited[0].text.contains("size: \"2\""));

    let size = DriftedField { path: "/data/size".to_owned(), ..colour(Some(json!("3"))) };
    let mut edited = files(FILE);
    adopt_into_files(&mut edited, "shop", &settings(), &[colour(Some(json!("red"))), size]).unwrap();
    let both = FILE.replace("colour: blue", "colour: red").replace("size: \"2\"", "size: \"3\"");
    assert_eq!(edited[0].text, both);
}

#[test]
fn what_is_not_one_object_of_the_files_is_not_adopted() {
    let why = |text: &str, namespace: &str| {
        let mut edited = files(text);
        let fields =
            [DriftedField { path: "/data/size".to_owned(), ..colour(None) }, colour(Some(json!("red")))];
        let refused = adopt_into_files(&mut edited, namespace, &settings(), &fields);
        assert_eq!(edited, files(text), "nothing is half written");
        refused.unwrap_err().0
    };
    assert!(why(FILE, "other").contains("no document is ConfigMap shop/settings"));
    assert!(why(&format!("{FILE}---\n{FILE}"), "shop").contains("more than one document"));
    let templated = FILE.replace("colour: blue", "colour: ${{ cluster.name }}");
    assert!(why(&templated, "shop").contains("comes from a template in app.yaml"));
}

#[test]
fn p19_many_fields_of_a_long_file_are_not_adopted_at_once() {
    let long = format!("{FILE}---\napiVersion: v1\nkind: Other\ntext: {}\n", "x".repeat(1 << 20));
    let fields: Vec<DriftedField> =
        (0..5).map(|n| DriftedField { path: format!("/data/k{n}"), ..colour(Some(json!("red"))) }).collect();
    let mut edited = files(&long);
    let refused = adopt_into_files(&mut edited, "shop", &settings(), &fields).unwrap_err();
    assert!(refused.0.contains("too long for 5 fields at once"), "{}", refused.0);
    assert_eq!(edited, files(&long));
    adopt_into_files(&mut edited, "shop", &settings(), &fields[..1]).unwrap();
    assert!(edited[0].text.contains("k0: red"));
}

#[test]
fn a_value_that_is_hidden_shortened_or_unknown_is_not_adopted() {
    let why = |object: &ObjectRef, field: &DriftedField| check_adoptable(object, field).unwrap_err().0;
    let secret = ObjectRef { kind: "Secret".to_owned(), ..settings() };
    assert!(why(&secret, &colour(Some(json!("red")))).contains("hidden"));
    let of_other_group = ObjectRef { group: "x.test".to_owned(), ..secret };
    assert!(why(&of_other_group, &colour(Some(json!("red")))).contains("hidden"), "as the inbox shows it");
    assert!(why(&settings(), &colour(Some(json!({"a": "(hidden)"})))).contains("hidden"));
    // The manifest of a Secret, as it is reported and stored.
    let manifest = colour(Some(json!("kind: Secret\ndata: {a: (hidden)}\n")));
    assert!(why(&settings(), &manifest).contains("hidden"));
    assert!(why(&settings(), &colour(Some(json!("red…")))).contains("too long"));
    assert!(why(&settings(), &DriftedField::from_path("/data/colour")).contains("did not report"));
    let expression = colour(Some(json!(["${{ cluster.name }}"])));
    assert!(why(&settings(), &expression).contains("has ${{, which begins a template"));
    check_adoptable(&settings(), &colour(None)).unwrap();
}

#[test]
fn a_patch_replaces_the_one_of_the_same_field_and_the_last_override_of_the_cluster_gets_it() {
    let mut patches = Vec::new();
    put_patch(&mut patches, &settings(), &colour(Some(json!("red")))).unwrap();
    put_patch(&mut patches, &settings(), &colour(Some(json!("green")))).unwrap();
    assert_eq!(patches.len(), 1);
    assert_eq!(patches[0].op, PatchOp::Set { path: "/data/colour".to_owned(), value: json!("green") });
    put_patch(&mut patches, &settings(), &colour(None)).unwrap();
    assert_eq!(patches[0].op, PatchOp::Remove { path: "/data/colour".to_owned() });

    let named = |name: &str, priority: u32, clusters: &[&str]| Override {
        id: OverrideId::from_parts(1, 1),
        name: name.to_owned(),
        target: ClusterSelector {
            clusters: clusters.iter().map(|one| (*one).to_owned()).collect(),
            ..ClusterSelector::default()
        },
        priority,
        values: String::new(),
        patches: Vec::new(),
    };
    let all = [named("a", 900, &["eu-1"]), named("b", 500, &["eu-1"]), named("c", 999, &["eu-1", "us-1"])];
    assert_eq!(find_override_of_cluster(&all, "eu-1").unwrap().name, "a");
    assert!(find_override_of_cluster(&all, "us-1").is_none(), "the other clusters would change too");

    let patched = Override { patches, ..named("a", 900, &["eu-1"]) };
    let deciding = |cluster: &str, path: &str| {
        let found = find_deciding_override(std::slice::from_ref(&patched), cluster, &settings(), path);
        found.map(|one| one.name.clone())
    };
    assert_eq!(deciding("eu-1", "/data/colour").as_deref(), Some("a"));
    assert_eq!((deciding("us-1", "/data/colour"), deciding("eu-1", "/data/size")), (None, None));
}
