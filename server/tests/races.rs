//! Short runs of requests that come at once (`flotilla-bench races`). The long run is `cargo xtask bench races`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

/// Time limit of a run.
const TIMEOUT: Duration = Duration::from_secs(900);
/// Seed of every run in CI, where a failure has to be the change's.
const CI_SEED: &str = "20251";
/// Rounds with each database.
const ROUNDS: &str = "3";

/// Runs the benchmark program; its output contains the seed.
async fn run_races(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla-bench"));
    command.arg("races").args(args).kill_on_drop(true);
    if std::env::var_os("CI").is_some() {
        command.args(["--seed", CI_SEED]);
    }
    let ended = tokio::time::timeout(TIMEOUT, command.output()).await.expect("the run ends").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success(), "{stdout}{stderr}");
    stdout
}

/// The names of the scenarios.
async fn list_scenarios() -> BTreeSet<String> {
    run_races(&["--list"]).await.lines().map(str::to_owned).collect()
}

/// Every scenario has sent requests on each of these databases.
async fn assert_scenarios_ran(output: &str, databases: &[&str]) {
    for name in list_scenarios().await {
        let is_result = |line: &&str| line.split_whitespace().next() == Some(name.as_str());
        let results = output.lines().filter(is_result).count();
        assert_eq!(results, databases.len(), "{name}: {output}");
    }
    for database in databases {
        assert!(output.contains(&format!("{database}: {ROUNDS} rounds")), "{output}");
    }
    assert_eq!(output.matches("0 deadlocks, 0 errors of servers").count(), databases.len(), "{output}");
}

#[tokio::test]
async fn p35_every_rule_holds_when_requests_come_at_once_to_one_server_with_sqlite() {
    let output = run_races(&["--rounds", ROUNDS]).await;
    assert_scenarios_ran(&output, &["SQLite, one server"]).await;
}

#[tokio::test]
async fn p35_every_rule_holds_when_requests_come_at_once_to_one_or_two_servers_with_postgresql() {
    match std::env::var("FLOTILLA_TEST_POSTGRES") {
        Ok(off) if off == "off" => eprintln!("FLOTILLA_TEST_POSTGRES=off: this test did not run"),
        Ok(server) => {
            let output = run_races(&["--rounds", ROUNDS, "--only-postgres", "--postgres", &server]).await;
            assert_scenarios_ran(&output, &["PostgreSQL, one server", "PostgreSQL, two servers"]).await;
        }
        Err(_) => panic!("set FLOTILLA_TEST_POSTGRES to the address of a PostgreSQL server, or to `off`"),
    }
}

#[tokio::test]
async fn the_scenario_that_runs_before_the_others_can_be_selected_alone() {
    let output = run_races(&["--rounds", "1", "--only", "setup-token"]).await;
    assert!(output.contains("setup-token") && !output.contains("deleted-group"), "{output}");
}

/// The cells of the table of rules, without its head.
fn read_rules(page: &str) -> Vec<Vec<String>> {
    let table = page.split_once("## Rules over several rows").expect("the page has the section").1;
    let table = table.split("\n## ").next().unwrap_or_default();
    table.lines().filter(|line| line.starts_with('|')).skip(2).map(read_cells).collect()
}

fn read_cells(row: &str) -> Vec<String> {
    row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

#[tokio::test]
async fn every_rule_over_several_rows_names_the_scenarios_that_race_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/consistency.md");
    let rules = read_rules(&std::fs::read_to_string(path).unwrap());
    assert!(rules.len() >= 15, "the table is not read: {rules:?}");
    let scenarios = list_scenarios().await;
    let mut raced = BTreeSet::new();
    for rule in rules {
        let [rule, _, _, races] = rule.as_slice() else { panic!("a rule has four cells: {rule:?}") };
        let names: Vec<String> = races.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        for name in &names {
            assert!(scenarios.contains(name), "no scenario {name:?} races the rule: {rule}");
        }
        raced.extend(names);
    }
    assert_eq!(raced, scenarios, "every scenario is in the table");
}
