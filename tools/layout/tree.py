# SPDX-License-Identifier: BSD-3-Clause
"""The files of the repository, as tools/lint and its rules read them."""
import functools
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
# What is not code. A character or string is kept as '' or "", so that no brace or comment in it counts.
NOT_CODE = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S)


def all_files():
    """Files of the repository, relative: what git tracks or would track; all, without git."""
    git = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=False
    )
    if git.returncode == 0:
        names = git.stdout.decode().split("\0")
        return sorted(n for n in names if n and os.path.isfile(os.path.join(ROOT, n)))
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".git", "build", "__pycache__"))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(found)


@functools.cache
def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def first_line(name):
    with open(os.path.join(ROOT, name), "rb") as file:
        return file.readline(200)


FILES = all_files()
C_FILES = [n for n in FILES if n.endswith((".c", ".h"))]
PYTHON = [n for n in FILES if n.endswith(".py") or b"python" in first_line(n)[:40]]
SHELL = [n for n in FILES if n.endswith(".sh") or re.match(rb"#!.*\b(ba)?sh\b", first_line(n))]
# Of the product itself, where most rules of the layout hold.
SOURCES = [n for n in C_FILES if n.startswith(("app/", "lib/"))]


@functools.cache
def code(name):
    """C with comments blanked and strings emptied, each line where it was; include lines as they are."""

    def blank(match):
        if match["string"]:
            line = match.string[match.string.rfind("\n", 0, match.start()) + 1:match.start()]
            return match[0] if re.match(r"\s*#\s*include", line) else match[0][0] * 2
        return re.sub(r"[^\n]", " ", match[0])

    return NOT_CODE.sub(blank, text(name))


def code_lines(name):
    """(number, line) of code()"""
    return enumerate(code(name).split("\n"), 1)


def includes(name):
    """(number, < or ", header) of a C file's include lines"""
    for number, line in code_lines(name):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]
