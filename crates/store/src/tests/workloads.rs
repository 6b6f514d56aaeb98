//! Workloads, their revisions and decisions.

use domain::OverrideId;
use domain::overrides::{ClusterSelector, ObjectSelector, Override, Patch, PatchOp};
use domain::page::ListQuery;
use domain::placement::{Decision, DecisionTrigger, PendingRemoval, RemovalWait};
use domain::workload::{Intent, Revision, Source, SourceFile, WorkloadOrder};

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, insert_fleet, insert_full_fleet, labels, project_id, release_id, some_workload,
    workload_id,
};
use crate::retained_cluster::{self, RetainedCluster};
use crate::sql::sql;
use crate::{Error, cluster, decision, event, pending_removal, release, revision, workload};

#[tokio::test]
async fn a_workload_reads_back_as_it_was_written() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let mut web = some_workload(1, "web");
        web.labels = labels(&[("team", "a")]);
        let file =
            SourceFile { name: "web.yaml".to_owned(), text: "kind: Ümläut 🚢\n\"'\\\t".to_owned() };
        web.draft.source = Source::Yaml { files: vec![file] };
        workload::insert(&mut tx, &web).await.unwrap();
        assert_eq!(workload::get_by_id(&mut tx, web.id).await.unwrap().as_ref(), Some(&web));
        (web.intent, web.published, web.revision) = (Intent::Draft, None, 2);
        assert!(workload::update(&mut tx, &web, 1, "ben").await.unwrap());
        assert!(!workload::update(&mut tx, &web, 1, "cy").await.unwrap(), "the revision has changed");
        assert_eq!(workload::lock_head(&mut tx, web.id).await.unwrap().unwrap().revision, 2);
        assert_eq!(workload::lock_head(&mut tx, workload_id(9)).await.unwrap(), None);
        assert_eq!(workload::get_by_name(&mut tx, project_id(), "web").await.unwrap().as_ref(), Some(&web));
        let query = ListQuery { label_selector: "team=a".to_owned(), ..ListQuery::default() };
        let page = workload::list(&mut tx, project_id(), &query, WorkloadOrder::Name).await.unwrap();
        assert_eq!((page.items[0].updated_by.as_str(), page.total), ("ben", 1));
        let taken = workload::insert(&mut tx, &some_workload(2, "web")).await.unwrap_err();
        assert!(matches!(&taken, Error::AlreadyExists { what } if what == "workload"), "{taken:?}");
    })
    .await;
}

#[tokio::test]
async fn a_workload_and_its_revision_are_decoded_when_the_connection_is_returned() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let one = some_workload(1, "web");
        let published = Revision {
            workload: one.id,
            number: 1,
            author: "ana".to_owned(),
            message: "first".to_owned(),
            created_at: at(1),
            spec: one.draft.clone(),
            helm_versions: Vec::new(),
        };
        let mut tx = store.write().await.unwrap();
        workload::insert(&mut tx, &one).await.unwrap();
        revision::insert(&mut tx, &published).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let stored = workload::find_stored(&mut tx, project_id(), "web").await.unwrap().unwrap();
        let stored_revision = revision::get_existing_stored(&mut tx, one.id, 1).await.unwrap();
        drop(tx);
        let head = stored.head().unwrap();
        assert_eq!((head.id, head.published, head.revision), (one.id, one.published, one.revision));
        assert_eq!(stored.decode().unwrap(), one);
        assert_eq!(stored_revision.decode().unwrap(), published);
        let mut tx = store.read().await.unwrap();
        assert!(workload::find_stored(&mut tx, project_id(), "nothing").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn deleting_a_workload_deletes_everything_but_its_events() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 2).await;
        let mut tx = store.write().await.unwrap();
        release::set_resources(&mut tx, release_id(1001), &[]).await.unwrap();
        // Pending deltas must not re-create the deleted counts.
        let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        one.set_connectivity(domain::cluster::Connectivity::Offline, at(1));
        release::update(&mut tx, &one).await.unwrap();
        assert!(workload::delete(&mut tx, workload_id(1)).await.unwrap());
        let gone = domain::event::NewEvent::new(domain::event::EventKind::WorkloadDeleted, "ana", "gone");
        event::append(&mut tx, &[gone.with_workload(workload_id(1), "w-001")], at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert!(release::list_all_by_workload(&mut tx, workload_id(1)).await.unwrap().is_empty());
        assert_eq!(release::counts_all(&mut tx).await.unwrap().total(), 2);
        assert_eq!(event::list_after(&mut tx, 0, 10).await.unwrap().len(), 1);
        assert_eq!(workload::count(&mut tx, project_id()).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn revisions_are_numbered_and_never_overwritten() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(revision::latest_number(&mut tx, workload_id(1)).await.unwrap(), 0);
        let some = |number| Revision {
            workload: workload_id(1),
            number,
            spec: some_workload(1, "w").draft,
            author: "ana".to_owned(),
            message: format!("publish {number}"),
            created_at: at(i64::from(number)),
            helm_versions: Vec::new(),
        };
        for number in 1..=5 {
            revision::insert(&mut tx, &some(number)).await.unwrap();
        }
        assert_eq!(revision::latest_number(&mut tx, workload_id(1)).await.unwrap(), 5);
        assert_eq!(revision::get(&mut tx, workload_id(1), 3).await.unwrap(), Some(some(3)));
        let mut query = ListQuery { limit: Some(2), ..ListQuery::default() };
        let mut numbers = Vec::new();
        loop {
            let page = revision::list(&mut tx, workload_id(1), &query).await.unwrap();
            numbers.extend(page.items.iter().map(|revision| revision.number));
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(numbers, [5, 4, 3, 2, 1]);
        let versions = |all: &[&str]| all.iter().map(|version| (*version).to_owned()).collect();
        for added in [&["v4.2.4"][..], &[], &["v4.2.0", "v4.2.4"]] {
            revision::add_helm_versions(&mut tx, workload_id(1), 3, &versions(added)).await.unwrap();
        }
        let rendered = revision::get(&mut tx, workload_id(1), 3).await.unwrap().unwrap();
        assert_eq!(rendered, Revision { helm_versions: rendered.helm_versions.clone(), ..some(3) });
        assert_eq!(rendered.renderer().as_deref(), Some("Helm v4.2.0, v4.2.4"));
        assert_eq!(revision::get(&mut tx, workload_id(1), 4).await.unwrap(), Some(some(4)));
        let twice = revision::insert(&mut tx, &some(5)).await.unwrap_err();
        assert!(matches!(twice, Error::AlreadyExists { .. }), "{twice:?}");
    })
    .await;
}

#[tokio::test]
async fn p19_a_page_of_revisions_ends_before_it_has_too_many_bytes_and_the_next_one_continues() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let mut tx = store.write().await.unwrap();
        // Two of them have less than a page may have, and three more, whether or not they are encrypted.
        let text = format!("# {}\n", "x".repeat((59 << 20) / 40));
        for number in 1..=4 {
            let mut spec = some_workload(1, "w").draft;
            let files = vec![SourceFile { name: "app.yaml".to_owned(), text: text.clone() }];
            // The oldest one is small.
            if number > 1 {
                spec.source = Source::Yaml { files };
            }
            let revision = Revision {
                workload: workload_id(1),
                number,
                spec,
                author: "ana".to_owned(),
                message: String::new(),
                created_at: at(i64::from(number)),
                helm_versions: Vec::new(),
            };
            revision::insert(&mut tx, &revision).await.unwrap();
        }
        let mut query = ListQuery::default();
        let mut pages = Vec::new();
        loop {
            let page = revision::list(&mut tx, workload_id(1), &query).await.unwrap();
            assert_eq!(page.total, 4);
            pages.push(page.items.iter().map(|revision| revision.number).collect::<Vec<u32>>());
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, [vec![4, 3], vec![2, 1]]);
        assert_eq!(revision::list_numbers(&mut tx, workload_id(1), 3).await.unwrap(), [4, 3, 2]);
    })
    .await;
}

#[tokio::test]
async fn p19_a_page_of_revisions_ends_before_it_has_too_many_values_and_the_next_one_continues() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let mut tx = store.write().await.unwrap();
        let value = serde_json::json!({ "data": vec![0; 45_000] });
        let wide = Override {
            id: OverrideId::from_parts(1, 1),
            name: "wide".to_owned(),
            target: ClusterSelector::default(),
            priority: 1,
            values: String::new(),
            patches: vec![Patch { object: ObjectSelector::default(), op: PatchOp::Merge { value } }],
        };
        for number in 1..=3 {
            let mut spec = some_workload(1, "w").draft;
            spec.overrides = vec![wide.clone()];
            let revision = Revision {
                workload: workload_id(1),
                number,
                spec,
                author: "ana".to_owned(),
                message: String::new(),
                created_at: at(i64::from(number)),
                helm_versions: Vec::new(),
            };
            revision::insert(&mut tx, &revision).await.unwrap();
        }
        let first = revision::list(&mut tx, workload_id(1), &ListQuery::default()).await.unwrap();
        let numbers = |items: &[Revision]| items.iter().map(|one| one.number).collect::<Vec<u32>>();
        assert_eq!((numbers(&first.items), first.total), (vec![3, 2], 3));
        let query = ListQuery { cursor: first.next, ..ListQuery::default() };
        let second = revision::list(&mut tx, workload_id(1), &query).await.unwrap();
        assert_eq!((numbers(&second.items), second.next), (vec![1], None));
    })
    .await;
}

#[tokio::test]
async fn the_last_fifty_decisions_are_retained() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let mut tx = store.write().await.unwrap();
        for number in 1..=53 {
            let decision = Decision {
                revision: Some(number),
                decided_at: Some(at(i64::from(number))),
                trigger: DecisionTrigger::Published,
                evaluations: Vec::new(),
                ..Decision::default()
            };
            decision::insert(&mut tx, workload_id(1), &decision).await.unwrap();
        }
        let latest = decision::get_latest(&mut tx, workload_id(1)).await.unwrap().unwrap();
        assert_eq!(latest.revision, Some(53));
        assert_eq!(sql("SELECT COUNT(*) FROM decision").fetch_number(&mut tx).await.unwrap(), 50);
    })
    .await;
}

#[tokio::test]
async fn a_retained_cluster_counts_for_its_revision_until_it_is_deleted() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = RetainedCluster {
            workload: workload_id(1),
            cluster: cluster_id(1),
            revision: 1,
            retained_by: "ana".to_owned(),
            retained_at: at(0),
        };
        retained_cluster::insert(&mut tx, &one).await.unwrap();
        (one.revision, one.retained_by) = (2, "ben".to_owned());
        retained_cluster::insert(&mut tx, &one).await.unwrap();
        one.cluster = cluster_id(2);
        retained_cluster::insert(&mut tx, &one).await.unwrap();
        assert!(retained_cluster::list(&mut tx, workload_id(1), 1).await.unwrap().is_empty());
        cluster::delete(&mut tx, cluster_id(2)).await.unwrap();
        let retained = retained_cluster::list(&mut tx, workload_id(1), 2).await.unwrap();
        assert_eq!(retained, [(cluster_id(1), "ben".to_owned())].into());
        retained_cluster::delete_by_workload(&mut tx, workload_id(1)).await.unwrap();
        assert!(retained_cluster::list(&mut tx, workload_id(1), 2).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_pending_removal_has_the_user_who_retains_the_published_revision() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut web = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap().unwrap();
        web.published = Some(2);
        assert!(workload::update(&mut tx, &web, web.revision, "ana").await.unwrap());
        let clusters = cluster::list_all(&mut tx).await.unwrap();
        let removals: Vec<PendingRemoval> = clusters
            .iter()
            .map(|cluster| PendingRemoval {
                cluster: cluster.id,
                name: cluster.name.clone(),
                remove_after: at(900_000),
                is_requested: true,
                waiting_for: Some(RemovalWait::Replacement),
                retained_by: None,
            })
            .collect();
        pending_removal::replace(&mut tx, workload_id(1), &removals).await.unwrap();
        assert_eq!(pending_removal::list(&mut tx, workload_id(1)).await.unwrap(), removals);
        let of_cluster = pending_removal::list_by_cluster(&mut tx, removals[0].cluster).await.unwrap();
        assert_eq!(of_cluster, [(workload_id(1), removals[0].clone())]);
        for (removal, revision) in removals.iter().zip([1, 2]) {
            let retained = RetainedCluster {
                workload: workload_id(1),
                cluster: removal.cluster,
                revision,
                retained_by: "ben".to_owned(),
                retained_at: at(1),
            };
            retained_cluster::insert(&mut tx, &retained).await.unwrap();
        }
        let read = pending_removal::list(&mut tx, workload_id(1)).await.unwrap();
        let retained_by: Vec<Option<&str>> = read.iter().map(|one| one.retained_by.as_deref()).collect();
        assert_eq!(retained_by, [None, Some("ben")], "of an earlier revision, of the published one");
        pending_removal::replace(&mut tx, workload_id(1), &removals[1..]).await.unwrap();
        assert_eq!(pending_removal::list(&mut tx, workload_id(1)).await.unwrap().len(), 1);
    })
    .await;
}
