//! From the bytes of one file to a layer, or to what is wrong with the bytes.

use std::path::Path;

use bstr::ByteSlice as _;
use toml::de::DeTable;

use super::{
    LayerSource, MAX_BYTES,
    error::{PolicyCause, PolicyError, shown},
    layer::{Layer, LayerKind},
    reader::Reader,
};

/// What `source` says. With any problem it says nothing but the local layer's identity keys, and the problems are
/// added, in the order of the lines.
pub(super) fn layer(source: LayerSource, problems: &mut Vec<PolicyError>) -> Layer {
    let LayerSource { kind, path, text } = source;
    let (mut layer, mut found) = match text {
        Ok(bytes) => bytes_of(kind, &path, &bytes),
        Err(error) => {
            let cause = PolicyCause::Unreadable(error);
            (Layer::empty(kind), vec![PolicyError { kind, path, line: None, cause }])
        }
    };
    if !found.is_empty() {
        layer.keep_identity_only();
        found.sort_by_key(|error| error.line);
        problems.append(&mut found);
    }
    layer
}

fn bytes_of(kind: LayerKind, path: &Path, bytes: &[u8]) -> (Layer, Vec<PolicyError>) {
    let failed = |line, cause| (Layer::empty(kind), vec![PolicyError { kind, path: path.to_owned(), line, cause }]);
    if bytes.len() > MAX_BYTES {
        return failed(None, PolicyCause::TooLarge);
    }
    match str::from_utf8(bytes) {
        Ok(text) => text_of(kind, path, text),
        Err(error) => failed(Some(Lines::of(bytes).at(error.valid_up_to())), PolicyCause::NotUtf8),
    }
}

/// As [`layer`], for a text, and without skipping anything.
pub(super) fn text_of(kind: LayerKind, path: &Path, text: &str) -> (Layer, Vec<PolicyError>) {
    let mut reader = Reader::new(kind, path, Lines::of(text.as_bytes()));
    let layer = match DeTable::parse(text) {
        Ok(document) => reader.document(document.get_ref()),
        Err(error) => {
            let (offset, cause) = syntax(text, &error);
            reader.problem(offset, cause);
            Layer::empty(kind)
        }
    };
    (layer, reader.into_problems())
}

/// The parser does not say which key is there twice; the text does.
fn syntax(text: &str, error: &toml::de::Error) -> (usize, PolicyCause) {
    let span = error.span().unwrap_or(0..0);
    let offset = span.start;
    // The parser's words are no file's content: their backslashes need no doubling.
    let mut message = shown(error.message()).replace("\\\\", "\\");
    if let ("duplicate key", Some(key)) = (error.message(), text.get(span)) {
        message = format!("duplicate key '{}'", shown(key));
    }
    (offset, PolicyCause::Syntax(message))
}

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &[u8]) -> Self {
        Self(text.find_iter(b"\n").collect())
    }

    /// The line, from 1, of the byte at `offset`.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset).saturating_add(1)
    }
}
