//! Which errors a system call can really give. A call that is not in the table fails the test, so that a new one is not passed over.

use super::trace::Call;

/// Cannot fail here, or not in a way that says anything about a store.
const NONE: &[&str] = &[];

/// The errors of a call that was seen.
pub(super) fn of(call: &Call) -> Result<Vec<&'static str>, String> {
    Ok(match call.name.as_str() {
        "open" | "openat" => of_open(&call.text),
        "read" | "pread64" => vec!["EIO", "EINTR"],
        "write" | "pwrite64" => vec!["ENOSPC", "EIO", "EINTR"],
        "fsync" | "fdatasync" | "syncfs" => vec!["EIO", "ENOSPC", "EINTR"],
        "flock" => vec!["EINTR", "ENOLCK", "EIO"],
        // EINVAL: a file system that cannot look and rename in one step.
        "renameat2" => vec!["ENOSPC", "EIO", "EROFS", "EINVAL"],
        "rename" | "renameat" => vec!["ENOSPC", "EIO", "EROFS"],
        "mkdir" | "mkdirat" => vec!["ENOSPC", "EIO", "EROFS", "EACCES"],
        "unlink" | "unlinkat" => vec!["EIO", "EROFS", "EACCES"],
        "symlink" | "symlinkat" | "link" | "linkat" => vec!["ENOSPC", "EIO", "EROFS", "EACCES"],
        "chmod" | "fchmod" | "fchmodat" => vec!["EPERM", "EIO", "EROFS"],
        "ftruncate" => vec!["EIO", "ENOSPC"],
        "stat" | "lstat" | "newfstatat" | "statx" => vec!["EACCES", "EIO"],
        "fstat" | "statfs" | "fstatfs" => vec!["EIO"],
        "access" | "faccessat" | "faccessat2" => vec!["EACCES", "EIO"],
        "getdents64" => vec!["EIO"],
        "readlink" | "readlinkat" => vec!["EACCES", "EIO"],
        "getcwd" => vec!["ENOENT", "EACCES"],
        // Its end is told by EINTR; all it does is to wait.
        "nanosleep" | "clock_nanosleep" => vec!["EINTR"],
        // An injected error would keep the descriptor open, which no real one does.
        "close" => NONE.to_vec(),
        // On files that are open: no errors.
        "lseek" | "fcntl" | "ioctl" => NONE.to_vec(),
        // The start of the process and its end, its memory, its signals, what it is: nothing of it depends on a file.
        "execve" | "arch_prctl" | "set_tid_address" | "set_robust_list" | "rseq" | "prlimit64" | "getrandom"
        | "brk" | "mprotect" | "mmap" | "mremap" | "munmap" | "madvise" | "poll" | "ppoll" | "rt_sigaction"
        | "rt_sigprocmask" | "sigaltstack" | "sched_getaffinity" | "gettid" | "getpid" | "getuid" | "geteuid"
        | "getegid" | "umask" | "uname" | "prctl" | "sched_yield" | "futex" | "clock_gettime" | "exit_group" => {
            NONE.to_vec()
        }
        name => return Err(format!("say in errnos.rs how {name} can fail: {call:?}")),
    })
}

fn of_open(text: &str) -> Vec<&'static str> {
    let mut errors = vec!["EACCES", "EMFILE", "EIO", "EINTR"];
    if text.contains("O_CREAT") {
        errors.push("ENOSPC");
    }
    if ["O_CREAT", "O_RDWR", "O_WRONLY"].iter().any(|flag| text.contains(flag)) {
        errors.push("EROFS");
    }
    errors
}

#[test]
fn a_call_without_an_entry_is_told() {
    let call = |name: &str, text: &str| Call { name: name.to_owned(), number: 1, text: text.to_owned() };
    assert!(of(&call("io_uring_enter", "")).unwrap_err().contains("io_uring_enter"));
    assert!(of(&call("openat", "O_RDWR|O_CREAT")).unwrap().contains(&"ENOSPC"));
    assert!(!of(&call("openat", "O_RDONLY")).unwrap().contains(&"ENOSPC"));
}
