# SPDX-License-Identifier: BSD-3-Clause
"""scan reload."""
from .talk import ask

MODES = {"concurrent": "those in force are used until then",
         "sequential": "those in force are let go first: until then files are unscanned (no_engine)"}


def reload(options):
    message = ask(options, "scan-reload")
    if options.json:
        return message
    print("signatures are being loaded; %s. The log and a scanner event say when they are in force, or why not."
          % MODES.get(message["mode"], ""))
    return None
