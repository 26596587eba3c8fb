# SPDX-License-Identifier: BSD-3-Clause
"""Which header a file may include: docs/architecture.md, "Layers and folders"."""
import os

import tree

# A plane of app/ and the others whose headers it may include (app/include_roots.sh); what is not listed: all.
PLANES = {
    "pipeline/vocab": [],
    "reassembly": ["pipeline/vocab"],
    "classify": ["pipeline/vocab"],
    "scan": ["pipeline/vocab"],
    "content": ["pipeline/vocab"],
    "pipeline": ["reassembly", "classify", "scan", "content"],
    "base": [],
    "audit": ["base", "pipeline/vocab"],
    "config": ["base", "classify", "scan", "pipeline/vocab"],
    "control": ["base", "audit", "config", "pipeline", "reassembly", "classify", "scan", "content"],
}
# Folders, each of which may include those before it in its list. A folder stands for those in it that are not listed:
# ctl for ctl/verbs, classify for all of its folders but proto.
ORDERS = [
    [f"app/pipeline/{f}" for f in ("vocab", "wire", "lcore", "policy", "flow", "event", "cache", "egress", "swarm", "scan", "content", "stage")]
    + ["app/pipeline"],
    ["app/base", "app/audit", "app/config"]
    + [f"app/control/{f}" for f in ("policy", "event", "content", "stats", "cache", "ctl", "http")]
    + ["app/control", "app/process", "app/machine", "app/replay", "app/cmd"],
    ["app/classify", "app/classify/proto"],
    [f"lib/transportapi/{f}" for f in ("base", "proto", "transport", "core", "example")],
]
# A heavy header and the only places that may include it.
HOMES = {
    "jansson.h": ["app/config/", "app/control/", "lib/transportapi/"],
    "hs.h": ["app/classify/"],
    "hs/hs.h": ["app/classify/"],
    "rte_eal.h": ["app/machine/eal.c"],
    "clamav.h": ["app/scan/"],
    "utf8proc.h": ["app/content/"],
    "zlib.h": ["app/content/", "lib/transportapi/"],
    "brotli/decode.h": ["app/content/"],
    "zstd.h": ["app/content/"],
}


def rank(name):
    """(number of the order, place in it) of a file"""
    found = [
        (len(folder), line, place)
        for line, folders in enumerate(ORDERS)
        for place, folder in enumerate(folders)
        if name.startswith(folder + "/")
    ]
    return max(found)[1:] if found else None


def points_up(name, target):
    own, other = rank(name), rank(target)
    return bool(own and other and own[0] == other[0] and own[1] < other[1])


def plane_of(name):
    return max((p for p in PLANES if name.startswith(f"app/{p}/")), key=len, default=None)


def faults(name):
    """(kind, line, what, header) of a file of app/ or lib/; a kind is home, bare, plane or order."""
    plane, library = plane_of(name), name.startswith("lib/")
    for line, bracket, header in tree.includes(name):
        # L0 stands on its own: neither the program nor DPDK below or beside it.
        if library and header.startswith(("rte_", "dpdk")):
            yield "home", line, f"lib/ has no DPDK: {header}", header
        elif library and bracket == '"' and not os.path.exists(os.path.join(tree.ROOT, "lib", header)):
            yield "home", line, f"{header} is not in lib/, which includes by path from there", header
        if header in HOMES and not any(name.startswith(home) for home in HOMES[header]):
            yield "home", line, f"{header} belongs to {' '.join(HOMES[header])} alone", header
        if bracket == "<":
            continue
        if "/" not in header:
            yield "bare", line, f"{header} without its plane and folder", header
        elif not library and plane and not header.startswith(
            tuple(f"{p}/" for p in (plane, *PLANES[plane], "generated"))
        ):
            yield "plane", line, f"app/{plane} may not include {header}", header
        elif points_up(name, f"{'lib' if library else 'app'}/{header}"):
            yield "order", line, f"{os.path.dirname(name)} may not include {header}, which is above it", header
