//! The memory of renderers: a share of what the server may use, because they count towards the same limit.

use crate::memory_limit::process_memory;

/// What one process may allocate if there is enough, in bytes.
const MAX_PROCESS_BYTES: u64 = 512 << 20;
/// What one process may allocate at least: a chart of the usual size is rendered with it.
const MIN_PROCESS_BYTES: u64 = 256 << 20;
/// One process may have one part in so many of the memory.
const PROCESS_SHARE: u64 = 8;
/// And all of them together.
const PROCESSES_SHARE: u64 = 4;

/// The limit on the data of one renderer (`RLIMIT_DATA`), in bytes. It is not exact for a single piece: under 512 MiB, Helm 4.2.4 was
/// allowed one of 600 MB in three of four runs on Linux 6.18, and one of 1.2 GB in none of four.
pub fn process_bytes() -> u64 {
    share_of_process(available_bytes())
}

/// How many renderers run at once: one per core, as far as there is memory for them.
pub fn max_processes() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    limit_processes(cores, available_bytes())
}

fn share_of_process(available: u64) -> u64 {
    (available / PROCESS_SHARE).clamp(MIN_PROCESS_BYTES, MAX_PROCESS_BYTES)
}

fn limit_processes(cores: usize, available: u64) -> usize {
    let fitting = available / PROCESSES_SHARE / share_of_process(available);
    cores.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
}

/// The memory that the server may use; unlimited if the system names none.
fn available_bytes() -> u64 {
    process_memory().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

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
