//! Untrusted text made safe to show.
//!
//! Owners, reasons and paths come from other agents. Nothing of theirs may reach a terminal as a control
//! sequence, forge a second line, or hide what stands beside it, so everything that is shown passes
//! through [`escape`]. What is shown to be pasted into a shell, or written for one, passes through [`shell_word`] or [`shell_quoted`].

use bstr::{ByteSlice as _, ByteVec as _};

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

/// As one word of a POSIX shell, in quotes whatever is in it.
#[must_use]
pub fn shell_quoted(word: &[u8]) -> Vec<u8> {
    [b"'", &*word.replace("'", r"'\''"), b"'"].concat()
}

/// As one word of a POSIX shell, in quotes only where it needs them.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    shell_quoted(word.as_bytes()).into_string_lossy()
}

/// The word at the front that was quoted for a shell (`'it'\''s'`), and what comes behind it; `None` when there is none.
#[must_use]
pub fn shell_unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut rest = text.strip_prefix(b"'")?;
    loop {
        let (quoted, after) = rest.split_once_str("'")?;
        word.extend_from_slice(quoted);
        rest = after;
        // Between quoted parts a character is escaped, by git also one that needs it for interactive shells only.
        let Some((escaped, after)) = rest.strip_prefix(b"\\").and_then(|after| after.split_first()) else { break };
        word.push(*escaped);
        match after.strip_prefix(b"'") {
            Some(after) => rest = after,
            None => break,
        }
    }
    Some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_pasted_into_a_shell() {
        for (word, shown) in [
            ("src/a", "src/a"),
            ("naïve", "naïve"),
            ("", "''"),
            ("a b'c", r"'a b'\''c'"),
            ("$(x)", "'$(x)'"),
            ("~", "'~'"),
        ] {
            assert_eq!(shell_word(word), shown);
        }
    }

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
        fn what_was_quoted_for_a_shell_is_read_back(word: Vec<u8>, behind in "[^'\\\\]?") {
            let text = [shell_quoted(&word), behind.clone().into_bytes()].concat();
            proptest::prop_assert_eq!(shell_unquoted(&text), Some((word, behind.as_bytes())));
        }

        #[test]
        fn no_byte_string_yields_a_control_character(bytes: Vec<u8>) {
            proptest::prop_assert!(escape(&bytes).chars().all(|c| !c.is_control()));
        }
    }
}
