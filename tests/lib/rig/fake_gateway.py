# SPDX-License-Identifier: BSD-3-Clause
"""A control socket that answers as it is told: for what a real gateway cannot be made to say at will.
`answers` maps a command to its message, or to a function of its arguments; a Refusal is a NOK."""
import json
import os
import socket
import threading


class Refusal(Exception):
    pass


class FakeGateway:
    def __init__(self, path, answers):
        self.path, self.answers, self.asked = path, answers, []
        self.server, self.stuck = None, False
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen(16)
        threading.Thread(target=self.serve, args=(self.server,), daemon=True).start()

    def stop(self):
        """As a gateway that ended: its socket file is gone."""
        server, self.server = self.server, None
        if server:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            os.unlink(self.path)

    def serve(self, server):
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        with client, client.makefile("rb") as lines:
            for line in lines:
                if self.stuck:
                    continue
                question = json.loads(line)
                self.asked.append((question["command"], question["arguments"]))
                answer = self.answers.get(question["command"])
                try:
                    if answer is None:
                        raise Refusal("no command \"%s\"" % question["command"])
                    message = answer(question["arguments"]) if callable(answer) else answer
                    reply = {"return": "OK", "message": message}
                except Refusal as refusal:
                    reply = {"return": "NOK", "message": refusal.args[0]}
                try:
                    client.sendall(json.dumps(reply).encode() + b"\n")
                except OSError:
                    return

    def last(self, command):
        """The arguments of the newest question."""
        return next((arguments for name, arguments in reversed(self.asked) if name == command), None)
