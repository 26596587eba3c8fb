#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What systemd does for a service of Type=notify, without systemd: gives it a socket, hears it out,
and starts what the unit says.

notify_host.py UNIT LOG [--set DIRECTIVE=VALUE]...

Reads [Service] of UNIT; makes its RuntimeDirectory=, StateDirectory=, CacheDirectory=,
LogsDirectory= for User=; runs ExecStartPre= and ExecStart= with NOTIFY_SOCKET, WATCHDOG_USEC,
RUNTIME_DIRECTORY and the like, the capability bounding set and no_new_privs of the unit, and / and /run
as ProtectSystem=strict leaves them. LOG gets
one line for each thing heard, "SECONDS PID WORD=VALUE"; datagrams of other processes than the main
one are told as "refused". Commands on standard input: reload, stop, kill, hup. Missed watchdog or
start-up deadlines are told as "deadline start" and "deadline watchdog", and kill it. Ends with the
service's exit code.
"""
import argparse
import ctypes
import os
import pwd
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

CAPS = ("CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
        "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO "
        "SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
        "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG "
        "WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE").split()
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 1, 32, 4096, 16384, 1 << 18
BASES = {"RuntimeDirectory": "/run", "StateDirectory": "/var/lib", "CacheDirectory": "/var/cache",
         "LogsDirectory": "/var/log"}
LIBC = ctypes.CDLL(None, use_errno=True)


def read_unit(path, overrides):
    """Directive -> list of values, of [Service]."""
    unit, section = {}, None
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif line and line[0] not in "#;" and section == "[Service]":
            key, value = line.split("=", 1)
            unit.setdefault(key, []).append(value)
    for item in overrides:
        key, value = item.split("=", 1)
        unit[key] = [value] if value else []
    return unit


def seconds(text):
    if text == "infinity":
        return float("inf")
    units = {"ms": 0.001, "s": 1, "min": 60, "": 1}
    return sum(float(n) * units[u] for n, u in re.findall(r"([\d.]+)\s*(ms|min|s|)\b", text))


class Host:
    """One service, its socket and its log."""

    def __init__(self, unit, log):
        self.unit, self.log = unit, log
        self.main, self.reloader = None, None
        self.begin = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="sluice-notify.")
        os.chmod(self.folder, 0o755)
        path = os.path.join(self.folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        os.chmod(path, 0o777)
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                    "NOTIFY_SOCKET": path}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.watchdog_s = seconds(self.one("WatchdogSec", "infinity"))
        self.start_deadline = self.begin + seconds(self.one("TimeoutStartSec", "90"))
        self.watchdog_deadline = None

    def one(self, key, fallback=None):
        return self.unit.get(key, [fallback])[-1]

    def say(self, pid, text):
        print(f"{time.monotonic() - self.begin:.3f} {pid} {text}", file=self.log, flush=True)

    def directories(self):
        """As systemd.exec(5): below their base, owned by User=; told in the environment."""
        user = self.one("User")
        owner = pwd.getpwnam(user) if user else None
        for key, base in BASES.items():
            made = []
            for name in " ".join(self.unit.get(key, [])).split():
                path = os.path.join(base, name)
                os.makedirs(path, exist_ok=True)
                os.chmod(path, int(self.one(key + "Mode", "0755"), 8))
                if owner:
                    os.chown(path, owner.pw_uid, owner.pw_gid)
                made.append(path)
            if made:
                self.env[re.sub(r"(?<!^)(?=[A-Z])", "_", key).upper()] = ":".join(made)

    def remove_directories(self):
        for name in " ".join(self.unit.get("RuntimeDirectory", [])).split():
            subprocess.run(["rm", "-rf", os.path.join("/run", name)], check=False)

    def protect(self):
        """ProtectSystem=strict: of / and /run only the unit's own directories and ReadWritePaths= can be written."""
        def mount(what, where, flags):
            if LIBC.mount(what and what.encode(), where.encode(), None, ctypes.c_ulong(flags), None):
                raise OSError(ctypes.get_errno(), f"mount {where}")

        own = [os.path.join(base, name) for key, base in BASES.items() for name in " ".join(self.unit.get(key, [])).split()]
        own += [path.lstrip("-") for path in " ".join(self.unit.get("ReadWritePaths", [])).split()]
        if LIBC.unshare(CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "unshare")
        mount(None, "/", MS_REC | MS_PRIVATE)
        for path in filter(os.path.isdir, own):
            mount(path, path, MS_BIND | MS_REC)
        for path in filter(os.path.ismount, ("/run", "/")):
            mount(None, path, MS_REMOUNT | MS_BIND | MS_RDONLY)

    def confine(self, elevated):
        """In the child: the unit's options that change what the program may do."""
        if self.one("ProtectSystem") == "strict":
            self.protect()
        wanted = " ".join(self.unit.get("CapabilityBoundingSet", [])).split()
        if wanted:
            for number, name in enumerate(CAPS):
                if "CAP_" + name not in wanted:
                    LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
        if self.one("NoNewPrivileges") == "yes":
            LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        user = self.one("User")
        if user and not elevated:
            entry = pwd.getpwnam(user)
            os.initgroups(user, entry.pw_gid)
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def spawn(self, line, extra=None):
        elevated = line.startswith(("!", "+"))
        words = shlex.split(line.lstrip("!+-").replace("$MAINPID", str(self.main.pid if self.main else 0)))
        env = dict(self.env, **(extra or {}))
        return subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            words, env=env, stdin=subprocess.DEVNULL, preexec_fn=lambda: self.confine(elevated), start_new_session=True)

    def start(self):
        self.directories()
        for line in self.unit.get("ExecStartPre", []):
            code = self.spawn(line).wait()
            if code:
                self.say(0, f"ExecStartPre {code}")
                return code
        extra = {}
        if self.watchdog_s != float("inf"):
            extra["WATCHDOG_USEC"] = str(int(self.watchdog_s * 1e6))
        self.main = self.spawn(self.one("ExecStart"), extra)
        self.say(self.main.pid, "started")
        return None

    def hear(self):
        data, ancillary, _flags, _address = self.socket.recvmsg(4096, 256)
        pid = next((struct.unpack("iii", d[:12])[0] for level, kind, d in ancillary
                    if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS), -1)
        if pid != self.main.pid:
            self.say(pid, "refused")
            return
        now = time.monotonic()
        for line in data.decode("utf-8").split("\n"):
            self.say(pid, line)
            key, _, value = line.partition("=")
            if key == "READY":
                self.start_deadline = float("inf")
                self.watchdog_deadline = now + self.watchdog_s
            elif key == "WATCHDOG" and value == "1" and self.watchdog_deadline:
                self.watchdog_deadline = now + self.watchdog_s
            elif key == "WATCHDOG_USEC":
                self.watchdog_s = int(value) / 1e6
                self.watchdog_deadline = now + self.watchdog_s
            elif key == "EXTEND_TIMEOUT_USEC" and self.start_deadline != float("inf"):
                self.start_deadline = max(self.start_deadline, now + int(value) / 1e6)

    def command(self, word):
        self.say(self.main.pid, "command " + word)
        if word == "reload":
            self.reloader = self.spawn(self.one("ExecReload"))
        elif word == "stop":
            self.watchdog_deadline = None
            self.main.terminate()
        elif word == "kill":
            self.main.kill()
        elif word == "hup":
            self.main.send_signal(signal.SIGHUP)

    def deadlines(self):
        now = time.monotonic()
        if now > self.start_deadline:
            self.say(self.main.pid, "deadline start")
            self.main.kill()
            self.start_deadline = float("inf")
        if self.watchdog_deadline and now > self.watchdog_deadline:
            self.say(self.main.pid, "deadline watchdog")
            self.main.send_signal(signal.SIGABRT)
            self.watchdog_deadline = None

    def run(self):
        code = self.start()
        commands = [sys.stdin.fileno()]
        while code is None:
            ready, _, _ = select.select([self.socket] + commands, [], [], 0.05)
            if self.socket in ready:
                self.hear()
            elif ready:
                line = os.read(commands[0], 4096).decode()
                if not line:
                    commands = []
                for word in line.split():
                    self.command(word)
            if self.reloader and self.reloader.poll() is not None:
                self.say(self.main.pid, f"reloaded {self.reloader.returncode}")
                self.reloader = None
            self.deadlines()
            if not select.select([self.socket], [], [], 0)[0]:
                code = self.main.poll()
        if self.main:
            self.say(self.main.pid, f"ended {code}")
        self.remove_directories()
        subprocess.run(["rm", "-rf", self.folder], check=False)
        return code if code >= 0 else 128 - code


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unit")
    parser.add_argument("log")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    with open(options.log, "w", encoding="utf-8") as log:
        sys.exit(Host(read_unit(options.unit, options.set), log).run())


if __name__ == "__main__":
    main()
