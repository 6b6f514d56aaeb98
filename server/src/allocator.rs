//! Settings of the memory allocator, so that freed memory returns to the system.
//!
//! The allocator of glibc has up to eight arenas per core, and each of them retains what was freed in it. After some large requests a
//! process has several times the memory that it uses, and the limit of its control group ends it. glibc reads its settings from the
//! environment before the program begins: the program sets them and executes itself again, as the same process.

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use source::memory_limit::process_memory;

/// Settings of glibc by other names; whoever sets them knows what the allocator should do.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// The number of arenas. More of them let more threads allocate at the same time.
const ARENAS: &str = "MALLOC_ARENA_MAX";
/// Free memory at the end of an arena that is not returned, in bytes.
const TRIM_THRESHOLD: &str = "MALLOC_TRIM_THRESHOLD_";
/// A block of more bytes is returned as soon as it is freed.
const MMAP_THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";

/// One arena for this much memory of the process, in bytes.
const BYTES_PER_ARENA: u64 = 512 << 20;
/// Fewest and most arenas.
const MIN_ARENAS: u64 = 2;
const MAX_ARENAS: u64 = 128;

/// Executes this program again with the settings that the environment does not have. Returns if it has all of them.
///
/// # Errors
/// The program can't be executed again: it goes on without them.
pub fn apply_settings() -> io::Result<()> {
    let missing = find_missing(process_memory(), |name| env::var_os(name).is_some());
    if missing.is_empty() || !cfg!(target_env = "gnu") {
        return Ok(());
    }
    let mut arguments = env::args_os();
    let mut command = Command::new(env::current_exe()?);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    command.envs(missing.into_iter().map(|(name, value)| (name, value.to_string())));
    Err(command.exec())
}

/// The settings that are not made yet, for a process that may use this much memory.
fn find_missing(memory: Option<u64>, is_set: impl Fn(&str) -> bool) -> Vec<(&'static str, u64)> {
    if is_set(TUNABLES) {
        return Vec::new();
    }
    let arenas = memory.map_or(MAX_ARENAS, |bytes| (bytes / BYTES_PER_ARENA).clamp(MIN_ARENAS, MAX_ARENAS));
    let settings = [(ARENAS, arenas), (TRIM_THRESHOLD, 1 << 20), (MMAP_THRESHOLD, 128 << 10)];
    settings.into_iter().filter(|(name, _)| !is_set(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_a_process_with_little_memory_has_few_arenas() {
        let arenas = |memory: Option<u64>| find_missing(memory, |_| false)[0];
        assert_eq!(arenas(Some(1 << 30)), (ARENAS, 2));
        assert_eq!(arenas(Some(100)), (ARENAS, 2));
        assert_eq!(arenas(Some(8 << 30)), (ARENAS, 16));
        assert_eq!(arenas(None), (ARENAS, 128));
    }

    #[test]
    fn settings_of_the_allocator_that_the_environment_has_are_not_replaced() {
        let names = |set: &[&str]| -> Vec<&'static str> {
            find_missing(None, |name| set.contains(&name)).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&[ARENAS]), [TRIM_THRESHOLD, MMAP_THRESHOLD]);
        assert!(names(&[ARENAS, TRIM_THRESHOLD, MMAP_THRESHOLD]).is_empty());
        assert!(names(&[TUNABLES]).is_empty());
    }
}
