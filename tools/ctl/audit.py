# SPDX-License-Identifier: BSD-3-Clause
"""audit verify: the program `sluice` does it, on files; no gateway is asked."""
import os
import shutil
import sys

from .talk import Unreachable


def program():
    """`sluice`: beside sluicectl, else in PATH, else as it was built in the source tree."""
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    beside, built = os.path.join(here, "sluice"), os.path.join(os.path.dirname(here), "build", "app", "sluice")
    for path in (beside, shutil.which("sluice"), built):
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Unreachable("the program sluice, which verifies, is neither beside sluicectl nor in PATH: install sluice")


def verify(options):
    head = ["--head", options.head] if options.head else []
    arguments = [program(), "verify", *head, *(["--json"] if options.json else [])]
    # A name that begins with a dash is no option.
    arguments += [path if not path.startswith("-") else os.path.join(".", path) for path in options.path]
    sys.stdout.flush()
    os.execv(arguments[0], arguments)
