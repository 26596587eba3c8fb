# SPDX-License-Identifier: BSD-3-Clause
"""How things are written: numbers, tables, colours. Nothing that came over the socket reaches the
terminal but through `clean`."""
import os
import sys


def clean(text):
    return "".join(c if c.isprintable() else "?" for c in str(text))


def number(value):
    return "{:,}".format(value).replace(",", " ")


def counted(count, one, many=None):
    """1 flow, 2 flows."""
    return "%s %s" % (number(count), one if count == 1 else many or one + "s")


def amount(count):
    """Bytes, short."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(count) < 1000 or unit == "TB":
            return "%d %s" % (count, unit) if unit == "B" else "%.1f %s" % (count, unit)
        count /= 1000
    return ""


def per_second(count):
    return amount(count) + "/s"


def span(seconds):
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 1.99 * length:
            return "%d%s" % (round(seconds / length), unit)
    return "%ds" % seconds


def duration(nanoseconds):
    """Short times: latencies, what lies between two pieces of evidence."""
    for unit, length in (("s", 1000000000), ("ms", 1000000), ("us", 1000)):
        value = nanoseconds / length
        if value >= 0.9995:  # what would be rounded to 1000 of the smaller unit
            return "%.*f %s" % (0 if value >= 99.95 else 1 if value >= 9.995 else 2, value, unit)
    return "%d ns" % nanoseconds


def table_lines(head, rows):
    """Columns as wide as they need; numbers to the right ('>' before the head's word)."""
    right = [word.startswith(">") for word in head]
    rows = [[word.lstrip(">") for word in head]] + [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [cell.rjust(width) if to_right else cell.ljust(width)
                 for cell, width, to_right in zip(row, widths, right)]
        yield "  ".join(cells).rstrip()


def table(head, rows):
    if not rows:
        print("none")
        return
    for line in table_lines(head, rows):
        print(line)


def pairs(rows):
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        print("%s  %s" % (name.ljust(width), clean(value)))


def end(address, port):
    if port is None:
        return address
    return "[%s]:%d" % (address, port) if ":" in address else "%s:%d" % (address, port)


def ends(entry, arrow=" -> "):
    """Both ends of whatever has src_ip and dest_ip, and ports where it has some."""
    return (end(entry["src_ip"], entry.get("src_port")) + arrow + end(entry["dest_ip"], entry.get("dest_port"))
            if "src_ip" in entry and "dest_ip" in entry else "?")


def app_of(entry):
    return entry.get("app_proto", "-")


def shown(part, message, rows):
    """What a page leaves out."""
    offset = message["offset"]
    last = offset + len(rows)
    if last < message["matched"] or offset:
        print("%s %d to %d of %s; --limit and --offset show others" % (
            part, offset + 1 if rows else offset, last, number(message["matched"])))


def columns(stream=None):
    """Of the terminal; 80 where there is none, so that what is piped is as what is read."""
    try:
        return max(40, os.get_terminal_size((stream or sys.stdout).fileno()).columns)
    except (OSError, ValueError):
        return 80


COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2", "reverse": "7"}


def has_colours(stream=None):
    stream = stream or sys.stdout
    return (stream.isatty() and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown"))


def paint(colour, text, on):
    return "\x1b[%sm%s\x1b[0m" % (COLOURS[colour], text) if on and colour else text


def wrapped(text, width):
    """Lines of at most `width`; only a longer word is longer."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = line + " " + word if line else word
    return lines + [line] if line or not lines else lines
