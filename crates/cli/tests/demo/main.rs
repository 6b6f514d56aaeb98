//! Tests the built command line against the real server with simulated clusters, in the order of a user's work.

mod access;
mod audit_file;
mod bad_inputs;
mod bulk;
mod channels;
mod chart_repositories;
mod charts;
mod confirmations;
mod dependencies;
mod describe;
mod drift;
mod facts;
mod formats;
mod group_deployments;
mod identity_providers;
mod incidents;
mod messages;
mod overrides;
mod plans;
mod render;
mod rollbacks;
mod rollouts;
mod search;
mod suspension;
mod test_server;

use test_server::{TestServer, fixture_path, wait_until};

/// Timeout of all waits, long enough for any machine; no test asserts a duration.
const WAIT_TIMEOUT: &str = "5m";

#[test]
fn r7_publish_waits_until_every_cluster_is_healthy_and_status_lists_every_cluster() {
    let server = TestServer::start_new();
    let applied =
        server.run_cli(&["apply", "-f", &fixture_path("three-tier"), "--all-clusters", "-n", "shop"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    assert_eq!(applied.stdout, "workload/three-tier created (draft)\n");
    assert!(applied.stderr.contains("would go to 5 of 5 clusters"), "{applied}");

    let published =
        server.run_cli(&["publish", "three-tier", "-m", "first", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert!(published.stderr.contains("runs on 5 clusters"), "{published}");

    // A cluster whose heartbeat was late is online again soon.
    let is_online = |target: &serde_json::Value| target["connectivity"] == "Online";
    let mut status = serde_json::Value::Null;
    wait_until("all clusters are online", || {
        status = server.run_cli_json(&["status", "three-tier", "-o", "json"]);
        status["targetClusters"].as_array().unwrap().iter().all(is_online)
    });
    assert_eq!(status["counts"]["Healthy"], 5);
    let targets = status["targetClusters"].as_array().unwrap();
    assert_eq!(targets.len(), 5);
    for target in targets {
        assert_eq!(target["state"], "Healthy", "{target}");
        assert_eq!(target["sync"], "Synced");
        assert_eq!(target["health"]["status"], "Healthy");
        assert_eq!(target["stages"].as_array().unwrap().len(), 13);
        assert_eq!(target["revision"], 1);
        assert!(target["clusterName"].is_string());
    }
    let again = server.run_cli(&["apply", "-f", &fixture_path("three-tier")]);
    assert_eq!(
        again.stdout, "workload/three-tier unchanged\n",
        "without flags, placement and namespace stay"
    );

    let history = server.run_cli_json(&["history", "three-tier", "-o", "json"]);
    assert_eq!(history["items"][0]["message"], "first");

    let gone = server.run_cli(&["unpublish", "three-tier", "--yes", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(gone.exit_code, 0, "{gone}");
    assert!(gone.stderr.contains("Namespaces that Flotilla created and volume claims"), "{gone}");
    let deleted = server.run_cli(&["delete", "three-tier", "--yes", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(deleted.exit_code, 0, "{deleted}");
    let get = server.run_cli(&["get", "three-tier"]);
    assert_eq!(get.exit_code, 1, "{get}");
}

#[test]
fn e_2_a_plan_shows_every_change_in_advance_and_binds_the_publish() {
    let server = TestServer::start_new();
    let file = |value: &str| {
        let path = server.folder().join("settings.yaml");
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: ";
        std::fs::write(&path, format!("{map}{value}}}\n")).unwrap();
        path.display().to_string()
    };
    let apply = |value: &str, clusters: &[&str]| {
        let mut args = vec!["apply", "--name", "web", "-n", "shop", "-f"];
        let path = file(value);
        args.push(&path);
        args.extend(clusters);
        let applied = server.run_cli(&args);
        assert_eq!(applied.exit_code, 0, "{applied}");
    };
    apply("blue", &["--all-clusters"]);
    let plan = server.run_cli(&["plan", "web"]);
    assert_eq!(plan.exit_code, 0, "{plan}");
    assert!(
        plan.stdout.contains("5 clusters validated") && plan.stdout.contains("+ ConfigMap shop/settings"),
        "{plan}"
    );
    let hash = server.run_cli_json(&["plan", "web", "-o", "json"])["hash"].as_str().unwrap().to_owned();
    assert!(
        plan.stdout.contains(&format!("flotilla publish web --plan {hash}")),
        "the same plan has the same hash"
    );
    let published = server.run_cli(&["publish", "web", "--plan", &hash, "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let stale = server.run_cli(&["publish", "web", "--plan", &hash]);
    assert_eq!(stale.exit_code, 6, "{stale}");
    let same = server.run_cli(&["diff", "web"]);
    assert_eq!(same.exit_code, 0, "no differences: {same}");

    apply("green", &[]);
    let diff = server.run_cli(&["diff", "web", "--cluster", "eu-west-1"]);
    assert_eq!(diff.exit_code, 1, "differences: {diff}");
    assert!(diff.stdout.contains("/data/colour\n        - blue\n        + green"), "{diff}");
    assert!(!diff.stdout.contains("eu-west-2"), "{diff}");
    let nowhere = server.run_cli(&["diff", "web", "--cluster", "eu-west-7"]);
    assert_eq!(nowhere.exit_code, 2, "a failure: {nowhere}");
    assert!(nowhere.stderr.contains("Did you mean \"eu-west-1\"?"), "{nowhere}");

    apply("green", &["--clusters", "eu-west-1"]);
    let rejected = server.run_cli(&["publish", "web"]);
    assert_eq!(rejected.exit_code, 3, "{rejected}");
    assert!(rejected.stderr.contains("G505") && rejected.stderr.contains("Type 4"), "{rejected}");
    // Until the end: what a cluster has released is an input of the next plan.
    let confirmed =
        server.run_cli(&["publish", "web", "--confirm", "4", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(confirmed.exit_code, 0, "{confirmed}");

    let nothing = server.run_cli(&["rollback", "web", "9"]);
    assert_eq!(nothing.exit_code, 3, "{nothing}");
    assert!(nothing.stderr.contains("from 1 to 2"), "{nothing}");
    apply("violet", &[]);
    let draft = server.run_cli_json(&["get", "web", "-o", "json"])["draft"].clone();
    let plan = server.run_cli(&["plan", "web", "--revision", "1"]);
    assert_eq!(plan.exit_code, 0, "{plan}");
    let planned = server.run_cli_json(&["plan", "web", "--revision", "1", "-o", "json"]);
    let hash = planned["hash"].as_str().unwrap();
    assert!(plan.stdout.contains(&format!("flotilla rollback web 1 --plan {hash}")), "{plan}");
    let back = server.run_cli(&["rollback", "web", "1", "--plan", hash, "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(back.exit_code, 0, "{back}");
    assert_eq!(server.run_cli_json(&["get", "web", "-o", "json"])["draft"], draft, "the draft is as it was");
    let kept = server.run_cli(&["rollback", "web", "1", "--to-draft"]);
    assert_eq!(kept.exit_code, 2, "{kept}");
    assert!(kept.stderr.contains("not published") && kept.stderr.contains("--discard-draft"), "{kept}");
    assert_eq!(server.run_cli_json(&["get", "web", "-o", "json"])["draft"], draft);
    let copied = server.run_cli(&["rollback", "web", "1", "--to-draft", "--discard-draft"]);
    assert_eq!(copied.exit_code, 0, "{copied}");
    assert_ne!(server.run_cli_json(&["get", "web", "-o", "json"])["draft"], draft);
    assert!(back.stderr.contains("runs on 5 clusters"), "{back}");
    assert_eq!(
        server.run_cli_json(&["history", "web", "-o", "json"])["items"][0]["message"],
        "Roll back to revision 1"
    );
}

#[test]
fn r7_a_publish_that_fails_on_some_clusters_exits_with_4_and_the_cause() {
    let server = TestServer::start_new();
    let file = fixture_path("bad/image-does-not-exist.yaml");
    let applied = server.run_cli(&[
        "apply",
        "-f",
        &file,
        "--name",
        "broken",
        "--clusters",
        "eu-west-1",
        "-n",
        "broken",
    ]);
    assert_eq!(applied.exit_code, 0, "{applied}");

    let late = server.run_cli(&["publish", "broken", "--wait", "--timeout", "0s"]);
    assert_eq!(late.exit_code, 5, "{late}");
    assert!(late.stderr.contains("The publish continues"), "{late}");

    let published = server.run_cli(&["publish", "broken", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 4, "{published}");
    assert!(published.stderr.contains("registry.invalid/does-not-exist:1.0"), "{published}");
    assert!(published.stderr.contains("1 of 1 clusters failed"), "{published}");
}

#[test]
fn s0_14_a_guard_rail_rejects_with_3_and_the_draft_is_stored() {
    let server = TestServer::start_new();
    let file = fixture_path("bad/selector-mismatch.yaml");
    let applied = server.run_cli(&["apply", "-f", &file, "--clusters", "eu-west-1"]);
    assert_eq!(applied.exit_code, 3, "{applied}");
    assert!(applied.stderr.contains("selector-mismatch.yaml:9:7: error[G214]"), "{applied}");
    assert!(applied.stderr.contains("The draft is stored, but"), "{applied}");
    assert!(applied.stderr.contains("go to \"default\""), "{applied}");

    let published = server.run_cli(&["publish", "selector-mismatch", "--wait"]);
    assert_eq!(published.exit_code, 3, "{published}");
    assert!(published.stderr.contains("G214"), "{published}");
    let view = server.run_cli_json(&["get", "selector-mismatch", "-o", "json"]);
    assert_eq!(view["intent"], "draft");

    let dry = server.run_cli(&["apply", "-f", &file, "--name", "other", "--all-clusters", "--dry-run"]);
    assert_eq!(dry.exit_code, 3, "{dry}");
    assert_eq!(server.run_cli(&["get", "other"]).exit_code, 1, "a dry run stores nothing");
}

#[test]
fn s3_3_a_workload_is_created_changed_read_and_deleted_for_one_cluster_from_a_file_or_a_folder() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: \"{value}\"\n")
    };
    write("a.yaml", &map("1"));
    let path = folder.path().display().to_string();
    let flags = ["--name", "work", "-n", "work", "--clusters", "eu-west-1", "--policy", "deletion=orphan"];
    let created = server.run_cli(&[&["apply", "-f", &path][..], &flags].concat());
    assert_eq!(
        (created.exit_code, created.stdout.as_str()),
        (0, "workload/work created (draft)\n"),
        "{created}"
    );
    let published = server.run_cli(&["publish", "work", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let view = server.run_cli_json(&["get", "work", "-o", "json"]);
    assert_eq!(view["draft"]["policies"]["deletion"], "orphan", "{view}");
    let status = server.run_cli_json(&["status", "work", "-o", "json"]);
    let target = &status["targetClusters"][0];
    assert_eq!(
        (&status["targetClusters"].as_array().unwrap().len(), &target["clusterName"]),
        (&1, &"eu-west-1".into())
    );
    let conditions = target["conditions"].as_array().unwrap();
    let applied = conditions.iter().find(|one| one["type"] == "Applied").unwrap();
    assert_eq!(
        (&applied["status"], applied["observedGeneration"].is_i64()),
        (&"True".into(), true),
        "{applied}"
    );
    assert_eq!(target["finalizers"][0], "flotilla.dev/release-cleanup");

    write("a.yaml", &map("2"));
    write("workload.def", "name: work\npayload: a.yaml\npolicies:\n  deletion: foreground\n");
    let definition = folder.path().join("workload.def").display().to_string();
    let changed = server.run_cli(&["apply", "-f", &definition]);
    assert_eq!(changed.stdout, "workload/work changed (draft)\n", "{changed}");
    let typo = server.run_cli(&["apply", "-f", &definition, "--policy", "delition=orphan"]);
    assert!(
        typo.exit_code == 2 && typo.stderr.contains("\"delition\"") && typo.stderr.contains("deletion"),
        "{typo}"
    );
    assert_eq!(server.run_cli(&["publish", "work", "--wait", "--timeout", WAIT_TIMEOUT]).exit_code, 0);
    let deleted = server.run_cli(&["delete", "work", "--yes", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(deleted.exit_code, 0, "{deleted}");
    assert_eq!(server.run_cli(&["get", "work"]).exit_code, 1);
}

#[test]
fn s3_3_apply_reads_the_folders_below_with_r_and_names_them_without_it() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("eu")).unwrap();
    for (name, file) in [("a", "a.yaml"), ("b", "eu/a.yaml")] {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let path = folder.path().display().to_string();
    let alone = server.run_cli(&["apply", "--dry-run", "--name", "tree", "-f", &path]);
    assert!(alone.stderr.contains("1 folder below was not read: eu."), "{alone}");
    let applied = server.run_cli_json(&[
        "apply",
        "-R",
        "--name",
        "tree",
        "-n",
        "tree",
        "--all-clusters",
        "-f",
        &path,
        "-o",
        "json",
    ]);
    let draft = &applied["workload"]["draft"];
    let files = draft["source"]["files"].as_array().unwrap();
    let names: Vec<&str> = files.iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.yaml", "eu/a.yaml"], "{applied}");
    assert_eq!(draft["policies"]["notAssessed"], "wait", "a new workload waits for what is not assessed");
}

#[test]
fn s3_14_diagnose_checks_a_cluster_and_names_the_problem_of_a_workload() {
    let server = TestServer::start_new();
    let cluster = server.run_cli(&["diagnose", "cluster", "eu-west-1"]);
    assert!(
        cluster.stdout.contains("ok   agent: ") && cluster.stdout.contains("AppliedRelease"),
        "{cluster}"
    );
    let file = fixture_path("bad/image-does-not-exist.yaml");
    server.run_cli(&["apply", "-f", &file, "--name", "broken", "--clusters", "eu-west-1", "-n", "broken"]);
    server.run_cli(&["publish", "broken", "--wait", "--timeout", WAIT_TIMEOUT]);
    let broken = server.run_cli(&["diagnose", "broken"]);
    assert_eq!(broken.exit_code, 1, "{broken}");
    assert!(broken.stdout.contains("FAIL broken on eu-west-1"), "{broken}");
    assert!(broken.stdout.contains("registry.invalid/does-not-exist:1.0"), "{broken}");
    let healthy = server.run_cli_json(&["diagnose", "lighthouse", "-o", "json"]);
    assert!(healthy.as_array().unwrap().iter().all(|check| check["ok"] == true), "{healthy}");
    assert_eq!(server.run_cli(&["diagnose", "lighthose"]).exit_code, 1);
}

#[test]
fn apply_without_a_placement_prints_a_hint() {
    let server = TestServer::start_new();
    let applied = server.run_cli(&["apply", "-f", &fixture_path("jobs"), "-n", "work"]);
    assert!(applied.stderr.contains("has no placement yet"), "{applied}");
    assert!(applied.stderr.contains("--all-clusters"), "{applied}");
    let typo = server.run_cli(&["apply", "-f", &fixture_path("jobs"), "--clusters", "eu-west-1,eu-wset-2"]);
    assert!(typo.stderr.contains("There is no cluster \"eu-wset-2\". Did you mean \"eu-west-2\"?"), "{typo}");
}

#[test]
fn p2_the_wait_continues_over_a_server_that_is_killed_and_restarted() {
    let mut server = TestServer::start_new();
    let applied =
        server.run_cli(&["apply", "-f", &fixture_path("three-tier"), "--all-clusters", "-n", "shop"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let mut waiting = server.spawn_cli(&["publish", "three-tier", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert!(
        test_server::read_first_line(&mut waiting).starts_with("workload/three-tier published: revision 1")
    );
    server.kill();
    server.start();
    let ended = test_server::wait_for_exit(waiting);
    assert_eq!(ended.exit_code, 0, "{ended}");
    let status = server.run_cli_json(&["status", "three-tier", "-o", "json"]);
    assert_eq!(status["counts"]["Healthy"], 5);
}

#[test]
fn e3_placement_is_explained_per_cluster_and_follows_labels() {
    let server = TestServer::start_new();
    server.run_cli(&["apply", "-f", &fixture_path("jobs"), "-n", "work", "--selector", "team=a"]);
    let none = server.run_cli(&["explain", "placement", "jobs"]);
    assert!(none.stdout.contains("goes to 0 of 5 clusters"), "{none}");
    assert!(none.stdout.contains("required team=a"), "{none}");
    assert!(none.stdout.contains("fix: "), "{none}");

    assert_eq!(server.run_cli(&["cluster", "label", "eu-west-1", "team=a"]).exit_code, 0);
    let one = server.run_cli_json(&["explain", "placement", "jobs", "--cluster", "eu-west-1", "-o", "json"]);
    assert_eq!(one["evaluations"][0]["selected"], true, "{one}");
    let every = server.run_cli(&["explain", "placement", "jobs"]);
    assert!(every.stdout.contains("eu-west-1: selected\n  passed selection: required team=a"), "{every}");
    assert_eq!(server.run_cli(&["cluster", "cordon", "eu-west-1"]).exit_code, 0);
    let cluster = server.run_cli_json(&["cluster", "get", "eu-west-1", "-o", "json"]);
    assert_eq!(cluster["schedulable"], false);
    assert_eq!(cluster["labels"]["team"], "a");
    assert_eq!(server.run_cli(&["cluster", "uncordon", "eu-west-1"]).exit_code, 0);
    assert_eq!(server.run_cli_json(&["cluster", "list", "-o", "json"]).as_array().unwrap().len(), 5);
}

#[test]
fn a_mistyped_name_and_a_wrong_token_are_reported_with_a_hint() {
    let server = TestServer::start_new();
    let typo = server.run_cli(&["status", "lighthose"]);
    assert_eq!(typo.exit_code, 1, "{typo}");
    assert!(typo.stderr.contains("Did you mean \"lighthouse\"?"), "{typo}");

    let wrong = server.run_cli(&["--token", "flt_wrong", "status"]);
    assert_eq!(wrong.exit_code, 1, "{wrong}");
    assert!(wrong.stderr.contains("/settings"), "{wrong}");
    assert!(!wrong.stderr.contains("flt_wrong"), "{wrong}");

    let login = server.run_cli(&["login"]);
    assert_eq!(login.exit_code, 0, "{login}");
    let status = server.run_cli_with_context_file(&["status"]);
    assert_eq!(status.exit_code, 0, "{status}");
    assert!(status.stdout.contains("lighthouse"), "{status}");

    let events = server.run_cli_json(&["events", "--workload", "lighthouse", "-o", "json"]);
    assert!(!events["items"].as_array().unwrap().is_empty());
}

#[test]
fn s1_1_a_group_is_set_listed_and_deleted() {
    let server = TestServer::start_new();
    let set =
        server.run_cli(&["group", "set", "eu", "--selector", "region=eu-west", "--clusters", "us-east-1"]);
    assert_eq!((set.exit_code, &*set.stdout), (0, "group/eu saved\n"), "{set}");
    let list = server.run_cli_json(&["group", "list", "-o", "json"]);
    assert_eq!(list[0]["members"][0], "us-east-1");
    assert_eq!(server.run_cli(&["group", "set", "none"]).exit_code, 2, "a group needs members or a selector");
    let unconfirmed = server.run_cli(&["group", "delete", "eu"]);
    assert_eq!(unconfirmed.exit_code, 2, "there is no terminal to ask on");
    assert!(unconfirmed.stderr.contains("--yes"), "{}", unconfirmed.stderr);
    let gone = server.run_cli(&["group", "delete", "eu", "--yes"]);
    assert_eq!((gone.exit_code, &*gone.stdout), (0, "group/eu deleted\n"), "{gone}");
    assert_eq!(server.run_cli(&["group", "delete", "eu", "--yes"]).exit_code, 1);
}

#[test]
fn f4b_a_rollout_is_defined_in_a_file_watched_and_controlled() {
    let server = TestServer::start_new();
    let folder = server.folder();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
    std::fs::write(folder.join("settings.yaml"), map).unwrap();
    let workload = folder.join("workload.yaml");
    let define = |waves: &str| {
        let text = format!(
            "name: web\nnamespace: shop\nclusters: [eu-west-1, eu-west-2]\npayload: settings.yaml\nrollout:\n  waves: {waves}\n"
        );
        std::fs::write(&workload, text).unwrap();
        server.run_cli(&["apply", "-f", &workload.display().to_string()])
    };
    let applied = define("[{name: canary, maxClusters: 1, soak: soon}, {name: rest}]");
    assert_eq!(applied.exit_code, 3, "the draft is stored, and its error is reported: {applied}");
    let rejected = server.run_cli(&["publish", "web"]);
    assert_eq!(rejected.exit_code, 3, "{rejected}");
    for output in [applied, rejected] {
        assert!(
            format!("{output}").contains("[G511] soak is \"soon\", which is not a time span."),
            "{output}"
        );
    }

    let in_zone = |zone: &str| {
        let window = format!("{{from: \"00:00\", to: \"24:00\", timeZone: {zone}}}");
        define(&format!(
            "[{{name: canary, maxClusters: 1}}, {{name: rest, approval: true}}]\n  window: {window}"
        ))
    };
    let unknown = in_zone("Europe/Berln");
    assert_eq!(unknown.exit_code, 3, "{unknown}");
    assert!(unknown.to_string().contains("[G513] There is no time zone \"Europe/Berln\"."), "{unknown}");
    assert!(unknown.to_string().contains("Did you mean Europe/Berlin?"), "{unknown}");
    let known = in_zone("Europe/Berlin");
    assert_eq!(known.exit_code, 0, "{known}");
    let plan = server.run_cli(&["plan", "web"]);
    assert!(
        plan.stdout.contains("In waves: canary (1 cluster) → rest (1 cluster, requires approval)."),
        "{plan}"
    );
    assert_eq!(server.run_cli(&["publish", "web"]).exit_code, 0);
    wait_until("the second wave waits for approval", || {
        server.run_cli(&["rollout", "status", "web"]).stdout.contains("waits for approval")
    });
    // Every publish starts another rollout, so the wait is as long as its first wave may take.
    wait_until("the wait ends with the approval that is missing", || {
        let waited = server.run_cli(&["publish", "web", "--wait", "--timeout", "20s"]);
        assert_eq!(waited.exit_code, 5, "not approved yet: {waited}");
        waited.stderr.contains("waits for approval")
    });
    let status = server.run_cli(&["rollout", "status", "web"]);
    assert!(status.stdout.contains("Wave 2 of 2 (rest) waits for approval."), "{status}");
    assert!(status.stdout.contains("Awaiting approval"), "{status}");
    let promoted = server.run_cli(&["rollout", "promote", "web"]);
    assert_eq!(promoted.exit_code, 1, "{promoted}");
    assert!(promoted.stderr.contains("no wave of it is soaking"), "{promoted}");
    let retried = server.run_cli(&["rollout", "retry", "web"]);
    assert!(retried.exit_code == 1 && retried.stderr.contains("is failing"), "{retried}");
    let approved = server.run_cli(&["rollout", "approve", "web"]);
    assert_eq!(approved.exit_code, 0, "{approved}");
    wait_until("the rollout is completed", || {
        server.run_cli_json(&["rollout", "status", "web", "-o", "json"])["state"]["type"] == "completed"
    });
    let status = server.run_cli_json(&["status", "web", "-o", "json"]);
    assert_eq!(
        (&status["counts"]["Healthy"], &status["rollout"]["state"]["type"]),
        (&2.into(), &"completed".into())
    );
}
