//! Free space of the disk that holds `target/`: a build that fills it fails in a linker or a test, with a message that does
//! not lead to the cause.

use std::path::Path;
use std::process::Command;

/// The free space for `folder` in gigabytes (10⁹ bytes), as `df` of POSIX reports it; none where `df` cannot tell.
pub fn free_gigabytes(folder: &Path) -> Option<f64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    available_kibibytes(&String::from_utf8_lossy(&output.stdout)).map(|kibibytes| kibibytes * 1024.0 / 1e9)
}

/// The fourth column of the line below the heading.
fn available_kibibytes(table: &str) -> Option<f64> {
    table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_is_read_from_the_posix_table() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                     /dev/vda 263174212 23068672 72351744 25% /\n";
        assert_eq!(available_kibibytes(table), Some(72_351_744.0));
        assert_eq!(available_kibibytes("df: /nowhere: No such file or directory\n"), None);
    }

    #[test]
    fn the_folder_of_the_project_has_a_free_space() {
        let free = free_gigabytes(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("df reports the free space");
        assert!(free > 0.0, "{free} GB are free");
    }
}
