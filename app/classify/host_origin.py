# SPDX-License-Identifier: BSD-3-Clause
"""Checks where the hosts and networks of an entry of config/signatures are from: the build and tools/hosts ask."""
import re

LISTS = ("hosts", "shared_hosts", "networks")
MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
SOURCE_MAX = 256  # as in the schema


def faults(path, entries):
    """What is wrong with source and date of a file's applications, one text for each fault."""
    for index, entry in enumerate(entries):
        if not any(entry.get(key) for key in LISTS):
            continue
        where = f"{path}: $.applications[{index}] ({entry.get('app')})"
        source, date = entry.get("source"), entry.get("date")
        if source is None:
            yield f"{where}: \"source\" is missing: add where its hosts or networks are published"
        elif type(source) is not str or not 1 <= len(source) <= SOURCE_MAX:
            yield f"{where}: \"source\" is no text of 1 to {SOURCE_MAX} characters: {source!r}"
        if date is None:
            yield f"{where}: \"date\" is missing: add the month when its source was read, as in \"2026-11\""
        elif type(date) is not str or not MONTH.fullmatch(date):
            yield f"{where}: \"date\" is no month: {date!r}; write YYYY-MM, as in \"2026-11\""
