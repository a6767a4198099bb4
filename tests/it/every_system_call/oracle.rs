//! What may be left: the old or the new record, byte for byte, of one owner, and nothing that is not recognised.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::Value;

use super::scenes::{LIVE_MS, Scene};

/// What stands where a record should be, in a scene that is damaged.
pub(super) const GARBAGE: &str = "garbage";
/// What the user's own hook says, in a scene about hooks.
pub(super) const USERS: &str = "#!/bin/sh\nexit 0\n";
/// What a hook is called until it is complete.
const HALF_A_HOOK: &str = "hooks/.agentlock-hook-";
/// What a call may change, below the git directory.
const PLACES: [&str; 2] = ["agent-locks", "hooks"];

/// Everything that a call may change: path below the git directory, mode, content (none for a directory).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Snapshot(BTreeMap<String, (u32, Option<Vec<u8>>)>);

impl Snapshot {
    pub(super) fn of(git_dir: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut todo: Vec<_> = PLACES.iter().map(|place| git_dir.join(place)).collect();
        while let Some(path) = todo.pop() {
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let content = (!meta.is_dir()).then(|| fs::read(&path).unwrap());
            let name = path.strip_prefix(git_dir).unwrap().to_str().unwrap().to_owned();
            found.insert(name, (meta.permissions().mode() & 0o7777, content));
            if meta.is_dir() {
                todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        Self(found)
    }

    /// Makes it so again.
    pub(super) fn restore(&self, git_dir: &Path) {
        for place in PLACES {
            let _ = fs::remove_dir_all(git_dir.join(place));
        }
        for (name, (mode, content)) in &self.0 {
            let path = git_dir.join(name);
            match content {
                None => fs::create_dir(&path).unwrap(),
                Some(content) => fs::write(&path, content).unwrap(),
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
    }

    fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().filter_map(|(name, (_, content))| Some((name.as_str(), content.as_deref()?)))
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name)?.1.as_deref()
    }

    /// The records.
    fn compared(&self) -> impl Iterator<Item = &str> {
        let is_compared = |name: &str| name.ends_with(".lock") && !name.contains("/quarantine/");
        self.files().map(|(name, _)| name).filter(move |name| is_compared(name))
    }

    pub(super) fn left_overs(&self) -> Vec<&str> {
        self.files()
            .map(|(name, _)| name)
            .filter(|name| name.contains("/tmp-") || name.starts_with(HALF_A_HOOK))
            .collect()
    }

    /// The hooks that are complete, with their modes.
    fn hooks(&self) -> BTreeMap<&str, (u32, Option<&[u8]>)> {
        let hooks = self.0.iter().filter(|(name, _)| name.starts_with("hooks/") && !name.starts_with(HALF_A_HOOK));
        hooks.map(|(name, (mode, content))| (name.as_str(), (*mode, content.as_deref()))).collect()
    }

    /// How often the damaged record is there, in its place or moved aside.
    fn damaged(&self) -> (usize, usize) {
        let is_garbage =
            |(name, bytes): (&'_ str, &'_ [u8])| (bytes == GARBAGE.as_bytes()).then(|| name.contains("/quarantine/"));
        let aside: Vec<bool> = self.files().filter_map(is_garbage).collect();
        (aside.iter().filter(|aside| !**aside).count(), aside.iter().filter(|aside| **aside).count())
    }

    pub(super) fn has_damaged_record(&self) -> bool {
        self.damaged().0 > 0
    }

    /// The path and owner of each live lease, areas with a `/`.
    fn live(&self) -> Vec<(String, String)> {
        let records = self.files().filter(|(name, _)| name.ends_with(".lock")).map(|(_, bytes)| json(bytes));
        let live = records
            .filter(|record| record["ttl_ms"].as_u64().is_some_and(|ttl| ttl >= LIVE_MS) && record["ended"].is_null());
        live.map(|record| {
            let slash = if record["resource"]["kind"] == "area" { "/" } else { "" };
            let path = record["resource"]["path"].as_str().unwrap().to_lowercase();
            (format!("{path}{slash}"), record["owner"].as_str().unwrap().to_owned())
        })
        .collect()
    }

    /// Who holds a path.
    pub(super) fn holder(&self, path: &str) -> Option<String> {
        self.live().into_iter().find(|(held, _)| overlap(held, path)).map(|(_, owner)| owner)
    }
}

fn overlap(one: &str, other: &str) -> bool {
    let holds = |area: &str, path: &str| area == path || area.ends_with('/') && path.starts_with(area);
    holds(one, other) || holds(other, one)
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or(Value::Null)
}

/// A record without what differs from run to run: times, tokens, process ids. Where the system does not tell which boot this is, the record
/// does not either.
fn alike(bytes: &[u8]) -> Value {
    fn blank(name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("boot");
                fields.iter_mut().for_each(|(name, value)| blank(name, value));
            }
            Value::Number(_) if name != "ttl_ms" && name != "v" => *value = Value::Null,
            Value::String(text) if text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T') => {
                *value = Value::Null;
            }
            _ => {}
        }
    }
    let mut value = json(bytes);
    if value.is_null() {
        value = Value::String(String::from_utf8_lossy(bytes).into_owned());
    }
    blank("", &mut value);
    value
}

/// What a scene is without a fault.
pub(super) struct Model {
    pub(super) before: Snapshot,
    /// The exit codes and what is left: of the first call, and of the same call once more.
    pub(super) code: i32,
    pub(super) after: Snapshot,
    pub(super) code_again: i32,
    pub(super) after_again: Snapshot,
}

/// What a fault has left, compared with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) all_old: bool,
    pub(super) all_new: bool,
}

impl Model {
    /// An error when something is neither as before nor as after.
    pub(super) fn compare(&self, scene: &Scene, now: &Snapshot, others: &[&str]) -> Result<Left, String> {
        let mut left = Left { all_old: true, all_new: true };
        let mut names: Vec<&str> = [&self.before, &self.after, now].into_iter().flat_map(Snapshot::compared).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (old, new, is) = (self.before.get(name), self.after.get(name), now.get(name));
            if old.is_none()
                && new.is_none()
                && is.is_some_and(|is| others.iter().any(|path| json(is)["resource"]["path"] == **path))
            {
                continue;
            }
            let is_old = is == old;
            let is_new = is_new(old, new, is) || is_new(old, self.after_again.get(name), is);
            if !is_old && !is_new {
                let is = is.map(|is| String::from_utf8_lossy(is).into_owned());
                return Err(format!("neither the old nor the new: {name}: {is:?}"));
            }
            let may_stay = scene.sweeps && old.is_some() && new.is_none();
            left.all_old &= is_old || may_stay;
            left.all_new &= is_new || may_stay;
        }
        if scene.hooks {
            self.compare_hooks(now)?;
            left.all_old &= now.hooks() == self.before.hooks();
            left.all_new &= now.hooks() == self.after.hooks();
        }
        if scene.damaged {
            let (in_place, aside) = now.damaged();
            if in_place + aside != 1 {
                return Err(format!("the damaged record is there {} times", in_place + aside));
            }
            left.all_old &= in_place == 1;
            left.all_new &= aside == 1;
        }
        Ok(left)
    }
}

impl Model {
    /// What the user has written is never lost, and a hook is always a whole one.
    fn compare_hooks(&self, now: &Snapshot) -> Result<(), String> {
        let known: Vec<_> =
            [&self.before, &self.after].into_iter().flat_map(|snapshot| snapshot.hooks().into_values()).collect();
        if let Some((name, hook)) = now.hooks().iter().find(|(_, hook)| !known.contains(hook)) {
            return Err(format!("neither the user's hook nor ours: {name}: {hook:?}"));
        }
        let is_left = now.files().any(|(_, text)| text == USERS.as_bytes());
        is_left.then_some(()).ok_or_else(|| "the user's hook is lost".to_owned())
    }

    /// Whether the hooks are as before.
    pub(super) fn hooks_are_as_before(&self, now: &Snapshot) -> bool {
        now.hooks() == self.before.hooks()
    }
}

fn is_new(old: Option<&[u8]>, new: Option<&[u8]>, is: Option<&[u8]>) -> bool {
    match (new, is) {
        (None, None) => true,
        // A lease that has ended may be told of, or be gone.
        (Some(new), None) => !json(new)["ended"].is_null() && old.is_some(),
        (Some(new), Some(is)) => {
            let grows = old.is_none_or(|old| json(old)["token"].as_u64() <= json(is)["token"].as_u64());
            alike(new) == alike(is) && grows && (old == Some(new) || old != Some(is))
        }
        (None, Some(_)) => false,
    }
}

/// What holds of every store at any moment.
pub(super) fn is_sound(now: &Snapshot, file_mode: u32) -> Result<(), String> {
    for (name, bytes) in now.files().filter(|(name, _)| name.starts_with("agent-locks/")) {
        let file = name.rsplit('/').next().unwrap();
        let is_known = ["gate", "mutex"].contains(&file)
            || file.starts_with("tmp-")
            || file.starts_with("journal.")
            || file.ends_with(".lock")
            || file.ends_with(".ticket");
        if !is_known {
            return Err(format!("a file that nobody knows: {name}"));
        }
        if file.starts_with("journal.")
            && !bytes.split(|b| *b == b'\n').all(|line| line.is_empty() || !json(line).is_null())
        {
            return Err(format!("a line of {name} is cut short"));
        }
        if file == "mutex" && !(bytes.is_empty() || bytes.len() == 34) {
            return Err(format!("a token counter that is cut short: {name}"));
        }
        let mode = now.0[name].0;
        if file.ends_with(".lock") && mode & file_mode != file_mode {
            return Err(format!("a record with the mode {mode:o}: {name}"));
        }
    }
    let live = now.live();
    for (n, (path, owner)) in live.iter().enumerate() {
        if let Some((other_path, other)) = live[n + 1..].iter().find(|(other, by)| by != owner && overlap(path, other))
        {
            return Err(format!("two owners: {owner} of {path}, {other} of {other_path}"));
        }
    }
    Ok(())
}

/// Whether the exit code agrees with what is left.
pub(super) fn agrees(scene: &Scene, model: &Model, code: i32, left: Left) -> Result<(), String> {
    let is_true = if code == model.code {
        left.all_new
    } else if code == 128 + 9 {
        true
    } else if code == 4 || (scene.damaged && code == 1) {
        scene.each || left.all_old
    } else {
        return Err(format!("exit code {code}"));
    };
    is_true.then_some(()).ok_or_else(|| format!("exit code {code}, and {left:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        r#"{"v":1,"resource":{"kind":"file","path":"src/a"},"owner":"A","token":7,"ttl_ms":72000000,"pid":1}"#;

    fn snapshot(files: &[(&str, &str)]) -> Snapshot {
        let file =
            |(name, text): &(&str, &str)| (format!("agent-locks/v1/{name}"), (0o644, Some(text.as_bytes().to_vec())));
        Snapshot(files.iter().map(file).collect())
    }

    /// The judge is no yes-man.
    #[test]
    fn what_must_not_be_left_is_seen() {
        let new = OLD.replace("\"token\":7", "\"token\":8").replace("\"pid\":1", "\"pid\":2");
        let (before, after) = (snapshot(&[("a/1.lock", OLD)]), snapshot(&[("a/1.lock", &new)]));
        let model = Model { before, after: after.clone(), code: 0, code_again: 0, after_again: after };
        let scene = &super::super::scenes::all()[0];
        let left = |text: &str| model.compare(scene, &snapshot(&[("a/1.lock", text)]), &[]);
        let (old, fresh) = (left(OLD).unwrap(), left(&new.replace("\"pid\":2", "\"pid\":3")).unwrap());
        assert_eq!((old, fresh), (Left { all_old: true, all_new: false }, Left { all_old: false, all_new: true }));
        for wrong in [
            "",
            &OLD[..40],
            &new.replace("\"A\"", "\"B\""),
            &new.replace("72000000", "300000"),
            &OLD.replace("\"token\":7", "\"token\":6"),
        ] {
            left(wrong).unwrap_err();
        }
        assert!(model.compare(scene, &snapshot(&[]), &[]).is_err(), "gone");
        assert!(agrees(scene, &model, 0, fresh).is_ok() && agrees(scene, &model, 4, old).is_ok());
        assert!(agrees(scene, &model, 0, old).is_err() && agrees(scene, &model, 4, fresh).is_err());
        assert!(agrees(scene, &model, 1, old).is_err() && agrees(scene, &model, 134, old).is_err());

        let area = OLD.replace("file", "area").replace("src/a", "src").replace("\"A\"", "\"B\"");
        for (files, complaint) in [
            (vec![("a/1.lock", OLD), ("b/2.lock", area.as_str())], "two owners"),
            (vec![("a/what", "")], "nobody knows"),
            (vec![("a/mutex", "000")], "counter"),
            (vec![("journal.jsonl", "{}\n{")], "cut short"),
        ] {
            let told = is_sound(&snapshot(&files), 0o644).unwrap_err();
            assert!(told.contains(complaint), "{told}");
        }
        assert!(is_sound(&snapshot(&[("a/1.lock", OLD)]), 0o664).unwrap_err().contains("mode"));
    }
}
