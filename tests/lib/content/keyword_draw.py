# SPDX-License-Identifier: BSD-3-Clause
"""Words for tests of keywords, drawn by a seed: those of captures, and what is nearly one of them."""
import glob
import os
import re
import unicodedata

from content import keyword_oracle as oracle

FOLDERS = ("irc", "xmpp", "yahoo", "msn", "oscar", "http", "smtp", "pop3", "imap", "ftp", "soulseek", "directconnect", "gnutella")
LIKE = {"a": "\u00e4\u0430", "e": "\u00e9\u0435", "o": "\u00f6\u043e", "u": "\u00fc", "n": "\u00f1", "s": "\u0161", "c": "\u0107", "k": "\u212a"}


def corpus_words(corpora, folders=FOLDERS):
    """Words of 5 to 12 letters, as they stand anywhere in the captures."""
    found = set()
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(corpora, "dev", folder, "*.pcap*"))):
            with open(path, "rb") as capture:
                found |= set(re.findall(r"\b[^\W\d_]{5,12}\b", capture.read().decode(errors="replace")))
    return sorted(found)


def near(draw, word):
    """A word that is nearly that one, or is it for who reads it: the oracle says which."""
    at = draw.randrange(len(word))
    before, letter, behind = word[:at], word[at], word[at + 1:]
    like = LIKE.get(letter.lower(), letter)
    return draw.choice((
        lambda: before + draw.choice("abcdefghijklmnopqrstuvwxyz") + behind, lambda: before + behind,
        lambda: before + letter * 2 + behind, word.upper, word.swapcase, lambda: before + draw.choice(like) + behind,
        lambda: before + unicodedata.normalize("NFD", draw.choice(like)) + behind,
        lambda: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in word),
        lambda: before + letter + draw.choice("\u200b\u00ad\u2060\ufe0f") + behind,
        lambda: before + letter + "\u0301" + behind, lambda: before + " " + letter + behind,
        lambda: word.replace("ss", "\u00df").replace("fi", "\ufb01"),
        lambda: before + letter + draw.choice(("\u3000", "  ", "\u00a0")) + behind))()


def keywords(draw, words, count):
    drawn = {}
    while len(drawn) < count:
        word = draw.choice(words)
        word = word if draw.random() < 0.4 else near(draw, word)
        if draw.random() < 0.05:
            word += draw.choice((" ", "-", ".", "'")) + draw.choice(words)
        if oracle.form(word).strip():
            drawn[word] = None
    return list(drawn)


def message(draw, others, drawn):
    """Few words, most of which are no keyword."""
    said = []
    for _ in range(draw.randint(1, 4)):
        word = draw.choice(drawn if draw.random() < 0.2 else others)
        said.append(near(draw, word) if draw.random() < 0.6 else word)
    return draw.choice((" ", " ", " ", ", ", "\u3000", "", "\t")).join(said)
