//! The guard of one control plane: a small shell that outlives the test program by a moment.
//!
//! It is told each process that is started and, when its input ends, kills them all and removes the folder. Its input
//! ends when the control plane is dropped, and also when the test program panics, aborts or is killed with `kill -9`,
//! because the kernel closes the pipe then. A signal from the terminal does not reach it: it has its own process group.

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

pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Guards a folder that only this control plane uses.
    pub(crate) fn of(folder: &Path) -> Guard {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        Guard { shell }
    }

    pub(crate) fn add(&mut self, pid: u32) {
        self.say("add", pid);
    }

    /// A process that is gone: its number may be another's soon.
    pub(crate) fn forget(&mut self, pid: u32) {
        self.say("forget", pid);
    }

    fn say(&mut self, word: &str, pid: u32) {
        let input = self.shell.stdin.as_mut().expect("the guard's input is piped");
        writeln!(input, "{word} {pid}").expect("the guard listens as long as its control plane lives");
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // A shell that was killed by somebody else has nothing to say any more.
        let _ = self.shell.wait();
    }
}
