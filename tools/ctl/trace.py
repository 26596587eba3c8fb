# SPDX-License-Identifier: BSD-3-Clause
"""trace: a flow's packets through the stages."""
from .reference import flow_id_of
from .talk import ask


def switch(options):
    message = ask(options, "trace", flow_id=flow_id_of(options), on=options.switch == "on")
    if options.json:
        return message
    print("flow %d is traced: watch the event file for \"trace\"" % message["flow_id"]
          if message["trace"] else "flow %d is not traced any more" % message["flow_id"])
    return None


def run(options):
    return switch(options)
