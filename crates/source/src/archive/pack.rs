//! Packs a chart again: plain files with equal headers, in order of their names.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::ChartArchive;

impl ChartArchive {
    /// The chart as a `.tgz` of our own, so that Helm reads nothing that [`ChartArchive::read`] has not accepted. The bytes depend only
    /// on names and contents of the files.
    pub fn pack(&self) -> std::io::Result<Vec<u8>> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, bytes) in &self.files {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(0o644);
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, format!("{}/{path}", self.metadata.name), bytes.as_slice())?;
        }
        let mut encoder = builder.into_inner()?;
        encoder.flush()?;
        encoder.finish()
    }
}
