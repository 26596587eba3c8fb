# SPDX-License-Identifier: BSD-3-Clause
"""Where C code can be mutated, and into what: found in clang's syntax tree (python3-clang)."""
import ctypes
import json
import os
import re
import shlex
from dataclasses import dataclass, field

from clang import cindex

K = cindex.CursorKind
COMPARE = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
OTHER = {
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"],
    "/": ["*"], "%": ["/"],
}
COMPOUND = {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="}
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.S)  # or a string, which stays
# What holds in every good run, and the faults of the models' own, change nothing for anybody: not mutated inside.
ASSERTIONS = re.compile(r"\b(assert|MUTATED|static_assert|_Static_assert|RTE_ASSERT|RTE_BUILD_BUG_ON|__builtin_offsetof|offsetof)\s*\(")
# Which of two texts is asked for first does not matter to whether they are the same.
SAME = re.compile(r"(str|mem|strn|strcase|strncase)cmp|json_equal")
NO_FAULT = re.compile(r"FAULT\(\w+\)")  # of the models: false in every build but theirs
# The same of a function of ours that says whether two things are one, and has no other argument.
SYMMETRIC = re.compile(r"(\w*_)?(same|equal)(_\w*)?")
# What no test can notice, and no user: one octet more of a block of memory (one less is an overflow, and drawn); a hint
# to the processor that is not given.
ALLOCATIONS = re.compile(r"\b(malloc|calloc|realloc|reallocarray|rte_z?malloc(_socket)?|rte_calloc(_socket)?)\s*\(")
HINTS = re.compile(r"(rte_pause|rte_prefetch\w+|__builtin_prefetch)\s*\(")
NAME = re.compile(r"[A-Z][A-Z0-9_]*")
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*")
INTEGERS = {
    cindex.TypeKind.BOOL, cindex.TypeKind.UCHAR, cindex.TypeKind.CHAR_S, cindex.TypeKind.SCHAR,
    cindex.TypeKind.USHORT, cindex.TypeKind.SHORT, cindex.TypeKind.UINT, cindex.TypeKind.INT,
    cindex.TypeKind.ULONG, cindex.TypeKind.LONG, cindex.TypeKind.ULONGLONG, cindex.TypeKind.LONGLONG,
    cindex.TypeKind.ENUM,
}  # fmt: skip


@dataclass
class Site:
    """One mutant: the bytes start..end of a file, an expression or a statement, and what they become."""

    file: str
    function: str
    line: int
    start: int
    end: int
    what: str
    original: str
    mutated: str  # "" drops a statement
    statement: bool = False
    number: int = 0
    last_line: int = 0
    result: str = ""
    by: str = ""
    draw: str = ""  # which it is of
    ran: int = 0
    reached: list = field(default_factory=list)

    def change(self):
        return f"{one_line(self.original)} -> {one_line(self.mutated) or '(nothing)'}"

    def key(self):
        return (self.file, self.function, self.change())


def one_line(text):
    return " ".join(COMMENT.sub(lambda m: m[1] or " ", text).split())


def is_zero_name(value):
    """A constant of an enum that is 0: to return 0 instead changes nothing."""
    names = [c.referenced for c in value.walk_preorder() if c.kind == K.DECL_REF_EXPR and c.referenced]
    return len(names) == 1 and names[0].kind == K.ENUM_CONSTANT_DECL and names[0].enum_value == 0


def closing(text, at):
    """The offset behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i + 1
    return len(text)


class Finder:
    """The sites of one file of the tree, which the unit `tu` contains."""

    def __init__(self, tu, path, name):
        self.path, self.name, self.sites = path, name, []
        with open(path, "rb") as file:
            self.text = file.read().decode("latin-1")  # an offset is one of bytes
        blank = COMMENT.sub(lambda m: m[1] or re.sub(r"[^\n]", " ", m.group()), self.text)
        self.untouched = [(m.start(), closing(blank, m.end() - 1)) for m in ASSERTIONS.finditer(blank)]
        self.allocations = [(m.start(), closing(blank, m.end() - 1)) for m in ALLOCATIONS.finditer(blank)]
        self.switch_ends = set()
        self.lib = cindex.conf.lib
        self.lib.clang_getFileLocation.restype = None
        for cursor in tu.cursor.get_children():
            if cursor.kind == K.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.function = cursor.spelling
                for child in cursor.get_children():
                    if child.kind == K.COMPOUND_STMT:
                        self.walk(child, cursor)

    def is_here(self, cursor):
        file = cursor.location.file
        return file is not None and os.path.realpath(file.name) == self.path

    def offset(self, location):
        """In the file itself, also inside the arguments of a macro."""
        file, line, column, at = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        self.lib.clang_getFileLocation(
            location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column), ctypes.byref(at)
        )
        return at.value

    def span(self, cursor):
        """Where a constant that is a macro ends another macro's argument, clang stops in front of it."""
        start, end = self.offset(cursor.extent.start), self.offset(cursor.extent.end)
        cut = self.text[start:end].rstrip().endswith(tuple("<>=+-*/&|%"))
        more = re.compile(r"[A-Z][A-Z0-9_]*\b(?!\s*\()").match(self.text, end) if cut else None
        return start, more.end() if more else end

    def add(self, start, end, what, mutated, statement=False):
        if start >= end or any(a <= start < b for a, b in self.untouched):
            return
        line = self.text.count("\n", 0, start) + 1
        last = line + self.text.count("\n", start, end)
        original = self.text[start:end]
        if what == "never" and NO_FAULT.fullmatch(original):
            return
        if "\n#" in original or one_line(original) == one_line(mutated):
            return
        if any(text.count("(") != text.count(")") for text in (original, mutated)):
            return
        self.sites.append(
            Site(self.name, self.function, line, start, end, what, original, mutated, statement, last_line=last)
        )

    def walk(self, cursor, parent):
        kind = cursor.kind
        if kind in (K.CASE_STMT, K.DEFAULT_STMT):
            children = list(cursor.get_children())
            for child in children[1:] if kind == K.CASE_STMT else children:
                self.take(child, cursor)
            return
        if kind == K.SWITCH_STMT:
            self.switch_ends.add(self.span(cursor)[1])
        if kind in (K.CXX_UNARY_EXPR, K.STRUCT_DECL, K.ENUM_DECL):  # sizeof, alignof; constants
            return
        if kind == K.VAR_DECL:
            if cursor.storage_class == cindex.StorageClass.STATIC:
                return
            if cursor.type.kind == cindex.TypeKind.CONSTANTARRAY:
                for child in cursor.get_children():
                    if child.kind == K.INIT_LIST_EXPR:
                        self.take(child, cursor)
                return
        for child in cursor.get_children():
            self.take(child, cursor)

    def take(self, cursor, parent):
        kind = cursor.kind
        if kind == K.BINARY_OPERATOR:
            self.take_binary(cursor, parent)
        elif kind == K.COMPOUND_ASSIGNMENT_OPERATOR:
            self.take_compound(cursor, parent)
        elif kind in (K.IF_STMT, K.CONDITIONAL_OPERATOR):
            self.take_condition(cursor)
        elif kind == K.RETURN_STMT:
            self.take_return(cursor)
        elif kind == K.CALL_EXPR:
            self.take_call(cursor, parent)
        elif kind in (K.BREAK_STMT, K.CONTINUE_STMT):
            self.take_statement(cursor, parent)
        elif kind in (K.INTEGER_LITERAL, K.DECL_REF_EXPR):
            self.take_number(cursor, parent)
        elif kind == K.UNARY_OPERATOR:
            self.take_unary(cursor, parent)
        self.walk(cursor, parent)

    def take_binary(self, cursor, parent):
        children = list(cursor.get_children())
        if len(children) != 2:
            return
        start, end = self.span(cursor)
        (left, left_end), (right, right_end) = self.span(children[0]), self.span(children[1])
        if left != start or right_end != end or left_end > right:
            return
        between = one_line(self.text[left_end:right])
        if between == "=":
            self.take_statement(cursor, parent)
            return
        plain = all(c.type.get_canonical().kind in INTEGERS for c in children)
        if between not in COMPARE and between not in ("&&", "||") and not plain:
            return
        lhs, rhs = self.text[start:left_end], self.text[right:end]
        for other in COMPARE.get(between, []) + OTHER.get(between, []):
            self.add(start, end, "comparison" if between in COMPARE else "operator", f"{lhs} {other} {rhs}")
        if between in ("&&", "||"):
            self.add(start, end, "condition dropped", lhs)
            self.add(start, end, "condition dropped", rhs)
        if between == "-" and plain:
            self.add(start, end, "operands swapped", f"({rhs}) - ({lhs})")

    def take_compound(self, cursor, parent):
        children = list(cursor.get_children())
        start, end = self.span(cursor)
        left_end, right = self.span(children[0])[1], self.span(children[1])[0]
        between = one_line(self.text[left_end:right]) if left_end <= right else ""
        if between in COMPOUND:
            self.add(start, end, "operator", self.text[start:left_end] + COMPOUND[between] + self.text[right:end])
        self.take_statement(cursor, parent)

    def take_condition(self, cursor):
        start, end = self.span(next(cursor.get_children()))
        condition = self.text[start:end]
        self.add(start, end, "negated", f"!({condition})")
        if cursor.kind == K.IF_STMT:
            self.add(start, end, "never", f"({condition}) && 0")
        else:
            self.add(start, end, "always", f"({condition}) || 1")

    def take_return(self, cursor):
        value = next(cursor.get_children(), None)
        if value is None:
            return
        start, end = self.span(value)
        text, kind = self.text[start:end], value.type.get_canonical().kind
        if kind == cindex.TypeKind.BOOL or text in ("true", "false"):
            self.add(start, end, "return", {"true": "false", "false": "true"}.get(text, f"!({text})"))
        elif kind == cindex.TypeKind.POINTER:
            if text != "NULL":
                self.add(start, end, "return", "(void *)0")
        elif kind in INTEGERS:
            if not is_zero_name(value):
                self.add(start, end, "return", "1" if text == "0" else "0")
            if not text.startswith("-"):
                self.add(start, end, "return", f"({text}) + 1")

    def take_call(self, cursor, parent):
        self.take_statement(cursor, parent)
        arguments = list(cursor.get_arguments())
        for one, two in zip(arguments, arguments[1:]):
            if one is None or two is None or one.type.get_canonical().spelling != two.type.get_canonical().spelling:
                continue
            (a, b), (c, d) = self.span(one), self.span(two)
            if a < b <= c < d and self.text[b:c].strip() == ",":
                start, end = self.span(cursor)
                if len(arguments) == 2 and SYMMETRIC.fullmatch(cursor.spelling) and cursor.type.kind == cindex.TypeKind.BOOL:
                    continue
                if one is arguments[0] and SAME.fullmatch(cursor.spelling) and self.is_asked_same(start, end):
                    continue
                if start <= a and d <= end:
                    swapped = self.text[start:a] + self.text[c:d] + ", " + self.text[a:b] + self.text[d:end]
                    self.add(start, end, "arguments swapped", swapped)

    def is_asked_same(self, start, end):
        """Of the comparison there: whether only equal or not is taken from it, not which is the less."""
        if re.match(r"\s*(<|>|==\s*[^0\s]|!=\s*[^0\s])", self.text[end:]):
            return False
        return self.text[:start].rstrip().endswith("!") or bool(re.match(r"\s*[!=]= 0\b", self.text[end:]))

    def take_statement(self, cursor, parent):
        if parent.kind not in (K.COMPOUND_STMT, K.IF_STMT, K.CASE_STMT, K.FOR_STMT, K.WHILE_STMT):
            return
        start, end = self.span(cursor)
        rest = re.match(r"\s*;", self.text[end:])
        if not rest:  # a condition, the head of a loop, or a macro's
            return
        if parent.kind == K.FOR_STMT and cursor != list(parent.get_children())[-1]:
            return
        if HINTS.match(self.text, start) or self.ends_switch(cursor, end + rest.end()):
            return
        self.add(start, end + rest.end(), "dropped", "", statement=True)

    def ends_switch(self, cursor, end):
        """A break behind which the switch ends in any case."""
        bracket = re.match(r"\s*}", self.text[end:])
        return cursor.kind == K.BREAK_STMT and bracket and end + bracket.end() in self.switch_ends

    def take_number(self, cursor, parent):
        start, end = self.span(cursor)
        text = self.text[start:end]
        if cursor.kind == K.DECL_REF_EXPR:
            known = cursor.referenced
            if known is None or known.kind != K.ENUM_CONSTANT_DECL or known.semantic_parent.spelling:
                return
        if parent.kind == K.CHARACTER_LITERAL or not (NUMBER.fullmatch(text) or NAME.fullmatch(text)):
            return
        if text in ("NULL", "EINTR", "EAGAIN"):
            return
        if not any(a <= start < b for a, b in self.allocations):
            self.add(start, end, "constant", f"{text} + 1")
        if text not in ("0", "UINT64_MAX"):  # of what never comes, in nanoseconds, one less is as far away
            self.add(start, end, "constant", f"{text} - 1")

    def take_unary(self, cursor, parent):
        start, end = self.span(cursor)
        text = self.text[start:end]
        if text.startswith("!"):
            self.add(start, end, "negated", text[1:])
        elif text.startswith("~"):
            self.add(start, end, "operator", text[1:])
        elif text.endswith(("++", "--")) or text.startswith(("++", "--")):
            self.take_statement(cursor, parent)


class Tree:
    """The sources of app/ and lib/transportapi, and how each is compiled."""

    def __init__(self, root, build):
        self.root, self.index, self.commands = root, cindex.Index.create(), {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
                name = os.path.relpath(path, root)
                if name.startswith(("app/", "lib/transportapi/")) and "/example/" not in name:
                    self.commands.setdefault(name, entry)
        self.found = {}

    def names(self):
        """The files with code: sources, and headers with inline functions. {name: lines}"""
        counted = {}
        for folder in ("app", "lib/transportapi"):
            for at, folders, files in os.walk(os.path.join(self.root, folder)):
                folders.sort()
                for name in sorted(files):
                    full = os.path.relpath(os.path.join(at, name), self.root)
                    with open(os.path.join(at, name), encoding="utf-8") as file:
                        text = file.read() if name.endswith((".c", ".h")) else ""
                    if full in self.commands or (name.endswith(".h") and re.search(r"^static inline", text, re.M)):
                        counted[full] = text.count("\n")
        return counted

    def unit_for(self, name):
        """A source that contains the file: itself, or the first that includes the header by name."""
        if name in self.commands:
            return name
        pattern = re.compile(rf'#include "([\w/]*/)?{re.escape(os.path.basename(name))}"')
        for source in sorted(self.commands):
            with open(os.path.join(self.root, source), encoding="utf-8") as file:
                if pattern.search(file.read()):
                    return source
        return None

    def sites(self, name):
        if name not in self.found:
            unit = self.unit_for(name)
            self.found[name] = self.parse(name, unit) if unit else []
        return self.found[name]

    def parse(self, name, unit):
        entry = self.commands[unit]
        words, keep = shlex.split(entry["command"]), []
        for word, following in zip(words, words[1:] + [""]):
            if word.startswith(("-I", "-D", "-isystem", "-std", "-m")) and word != "-MD":
                keep.append(word)
                if word in ("-I", "-isystem"):
                    keep.append(following)
        old = os.getcwd()
        os.chdir(entry["directory"])
        try:
            tu = self.index.parse(os.path.join(self.root, unit), [*keep, "-Wno-everything"])
            bad = [d for d in tu.diagnostics if d.severity >= cindex.Diagnostic.Error]
            if bad:
                raise SystemExit(f"tools/mutate: clang cannot read {unit}: {bad[0].spelling} ({bad[0].location})")
            return Finder(tu, os.path.join(self.root, name), name).sites
        finally:
            os.chdir(old)
