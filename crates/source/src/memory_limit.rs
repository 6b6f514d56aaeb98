//! The memory that this process may use: that of its control group, or that of the machine.
//!
//! A container has less memory than its machine, and the kernel ends a process that uses more, whatever the machine still has.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The limit in bytes, read once; `None` if the system names none.
static PROCESS_MEMORY: LazyLock<Option<u64>> =
    LazyLock::new(|| find_limit(&|path: &Path| std::fs::read_to_string(path).ok()));

/// How much memory this process may use, in bytes; `None` if the system names no limit.
pub fn process_memory() -> Option<u64> {
    *PROCESS_MEMORY
}

/// The smallest limit of the control groups of the process (version 2, then 1), of the groups above them, and of the machine.
fn find_limit(read: &impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|one| one == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        files.extend(group_files(root, group, name));
    }
    // Without a limit, version 2 says `max` and version 1 a number larger than any memory.
    let limits = files.iter().filter_map(|path| read(path.as_path())?.trim().parse::<u64>().ok());
    let machine = read(Path::new("/proc/meminfo")).as_deref().and_then(parse_total);
    limits.chain(machine).filter(|limit| *limit > 0).min()
}

/// The file in the folder of a group and of all groups above it. A container sees its own group as the root.
fn group_files(root: &str, group: &str, name: &str) -> Vec<PathBuf> {
    let root = Path::new(root);
    let folder = root.join(group.trim_start_matches('/'));
    folder.ancestors().take_while(|folder| folder.starts_with(root)).map(|folder| folder.join(name)).collect()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn parse_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(files: &[(&str, &str)]) -> Option<u64> {
        find_limit(&|path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn p19_the_memory_of_the_process_is_the_smallest_limit_of_its_groups_and_the_machine() {
        let machine = ("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
        let version_2 = ("/proc/self/cgroup", "0::/pod/server\n");
        let own = ("/sys/fs/cgroup/pod/server/memory.max", "max\n");
        let above = ("/sys/fs/cgroup/pod/memory.max", "1048576\n");
        let container = ("/sys/fs/cgroup/memory.max", "2097152\n");
        assert_eq!(find(&[machine, version_2, own]), Some(16 << 20));
        assert_eq!(find(&[machine, version_2, own, container]), Some(2 << 20));
        assert_eq!(find(&[machine, version_2, own, above, container]), Some(1 << 20));
        let version_1 = ("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n");
        let limit = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3145728\n");
        let unlimited = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(find(&[machine, version_1, limit, unlimited]), Some(3 << 20));
        assert_eq!(find(&[machine, version_1, unlimited]), Some(16 << 20));
        assert_eq!(find(&[]), None);
    }
}
