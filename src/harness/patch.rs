//! The patches that Codex' models write: which files they touch.
//!
//! Only the lines that name files are read. What stands between them belongs to a file's content, where every line begins with a blank, `+`, `-`
//! or `@`, so nothing in it can be taken for a name.

/// The lines that name a file, and what stands before the name.
const NAMES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

const BEGIN: &str = "*** Begin Patch";

/// Whether a text is a patch, or a shell command that has one in it.
#[must_use]
pub fn is_patch(text: &str) -> bool {
    text.lines().any(|line| line.trim_end().ends_with(BEGIN))
}

/// The files that a patch adds, changes, deletes, or moves (both names), each once, as they are written.
#[must_use]
pub fn paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(path) = NAMES.iter().find_map(|start| line.strip_prefix(start)) {
            let path = path.trim();
            if !path.is_empty() && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
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
