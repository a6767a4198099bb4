//! The text of our hooks, and how it is known again: each version that was ever written, rendered anew and compared byte for byte.

use std::path::PathBuf;

use bstr::ByteSlice as _;

use super::Hook;
use crate::{
    resource::path_bytes,
    text::{escape_path, shell_quoted, shell_unquoted},
};

/// Every version of the text, the newest last. A version that was released once stays here, so that it is known and replaced.
const VERSIONS: [(&str, &str); 1] = [("1", include_str!("hook-v1.sh"))];

const BEGIN: &[u8] = b"#!/bin/sh\n# git-agentlock hook v";
const BINARY: &[u8] = b"\nagentlock_binary=";

/// What differs from one of our hooks to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stub {
    /// Which hook it is.
    pub hook: Hook,
    /// Whether another hook is chained.
    pub has_chained: bool,
    /// The program that it runs, by an absolute path.
    pub binary: PathBuf,
}

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    /// One of ours, of any version.
    Ours(Stub),
    /// Begun as one of ours.
    Edited,
    /// Anything else.
    Foreign,
}

impl Stub {
    /// The newest text.
    pub(super) fn render(&self) -> Vec<u8> {
        VERSIONS.last().map(|(_, template)| self.fill_in(template)).unwrap_or_default()
    }

    /// In one go, so that nothing in what is filled in is taken for a place to fill.
    fn fill_in(&self, template: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = template;
        while let Some((text, (place, after))) =
            rest.split_once("{{").and_then(|(text, after)| Some((text, after.split_once("}}")?)))
        {
            out.extend_from_slice(text.as_bytes());
            out.extend(self.part(place));
            rest = after;
        }
        out.extend_from_slice(rest.as_bytes());
        out
    }

    fn part(&self, place: &str) -> Vec<u8> {
        let can_refuse = self.hook.can_refuse();
        let text = match place {
            "HOOK" => self.hook.name(),
            "BEFORE" if self.has_chained => "chained",
            "BEFORE" => "none",
            "ASKS" if self.hook.is_before_commit() => "twice",
            "ASKS" => "once",
            "BINARY" => return shell_quoted(&path_bytes(&self.binary).unwrap_or_default()),
            "SHOWN" => return shell_quoted(escape_path(&self.binary).as_bytes()),
            "CONSEQUENCE" if can_refuse => "this is refused rather than done",
            "CONSEQUENCE" => "this went by",
            "WARNED" if can_refuse => "this is done",
            "WARNED" => "this went by",
            "BYPASS" if can_refuse => " or --no-verify",
            "REFUSED" if can_refuse => "exit \"$?\"",
            "REFUSED" => ":",
            _ => "",
        };
        text.as_bytes().to_vec()
    }
}

/// What a file's text is.
pub(super) fn recognise(text: &[u8]) -> Text {
    recognise_among(&VERSIONS, text)
}

fn recognise_among(versions: &[(&str, &str)], text: &[u8]) -> Text {
    // Of another line discipline, or with something before it, it is still one of ours that somebody has changed.
    if !text.lines().take(16).any(|line| line.starts_with(b"# git-agentlock hook v")) {
        return Text::Foreign;
    }
    known(versions, text).map_or(Text::Edited, Text::Ours)
}

fn known(versions: &[(&str, &str)], text: &[u8]) -> Option<Stub> {
    let (version, _) = text.strip_prefix(BEGIN)?.split_once_str(":")?;
    let (_, template) = versions.iter().find(|(known, _)| known.as_bytes() == version)?;
    let (_, after) = text.split_once_str(BINARY)?;
    let binary = PathBuf::from(shell_unquoted(after)?.0.to_os_str().ok()?);
    let stubs = Hook::ALL
        .into_iter()
        .flat_map(|hook| [false, true].map(|has_chained| Stub { hook, has_chained, binary: binary.clone() }));
    stubs.into_iter().find(|stub| stub.fill_in(template) == text)
}

/// Whether this could be what a process has left that was ended while it wrote one of ours.
pub(super) fn is_beginning(text: &[u8]) -> bool {
    BEGIN.starts_with(text) || text.starts_with(BEGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub(binary: &[u8], has_chained: bool) -> Stub {
        Stub { hook: Hook::PreCommit, has_chained, binary: binary.to_os_str().unwrap().into() }
    }

    #[test]
    fn what_was_rendered_is_known_again_whatever_the_binary_is_called() {
        let names: [&[u8]; 6] =
            [b"/usr/bin/git-agentlock", b"/a b/it's", b"/{{HOOK}}", b"/new\nagentlock_binary='x'", b"/\xff\\''", b"/'"];
        for binary in names {
            for hook in Hook::ALL {
                let stub = Stub { hook, ..stub(binary, hook.is_default()) };
                assert_eq!(recognise(&stub.render()), Text::Ours(stub));
            }
        }
    }

    #[test]
    fn no_place_is_left_to_fill() {
        for hook in Hook::ALL {
            let text = Stub { hook, ..stub(b"/x", true) }.render();
            assert!(!text.contains_str("{{") && !text.contains_str("}}"), "{}", text.as_bstr());
        }
    }

    #[test]
    fn a_changed_text_is_neither_ours_nor_foreign() {
        let text = stub(b"/x", false).render();
        for changed in [
            [&text, &b"echo mine\n"[..]].concat(),
            text.replace("exit 0", "exit 1"),
            text.replace("\n", "\r\n"),
            text.replace("hook v1", "hook v9"),
            [b"#!/bin/bash\n# mine\n", &*text].concat(),
        ] {
            assert_eq!(recognise(&changed), Text::Edited, "{}", changed.as_bstr());
        }
        assert_eq!(recognise(b"#!/bin/sh\ngit agentlock guard\n"), Text::Foreign);
        assert_eq!(recognise(b""), Text::Foreign);
    }

    #[test]
    fn an_older_version_is_known() {
        let old =
            "#!/bin/sh\n# git-agentlock hook v0: {{HOOK}}\nagentlock_binary={{BINARY}}\nexec \"$agentlock_binary\"\n";
        let versions = [("0", old), VERSIONS[0]];
        let (stub, newest) = (stub(b"/old", false), stub(b"/old", false).render());
        assert_eq!(recognise_among(&versions, &stub.fill_in(old)), Text::Ours(stub.clone()));
        assert_eq!(recognise_among(&versions, &newest), Text::Ours(stub));
    }
}
