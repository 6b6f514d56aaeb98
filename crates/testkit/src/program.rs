//! A process of a control plane, with its output in a log file.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::guard::ProcessGuard;

/// Number of log lines shown after a program ended.
const LOG_TAIL_LINES: usize = 30;

pub(crate) struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts `name` from the directory of programs.
    pub(crate) fn start(
        name: &'static str,
        flags: &[String],
        home: &Path,
        guard: &mut ProcessGuard,
    ) -> Program {
        let file = crate::bin_dir().join(name);
        let log = home.join(format!("{name}.log"));
        let output = File::create(&log).expect("the log file is writable");
        let child = Command::new(&file)
            .args(flags)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("the log file handle can be cloned"))
            .stderr(output)
            .current_dir(home)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{} did not start: {error}", file.display()));
        guard.add_process(child.id());
        Program { name, child, log }
    }

    /// Its name and process id.
    pub(crate) fn name_and_pid(&self) -> (&'static str, u32) {
        (self.name, self.child.id())
    }

    /// Its exit status and the end of its log; `None` while it runs.
    pub(crate) fn exit_message(&mut self) -> Option<String> {
        let status = self.child.try_wait().expect("the child's status can be read")?;
        Some(format!("{} ended with {status}:\n{}", self.name, self.log_tail()))
    }

    /// The end of its log.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// `kill -9`: a graceful shutdown of an API server takes more than ten seconds.
    pub(crate) fn kill(mut self, guard: &mut ProcessGuard) {
        let pid = self.child.id();
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        guard.forget_process(pid);
    }

    /// Suspends it. The signal is delivered asynchronously to each thread, so this waits until all threads have stopped.
    pub(crate) fn pause(&self) {
        self.send_signal("STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The state follows the name, which is in parentheses and may contain any character.
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        };
        for _ in 0..1_000 {
            if fs::read_dir(&tasks).is_ok_and(|entries| entries.flatten().all(is_stopped)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{} was not suspended", self.name);
    }

    /// Sends a signal by name, like `CONT`.
    pub(crate) fn send_signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "signal {name} can't be sent to {}", self.name);
    }
}
