//! The memory allocator of the program.

use crate::server_process::ServerProcess;

#[tokio::test(flavor = "multi_thread")]
async fn p19_the_program_runs_with_settings_that_return_freed_memory() {
    let server = ServerProcess::start(1_024, &[]).await;
    let environment = server.environment();
    let names: Vec<&str> = environment.split('\0').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
    for name in ["MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"] {
        assert!(names.contains(&name), "{name} is not set: {names:?}");
    }
}
