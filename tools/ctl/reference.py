# SPDX-License-Identifier: BSD-3-Clause
"""Which flow is meant: its number, SRC:PORT-DST:PORT/PROTO, or its community id ("1:...")."""
import base64
import hashlib
import ipaddress
import re
import struct

from .show import ends
from .talk import Refused, Wrong, ask

EXAMPLE = "a number (flow list shows it), SRC:PORT-DST:PORT/PROTO (10.0.0.1:4000-192.0.2.7:443/tcp, " \
          "[2001:db8::1]:80 for IPv6), or a community id (1:...)"
PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}
PAGE, PAGES_MAX = 1000, 100


def endpoint(text):
    """(address, port or None) of "10.0.0.1", "10.0.0.1:80", "2001:db8::1", "[2001:db8::1]:80"."""
    match = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::(\d{1,5}))?|([0-9.]+)(?::(\d{1,5}))?|([0-9A-Fa-f:.]+)", text)
    try:
        address = str(ipaddress.ip_address(match.group(1) or match.group(3) or match.group(5)))
        port = int(match.group(2) or match.group(4) or 0)
    except (AttributeError, ValueError):
        raise Wrong("%s is no address, nor ADDRESS:PORT" % text)
    if port > 65535 or (port == 0 and (match.group(2) or match.group(4))):
        raise Wrong("%s: ports are 1 to 65535" % text)
    return address, port or None


class Reference:
    """`arguments` is what the gateway's explain takes."""

    def __init__(self, text, example=EXAMPLE):
        self.text, self.community_id, self.arguments = text, None, {}
        if re.fullmatch(r"\d{1,19}", text) and 0 < int(text) < 1 << 63:
            self.arguments = {"flow_id": int(text)}
        elif re.fullmatch(r"1:[A-Za-z0-9+/]{27}=", text):
            self.community_id = text
        elif "-" in text:
            pair, _, proto = text.partition("/")
            src, _, dest = pair.partition("-")
            (src_ip, src_port), (dest_ip, dest_port) = endpoint(src), endpoint(dest)
            self.arguments = {"src_ip": src_ip, "dest_ip": dest_ip, "src_port": src_port, "dest_port": dest_port,
                              "proto": proto or None}
        else:
            raise Wrong("\"%s\" is no FLOW: give %s" % (text, example))

    def has(self, flow):
        """A flow of flow-list is the one that is meant; either end may be said first."""
        if self.community_id:
            return community_id(flow) == self.community_id
        one = (flow["src_ip"], flow.get("src_port")), (flow["dest_ip"], flow.get("dest_port"))
        asked = [(self.arguments[side + "_ip"], self.arguments[side + "_port"]) for side in ("src", "dest")]
        return any(all(ip == has_ip and port in (None, has_port) for (ip, port), (has_ip, has_port) in zip(pair, one))
                   for pair in (asked, asked[::-1]))

    def filters(self):
        if self.community_id:
            return {}
        return {"host": self.arguments["src_ip"], "proto": self.arguments["proto"],
                "port": self.arguments["dest_port"] or self.arguments["src_port"]}


def community_id(flow):
    """Community ID v1, seed 0, of what has ports (as the gateway computes it); else None."""
    proto = PROTOCOLS.get(flow["proto"])
    if proto is None or "src_port" not in flow:
        return None
    one = ipaddress.ip_address(flow["src_ip"]).packed, flow["src_port"]
    other = ipaddress.ip_address(flow["dest_ip"]).packed, flow["dest_port"]
    one, other = min(one, other), max(one, other)
    text = struct.pack("!H", 0) + one[0] + other[0] + struct.pack("!BBHH", proto, 0, one[1], other[1])
    return "1:" + base64.b64encode(hashlib.sha1(text).digest()).decode()


def find_live(options, reference):
    """All live flows that the reference means."""
    found, offset = [], 0
    for _ in range(PAGES_MAX):
        page = ask(options, "flow-list", limit=PAGE, offset=offset, **reference.filters())
        found += [flow for flow in page["flows"] if reference.has(flow)]
        offset += len(page["flows"])
        if not page["flows"] or offset >= page["matched"]:
            break
    return found


def flow_id_of(options):
    """The number of the one live flow that is meant."""
    reference = Reference(options.flow)
    if "flow_id" in reference.arguments:
        return reference.arguments["flow_id"]
    found = find_live(options, reference)
    if not found and reference.community_id:
        raise Refused("no live flow has community id %s; of one that has ended, give explain its addresses or the "
                      "flow_id of its event" % reference.text)
    if not found:
        raise Refused("no live flow is %s; sluicectl explain tells what became of it, if that is still known"
                      % reference.text)
    if len(found) > 1:
        raise Refused({"text": "%d live flows are %s; say which by its number:" % (len(found), reference.text),
                       "errors": ["%d  %s %s" % (flow["flow_id"], flow["proto"], ends(flow)) for flow in found[:20]]})
    return found[0]["flow_id"]


def host_arguments(text):
    """Of HOST, HOST:PORT or either with /PROTO; None if it is no host."""
    where, _, proto = text.partition("/")
    if re.fullmatch(r"\d{1,19}|1:[A-Za-z0-9+/]{27}=|.*-.*", text):
        return None
    try:
        host, port = endpoint(where)
    except Wrong:
        return None
    return {"host": host, "port": port, "proto": proto or None}


def explain_arguments(options):
    given = [name for name in ("flow", "user", "rule") if getattr(options, name) is not None]
    if len(given) != 1:
        raise Wrong("give one of FLOW, --user and --rule")
    if given != ["flow"]:
        return {given[0]: getattr(options, given[0])}
    arguments = host_arguments(options.flow)
    if arguments:
        return arguments
    reference = Reference(options.flow, "%s; or a host, 10.0.0.1 or 10.0.0.1:80" % EXAMPLE)
    if not reference.community_id:
        return reference.arguments
    return {"flow_id": flow_id_of(options)}
