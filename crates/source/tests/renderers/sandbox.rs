//! What the sandbox closes, with every layer and with some of them, and what happens where it is not closed (P33).

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use domain::server_status::SandboxMode;
use source::helm::FailureKind;
use source::sandbox::{Protections, Sandbox, SandboxArguments, probe};

use super::helm::CONFIG;
use super::{
    chart, helm_in, helm_program, inputs, kustomize_in, measure_sandbox, render_archive, sandbox_command,
    scratch,
};

/// A server that counts its connections and answers each with an empty schema.
struct CountingServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl CountingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counter = connections.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counter.fetch_add(1, SeqCst);
                let _ = stream.read(&mut [0; 1024]);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
            }
        });
        Self { address, connections }
    }

    /// The connections until now, without its own.
    fn count(&self) -> usize {
        // Connections are accepted in their order, so all earlier ones are counted when this one is answered.
        let mut own = std::net::TcpStream::connect(self.address).unwrap();
        own.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        own.read_to_end(&mut Vec::new()).unwrap();
        self.connections.load(SeqCst) - 1
    }
}

/// Runs a program in the sandbox without these layers; it may read `readable`, and write the folder.
fn run(without: &str, readable: &[&Path], folder: &Path, program: &Path, arguments: &[&str]) -> Output {
    let sandbox = sandbox_command(without);
    let own = SandboxArguments { read_only: readable, writable: folder, program, is_strict: false };
    Command::new(&sandbox[0])
        .args(&sandbox[1..])
        .args(own.build())
        .args(arguments)
        .env_clear()
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Runs `helm template` of a chart with this schema of its values; the messages if it fails.
fn template(without: &str, schema: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let archive =
        chart(&[("values.schema.json", schema), ("templates/a.yaml", &format!("{CONFIG}  a: b\n"))]);
    std::fs::write(folder.path().join("chart.tgz"), archive).unwrap();
    let helm = helm_program().canonicalize().unwrap();
    let output = run(without, &[&helm], folder.path(), &helm, &["template", "web", "chart.tgz"]);
    (!output.status.success()).then(|| String::from_utf8(output.stderr).unwrap())
}

#[test]
fn p33_every_layer_of_the_network_by_itself_keeps_helm_from_connecting() {
    let connect = |without: &str| {
        let server = CountingServer::start();
        let schema = format!(r#"{{"$ref": "http://{}/x.json"}}"#, server.address);
        (template(without, &schema), server.count())
    };
    // Helm follows the reference where nothing keeps it from that, so the test would notice a connection.
    assert_eq!(connect("landlock,namespaces,seccomp"), (None, 1));
    for without in ["landlock,namespaces", "namespaces,seccomp", "landlock,seccomp", ""] {
        let (messages, connections) = connect(without);
        assert_eq!(connections, 0, "without {without:?}");
        assert!(messages.is_some_and(|text| text.contains("x.json")), "without {without:?}");
    }
}

#[test]
fn p33_helm_reads_no_file_of_the_server() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("schema.json");
    std::fs::write(&file, r#"{"required": ["outside"]}"#).unwrap();
    let schema = format!(r#"{{"$ref": "file://{}"}}"#, file.display());
    let read = template("landlock", &schema).unwrap();
    assert!(read.contains("missing property 'outside'"), "helm reads files: {read}");
    let denied = template("", &schema).unwrap();
    assert!(denied.contains("permission denied") && !denied.contains("missing property"), "{denied}");
}

#[test]
fn p33_the_protections_are_measured_by_what_is_denied() {
    let measure = |without: &str| probe(&sandbox_command(without)).unwrap();
    let expected = |files, network| Protections { files, network };
    assert_eq!(measure(""), expected(true, true));
    assert_eq!(measure("landlock"), expected(false, true));
    assert_eq!(measure("landlock,namespaces"), expected(false, true), "seccomp alone");
    assert_eq!(measure("landlock,seccomp"), expected(false, true), "a namespace alone");
    // Landlock restricts TCP, but no UDP.
    assert_eq!(measure("namespaces,seccomp"), expected(true, false));
    assert_eq!(measure("landlock,namespaces,seccomp"), expected(false, false));
}

#[tokio::test]
async fn p33_nothing_is_rendered_where_a_protection_is_missing_unless_that_is_allowed() {
    let archive = chart(&[("templates/a.yaml", &format!("{CONFIG}  a: b\n"))]);
    let files = BTreeMap::from([
        ("kustomization.yaml".to_owned(), b"resources: [a.yaml]\n".to_vec()),
        ("a.yaml".to_owned(), format!("{CONFIG}  a: b\n").into_bytes()),
    ]);
    for (without, reason) in [
        ("landlock", "so a chart could read files of the server."),
        ("namespaces,seccomp", "so a chart could open connections."),
        ("landlock,namespaces,seccomp", "so a chart could read files of the server and open connections."),
    ] {
        let strict = measure_sandbox(without, SandboxMode::Strict).await;
        let refused =
            render_archive(&helm_in(strict.clone()).await, &archive, &inputs("")).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Sandbox);
        let expected = format!(
            "Nothing is rendered: the kernel of the server does not close the sandbox of renderers, {reason}"
        );
        let hint = "Run the server on Linux 5.13 or newer with Landlock and seccomp, or start it with --renderer-sandbox=best-effort to render without this protection.";
        assert_eq!((refused.message.as_str(), refused.hint.as_deref()), (&*expected, Some(hint)));
        let refused = kustomize_in(strict.clone()).await.build(files.clone(), "").await.unwrap_err();
        assert_eq!((&*refused.message, &*refused.hint, refused.is_temporary), (&*expected, hint, true));
        assert_eq!(strict.status().problem, Some(format!("{expected} {hint}")));

        let allowed = measure_sandbox(without, SandboxMode::BestEffort).await;
        assert_eq!((allowed.status().problem.as_deref(), allowed.status().is_closed()), (None, false));
        assert_eq!(
            render_archive(&helm_in(allowed.clone()).await, &archive, &inputs("")).await.unwrap().files.len(),
            1
        );
        assert_eq!(kustomize_in(allowed).await.build(files.clone(), "").await.unwrap().len(), 1);
    }
    let closed = measure_sandbox("", SandboxMode::Strict).await;
    assert_eq!(closed.status().problem, None);
    assert_eq!(kustomize_in(closed).await.build(files, "").await.unwrap().len(), 1);
}

#[tokio::test]
async fn p33_a_sandbox_that_can_not_be_measured_renders_nothing_in_any_mode() {
    let archive = chart(&[]);
    for command in ["/bin/true", "/bin/false", "/nonexistent"] {
        for mode in [SandboxMode::Strict, SandboxMode::BestEffort] {
            let sandbox = Sandbox::measure(vec![command.into()], mode, scratch()).await;
            let refused = render_archive(&helm_in(sandbox).await, &archive, &inputs("")).await.unwrap_err();
            assert_eq!(refused.kind, FailureKind::Sandbox);
            assert!(refused.message.contains("could not be measured"), "{refused}");
        }
    }
}

#[test]
fn p19_the_kernel_ends_a_renderer_before_the_server_if_memory_runs_out() {
    let folder = tempfile::tempdir().unwrap();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let script = "read -r score < /proc/self/oom_score_adj && echo \"$score\"; ulimit -d";
    let output = run("landlock", &[], folder.path(), &shell, &["-c", script]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let (score, kib) = printed.trim().split_once('\n').unwrap();
    assert_eq!(score, "1000");
    let kib: u64 = kib.parse().unwrap();
    assert!((256 << 10..=512 << 10).contains(&kib), "{kib} KiB");
}

#[tokio::test]
async fn p19_a_chart_that_needs_too_much_memory_is_ended_by_its_limit() {
    // More than twice the limit in one piece: a piece that exceeds it by little is allowed in some runs (`sandbox/memory.rs`).
    let template = "kind: ConfigMap\ndata:\n  a: {{ repeat 300000000 \"aaaa\" | len }}\n";
    let archive = chart(&[("templates/a.yaml", template)]);
    let helm = helm_in(measure_sandbox("", SandboxMode::Strict).await).await;
    let failed = render_archive(&helm, &archive, &inputs("")).await.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Limit, "{failed}");
}

/// A kernel may change what it offers after the start of the server, for example by a limit on namespaces.
#[test]
fn p33_every_run_measures_again_before_it_becomes_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new("/bin/true");
    let sandbox = sandbox_command("landlock");
    let own = SandboxArguments { read_only: &[], writable: folder.path(), program, is_strict: true };
    let output = Command::new(&sandbox[0]).args(&sandbox[1..]).args(own.build()).output().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(source::sandbox::SETUP_FAILED)));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the kernel does not close it (files open, network closed)"), "{error}");
}

#[test]
fn p33_the_sandbox_denies_files_connections_execution_children_and_signals() {
    let folder = tempfile::tempdir().unwrap();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    let libraries = [PathBuf::from("/lib"), PathBuf::from("/lib64"), PathBuf::from("/usr/lib")];
    let mut readable: Vec<&Path> =
        libraries.iter().filter(|path| path.exists()).map(PathBuf::as_path).collect();
    readable.push(&shell);
    let run = |script: &str| {
        let output = run("", &readable, folder.path(), &shell, &["-c", script]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let inside = folder.path().join("a");
    assert!(run(&format!("echo x > {}", inside.display())).0);
    assert_eq!(std::fs::metadata(&inside).unwrap().mode() & 0o777, 0o600);
    assert!(run(&format!("read line < {}", inside.display())).0);
    for denied in ["read line < /etc/passwd", "echo x > /tmp/flotilla-outside", "exec /bin/ls /"] {
        let (succeeded, error) = run(denied);
        assert!(!succeeded && error.contains("denied"), "{denied}: {error}");
    }
    let (succeeded, error) = run("(echo a); echo b");
    assert!(!succeeded && error.contains("fork"), "{error}");
    let (succeeded, error) = run(&format!("kill -0 {}", std::process::id()));
    assert!(!succeeded && error.contains("not permitted"), "{error}");
}
