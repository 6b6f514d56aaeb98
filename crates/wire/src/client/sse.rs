//! Incremental parser of server-sent events (HTML standard, "event stream interpretation").

/// Maximum size of a frame, in bytes; a longer one is dropped.
const MAX_FRAME_BYTES: usize = 256 * 1024;

/// One event of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SseFrame {
    /// Its type; may be empty.
    pub(super) event: String,
    /// Its id; may be empty.
    pub(super) id: String,
    /// Its data, lines joined with `\n`.
    pub(super) data: String,
}

/// Splits bytes into frames.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    buffer: Vec<u8>,
}

impl SseParser {
    /// Appends bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes.iter().filter(|b| **b != b'\r'));
        if self.buffer.len() > MAX_FRAME_BYTES && !self.buffer.windows(2).any(|two| two == b"\n\n") {
            self.buffer.clear();
        }
    }

    /// The next complete frame that is not only a comment.
    pub(super) fn next_frame(&mut self) -> Option<SseFrame> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
            let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let frame = parse_frame(&String::from_utf8_lossy(&block));
            if frame != SseFrame::default() {
                return Some(frame);
            }
        }
    }
}

fn parse_frame(block: &str) -> SseFrame {
    let mut frame = SseFrame::default();
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut frame.event),
            "id" => value.clone_into(&mut frame.id),
            "data" if frame.data.is_empty() => value.clone_into(&mut frame.data),
            "data" => frame.data = format!("{}\n{value}", frame.data),
            _ => {}
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_parsed_from_chunks_of_any_size() {
        let text =
            b": ping\n\nid: 7\r\nevent: change\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: resync\ndata:\n\n";
        for size in 1..text.len() {
            let mut frames = SseParser::default();
            let mut parsed = Vec::new();
            for part in text.chunks(size) {
                frames.feed(part);
                parsed.extend(std::iter::from_fn(|| frames.next_frame()));
            }
            assert_eq!(parsed.len(), 2, "chunks of {size}");
            assert_eq!((&*parsed[0].id, &*parsed[0].event, &*parsed[0].data), ("7", "change", "{\"a\":\n1}"));
            assert_eq!(&*parsed[1].event, "resync");
        }
    }

    #[test]
    fn an_endless_frame_does_not_exhaust_memory() {
        let mut frames = SseParser::default();
        for _ in 0..100 {
            frames.feed(&[b'x'; 10_000]);
        }
        assert!(frames.buffer.len() <= MAX_FRAME_BYTES + 10_000);
    }
}
