//! Server-sent events, read from the bytes as they come (HTML standard, "event stream interpretation").

/// A frame longer than this is none of ours; what came of it is dropped.
const LONGEST_FRAME: usize = 256 * 1024;

/// One event of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its type; empty if none was given.
    pub(super) event: String,
    /// Its position; empty if none was given.
    pub(super) id: String,
    /// Its data, lines joined.
    pub(super) data: String,
}

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    rest: Vec<u8>,
}

impl Frames {
    /// Takes more bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes.iter().filter(|b| **b != b'\r'));
        if self.rest.len() > LONGEST_FRAME && !self.rest.windows(2).any(|two| two == b"\n\n") {
            self.rest.clear();
        }
    }

    /// The next whole frame that is not only a comment.
    pub(super) fn next(&mut self) -> Option<Frame> {
        loop {
            let end = self.rest.windows(2).position(|two| two == b"\n\n")?;
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            let frame = read(&String::from_utf8_lossy(&block));
            if frame != Frame::default() {
                return Some(frame);
            }
        }
    }
}

fn read(block: &str) -> Frame {
    let mut frame = Frame::default();
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
    fn frames_are_read_however_the_bytes_are_cut() {
        let text =
            b": ping\n\nid: 7\r\nevent: change\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: resync\ndata:\n\n";
        for cut in 1..text.len() {
            let mut frames = Frames::default();
            let mut read = Vec::new();
            for part in text.chunks(cut) {
                frames.feed(part);
                read.extend(std::iter::from_fn(|| frames.next()));
            }
            assert_eq!(read.len(), 2, "cut into {cut}");
            assert_eq!((&*read[0].id, &*read[0].event, &*read[0].data), ("7", "change", "{\"a\":\n1}"));
            assert_eq!(&*read[1].event, "resync");
        }
    }

    #[test]
    fn an_endless_frame_does_not_fill_the_memory() {
        let mut frames = Frames::default();
        for _ in 0..100 {
            frames.feed(&[b'x'; 10_000]);
        }
        assert!(frames.rest.len() <= LONGEST_FRAME + 10_000);
    }
}
