# SPDX-License-Identifier: BSD-3-Clause
"""A rule under which flows are decoded and may be changed on their way: it masks a keyword."""
import json

KEYWORD = b"quagmire"
EDITS = {"id": "edits", "match": {}, "cache": "none", "chat": [{"keyword": [KEYWORD.decode()], "action": "mask"}],
         "transfers": [{"name": ["*.quagmire"], "action": "reset"}]}


def masked(octets):
    """As who receives them has them."""
    return octets.replace(KEYWORD, b" " * len(KEYWORD))


def with_edits(members):
    """The same members of policy.json, ' for ", with that rule behind their own."""
    policy = json.loads("{" + members.replace("'", '"') + "}")
    policy["rules"] = [*policy.get("rules", []), EDITS]
    return json.dumps(policy)[1:-1].replace('"', "'")
