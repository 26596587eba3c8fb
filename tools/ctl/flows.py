# SPDX-License-Identifier: BSD-3-Clause
"""flow list, show, reset, allow."""
from . import show
from .reference import flow_id_of
from .show import amount, app_of, number, span
from .talk import ask


def filters(options):
    """Of flow list and top."""
    return {"app": options.app, "category": options.category, "host": options.host, "user": options.user, "port": options.port,
            "proto": options.proto, "rule": options.rule, "state": options.state, "action": options.action,
            "confidence": options.confidence, "direction": options.direction, "min_bytes": options.min_bytes,
            "elephant": options.elephants or None}


def list_flows(options):
    order = ("asc" if options.reverse else "desc") if options.sort else None
    message = ask(options, "flow-list", limit=options.limit, offset=options.offset, sort=options.sort, order=order,
                  group=options.by, **filters(options))
    if options.json:
        return message
    flows = message["flows"]
    if options.by:
        grouped(message, options.wide)
    else:
        show.table(*flow_table(flows, options.wide))
    show.shown("flows", message, flows)
    return None


def flow_table(flows, wide):
    """Heads and rows."""
    if wide:
        return ((">flow", "proto", "from", "to", "user", "app", "confidence", "state", "action", "rule", ">sent",
                 ">received", ">rate", ">age", ">idle"),
                [(f["flow_id"], f["proto"], show.end(f["src_ip"], f.get("src_port")),
                  show.end(f["dest_ip"], f.get("dest_port")), f.get("user", "-"), app_of(f),
                  f.get("app", {}).get("confidence", "-"), f["state"], f["action"], f.get("rule", "-"),
                  amount(f["bytes_toserver"]), amount(f["bytes_toclient"]), show.per_second(f.get("rate_bytes_s", 0)),
                  span(f["age_s"]), span(f["idle_s"])) for f in flows])
    return ((">flow", "proto", "from", "to", "app", "action", ">bytes", ">rate", ">idle"),
            [(f["flow_id"], f["proto"], show.end(f["src_ip"], f.get("src_port")),
              show.end(f["dest_ip"], f.get("dest_port")), app_of(f), f["action"],
              amount(f["bytes_toserver"] + f["bytes_toclient"]), show.per_second(f.get("rate_bytes_s", 0)),
              span(f["idle_s"])) for f in flows])


def grouped(message, wide):
    """Each group, what all of its flows come to, and below it those of them that are listed."""
    heads, rows = flow_table(message["flows"], wide)
    by_group = {}
    for flow, row in zip(message["flows"], rows):
        by_group.setdefault(flow["group"], []).append(row)
    for group in message["groups"]:
        listed = by_group.get(group["key"], [])
        more = group["flows"] - len(listed)
        print("%s %s: %s %s, %s, %s" % (
            message["group"], show.clean(group["key"]), number(group["flows"]),
            "flow" if group["flows"] == 1 else "flows", amount(group["bytes"]), show.per_second(group["rate_bytes_s"])))
        if listed:
            for line in show.table_lines(heads, listed):
                print("  " + line)
        if more:
            print("  %s%s of them not shown" % (number(more), " more" if listed else ""))
    left = message["group_keys"] - len(message["groups"])
    if left > 0:
        print("and %s more of these groups; --limit shows them" % number(left))


def details(message):
    """(name, text) of each member, those of objects with the object's name before theirs."""
    for name, value in message.items():
        if isinstance(value, dict):
            yield from (("%s.%s" % (name, inner), inner_value) for inner, inner_value in details(value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for place, item in enumerate(value):
                yield from (("%s[%d].%s" % (name, place, inner), inner_value) for inner, inner_value in details(item))
        elif isinstance(value, list):
            yield name, ", ".join(str(item) for item in value) or "-"
        else:
            yield name, value


def show_flow(options):
    message = ask(options, "flow-show", flow_id=flow_id_of(options))
    if options.json:
        return message
    show.pairs(list(details(message)))
    return None


def reset(options):
    message = ask(options, "flow-reset", flow_id=flow_id_of(options), cache=options.cache)
    if options.json:
        return message
    told = show.counted(message["resets"], "reset") + " sent" if message["resets"] else \
        "no resets: its ends could not be addressed, or it is no TCP"
    print("flow %d is torn down (%s); its packets are dropped" % (message["flow_id"], told))
    if message.get("cache", "none") != "none":
        print("its peer is in the connection cache (%s): sluicectl cache list" % show.clean(message["cache"]))
    return None


def allow(options):
    message = ask(options, "flow-allow", flow_id=flow_id_of(options), ttl_s=options.ttl)
    if options.json:
        return message
    how_long = "for %s" % span(message["ttl_s"]) if "ttl_s" in message else "as long as it lives"
    if message.get("was") == "condemned":
        print("flow %d was blocked, and is forgotten: its ends may connect again %s" % (message["flow_id"], how_long))
    else:
        print("flow %d passes %s, whatever the policy says" % (message["flow_id"], how_long))
    return None
