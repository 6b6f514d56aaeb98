//! Free space of the disk that holds `target/`: a build that fills it fails in a linker or a test, with a message that does
//! not lead to the cause.

use std::path::Path;
use std::process::Command;

/// The free space for `folder`, as `df` of POSIX reports it: a number of gigabytes (10⁹ bytes), or that it is not known.
pub fn describe_free_space(folder: &Path) -> String {
    let table = Command::new("df").arg("-Pk").arg(folder).output();
    match table.ok().and_then(|table| available_kibibytes(&String::from_utf8_lossy(&table.stdout))) {
        Some(kibibytes) => format!("{:.1} GB", kibibytes * 1024.0 / 1e9),
        None => "unknown, `df` does not tell".to_owned(),
    }
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
    fn the_free_space_of_a_folder_is_a_number_and_that_of_no_folder_is_unknown() {
        let free = describe_free_space(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(free.strip_suffix(" GB").is_some_and(|number| number.parse::<f64>().is_ok()), "{free}");
        let unknown = describe_free_space(&Path::new(env!("CARGO_MANIFEST_DIR")).join("missing"));
        assert!(unknown.starts_with("unknown"), "{unknown}");
    }
}
