//! A command line as bash has it: raw text up to the cursor, to be taken apart as the shell would, and what is to be put in the place of its last
//! word, quoted as that is.

/// A line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The words, without their quotes; the last is the one at the cursor, which may be empty.
    pub(super) words: Vec<Vec<u8>>,
    /// How the last one is to be written; `None` when it has something in it that only the shell can tell the value of.
    pub(super) last: Option<Last>,
}

/// The word at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Last {
    quote: Quote,
    /// How many bytes of it the shell takes for something in front of the word.
    kept: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Bare,
    Single,
    Double,
}

/// What has been read of a word.
#[derive(Default)]
struct Word {
    text: Vec<u8>,
    is_begun: bool,
    /// Behind the last character at which the shell breaks words for completion.
    kept: usize,
    /// Whether a quoted part has ended in it, or the shell expands something in it.
    is_beyond: bool,
    open: Option<Quote>,
}

impl Line {
    /// `breaks` are the characters at which readline breaks words (`COMP_WORDBREAKS`).
    pub(super) fn of(raw: &[u8], breaks: &[u8]) -> Self {
        let mut words = Vec::new();
        let mut word = Word::default();
        let mut rest = raw.iter().copied();
        while let Some(byte) = rest.next() {
            match (word.open, byte) {
                (Some(Quote::Single), b'\'') | (Some(Quote::Double), b'"') => {
                    word.open = None;
                    word.is_beyond = true;
                }
                (Some(Quote::Double), b'\\') => match rest.next() {
                    Some(escaped @ (b'"' | b'\\' | b'$' | b'`')) => word.text.push(escaped),
                    other => word.text.extend(std::iter::once(b'\\').chain(other)),
                },
                (Some(Quote::Double) | None, b'$' | b'`') => {
                    word.is_begun = true;
                    word.is_beyond = true;
                    word.text.push(byte);
                }
                (Some(_), _) => word.text.push(byte),
                (None, b' ' | b'\t' | b'\n') => {
                    if word.is_begun {
                        words.push(std::mem::take(&mut word).text);
                    }
                }
                (None, b'\'' | b'"') => {
                    // A quote in the midst of a word is beyond what is put back, but behind a break the shell begins anew.
                    word.is_beyond |= word.text.len() != word.kept;
                    word.is_begun = true;
                    word.open = Some(if byte == b'"' { Quote::Double } else { Quote::Single });
                }
                (None, b'\\') => {
                    word.is_begun = true;
                    word.text.extend(rest.next());
                }
                (None, byte) => {
                    word.is_beyond |= byte == b'~' && !word.is_begun;
                    word.is_begun = true;
                    word.text.push(byte);
                    if breaks.contains(&byte) {
                        word.kept = word.text.len();
                    }
                }
            }
        }
        let last = (!word.is_beyond).then(|| Last { quote: word.open.unwrap_or(Quote::Bare), kept: word.kept });
        words.push(word.text);
        Self { words, last }
    }
}

impl Last {
    /// What readline is to put in the place of the word, for a value that begins with what it is now; `None` when it cannot be written there.
    pub(super) fn replacement(&self, value: &str) -> Option<String> {
        let text = value.get(self.kept..)?;
        let goes_on = text.ends_with(['/', '=']);
        match self.quote {
            Quote::Bare => Some(format!("{}{}", bare(text), if goes_on { "" } else { " " })),
            Quote::Single => (!text.contains('\'')).then(|| text.to_owned()),
            // The shell would look for a command of the past.
            Quote::Double => (!text.contains('!')).then(|| with_backslashes(text, |c| "\"\\$`".contains(c))),
        }
    }
}

fn bare(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+,:@%=".contains(c);
    with_backslashes(text, |c| !is_plain(c))
}

fn with_backslashes(text: &str, needs_one: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if needs_one(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKS: &[u8] = b" \t\n\"'><=;|&(:";

    fn words(raw: &str) -> Vec<String> {
        Line::of(raw.as_bytes(), BREAKS).words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    fn put(raw: &str, value: &str) -> Option<String> {
        Line::of(raw.as_bytes(), BREAKS).last.and_then(|last| last.replacement(value))
    }

    #[test]
    fn words_are_those_of_the_shell() {
        assert_eq!(words("git  agentlock\tacq"), ["git", "agentlock", "acq"]);
        assert_eq!(words("git agentlock "), ["git", "agentlock", ""]);
        assert_eq!(words(r#"a b\ c 'd e' "f \" g" h"i"'j' "#), ["a", "b c", "d e", "f \" g", "hij", ""]);
        assert_eq!(words("a '' "), ["a", "", ""]);
        assert_eq!(words(r"a 'b c"), ["a", "b c"]);
        assert_eq!(words(r"a b\"), ["a", "b"]);
        assert_eq!(words(""), [""]);
    }

    #[test]
    fn a_value_is_put_back_as_its_word_is_quoted() {
        for (raw, value, replacement) in [
            ("x my", "my file", r"my\ file "),
            (r"x my\ f", "my file", r"my\ file "),
            ("x 'my", "my file", "my file"),
            ("x \"my", "my $file", r"my \$file"),
            ("x ", "dir/", "dir/"),
            ("x ", "a'b;c#d", r"a\'b\;c\#d "),
            ("x plan:4", "plan:42", "42 "),
            ("x --owner=cl", "--owner=claude", "claude "),
            ("x --owner='cl", "--owner=claude", "claude"),
            (r"x a\:b", "a:bc", "a:bc "),
            ("x --ow", "--owner=", "--owner="),
        ] {
            assert_eq!(put(raw, value).as_deref(), Some(replacement), "{raw}");
        }
    }

    #[test]
    fn what_only_the_shell_can_read_is_left_to_it() {
        for raw in ["x $HOME/a", "x ~/a", "x `pwd`/", "x \"$HOME", "x a'b", "x 'a'b"] {
            assert_eq!(Line::of(raw.as_bytes(), BREAKS).last, None, "{raw}");
        }
        assert_eq!(put("x 'a", "a'b"), None);
        assert_eq!(put("x \"a", "a!b"), None);
    }

    proptest::proptest! {
        #[test]
        fn what_is_put_back_is_read_as_the_value(value in "[^\u{0}-\u{1f}\u{7f}]{1,20}", quote in "[\"']?") {
            let raw = format!("x {quote}");
            if let Some(replacement) = put(&raw, &value) {
                let line = Line::of(format!("{raw}{replacement}{quote}").as_bytes(), b"");
                proptest::prop_assert_eq!(line.words.get(1).unwrap().as_slice(), value.as_bytes());
            }
        }
    }
}
