#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The names of config/signatures/*.json, and flows that ask for them.

names_seen.py list N             N names for each application (its hosts, and names below them), one per line
names_seen.py list N app,app...  of these alone
names_seen.py look-alikes        names that look like these and belong to somebody else
names_seen.py asked CAPTURE        what was asked for: "tcp NAME", "udp NAME"
names_seen.py port PORT EVE N      the flows to PORT over UDP are of the applications of `list N`, confidence dpi
names_seen.py CAPTURE EVE [COUNT]  the name in each flow is read from the capture by tshark (TLS, QUIC, the Host of HTTP);
                                 the event of the flow has to say the application that the longest suffix of that name
                                 has in these files, confidence dpi (of a shared host partial), or, if none has it, the
                                 carrier's. Each application has to have COUNT flows over TCP and over UDP.
"""
import collections
import glob
import ipaddress
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig import golden  # noqa: E402 pylint: disable=wrong-import-position
from packet import variants  # noqa: E402 pylint: disable=wrong-import-position

CARRIERS = {"tcp": ("tls", "http", "http2"), "udp": ("quic",)}
FIELDS = ("tls.handshake.extensions_server_name", "http.host")


def hosts(key="hosts"):
    """{host: application}; of "shared_hosts" those that others ask for, too, and are no more than a hint."""
    found = {}
    for path in sorted(glob.glob(os.path.join(golden.SIGNATURES, "*.json"))):
        with open(path, encoding="utf-8") as file:
            for each in json.load(file).get("applications", ()):
                found.update(dict.fromkeys(each.get(key, ()), each["app"]))
    return found


def app_of(name, table):
    labels = name.lower().rstrip(".").split(".")
    for i in range(len(labels)):
        if ".".join(labels[i:]) in table:
            return table[".".join(labels[i:])]
    return None


def sample(count, apps=None):
    of_app = collections.defaultdict(list)
    for host, app in hosts().items():
        of_app[app].append(host)
    for app, names in of_app.items():
        if not apps or app in apps:
            # hosts in turn, first as they stand, then something below them
            for i in range(count):
                yield ("" if i % 2 == 0 else f"x{i}.e-2.") + names[i * len(names) // count]


def look_alikes():
    for app, host in {app: host for host, app in hosts().items()}.items():
        yield f"not{host}"            # another name that ends like it
        yield f"{host}.example.org"   # below somebody else's
        yield f"{app}.example"
        yield f"{host.replace('.', '-')}.example.com"


def asked(capture):
    """{(l4, two ends sorted): [name]}, as tshark reads it; a port that the client took twice has two."""
    keys = ("ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "tcp.srcport", "udp.srcport", "tcp.dstport", "udp.dstport")
    command = ["tshark", "-n", "-r", capture, "-2", "-Y", " or ".join(FIELDS), "-T", "fields", "-E", "separator=\t"]
    for field in keys + FIELDS:
        command += ["-e", field]
    out = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        src4, src6, dst4, dst6, tsport, usport, tdport, udport, sni, host = line.split("\t")
        ends = ((ipaddress.ip_address(src4 or src6).packed, int(tsport or usport)),
                (ipaddress.ip_address(dst4 or dst6).packed, int(tdport or udport)))
        names = out.setdefault(("tcp" if tsport else "udp", *sorted(ends)), [])
        name = (sni or host).split(",")[0].split(":")[0]
        if name not in names:
            names.append(name)
    return out


def judge(capture, eve, count):
    with open(eve, encoding="utf-8") as lines:
        verdicts = variants.verdicts(json.loads(line) for line in lines)
    table, wrong, flows, unclaimed, shared = hosts(), 0, collections.Counter(), 0, 0
    hints = hosts("shared_hosts")
    for key, (name, *later) in asked(capture).items():
        verdict, app = verdicts.get(key), app_of(name, table)
        if app is None:
            unclaimed += 1
        flows[key[0], app] += 1
        # Of some 250 ports that are drawn, one often comes twice: it is one flow, of one of its names.
        shared += len(later)
        flows.update((key[0], app_of(other, table)) for other in later)
        if verdict is None:
            why = "no flow event"
        elif any((verdict.app, verdict.confidence) == (app_of(other, table), "dpi") for other in later):
            continue
        elif any(app_of(other, table) is None for other in later) and verdict.app in CARRIERS[key[0]]:
            continue
        elif app and (verdict.app, verdict.confidence) != (app, "dpi"):
            why = f"not {app}, dpi, but {verdict.app or 'none'}, {verdict.confidence or '-'}"
        elif not app and app_of(name, hints) and (verdict.app, verdict.confidence) == (app_of(name, hints), "partial"):
            continue
        elif not app and (verdict.app not in CARRIERS[key[0]] or app_of(name, hints)):
            why = f"nobody's, but {verdict.app or 'none'}, {verdict.confidence or '-'}"
        else:
            continue
        wrong += 1
        print(f"{key[0]} {name}: {why}")
    for app in sorted(set(table.values())):
        for l4 in ("tcp", "udp"):
            if flows[l4, app] < count:
                wrong += 1
                print(f"{app} over {l4}: {flows[l4, app]} flows, not {count}")
    print(f"{sum(flows.values())} names, of {len(set(table.values()))} applications; {shared} in a flow of another; "
          f"{unclaimed} of nobody's; {wrong} wrong")
    return 1 if wrong or not unclaimed else 0


def judge_port(port, eve, count):
    with open(eve, encoding="utf-8") as lines:
        verdicts = variants.verdicts(json.loads(line) for line in lines)
    table = hosts()
    have = collections.Counter((verdict.app, verdict.confidence) for (l4, *ends), verdict in verdicts.items()
                               if l4 == "udp" and port in (ends[0][1], ends[1][1]))
    want = collections.Counter((app_of(name, table), "dpi") for name in sample(count))
    # a port of the client may come twice, and is one flow then
    print(f"{sum(have.values())} flows; not seen: {set(want) - set(have)}; too many: {dict(have - want)}")
    return 0 if set(have) == set(want) and not have - want else 1


def main():
    if sys.argv[1] == "list":
        print("\n".join(sample(int(sys.argv[2]), sys.argv[3].split(",") if sys.argv[3:] else None)))
        return 0
    if sys.argv[1] == "look-alikes":
        print("\n".join(look_alikes()))
        return 0
    if sys.argv[1] == "asked":
        print("\n".join(f"{key[0]} {name}" for key, names in asked(sys.argv[2]).items() for name in names))
        return 0
    if sys.argv[1] == "port":
        return judge_port(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    return judge(sys.argv[1], sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 1)


if __name__ == "__main__":
    sys.exit(main())
