# SPDX-License-Identifier: BSD-3-Clause
"""`sluice replay` again and again in one process of a build's tests/replay_many, where EAL starts once."""
import glob
import os
import subprocess


def current(build):
    """Whether the build has a tests/replay_many, and not one of before its libraries, as when app/sluice was built alone."""
    many = os.path.join(build, "tests", "replay_many")
    libraries = glob.glob(os.path.join(build, "app", "**", "*.a"), recursive=True)
    return os.access(many, os.X_OK) and all(os.path.getmtime(many) >= os.path.getmtime(name) for name in libraries)


class Replays:
    """One process that replays; started again when a run has ended it. Not for several threads at once."""

    def __init__(self, build):
        self.program = os.path.join(build, "tests", "replay_many")
        self.process = None

    def run(self, words, errors=None):
        """Options as on the command line; standard error to a file. Returns the exit code, negative for a signal."""
        if self.process is None:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True)
        self.process.stdin.write("\t".join([*([f"2>{errors}"] if errors else []), *words]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("done "):
                return int(line.split()[1])
        code = self.process.wait()
        self.close()
        return code

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


RUNS = {}  # of this process: a build's folder, and its process that replays


def replay(sluice, words, errors):
    """`sluice replay` once, in the build's process if it has one of this code; returns the exit code."""
    build = os.path.dirname(os.path.dirname(os.path.abspath(sluice)))
    if not current(build):
        with open(errors, "wb") as file:
            return subprocess.run([sluice, "replay", *words], stderr=file, check=False).returncode
    if build not in RUNS:
        RUNS[build] = Replays(build)
    return RUNS[build].run(words, errors)
