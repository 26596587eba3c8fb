# SPDX-License-Identifier: BSD-3-Clause
"""The table of keys of docs/gateway.md and docs/policy.md, made from config/schema.

python3 tools/schema_table.py [--write]: prints what differs, or writes it into the documents.
"""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = re.compile(r"(<!-- keys of (\w+)\.schema\.json -->\n).*?(<!-- end of keys -->\n)", re.S)


def resolve(schema, node):
    while "$ref" in node:
        target = schema
        for word in node["$ref"].lstrip("#/").split("/"):
            target = target[word]
        node = target
    return node


def integers(node):
    return f"{node['minimum']} to {node['maximum']}"


def kind(schema, node):
    """(type, values) of a node, in words."""
    node = resolve(schema, node)
    if "const" in node:
        return "integer", f"`{node['const']}`"
    if "enum" in node:
        return "word", ", ".join(f"`{w}`" for w in node["enum"])
    if "anyOf" in node and "type" not in node:
        parts = [resolve(schema, n) for n in node["anyOf"]]
        if all(p.get("type") == "integer" for p in parts):
            return "integer", "0, or " + integers(parts[-1])
        if all(p.get("type") == "string" for p in parts):
            return "address or set", ""
        pairs = [kind(schema, p) for p in parts]
        return " or ".join(p[0] for p in pairs), "; ".join(p[1] for p in pairs if p[1])
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    name = " or ".join({"boolean": "true or false"}.get(t, t) for t in types)
    if "integer" in types or "number" in types:
        return name, integers(node)
    if "string" in types and "maxLength" in node:
        low = node.get("minLength", 0)
        return name, f"{low} to {node['maxLength']} characters" if low > 1 else f"at most {node['maxLength']} characters"
    if "array" in types:
        item, values = kind(schema, node["items"])
        count = f"{node.get('minItems', 0)} to {node['maxItems']}"
        return f"array of {item}" + (" or null" if "null" in types else ""), f"{count}" + (f"; each {values}" if values else "")
    return name, ""


def rows(schema, node, path=""):
    node = resolve(schema, node)
    required = node.get("required", [])
    for key, child in node.get("properties", {}).items():
        child = resolve(schema, child)
        if key == "$schema":
            continue
        here = f"{path}{key}"
        if "x-default" in child:
            default = child["x-default"]
        elif "default" in child:
            default = f"`{json.dumps(child['default'])}`"
        elif key in required:
            default = "required"
        elif child.get("type") == "object":
            default = ""
        else:
            default = "any"
        name, values = kind(schema, child)
        yield here, name, values, default, child.get("x-reload", ""), child["description"]
        if child.get("type") == "object":
            yield from rows(schema, child, here + ".")
            extra = child.get("additionalProperties")
            if isinstance(extra, dict) and "$ref" in extra.get("anyOf", [{}])[0]:
                yield from rows(schema, extra["anyOf"][0], here + ".NAME.")
        elif child.get("type") == "array":
            yield from rows(schema, child["items"], here + "[].")


def load(name):
    with open(os.path.join(ROOT, "config", "schema", name + ".schema.json"), encoding="utf-8") as file:
        return json.load(file)


def table(name):
    schema = load(name)
    out = ["| key | type | values | default | meaning |", "|--|--|--|--|--|"]
    for key, what, values, default, _, meaning in rows(schema, schema):
        cells = [f"`{key}`", what, values, default, meaning]
        out.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(out) + "\n"


def rewritten(text):
    return MARK.sub(lambda m: m.group(1) + "\n" + table(m.group(2)) + "\n" + m.group(3), text)


def main():
    stale = 0
    for name in ("gateway", "policy"):
        path = os.path.join(ROOT, "docs", name + ".md")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = rewritten(text)
        if not MARK.search(text):
            print(f"{path}: has no table of keys")
            stale += 1
        elif new != text:
            stale += 1
            print(f"{path}: the table of keys is not config/schema/{name}.schema.json")
            if "--write" in sys.argv:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(new)
    return 1 if stale and "--write" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
