//! One running program of a control plane, with its output in a log file.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::guard::Guard;

/// Lines of a log that are shown when a program ended.
const SHOWN: usize = 30;

pub(crate) struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts `name` from the folder of programs.
    pub(crate) fn start(name: &'static str, flags: &[String], home: &Path, guard: &mut Guard) -> Program {
        let file = crate::folder().join(name);
        let log = home.join(format!("{name}.log"));
        let output = File::create(&log).expect("a log can be written");
        let child = Command::new(&file)
            .args(flags)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a log can be shared"))
            .stderr(output)
            .current_dir(home)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", file.display()));
        guard.add(child.id());
        Program { name, child, log }
    }

    /// Its name and the number of its process.
    pub(crate) fn identity(&self) -> (&'static str, u32) {
        (self.name, self.child.id())
    }

    /// Why it is not running any more, with the end of its log; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().expect("a child can be asked")?;
        Some(format!("{} ended with {status}:\n{}", self.name, self.last_words()))
    }

    /// The end of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }

    /// `kill -9`: a graceful end of an API server takes more than ten seconds.
    pub(crate) fn kill(mut self, guard: &mut Guard) {
        let pid = self.child.id();
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        guard.forget(pid);
    }

    /// Stops it where it is. A signal is only on its way when it was sent, and every thread takes it by itself.
    pub(crate) fn pause(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The state follows the name, which stands in brackets and may hold any character.
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        };
        for _ in 0..1_000 {
            if fs::read_dir(&tasks).is_ok_and(|all| all.flatten().all(is_stopped)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{} does not stop", self.name);
    }

    /// Sends a signal by name, like `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "{} takes no signal {name}", self.name);
    }
}
