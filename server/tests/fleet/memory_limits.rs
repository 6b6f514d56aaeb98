//! Hostile content of sources is refused before it takes memory, and stored nowhere (P19).

use std::io::Write as _;

use domain::remote::OnNewCommit;
use flate2::Compression;
use flate2::write::ZlibEncoder;
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

/// The size of the object that each change of the pack copies, and the number of changes: 2.6 GiB in sum.
const BASE_BYTES: usize = 8 << 20;
const CHANGES: u32 = 330;

/// Appends the head of an entry of a pack.
fn push_entry(pack: &mut Vec<u8>, kind: u8, size: usize) {
    let mut rest = size >> 4;
    let mut byte = (kind << 4) | (size & 0x0f) as u8;
    while rest > 0 {
        pack.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    pack.push(byte);
}

fn push_compressed(pack: &mut Vec<u8>, content: &[u8]) {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    pack.extend(encoder.finish().unwrap());
}

/// A size as a change states it.
fn encode_size(mut size: usize) -> Vec<u8> {
    let mut digits = Vec::new();
    while size >= 0x80 {
        digits.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    digits.push(size as u8);
    digits
}

/// A small pack of one object and of changes of it, each of which is the whole object again. Its checksum is wrong: that is checked later.
fn pack_of_changes() -> Vec<u8> {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend_from_slice(&(CHANGES + 1).to_be_bytes());
    let base = pack.len();
    push_entry(&mut pack, 3, BASE_BYTES);
    push_compressed(&mut pack, &vec![0; BASE_BYTES]);
    let mut delta = [encode_size(BASE_BYTES), encode_size(BASE_BYTES)].concat();
    // One copy from the beginning: four bytes of the offset and three of the size.
    delta.extend_from_slice(&[0xff, 0, 0, 0, 0]);
    delta.extend_from_slice(&(BASE_BYTES as u32).to_le_bytes()[..3]);
    for _ in 0..CHANGES {
        let mut distance = pack.len() - base;
        push_entry(&mut pack, 6, delta.len());
        let mut digits = vec![(distance & 0x7f) as u8];
        distance >>= 7;
        while distance > 0 {
            distance -= 1;
            digits.push((distance & 0x7f) as u8 | 0x80);
            distance >>= 7;
        }
        pack.extend(digits.iter().rev());
        push_compressed(&mut pack, &delta);
    }
    pack.extend_from_slice(&[0; 20]);
    pack
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_g121_a_small_pack_whose_changes_have_gibibytes_together_is_refused_and_what_runs_stays() {
    with_timeout(Box::pin(async {
        let (server, _) = repository().await;
        let fleet = git_fleet().await;
        let new = git_workload(&server, OnNewCommit::Draft);
        publish(&fleet, &new).await;
        let pack = pack_of_changes();
        assert!(pack.len() < 64 << 10, "{} bytes", pack.len());
        server.commit("deploy/more.yaml", "# Another commit, which has to be fetched.\n", "Fetch again");
        server.send_pack(pack);
        let problems = find_problems(&fleet, &new).await;
        let is_found =
            |(code, text): &(String, String)| code == "G121" && text.contains("more than 256 MiB together");
        assert!(problems.iter().any(is_found), "{problems:?}");
        let status = fleet.client.get_workload_status("web", None).await.unwrap();
        assert_eq!(status.counts.healthy(), 3);
        fleet.stop().await;
    }))
    .await;
}
