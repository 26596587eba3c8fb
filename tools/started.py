# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a program of ours starts, each in a group of its own. A signal to the program ends them all:
none is started after it, and none is left."""
import os
import signal
import subprocess
import threading
import time

STOPPED = threading.Event()
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOCK = threading.Lock()  # between the look at STOPPED and the entry in _RUNNING
_RUNNING = set()


class Stopped(Exception):
    """All is being ended: nothing more is started."""


def start(command, **options):
    """A Popen; end_group() or forget() it."""
    with _LOCK:
        if STOPPED.is_set():
            raise Stopped
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            command, start_new_session=True, **options
        )
        _RUNNING.add(process)
    return process


def forget(process):
    """It has ended; what it may have left running is not looked for."""
    with _LOCK:
        _RUNNING.discard(process)


def _signal(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def end_group(process, patience=15):
    """Asks first, so that a script's trap can remove its namespaces; what is still there then is killed."""
    if _signal(process, signal.SIGTERM):
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        end = time.monotonic() + 5
        while _signal(process, signal.SIGKILL) and time.monotonic() < end:
            process.poll()
            time.sleep(0.02)
    forget(process)


def end_all():
    with _LOCK:
        STOPPED.set()
    while _RUNNING:
        with _LOCK:
            running = list(_RUNNING)
        enders = [threading.Thread(target=end_group, args=[process]) for process in running]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()


def stop(code, word):
    """Ends all, then the program; returns at once, as whoever calls may be starting something."""

    def work():
        end_all()
        try:
            print(word, flush=True)
        except OSError:
            pass
        os._exit(code)

    if not STOPPED.is_set():
        threading.Thread(target=work).start()


def on_signals():
    for number in SIGNALS:
        signal.signal(number, lambda number, _frame: stop(128 + number, "interrupted"))


def wait_if_stopped():
    """For the end of the main thread: who has stopped us ends the program."""
    while STOPPED.is_set():
        time.sleep(1)
