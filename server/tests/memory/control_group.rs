//! A control group with a limit of memory, in which a test starts a server: the kernel ends a process of it that needs more.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of a control group in which the tests may create groups, or `off`.
const VARIABLE: &str = "FLOTILLA_TEST_CGROUP";

/// How often its removal is tried, and the pause between: it is possible once the last process has ended.
const REMOVALS: usize = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

/// A group; removed when dropped, after its processes have ended.
pub struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// A group whose processes may use this much memory; `None` if `FLOTILLA_TEST_CGROUP` is `off`.
    ///
    /// # Panics
    /// No such group can be created.
    pub fn create(bytes: u64) -> Option<Self> {
        let parents = match std::env::var(VARIABLE) {
            Ok(off) if off == "off" => {
                eprintln!("{VARIABLE}=off: this test did not run");
                return None;
            }
            Ok(folder) => vec![PathBuf::from(folder)],
            Err(_) => list_parents(&std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default()),
        };
        let mut errors = Vec::new();
        for parent in parents {
            match Self::create_in(&parent, bytes) {
                Ok(group) => return Some(group),
                Err(error) => errors.push(format!("{}: {error}", parent.display())),
            }
        }
        panic!(
            "no control group with a limit of memory can be created ({}): set {VARIABLE} to the folder of one in which this user may \
             create groups, or to `off`",
            errors.join("; ")
        )
    }

    fn create_in(parent: &Path, bytes: u64) -> io::Result<Self> {
        let folder = parent.join(format!("flotilla-test-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let group = Self { folder };
        // Version 2, then 1. Without its controller a group of version 2 has no such file.
        let limit = ["memory.max", "memory.limit_in_bytes"].map(|name| group.folder.join(name));
        let limit = limit.iter().find(|file| file.exists());
        let limit = limit.ok_or_else(|| io::Error::other("its groups have no limit of memory"))?;
        std::fs::write(limit, bytes.to_string())?;
        // What is swapped out would be more than the limit; a machine without swap has no such file.
        let _ = std::fs::write(group.folder.join("memory.swap.max"), "0");
        let _ = std::fs::write(group.folder.join("memory.swappiness"), "0");
        Ok(group)
    }

    /// The file into which a process writes its id to be in the group.
    pub fn processes_file(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// How many of its processes the kernel has ended because they needed more.
    pub fn count_kills(&self) -> u64 {
        let files = ["memory.events", "memory.oom_control"].map(|name| self.folder.join(name));
        let text = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
        parse_kills(&text.expect("the group has counts")).expect("the kernel counts what it ends")
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
    }
}

/// The folders in which the process may be able to create groups: its own group, and those above it.
fn list_parents(groups: &str) -> Vec<PathBuf> {
    let mut parents = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let root = if controllers.is_empty() {
            "/sys/fs/cgroup"
        } else if controllers.split(',').any(|one| one == "memory") {
            "/sys/fs/cgroup/memory"
        } else {
            continue;
        };
        let own = Path::new(root).join(group.trim_start_matches('/'));
        let above = own.ancestors().take_while(|folder| folder.starts_with(root));
        // Any folder could be created in a folder that is no group.
        parents.extend(above.filter(|folder| folder.join("cgroup.procs").exists()).map(Path::to_path_buf));
    }
    parents
}

/// The line `oom_kill COUNT`.
fn parse_kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[test]
fn the_kills_of_a_group_are_read_from_both_versions() {
    assert_eq!(parse_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), Some(2));
    assert_eq!(parse_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), Some(1));
    assert_eq!(parse_kills("oom_kill_disable 0\nunder_oom 0\n"), None);
}
