# SPDX-License-Identifier: BSD-3-Clause
"""Files that a scanner finds a virus in, each with its clean twin: EICAR, every file of clamav-testfiles, and a RAR, which libclamav does
not open without libclamunrar.

A twin is of the same length, and differs in one byte without which nothing is found: TWINS has where, and what is changed of it. As a
program it looks for them anew, with the sluice-scan of a build:

    scan_samples.py build/app/scan/program/sluice-scan"""
import collections
import hashlib
import os
import struct
import sys
import tempfile
import zipfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rig.scan_rig import EICAR, EICAR_NDB, Scanner, database  # noqa: E402 pylint: disable=wrong-import-position

TESTFILES = "/usr/share/clamav-testfiles"
NAMES = {"eicar": "Eicar.Test.UNOFFICIAL", "clam": "Clam.Ndb.UNOFFICIAL"}
# name: (offset of a byte, what it is XORed with)
TWINS = {
    "clam-aspack.exe": (4894, 0x41),
    "clam-fsg.exe": (6429, 0x41),
    "clam-mew.exe": (1539, 0x41),
    "clam-nsis.exe": (47403, 0x41),
    "clam-pespin.exe": (16033, 0x41),
    "clam-petite.exe": (3452, 0x01),
    "clam-upack.exe": (1658, 0x41),
    "clam-upx.exe": (1815, 0x41),
    "clam-wwpack.exe": (3758, 0x41),
    "clam-yc.exe": (5650, 0x41),
    "clam.7z": (359, 0x41),
    "clam.arj": (350, 0x01),
    "clam.bin-be.cpio": (353, 0x41),
    "clam.bin-le.cpio": (353, 0x41),
    "clam.bz2.zip": (443, 0x41),
    "clam.cab": (394, 0x41),
    "clam.chm": (10841, 0x41),
    "clam.d64.zip": (403, 0x41),
    "clam.ea05.exe": (211670, 0x41),
    "clam.ea06.exe": (257893, 0x41),
    "clam.exe": (317, 0x41),
    "clam.exe.binhex": (832, 0x01),
    "clam.exe.bz2": (346, 0x41),
    "clam.exe.html": (469, 0x41),
    "clam.exe.mbox.base64": (608, 0x41),
    "clam.exe.mbox.uu": (643, 0x41),
    "clam.exe.rtf": (3862, 0x41),
    "clam.exe.szdd": (246, 0x41),
    "clam.impl.zip": (375, 0x41),
    "clam.mail": (994, 0x41),
    "clam.newc.cpio": (437, 0x41),
    "clam.odc.cpio": (402, 0x41),
    "clam.ole.doc": (12400, 0x41),
    "clam.pdf": (6133, 0x41),
    "clam.ppt": (9730, 0x01),
    "clam.sis": (595, 0x41),
    "clam.tar.gz": (401, 0x41),
    "clam.tnef": (3662, 0x41),
    "clam.zip": (385, 0x41),
    "clam_IScab_ext.exe": (115553, 0x41),
    "clam_IScab_int.exe": (471897, 0x41),
    "clam_ISmsi_ext.exe": (916159, 0x41),
    "clam_ISmsi_int.exe": (1182394, 0x41),
    "clam_cache_emax.tgz": (34, 0x41),
    "eicar.com": (40, 0x07),
}
# `twin` is None where nothing tells the file from one that is harmless
Sample = collections.namedtuple("Sample", "name octets twin verdict what")


def rar(content):
    """Version 4, one member, compressed: the content itself is not in it."""
    def block(kind, flags, body, packed=b""):
        rest = struct.pack("<BHH", kind, flags, 7 + len(body)) + body
        return struct.pack("<H", zlib.crc32(rest) & 0xFFFF) + rest + packed
    packed = zlib.compress(content, 9)[2:-4]
    member = struct.pack("<IIBIIBBHI", len(packed), len(content), 2, zlib.crc32(content), 0x50000000, 29, 0x33, 5, 32) + b"a.com"
    return b"Rar!\x1a\x07\0" + block(0x73, 0, bytes(6)) + block(0x74, 0x8000, member, packed) + block(0x7B, 0x4000, b"")


def changed(octets, at, by):
    return octets[:at] + bytes([octets[at] ^ by]) + octets[at + 1:]


def signature():
    """Of clam.exe, which all of clamav-testfiles carry."""
    octets = zipfile.ZipFile(f"{TESTFILES}/clam.zip").read("clam.exe")
    return f"Clam.Ndb:0:*:{octets[0x100:0x140].hex()}\n"


def write_database(folder):
    return database(folder, samples_ndb=EICAR_NDB + signature())


def samples():
    """All of them; {name: Sample}."""
    found = {}
    for name in sorted(os.listdir(TESTFILES)):
        with open(os.path.join(TESTFILES, name), "rb") as file:
            octets = file.read()
        found[name] = Sample(name, octets, changed(octets, *TWINS[name]), "infected", NAMES["clam"])
    found["eicar.com"] = Sample("eicar.com", EICAR, changed(EICAR, *TWINS["eicar.com"]), "infected", NAMES["eicar"])
    found["eicar.rar"] = Sample("eicar.rar", rar(EICAR + b"\n" + b"A" * 300), None, "unscanned", "format")
    return found


def sha256(octets):
    return hashlib.sha256(octets).hexdigest()


def kinds(sample):
    return ("evil",) if sample.twin is None else ("evil", "good")


class Files:
    """{KIND.NAME: octets} of the samples. The four installers take a second each: of tests that have several turns each has one of
    them, unless SLUICE_LONG is set, then all, as where no turn is named."""

    def __init__(self, turn=None):
        self.samples = samples()
        large = [name for name in self.samples if name.startswith("clam_IS")]
        if turn is not None and not os.environ.get("SLUICE_LONG"):
            for name in large:
                if name != large[turn % len(large)]:
                    del self.samples[name]
        self.all = {f"{kind}.{sample.name}": sample.octets if kind == "evil" else sample.twin
                    for sample in self.samples.values() for kind in kinds(sample)}

    def of(self, path):
        """(form, octets) of a path whose last segment is FORM.KIND.NAME."""
        form, _, rest = path.rsplit("/", 1)[-1].partition(".")
        return form, self.all[rest]


def write_all(folder):
    """The files, as KIND.NAME."""
    os.makedirs(folder, exist_ok=True)
    for name, octets in Files().all.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(octets)


def search(scan, octets):
    """Of the shortest beginning (the rest is blank) in which it is found the last byte matters, or one near it."""
    is_found, below, enough = scan(octets), 0, len(octets)
    while enough - below > 1:
        middle = (below + enough) // 2
        if scan(octets[:middle] + bytes(len(octets) - middle)) == is_found:
            enough = middle
        else:
            below = middle
    for at in [*range(enough - 1, max(enough - 60, 0), -1), *range(0, len(octets), max(len(octets) // 500, 1))]:
        for by in (0x41, 0x01):
            if scan(changed(octets, at, by)) == "clean":
                return at, by
    return None


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Scanner(program, write_database(os.path.join(folder, "db")), jobs=1000000) as scanner:
            scanner.lcore.born(60)
            for name in sorted(os.listdir(TESTFILES)):
                with open(os.path.join(TESTFILES, name), "rb") as file:
                    print(f'    "{name}": {search(lambda octets: scanner.lcore.scan(scanner.arena, octets), file.read())},', flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
