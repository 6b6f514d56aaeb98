//! Hostile content of sources is refused before it takes memory, and stored nowhere (P19).

use domain::remote::OnNewCommit;
use wire::ValidateRequest;

use super::charts::{chart, chart_workload, fleet_with_helm};
use super::git_sources::{find_problems, git_fleet, git_workload, publish, repository};
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn p19_g121_a_commit_with_many_parents_is_refused_and_what_runs_stays() {
    with_timeout(Box::pin(async {
        let (server, commit) = repository().await;
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        publish(&fleet, &new).await;
        for (parents, reason) in [(300, "more than 256 parents"), (30_000, "A commit of the repository has")] {
            let text = format!(
                "tree {}\n{}author Ada <ada@example.com> 1700000000 +0000\ncommitter Ada <ada@example.com> 1700000000 +0000\n\nMerge\n",
                server.git(&["rev-parse", "HEAD^{tree}"]),
                format!("parent {commit}\n").repeat(parents),
            );
            std::fs::write(server.path("hostile.txt"), text).unwrap();
            let hostile = server.git(&["hash-object", "-t", "commit", "-w", "hostile.txt"]);
            server.git(&["update-ref", "refs/heads/main", &hostile]);
            let problems = find_problems(&fleet, &new).await;
            let is_found = |(code, text): &(String, String)| code == "G121" && text.contains(reason);
            assert!(problems.iter().any(is_found), "{parents}: {problems:?}");
        }
        let status = fleet.client.get_workload_status("web", None).await.unwrap();
        assert_eq!(status.counts.healthy(), 3);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_g111_a_rendering_that_nobody_can_use_is_neither_stored_nor_rendered_again() {
    const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\n\
                            data: {value: {{ repeat (int .Values.bytes) \"x\" | quote }}}\n";
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[("templates/large.yaml", TEMPLATE)])).await.unwrap();
        let count_stored = async || {
            let mut database = fleet.open_database().await;
            let count = sqlx::query_scalar("SELECT COUNT(DISTINCT files_digest) FROM chart_rendering")
                .fetch_one(&mut database);
            let count: i64 = count.await.unwrap();
            count
        };
        let validate = async |bytes: usize| {
            let spec = chart_workload("1.0.0", &format!("bytes: {bytes}\n")).spec;
            let request = ValidateRequest { name: "web".into(), spec };
            fleet.client.validate_workload(&request).await.unwrap().findings
        };
        assert!(!validate(100).await.iter().any(|found| found.code == "G111"));
        let before = count_stored().await;
        for bytes in [2_000_000, 11_000_000, 12_000_000] {
            let findings = validate(bytes).await;
            assert!(findings.iter().any(|found| found.code == "G111"), "{bytes}: {findings:?}");
        }
        // The empty list of files, once.
        assert_eq!(count_stored().await, before + 1);
        let renderings = fleet.hub.count_renderings();
        let again = validate(12_000_000).await;
        assert!(again.iter().any(|found| found.code == "G111"), "{again:?}");
        assert_eq!(fleet.hub.count_renderings(), renderings);
        fleet.stop().await;
    })
    .await;
}
