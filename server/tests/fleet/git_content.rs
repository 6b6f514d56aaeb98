//! What a Git source accepts: manifests, charts and kustomizations of allowed servers, and nothing that leaves the commit.

use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use domain::git_repository::GitRepositoryPut;
use domain::remote::{GitContent, OnNewCommit};
use source::RemoteAccess;
use source::git::GitClient;
use source::kustomize::Kustomize;
use wire::{RenderQuery, ValuesQuery};

use super::charts::{cluster_named, override_for, pack_files, set_helm, values_of};
use super::git_server::{GitServer, is_link};
use super::git_sources::{
    draft_source, find_problems, git_fleet, git_workload, manifest, publish, replicas, repository,
    wait_for_replicas,
};
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn g121_hostile_repositories_are_refused_with_the_entry_named() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        let refuse = async |expected: [&str; 2]| {
            server.commit_all("Change it");
            let problems = find_problems(&fleet, &new).await;
            let is_found = |(code, text): &(String, String)| {
                code == "G121" && expected.iter().all(|part| text.contains(part))
            };
            assert!(problems.iter().any(is_found), "{expected:?}: {problems:?}");
            server.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        };
        std::os::unix::fs::symlink("/etc/passwd", server.path("deploy/passwd.yaml")).unwrap();
        assert!(is_link(&server.path("deploy/passwd.yaml")));
        refuse(["deploy/passwd.yaml", "symbolic link"]).await;
        let head = server.git(&["rev-parse", "HEAD"]);
        server.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},deploy/module")]);
        std::fs::create_dir_all(server.path("deploy/module")).unwrap();
        refuse(["deploy/module", "submodule"]).await;
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n";
        std::fs::write(server.path("deploy/big.yaml"), pointer).unwrap();
        refuse(["deploy/big.yaml", "Git LFS"]).await;
        std::fs::write(server.path("deploy/huge.yaml"), vec![b'#'; 11 << 20]).unwrap();
        refuse(["deploy/huge.yaml", "more than 10485760 bytes"]).await;
        std::fs::write(server.path("deploy/WEB.yaml"), manifest(1)).unwrap();
        refuse(["differs from another one only by case", "deploy/"]).await;
        std::fs::write(server.path("deploy/latin.yaml"), b"a: \xe4\n").unwrap();
        refuse(["latin.yaml", "not UTF-8"]).await;
        // A large file elsewhere is no obstacle: it is not even fetched.
        std::fs::write(server.path("video.bin"), vec![7; 11 << 20]).unwrap();
        server.commit_all("Add a video");
        publish(&fleet, &new).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g120_options_of_a_manifest_work_in_a_commit_are_named_as_without_effect() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let work = "apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: addon, namespace: cluster1}
spec:
  deleteOption: {propagationPolicy: Orphan}
  workload:
    manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}, data: {a: b}}
";
        server.commit("deploy/work.yaml", work, "Add a work");
        let mut new = git_workload(&server, OnNewCommit::Draft);
        let problems = find_problems(&fleet, &new).await;
        let is_named = |(code, text): &(String, String)| {
            code == "G120" && text.contains("addon") && text.contains("deletion")
        };
        assert_eq!(problems.iter().filter(|problem| is_named(problem)).count(), 1, "{problems:?}");
        new.spec.policies.deletion = domain::policy::DeletionPolicy::Orphan;
        let problems = find_problems(&fleet, &new).await;
        assert!(!problems.iter().any(|(code, _)| code == "G120"), "the policy is the same: {problems:?}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_other_tools_and_of_other_teams_in_a_repository_block_nothing() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let head = server.git(&["rev-parse", "HEAD:deploy/web.yaml"]);
        // Valid names for Git and Linux, at the root and beside the folder that is read.
        for name in ["minutes 10:30.md", "deploy-notes 9:15.txt", "a\\b", "two\nlines.md"] {
            server.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{head},{name}")]);
        }
        server.git(&["commit", "--quiet", "-m", "Add minutes"]);
        server.git(&["checkout", "--quiet", "--", "."]);
        std::os::unix::fs::symlink("/etc/passwd", server.path("passwd.yaml")).unwrap();
        let latin = std::ffi::OsString::from_vec(b"men\xfc.txt".to_vec());
        std::fs::write(server.path("deploy").with_file_name(latin), "soup\n").unwrap();
        for (file, text) in [
            ("deploy/values-production.yaml", "replicas: 9\n"),
            ("deploy/dashboards/web.json", "{\"panels\": []}\n"),
            ("deploy/.github/check.yaml", "apiVersion: [broken\n"),
        ] {
            std::fs::create_dir_all(server.path(file).parent().unwrap()).unwrap();
            std::fs::write(server.path(file), text).unwrap();
        }
        server.commit_all("Add files of other tools");
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        let problems = find_problems(&fleet, &new).await;
        let left_out: Vec<&String> =
            problems.iter().filter(|(code, _)| code == "G109").map(|(_, text)| text).collect();
        let [text] = left_out.as_slice() else { panic!("{problems:?}") };
        assert!(text.contains("values-production.yaml") && text.contains("dashboards/web.json"), "{text}");
        publish(&fleet, &new).await;
        // The same name inside the folder is refused by its name.
        server.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("100644,{head},deploy/notes 9:15.yaml"),
        ]);
        server.git(&["commit", "--quiet", "-m", "Add a name with a colon"]);
        let problems = find_problems(&fleet, &new).await;
        let is_named = |(code, text): &(String, String)| code == "G121" && text.contains("notes 9:15.yaml");
        assert!(problems.iter().any(is_named), "{problems:?}");
        // On the way to a folder below, it does not matter.
        server.git(&["checkout", "--quiet", "--", "."]);
        server.commit("deploy/below/web.yaml", &manifest(1), "Add a folder below");
        let mut below = new.clone();
        if let Source::Git(source) = &mut below.spec.source {
            source.path = "deploy/below".into();
        }
        let problems = find_problems(&fleet, &below).await;
        assert!(!problems.iter().any(|(code, _)| code == "G121"), "{problems:?}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_helmignore_leaves_out_of_a_chart_in_a_repository_is_not_published() {
    with_timeout(Box::pin(async {
        let server = GitServer::start().await;
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n";
        let other = config.replace("web", "debug");
        let of_subchart = config.replace("web", "kit");
        for (file, text) in [
            ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n"),
            ("chart/.helmignore", "# Editors\n*.orig\n*~\n/templates/debug.yaml\nlinks/\ncrds/\n"),
            ("chart/templates/web.yaml", config),
            ("chart/templates/web.yaml.orig", config),
            ("chart/templates/debug.yaml", &other),
            ("chart/templates/.hidden.yaml", &other),
            ("chart/links/file.txt", "a"),
            ("chart/crds/odd.yaml", "kind: [broken\n"),
            ("chart/charts/kit/Chart.yaml", "apiVersion: v2\nname: kit\nversion: 0.1.0\n"),
            ("chart/charts/kit/.helmignore", "templates/\n*.yaml\n"),
            ("chart/charts/kit/templates/kit.yaml", &of_subchart),
        ] {
            std::fs::create_dir_all(server.path(file).parent().unwrap()).unwrap();
            std::fs::write(server.path(file), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", server.path("chart/links/passwd")).unwrap();
        server.commit_all("Add the chart");
        let fleet = git_fleet().await;
        set_helm(&fleet).await;
        let mut new = git_workload(&server, OnNewCommit::Draft);
        if let Source::Git(source) = &mut new.spec.source {
            source.path = "chart".into();
        }
        publish(&fleet, &new).await;
        assert_eq!(values_of(&fleet, 0)["a"], "b");
        assert_eq!(
            draft_source(&fleet).await.pinned.unwrap().files,
            6,
            "Chart.yaml, .helmignore and one template of the chart and of its subchart"
        );
        // The rules of a subchart count where it is packed alone.
        assert!(fleet.clusters[0].get(CONFIG_MAP, ("apps", "kit")).is_some());
        assert!(fleet.clusters[0].get(CONFIG_MAP, ("apps", "debug")).is_none());
        // Helm refuses "**": so does Flotilla, with the file and the line.
        server.commit("chart/.helmignore", "*.orig\n**/debug.yaml\n", "Use two stars");
        let problems = find_problems(&fleet, &new).await;
        let is_refused = |(code, text): &(String, String)| {
            code == "G121" && text.contains("chart/.helmignore") && text.contains("line 2")
        };
        assert!(problems.iter().any(is_refused), "{problems:?}");
        fleet.stop().await;
    }))
    .await;
}

/// A library chart that asks for an API of the cluster.
const KIT: [(&str, &str); 2] = [
    ("kit/Chart.yaml", "apiVersion: v2\nname: kit\nversion: 0.1.0\ntype: library\n"),
    (
        "kit/templates/_kit.tpl",
        "{{- define \"kit.monitored\" -}}{{ .Capabilities.APIVersions.Has \"metrics.example.com/v1\" }}{{- end -}}\n",
    ),
];

/// Waits until the draft of a workload is rendered for a cluster as one that has the API, or has not.
async fn wait_for_monitored(fleet: &TestFleet, (workload, cluster): (&str, &str), expected: &str) {
    let query = RenderQuery { cluster: cluster.to_owned(), ..RenderQuery::default() };
    loop {
        // Not before the commit is fetched and the chart is rendered.
        let rendered = fleet.client.render_workload(workload, &query).await;
        let objects = rendered.map(|rendered| rendered.objects).unwrap_or_default();
        if objects.iter().any(|object| object["data"]["monitored"] == expected) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subchart_that_asks_for_an_api_is_rendered_for_every_cluster_packed_or_as_a_folder() {
    with_timeout(Box::pin(async {
        let server = GitServer::start().await;
        let description = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: kit, version: 0.1.0, repository: 'https://charts.example.com'}\n";
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  monitored: {{ include \"kit.monitored\" . | quote }}\n";
        let write = |path: &str, bytes: &[u8]| {
            let path = server.path(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        for form in ["packed", "folder"] {
            write(&format!("{form}/Chart.yaml"), description.as_bytes());
            write(&format!("{form}/templates/web.yaml"), template.as_bytes());
        }
        write("packed/charts/kit-0.1.0.tgz", &pack_files(&KIT));
        for (path, text) in KIT {
            write(&format!("folder/charts/{path}"), text.as_bytes());
        }
        server.commit_all("Add the chart in two forms");
        let fleet = git_fleet().await;
        set_helm(&fleet).await;
        let names = json!({"plural": "targets", "singular": "target", "kind": "Target", "listKind": "TargetList"});
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "targets.metrics.example.com"},
            "spec": {"group": "metrics.example.com", "scope": "Namespaced", "names": names,
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
        fleet.clusters[0].create(definition, "kubectl").unwrap();
        for form in ["packed", "folder"] {
            let mut new = git_workload(&server, OnNewCommit::Draft);
            new.name = form.to_owned();
            if let Source::Git(source) = &mut new.spec.source {
                source.path = form.into();
            }
            fleet.client.create_workload(&new).await.unwrap();
            // The agent reports the definition with its next facts.
            wait_for_monitored(&fleet, (form, "eu-1"), "true").await;
            wait_for_monitored(&fleet, (form, "eu-2"), "false").await;
        }
        fleet.client.publish_workload("packed", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_status("packed", |status| status.counts.healthy() == 3).await;
        let monitored = [0, 1, 2].map(|cluster| values_of(&fleet, cluster)["monitored"].clone());
        assert_eq!(monitored, ["true", "false", "false"]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_found_after_any_number_of_others_and_a_list_that_is_not_read_to_its_end_is_no_missing_branch()
 {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        server.list_all_refs(40_000);
        let problems = find_problems(&fleet, &new).await;
        let is_unknown = |(code, text): &(String, String)| {
            code == "G121" && text.contains("could not be read") && text.contains("more than 2 MiB")
        };
        assert!(problems.iter().any(is_unknown), "{problems:?}");
        assert!(!problems.iter().any(|(_, text)| text.contains("no branch")), "{problems:?}");
        server.list_all_refs(5_000);
        publish(&fleet, &new).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_the_server_does_not_allow_and_ssh_are_refused() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = TestFleet::start().await;
        fleet.hub.set_git_client(GitClient::new(RemoteAccess::Https, fleet.scratch()).unwrap());
        let at = |url: &str| {
            let mut new = git_workload(&server, OnNewCommit::Draft);
            let Source::Git(source) = &mut new.spec.source else { unreachable!() };
            url.clone_into(&mut source.repository);
            new
        };
        let own = server.url();
        for url in [&*own, "https://127.0.0.1/a.git", "https://169.254.169.254/a", "https://2130706433/a.git"]
        {
            let problems = find_problems(&fleet, &at(url)).await;
            assert!(problems.iter().any(|(code, _)| code == "G122"), "{url}: {problems:?}");
        }
        let ssh = find_problems(&fleet, &at("git@github.com:acme/deploy.git")).await;
        assert!(ssh.iter().any(|(code, text)| code == "G122" && text.contains("no program ssh")), "{ssh:?}");
        assert_eq!(server.fetches(), 0, "nothing was requested");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_s1_11_a_chart_in_a_repository_is_rendered_with_values_per_cluster() {
    with_timeout(Box::pin(async {
        let server = GitServer::start().await;
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {chart: '{{ .Chart.Version }}', replicas: '{{ .Values.replicas }}'}\n";
        server.commit("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n", "Begin");
        server.commit("charts/web/values.yaml", "replicas: 1\n", "Add values");
        server.commit("charts/web/templates/web.yaml", template, "Add the template");
        let fleet = git_fleet().await;
        set_helm(&fleet).await;
        let mut new = git_workload(&server, OnNewCommit::Draft);
        if let Source::Git(source) = &mut new.spec.source {
            source.path = "charts/web".into();
            source.values = "replicas: 7\n".into();
        }
        new.spec.overrides = vec![override_for("us-1", cluster_named("us-1"), "replicas: 9\n")];
        publish(&fleet, &new).await;
        let pinned = draft_source(&fleet).await.pinned.unwrap();
        assert_eq!((pinned.content, pinned.files), (GitContent::Chart, 3));
        assert_eq!((&values_of(&fleet, 0)["chart"], &values_of(&fleet, 0)["replicas"]), (&json!("1.2.3"), &json!("7")));
        assert_eq!(values_of(&fleet, 2)["replicas"], "9", "the cluster wins over the common values");
        for (cluster, expected) in [("eu-1", 7), ("us-1", 9)] {
            let query = ValuesQuery { cluster: cluster.into(), ..ValuesQuery::default() };
            let values = fleet.client.get_values("web", &query).await.unwrap();
            assert_eq!(values.values["replicas"], expected);
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kustomization_is_rendered_in_the_sandbox_and_a_change_of_its_base_is_followed() {
    with_timeout(Box::pin(async {
        let server = GitServer::start().await;
        server.commit("base/web.yaml", &manifest(2), "Begin");
        server.commit("base/kustomization.yaml", "resources: [web.yaml]\n", "Add the base");
        let overlay = "resources: [../../base]\nlabels: [{pairs: {team: shop}}]\n";
        server.commit("overlays/eu/kustomization.yaml", overlay, "Add the overlay");
        let fleet = git_fleet().await;
        let mut new = git_workload(&server, OnNewCommit::All);
        if let Source::Git(source) = &mut new.spec.source {
            source.path = "overlays/eu".into();
        }
        // Without the program the console and the API say so, and the draft is kept.
        let problems = find_problems(&fleet, &new).await;
        assert!(
            problems.iter().any(|(code, text)| code == "G122" && text.contains("--kustomize")),
            "{problems:?}"
        );
        set_kustomize(&fleet).await;
        publish(&fleet, &new).await;
        assert_eq!(draft_source(&fleet).await.pinned.unwrap().content, GitContent::Kustomize);
        assert_eq!(fleet.deployment(0).unwrap()["metadata"]["labels"]["team"], "shop");

        server.commit("base/web.yaml", &manifest(3), "Run three replicas");
        let status = fleet.client.check_git_source("web").await.unwrap();
        assert_eq!((status.follow.blocked, status.follow.revision), (None, Some(2)));
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;

        // What would be fetched is refused by name; what kustomize rejects is shown.
        for (text, expected) in [
            ("resources: ['https://example.com/a.yaml']\n", "would be fetched"),
            (
                "resources: [../../base]\nhelmCharts: [{name: a, repo: 'https://example.com'}]\n",
                "fetches charts",
            ),
            ("resources: [../../base]\npatches: [{path: missing.yaml}]\n", "kustomize build fails"),
            (
                "resources: [../../base]\nconfigMapGenerator: [{name: a, files: [/etc/passwd]}]\n",
                "kustomize build fails",
            ),
        ] {
            server.commit("overlays/eu/kustomization.yaml", text, "Break it");
            let blocked = fleet.client.check_git_source("web").await.unwrap().follow.blocked.unwrap();
            assert!(blocked.message.contains(expected), "{text}: {blocked:?}");
            assert!(!blocked.message.contains("root:"), "{blocked:?}");
        }
        assert_eq!(replicas(&fleet, 0), 3);
        fleet.stop().await;
    }))
    .await;
}

async fn set_kustomize(fleet: &TestFleet) {
    let program = std::env::var_os("FLOTILLA_KUSTOMIZE").map(PathBuf::from);
    let program = program.expect("FLOTILLA_KUSTOMIZE names kustomize; cargo xtask test sets it");
    fleet.hub.set_kustomize(Kustomize::find(Some(&program), fleet.sandbox().await).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_commits_that_an_allowed_signer_signed_are_used() {
    with_timeout(Box::pin(async {
        let server = GitServer::start().await;
        let keys = tempfile::tempdir().unwrap();
        let key = |name: &str| {
            let path = keys.path().join(name).display().to_string();
            let made = std::process::Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path])
                .status();
            assert!(made.unwrap().success());
            path
        };
        let (ada, mallory) = (key("ada"), key("mallory"));
        let sign = |key: &str| {
            for (name, value) in [("gpg.format", "ssh"), ("user.signingkey", key), ("commit.gpgsign", "true")]
            {
                server.git(&["config", name, value]);
            }
        };
        sign(&ada);
        server.commit("deploy/web.yaml", &manifest(2), "Signed by Ada");
        let fleet = git_fleet().await;
        let put = GitRepositoryPut {
            // Another spelling of the same repository.
            url: server.url().replace("/deploy.git", "/Deploy"),
            allowed_signers: Some(std::fs::read_to_string(format!("{ada}.pub")).unwrap()),
            ..GitRepositoryPut::default()
        };
        fleet.client.put_git_repository("deploy", &put).await.unwrap();
        publish(&fleet, &git_workload(&server, OnNewCommit::All)).await;

        sign(&mallory);
        server.commit("deploy/web.yaml", &manifest(3), "Signed by Mallory");
        let blocked = fleet.client.check_git_source("web").await.unwrap().follow.blocked.unwrap();
        assert!(blocked.message.contains("is not signed by one of the allowed signers"), "{blocked:?}");
        server.git(&["config", "commit.gpgsign", "false"]);
        server.commit("deploy/web.yaml", &manifest(4), "Not signed");
        let blocked = fleet.client.check_git_source("web").await.unwrap().follow.blocked.unwrap();
        assert!(blocked.message.contains("is not signed."), "{blocked:?}");
        // A signature of another commit is no signature of this one.
        sign(&ada);
        server.commit("deploy/web.yaml", &manifest(5), "Signed by Ada again");
        let raw = server.git(&["cat-file", "commit", "HEAD"]).replace("Signed by Ada again", "Changed later");
        std::fs::write(server.path("../forged"), format!("{raw}\n")).unwrap();
        let forged = server.git(&["hash-object", "-t", "commit", "-w", "../forged"]);
        server.git(&["reset", "--quiet", "--hard", &forged]);
        let blocked = fleet.client.check_git_source("web").await.unwrap().follow.blocked.unwrap();
        assert!(blocked.message.contains("is not signed by one of the allowed signers"), "{blocked:?}");
        assert_eq!(replicas(&fleet, 0), 2, "what runs is not changed");
        server.commit("deploy/web.yaml", &manifest(1), "Signed by Ada at last");
        assert_eq!(fleet.client.check_git_source("web").await.unwrap().follow.blocked, None);
        wait_for_replicas(&fleet, &[0, 1, 2], 1).await;

        let invalid = GitRepositoryPut { allowed_signers: Some("hello".into()), ..put };
        let refused = fleet.client.put_git_repository("deploy", &invalid).await.unwrap_err();
        assert!(refused.to_string().contains("Line 1"), "{refused}");
        fleet.stop().await;
    }))
    .await;
}
