# SPDX-License-Identifier: BSD-3-Clause
"""The command line: every noun, verb and option. Usage, help, completion and the tests of the man
page read it from here. What does the work is named "module:function" and loaded when it is needed."""
import argparse
import json
import os
import re
import sys

from .talk import DEFAULT_SOCKET

DESCRIPTION = "Asks a running sluice gateway, and tells it what to do, over its control socket."
EPILOG = """\
examples:
  sluicectl stats                          counters, ports, what was dropped and why
  sluicectl top --by app                   who uses the line, live
  sluicectl flow list --app bittorrent     live flows of one application
  sluicectl explain 1187361987012          why a flow was decided as it was, step by step
  sluicectl flow allow 1187361987012       lets it through, whatever the policy says
  sluicectl cache list                     peers that are kept out
  sluicectl transfers --refused            files that rules refused last
  sluicectl policy diff new.json           what a reload would change, without doing it
  sluicectl policy reload                  read the policy file again; returns when all lcores obey

FLOW is the number that lists and events show, or SRC:PORT-DST:PORT/PROTO ([2001:db8::1]:80 for IPv6),
or a community id ("1:...").
The socket is --socket, else $SLUICE_SOCKET, else %s. sluicectl NOUN --help tells more.
exit status: 0 done; 1 the gateway says no, or an audit log is broken; 2 wrong usage; 69 the gateway cannot be reached.
""" % DEFAULT_SOCKET

CONFIDENCES = ("port", "ip", "cache", "partial", "dpi", "verified")
LEVELS = ("error", "warning", "notice", "info", "debug")
TOP_BY = ("flow", "host", "user", "app", "rule", "category")
GROUPS = TOP_BY[1:]
TOP_ORDER = ("rate", "bytes", "flows")


def number_type(name, low, high=None):
    def convert(text):
        value = int(text)
        if value < low or (high is not None and value > high):
            raise ValueError
        return value

    convert.__name__ = name
    return convert


positive = number_type("positive number", 1)
count = number_type("count", 0)


def seconds(text):
    """"300", "90s", "5m", "2h", "7d"."""
    match = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    value = int(match.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match.group(2)] if match else 0
    if value <= 0:
        raise ValueError
    return value


seconds.__name__ = "time (300, 5m, 2h, 7d)"


def size(text):
    """Bytes: "1500", "10k", "20M", "1G"."""
    match = re.fullmatch(r"(\d{1,12})([kKMGT]?)B?", text)
    if not match:
        raise ValueError
    return int(match.group(1)) * {"": 1, "k": 10 ** 3, "K": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9, "T": 10 ** 12}[
        match.group(2)]


size.__name__ = "size (1500, 10k, 20M, 1G)"


def interval(text):
    value = float(text)
    if not 0.1 <= value <= 3600:
        raise ValueError
    return value


interval.__name__ = "interval (0.1 to 3600 seconds)"


def timeout(text):
    value = float(text)
    if not 0 < value <= 86400:
        raise ValueError
    return value


timeout.__name__ = "time-out (seconds)"


# What others call it; a verb alone, or of another grammar.
SYNONYMS = {"flows": "flow list", "connections": "flow list", "sessions": "flow list", "rules": "policy show",
            "status": "stats", "counters": "stats", "block": "cache add", "unblock": "cache del", "ban": "cache add",
            "kill": "flow reset", "why": "explain", "watch": "top", "monitor": "top",
            "load": "policy reload", "reload": "policy reload", "config": "policy show", "ls": "flow list"}
VERBS = {"rm": "del", "remove": "del", "delete": "del", "ls": "list", "get": "show", "print": "show", "clear": "flush",
         "load": "reload", "apply": "reload", "set": "reload", "test": "check", "validate": "check", "block": "reset",
         "kill": "reset", "drop": "reset", "unblock": "allow", "pass": "allow"}


def meant_command(wrong, following, commands):
    """The command that "cache-list", "list cache", "reload" may have meant; None."""
    parts = re.split("[-_:.]", wrong)
    for words in (parts, parts[::-1], parts + following[:1], following[:1] + parts):
        if " ".join(words) in commands:
            return " ".join(words)
    of_verb = [command for command in commands if command.split()[-1] == wrong]
    if SYNONYMS.get(wrong) or not of_verb:
        return SYNONYMS.get(wrong)
    return of_verb[0] if len(of_verb) == 1 else None


class Parser(argparse.ArgumentParser):
    """Says what may have been meant. No abbreviations: a script must not break by a new option."""

    given, commands = (), ()  # the command line, and every command: for a noun that is none

    def __init__(self, **words):
        super().__init__(allow_abbrev=False, **words)

    def error(self, message):
        words = []
        meant = None
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong:
            words = re.findall(r"'([^']*)'", wrong.group(2))
            given = list(Parser.given)
            if "argument NOUN" in message and wrong.group(1) in given:
                meant = meant_command(wrong.group(1), given[given.index(wrong.group(1)) + 1:], Parser.commands)
                meant = meant and "sluicectl " + meant
            elif "argument VERB" in message and VERBS.get(wrong.group(1)) in words:
                meant = VERBS[wrong.group(1)]
        elif message.endswith("are required: VERB") or message.endswith("are required: NOUN"):
            message += ", one of: " + ", ".join(name for action in self._actions if action.choices
                                                for name in action.choices if name != "debug")
        else:
            wrong = re.match(r"unrecognized arguments: (--[\w-]+)", message)
            words = [option for action in self._actions for option in action.option_strings]
        if wrong:
            import difflib  # only mistakes pay for it

            near = [meant] if meant else difflib.get_close_matches(wrong.group(1), words, 1)
            message += "; did you mean %s?" % near[0] if near else ""
        self.print_usage(sys.stderr)
        self.exit(2, "%s: %s\nTry '%s --help'.\n" % (self.prog, message, self.prog))


def live(action, kind):
    """What completion offers for it: words that the gateway knows, or files."""
    action.live = kind
    return action


def add_app(parser, text):
    live(parser.add_argument("--app", metavar="NAME", help=text), "app")


def add_filters(parser):
    add_app(parser, "only this application (\"unknown\": without one)")
    live(parser.add_argument("--category", metavar="NAME", help="only applications of it: p2p, im, ..."), "category")
    parser.add_argument("--host", metavar="NET", help="only with an end in NET (10.0.0.1, 10.0.0.0/8, 2001:db8::/32)")
    live(parser.add_argument("--user", metavar="NAME", help="only of that user's addresses (\"(none)\": of nobody's)"),
         "user")
    parser.add_argument("--port", type=number_type("port", 1, 65535), metavar="N", help="only with that port at an end")
    parser.add_argument("--proto", metavar="NAME", help="only this protocol: tcp, udp, icmp, or its number")
    live(parser.add_argument("--rule", metavar="ID", help="only decided by that rule (\"default\": by none)"), "rule")
    parser.add_argument("--state", choices=("new", "established", "closed", "condemned"), help="only in that state")
    parser.add_argument("--action", choices=("pass", "drop", "reset"), help="only with that decision")
    parser.add_argument("--confidence", choices=CONFIDENCES, help="only with an application known at least so well")
    parser.add_argument("--direction", choices=("outbound", "inbound"), help="only begun inside, or outside")
    parser.add_argument("--min-bytes", type=size, metavar="SIZE", help="only that carried so much (20M)")
    parser.add_argument("--elephants", action="store_true", help="only those flagged as fast for long")


def add_page(parser, most):
    parser.add_argument("--limit", type=positive, metavar="N", help="at most N (100; up to 1000)")
    parser.add_argument("--offset", type=count, metavar="N", help=f"leave out the first N (up to {most})")


def add_flow(parser):
    live(parser.add_argument("flow", metavar="FLOW", help="its number, SRC:PORT-DST:PORT/PROTO, or community id"),
         "flow")


def add_policy_file(parser, text):
    live(parser.add_argument("file", nargs="?", metavar="FILE", help=text), "file")


def add_pair(parser):
    parser.add_argument("src", metavar="SRC", help="the address of the client, who is kept from connecting")
    parser.add_argument("dest", metavar="DEST", help="the server: an address, or ADDRESS:PORT ([2001:db8::1]:80)")
    parser.add_argument("--proto", metavar="NAME", help="protocol of the port: tcp (the default), udp")
    parser.add_argument("--mode", choices=("tuple", "peer"), help="that port (tuple), or all ports and protocols (peer)")
    parser.add_argument("--zone", choices=("inside", "outside"), help="where SRC is (inside)")
    parser.add_argument("--vlan", type=number_type("VLAN", 0, 4095), metavar="N", help="in that VLAN")


# Commands of the control socket that are asked under another name, or as a part of others.
ELSEWHERE = ("help", "stages", "log-level", "endpoint-list", "name-list", "trace-read", "scan-test-begin",
             "scan-test-add", "scan-test-run")


def value(text):
    """What JSON it is, else a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Grammar:
    """Builds the parser; `leaves` are its commands, for completion and tests."""

    def __init__(self):
        # May stand before or behind NOUN VERB; the one behind must not reset what stood before.
        self.options = Parser(add_help=False, argument_default=argparse.SUPPRESS)
        self.options.add_argument("--json", action="store_true", help="the gateway's answer as JSON")
        live(self.options.add_argument("--socket", metavar="PATH", help="the control socket"), "file")
        self.options.add_argument("--timeout", type=timeout, metavar="S", help="wait at most S seconds for an answer (30)")
        self.parser = Parser(prog="sluicectl", description=DESCRIPTION, epilog=EPILOG, parents=[self.options],
                             formatter_class=argparse.RawDescriptionHelpFormatter)
        self.nouns = self.parser.add_subparsers(dest="noun", metavar="NOUN", required=True)
        self.leaves, self.hidden, self.plain, self.verbs = {}, set(), set(), {}

    def leaf(self, group, name, function, text, hidden=False):
        words = {} if hidden else {"help": text}
        sub = group.add_parser(name, description=text[0].upper() + text[1:] + ".", parents=[self.options], **words)
        sub.set_defaults(function=function, leaf=sub)
        self.leaves[sub.prog] = sub
        if hidden:
            self.hidden.add(sub.prog)
        return sub

    def noun(self, name, text, hidden=False):
        words = {} if hidden else {"help": text}
        sub = self.nouns.add_parser(name, description=text[0].upper() + text[1:] + ".", **words)
        self.verbs[name] = sub.add_subparsers(dest="verb", metavar="VERB", required=True)
        return self.verbs[name]

    def add_plain(self):
        """Commands that have no view of their own: as commands.json, the gateway's `help`, tells of them."""
        with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as file:
            told = json.load(file)
        for command in told:
            words = command["command"].split("-", 1)
            if command["command"] in ELSEWHERE or "sluicectl " + " ".join(words) in self.leaves:
                continue
            group = self.nouns if len(words) == 1 else self.verbs.get(words[0]) or self.noun(words[0], words[0])
            leaf = self.leaf(group, words[-1], "general:plain", command["help"])
            leaf.set_defaults(plain=command)
            self.plain.add(leaf.prog)
            for name in command["arguments"].split(", ") if command["arguments"] else ():
                leaf.add_argument("--" + name.replace("_", "-"), dest=name, type=value, metavar=name.upper())


def add_stats(grammar):
    stats = grammar.leaf(grammar.nouns, "stats", "stats:run", "counters, ledger, ports, lcores")
    stats.add_argument("--all", action="store_true", help="every counter that is not 0")
    stats.add_argument("--watch", nargs="?", type=interval, const=1.0, metavar="S",
                       help="what moves, again every S seconds (1), until q or Ctrl-C")
    stats.add_argument("--count", type=positive, metavar="N", help="with --watch: end after N rounds")


def add_top(grammar):
    top = grammar.leaf(grammar.nouns, "top", "top:run", "who uses the line, live; ? tells the keys")
    top.add_argument("--by", choices=TOP_BY, default="host", help="what a row is (host)")
    top.add_argument("--order", choices=TOP_ORDER, default="rate", help="what is on top (rate)")
    top.add_argument("--side", choices=("inside", "outside", "both"), help="which ends are hosts (inside)")
    top.add_argument("--limit", type=number_type("limit", 1, 1000), metavar="N", help="rows (as many as fit; 20)")
    top.add_argument("--interval", type=interval, default=1.0, metavar="S", help="seconds between two looks (1)")
    top.add_argument("--once", action="store_true", help="one look, printed, and done")
    top.add_argument("--count", type=positive, metavar="N", help="end after N looks")
    add_filters(top)


def add_flows(grammar):
    flow = grammar.noun("flow", "live flows")
    listed = grammar.leaf(flow, "list", "flows:list_flows", "live flows, those that the options ask for")
    add_filters(listed)
    listed.add_argument("--sort", choices=("bytes", "packets", "rate", "age", "idle", "start"),
                        help="most first; without it lcore by lcore")
    listed.add_argument("--reverse", action="store_true", help="with --sort: least first")
    listed.add_argument("--by", choices=GROUPS, help="grouped, with what each group comes to (hosts: inside ends)")
    listed.add_argument("--wide", action="store_true", help="every column, however long the lines get")
    add_page(listed, 100000)
    add_flow(grammar.leaf(flow, "show", "flows:show_flow", "everything about one flow"))
    reset = grammar.leaf(flow, "reset", "flows:reset", "tears a flow down; a new connection is decided anew")
    add_flow(reset)
    reset.add_argument("--cache", choices=("none", "tuple", "peer"),
                       help="keep its peer out, too: that port (tuple), or all (peer); none is the default")
    allow = grammar.leaf(flow, "allow", "flows:allow", "lets a flow pass, whatever the policy says")
    add_flow(allow)
    allow.add_argument("--ttl", type=seconds, metavar="TIME", help="for so long (5m, 2h); else as long as it lives, or 5m if it is blocked")


def add_cache(grammar):
    cache = grammar.noun("cache", "peers of blocked connections, which are kept out")
    listed = grammar.leaf(cache, "list", "cache:list_entries", "entries of the connection cache, newest first")
    add_app(listed, "only of this application")
    listed.add_argument("--host", metavar="NET", help="only with an end in NET")
    add_page(listed, 10000)
    added = grammar.leaf(cache, "add", "cache:add", "keeps SRC from connecting to DEST")
    add_pair(added)
    add_app(added, "note this application beside it")
    live(added.add_argument("--rule", metavar="ID", help="goes when that rule no longer blocks"), "rule")
    added.add_argument("--ttl", type=seconds, metavar="TIME", help="for exactly so long (5m, 7d); else as learned ones")
    add_pair(grammar.leaf(cache, "del", "cache:delete", "removes the entries of this pair"))
    exempt = grammar.leaf(cache, "exempt", "cache:exempt", "addresses for which no entry is made; without NET lists them")
    exempt.add_argument("net", nargs="?", metavar="NET", help="an address or network")
    exempt.add_argument("--off", action="store_true", help="no longer")
    exempt.add_argument("--ttl", type=seconds, metavar="TIME", help="for so long (5m, 7d); until a restart")
    for which, what in (("endpoints", "peers that the DHT, trackers and peers named, told last first"),
                        ("names", "addresses that DNS gave for applications' names, told last first")):
        learned = grammar.leaf(cache, which, "cache:list_" + which, what)
        add_app(learned, "only of this application")
        learned.add_argument("--host", metavar="NET", help="only with an address in NET")
        add_page(learned, 10000)
    grammar.leaf(cache, "flush", "cache:flush", "forgets all entries, also of peers that flow allow let through")


def add_content(grammar):
    content = grammar.noun("content", "content ids that are refused, whatever rules say")
    grammar_id = "btih:..., a magnet or ed2k link, urn:sha1:..., tth:..., sha256:..."
    added = grammar.leaf(content, "add", "content:add", "refuses a content id, also after a restart")
    added.add_argument("id", metavar="ID", help=grammar_id)
    added.add_argument("--comment", metavar="TEXT", help="why")
    added.add_argument("--ttl", type=seconds, metavar="TIME", help="for so long (2h, 7d)")
    grammar.leaf(content, "del", "content:delete", "refuses it no longer").add_argument("id", metavar="ID", help=grammar_id)
    add_page(grammar.leaf(content, "list", "content:list_entries", "the list, what was added last first"), 10000)
    grammar.leaf(content, "flush", "content:flush", "empties the list")


def add_policy(grammar):
    policy = grammar.noun("policy", "the rules in force")
    grammar.leaf(policy, "show", "policy:show_policy", "the policy in force, as JSON")
    add_policy_file(grammar.leaf(policy, "check", "policy:check", "validates a policy file, without loading it"),
                    "default: the file in force")
    diff = grammar.leaf(policy, "diff", "policy:diff", "what a reload would change, for rules and live flows")
    add_policy_file(diff, "default: the file in force, as it is now")
    diff.add_argument("--examples", type=number_type("number of examples", 0, 100), metavar="N",
                      help="flows to show that would be decided otherwise (10)")
    add_policy_file(
        grammar.leaf(policy, "reload", "policy:reload", "puts a policy file in force; on any error the old one stays"),
        "default: the file in force, read again")


def add_recent(grammar):
    for name, what in (("transfers", "files that were transferred or refused last, newest first"),
                       ("chat", "chat messages that rules record or refuse, newest first")):
        listed = grammar.leaf(grammar.nouns, name, "recent:" + name, what)
        add_app(listed, "only of this application")
        listed.add_argument("--host", metavar="NET", help="only with an end in NET")
        live(listed.add_argument("--user", metavar="NAME", help="only of that user's addresses (\"(none)\": of nobody's)"),
             "user")
        live(listed.add_argument("--rule", metavar="ID", help="only that this rule has matched"), "rule")
        listed.add_argument("--id", metavar="ITEM_ID", help="only this file or message: item_id of its records and of the alert")
        listed.add_argument("--refused", action="store_true", help="only what was refused")
        add_page(listed, 10000)
        listed.add_argument("--watch", nargs="?", type=interval, const=1.0, metavar="S",
                            help="again every S seconds (1), until q or Ctrl-C")
        listed.add_argument("--count", type=positive, metavar="N", help="with --watch: end after N rounds")


def add_audit(grammar):
    audit = grammar.noun("audit", "the log of what was seen")
    grammar.leaf(audit, "show", "audit:show", "the log's head, to be kept elsewhere, and what it lacks")
    verify = grammar.leaf(audit, "verify", "audit:verify", "says where an audit log was changed; needs no gateway")
    live(verify.add_argument("path", nargs="+", metavar="PATH", help="files of the log, or the folder it is in"), "file")
    verify.add_argument("--head", metavar="HEX", help="a head that the log had once, as syslog has it: its record must be there")


def add_scan(grammar):
    scan = grammar.noun("scan", "the virus engine")
    grammar.leaf(scan, "show", "scan:show", "its state, signatures, queue and verdicts, files under scan, the slowest ones")
    grammar.leaf(scan, "reload", "scan_reload:reload",
                 "begins to load its signatures anew; until they are there the old ones are used (scan.reload)")
    tested = grammar.leaf(scan, "test", "scan:test", "has the engine in force look at a file; 1 if it is not clean")
    live(tested.add_argument("file", metavar="FILE", help="up to scan.max_file_mb"), "file")


def grammar_new():
    grammar = Grammar()
    add_stats(grammar)
    add_top(grammar)
    add_flows(grammar)
    explain = grammar.leaf(grammar.nouns, "explain", "explain:run", "why a flow was decided as it was, step by step")
    live(explain.add_argument("flow", metavar="FLOW", nargs="?",
                              help="its number, SRC:PORT-DST:PORT/PROTO, or community id; or a host: 10.0.0.7, 192.0.2.9:443"),
         "flow")
    live(explain.add_argument("--user", metavar="NAME", help="flows of this user of the policy"), "user")
    live(explain.add_argument("--rule", metavar="ID", help="flows that this rule decided, or would have"), "rule")
    explain.add_argument("--all", action="store_true", help="the evidence of each flow, not of the first alone")
    trace = grammar.leaf(grammar.nouns, "trace", "trace:run", "follows a flow's packets through the stages, until Ctrl-C")
    add_flow(trace)
    trace.add_argument("switch", nargs="?", choices=("on", "off"),
                       help="only switch it; the stages are then events of type \"trace\"")
    trace.add_argument("--count", type=positive, metavar="N", help="end after N packets")
    add_cache(grammar)
    add_content(grammar)
    add_policy(grammar)
    add_scan(grammar)
    add_recent(grammar)
    add_audit(grammar)
    grammar.leaf(grammar.nouns, "log", "general:log_level", "the level of the gateway's log").add_argument(
        "level", nargs="?", choices=LEVELS, help="sets it")
    debug = grammar.noun("debug", "for tests; refused unless gateway.json says debug", hidden=True)
    stall = grammar.leaf(debug, "stall", "general:debug_stall", "makes a data lcore stand still", hidden=True)
    stall.add_argument("lcore", type=number_type("lcore", 0, 63), metavar="LCORE", help="its number, as stats shows it")
    stall.add_argument("ms", type=number_type("number of milliseconds", 1, 60000), metavar="MS", help="for so long")
    stall.add_argument("--where", choices=("inspect", "driver"), help="looking at a burst (default), or where nobody can help")
    grammar.leaf(grammar.nouns, "version", "general:version", "the running gateway's version")
    grammar.add_plain()
    return grammar
