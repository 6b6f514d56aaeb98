//! `/api/v1/projects/default/workloads…`

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{TestServer, WORKLOADS, new_workload};

fn path(rest: &str) -> String {
    format!("{WORKLOADS}/{rest}")
}

#[tokio::test]
async fn a_draft_is_created_read_and_listed() {
    let server = TestServer::start().await;
    let created = server.post(WORKLOADS, &new_workload("web")).await;
    assert_eq!(created.status, StatusCode::CREATED);
    assert_eq!(created.header("location"), "/api/v1/projects/default/workloads/web");
    assert_eq!(created.header("etag"), "\"1\"");

    let read = server.get(&path("web")).await;
    assert_eq!((read.status, read.header("etag")), (StatusCode::OK, "\"1\""));
    assert_eq!(read.json()["phase"], "Draft");
    assert_eq!(read.json()["draft"]["namespace"], "apps");

    let list = server.get(WORKLOADS).await.json();
    assert_eq!((&list["total"], &list["items"][0]["name"]), (&json!(1), &json!("web")));
}

#[tokio::test]
async fn s4_2_a_release_is_system_owned_and_can_not_be_edited() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = server.send_json(method.clone(), &path("web/releases/eu-1"), &[], &json!({})).await;
        assert_eq!(answer.problem(), (403, "SystemOwned".to_owned()), "{method}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("publish"));
    }
}

#[tokio::test]
async fn g102_an_existing_name_is_rejected_with_its_creator() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let owner = server.get(&path("web")).await.json()["createdBy"].as_str().unwrap().to_owned();
    for place in [WORKLOADS.to_owned(), format!("{WORKLOADS}?dryRun=true")] {
        let answer = server.post(&place, &new_workload("web")).await;
        assert_eq!(answer.problem(), (409, "AlreadyExists".to_owned()));
        let findings = answer.json()["findings"].clone();
        assert_eq!((findings.as_array().unwrap().len(), &findings[0]["code"]), (1, &json!("G102")));
        assert_eq!(
            findings[0]["message"],
            format!("A workload \"web\" already exists in project \"default\", created by {owner}.")
        );
        assert_eq!(findings[0]["hint"], "Choose another name, or edit that workload.");
    }
}

#[tokio::test]
async fn g102_the_wizard_shows_the_same_finding() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let cookie = cookie(&sign_in(&server).await);
    let create = async |name: &str| {
        let body = format!("form%5Bname%5D={name}&form%5Bnamespace%5D=shop&form%5Bbegin%5D=files");
        server.send_raw(form("/api/fn/workload_create", &body, &[("cookie", &cookie)])).await
    };
    let taken = create("web").await;
    assert_eq!(taken.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", taken.text);
    for part in ["G102", "already exists in project", "Choose another name, or edit that workload."] {
        assert!(taken.text.contains(part), "{}", taken.text);
    }
    assert_eq!(create("other").await.status, StatusCode::OK);
}

#[tokio::test]
async fn g101_an_invalid_name_is_rejected_with_its_finding() {
    let server = TestServer::start().await;
    let answer = server.post(WORKLOADS, &new_workload("Hello_App")).await;
    assert_eq!(answer.problem(), (422, "Invalid".to_owned()));
    let finding = &answer.json()["findings"][0];
    assert_eq!((&finding["code"], &finding["hint"]), (&json!("G101"), &json!("Try \"hello-app\".")));
}

#[tokio::test]
async fn only_the_default_project_exists() {
    let server = TestServer::start().await;
    for path in ["/api/v1/projects/other/workloads", "/api/v1/projects/other/workloads/web/status"] {
        assert_eq!(server.get(path).await.problem(), (404, "NotFound".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn every_operation_on_a_missing_workload_is_not_found() {
    let server = TestServer::start().await;
    for rest in ["web", "web/status", "web/releases", "web/releases/eu-1", "web/revisions", "web/placement"] {
        assert_eq!(server.get(&path(rest)).await.problem(), (404, "NotFound".to_owned()), "{rest}");
    }
    for verb in ["publish", "unpublish", "sync"] {
        let answer = server.post(&path(&format!("web:{verb}")), &json!({})).await;
        assert_eq!(answer.problem(), (404, "NotFound".to_owned()), "{verb}");
    }
    assert_eq!(server.delete(&path("web")).await.problem(), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn replacing_a_draft_needs_the_etag_that_was_read() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let mut put = json!({ "spec": new_workload("web")["spec"] });
    put["spec"]["namespace"] = json!("other");
    let replace = async |headers: &[(&str, &str)]| {
        let answer = server.send_json(Method::PUT, &path("web"), headers, &put).await;
        (answer.status.as_u16(), answer.header("etag").to_owned(), answer.json())
    };
    let (status, _, problem) = replace(&[]).await;
    assert_eq!((status, &problem["code"]), (428, &json!("PreconditionRequired")));
    let (status, etag, workload) = replace(&[("if-match", "\"1\"")]).await;
    assert_eq!((status, &*etag, &workload["draft"]["namespace"]), (200, "\"2\"", &json!("other")));
    let (status, _, problem) = replace(&[("if-match", "\"1\"")]).await;
    assert_eq!(
        (status, &problem["code"], &problem["currentRevision"]),
        (412, &json!("RevisionConflict"), &json!(2))
    );
    assert_eq!(replace(&[("if-match", "*")]).await.0, 200);
    assert_eq!(replace(&[("if-match", "1")]).await.0, 400);
}

#[tokio::test]
async fn the_tabs_config_and_policies_store_nothing_of_each_other() {
    let server = TestServer::start().await;
    let mut new = new_workload("web");
    new["spec"]["policies"] = json!({"drift": "notify"});
    let created = server.post(WORKLOADS, &new).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let cookie = cookie(&sign_in(&server).await);
    let save = async |function: &str, fields: &[(&str, &str)]| {
        let pair = |(part, value): &(&str, &str)| format!("form{part}={value}");
        let body =
            fields.iter().map(pair).collect::<Vec<_>>().join("&").replace('[', "%5B").replace(']', "%5D");
        let answer =
            server.send_raw(form(&format!("/api/fn/{function}"), &body, &[("cookie", &cookie)])).await;
        assert_eq!(answer.status, StatusCode::OK, "{function}: {}", answer.text);
        server.get(&path("web")).await.json()["draft"].clone()
    };
    let file = [("[files][0][name]", "all.yaml"), ("[files][0][text]", "kind:+ConfigMap")];
    let begin = [("[name]", "web"), ("[base_revision]", "1"), ("[namespace]", "shop"), file[0], file[1]];
    let draft = save("config_save", &begin).await;
    assert_eq!((&draft["namespace"], &draft["policies"]["drift"]), (&json!("shop"), &json!("notify")));
    let policies = [("[name]", "web"), ("[base_revision]", "2"), ("[policies][deletion]", "orphan")];
    let draft = save("policies_save", &policies).await;
    assert_eq!(
        (&draft["policies"]["drift"], &draft["policies"]["deletion"]),
        (&json!("revert"), &json!("orphan"))
    );
    assert_eq!(
        (&draft["namespace"], &draft["source"]["files"][0]["text"]),
        (&json!("shop"), &json!("kind: ConfigMap"))
    );
}

#[tokio::test]
async fn a_new_workload_waits_for_what_is_not_assessed_until_its_policy_accepts_it() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let stored =
        async |name: &str| server.get(&path(name)).await.json()["draft"]["policies"]["notAssessed"].clone();
    let replace = async |policies: Value| {
        let mut put = json!({ "spec": new_workload("web")["spec"] });
        put["spec"]["policies"] = policies;
        let answer = server.send_json(Method::PUT, &path("web"), &[("if-match", "*")], &put).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    };
    assert_eq!(stored("web").await, "wait");
    replace(json!({})).await;
    assert_eq!(stored("web").await, "wait", "a client that does not know the policy keeps it");
    replace(json!({"notAssessed": "accept"})).await;
    assert_eq!(stored("web").await, Value::Null, "no value accepts, as in what an earlier version stored");
    replace(json!({"prune": false})).await;
    assert_eq!(stored("web").await, Value::Null);
    replace(json!({"notAssessed": "wait"})).await;
    assert_eq!(stored("web").await, "wait");

    let mut accepting = new_workload("shop");
    accepting["spec"]["policies"] = json!({"notAssessed": "accept"});
    assert_eq!(server.post(WORKLOADS, &accepting).await.status, StatusCode::CREATED);
    assert_eq!(stored("shop").await, Value::Null);
}

#[tokio::test]
async fn labels_are_merged_and_null_removes_one() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let patch = async |labels: Value| {
        server.send_json(Method::PATCH, &path("web"), &[], &json!({ "labels": labels })).await.json()["labels"]
            .clone()
    };
    assert_eq!(patch(json!({"team": "a", "tier": "1"})).await, json!({"team": "a", "tier": "1"}));
    assert_eq!(patch(json!({"team": null})).await, json!({"tier": "1"}));
}

#[tokio::test]
async fn a_long_list_is_paged_by_following_the_links() {
    let server = TestServer::start().await;
    for n in 0..5 {
        server.create_workload(&format!("web-{n}")).await;
    }
    let mut next = Some(format!("{WORKLOADS}?limit=2&q=web"));
    let mut names = Vec::new();
    while let Some(path) = next {
        let page = server.get(&path).await;
        assert_eq!(page.json()["total"], 5);
        let items = page.json()["items"].as_array().unwrap().clone();
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        let link = page.header("link").strip_prefix('<').and_then(|link| link.split_once(">; rel=\"next\""));
        next = link.map(|(path, _)| path.to_owned());
    }
    assert_eq!(names, ["web-0", "web-1", "web-2", "web-3", "web-4"]);
}

#[tokio::test]
async fn a_list_rejects_invalid_parameters() {
    let server = TestServer::start().await;
    for query in ["limit=0", "limit=501", "limit=x", "state=Helthy", "colour=red"] {
        let answer = server.get(&format!("{WORKLOADS}?{query}")).await;
        assert_eq!(answer.problem(), (400, "BadRequest".to_owned()), "{query}");
    }
    assert_eq!(server.get(&format!("{WORKLOADS}?labelSelector=a%20b%20c")).await.status.as_u16() / 100, 4);
}

#[tokio::test]
async fn s0_14_checks_and_dry_runs_store_nothing() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let new = new_workload("web");
    for path in [format!("{WORKLOADS}:validate"), format!("{WORKLOADS}?dryRun=true")] {
        let answer = server.post(&path, &new).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
        assert_eq!(answer.json()["decision"]["evaluations"][0]["selected"], true);
    }
    assert_eq!(server.get(WORKLOADS).await.json()["total"], 0);

    server.create_workload("web").await;
    let answer = server.post(&path("web:publish?dryRun=true"), &json!({})).await;
    assert_eq!((answer.status, answer.json()["findings"].is_array()), (StatusCode::OK, true));
    assert_eq!(server.get(&path("web")).await.json()["phase"], "Draft");
    let taken = server.post(&format!("{WORKLOADS}?dryRun=true"), &new).await;
    assert_eq!(taken.problem(), (409, "AlreadyExists".to_owned()));
}

#[tokio::test]
async fn e_2_a_plan_is_created_read_and_bound_to_its_publish() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    let created = server.post(&path("web:plan"), &json!({})).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let plan = created.json();
    let address = created.header("location");
    assert_eq!(address, format!("/api/v1/plans/{}", plan["id"].as_str().unwrap()));
    assert_eq!((&plan["revision"], &plan["targets"][0]["name"]), (&json!(1), &json!("eu-1")));
    assert_eq!(server.get(address).await.json()["hash"], plan["hash"]);
    assert_eq!(server.get("/api/v1/plans/nope").await.problem(), (404, "NotFound".to_owned()));

    let other = json!({ "planHash": format!("sha256:{}", "0".repeat(64)) });
    let stale = server.post(&path("web:publish"), &other).await;
    assert_eq!(stale.problem(), (412, "PlanStale".to_owned()));
    let published = server.post(&path("web:publish"), &json!({ "planHash": plan["hash"] })).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    let again = server.post(&path("web:publish"), &json!({ "planHash": plan["hash"] })).await;
    assert_eq!(again.problem(), (412, "PlanStale".to_owned()), "the plan has been published");
}

#[tokio::test]
async fn b16_a_publish_is_rejected_with_the_findings_of_its_plan_unless_their_codes_are_forced() {
    use domain::object::ObjectRef;
    use domain::plan::{ClusterPlan, PlannedAction, PlannedChange};
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    let cluster = server.hub.get_cluster("eu-1").await.unwrap().cluster.id;
    server.hub.record_heartbeat(cluster).await.unwrap();
    server.create_workload("web").await;
    let plan = server.post(&path("web:plan?wait=0"), &json!({})).await.json();
    // As an agent of an earlier version quotes what an API server answers.
    let message = r#"Service apps/web: spec.clusterIP: Invalid value: {"a":"canary"}: field is immutable."#;
    let finding = domain::Finding::error("G406", message, "");
    let change = PlannedChange::verified(ObjectRef::default(), PlannedAction::Rejected { finding });
    let result = ClusterPlan::from_changes(vec![change]);
    server
        .hub
        .record_dry_run_result(cluster, plan["id"].as_str().unwrap().parse().unwrap(), result)
        .await
        .unwrap();

    for request in [json!({ "planHash": plan["hash"] }), json!({}), json!({ "force": ["G409"] })] {
        let rejected = server.post(&path("web:publish"), &request).await;
        assert_eq!(rejected.problem(), (422, "PlanRejected".to_owned()), "{request}");
        assert_eq!(rejected.json()["findings"][0]["code"], "G406", "{request}");
        assert!(!rejected.text.contains("canary"), "{}", rejected.text);
    }
    let misspelt = server.post(&path("web:publish"), &json!({ "force": ["G46"] })).await;
    assert_eq!(misspelt.problem(), (422, "Invalid".to_owned()));
    assert!(
        misspelt.json()["detail"].as_str().unwrap().contains("Did you mean \"G406\"?"),
        "{}",
        misspelt.text
    );
    let forced = json!({ "planHash": plan["hash"], "force": ["G406"] });
    let published = server.post(&path("web:publish"), &forced).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    let validation = json!({ "type": "planned", "validated": 1, "noOp": false, "forced": ["G406"] });
    assert_eq!(published.json()["validation"], validation);
}

#[tokio::test]
async fn s0_1_a_publish_is_accepted_once_and_shows_everywhere() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.register_cluster("eu-2", &[("env", "dev")]).await;
    server.create_workload("web").await;
    let answer = server.post(&path("web:publish"), &json!({ "message": "first" })).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
    assert_eq!(answer.header("location"), path("web/status"));
    assert_eq!((&answer.json()["revision"], &answer.json()["clusters"]), (&json!(1), &json!(["eu-1"])));

    let revisions = server.get(&path("web/revisions")).await.json();
    assert_eq!((&revisions["total"], &revisions["items"][0]["message"]), (&json!(1), &json!("first")));

    let loops = server.hub.spawn_loops();
    server.hub.subscribe_events().wait_for(|_| true).await.unwrap();
    let status = wait_for_releases(&server, 1).await;
    loops.stop().await;
    let keys: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["counts", "targetClusters"]);
    let target = &status["targetClusters"][0];
    assert_eq!((&target["clusterName"], &target["revision"]), (&json!("eu-1"), &json!(1)));
    assert_eq!(target["stages"].as_array().unwrap().len(), 13);
    let release = server.get(&path("web/releases/eu-1")).await.json();
    assert_eq!((&release["workloadName"], &release["clusterName"]), (&json!("web"), &json!("eu-1")));
    assert_eq!(server.get(&path("web/releases?limit=1")).await.json()["total"], 1);
    let decision = server.get(&path("web/placement")).await.json();
    assert_eq!(decision["evaluations"].as_array().unwrap().len(), 2);
}

/// The status, once the placer has created this many releases.
async fn wait_for_releases(server: &TestServer, releases: usize) -> Value {
    let mut notices = server.hub.subscribe_events();
    loop {
        notices.mark_unchanged();
        let status = server.get(&path("web/status")).await.json();
        if status["targetClusters"].as_array().unwrap().len() == releases {
            return status;
        }
        notices.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_publish_with_a_stale_etag_is_rejected() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    let if_match = [("if-match", "\"9\"")];
    let answer = server.send_json(Method::POST, &path("web:publish"), &if_match, &json!({})).await;
    assert_eq!(answer.problem(), (412, "RevisionConflict".to_owned()));
}

#[tokio::test]
async fn an_impossible_action_is_rejected_with_the_reason() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let answer = server.post(&path("web:unpublish"), &json!({})).await;
    assert_eq!(answer.problem(), (409, "FailedPrecondition".to_owned()));
    assert_eq!(answer.json()["detail"], "web was never published.");
}

#[tokio::test]
async fn a_workload_is_unpublished_and_deleted() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    server.post(&path("web:publish"), &json!({})).await;
    let sync = server.post(&path("web:sync"), &json!({ "clusters": [] })).await;
    assert_eq!(sync.status, StatusCode::ACCEPTED, "{}", sync.text);
    let unpublished = server.post(&path("web:unpublish"), &json!({ "deletion": "orphan" })).await;
    assert_eq!(unpublished.status, StatusCode::ACCEPTED, "{}", unpublished.text);
    assert_eq!(unpublished.json()["intent"], "unpublished");
    let deleted = server.delete(&path("web?deletion=foreground&force=true")).await;
    assert_eq!((deleted.status, &deleted.json()["intent"]), (StatusCode::ACCEPTED, &json!("deleting")));
    assert_eq!(server.delete(&path("web?deletion=sideways")).await.problem().0, 400);
}

#[tokio::test]
async fn an_override_saved_again_under_its_name_is_the_same_override() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let put = json!({
        "target": { "clusters": ["eu-1"] },
        "patches": [{ "object": { "kind": "ConfigMap" }, "op": "set", "path": "/data/key", "value": "eu" }]
    });
    let headers = [("if-match", "*")];
    let saved = server.send_json(Method::PUT, &path("web/overrides/eu"), &headers, &put).await;
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
    let first = saved.json()["draft"]["overrides"][0].clone();
    assert_eq!((&first["name"], &first["priority"]), (&json!("eu"), &json!(500)));
    let again = server.send_json(Method::PUT, &path("web/overrides/eu"), &headers, &put).await.json();
    assert_eq!(again["draft"]["overrides"], json!([first]), "the same override, not a second one");
}

#[tokio::test]
async fn a_placement_can_be_previewed() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.register_cluster("eu-2", &[("env", "dev")]).await;
    let preview = json!({ "placement": { "predicates": [{ "labelSelector": "env=dev" }] } });
    let answer = server.post("/api/v1/projects/default/placements:preview", &preview).await.json();
    let selected = |name: &str| {
        let evaluations = answer["evaluations"].as_array().unwrap();
        evaluations.iter().find(|evaluation| evaluation["name"] == name).unwrap()["selected"].clone()
    };
    assert_eq!((selected("eu-1"), selected("eu-2")), (json!(false), json!(true)));
}

#[tokio::test]
async fn g312_a_dependency_is_stored_in_the_draft_and_a_cycle_is_refused_with_its_way() {
    let server = TestServer::start().await;
    let mut db = new_workload("db");
    db["spec"]["dependsOn"] = json!([{ "workload": "web" }]);
    let created = server.post(WORKLOADS, &db).await;
    assert_eq!(created.status, StatusCode::CREATED, "a workload that does not exist yet is waited for");
    assert_eq!(created.json()["draft"]["dependsOn"], json!([{ "workload": "web" }]));
    let mut web = new_workload("web");
    web["spec"]["dependsOn"] = json!([{ "workload": "db" }]);
    let refused = server.post(WORKLOADS, &web).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let finding = refused.json()["findings"][0].clone();
    assert_eq!((&finding["code"], &finding["path"]), (&json!("G312"), &json!("/dependsOn")));
    assert!(finding["message"].as_str().unwrap().contains("web → db → web"), "{finding}");
    let many: Vec<Value> = (0..21).map(|number| json!({ "workload": format!("w{number}") })).collect();
    web["spec"]["dependsOn"] = json!(many);
    assert_eq!(server.post(WORKLOADS, &web).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    web["spec"]["dependsOn"] = json!([{ "workload": "cache" }]);
    assert_eq!(server.post(WORKLOADS, &web).await.status, StatusCode::CREATED);
}
