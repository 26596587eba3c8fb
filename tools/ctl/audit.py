# SPDX-License-Identifier: BSD-3-Clause
"""audit show, and audit verify: the program `sluice` does it, on files; no gateway is asked."""
import os
import shutil
import sys

from . import show as view
from .talk import Unreachable, ask


def program():
    """`sluice`: beside sluicectl, else in PATH, else as it was built in the source tree."""
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    beside, built = os.path.join(here, "sluice"), os.path.join(os.path.dirname(here), "build", "app", "sluice")
    for path in (beside, shutil.which("sluice"), built):
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Unreachable("the program sluice, which verifies, is neither beside sluicectl nor in PATH: install sluice")


def show(options):
    message = ask(options, "audit-show")
    if options.json:
        return message
    log, store = message.get("log"), message["store"]
    pairs = []
    if log:
        pairs += [("log", log["path"]), ("record", log["seq"]), ("head", log["head"] if log["seq"] else "none"),
                  ("records", "%d written, %d lost, %d on their way" % (log["written"], log["lost"], log["waiting"]))]
        if "error" in log:
            pairs.append(("trouble", log["error"]))
    pairs.append(("stored", "%s in all, %d new, %d again" % (view.counted(store["files"], "file"), store["stored"], store["duplicates"])))
    pairs.append(("removed", "%d for room, %d by age, %d infected" % (store["evicted"], store["aged"], store["removed"])))
    pairs.append(("not stored", "%d for room, %d by errors" % (store["refused"], store["errors"])))
    if "quarantine" in message:
        quarantine = message["quarantine"]
        pairs.append(("quarantine", "%s, %d came, %d removed for room, %d by age, %d found no room, %s" % (
            view.counted(quarantine["files"], "file"), store["quarantined"], quarantine["evicted"], quarantine["aged"], quarantine["refused"],
            view.counted(quarantine["errors"], "error"))))
    if "evidence" in message:
        evidence = message["evidence"]
        pairs.append(("evidence", "%s written, %d removed for room, %s" % (
            view.counted(evidence["written"], "file"), evidence["removed"], view.counted(evidence["errors"], "error"))))
    view.pairs(pairs)


def verify(options):
    head = ["--head", options.head] if options.head else []
    arguments = [program(), "verify", *head, *(["--json"] if options.json else [])]
    # A name that begins with a dash is no option.
    arguments += [path if not path.startswith("-") else os.path.join(".", path) for path in options.path]
    sys.stdout.flush()
    os.execv(arguments[0], arguments)
