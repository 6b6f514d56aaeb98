//! Git sources over SSH, with a program in place of `ssh` that behaves as it does towards servers of several kinds.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use domain::git_repository::{GitCredentials, GitRepositoryPut};
use domain::remote::OnNewCommit;
use egress::MinimumRate;
use source::RemoteAccess;
use source::git::{GitClient, SshProgram};

use super::git_server::GitServer;
use super::git_sources::{find_problems, git_workload, manifest, publish, repository, wait_for_replicas};
use super::*;

/// Reads its arguments as `ssh` does, checks key and known hosts, and runs `git upload-pack` on this machine.
const PROGRAM: &str = r#"#!/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin
here=$(dirname "$0")
printf '%s\n' "$@" > "$here/arguments"
env > "$here/environment"
echo $$ > "$here/process"
for argument; do
  if [ "$previous" = -i ]; then key=$argument; fi
  case "$argument" in
    UserKnownHostsFile=*) hosts=${argument#*=} ;;
    HostKeyAlias=*) alias=${argument#*=} ;;
  esac
  previous=$argument
done
stat -c %a "$key" "$hosts" > "$here/modes"
echo "debug1: Server host key: ssh-ed25519 SHA256:stand-in" >&2
if ! grep -qF "$alias " "$hosts"; then
  echo "No ED25519 host key is known for $alias and you have requested strict checking." >&2
  echo "Host key verification failed." >&2
  exit 255
fi
if ! grep -qF "$alias ssh-ed25519 AAAAtrusted" "$hosts"; then
  echo "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @" >&2
  echo "Host key verification failed." >&2
  exit 255
fi
if ! grep -q accepted "$key"; then
  echo "git@127.0.0.1: Permission denied (publickey)." >&2
  exit 255
fi
if [ -e "$here/slow" ]; then
  printf 'ff00'
  while :; do printf a; sleep 1; done
fi
path=${argument#*\'}
path=/${path%\'}
exec git upload-pack "$(cat "$here/root")$path"
"#;

/// The program, its records, and the repository that it serves.
struct StandIn {
    folder: tempfile::TempDir,
    server: GitServer,
}

impl StandIn {
    async fn start() -> Self {
        let (server, _) = repository().await;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ssh");
        std::fs::write(&program, PROGRAM).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("root"), server.root().to_str().unwrap()).unwrap();
        Self { folder, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program, which ends with this process.
    fn program(&self) -> SshProgram {
        let wrapper = vec![env!("CARGO_BIN_EXE_flotilla-server").into(), source::sandbox::COMMAND.into()];
        SshProgram::find(Some(&self.path("ssh")), wrapper).unwrap()
    }

    /// A workload at this URL of the repository.
    fn workload(&self, url: &str, on_new_commit: OnNewCommit) -> NewWorkload {
        let mut new = git_workload(&self.server, on_new_commit);
        new.spec.source.remote_mut().unwrap().repository = url.to_owned();
        new
    }
}

/// The URL of the repository; nothing listens there.
const URL: &str = "ssh://git@127.0.0.1:2299/deploy.git";

const TRUSTED: &str = "[127.0.0.1]:2299 ssh-ed25519 AAAAtrusted";

fn key(text: &str) -> String {
    format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{text}\n-----END OPENSSH PRIVATE KEY-----\n")
}

fn put(private_key: &str, known_hosts: &str) -> GitRepositoryPut {
    let credentials = GitCredentials {
        private_key: key(private_key),
        known_hosts: known_hosts.to_owned(),
        ..GitCredentials::default()
    };
    GitRepositoryPut { url: URL.to_owned(), credentials: Some(credentials), ..GitRepositoryPut::default() }
}

async fn ssh_fleet(access: RemoteAccess, program: Option<SshProgram>) -> TestFleet {
    let fleet = TestFleet::start().await;
    fleet.hub.set_git_client(GitClient::new(access, fleet.scratch()).unwrap().with_ssh(program));
    fleet.hub.set_git_check_interval(Duration::from_secs(3_600));
    fleet
}

/// Expects one problem that the source waits with, and returns it.
async fn find_wait(fleet: &TestFleet, new: &NewWorkload) -> String {
    let problems = find_problems(fleet, new).await;
    let waiting = problems.iter().find(|(code, _)| code == "G122");
    waiting.unwrap_or_else(|| panic!("{problems:?}")).1.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_over_ssh_is_published_and_followed_as_one_over_https() {
    with_timeout(Box::pin(async {
        let stand_in = StandIn::start().await;
        let fleet = ssh_fleet(RemoteAccess::PrivateHttps, Some(stand_in.program())).await;
        let saved = fleet.client.put_git_repository("deploy", &put("accepted", TRUSTED)).await.unwrap();
        assert!(saved.has_private_key && saved.has_known_hosts && saved.user_name.is_empty());
        let new = stand_in.workload(URL, OnNewCommit::All);
        publish(&fleet, &new).await;
        wait_for_replicas(&fleet, &[0, 1, 2], 2).await;
        stand_in.server.commit("deploy/web.yaml", &manifest(3), "Run three replicas");
        fleet.client.check_git_source("web").await.unwrap();
        wait_for_replicas(&fleet, &[0, 1, 2], 3).await;

        let arguments = stand_in.read("arguments");
        for expected in [
            "StrictHostKeyChecking=yes",
            "GlobalKnownHostsFile=/dev/null",
            "HostKeyAlias=[127.0.0.1]:2299",
            "IdentitiesOnly=yes",
            "ProxyCommand=none",
            "git-upload-pack '/deploy.git'",
        ] {
            assert!(arguments.lines().any(|line| line == expected), "{expected}: {arguments}");
        }
        assert_eq!(stand_in.read("modes"), "600\n600\n");
        // What the shell of the stand-in adds is not of the server.
        let environment = stand_in.read("environment");
        let names = environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let others: Vec<&str> = names
            .filter(|name| !["HOME", "GIT_PROTOCOL", "PATH", "PWD", "OLDPWD", "SHLVL", "_"].contains(name))
            .collect();
        assert!(others.is_empty(), "{environment}");
        let key_folder = environment.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap();
        assert!(!Path::new(key_folder).exists(), "the key is deleted after the read");

        let listed = fleet.client.list_git_repositories().await.unwrap();
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap();
        let shown = format!("{listed:?} {events:?} {}", serde_json::to_string(&listed).unwrap());
        assert!(!shown.contains("accepted") && !shown.contains("AAAAtrusted"), "{shown}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_forms_of_an_address_over_ssh_are_one_repository_with_one_key() {
    with_timeout(Box::pin(async {
        let stand_in = StandIn::start().await;
        let fleet = ssh_fleet(RemoteAccess::PrivateHttps, Some(stand_in.program())).await;
        let trusted = "127.0.0.1 ssh-ed25519 AAAAtrusted";
        let first = GitRepositoryPut { url: "git@127.0.0.1:deploy.git".into(), ..put("accepted", trusted) };
        fleet.client.put_git_repository("deploy", &first).await.unwrap();
        let other = GitRepositoryPut { url: "ssh://git@127.0.0.1/deploy".into(), ..put("accepted", trusted) };
        let refused = fleet.client.put_git_repository("other", &other).await.unwrap_err();
        assert!(refused.to_string().contains("\"deploy\""), "{refused}");
        let new = stand_in.workload("ssh://git@127.0.0.1:22/deploy.git", OnNewCommit::Draft);
        assert!(find_problems(&fleet, &new).await.iter().all(|(code, _)| code != "G122" && code != "G121"));

        // The key stays with its server, and a new known host without a key retains it.
        let known = |url: &str, known_hosts: &str| {
            let credentials =
                GitCredentials { known_hosts: known_hosts.to_owned(), ..GitCredentials::default() };
            GitRepositoryPut {
                url: url.into(),
                credentials: Some(credentials),
                ..GitRepositoryPut::default()
            }
        };
        let elsewhere = known("git@evil.test:deploy.git", trusted);
        let refused = fleet.client.put_git_repository("deploy", &elsewhere).await.unwrap_err();
        assert!(refused.to_string().contains("another server"), "{refused}");
        let saved =
            fleet.client.put_git_repository("deploy", &known("git@127.0.0.1:deploy.git", trusted)).await;
        assert!(saved.unwrap().has_private_key);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g122_an_unknown_host_another_key_of_it_and_a_refused_key_are_told_apart() {
    with_timeout(Box::pin(async {
        let stand_in = StandIn::start().await;
        let fleet = ssh_fleet(RemoteAccess::PrivateHttps, Some(stand_in.program())).await;
        let new = stand_in.workload(URL, OnNewCommit::Draft);
        let without = find_wait(&fleet, &new).await;
        assert!(without.contains("no private key") && without.contains("--private-key-file"), "{without}");
        for (put, expected) in [
            (put("accepted", ""), vec!["not among the known hosts", "SHA256:stand-in", "ssh-keyscan"]),
            (
                put("accepted", "[127.0.0.1]:2299 ssh-ed25519 AAAAother"),
                vec!["another key", "SHA256:stand-in", "Only if it is the same"],
            ),
            (put("refused", TRUSTED), vec!["refuses the private key", "deploy key"]),
        ] {
            fleet.client.put_git_repository("deploy", &put).await.unwrap();
            let problem = find_wait(&fleet, &new).await;
            assert!(expected.iter().all(|part| problem.contains(part)), "{expected:?}: {problem}");
            fleet.client.remove_git_repository("deploy").await.unwrap();
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_server_over_ssh_that_sends_a_byte_now_and_then_is_given_up_and_its_process_ends() {
    with_timeout(Box::pin(async {
        let stand_in = StandIn::start().await;
        std::fs::write(stand_in.path("slow"), "").unwrap();
        let rate = MinimumRate { bytes: 1 << 10, window: Duration::from_secs(2) };
        let program = stand_in.program().with_limits(rate, Duration::from_secs(60));
        let fleet = ssh_fleet(RemoteAccess::PrivateHttps, Some(program)).await;
        fleet.client.put_git_repository("deploy", &put("accepted", TRUSTED)).await.unwrap();
        let problem = find_wait(&fleet, &stand_in.workload(URL, OnNewCommit::Draft)).await;
        assert!(problem.contains("too slow") && problem.contains("1024"), "{problem}");
        let process = format!("/proc/{}", stand_in.read("process").trim());
        while Path::new(&process).exists() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g122_a_server_over_ssh_has_a_permitted_address_and_without_the_program_all_else_works() {
    with_timeout(Box::pin(async {
        let stand_in = StandIn::start().await;
        let fleet = ssh_fleet(RemoteAccess::Https, Some(stand_in.program())).await;
        for url in [URL, "git@169.254.169.254:deploy.git", "ssh://git@[::1]/deploy"] {
            let put = GitRepositoryPut { url: url.to_owned(), ..put("accepted", TRUSTED) };
            fleet.client.put_git_repository("deploy", &put).await.unwrap();
            let problem = find_wait(&fleet, &stand_in.workload(url, OnNewCommit::Draft)).await;
            assert!(problem.contains("address is not a public one"), "{url}: {problem}");
            fleet.client.remove_git_repository("deploy").await.unwrap();
        }
        assert!(!stand_in.path("arguments").exists(), "the program was not run");
        fleet.stop().await;

        let fleet = ssh_fleet(RemoteAccess::PrivateHttp, None).await;
        let problem = find_wait(&fleet, &stand_in.workload(URL, OnNewCommit::Draft)).await;
        assert!(problem.contains("no program ssh") && problem.contains("https://"), "{problem}");
        publish(&fleet, &git_workload(&stand_in.server, OnNewCommit::Draft)).await;
        fleet.stop().await;
    }))
    .await;
}
