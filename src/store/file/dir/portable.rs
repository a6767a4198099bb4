//! The same by the standard library alone, for systems without such calls.

use std::fs::{self, OpenOptions};

use super::{Dir, Extent, File, FileId, Modes, Open, Path, Stat, io};

impl Dir {
    pub(in crate::store::file) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self { path: path.to_owned() })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(in crate::store::file) fn sub(&self, name: &str) -> io::Result<Self> {
        let path = self.path_of(name);
        if fs::symlink_metadata(&path)?.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(super) fn make_sub(&self, name: &str, _modes: Modes) -> io::Result<Self> {
        fs::create_dir(self.path_of(name))?;
        self.sub(name)
    }

    pub(in crate::store::file) fn modes(&self) -> io::Result<Modes> {
        Ok(Modes { dir: 0, file: 0 })
    }

    pub(in crate::store::file) fn open_file(&self, name: &str, how: Open) -> io::Result<File> {
        let path = self.path_of(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        match how {
            Open::Read => OpenOptions::new().read(true).open(path),
            Open::ReadWrite => OpenOptions::new().read(true).write(true).open(path),
            Open::Append => OpenOptions::new().read(true).append(true).open(path),
        }
    }

    pub(in crate::store::file) fn create_new(&self, name: &str, _modes: Modes) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.path_of(name))
    }

    pub(in crate::store::file) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path_of(from), self.path_of(to))
    }

    pub(in crate::store::file) fn move_to(&self, from: &str, to: &Self, name: &str) -> io::Result<()> {
        fs::rename(self.path_of(from), to.path_of(name))
    }

    pub(in crate::store::file) fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename(from, to)
    }

    pub(in crate::store::file) fn unlink(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name))
    }

    /// There is no handle of a directory to sync here; the file system orders its own metadata.
    pub(in crate::store::file) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    pub(in crate::store::file) fn sync_file_system(&self) -> Option<io::Result<()>> {
        None
    }

    pub(in crate::store::file) fn extent(&self) -> io::Result<Extent> {
        Ok(Extent { bytes: 0, changed_ns: 0 })
    }

    pub(in crate::store::file) fn exists(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path_of(name)).is_ok()
    }

    pub(in crate::store::file) fn stat(&self, name: &str) -> io::Result<Stat> {
        fs::symlink_metadata(self.path_of(name)).map(|meta| told(&meta))
    }

    pub(in crate::store::file) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        self.each_name(|name| names.push(name.to_owned()))?;
        Ok(names)
    }

    pub(in crate::store::file) fn each_name(&self, mut found: impl FnMut(&str)) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            if let Some(name) = entry?.file_name().to_str() {
                found(name);
            }
        }
        Ok(())
    }
}

pub(in crate::store::file) fn stat_file(file: &File) -> io::Result<Stat> {
    file.metadata().map(|meta| told(&meta))
}

/// Files have no stable identity in the standard library here; an open file cannot be replaced on Windows either.
pub(in crate::store::file) fn id_at(path: &Path) -> io::Result<FileId> {
    fs::symlink_metadata(path).map(|meta| told(&meta).id)
}

/// Permissions are inherited here.
pub(in crate::store::file) fn set_mode(_path: &Path, _modes: Modes) -> io::Result<()> {
    Ok(())
}

pub(in crate::store::file) fn permission_problem(path: &Path, _wanted: u32) -> Option<String> {
    let is_readonly = fs::symlink_metadata(path).ok()?.permissions().readonly();
    is_readonly.then(|| "it is read-only".to_owned())
}

fn told(meta: &fs::Metadata) -> Stat {
    let since_1970 = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Stat {
        is_file: meta.is_file(),
        what: if meta.is_dir() { "a directory" } else { "a file" },
        len: meta.len(),
        changed_ms: since_1970.and_then(|time| i64::try_from(time.as_millis()).ok()),
        id: (0, 0),
    }
}
