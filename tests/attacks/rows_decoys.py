# SPDX-License-Identifier: BSD-3-Clause
"""Decoys: what the policy lets pass, and is known by more than a name, ahead of a request or hello with a refused name."""
from craft import ACK, ANY, DROP, PSH, Talk, add
from packet.gencaps import bt_handshake
from rows_names import hello
from speech import HTTP_GET, HTTP_OK, NAMES, quic_client

_IH = b"%01%02%03%04%05%06%07%08%09%0a%0b%0c%0d%0e%0f%10%11%12%13%14"
_ASK = HTTP_GET.replace(b"allowed", b"blocked")
_URN = b"urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB"


def _get(target, *fields, method=b"GET"):
    lines = (method + b" " + target + b" HTTP/1.1", b"Host: www.allowed.example") + fields
    return b"\r\n".join(lines) + b"\r\n\r\n"


# Requests that a built-in application is known by.
_REQUESTS = {
    "announce": _get(b"/announce?info_hash=" + _IH + b"&peer_id=-TR4000-abcdefghijkl&port=6881&uploaded=0&downloaded=0"
                     b"&left=0&compact=1"),
    "web_seed": _get(b"/webseed?info_hash=" + _IH + b"&piece=0&ranges=0-16383"),
    "client": _get(b"/x", b"User-Agent: uTorrent/3000"),
    "gnutella": _get(b"/uri-res/N2R?" + _URN, b"X-Queue: 0.1"),
    "limewire": _get(b"/get/12/file.mp3", b"User-Agent: LimeWire/5", b"X-Gnutella-Content-URN: " + _URN),
    "kazaa": _get(b"/.hash=0123456789abcdef0123456789abcdef01234567", b"X-Kazaa-Username: a", b"X-Kazaa-Network: KaZaA"),
    "propfind": _get(b"/", b"Depth: 0", method=b"PROPFIND"),
    "msn": _get(b"/gateway/gateway.dll?Action=open&Server=NS&IP=messenger.hotmail.com", b"Content-Length: 0", method=b"POST"),
}
_OWN_NETWORK = NAMES.replace(
    "'applications':[", "'applications':[{'id':'cdn','category':'web','networks':['192.0.2.0/24']},")
_OWN_PATTERN = NAMES.replace(
    "'applications':[", "'applications':[{'id':'crm','category':'web','regex':[{'pattern':'^GET /crm','protocol':'tcp',"
    "'direction':'to_server','min_length':8}]},")
_OWN_NAME = NAMES.replace("'applications':[", "'applications':[{'id':'wiki','category':'web','sni':['allowed.example']},")


def talk(*before, last=_ASK, answer=HTTP_OK, port=80):
    def build(world):
        session = Talk(world).session(40080, port).open()
        world.expect = ANY
        for decoy in before:
            session.segment(0, ACK | PSH, decoy)
            session.segment(1, ACK | PSH, answer)
        world.expect = DROP
        session.segment(0, ACK | PSH, last)
    return build


_NAMED = {"rule": "no-blocked", "control": "http_plain"}
for _name, _decoy in _REQUESTS.items():
    add(f"decoy_http_{_name}", "decoys", 25, NAMES, talk(_decoy), **_NAMED)
    add(f"decoy_http_{_name}_named", "decoys", 25, NAMES, talk(last=_decoy.replace(b"allowed", b"blocked")), **_NAMED)
    add(f"decoy_http_{_name}_late", "decoys", 25, NAMES, talk(_decoy, *(HTTP_GET,) * 12), **_NAMED)
    add(f"decoy_http_{_name}_pipelined", "decoys", 25, NAMES, talk(last=_decoy + _ASK), **_NAMED)
for _name, _policy, _first in (("network", _OWN_NETWORK, HTTP_GET), ("pattern", _OWN_PATTERN, _get(b"/crm")),
                               ("name", _OWN_NAME, HTTP_GET)):
    add(f"decoy_own_{_name}_control", "decoys", 25, _policy, talk(), rule="no-blocked")
    add(f"decoy_own_{_name}", "decoys", 25, _policy, talk(_first), rule="no-blocked", control=f"decoy_own_{_name}_control")
add("decoy_own_pattern_named", "decoys", 25, _OWN_PATTERN, talk(last=_get(b"/crm").replace(b"allowed", b"blocked")),
    rule="no-blocked", control="decoy_own_pattern_control")
add("decoy_own_network_tls", "decoys", 25, _OWN_NETWORK, talk(last=hello(), port=443), rule="no-blocked",
    control="decoy_own_network_control")


def datagrams(*before):
    """A refused QUIC hello behind datagrams that make the flow something else."""
    def build(world):
        path = Talk(world)
        world.expect = ANY
        for decoy in before:
            path.datagram(0, 40443, 443, decoy)
        world.expect = DROP
        for _ in range(3):
            path.datagram(0, 40443, 443, quic_client("www.blocked.example"))
    return build


add("decoy_own_network_quic", "decoys", 25, _OWN_NETWORK, datagrams(), rule="no-blocked", control="decoy_own_network_control")

# What the policy lets pass by more than a name, and no refused name: it passes, and so does what is only named so elsewhere.


def honest(*pieces, port=80):
    def build(world):
        session = Talk(world).session(40081, port).open()
        for piece in pieces:
            session.say(0, piece).say(1, HTTP_OK)
        session.close()
    return build


for _name, _decoy in _REQUESTS.items():
    add(f"decoy_honest_{_name}", "decoys", 25, NAMES, honest(_decoy, HTTP_GET, _decoy))
for _name, _policy in (("network", _OWN_NETWORK), ("pattern", _OWN_PATTERN), ("name", _OWN_NAME)):
    add(f"decoy_honest_own_{_name}", "decoys", 25, _policy, honest(HTTP_GET, _get(b"/crm"), _get(b"/?u=www.blocked.example"),
                                                                 HTTP_GET))
add("decoy_honest_peer", "decoys", 25, NAMES, honest(bt_handshake(1), port=6881))
