//! Limits on overrides: at the verb, after rendering, and on the work of a plan (G111).

use domain::Finding;
use domain::OverrideId;
use domain::labels::LabelSelector;
use domain::overrides::{ClusterSelector, MAX_PATCHES, ObjectSelector, Override, Patch, PatchOp};
use domain::workload::WorkloadSpec;
use hub::{Error, PublishOptions, WorkloadEdit};
use serde_json::{Value, json};

use crate::test_hub::{TestHub, everywhere, source};

fn override_everywhere(n: u64, patches: Vec<Patch>) -> Override {
    let target = ClusterSelector { selector: Some(LabelSelector::default()), ..ClusterSelector::default() };
    Override {
        id: OverrideId::from_parts(1, n.into()),
        name: format!("o-{n}"),
        target,
        priority: 500,
        values: String::new(),
        patches,
    }
}

fn merge(value: Value) -> Patch {
    let object = ObjectSelector { kind: "ConfigMap".into(), ..ObjectSelector::default() };
    Patch { object, op: PatchOp::Merge { value } }
}

/// A ConfigMap with this many bytes of text.
fn config_map(bytes: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  own: {}\n",
        "a".repeat(bytes)
    )
}

/// The blocking findings of the plan and of the publish of `web`.
async fn plan_and_publish(test: &TestHub) -> [Vec<Finding>; 2] {
    let blocking = |findings: Vec<Finding>| findings.into_iter().filter(Finding::is_blocking).collect();
    let planned = match test.hub.create_plan(&test.actor, "web", &PublishOptions::default()).await {
        Ok(plan) => plan.findings,
        Err(Error::Invalid(findings)) => findings,
        Err(other) => panic!("{other:?}"),
    };
    let published = test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await;
    let Err(Error::Invalid(published)) = published else { panic!("{published:?}") };
    [blocking(planned), blocking(published)]
}

async fn edit_spec(test: &TestHub, change: impl FnOnce(&mut WorkloadSpec)) -> Result<(), Error> {
    let mut spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    change(&mut spec);
    let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit, None).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn g111_an_object_that_an_override_makes_too_large_is_rejected_by_the_plan_and_the_publish() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    edit_spec(&test, |spec| {
        spec.source = source(&config_map(700_000));
        spec.overrides =
            vec![override_everywhere(1, vec![merge(json!({ "data": { "more": "b".repeat(500_000) } }))])];
    })
    .await
    .unwrap();
    for findings in plan_and_publish(&test).await {
        assert_eq!(findings.len(), 1, "{findings:?}");
        let Finding { code, message, clusters, .. } = &findings[0];
        assert_eq!((code.as_str(), clusters.as_slice()), ("G111", &["east".to_owned()][..]));
        assert!(message.contains("ConfigMap") && message.contains("1.1 MiB"), "{message}");
    }
    edit_spec(&test, |spec| spec.source = source(&config_map(100_000))).await.unwrap();
    test.publish("web").await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g111_overrides_that_need_too_much_work_on_all_clusters_are_not_applied() {
    let test = TestHub::open().await;
    for n in 0..20 {
        test.register_cluster(&format!("c-{n}"), &[]).await;
    }
    test.create_draft("web", everywhere()).await;
    let keys = |n: usize| -> Value {
        json!({ "data": (0..3).map(|key| (format!("k-{n}-{key}"), json!("v"))).collect::<serde_json::Map<_, _>>() })
    };
    let patches = (0..MAX_PATCHES).map(|n| merge(keys(n))).collect();
    edit_spec(&test, |spec| spec.overrides = vec![override_everywhere(1, patches)]).await.unwrap();
    for findings in plan_and_publish(&test).await {
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].code.as_str(), findings[0].path.as_str()), ("G111", "/overrides"));
        assert!(findings[0].message.contains("on 20 clusters"), "{}", findings[0].message);
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_with_overrides_over_the_limits_of_today_can_still_be_edited_but_not_extended() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    edit_spec(&test, |spec| spec.overrides = vec![override_everywhere(1, Vec::new())]).await.unwrap();
    // As an earlier version stored it.
    let deep = format!("{}1{}", r#"{"a":"#.repeat(70), "}".repeat(70));
    let patches = format!(r#""patches":[{{"object":{{}},"op":"merge","value":{deep}}}]"#);
    let draft = test.hub.get_workload("web").await.unwrap().workload.draft;
    let draft = serde_json::to_string(&draft).unwrap().replace(r#""patches":[]"#, &patches);
    test.execute_sql(&format!("UPDATE workload SET draft = '{draft}'")).await;
    edit_spec(&test, |spec| spec.namespace = "other".into()).await.unwrap();
    let extended = edit_spec(&test, |spec| spec.overrides.push(override_everywhere(2, Vec::new()))).await;
    let Err(Error::Invalid(findings)) = extended else { panic!("{extended:?}") };
    assert_eq!((findings[0].code.as_str(), findings[0].path.as_str()), ("G111", "/overrides/0/patches/0"));
    edit_spec(&test, |spec| spec.overrides.clear()).await.unwrap();
    test.close().await;
}
