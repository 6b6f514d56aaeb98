//! The file to which a server appends the audit log.

use crate::test_server::{TestServer, wait_until};

#[test]
fn a_server_appends_the_audit_log_to_a_file_which_is_verified_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl").display().to_string();
    let file: &'static str = Box::leak(path.into_boxed_str());
    let server = TestServer::start_with_variable(("FLOTILLA_AUDIT_FILE", file));
    let invited = server.run_cli(&["user", "invite", "bob"]);
    assert_eq!(invited.exit_code, 0, "{invited}");
    wait_until("the entry is in the file", || {
        std::fs::read_to_string(file).is_ok_and(|text| text.contains("user bob"))
    });
    let verified = server.run_cli(&["audit", "verify", file]);
    assert!(verified.stdout.contains("The audit log is intact up to entry"), "{verified}");
    let status = server.run_cli(&["server", "status"]);
    assert!(status.stdout.contains("audit file") && status.stdout.contains("up to entry"), "{status}");
    assert!(status.stdout.contains("encryption") && status.stdout.contains("1 data key"), "{status}");
    let status = server.run_cli_json(&["server", "status", "-o", "json"]);
    assert_eq!(
        (&status["auditFile"]["behind"], &status["auditFile"]["problem"]),
        (&0.into(), &().into()),
        "{status}"
    );
}
