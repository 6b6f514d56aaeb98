//! The memory of renderers: a share of what the server may use, because they count towards the same limit.

use std::path::Path;
use std::sync::LazyLock;

/// What one process may allocate if there is enough, in bytes.
const MAX_PROCESS_BYTES: u64 = 512 << 20;
/// What one process may allocate at least: a chart of the usual size is rendered with it.
const MIN_PROCESS_BYTES: u64 = 256 << 20;
/// One process may have one part in so many of the memory.
const PROCESS_SHARE: u64 = 8;
/// And all of them together.
const PROCESSES_SHARE: u64 = 4;

/// Where the kernel shows the limits of control groups.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The memory that this process may use, read once.
static AVAILABLE_BYTES: LazyLock<u64> = LazyLock::new(|| {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    available_bytes(read)
});

/// What one renderer may allocate, in bytes.
pub fn process_bytes() -> u64 {
    share_of_process(*AVAILABLE_BYTES)
}

/// How many renderers run at once: one per core, as far as there is memory for them.
pub fn max_processes() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    limit_processes(cores, *AVAILABLE_BYTES)
}

fn share_of_process(available: u64) -> u64 {
    (available / PROCESS_SHARE).clamp(MIN_PROCESS_BYTES, MAX_PROCESS_BYTES)
}

fn limit_processes(cores: usize, available: u64) -> usize {
    let fitting = available / PROCESSES_SHARE / share_of_process(available);
    cores.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
}

/// The lowest limit of the control groups of this process, and the memory of the machine. Without any, the memory is unlimited.
fn available_bytes(read: impl Fn(&Path) -> Option<String>) -> u64 {
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| read_total(&text));
    let limits = groups.lines().filter_map(|line| group_limit(line, &read));
    limits.chain(machine).min().unwrap_or(u64::MAX)
}

/// The lowest limit of a group, a line such as `0::/pods/a`, and of those that contain it. In a container its path may be that on the
/// host, and only the top one is there.
fn group_limit(line: &str, read: &impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let (root, file) = match controllers {
        "" => (Path::new(CONTROL_GROUPS).to_owned(), "memory.max"),
        _ if controllers.split(',').any(|one| one == "memory") => {
            (Path::new(CONTROL_GROUPS).join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    // Without a limit the file contains `max`, which is no number, or a number beyond any machine.
    groups.filter_map(|group| read(&root.join(group).join(file))?.trim().parse::<u64>().ok()).min()
}

/// The memory of the machine, by the line `MemTotal: 1024 kB`.
fn read_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn available(files: &[(&str, &str)]) -> u64 {
        let find = |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path);
        available_bytes(|path| find(path).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn p19_the_memory_of_the_server_is_that_of_its_control_groups_or_of_the_machine() {
        let machine = ("/proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\n");
        assert_eq!(available(&[]), u64::MAX);
        assert_eq!(available(&[machine]), 8 * GIB);
        let unified = ("/proc/self/cgroup", "0::/pods/a\n");
        let parent = ("/sys/fs/cgroup/pods/memory.max", "1073741824\n");
        let own = ("/sys/fs/cgroup/pods/a/memory.max", "max\n");
        assert_eq!(available(&[machine, unified, own]), 8 * GIB);
        assert_eq!(available(&[machine, unified, own, parent]), GIB);
        // In a container the path may be that on the host.
        let root = ("/sys/fs/cgroup/memory.max", "2147483648\n");
        assert_eq!(available(&[machine, unified, root]), 2 * GIB);
        let older = ("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
        let limit = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");
        let unlimited = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(available(&[machine, older, limit]), GIB);
        assert_eq!(available(&[machine, older, unlimited]), 8 * GIB);
    }

    #[test]
    fn p19_renderers_have_a_share_of_the_memory_together_and_one_always_runs() {
        for (available, cores, expected) in [
            (GIB / 4, 8, 1),
            (GIB, 8, 1),
            (2 * GIB, 8, 2),
            (8 * GIB, 8, 4),
            (64 * GIB, 8, 8),
            (u64::MAX, 8, 8),
            (GIB, 1, 1),
        ] {
            let processes = limit_processes(cores, available);
            assert_eq!(processes, expected, "{available} bytes");
            let together = processes as u64 * share_of_process(available);
            assert!(processes == 1 || together <= available / PROCESSES_SHARE, "{available} bytes");
        }
    }
}
