#!/usr/bin/env python3
"""Runs two agents that meet at one file, with the real program and the real git, and draws what they see as demo/two-agents.svg.

Usage: demo/record.py [PROGRAM]; PROGRAM is the git-agentlock to be shown, else the one in PATH.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

STEPS = [
    ("kimi", "git agentlock acquire src/auth.rs --reason 'token refresh'"),
    ("claude", "git agentlock acquire src/auth.rs"),
    ("claude", "git agentlock list"),
    ("claude", "echo '// mine' >>src/auth.rs; git commit -qam 'quick fix'"),
    ("kimi", "git agentlock release src/auth.rs"),
    ("claude", "git agentlock acquire src/auth.rs && git commit -qam 'quick fix' && echo committed"),
]
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "90": "#8b949e"}
AGENTS = {"kimi": "#d2a8ff", "claude": "#ffa657"}
COLUMNS, LINE, CHAR, PAUSE = 104, 19, 8.4, 1.6


def run(place, agent, command, environment):
    environment = {**environment, "AGENTLOCK_OWNER": f"{agent}-1", "CLICOLOR_FORCE": "1"}
    done = subprocess.run(["sh", "-c", command], cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines()


def pieces(line):
    """The line as (text, colour, bold), by its SGR sequences."""
    colour, bold = None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not code:
            if part:
                yield part, colour, bold
            continue
        for number in (code[1] or "0").split(";"):
            bold = number == "1" or (bold and number != "0")
            colour = COLOURS.get(number, None if number == "0" else colour)


def wrapped(line):
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return [line] if len(plain) <= COLUMNS else textwrap.wrap(plain, COLUMNS, subsequent_indent="  ")


def spans(line):
    for text, colour, bold in pieces(line):
        style = f' fill="{colour}"' if colour else ""
        style += ' font-weight="bold"' if bold else ""
        yield f"<tspan{style}>{html.escape(text)}</tspan>"


def draw(shown):
    y, texts = 30, []
    for step, (agent, lines) in enumerate(shown):
        begin = f"{step * PAUSE:.1f}s"
        texts.append(f'<g opacity="0"><animate attributeName="opacity" to="1" begin="{begin}" dur="0.2s" fill="freeze"/>')
        for at, line in enumerate(lines):
            mark = f'<tspan fill="{AGENTS[agent]}" font-weight="bold">{agent:>6} $ </tspan>' if at == 0 else ""
            x = 16 if at == 0 else 16 + 9 * CHAR
            texts.append(f'<text x="{x:g}" y="{y}" xml:space="preserve">{mark}{"".join(spans(line))}</text>')
            y += LINE
        texts.append("</g>")
        y += LINE // 2
    width, height = 32 + (COLUMNS + 9) * CHAR, y
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}">\n'
        f'<title>Two agents meet at one file</title>\n<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#c9d1d9">\n' + "\n".join(texts) + "\n</g>\n</svg>\n"
    )


def main():
    program = Path(sys.argv[1] if len(sys.argv) > 1 else shutil.which("git-agentlock") or sys.exit("git-agentlock is not in PATH")).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "app")
        environment = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": scratch,
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
        }
        quiet = "git init -q app && cd app && git config user.name a && git config user.email a@example.invalid && mkdir src && echo 'fn auth() {}' >src/auth.rs && git add . && git commit -qm init && git agentlock hook install -q"
        subprocess.run(["sh", "-c", quiet], cwd=scratch, env=environment, check=True)
        shown = []
        for agent, command in STEPS:
            output = [piece for line in run(place, agent, command, environment) for piece in wrapped(line)]
            shown.append((agent, [command, *output]))
    target = Path(__file__).with_name("two-agents.svg")
    target.write_text(draw(shown))
    print(target)


if __name__ == "__main__":
    main()
