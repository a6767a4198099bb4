//! A directory that is held open, and the few things that are done in it.
//!
//! Names are resolved against the open directory, never through a symbolic link: a store that is moved or deleted
//! while we work is noticed instead of followed, and a link that somebody planted leads nowhere. This is the door to
//! the operating system; elsewhere than on Unix the same calls go by path.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// What is wanted of a file that is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// Read only; never blocks, whatever stands there.
    Read,
    /// Read and write what exists.
    ReadWrite,
    /// Append to what exists, and read it.
    Append,
}

/// What a look at a directory entry told.
pub(super) struct Stat {
    pub(super) is_file: bool,
    pub(super) what: &'static str,
    pub(super) len: u64,
    pub(super) changed_ms: Option<i64>,
    pub(super) id: FileId,
}

/// How large a directory is itself, and when it was changed last, be it by what was made, removed or renamed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// As the file system counts; 0 where it does not tell.
    pub(super) bytes: u64,
    pub(super) changed_ns: i128,
}

/// Which file it is, whatever its name.
pub(super) type FileId = (u64, u64);

/// Permission bits for what is created: those of the directory that the store lies in.
#[derive(Clone, Copy)]
pub(super) struct Modes {
    pub(super) dir: u32,
    pub(super) file: u32,
}

#[derive(Debug)]
pub(super) struct Dir {
    path: PathBuf,
    #[cfg(unix)]
    fd: std::os::fd::OwnedFd,
}

impl Dir {
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory below with this name, made when it is not there. Tells whether it was made.
    pub(super) fn ensure_sub(&self, name: &str, modes: Modes) -> io::Result<(Self, bool)> {
        match self.sub(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found.map(|dir| (dir, false)),
        }
        match self.make_sub(name, modes) {
            Ok(dir) => Ok((dir, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.sub(name).map(|dir| (dir, false)),
            Err(error) => Err(error),
        }
    }
}

/// Makes a directory and those above it, each with this mode at the most.
pub(super) fn create_all(path: &Path, mode: u32) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    #[cfg(not(unix))]
    let _ = mode;
    builder.create(path)
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd as _;

    use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};

    use super::{Dir, Extent, File, FileId, Modes, Open, Path, Stat, io};

    const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    fn retry<T>(call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
        rustix::io::retry_on_intr(call).map_err(io::Error::from)
    }

    /// Mode bits have another width on each Unix.
    #[expect(clippy::useless_conversion, reason = "on Linux they are u32 already")]
    fn mode(bits: u32) -> Mode {
        Mode::from_raw_mode(bits.try_into().unwrap_or(0o600))
    }

    impl Dir {
        /// Opens a directory by its path; symbolic links in it are followed.
        pub(in crate::store::file) fn open(path: &Path) -> io::Result<Self> {
            let fd = retry(|| fs::open(path, DIR, Mode::empty()))?;
            Ok(Self { path: path.to_owned(), fd })
        }

        pub(in crate::store::file) fn sub(&self, name: &str) -> io::Result<Self> {
            let fd = retry(|| fs::openat(&self.fd, name, DIR | OFlags::NOFOLLOW, Mode::empty()))?;
            Ok(Self { path: self.path_of(name), fd })
        }

        pub(super) fn make_sub(&self, name: &str, modes: Modes) -> io::Result<Self> {
            retry(|| fs::mkdirat(&self.fd, name, mode(modes.dir & 0o777)))?;
            let dir = self.sub(name)?;
            retry(|| fs::fchmod(&dir.fd, mode(modes.dir)))?;
            Ok(dir)
        }

        /// The bits that files and directories of the store get, by the mode of this directory.
        #[expect(clippy::useless_conversion, reason = "narrower on other systems")]
        pub(in crate::store::file) fn modes(&self) -> io::Result<Modes> {
            let bits = u32::from(retry(|| fs::fstat(&self.fd))?.st_mode);
            Ok(Modes { dir: bits & 0o2777, file: bits & 0o666 })
        }

        pub(in crate::store::file) fn open_file(&self, name: &str, how: Open) -> io::Result<File> {
            let flags = match how {
                Open::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
                Open::ReadWrite => OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY,
                Open::Append => OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY,
            };
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            retry(|| fs::openat(&self.fd, name, flags, Mode::empty())).map(File::from)
        }

        /// Fails when the name exists, also as a dangling link.
        pub(in crate::store::file) fn create_new(&self, name: &str, modes: Modes) -> io::Result<File> {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = retry(|| fs::openat(&self.fd, name, flags, mode(modes.file)))?;
            // The umask has taken bits away that a shared repository needs.
            retry(|| fs::fchmod(&fd, mode(modes.file)))?;
            Ok(File::from(fd))
        }

        pub(in crate::store::file) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            retry(|| fs::renameat(&self.fd, from, &self.fd, to))
        }

        pub(in crate::store::file) fn move_to(&self, from: &str, to: &Self, name: &str) -> io::Result<()> {
            retry(|| fs::renameat(&self.fd, from, &to.fd, name))
        }

        /// Fails when the new name exists, where the file system can tell in the same step.
        pub(in crate::store::file) fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            match retry(|| fs::renameat_with(&self.fd, from, &self.fd, to, fs::RenameFlags::NOREPLACE)) {
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
                renamed => return renamed,
            }
            self.rename(from, to)
        }

        pub(in crate::store::file) fn unlink(&self, name: &str) -> io::Result<()> {
            retry(|| fs::unlinkat(&self.fd, name, AtFlags::empty()))
        }

        pub(in crate::store::file) fn sync(&self) -> io::Result<()> {
            retry(|| fs::fsync(&self.fd))
        }

        /// Makes everything that was written to this file system durable, where one call can do so.
        pub(in crate::store::file) fn sync_file_system(&self) -> Option<io::Result<()>> {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            return Some(retry(|| fs::syncfs(&self.fd)));
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            return None;
        }

        pub(in crate::store::file) fn extent(&self) -> io::Result<Extent> {
            const NANOS: i128 = 1_000_000_000;
            let stat = retry(|| fs::fstat(&self.fd))?;
            let changed_ns =
                i128::from(stat.st_ctime).saturating_mul(NANOS).saturating_add(i128::from(stat.st_ctime_nsec));
            Ok(Extent { bytes: u64::try_from(stat.st_size).unwrap_or(0), changed_ns })
        }

        pub(in crate::store::file) fn exists(&self, name: &str) -> bool {
            retry(|| fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)).is_ok()
        }

        pub(in crate::store::file) fn stat(&self, name: &str) -> io::Result<Stat> {
            retry(|| fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)).map(|stat| told(&stat))
        }

        pub(in crate::store::file) fn names(&self) -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            self.each_name(|name| names.push(name.to_owned()))?;
            Ok(names)
        }

        /// The same, of which nothing is kept.
        pub(in crate::store::file) fn each_name(&self, mut found: impl FnMut(&str)) -> io::Result<()> {
            // A descriptor of its own: where a listing stands is kept with the open file.
            let listing = retry(|| fs::openat(&self.fd, ".", DIR, Mode::empty()))?;
            let mut buffer = Vec::with_capacity(32 * 1024);
            let mut entries = fs::RawDir::new(listing, buffer.spare_capacity_mut());
            while let Some(entry) = entries.next() {
                // What is not UTF-8 is none of ours.
                if let Ok(name) = entry?.file_name().to_str()
                    && name != "."
                    && name != ".."
                {
                    found(name);
                }
            }
            Ok(())
        }
    }

    pub(in crate::store::file) fn stat_file(file: &File) -> io::Result<Stat> {
        retry(|| fs::fstat(file.as_fd())).map(|stat| told(&stat))
    }

    /// By path, links not followed: whether the file at the path is still the one that was opened.
    pub(in crate::store::file) fn id_at(path: &Path) -> io::Result<FileId> {
        retry(|| fs::lstat(path)).map(|stat| told(&stat).id)
    }

    /// Gives a file or directory the store's permissions; never through a link, and nothing else than a file or directory.
    pub(in crate::store::file) fn set_mode(path: &Path, modes: Modes) -> io::Result<()> {
        // A descriptor that needs no permission to be had, where there is such a thing: what it stands for cannot be exchanged any more.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry(|| fs::open(path, flags, Mode::empty()))?;
        let bits = match FileType::from_raw_mode(retry(|| fs::fstat(&fd))?.st_mode) {
            FileType::Directory => modes.dir,
            FileType::RegularFile => modes.file,
            _ => return Err(io::Error::other("it is neither a file nor a directory")),
        };
        #[cfg(any(target_os = "linux", target_os = "android"))]
        return retry(|| fs::chmod(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd)), mode(bits)));
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        return retry(|| fs::fchmod(&fd, mode(bits)));
    }

    /// What is wrong with the permissions of a file or directory, if anything: it should have at least these bits, and let this user in.
    #[expect(clippy::useless_conversion, reason = "narrower on other systems")]
    pub(in crate::store::file) fn permission_problem(path: &Path, wanted: u32) -> Option<String> {
        let has = u32::from(retry(|| fs::lstat(path)).ok()?.st_mode) & 0o2777;
        let access = fs::Access::READ_OK | fs::Access::WRITE_OK;
        if let Err(error) = fs::accessat(fs::CWD, path, access, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW) {
            return Some(format!("it cannot be read and written: {}", crate::store::io_cause(&error.into())));
        }
        (has & wanted != wanted).then(|| format!("its mode is {has:04o}, and those who share it need {wanted:04o}"))
    }

    #[expect(clippy::useless_conversion, reason = "the types differ between systems")]
    fn told(stat: &fs::Stat) -> Stat {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let seconds = i64::try_from(stat.st_mtime).ok();
        let nanos = i64::try_from(stat.st_mtime_nsec).ok();
        let in_ms = |s: i64, ns: i64| s.checked_mul(1000)?.checked_add(ns.checked_div(1_000_000)?);
        Stat {
            is_file: kind.is_file(),
            what: match kind {
                FileType::RegularFile => "a file",
                FileType::Directory => "a directory",
                FileType::Symlink => "a symbolic link",
                FileType::Fifo => "a FIFO",
                FileType::Socket => "a socket",
                _ => "a device",
            },
            len: u64::try_from(stat.st_size).unwrap_or(0),
            changed_ms: seconds.zip(nanos).and_then(|(s, ns)| in_ms(s, ns)),
            id: (u64::try_from(stat.st_dev).unwrap_or(0), u64::try_from(stat.st_ino).unwrap_or(0)),
        }
    }
}

#[cfg(unix)]
pub(super) use unix::{id_at, permission_problem, set_mode, stat_file};

#[cfg(not(unix))]
mod portable;

#[cfg(not(unix))]
pub(super) use portable::{id_at, permission_problem, set_mode, stat_file};
