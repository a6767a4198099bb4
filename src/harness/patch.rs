//! The patches that Codex' models write: which files they touch.
//!
//! Only the lines that name files are read. What stands between them belongs to a file's content, where every line begins with a blank, `+`, `-`
//! or `@`.

/// The lines that name a file, and what stands before the name.
const NAMES: [&str; 4] = ["*** Add File: ", UPDATE, "*** Delete File: ", MOVE];

const UPDATE: &str = "*** Update File: ";

const MOVE: &str = "*** Move to: ";

const BEGIN: &str = "*** Begin Patch";

/// Whether a text is a patch, or a shell command that has one in it.
#[must_use]
pub fn is_patch(text: &str) -> bool {
    text.lines().any(|line| line.trim_end().ends_with(BEGIN))
}

/// The files that a patch adds, changes, deletes, or moves (both names), each once, as they are written.
///
/// As Codex does, takes a line for one that names a file with whitespace before it too; but among the lines of a file that is changed, one that
/// begins with a blank is what the file has in that place (as documentation of patches would), and names nothing. Only the new name of a file that
/// moves counts there, right below the old one, where it belongs: Codex' versions differ in that, and a lease too many harms less than one too few.
#[must_use]
pub fn paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let (mut in_change, mut may_move) = (false, false);
    for line in text.lines() {
        let is_content = in_change && (line.is_empty() || line.starts_with([' ', '+', '-', '@']));
        let trimmed = line.trim();
        let name = NAMES.iter().find_map(|start| Some((*start, trimmed.strip_prefix(start)?.trim())));
        let name = name.filter(|(start, _)| !is_content || (may_move && *start == MOVE));
        // Whatever else is no content ends a change: the end of the patch, and the shell's lines between two.
        in_change = is_content || name.is_some_and(|(start, _)| start == UPDATE || start == MOVE);
        may_move = name.is_some_and(|(start, _)| start == UPDATE);
        if let Some((_, path)) = name
            && !path.is_empty()
            && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// Where a shell command that is `cd DIR && apply_patch …` applies its patch; `None` when it says nothing of that form.
#[must_use]
pub fn directory(command: &str) -> Option<String> {
    let (dir, rest) = command.trim_start().strip_prefix("cd ")?.split_once("&&")?;
    let dir = dir.trim();
    let quoted = |quote| dir.strip_prefix(quote)?.strip_suffix(quote);
    let dir = quoted('\'').or_else(|| quoted('"')).unwrap_or(dir);
    let is_plain = !dir.is_empty() && !dir.contains(['$', '`', '*', '~', '\\', '\'', '"', ';', '\n']);
    (is_plain && rest.trim_start().starts_with("apply_patch")).then(|| dir.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: src/new file.rs\n+*** Add File: not/this\n+fn main() {}\n\
                         *** Update File: src/old.rs\n*** Move to: src/moved.rs\n@@ fn x()\n-a\n+b\n *** Delete File: not/this either\n\
                         *** Delete File: gone\r\n*** Update File: src/old.rs\n*** End of File\n*** End Patch\n";

    #[test]
    fn every_file_of_a_patch_is_named_once_and_both_names_of_one_that_moves() {
        assert_eq!(paths(PATCH), ["src/new file.rs", "src/old.rs", "src/moved.rs", "gone"]);
        assert!(is_patch(PATCH));
        assert!(is_patch(&format!("apply_patch <<'EOF'\n{PATCH}EOF\n")));
        assert!(is_patch("apply_patch '*** Begin Patch\n*** Add File: x\n"));
        assert!(!is_patch("grep -rn '*** Begin Patch' ."));
        assert!(paths("").is_empty());
        assert!(paths("*** Add File: \n*** Add File:").is_empty());
    }

    #[test]
    fn what_names_a_file_may_have_whitespace_before_it() {
        let of = |lines: &[&str]| paths(&lines.join("\n"));
        for header in ["Add", "Update", "Delete"].map(|kind| format!("*** {kind} File: x")) {
            for before in [" ", "  ", "\t"] {
                let header = &format!("{before}{header} \t");
                assert_eq!(of(&[" *** Begin Patch", header, "+a"]), ["x"], "{header:?}");
                assert_eq!(of(&["*** Begin Patch", "*** Add File: a", "+a", header]), ["a", "x"], "{header:?}");
                assert_eq!(of(&["*** Begin Patch", " *** Delete File: a", header]), ["a", "x"], "{header:?}");
            }
        }
        let moved = [" *** Update File: a", " *** Move to: b", "@@", "-1", "+2", "*** Delete File: c"];
        assert_eq!(of(&moved), ["a", "b", "c"]);
        let two = [
            "*** Update File: a",
            "@@",
            "-1",
            " *** End Patch",
            "EOF",
            "apply_patch <<EOF",
            " *** Begin Patch",
            " *** Delete File: b",
        ];
        assert_eq!(of(&two), ["a", "b"], "one patch after the other");
        assert!(is_patch(" *** Begin Patch \n"));
    }

    #[test]
    fn what_a_changed_file_says_of_patches_is_no_name() {
        let context = [
            " *** Begin Patch",
            " *** Update File: x",
            "",
            "  *** Add File: x",
            " *** Move to: x",
            "+*** Delete File: x",
            " *** End Patch",
        ];
        let lines = |first: &str| {
            format!("*** Begin Patch\n*** Update File: doc\n{first}{}\n*** Delete File: y\n", context.join("\n"))
        };
        assert_eq!(paths(&lines("@@\n")), ["doc", "y"]);
        assert_eq!(paths(&lines("")), ["doc", "y"], "the first @@ may be left out");
        assert_eq!(paths(&lines("*** Move to: new\n")), ["doc", "new", "y"]);
    }

    #[test]
    fn a_patch_in_a_shell_may_be_for_another_directory() {
        assert_eq!(directory("cd sub && apply_patch <<'EOF'").as_deref(), Some("sub"));
        assert_eq!(directory("cd 'a b' && apply_patch <<'EOF'").as_deref(), Some("a b"));
        for other in [
            "apply_patch <<'EOF'",
            "cd $X && apply_patch",
            "cd a && make",
            "cd a; b && apply_patch",
            "cd  && apply_patch",
        ] {
            assert_eq!(directory(other), None, "{other}");
        }
    }
}
