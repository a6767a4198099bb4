//! Untrusted text made safe to show.
//!
//! Owners, reasons and paths come from other agents. Nothing of theirs may reach a terminal as a control
//! sequence, forge a second line, or hide what stands beside it, so everything that is shown passes
//! through [`escape`].

use bstr::ByteSlice as _;

/// `bytes` as one line of plain text.
///
/// Control characters, bytes that are not UTF-8, line and paragraph separators, bidirectional and
/// other invisible formatting characters become `\n`, `\t`, `\xNN` or `\u{NNNN}`. A backslash becomes `\\`, so that
/// the escapes are unambiguous. All else is kept.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for (start, end, c) in bytes.char_indices() {
        let raw = bytes.get(start..end).unwrap_or_default();
        let is_invalid = c == char::REPLACEMENT_CHARACTER && raw != "\u{FFFD}".as_bytes();
        if is_invalid {
            for byte in raw {
                out.push_str(&format!("\\x{byte:02x}"));
            }
            continue;
        }
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_deceptive(c) => out.push_str(&format!("\\u{{{:04x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// A path of the operating system, escaped like all else.
#[must_use]
pub fn escape_path(path: &std::path::Path) -> String {
    escape(path.as_os_str().as_encoded_bytes())
}

/// Control characters, and what is invisible or turns the reading direction.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_kept() {
        assert_eq!(escape("src/auth.rs — naïve 日本 \u{FFFD}".as_bytes()), "src/auth.rs — naïve 日本 \u{FFFD}");
    }

    #[test]
    fn control_bytes_and_broken_utf8_are_spelt_out() {
        assert_eq!(escape(b"a\nb\t\x1b[2J\x7f\\n"), "a\\nb\\t\\x1b[2J\\x7f\\\\n");
        assert_eq!(escape(b"latin\xe9"), "latin\\xe9");
        assert_eq!(escape("\u{9b}\u{202E}\u{200B}".as_bytes()), "\\u{009b}\\u{202e}\\u{200b}");
    }

    proptest::proptest! {
        #[test]
        fn no_byte_string_yields_a_control_character(bytes: Vec<u8>) {
            proptest::prop_assert!(escape(&bytes).chars().all(|c| !c.is_control()));
        }
    }
}
