# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the sources with all mutants of a draw in it, built once; SLUICE_MUTANT=N turns one on."""
import os
import re
import shutil
import subprocess

import started
from mutation.sites import one_line

# In front of the first line of a file with mutants. Each file reads the environment once, before
# main; -1 notes in SLUICE_MUTANT_REACHED which of them were come to. No header, as what a file
# defines before its own includes must still count.
PREAMBLE = (
    "#ifndef SLUICE_MUTANT_HERE\n#define SLUICE_MUTANT_HERE\n"
    "extern char *getenv(const char *); extern int open(const char *, int, ...); extern int close(int);"
    "extern void *mmap(void *, unsigned long, int, int, int, long);"
    "static int mutant_on; static volatile unsigned char *mutant_reached;"
    "__attribute__((constructor)) static void mutant_start(void) {"
    ' const char *text = getenv("SLUICE_MUTANT"), *path = getenv("SLUICE_MUTANT_REACHED"); int n = 0;'
    " if (!text) return;"
    " for (const char *c = text; *c >= 48 && *c <= 57; c++) n = n * 10 + *c - 48;"
    " mutant_on = *text == 45 ? -1 : n;"
    " if (mutant_on >= 0 || !path) return;"
    " int fd = open(path, 2); if (fd < 0) return;"
    " void *map = mmap((void *)0, %d, 3, 1, fd, 0); close(fd);"
    " if (map != (void *)-1) mutant_reached = map; }"
    "static inline int mutant(int n) {"
    " if (__builtin_expect(!mutant_on, 1)) return 0;"
    " if (mutant_reached) mutant_reached[n] = 1;"
    " return mutant_on == n; }\n"
    "#endif\n"
    '#line 1 "%s"\n'
)


def woven(text, sites, name, total):
    """The text of a file with its mutants; the lines keep their numbers. They do not overlap."""
    for site in sorted(sites, key=lambda s: -s.start):
        other = one_line(site.mutated)
        if site.statement:
            other = f"{other} " if other else ""
            new = f"{{ if (mutant({site.number})) {{ {other}}} else {{ {site.original} }} }}"
        else:
            new = f"(mutant({site.number}) ? ({other}) : ({site.original}))"
        text = text[: site.start] + new + text[site.end :]
    return PREAMBLE % (total + 1, name) + text


def copy_tree(root, into):
    """What git tracks or would track; what has not changed keeps its time."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    names = {n for n in listed.stdout.decode().split("\0") if n and os.path.isfile(os.path.join(root, n))}
    for at, folders, files in os.walk(into):
        folders[:] = [f for f in folders if f != ".git"]
        for name in files:
            if os.path.relpath(os.path.join(at, name), into) not in names:
                os.unlink(os.path.join(at, name))
    for name in names:
        old, new = os.path.join(root, name), os.path.join(into, name)
        with open(old, "rb") as file:
            put(new, file.read())
        shutil.copymode(old, new)
    if not os.path.isdir(os.path.join(into, ".git")):  # tests ask git for the files of the tree
        subprocess.run(["git", "init", "-q", into], check=True)


def put(path, content):
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def setup(source, build):
    """A build folder with the headers that the build makes, as clang reads sources that include them."""
    if not os.path.exists(os.path.join(build, "build.ninja")):
        # What a mutant leaves unused or uninitialised is no matter of warnings.
        subprocess.run(
            ["meson", "setup", "--buildtype=debugoptimized", "-Dwerror=false", "-Dc_args=-w", build, source],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    made = re.findall(r"^(\S+\.h): CUSTOM_COMMAND", listed.stdout, re.MULTILINE)
    if made:
        subprocess.run(["ninja", "-C", build, *made], check=True, stdout=subprocess.DEVNULL)


PLACE = re.compile(r"(?:\.\./)*(?:\S*?/)??((?:app|lib)/\S+?):(\d+):\d+: ((?:error|note): .*)")


class Broken(Exception):
    """Something does not compile that no mutant explains."""


def weave(source, sites, texts):
    """`texts` are the files as they were, by name: of each that a site is or was in."""
    total = max((s.number for s in sites), default=0)
    for name, text in texts.items():
        these = [s for s in sites if s.file == name]
        put(os.path.join(source, name), (woven(text, these, name, total) if these else text).encode("latin-1"))


def build(folder, sites, jobs, log):
    """Compiles; the sites that do not compile, which were then not built either."""
    with open(log, "w", encoding="utf-8") as file:
        process = started.start(
            ["ninja", "-C", folder, "-k", "0", f"-j{jobs}"], stdout=file, stderr=subprocess.STDOUT
        )
        code = process.wait()
        started.forget(process)
        started.wait_if_stopped()
    if code == 0:
        return []
    bad, other, in_macro = set(), [], False
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = PLACE.match(line)
            if not match:
                continue
            at = int(match[2])
            here = [s.number for s in sites if s.file == match[1] and s.line <= at <= s.last_line]
            if match[3].startswith("error: "):
                bad.update(here)
                in_macro = not here  # the notes behind it say where that is used
                other += [line.strip()] if in_macro else []
            elif in_macro and here and "in expansion of macro" in match[3]:
                bad.update(here)
                in_macro = False
                other.pop()
    if not bad:
        raise Broken(f"{other[0] if other else 'ninja failed'}; all of it: {log}")
    return [s for s in sites if s.number in bad]
