# SPDX-License-Identifier: BSD-3-Clause
"""The functions of a C file, by its braces: how long each is, and how often it branches.

Lines: from the line with the function's name to its closing brace. Branches: one for each if, for, while, case, &&, ||
and ?, in all that the preprocessor may choose.
"""
import re

import tree

TOKEN = re.compile(r"\n|\w+|&&|\|\||[(){}?;]|[^\s\w(){}?;&|]+|.")
BRANCHES = {"if", "for", "while", "case", "&&", "||", "?"}


def functions(name):
    """(name, line, lines, branches) of each function; ValueError where the braces do not match."""
    # without the preprocessor's lines
    source = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m[0].count("\n"), tree.code(name), flags=re.M)
    depth = brackets = branches = begin = 0
    line, last, called = 1, "", None
    for token in TOKEN.findall(source):
        if token == "\n":
            line += 1
            continue
        if token.isspace():
            continue
        if token == "(":
            if not depth and not brackets and re.fullmatch(r"(?!__)\w+", last):
                called, called_line = last, line
            brackets += 1
        elif token == ")":
            brackets -= 1
        elif token == "{":
            if not depth and last == ")" and called:
                begin, branches = called_line, 0
            depth += 1
        elif token == "}":
            depth -= 1
            if not depth:
                if begin:
                    yield called, begin, line - begin + 1, branches
                begin, called = 0, None
        elif token == ";" and not depth:
            called = None
        branches += token in BRANCHES
        last = token
    if depth or brackets:
        raise ValueError(f"{name}:{line}: the braces do not match")
