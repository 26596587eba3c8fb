# SPDX-License-Identifier: BSD-3-Clause
"""Messages of eDonkey and eMule as clients and servers write them, and the ids of files. For captures and scripted peers."""
import hashlib
import struct
import zlib

ED2K, EMULE, PACKED = 0xE3, 0xC5, 0xD4
PART, BLOCK = 9728000, 184320


def md4(octets):
    """RFC 1320; OpenSSL has it in a provider that a host may lack."""
    state, mask = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], 0xFFFFFFFF
    padded = octets + b"\x80" + bytes((55 - len(octets)) % 64) + struct.pack("<Q", 8 * len(octets))
    rounds = ((lambda b, c, d: b & c | ~b & d, 0, range(16), (3, 7, 11, 19)),
              (lambda b, c, d: b & c | b & d | c & d, 0x5A827999, [i % 4 * 4 + i // 4 for i in range(16)], (3, 5, 9, 13)),
              (lambda b, c, d: b ^ c ^ d, 0x6ED9EBA1, (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15), (3, 9, 11, 15)))
    for at in range(0, len(padded), 64):
        words = struct.unpack_from("<16I", padded, at)
        a, b, c, d = state
        for mix, more, order, shifts in rounds:
            for i, word in enumerate(order):
                total = (a + mix(b, c, d) + words[word] + more) & mask
                a, b, c, d = d, (total << shifts[i % 4] | total >> 32 - shifts[i % 4]) & mask, b, c
        state = [(x + y) & mask for x, y in zip(state, (a, b, c, d))]
    return struct.pack("<4I", *state)


def digests(octets):
    """Of its parts: one of an empty part stands behind a last one that is whole."""
    return [md4(octets[at:at + PART]) for at in range(0, len(octets) + 1, PART)]


def file_id(octets):
    found = digests(octets)
    return found[0] if len(found) == 1 else md4(b"".join(found))


def frame(proto, opcode, payload=b""):
    return struct.pack("<BIB", proto, len(payload) + 1, opcode) + payload


def packed(opcode, payload):
    return frame(PACKED, opcode, zlib.compress(payload))


def text(octets):
    return struct.pack("<H", len(octets)) + octets


def tags(**named):
    """Text and numbers under their names: name, size, port, version."""
    names = {"name": 1, "size": 2, "port": 0x0F, "version": 0x11, "udp": 0xF9, "misc": 0xFA, "misc2": 0xFE, "emule": 0xFB}
    made = b""
    for name, value in named.items():
        kind = 2 if isinstance(value, bytes) else 3
        made += struct.pack("<BHB", kind, 1, names[name]) + (text(value) if kind == 2 else struct.pack("<I", value))
    return struct.pack("<I", len(named)) + made


def user(name):
    """A client's hash, as eMule marks it."""
    octets = bytearray(md4(name))
    octets[5], octets[14] = 14, 111
    return bytes(octets)


def who(name, port=4662, **more):
    return user(name) + struct.pack("<IH", 0x0100000A, port) + tags(name=name, version=0x3C, **more)


def hello(name, port=4662, **more):
    return frame(ED2K, 0x01, b"\x10" + who(name, port, **more) + bytes(6))


def hello_answer(name, port=4662, **more):
    return frame(ED2K, 0x4C, who(name, port, **more) + bytes(6))


def login(name, port=4662):
    return frame(ED2K, 0x01, who(name, port))


def name_wanted(of):
    return frame(ED2K, 0x58, of)


def name_answer(of, name):
    return frame(ED2K, 0x59, of + text(name))


def file_wanted(of):
    return frame(ED2K, 0x4F, of)


def status(of):
    return frame(ED2K, 0x50, of + bytes(2))


def digests_answer(of, found):
    return frame(ED2K, 0x52, of + struct.pack("<H", len(found)) + b"".join(found))


def parts_wanted(of, *ranges):
    ranges = list(ranges) + [(0, 0)] * (3 - len(ranges))
    return frame(ED2K, 0x47, of + struct.pack("<6I", *(start for start, _ in ranges), *(end for _, end in ranges)))


def part(of, start, octets):
    return frame(ED2K, 0x46, of + struct.pack("<II", start, start + len(octets)) + octets)


def part64(of, start, octets):
    return frame(EMULE, 0xA2, of + struct.pack("<QQ", start, start + len(octets)) + octets)


def block(of, start, octets, piece=10240):
    """A block that is compressed, in frames of so many bytes."""
    coded = zlib.compress(octets)
    return b"".join(frame(EMULE, 0x40, of + struct.pack("<II", start, len(coded)) + coded[at:at + piece])
                    for at in range(0, len(coded), piece))


def sized(of, size):
    """Several requests about a file, one of them for its name."""
    return frame(EMULE, 0xA4, of + struct.pack("<Q", size) + b"\x58\x4f")


def answers(of, name):
    return frame(EMULE, 0x93, of + b"\x59" + text(name) + b"\x50" + bytes(2))


def chat(words):
    return frame(ED2K, 0x4E, text(words))


def server_says(words):
    return frame(ED2K, 0x38, text(words))


def entry(of, name, size, port=4662):
    return of + struct.pack("<IH", 0x0100000A, port) + tags(name=name, size=size)


def found(*entries):
    return frame(ED2K, 0x33, struct.pack("<I", len(entries)) + b"".join(entries))


def sources(of, *ends):
    return frame(ED2K, 0x42, of + bytes([len(ends)]) + b"".join(address + struct.pack("<H", port) for address, port in ends))


def kad(number):
    """An id as Kad has it: four numbers of 32 bits, little endian."""
    return b"".join(number[at:at + 4][::-1] for at in range(0, 16, 4))


def kad_found(*entries, target=bytes(range(16))):
    """What a search by word has found: (id, name, size) of each."""
    return (b"\xe4\x3b" + bytes(range(16, 32)) + kad(target) + struct.pack("<H", len(entries))
            + b"".join(kad(of) + b"\2\2\1\0\1" + text(name) + b"\3\1\0\2" + struct.pack("<I", size) for of, name, size in entries))


def kad_wanted(of, size):
    """Who has it."""
    return b"\xe4\x34" + kad(of) + bytes(2) + struct.pack("<Q", size)


def kad_packed(message):
    return b"\xe5" + message[1:2] + zlib.compress(message[2:])


DONE, SENT = frame(ED2K, 0x56), frame(ED2K, 0x57)
ACCEPTED = frame(ED2K, 0x55)


class Rc4:
    """Encrypts what is said, one after the other."""

    def __init__(self, key, drop=1024):
        self.state, self.i, self.j = list(range(256)), 0, 0
        j = 0
        for i in range(256):
            j = (j + self.state[i] + key[i % len(key)]) & 255
            self.state[i], self.state[j] = self.state[j], self.state[i]
        self.say(bytes(drop))

    def say(self, octets):
        out = bytearray()
        for octet in octets:
            self.i = (self.i + 1) & 255
            self.j = (self.j + self.state[self.i]) & 255
            self.state[self.i], self.state[self.j] = self.state[self.j], self.state[self.i]
            out.append(octet ^ self.state[(self.state[self.i] + self.state[self.j]) & 255])
        return bytes(out)


def disguised(of, said, chance=b"\x19\x73\x55\xe0", padding=(11, 5)):
    """What two clients say of which one has connected to another whose user hash is known, as its disguise has it."""
    keys = [Rc4(hashlib.md5(of + bytes([who]) + chance).digest()) for who in (34, 203)]
    magic = struct.pack("<I", 0x835E6FC4)
    heads = (magic + bytes([0, 0, padding[0]]) + bytes(padding[0]), magic + bytes([0, padding[1]]) + bytes(padding[1]))
    shown = [(0, b"\x9a" + chance + keys[0].say(heads[0])), (1, keys[1].say(heads[1]))]
    return shown + [(direction, keys[direction].say(octets)) for direction, octets in said]
