#!/usr/bin/env python3
"""Writes link/order.ld: which functions the release program is to have side by side.

A one-shot process pays for every part of the program that it touches: the kernel maps 64 KiB at a time, and for each it is asked, and later has to
take it away again. What a call of an everyday command runs through is less than a fifth of the program, but strewn all over it. So everyday commands
are run under valgrind here, and every function that they came through is named to the linker, those together that most commands need.

Names are written without the hashes that differ between compilers. What is named and does not exist is ignored, what exists and is not named stands
before the others: an old list costs time, and nothing else.

Needs valgrind, git and binutils. Takes some minutes.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

EDIT = '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"%s/c"}}'

# Everyday commands in a repository where `other` holds `theirs`, and what they read.
COMMANDS = [
    (["acquire", "a"], ""),
    (["acquire", "a"], ""),
    (["acquire", "b", "d/"], ""),
    (["acquire", "theirs"], ""),
    (["acquire", "a", "--json"], ""),
    (["check", "a"], ""),
    (["check", "free"], ""),
    (["check", "theirs"], ""),
    (["check", "a", "--json"], ""),
    (["renew", "a"], ""),
    (["heartbeat", "--all"], ""),
    (["list"], ""),
    (["list", "--json"], ""),
    (["guard"], ""),
    (["whoami"], ""),
    ([], ""),
    (["run", "c", "--", "true"], ""),
    (["agent-hook", "claude-code"], EDIT),
    (["release", "a"], ""),
    (["release", "--all"], ""),
]
POLICY = '[store]\nfsync = false\n[ttl]\ndefault = "10m"\n[[ttl.rule]]\npaths = ["*.md"]\nmax = "1h"\n[guard]\nrequire = ["*.lock"]\n'

# What runs outside of valgrind only, which shows neither AVX-512 nor the kernel's vDSO; and the very beginning.
UNSEEN = [
    "*libc.a:*-avx512*.o(.text .text.*)",
    "*libc.a:*-evex*.o(.text .text.*)",
    "*libc.a:dl-object.o(.text)",
    "*libc.a:dl-setup_hash.o(.text)",
    "*(.text.blake3*)",
    "*:*avx512_x86-64_unix.o(.text)",
    "*crt1.o(.text)",
]


def out(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def build():
    """The release program, with the names of its functions."""
    target = TOP / "target" / "order"
    env = {**os.environ, "CARGO_PROFILE_RELEASE_STRIP": "false", "CARGO_TARGET_DIR": str(target)}
    subprocess.run(["cargo", "build", "--release", "--locked"], cwd=TOP, env=env, check=True)
    return next(target.glob("*/release/git-agentlock"))


def called(program, scratch, policy):
    """For each function, as valgrind names it, by how many of the commands it is called."""
    repo = scratch / ("policy" if policy else "plain")
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "AGENTLOCK_OWNER": "me", "GIT_CONFIG_NOSYSTEM": "1"}
    out("git", "init", "-q", str(repo), env=env)
    for name in ["a", "b", "c", "theirs"]:
        (repo / name).write_text("")
    if policy:
        (repo / ".git" / "agentlock.toml").write_text(policy)
    out("git", "add", ".", cwd=repo, env=env)
    out("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "t", cwd=repo, env=env)
    out(str(program), "acquire", "theirs", "--owner", "other", cwd=repo, env=env)
    counts = Counter()
    for words, stdin in COMMANDS:
        log = scratch / "calls"
        tool = ["valgrind", "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={log}"]
        stdin = stdin.replace("%s", str(repo))
        subprocess.run([*tool, program, *words], input=stdin, cwd=repo, env=env, capture_output=True, text=True, check=False)
        counts.update(set(re.findall(r"^c?fn=\(\d+\) (\S+?)(?:'\d+)?$", log.read_text(), re.M)))
        log.unlink()
    return counts


def pattern(name):
    """The linker's pattern for a function with a section of its own, without what is different in another build."""
    name, local, _ = name.partition(".llvm.")
    name = re.sub(r"17h[0-9a-f]{16}E", f"17h{'?' * 16}E", name)
    name = re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", name)
    name, numbered = re.subn(r"\.\d+$", "", name)
    return f"*(.text.*{name}{'*' if local or numbered else ''})"


def members(archive):
    """In which file of an archive each of its functions is. Those files have one section for all of their code."""
    listing = out("nm", "--defined-only", out("cc", f"-print-file-name={archive}").strip())
    found, member = {}, None
    for line in listing.splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
        elif len(fields := line.split()) == 3 and fields[1] in "tTwWi":
            found.setdefault(fields[2], f"*{archive}:{member}(.text .text.*)")
    return found


def main():
    program = build()
    with tempfile.TemporaryDirectory() as scratch:
        counts = called(program, Path(scratch), "") + called(program, Path(scratch), POLICY)
    library = {**members("libgcc.a"), **members("libgcc_eh.a"), **members("libc.a")}
    wanted = sorted(counts, key=lambda name: (-counts[name], name))
    lines = [library.get(name) or pattern(name) for name in wanted if not name.startswith("0x")]
    # The most wanted last, where the code that runs before and after ours is.
    lines = [*dict.fromkeys([*lines, *UNSEEN])][::-1]
    listed = "".join(f"    {line}\n" for line in lines)
    note = "/* Made by link/generate.py, which says what it is for. */"
    script = f"{note}\nSECTIONS\n{{\n  .text.hot :\n  {{\n{listed}  }}\n}}\nINSERT AFTER .text;\n"
    (TOP / "link" / "order.ld").write_text(script)
    print(f"{len(lines)} lines")


if __name__ == "__main__":
    main()
