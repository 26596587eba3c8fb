# SPDX-License-Identifier: BSD-3-Clause
"""Lines of requests, and hellos, that begin and do not end: whoever sends many of them takes no place of others."""
from craft import ACK, ANY, DROP, OUTSIDE, PASS, PSH, SYN, Talk, add
from rows_names import post_quantum
from speech import ALLOWED, HTTP_GET, HTTP_OK, NAMES, server_hello

_PLACES = 32
_LIMITS = f"heads={_PLACES},flows=1024,embryos=1024,tracks=1024,classifying=512"
_BEGUN = b"GET /"
_ASK = HTTP_GET.replace(b"allowed", b"blocked")


def _begin(world, client, port, server="198.51.100.7", begun=_BEGUN, **more):
    session = Talk(world, client=client, server=server, **more).session(port, 80).open()
    session.segment(0, ACK | PSH, begun)
    session.segment(1, ACK)
    return session


def _host(n):
    return f"10.0.{1 + n // 200}.{1 + n % 200}"


def _honest_http(world):
    session = Talk(world).session(40081, 80).open()
    ask = HTTP_GET[:-2] + b"Cookie: " + b"a" * 2000 + b"\r\n\r\n"
    session.segment(0, ACK | PSH, ask[:1400])
    session.segment(1, ACK)
    session.segment(0, ACK | PSH, ask[1400:])
    session.say(1, HTTP_OK)


def _honest_tls(world):
    session = Talk(world).session(40082, 443).open()
    for piece in post_quantum(ALLOWED):
        session.segment(0, ACK | PSH, piece)
        session.segment(1, ACK)
    session.say(1, server_hello())


_HONEST = {"http": _honest_http, "tls": _honest_tls}


def fill(n, hosts=1, honest="http", wait=0):
    """Connections of some hosts, each with the beginning of a request; then an honest one that is cut, too."""
    def build(world):
        world.expect = ANY
        for i in range(n):
            _begin(world, _host(i % hosts), 20000 + i)
        world.wait(wait)
        world.expect = PASS
        _HONEST[honest](world)
    return build


def _one(name, build):
    add(f"heads_{name}", "heads in parts", 26, NAMES, build, limits=_LIMITS)


for _honest in _HONEST:
    _one(f"none_{_honest}", fill(0, honest=_honest))
    for _wait in (0, 5, 31, 1000):
        _one(f"one_host_{_honest}_{_wait}_s", fill(_PLACES, honest=_honest, wait=_wait))
    _one(f"eight_hosts_{_honest}", fill(_PLACES, 8, _honest))
    _one(f"each_host_rests_{_honest}", fill(_PLACES, _PLACES, _honest, 10))
    _one(f"twice_as_many_{_honest}", fill(2 * _PLACES, 4, _honest))


def kept_alive(world):
    """Each line gets another octet now and then, so that it never rests for long."""
    world.expect = ANY
    sessions = [_begin(world, _host(0), 20000 + i) for i in range(_PLACES)]
    for _ in range(12):
        world.wait(5)
        for session in sessions:
            session.segment(0, ACK | PSH, b"a")
            session.segment(1, ACK)
    world.expect = PASS
    _honest_http(world)


_one("kept_alive", kept_alive)


def from_outside(world):
    """Who has a network of addresses outside, and a server inside to ask."""
    world.expect = ANY
    for i in range(2 * _PLACES):
        _begin(world, f"203.0.113.{i + 1}", 20000 + i, server="10.0.0.7", client_zone=OUTSIDE)
    world.expect = PASS
    _honest_http(world)
    _honest_tls(world)


_one("from_outside", from_outside)


def forged(world):
    """Nobody has shaken hands."""
    world.expect = ANY
    for i in range(2 * _PLACES):
        session = Talk(world, client=f"203.0.113.{i + 1}", server="10.0.0.7", zone=OUTSIDE).session(20000 + i, 80)
        session.segment(0, SYN)
        session.segment(0, ACK | PSH, _BEGUN)
    world.expect = PASS
    for honest in _HONEST.values():
        honest(world)


_one("forged", forged)


def displaced(wait, hosts):
    """A refused name of which the beginning was lost with its place does not leave for it."""
    def build(world):
        cut = _ASK.index(b"blocked") + 3
        world.expect = ANY
        session = _begin(world, "10.0.0.2", 40080, server="192.0.2.80", begun=_ASK[:cut])
        for i in range(_PLACES - 1):
            _begin(world, "10.0.0.2", 30000 + i)
        world.wait(wait)
        for i in range(_PLACES):
            _begin(world, _host(i % hosts), 20000 + i)
        world.expect = DROP
        session.segment(0, ACK | PSH, _ASK[cut:])
        world.wait(1)
        session.next[0] -= len(_ASK) - cut
        session.segment(0, ACK | PSH, _ASK[cut:])
    return build


for _name, _wait, _hosts in (("one_host", 0, 1), ("by_many", 0, _PLACES), ("after_its_rest", 11, _PLACES)):
    add(f"heads_displaced_{_name}", "heads in parts", 26, NAMES, displaced(_wait, _hosts), rule="no-blocked",
        control="http_plain", limits=_LIMITS)
