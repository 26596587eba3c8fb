# SPDX-License-Identifier: BSD-3-Clause
"""A BitTorrent peer that begins with an encrypted handshake (Message Stream Encryption), in forms of its own."""
import hashlib
import socket
import time

PRIME = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
            "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A63A36210000000000090563", 16)
KEY, VC = 96, bytes(8)


class Rc4:
    def __init__(self, key, drop=1024):
        self.box, self.i, self.j, j = list(range(256)), 0, 0, 0
        for i in range(256):
            j = (j + self.box[i] + key[i % len(key)]) & 255
            self.box[i], self.box[j] = self.box[j], self.box[i]
        self.stream(bytes(drop))

    def stream(self, octets):
        out, box = bytearray(), self.box
        for octet in octets:
            self.i = (self.i + 1) & 255
            self.j = (self.j + box[self.i]) & 255
            box[self.i], box[self.j] = box[self.j], box[self.i]
            out.append(octet ^ box[(box[self.i] + box[self.j]) & 255])
        return bytes(out)


def sha(*parts):
    return hashlib.sha1(b"".join(parts)).digest()


def pieces_of(octets, size):
    return [octets[at:at + size] for at in range(0, len(octets), size)] if size else [octets]


class Initiator:
    """speak() -> whether the other peer has taken the handshake. `said`: (1 if it is the other's, octets), as they went."""

    def __init__(self, end, info_hash, secret, handshake):
        self.end, self.skey, self.secret, self.handshake = end, info_hash, int.from_bytes(secret, "big"), handshake
        self.said, self.got = [], b""

    def say(self, octets, size=0, pause=0.002):
        for piece in pieces_of(octets, size):
            self.end.sendall(piece)
            self.said.append((0, piece))
            if size:
                time.sleep(pause)

    def hear(self, enough, seconds):
        until = time.monotonic() + seconds
        while not enough(self.got) and time.monotonic() < until:
            self.end.settimeout(max(0.01, until - time.monotonic()))
            try:
                octets = self.end.recv(4096)
            except (TimeoutError, socket.timeout):
                return
            if not octets:
                return
            self.said.append((1, octets))
            self.got += octets

    def third(self, shared, pad, provide, early):
        """Behind the two hashes: encrypted."""
        cipher = Rc4(sha(b"keyA", shared, self.skey))
        first = self.handshake if early else b""
        hidden = cipher.stream(VC + provide.to_bytes(4, "big") + len(pad).to_bytes(2, "big") + pad + len(first).to_bytes(2, "big") + first)
        hashes = sha(b"req1", shared) + bytes(a ^ b for a, b in zip(sha(b"req2", self.skey), sha(b"req3", shared)))
        return hashes + hidden, cipher

    def speak(self, pad_a=b"", pad_c=b"", provide=2, early=True, size=0, third_size=0, pause=0.002):
        self.say(pow(2, self.secret, PRIME).to_bytes(KEY, "big") + pad_a, size, pause)
        self.hear(lambda got: len(got) >= KEY, 3)
        if len(self.got) < KEY:
            return False
        time.sleep(0.1)
        shared = pow(int.from_bytes(self.got[:KEY], "big"), self.secret, PRIME).to_bytes(KEY, "big")
        octets, cipher = self.third(shared, pad_c, provide, early)
        self.say(octets, third_size, pause)
        mark = Rc4(sha(b"keyB", shared, self.skey)).stream(VC)
        self.hear(lambda got: mark in got[KEY:], 3)
        at = self.got.find(mark, KEY)
        if at < 0:
            return False
        if not early:
            self.say(cipher.stream(self.handshake) if provide & 2 else self.handshake)

        def plain():
            return Rc4(sha(b"keyB", shared, self.skey)).stream(self.got[at:]) + self.got[at:]
        self.hear(lambda got: self.skey in plain(), 3)
        return self.skey in plain()
