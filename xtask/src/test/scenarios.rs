//! Reads the JSON report of Playwright: failed scenarios with their messages, and the time of each scenario.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::report::{TestFailure, TestRun, TestTime, machine_load, shorten_message};

/// The report, as far as it is read. <https://playwright.dev/docs/api/class-testresult>
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    suites: Vec<Suite>,
    /// Errors outside of scenarios, such as a file that cannot be loaded.
    #[serde(default)]
    errors: Vec<ErrorText>,
}

#[derive(Deserialize)]
struct Suite {
    #[serde(default)]
    suites: Vec<Suite>,
    #[serde(default)]
    specs: Vec<Spec>,
}

#[derive(Deserialize)]
struct Spec {
    title: String,
    file: String,
    line: u32,
    ok: bool,
    #[serde(default)]
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(default)]
    results: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Attempt {
    /// In milliseconds.
    duration: f64,
    #[serde(default)]
    errors: Vec<ErrorText>,
}

#[derive(Deserialize)]
struct ErrorText {
    #[serde(default)]
    message: String,
}

/// The scenarios of a report.
///
/// # Errors
/// When it is no report of Playwright, or reports an error outside of the scenarios.
pub fn parse_report(text: &str, log: PathBuf) -> Result<TestRun> {
    let report: Report = serde_json::from_str(text).context("the report of Playwright cannot be read")?;
    if let Some(error) = report.errors.first() {
        let message = shorten_message(error.message.lines()).join("\n");
        anyhow::bail!(
            "an error outside of the scenarios: {message}; the complete output is in {}",
            log.display()
        );
    }
    let mut run = TestRun { log, ..TestRun::default() };
    for suite in report.suites {
        read_suite(suite, &mut run);
    }
    Ok(run)
}

fn read_suite(suite: Suite, run: &mut TestRun) {
    for spec in suite.specs {
        let program = format!("scenarios/{}", spec.file);
        let results = || spec.tests.iter().flat_map(|test| &test.results);
        let millis: f64 = results().map(|result| result.duration).sum();
        run.times.push(TestTime {
            program: program.clone(),
            name: spec.title.clone(),
            time: Duration::from_secs_f64(millis.max(0.0) / 1000.0),
        });
        if !spec.ok {
            let errors = results().flat_map(|result| &result.errors).flat_map(|error| error.message.lines());
            let mut message = shorten_message(errors);
            message.insert(0, format!("at line {}", spec.line));
            run.failures.push(TestFailure {
                program,
                name: spec.title,
                message,
                may_be_flaky: true,
                load: machine_load(),
            });
        }
    }
    for inner in suite.suites {
        read_suite(inner, run);
    }
}

/// For each failure, whether the scenario passed in the second run. One that is missing there did not pass.
pub fn passed_again(failures: &[TestFailure], again: &TestRun) -> Vec<bool> {
    let ran = |failure: &TestFailure| {
        again.times.iter().any(|one| one.program == failure.program && one.name == failure.name)
    };
    let failed = |failure: &TestFailure| {
        again.failures.iter().any(|one| one.program == failure.program && one.name == failure.name)
    };
    failures.iter().map(|failure| ran(failure) && !failed(failure)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{
      "suites": [{"title": "clusters.spec.ts", "file": "clusters.spec.ts", "specs": [
          {"title": "a cluster is listed", "ok": true, "file": "clusters.spec.ts", "line": 5, "tests": [
            {"results": [{"status": "passed", "duration": 1200, "errors": []}]}]}],
        "suites": [{"title": "without script", "specs": [
          {"title": "a cordon", "ok": false, "file": "clusters.spec.ts", "line": 70, "tests": [
            {"results": [{"status": "failed", "duration": 15000, "errors": [
              {"message": "\u001b[31mError: no unexpected errors\u001b[39m\n\n+ status 404"}]}]}]}]}]}],
      "errors": []
    }"#;

    #[test]
    fn a_failed_scenario_has_its_file_line_and_message() {
        let run = parse_report(REPORT, PathBuf::new()).unwrap();
        let [failure] = run.failures.as_slice() else { panic!("{:?}", run.failures) };
        assert_eq!(
            (failure.program.as_str(), failure.name.as_str()),
            ("scenarios/clusters.spec.ts", "a cordon")
        );
        assert_eq!(failure.message, ["at line 70", "Error: no unexpected errors", "+ status 404"]);
        assert_eq!(run.times.len(), 2);
        assert_eq!(run.times[1].time, Duration::from_secs(15));
    }

    #[test]
    fn a_scenario_that_is_missing_in_the_second_run_did_not_pass() {
        let run = parse_report(REPORT, PathBuf::new()).unwrap();
        assert_eq!(passed_again(&run.failures, &TestRun::default()), [false]);
        let fixed = parse_report(&REPORT.replace("\"ok\": false", "\"ok\": true"), PathBuf::new()).unwrap();
        assert_eq!(passed_again(&run.failures, &fixed), [true]);
    }

    #[test]
    fn an_error_outside_of_the_scenarios_is_an_error() {
        let text = r#"{"suites": [], "errors": [{"message": "SyntaxError: kit.ts"}]}"#;
        let error = parse_report(text, PathBuf::from("scenarios.log")).unwrap_err().to_string();
        assert!(error.contains("SyntaxError: kit.ts") && error.contains("scenarios.log"), "{error}");
    }
}
