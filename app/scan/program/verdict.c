// SPDX-License-Identifier: BSD-3-Clause
// The tables that turn libclamav's results and names into verdicts.
#include "scan/program/verdict.h"

#include <clamav.h>
#include <string.h>
#include "scan/wire.h"

// Names that libclamav gives to what it could not do, by their beginnings; all other names are of
// signatures, and of heuristics that tell of something hostile.
static const struct {
	const char *begin;
	enum scan_reason reason;
} names[] = {
	{"Heuristics.Limits.Exceeded.MaxRecursion", SCAN_REASON_TOO_DEEP},
	{"Heuristics.Limits.Exceeded.MaxFileSize", SCAN_REASON_TOO_BIG},
	// MaxFiles, MaxScanSize, MaxScanTime, Email...
	{"Heuristics.Limits.Exceeded", SCAN_REASON_LIMIT},
	// A dictionary that is larger than the engine wants to have: it did not unpack it.
	{"Heuristics.XZ.DicSizeLimit", SCAN_REASON_LIMIT},
	{"Heuristics.Encrypted.", SCAN_REASON_ENCRYPTED},
	// The engine could not read what the format promised. Off by default.
	{"Heuristics.Broken.", SCAN_REASON_FORMAT},
};

// Results that are neither clean nor a virus. What is not here is SCAN_ERROR.
static const struct {
	int result;
	enum scan_reason reason;
} results[] = {
	{CL_EMAXREC, SCAN_REASON_TOO_DEEP},
	{CL_EMAXSIZE, SCAN_REASON_TOO_BIG},
	{CL_EMAXFILES, SCAN_REASON_LIMIT},
	{CL_ETIMEOUT, SCAN_REASON_LIMIT},
	{CL_EFORMAT, SCAN_REASON_FORMAT},
	{CL_EPARSE, SCAN_REASON_FORMAT},
	{CL_EUNPACK, SCAN_REASON_FORMAT},
};

// Of several reasons the first here: what the operator can change comes first.
static const enum scan_reason order[] = {SCAN_REASON_TOO_BIG, SCAN_REASON_TOO_DEEP,
	SCAN_REASON_LIMIT, SCAN_REASON_ENCRYPTED, SCAN_REASON_FORMAT};

void scan_facts_reason(struct scan_facts *facts, enum scan_reason reason)
{
	facts->reasons |= 1u << reason;
}

// A custom signature may have any name, but not without this end.
static bool is_custom(const char *name)
{
	static const char end[] = ".UNOFFICIAL";
	size_t n = strlen(name);

	return n >= sizeof(end) - 1 && !strcmp(name + n - (sizeof(end) - 1), end);
}

void scan_facts_name(struct scan_facts *facts, const char *name)
{
	if (!name || !name[0]) {
		scan_facts_reason(facts, SCAN_REASON_LIMIT);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !is_custom(name); i++) {
		if (!strncmp(name, names[i].begin, strlen(names[i].begin))) {
			scan_facts_reason(facts, names[i].reason);
			return;
		}
	}
	if (!facts->signature[0])
		scan_wire_text(facts->signature, sizeof(facts->signature), name);
}

void scan_verdict_make(int result, const struct scan_facts *facts, struct scan_outcome *out)
{
	uint32_t reasons = facts->reasons;

	*out = (struct scan_outcome){.value = SCAN_CLEAN};
	if (facts->signature[0]) {
		out->value = SCAN_INFECTED;
		memcpy(out->name, facts->signature, sizeof(out->name));
		return;
	}
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].result == result)
			reasons |= 1u << results[i].reason;
	// It found something, and nobody knows what: a limit without a name.
	if (result == CL_VIRUS && !reasons)
		reasons = 1u << SCAN_REASON_LIMIT;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && reasons; i++) {
		if (reasons & 1u << order[i]) {
			out->value = SCAN_UNSCANNED;
			out->reason = order[i];
			return;
		}
	}
	if (result != CL_CLEAN)
		out->value = SCAN_ERROR;
}
