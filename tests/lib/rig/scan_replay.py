# SPDX-License-Identifier: BSD-3-Clause
"""`sluice replay --scan` for tests: a gateway.json whose scanner is the build's, and a database."""
import json
import os
import tempfile

from rig import golden
from rig.scan_rig import EICAR_NDB, database

PROGRAM = os.path.join(golden.BUILD, "app", "scan", "program", "sluice-scan")


class Scan:
    """The options of replay; keys of gateway.json's section scan may be others."""

    def __init__(self, folder, signatures=EICAR_NDB, **keys):
        folder = tempfile.mkdtemp(dir=folder)
        os.chmod(folder, 0o755)
        self.path = os.path.join(folder, "gateway.json")
        scan = {"engine": "clamav", "program": os.path.abspath(PROGRAM), "user": "nobody",
                "database": database(os.path.join(folder, "db"), own_ndb=signatures), **keys}
        with open(self.path, "w", encoding="utf-8") as out:
            json.dump({"schema_version": 1, "ports": [{"name": "lan", "device": "net_null0"}, {"name": "wan", "device": "net_null1"}],
                       "pairs": [{"inside": "lan", "outside": "wan"}], "lcores": {"control": 0, "data": [0]}, "scan": scan}, out)
        self.options = ["--scan", self.path]


def policy(folder, name, *rules):
    """A policy of these rules; its path."""
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"schema_version": 1, "rules": rules}, out)
    return path
