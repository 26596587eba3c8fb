#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Links of the installed documents: meson runs this at the end of an install. A link to a file of the repository that is
installed elsewhere leads there; one to a file that is not installed becomes its text."""
import glob
import os
import re
import sys

LINK = re.compile(r"\[([^]\n]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def target_of(path, share):
    """Where a file of the repository is installed; None if it is not."""
    for folder, installed in (("config/signatures", "signatures"), ("config/schema", "schema")):
        if path == folder or path.startswith(folder + "/"):
            return f"{share}/sluice/{installed}{path[len(folder):]}"
    if path.startswith(("config/prometheus/", "config/grafana/")):
        return f"{share}/sluice/examples/monitoring/{os.path.basename(path)}"
    if path.startswith("config/"):
        return f"{share}/sluice/examples/{os.path.basename(path)}"
    return None


def rewritten(text, folder, share, destdir):
    def replace(match):
        words, target, part = match[1], match[2], match[3] or ""
        if re.match("[a-z]+:", target) or os.path.exists(os.path.join(folder, target)):
            return match[0]
        installed = target_of(os.path.normpath(os.path.join("docs", target)), share)
        if installed and os.path.exists(destdir + installed):
            return f"[{words}]({installed}{part})"
        return words

    return LINK.sub(replace, text)


def main():
    share = os.path.join(os.environ["MESON_INSTALL_PREFIX"], "share")
    destdir = os.environ.get("DESTDIR", "")
    for name in sys.argv[1:]:
        folder = os.path.join(destdir + share, "doc", name)
        for path in glob.glob(os.path.join(folder, "*.md")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(rewritten(text, folder, share, destdir))


main()
