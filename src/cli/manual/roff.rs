//! Text in roff's man macros, for what clap's own generator has no words for.

/// The day of this version.
const DATE: &str = "2026-11-30";

/// A line of text longer than this is broken; roff fills lines anew.
const WIDTH: usize = 78;

/// A page that grows.
pub(super) struct Text(String);

impl Text {
    pub(super) fn new(name: &str, section: &str) -> Self {
        let (title, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        // What the generated parts call an apostrophe.
        let apostrophe = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
        Self(format!(".TH {title} {section} {DATE} \"git-agentlock {version}\" \"\"\n{apostrophe}"))
    }

    /// What is roff already.
    pub(super) fn generated(&mut self, roff: &[u8]) {
        let roff = String::from_utf8_lossy(roff);
        let mut is_tag = false;
        for line in roff.lines().map(str::trim_end) {
            if line.starts_with(".ie \\n(.g .ds Aq") || line.starts_with(".el .ds Aq") {
                continue;
            }
            let is_request = line.starts_with(['.', '\'']);
            if is_request || is_tag {
                self.line(line);
            } else {
                self.broken(line);
            }
            is_tag = line == ".TP";
        }
    }

    /// A line of text, over as many lines as it needs.
    fn broken(&mut self, line: &str) {
        let mut part = String::new();
        for word in line.split(' ') {
            let is_full = part.len().saturating_add(word.len()) >= WIDTH;
            // Not at a place where the rest would be a request.
            if is_full && !part.is_empty() && !word.starts_with(['.', '\'']) {
                self.line(part.trim_end());
                part.clear();
            }
            part.push_str(word);
            part.push(' ');
        }
        self.line(part.trim_end());
    }

    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(super) fn section(&mut self, title: &str) {
        self.line(&format!(".SH {}", quoted(title)));
    }

    pub(super) fn subsection(&mut self, title: &str) {
        self.line(&format!(".SS {}", quoted(title)));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        for line in text.lines() {
            self.broken(&escaped(line));
        }
    }

    pub(super) fn next_paragraph(&mut self) {
        self.line(".PP");
    }

    /// Something, and what it is.
    pub(super) fn entry(&mut self, name: &str, meaning: &str) {
        self.line(".TP");
        self.line(&format!("\\fB{}\\fR", escaped(name)));
        self.paragraph(meaning);
    }

    /// As it is, line by line.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.line(".RS 4");
        self.line(".nf");
        for line in text.lines() {
            self.line(&escaped(line));
        }
        self.line(".fi");
        self.line(".RE");
    }

    pub(super) fn examples(&mut self, examples: &[(&str, &str)]) {
        for (index, (what, line)) in examples.iter().enumerate() {
            if !what.is_empty() {
                if index > 0 {
                    self.next_paragraph();
                }
                self.paragraph(&format!("{what}:"));
            }
            self.verbatim(line);
        }
    }

    pub(super) fn into_page(self) -> String {
        self.0
    }
}

fn quoted(title: &str) -> String {
    if title.contains(' ') { format!("\"{}\"", escaped(title)) } else { escaped(title) }
}

/// Nothing in it is a request or an escape; a `-` stays one, to be copied.
fn escaped(line: &str) -> String {
    let mut out = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    out = out.replace('~', "\\(ti").replace('^', "\\(ha").replace('"', "\\(dq");
    if out.starts_with('.') {
        out.insert_str(0, "\\&");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_request() {
        assert_eq!(escaped(".agentlock.toml"), "\\&.agentlock.toml");
        assert_eq!(escaped("'a' \\n --x ~/y"), "\\(aqa\\(aq \\en \\-\\-x \\(ti/y");
    }
}
