# SPDX-License-Identifier: BSD-3-Clause
"""Parses, runs one command, and turns what went wrong into words and an exit code."""
import importlib
import json
import os
import signal
import sys

from . import grammar, show, talk

EXIT_REFUSED, EXIT_USAGE, EXIT_UNAVAILABLE = 1, 2, 69


def print_refusal(message):
    if isinstance(message, dict):
        print("sluicectl: %s" % show.clean(message.get("text", "refused")), file=sys.stderr)
        for line in message.get("errors", []):
            print("  %s" % show.clean(line), file=sys.stderr)
        if message.get("errors_dropped"):
            print("  and %d more" % message["errors_dropped"], file=sys.stderr)
    else:
        print("sluicectl: %s" % show.clean(message), file=sys.stderr)


def settle(options):
    options.json = getattr(options, "json", False)
    options.socket = getattr(options, "socket", None) or os.environ.get("SLUICE_SOCKET") or talk.DEFAULT_SOCKET
    options.timeout = getattr(options, "timeout", talk.DEFAULT_TIMEOUT_S)


def command(options):
    module, function = options.function.split(":")
    return getattr(importlib.import_module("." + module, __package__), function)


def main(arguments):
    if arguments[:1] == ["complete"]:  # called by the shells' completion, not by people
        from . import complete

        return complete.main(arguments[1:])
    words = grammar.grammar_new()
    grammar.Parser.given, grammar.Parser.commands = arguments, [prog.split(" ", 1)[1] for prog in words.leaves]
    first = next((word for word in arguments if not word.startswith("-") or word == "--"), None)
    if first and first not in words.nouns.choices:  # "--sock X": X is no noun, the option is what is wrong
        for word in arguments[:arguments.index(first)]:
            if word.split("=")[0] not in words.parser._option_string_actions:
                words.parser.error("unrecognized arguments: %s" % word)
    options, unknown = words.parser.parse_known_args(arguments)
    if unknown:  # told by the command whose options they are not
        options.leaf.error("unrecognized arguments: %s" % " ".join(unknown))
    settle(options)
    try:
        message = command(options)(options)
        if message is not None:
            print(json.dumps(message, indent=2))
        sys.stdout.flush()
    except talk.Refused as refused:
        if options.json:
            print(json.dumps({"return": "NOK", "message": refused.message}, indent=2))
        print_refusal(refused.message)
        return EXIT_REFUSED
    except talk.Wrong as error:
        options.leaf.error(str(error))
    except talk.Unreachable as error:
        print("sluicectl: %s" % error, file=sys.stderr)
        return EXIT_UNAVAILABLE
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing is left to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0
