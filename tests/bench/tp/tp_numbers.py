# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of samples: quartiles, crossovers of two transports, speed-ups of one, thresholds of loss."""
import itertools
import math

NEIGHBOURS = 3  # so many sizes must agree, or it was noise
SPEED_UP = 0.9  # a larger message counts as faster when it takes less than this of what the smaller one took


def quantile(ordered, share):
    """Linear between neighbours (R's type 7, numpy's default)."""
    where = (len(ordered) - 1) * share
    low = math.floor(where)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (where - low)


def summary(samples_ns):
    """Of one row, in microseconds; empty without samples."""
    if not samples_ns:
        return {}
    ordered = sorted(samples_ns)
    shares = {"min": 0, "q1": 0.25, "median": 0.5, "q3": 0.75, "p99": 0.99, "p999": 0.999, "max": 1}
    numbers = {f"{name}_us": round(quantile(ordered, share) / 1000, 3) for name, share in shares.items()}
    return {**numbers, "mean_us": round(sum(ordered) / len(ordered) / 1000, 3)}


def medians(rows, environment, transport):
    """{size: median} of the complete rows."""
    return {
        row["size"]: row["median_us"]
        for row in rows
        if row["env"] == environment and row["transport"] == transport and not row["incomplete"] and row.get("median_us")
    }


def runs_of(signs):
    """[(sign, first index, length)] of what lasts for NEIGHBOURS; a tie goes on with what was."""
    settled = []
    for sign in signs:
        settled.append(sign or (settled[-1] if settled else 0))
    runs, at = [], 0
    for sign, group in itertools.groupby(settled):
        length = len(list(group))
        if sign and length >= NEIGHBOURS:
            runs.append((sign, at, length))
        at += length
    return runs


def crossovers(rows):
    """Where the order of two medians flips for at least NEIGHBOURS sizes: the size from which `from_here` is the faster."""
    found = []
    for environment in dict.fromkeys(row["env"] for row in rows):
        names = list(dict.fromkeys(row["transport"] for row in rows if row["env"] == environment))
        for one, other in itertools.combinations(names, 2):
            left, right = medians(rows, environment, one), medians(rows, environment, other)
            sizes = sorted(set(left) & set(right))
            runs = runs_of([(left[s] > right[s]) - (left[s] < right[s]) for s in sizes])
            for before, after in itertools.pairwise(runs):
                if before[0] == after[0]:
                    continue  # what lay between was too short
                size = sizes[after[1]]
                faster, slower = (one, other) if after[0] < 0 else (other, one)
                found.append({
                    "kind": "order", "env": environment, "below": slower, "from_here": faster, "size": size,
                    "size_before": sizes[before[1] + before[2] - 1], "below_us": (left if slower == one else right)[size],
                    "from_here_us": (left if faster == one else right)[size],
                })  # fmt: skip
    return found


def speed_ups(rows):
    """Where a larger message is the faster one, and the next ones, too: what the seed saw at 1,400 to 2,800 octets."""
    found = []
    for environment, transport in dict.fromkeys((row["env"], row["transport"]) for row in rows):
        table = medians(rows, environment, transport)
        sizes = sorted(table)
        for at in range(1, len(sizes) - NEIGHBOURS + 1):
            bound = table[sizes[at - 1]] * SPEED_UP
            if all(table[size] < bound for size in sizes[at : at + NEIGHBOURS]):
                found.append({
                    "kind": "speed-up", "env": environment, "below": transport, "from_here": transport, "size": sizes[at],
                    "size_before": sizes[at - 1], "below_us": table[sizes[at - 1]], "from_here_us": table[sizes[at]],
                })  # fmt: skip
    return found


def loss_thresholds(rows):
    """Of each transport that lost anything: up to which size nothing was lost, and from which on no row was complete."""
    found = []
    for environment, transport in dict.fromkeys((row["env"], row["transport"]) for row in rows):
        of = sorted(
            (row for row in rows if (row["env"], row["transport"]) == (environment, transport) and row["able"] and row["size"]),
            key=lambda row: row["size"],
        )
        if not any(row["lost"] for row in of):
            continue
        whole = list(itertools.takewhile(lambda row: not row["incomplete"], of))
        none = list(itertools.takewhile(lambda row: row["incomplete"], reversed(of)))
        found.append({
            "env": environment, "transport": transport, "complete_up_to": whole[-1]["size"] if whole else None,
            "incomplete_from": none[-1]["size"] if none else None, "asked": sum(row["asked"] for row in of),
            "lost": sum(row["lost"] for row in of),
        })  # fmt: skip
    return found
