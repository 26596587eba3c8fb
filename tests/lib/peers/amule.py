#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""amule.py DIR NUMBER PORT CRYPT [NUMBER:ADDRESS:PORT]...: makes DIR the home of an amuled. It listens on PORT (Kad:
PORT + 10, amulecmd: PORT + 50, password "pass") and knows the Kad nodes that are named. CRYPT: plain, supported,
requested or required. Its hash and its Kad id follow from NUMBER; prints what a link to a file has to say of it,
with "@" for the address."""
import hashlib
import ipaddress
import os
import struct
import sys

KAD, COMMAND = 10, 50
CRYPT = {"plain": 0, "supported": 1, "requested": 3, "required": 7}

CONFIG = """[eMule]
AppVersion=2.3.3
Nick=someone
Port={port}
UDPPort={kad}
UDPEnable=1
Autoconnect=1
ConnectToKad=1
ConnectToED2K=0
TempDir={home}/Temp
IncomingDir={home}/Incoming
UPnPEnabled=0
Ed2kServersUrl=
KadNodesUrl=
IpFilterClients=0
IpFilterServers=0
MaxUpload=2000
[ExternalConnect]
AcceptExternalConnections=1
ECAddress=127.0.0.1
ECPort={command}
ECPassword={secret}
UPnPECEnabled=0
[Obfuscation]
IsClientCryptLayerSupported={supported}
IsCryptLayerRequested={requested}
IsClientCryptLayerRequired={required}
"""


def kad_id(number):
    return hashlib.md5(f"node {number}".encode()).digest()


def user_hash(number):
    """eMule's own, as bytes 5 and 14 say."""
    octets = bytearray(hashlib.md5(f"user {number}".encode()).digest())
    octets[5], octets[14] = 14, 111
    return bytes(octets)


def contact(word):
    """A Kad contact as nodes.dat has it: id, address, ports, version 8, no key, verified."""
    number, address, port = word.split(":")
    return (kad_id(number) + ipaddress.ip_address(address).packed[::-1]
            + struct.pack("<HHBIIB", int(port) + KAD, int(port), 8, 0, 0, 1))


def write(home, name, octets):
    with open(os.path.join(home, name), "wb") as out:
        out.write(octets)


def main():
    home, number, port, crypt, contacts = sys.argv[1], sys.argv[2], int(sys.argv[3]), CRYPT[sys.argv[4]], sys.argv[5:]
    for folder in ("Temp", "Incoming"):
        os.makedirs(os.path.join(home, folder), exist_ok=True)
    write(home, "amule.conf", CONFIG.format(
        home=home, port=port, kad=port + KAD, command=port + COMMAND, secret=hashlib.md5(b"pass").hexdigest(),
        supported=crypt & 1, requested=crypt >> 1 & 1, required=crypt >> 2).encode())
    write(home, "preferences.dat", b"\x14" + user_hash(number))
    write(home, "preferencesKad.dat", bytes(6) + kad_id(number) + b"\0")
    write(home, "nodes.dat", struct.pack("<III", 0, 2, len(contacts)) + b"".join(map(contact, contacts)))
    print(f"@:{port}" + (f":{crypt | 0x80}:{user_hash(number).hex()}" if crypt else ""))


if __name__ == "__main__":
    main()
