#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes corpus/tapi_conf/: configurations of the transports' library, whole and broken."""
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "tapi_conf")
ID = "7849ac3049680be1ef762efe0d36e01733c3464eb0c7c558138acf24bb263bd3"


def acl(members):
    return '{"acl": {' + members + "}}"


def main():
    seeds = {
        "whole": '{"transports": ["udp", "tcp"],\n"core": {"selection": "measured"},\n"udp": {"port": 2086,'
        '\n "advertise": ["192.0.2.1",\n"a\\"[,{"]}}',
        "acl": acl(
            '"deny": ["10.0.0.0/8", "2001:db8::/32"],\n"allow": ["10.1.0.0/16",\n"::ffff:8.8.0.0/112"], "private": false,'
            '"local": true, "deny_ports": [25, 65535], "deny_peers": ["' + ID + '", "' + ID + ' 2027-01-31T00:00:00Z"]'
        ),
        "both": acl('"deny": ["0.0.0.0/0"],\n"allow": ["0.0.0.0/0"]'),
        "bits_behind": acl('"deny": [\n"10.1.2.3/8"]'),
        "no_network": acl('"allow": ["::1/129", "fe80::1%eth0"]'),
        "no_peer": acl('"deny_peers": ["12 2027-02-30T00:00:00Z"]'),
        "unknown": acl('"denny": []'),
        "wrong_kind": acl('"deny_ports": [70000], "local": 1'),
        "nested": '{"acl": {"deny": [["deny"], {"deny": [1,\n2]}]}, "x": {"deny": {"acl": []}}}',
        "escaped": '{"\\u0061cl": {"den\\u0079": ["1.2.3.4"]}}',
        "twice": '{"acl": {}, "acl": {}}',
        "no_object": "[1, 2]",
        "cut": '{"acl": {"deny": ["1.2.3',
        "empty": "",
    }
    os.makedirs(HERE, exist_ok=True)
    for name, text in seeds.items():
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as out:
            out.write(text)


main()
