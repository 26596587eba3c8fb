#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a header of the keys of gateway.json: gateway_keys.py gateway.schema.json > gateway_keys.h (meson does it).

For the document itself and for each object in it: GATEWAY_KEYS, GATEWAY_LIMITS_KEYS ..., the members of struct gateway,
and GATEWAY_ROWS, GATEWAY_LIMITS_ROWS ..., what they may be and what they are when absent (struct json_field). Arrays, and
objects within objects, are read by functions of their own, gateway_read_NAME; so is lcores.
"""
import json
import sys

READ_ELSEWHERE = {"lcores"}


def is_object(name, node):
    return node.get("type") == "object" and name not in READ_ELSEWHERE


def scalar(name, node):
    """(kind, member, settings) of a key that is one value; None: it is read elsewhere."""
    if "enum" in node:
        words = ", ".join(json.dumps(word) for word in node["enum"])
        return "WORD", f"uint8_t {name}", {
            "words": f"(const char *const[]){{{words}, NULL}}", "fallback": node["enum"].index(node["default"])}
    if node.get("type") == "boolean":
        return "FLAG", f"bool {name}", {"fallback": int(node["default"])}
    if "string" in node.get("type", ()):
        return "STRING", f"char *{name}", {
            "min": node["minLength"], "max": node["maxLength"], "nullable": int("null" in node["type"]),
            "fallback_text": json.dumps(node["default"]) if node["default"] else 0}
    range_of = node["anyOf"][1] if "anyOf" in node else node
    if range_of.get("type") == "integer":
        return "U32", f"uint32_t {name}", {
            "min": range_of["minimum"], "max": range_of["maximum"], "zero": int("anyOf" in node),
            "fallback": node["default"]}
    return None


def row(path, name, node, required):
    found = None if name in ("schema_version", "$schema") else scalar(name, node)
    settings = {"name": f'"{path}{name}"'}
    if name == "$schema":
        settings["kind"] = "JSON_KIND_IGNORE"
    elif not path and is_object(name, node):
        settings |= {"kind": "JSON_KIND_OBJECT", "fields": f"gateway_{name}_fields"}
    elif not found:
        reader = "json" if name == "schema_version" else "gateway"
        settings |= {"kind": "JSON_KIND_READ", "read": f"{reader}_read_{path.replace('.', '_')}{name}"}
    else:
        settings |= {"kind": f"JSON_KIND_{found[0]}", "offset": f"offsetof(struct gateway, {path}{name})"} | found[2]
    if required:
        settings["required"] = "true"
    return "{" + ", ".join(f".{key} = {value}" for key, value in settings.items() if value != 0) + "},"


def section(word, path, node):
    members = [f"{found[1]} /* {child['description']} */" for name, child in node["properties"].items()
               if name not in ("schema_version", "$schema") and (found := scalar(name, child))]
    rows = [row(path, name, child, name in node.get("required", ())) for name, child in node["properties"].items()]
    print(f"#define GATEWAY_{word}KEYS \\\n\t" + "; \\\n\t".join(members) + "\n")
    print(f"#define GATEWAY_{word}ROWS \\\n\t" + " \\\n\t".join(rows) + "\n")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    objects = {name: node for name, node in schema["properties"].items() if is_object(name, node)}
    for name, node in objects.items():
        section(name.upper() + "_", name + ".", node)
    section("", "", schema)


main()
