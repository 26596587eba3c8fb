# SPDX-License-Identifier: BSD-3-Clause
"""cache list, endpoints, names, add, del, exempt, flush."""
from . import show
from .reference import endpoint
from .show import amount, app_of, number, span
from .talk import Wrong, ask


def list_entries(options):
    message = ask(options, "cache-list", app=options.app, host=options.host, limit=options.limit,
                  offset=options.offset)
    if options.json:
        return message
    show.table(("from", "to", "proto", "app", "rule", "mode", ">hits", ">saved", ">ends in"),
               [(e["src_ip"], show.end(e["dest_ip"], e.get("dest_port")), e.get("proto", "any"), app_of(e),
                 e.get("rule", "(operator)" if e.get("operator") else "-"),
                 "allowed" if e.get("allowed") else e["mode"], number(e["hits"]), amount(e["saved_bytes"]), span(e["ttl_s"]))
                for e in message["entries"]])
    show.shown("entries", message, message["entries"])
    return None


def learned(options, command, where, end):
    message = ask(options, command, app=options.app, host=options.host, limit=options.limit, offset=options.offset)
    if options.json:
        return message
    show.table(where + ("app", "from", ">flows", ">told by", ">ends in"),
               [end(e) + (app_of(e), e["from"], number(e["hits"]), str(e.get("told_by", "-")), span(e["ttl_s"]))
                for e in message["entries"]])
    show.shown("entries", message, message["entries"])
    return None


def list_endpoints(options):
    return learned(options, "endpoint-list", ("endpoint", "proto"),
                   lambda e: (show.end(e["address"], e["port"]), e["proto"]))


def list_names(options):
    return learned(options, "name-list", ("address", "client"), lambda e: (e["address"], e.get("client", "any")))


def pair(options):
    src_ip, src_port = endpoint(options.src)
    dest_ip, dest_port = endpoint(options.dest)
    if src_port:
        raise Wrong("SRC has a port: the cache knows clients by address alone; write %s" % src_ip)
    if options.proto and not dest_port:
        raise Wrong("--proto is of a port: write DEST as %s" % show.end(dest_ip, 443))
    if options.mode == "tuple" and not dest_port:
        raise Wrong("--mode tuple is for one port: write DEST as %s" % show.end(dest_ip, 443))
    return {"src_ip": src_ip, "dest_ip": dest_ip, "dest_port": dest_port, "proto": options.proto,
            "mode": options.mode, "zone": options.zone, "vlan": options.vlan}


def add(options):
    message = ask(options, "cache-add", app=options.app, rule=options.rule, ttl_s=options.ttl, **pair(options))
    if options.json:
        return message
    entry = message["entry"]
    print("%s may not connect to %s%s for %s" % (
        show.clean(entry["src_ip"]), show.clean(show.end(entry["dest_ip"], entry.get("dest_port"))),
        " (%s)" % show.clean(entry["proto"]) if "proto" in entry else ", any port,", span(entry["ttl_s"])))
    return None


def delete(options):
    message = ask(options, "cache-del", **pair(options))
    if options.json:
        return message
    print("%s removed" % entries(message["deleted"]))
    return None


def exempt(options):
    if not options.net and (options.off or options.ttl):
        raise Wrong("cache exempt: NET is missing, which address or network?")
    if options.off and options.ttl:
        raise Wrong("cache exempt: --off takes no --ttl")
    arguments = {"address": options.net, "on": not options.off, "ttl_s": options.ttl} if options.net else {}
    message = ask(options, "cache-exempt", **arguments)
    if options.json:
        return message
    if options.net:
        how_long = "" if options.off else " for %s, or until a restart" % span(options.ttl) if options.ttl else " until a restart"
        print("%s is %s%s%s" % (options.net, "not exempt any more" if options.off else "exempt", how_long, (
            "; " + entries(message["deleted"]) + " removed") if message.get("deleted") else ""))
    else:
        show.table(("exempt", ">ends in"), [
            (e["address"], span(e["ttl_s"]) if "ttl_s" in e else "restart") for e in message["exempt"]])
    return None


def flush(options):
    message = ask(options, "cache-flush")
    if options.json:
        return message
    print("%s forgotten, also of peers that flow allow let through; exemptions stay (cache exempt lists them)" % entries(message["flushed"]))
    return None


def entries(count):
    return show.counted(count, "entry", "entries")
