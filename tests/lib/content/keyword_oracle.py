# SPDX-License-Identifier: BSD-3-Clause
"""What docs/content.md says of keywords, in plain Python and as slow as it likes: which of them stand in a message, and
where. It shares nothing with the gateway but that text (and the definition of the form, app/content/name_text.h)."""
import re
import unicodedata

WHITE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
UNSEEN = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
                    "\ufe00-\ufe0f\ufeff]")


def folded(text):
    """Letters of one case, compatibility forms replaced; each on its own, so that no composition hides a letter."""
    before = None
    while text != before:
        before, text = text, unicodedata.normalize("NFKD", text.casefold())
    return text


def groups(text):
    """[(form, from, to)] of each character with its marks: where it stands in UTF-8. What nobody sees is in none."""
    found, at = [], 0
    for char in text:
        end = at + len(char.encode())
        if WHITE.match(char) and found and found[-1][0] == " ":
            found[-1][2] = end
        elif WHITE.match(char):
            found.append([" ", at, end])
        elif found and unicodedata.combining(char):
            found[-1][0] += char
            found[-1][2] = end
        elif not UNSEEN.match(char):
            found.append([char, at, end])
        at = end
    return [(unicodedata.normalize("NFC", folded(form)), begin, end) for form, begin, end in found]


def form(text):
    return "".join(shape for shape, _, _ in groups(text))


def readings(octets):
    """UTF-8; and where it is none, what an old client means."""
    try:
        return [octets.decode()]
    except UnicodeDecodeError:
        latin = "".join(bytes([octet]).decode("cp1252" if 0x80 <= octet < 0xA0 and octet not in (
            0x81, 0x8D, 0x8F, 0x90, 0x9D) else "latin-1") for octet in octets)
        return [latin, octets.decode(errors="replace")]


def matches(octets, forms):
    """The numbers of the keywords, by their forms, that stand in any reading of a message."""
    texts = [form(text) for text in readings(octets)]
    return {number for number, word in enumerate(forms) if any(word in text for text in texts)}


def masked(octets, forms):
    """The message with the places of these keywords blanked, all of it where it is not in one reading."""
    if len(readings(octets)) > 1:
        return b" " * len(octets)
    shapes = groups(octets.decode())
    text, owner = "".join(shape for shape, _, _ in shapes), [i for i, (shape, _, _) in enumerate(shapes) for _ in shape]
    hit = bytearray(len(text) + 1)
    for word in forms:
        at = text.find(word)
        while at >= 0:
            hit[at:at + len(word)] = b"\1" * len(word)
            at = text.find(word, at + 1)
    out = bytearray(octets)
    for run in re.finditer(b"\1+", bytes(hit)):
        begin, end = shapes[owner[run.start()]][1], shapes[owner[run.end() - 1]][2]
        out[begin:end] = b" " * (end - begin)
    return bytes(out)
