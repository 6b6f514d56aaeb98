//! The guard of one control plane: a shell process that cleans up after the test process has ended.
//!
//! It receives the id of each process that is started. At the end of its standard input it kills them and removes the
//! directory. The input ends when the control plane is dropped, and also when the test process panics, aborts or is killed
//! with `kill -9`, because the kernel closes the pipe. It has its own process group, so that terminal signals do not reach
//! it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SCRIPT: &str = r#"
pids=" "
while read -r word pid; do
    case $word in
        add) pids="$pids$pid " ;;
        forget) pids="${pids%% $pid *} ${pids#* $pid }" ;;
    esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
"#;

pub(crate) struct ProcessGuard {
    shell: Child,
}

impl ProcessGuard {
    /// Starts the guard of a control plane's directory.
    pub(crate) fn start(folder: &Path) -> ProcessGuard {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        ProcessGuard { shell }
    }

    pub(crate) fn add_process(&mut self, pid: u32) {
        self.send_command("add", pid);
    }

    /// Removes an ended process, whose id may be reused.
    pub(crate) fn forget_process(&mut self, pid: u32) {
        self.send_command("forget", pid);
    }

    fn send_command(&mut self, word: &str, pid: u32) {
        let input = self.shell.stdin.as_mut().expect("the guard's input is piped");
        writeln!(input, "{word} {pid}").expect("the guard runs as long as its control plane");
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // An error means that the shell has been killed.
        let _ = self.shell.wait();
    }
}
