# SPDX-License-Identifier: BSD-3-Clause
"""The loop of a live view: asks, draws, waits for a key, asks again. A gateway that goes away is
told, and asked again until it is back."""
import json
import sys
import time

from . import show
from .screen import Screen
from .talk import Question, Refused, Unreachable

RETRY_S = 1.0


class View:
    """What a live view is: override `question`, `take`, `lines`, `key`."""

    interval = 1.0
    paused = False
    done = False

    def __init__(self, options):
        self.options = options
        self.interval = getattr(options, "interval", None) or 1.0
        self.rounds, self.rounds_max = 0, options.count
        self.problem, self.answered = None, False
        self.colours = show.has_colours()

    def question(self):
        """(command, arguments)"""
        raise NotImplementedError

    def take(self, message):
        """The answer; returns what --json prints of it, None: nothing yet."""
        raise NotImplementedError

    def lines(self, columns, rows):
        """What is seen: texts, or (colour, text). No rows: all of it, and no colours."""
        raise NotImplementedError

    def gone(self):
        """The gateway is not there; what it said before does not count any more."""

    def key(self, key):
        """True: ask again at once."""
        return False

    # Run

    def ask(self, screen):
        """The answer, while keys work; None when a key wants something else first."""
        command, arguments = self.question()
        question = Question(self.options, command, arguments)
        try:
            while not self.done:
                got = screen.wait(time.monotonic() + 3600, question)
                if isinstance(got, tuple):
                    return got[0]
                if got is not None:
                    if self.pressed(got):
                        return None
                    self.show(screen)
        finally:
            question.close()
        return None

    def pressed(self, key):
        if key in ("q", "Q", "\x04"):
            self.done = True
        elif key in ("p", " "):
            self.paused = not self.paused
        elif key != "resize":
            return self.key(key)
        return False

    def show(self, screen):
        if self.options.json or not screen.in_place:
            return
        columns, rows = screen.size()
        lines = self.lines(columns, rows)
        if self.problem:
            lines = [("red", line) for line in show.wrapped(self.problem, columns) + ["trying again"]] + lines
        lines = [line if isinstance(line, tuple) else (None, line) for line in lines[:rows]]
        screen.draw([show.paint(colour, text[:columns], self.colours) for colour, text in lines])

    def tell(self, screen, answer):
        """A new answer, where nothing is drawn in place."""
        if self.options.json:
            if answer is not None:
                print(json.dumps(answer), flush=True)
        elif not screen.in_place:
            columns = screen.size()[0] if screen.is_tty else 0
            screen.draw(self.lines(columns, 0))
        else:
            self.show(screen)

    def fail(self, screen, error):
        text = str(error) if isinstance(error, Unreachable) else show.clean(
            error.message.get("text", "refused") if isinstance(error.message, dict) else error.message)
        if not self.problem:
            self.gone()
            if not screen.in_place:
                print("sluicectl: %s; trying again" % text, file=sys.stderr, flush=True)
        self.problem = text
        self.show(screen)

    def look(self, screen):
        """One round; the seconds until the next."""
        try:
            message = self.ask(screen)
        except (Unreachable, Refused) as error:
            if not self.answered:
                raise  # it was never there, or never could: that is a mistake, not an outage
            self.fail(screen, error)
            return RETRY_S
        if message is None:
            return 0.0
        self.answered = True
        if self.problem:
            self.problem = None
            if not screen.in_place:
                print("sluicectl: the gateway answers again", file=sys.stderr, flush=True)
        answer = self.take(message)
        if answer is not None:
            self.rounds += 1
            self.tell(screen, answer)
            self.done = self.done or self.rounds == self.rounds_max
        return self.interval

    def run(self):
        try:
            self.go_on()
        except KeyboardInterrupt:
            pass  # how one leaves

    def go_on(self):
        with Screen(plain=self.options.json) as screen:
            due = time.monotonic()
            while not self.done:
                now = time.monotonic()
                wait = self.look(screen)
                # A late answer does not make the next one early.
                due = max(due + wait, time.monotonic()) if wait == self.interval else now + wait
                while not self.done:
                    got = screen.wait(due)
                    if got is None:
                        if not self.paused:
                            break
                        due = time.monotonic() + 3600
                        continue
                    was_paused = self.paused
                    again = self.pressed(got)
                    self.show(screen)
                    if again or (was_paused and not self.paused):
                        due = time.monotonic()
                        break
