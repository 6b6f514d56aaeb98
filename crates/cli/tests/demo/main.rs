//! The built command against the real server with its simulated clusters. What a person does, in the order they do it.

mod house;

use house::{House, fixture};

/// Long enough for any machine; nothing here asserts how fast something is.
const PATIENCE: &str = "5m";

#[test]
fn r7_publish_waits_until_every_cluster_is_healthy_and_status_tells_each_of_them() {
    let house = House::open();
    let applied = house.run(&["apply", "-f", &fixture("three-tier"), "--all-clusters", "-n", "shop"]);
    assert_eq!(applied.code, 0, "{applied}");
    assert_eq!(applied.out, "workload/three-tier created (draft)\n");
    assert!(applied.err.contains("would go to 5 of 5 clusters"), "{applied}");

    let published = house.run(&["publish", "three-tier", "-m", "first", "--wait", "--timeout", PATIENCE]);
    assert_eq!(published.code, 0, "{published}");
    assert!(published.err.contains("runs on 5 clusters"), "{published}");

    let status = house.json(&["status", "three-tier", "-o", "json"]);
    assert_eq!(status["counts"]["Healthy"], 5);
    let targets = status["targetClusters"].as_array().unwrap();
    assert_eq!(targets.len(), 5);
    for target in targets {
        assert_eq!(target["state"], "Healthy", "{target}");
        assert_eq!(target["sync"], "Synced");
        assert_eq!(target["health"]["status"], "Healthy");
        assert_eq!(target["reach"], "Online");
        assert_eq!(target["stages"].as_array().unwrap().len(), 13);
        assert_eq!(target["revision"], 1);
        assert!(target["clusterName"].is_string());
    }
    let again = house.run(&["apply", "-f", &fixture("three-tier")]);
    assert_eq!(again.out, "workload/three-tier unchanged\n", "without a flag, placement and namespace stay");

    let history = house.json(&["history", "three-tier", "-o", "json"]);
    assert_eq!(history["items"][0]["message"], "first");

    let gone = house.run(&["unpublish", "three-tier", "--wait", "--timeout", PATIENCE]);
    assert_eq!(gone.code, 0, "{gone}");
    let deleted = house.run(&["delete", "three-tier", "--yes", "--wait", "--timeout", PATIENCE]);
    assert_eq!(deleted.code, 0, "{deleted}");
    let asked = house.run(&["get", "three-tier"]);
    assert_eq!(asked.code, 1, "{asked}");
}

#[test]
fn e_2_a_plan_tells_every_change_before_it_happens_and_binds_the_publish() {
    let house = House::open();
    let file = |value: &str| {
        let path = house.folder().join("settings.yaml");
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: ";
        std::fs::write(&path, format!("{map}{value}}}\n")).unwrap();
        path.display().to_string()
    };
    let apply = |value: &str, clusters: &[&str]| {
        let mut args = vec!["apply", "--name", "web", "-n", "shop", "-f"];
        let path = file(value);
        args.push(&path);
        args.extend(clusters);
        let applied = house.run(&args);
        assert_eq!(applied.code, 0, "{applied}");
    };
    apply("blue", &["--all-clusters"]);
    let plan = house.run(&["plan", "web"]);
    assert_eq!(plan.code, 0, "{plan}");
    assert!(
        plan.out.contains("5 clusters asked") && plan.out.contains("+ ConfigMap shop/settings"),
        "{plan}"
    );
    let hash = house.json(&["plan", "web", "-o", "json"])["hash"].as_str().unwrap().to_owned();
    assert!(
        plan.out.contains(&format!("flotilla publish web --plan {hash}")),
        "the same plan has the same hash"
    );
    let published = house.run(&["publish", "web", "--plan", &hash, "--wait", "--timeout", PATIENCE]);
    assert_eq!(published.code, 0, "{published}");
    let stale = house.run(&["publish", "web", "--plan", &hash]);
    assert_eq!(stale.code, 6, "{stale}");

    apply("green", &[]);
    let diff = house.run(&["diff", "web", "--cluster", "eu-west-1"]);
    assert_eq!(diff.code, 0, "{diff}");
    assert!(diff.out.contains("/data/colour\n        - blue\n        + green"), "{diff}");
    assert!(!diff.out.contains("eu-west-2"), "{diff}");
    let nowhere = house.run(&["diff", "web", "--cluster", "eu-west-7"]);
    assert_eq!(nowhere.code, 1, "{nowhere}");
    assert!(nowhere.err.contains("Did you mean \"eu-west-1\"?"), "{nowhere}");

    apply("green", &["--clusters", "eu-west-1"]);
    let refused = house.run(&["publish", "web"]);
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.err.contains("G505") && refused.err.contains("Type 4"), "{refused}");
    let confirmed = house.run(&["publish", "web", "--confirm", "4"]);
    assert_eq!(confirmed.code, 0, "{confirmed}");

    let nothing = house.run(&["rollback", "web", "9"]);
    assert_eq!(nothing.code, 3, "{nothing}");
    assert!(nothing.err.contains("from 1 to 2"), "{nothing}");
    let back = house.run(&["rollback", "web", "1", "--wait", "--timeout", PATIENCE]);
    assert_eq!(back.code, 0, "{back}");
    assert!(back.err.contains("runs on 5 clusters"), "{back}");
    assert_eq!(house.json(&["history", "web", "-o", "json"])["items"][0]["message"], "Back to revision 1");
}

#[test]
fn r7_a_publish_that_some_clusters_can_not_carry_out_ends_with_4_and_says_why() {
    let house = House::open();
    let file = fixture("bad/image-does-not-exist.yaml");
    let applied =
        house.run(&["apply", "-f", &file, "--name", "broken", "--clusters", "eu-west-1", "-n", "broken"]);
    assert_eq!(applied.code, 0, "{applied}");

    let late = house.run(&["publish", "broken", "--wait", "--timeout", "0s"]);
    assert_eq!(late.code, 5, "{late}");
    assert!(late.err.contains("The publish goes on"), "{late}");

    let published = house.run(&["publish", "broken", "--wait", "--timeout", PATIENCE]);
    assert_eq!(published.code, 4, "{published}");
    assert!(published.err.contains("registry.invalid/does-not-exist:1.0"), "{published}");
    assert!(published.err.contains("1 of 1 clusters failed"), "{published}");
}

#[test]
fn s0_14_a_guard_rail_refuses_with_3_and_the_draft_is_kept() {
    let house = House::open();
    let file = fixture("bad/selector-mismatch.yaml");
    let applied = house.run(&["apply", "-f", &file, "--clusters", "eu-west-1"]);
    assert_eq!(applied.code, 3, "{applied}");
    assert!(applied.err.contains("selector-mismatch.yaml:9:7: error[G214]"), "{applied}");
    assert!(applied.err.contains("The draft is stored all the same"), "{applied}");
    assert!(applied.err.contains("go to \"default\""), "{applied}");

    let published = house.run(&["publish", "selector-mismatch", "--wait"]);
    assert_eq!(published.code, 3, "{published}");
    assert!(published.err.contains("G214"), "{published}");
    let view = house.json(&["get", "selector-mismatch", "-o", "json"]);
    assert_eq!(view["intent"], "draft");

    let dry = house.run(&["apply", "-f", &file, "--name", "other", "--all-clusters", "--dry-run"]);
    assert_eq!(dry.code, 3, "{dry}");
    assert_eq!(house.run(&["get", "other"]).code, 1, "a dry run stores nothing");
}

#[test]
fn s3_3_work_is_created_changed_got_and_deleted_for_one_cluster_from_a_file_or_a_folder() {
    let house = House::open();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: \"{value}\"\n")
    };
    write("a.yaml", &map("1"));
    let path = folder.path().display().to_string();
    let flags = ["--name", "work", "-n", "work", "--clusters", "eu-west-1", "--policy", "deletion=orphan"];
    let created = house.run(&[&["apply", "-f", &path][..], &flags].concat());
    assert_eq!((created.code, created.out.as_str()), (0, "workload/work created (draft)\n"), "{created}");
    let published = house.run(&["publish", "work", "--wait", "--timeout", PATIENCE]);
    assert_eq!(published.code, 0, "{published}");
    let view = house.json(&["get", "work", "-o", "json"]);
    assert_eq!(view["draft"]["policies"]["deletion"], "orphan", "{view}");
    let status = house.json(&["status", "work", "-o", "json"]);
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
    let changed = house.run(&["apply", "-f", &definition]);
    assert_eq!(changed.out, "workload/work changed (draft)\n", "{changed}");
    let typo = house.run(&["apply", "-f", &definition, "--policy", "delition=orphan"]);
    assert!(typo.code == 2 && typo.err.contains("\"delition\"") && typo.err.contains("deletion"), "{typo}");
    assert_eq!(house.run(&["publish", "work", "--wait", "--timeout", PATIENCE]).code, 0);
    let deleted = house.run(&["delete", "work", "--yes", "--wait", "--timeout", PATIENCE]);
    assert_eq!(deleted.code, 0, "{deleted}");
    assert_eq!(house.run(&["get", "work"]).code, 1);
}

#[test]
fn s3_14_diagnose_goes_through_a_cluster_and_names_what_is_wrong_with_a_workload() {
    let house = House::open();
    let cluster = house.run(&["diagnose", "cluster", "eu-west-1"]);
    assert!(cluster.out.contains("ok   agent: ") && cluster.out.contains("AppliedRelease"), "{cluster}");
    let file = fixture("bad/image-does-not-exist.yaml");
    house.run(&["apply", "-f", &file, "--name", "broken", "--clusters", "eu-west-1", "-n", "broken"]);
    house.run(&["publish", "broken", "--wait", "--timeout", PATIENCE]);
    let broken = house.run(&["diagnose", "broken"]);
    assert_eq!(broken.code, 1, "{broken}");
    assert!(broken.out.contains("FAIL broken on eu-west-1"), "{broken}");
    assert!(broken.out.contains("registry.invalid/does-not-exist:1.0"), "{broken}");
    let well = house.json(&["diagnose", "lighthouse", "-o", "json"]);
    assert!(well.as_array().unwrap().iter().all(|check| check["ok"] == true), "{well}");
    assert_eq!(house.run(&["diagnose", "lighthose"]).code, 1);
}

#[test]
fn a_new_workload_without_a_placement_is_told_what_to_do() {
    let house = House::open();
    let applied = house.run(&["apply", "-f", &fixture("jobs"), "-n", "work"]);
    assert!(applied.err.contains("has no placement yet"), "{applied}");
    assert!(applied.err.contains("--all-clusters"), "{applied}");
    let typo = house.run(&["apply", "-f", &fixture("jobs"), "--clusters", "eu-west-1,eu-wset-2"]);
    assert!(typo.err.contains("There is no cluster \"eu-wset-2\". Did you mean \"eu-west-2\"?"), "{typo}");
}

#[test]
fn p2_the_wait_goes_on_over_a_server_that_is_killed_and_started_again() {
    let mut house = House::open();
    let applied = house.run(&["apply", "-f", &fixture("three-tier"), "--all-clusters", "-n", "shop"]);
    assert_eq!(applied.code, 0, "{applied}");
    let mut waiting = house.spawn(&["publish", "three-tier", "--wait", "--timeout", PATIENCE]);
    assert!(house::first_line(&mut waiting).starts_with("workload/three-tier published: revision 1"));
    house.kill();
    house.start();
    let ended = house::ended(waiting);
    assert_eq!(ended.code, 0, "{ended}");
    let status = house.json(&["status", "three-tier", "-o", "json"]);
    assert_eq!(status["counts"]["Healthy"], 5);
}

#[test]
fn e3_placement_is_explained_cluster_by_cluster_and_follows_labels() {
    let house = House::open();
    house.run(&["apply", "-f", &fixture("jobs"), "-n", "work", "--selector", "team=a"]);
    let none = house.run(&["explain", "placement", "jobs"]);
    assert!(none.out.contains("goes to 0 of 5 clusters"), "{none}");
    assert!(none.out.contains("asked team=a"), "{none}");
    assert!(none.out.contains("fix: "), "{none}");

    assert_eq!(house.run(&["cluster", "label", "eu-west-1", "team=a"]).code, 0);
    let one = house.json(&["explain", "placement", "jobs", "--cluster", "eu-west-1", "-o", "json"]);
    assert_eq!(one["verdicts"][0]["chosen"], true, "{one}");
    assert_eq!(house.run(&["cluster", "cordon", "eu-west-1"]).code, 0);
    let cluster = house.json(&["cluster", "get", "eu-west-1", "-o", "json"]);
    assert_eq!(cluster["schedulable"], false);
    assert_eq!(cluster["labels"]["team"], "a");
    assert_eq!(house.run(&["cluster", "uncordon", "eu-west-1"]).code, 0);
    assert_eq!(house.json(&["cluster", "list", "-o", "json"]).as_array().unwrap().len(), 5);
}

#[test]
fn a_mistyped_name_and_a_wrong_token_are_answered_with_what_to_do() {
    let house = House::open();
    let typo = house.run(&["status", "lighthose"]);
    assert_eq!(typo.code, 1, "{typo}");
    assert!(typo.err.contains("Did you mean \"lighthouse\"?"), "{typo}");

    let wrong = house.run(&["--token", "flt_wrong", "status"]);
    assert_eq!(wrong.code, 1, "{wrong}");
    assert!(wrong.err.contains("/settings"), "{wrong}");
    assert!(!wrong.err.contains("flt_wrong"), "{wrong}");

    let login = house.run(&["login"]);
    assert_eq!(login.code, 0, "{login}");
    let kept = house.run_from_context(&["status"]);
    assert_eq!(kept.code, 0, "{kept}");
    assert!(kept.out.contains("lighthouse"), "{kept}");

    let events = house.json(&["events", "--workload", "lighthouse", "-o", "json"]);
    assert!(!events["items"].as_array().unwrap().is_empty());
}

#[test]
fn s1_2_a_group_is_set_listed_and_deleted() {
    let house = House::open();
    let set = house.run(&["group", "set", "eu", "--selector", "region=eu-west", "--clusters", "us-east-1"]);
    assert_eq!((set.code, &*set.out), (0, "group/eu saved\n"), "{set}");
    let list = house.json(&["group", "list", "-o", "json"]);
    assert_eq!(list[0]["members"][0], "us-east-1");
    assert_eq!(house.run(&["group", "set", "none"]).code, 2, "a group of nobody is no group");
    let gone = house.run(&["group", "delete", "eu"]);
    assert_eq!((gone.code, &*gone.out), (0, "group/eu deleted\n"), "{gone}");
    assert_eq!(house.run(&["group", "delete", "eu"]).code, 1);
}

#[test]
fn f4b_a_rollout_is_described_in_a_file_watched_and_steered() {
    let house = House::open();
    let folder = house.folder();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
    std::fs::write(folder.join("settings.yaml"), map).unwrap();
    let workload = folder.join("workload.yaml");
    let define = |waves: &str| {
        let text = format!(
            "name: web\nnamespace: shop\nclusters: [eu-west-1, eu-west-2]\npayload: settings.yaml\nrollout:\n  waves: {waves}\n"
        );
        std::fs::write(&workload, text).unwrap();
        house.run(&["apply", "-f", &workload.display().to_string()])
    };
    let applied = define("[{name: canary, take: 1, soak: soon}, {name: rest}]");
    assert_eq!(applied.code, 3, "the draft is kept, and told to be wrong: {applied}");
    let refused = house.run(&["publish", "web"]);
    assert_eq!(refused.code, 3, "{refused}");
    for said in [applied, refused] {
        assert!(format!("{said}").contains("[G511] soak is \"soon\", which is no time span."), "{said}");
    }

    define("[{name: canary, take: 1}, {name: rest, approval: true}]");
    let plan = house.run(&["plan", "web"]);
    assert!(
        plan.out.contains("In waves: canary (1 cluster) → rest (1 cluster, asks for approval)."),
        "{plan}"
    );
    assert_eq!(house.run(&["publish", "web"]).code, 0);
    let waited = house.run(&["publish", "web", "--wait", "--timeout", "20s"]);
    assert_eq!(waited.code, 5, "nobody has approved it: {waited}");
    assert!(waited.err.contains("waits for somebody to approve it"), "{waited}");
    let status = house.run(&["rollout", "status", "web"]);
    assert!(status.out.contains("Wave 2 of 2 (rest) waits for somebody to approve it."), "{status}");
    assert!(status.out.contains("Awaiting approval"), "{status}");
    let promoted = house.run(&["rollout", "promote", "web"]);
    assert_eq!(promoted.code, 1, "{promoted}");
    assert!(promoted.err.contains("no wave of it is soaking"), "{promoted}");
    let approved = house.run(&["rollout", "approve", "web"]);
    assert_eq!(approved.code, 0, "{approved}");
    for _ in 0..600 {
        if house.json(&["rollout", "status", "web", "-o", "json"])["state"]["type"] == "completed" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let status = house.json(&["status", "web", "-o", "json"]);
    assert_eq!(
        (&status["counts"]["Healthy"], &status["rollout"]["state"]["type"]),
        (&2.into(), &"completed".into())
    );
}
