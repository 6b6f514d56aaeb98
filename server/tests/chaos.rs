//! Short runs under faults, whose histories are checked for the invariants I1 to I7 (`flotilla-bench chaos`). The long run is
//! `cargo xtask bench chaos`.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

/// Time limit of a run: its faults take 15 s, and everything converges within 300 s.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Seed of every run in CI, where a failure has to be the change's.
const CI_SEED: &str = "20251";

/// Runs with these arguments, until ten publishes are accepted. The seed, random except in CI, is in the output.
async fn assert_invariants_hold(args: &[&str]) {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chaos");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla-bench"));
    command.args(["chaos", "--seconds", "15", "--kill-every", "5", "--workloads", "4"]);
    command.args(["--converge-within", "300", "--output"]).arg(output).args(args).kill_on_drop(true);
    command.args(["--min-accepted", "10"]);
    if std::env::var_os("CI").is_some() {
        command.args(["--seed", CI_SEED]);
    }
    let ended = tokio::time::timeout(TIMEOUT, command.output()).await.expect("the run ends").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success(), "{stdout}{stderr}");
    let accepted =
        stdout.lines().find_map(|line| line.split_once(" publishes accepted")?.0.parse::<u32>().ok());
    assert!(accepted.is_some_and(|accepted| accepted >= 10), "too little happened: {stdout}");
    let rivals =
        stdout.lines().find_map(|line| line.split_once(" rounds of rival requests: ")?.1.split_once(' '));
    let rivals = rivals.and_then(|(accepted, _)| accepted.parse::<u32>().ok());
    assert!(rivals.is_some_and(|accepted| accepted >= 4), "no rival requests were accepted: {stdout}");
}

#[tokio::test]
async fn i1_i2_i3_i4_i5_i6_i7_hold_on_one_server_with_sqlite_under_faults() {
    assert_invariants_hold(&[]).await;
}

#[tokio::test]
async fn i1_i2_i3_i4_i5_i6_i7_p9_hold_on_two_servers_with_postgresql_under_faults() {
    match std::env::var("FLOTILLA_TEST_POSTGRES") {
        Ok(off) if off == "off" => eprintln!("FLOTILLA_TEST_POSTGRES=off: this test did not run"),
        Ok(server) => assert_invariants_hold(&["--postgres", &server]).await,
        Err(_) => panic!("set FLOTILLA_TEST_POSTGRES to the address of a PostgreSQL server, or to `off`"),
    }
}
