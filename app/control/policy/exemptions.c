// SPDX-License-Identifier: BSD-3-Clause
// The list of addresses that are exempt from the connection cache.
#include "control/policy/exemptions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void map_v4(uint8_t out[16], uint32_t address)
{
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	for (unsigned i = 0; i < 4; i++)
		out[12 + i] = (uint8_t)(address >> (24 - 8 * i));
}

int exemption_read(const char *text, struct exemption *out)
{
	struct address_set set = {0};
	int rc = address_set_add(&set, text);

	*out = (struct exemption){.expires_ns = UINT64_MAX};
	if (!rc && set.n_v4) {
		map_v4(out->first, set.v4[0].first);
		map_v4(out->last, set.v4[0].last);
	} else if (!rc) {
		memcpy(out->first, set.v6[0].first, 16);
		memcpy(out->last, set.v6[0].last, 16);
	}
	address_set_free(&set);
	return rc;
}

static unsigned find(const struct exemptions *exemptions, const struct exemption *wanted)
{
	unsigned i = 0;

	while (i < exemptions->n && (memcmp(exemptions->ranges[i].first, wanted->first, 16) ||
					    memcmp(exemptions->ranges[i].last, wanted->last, 16)))
		i++;
	return i;
}

int exemptions_add(
	struct exemptions *exemptions, const struct exemption *exemption, const char *text)
{
	unsigned i = find(exemptions, exemption);

	if (i == EXEMPTIONS_MAX)
		return -ENOSPC;
	if (i == exemptions->n)
		exemptions->n++;
	exemptions->ranges[i] = *exemption;
	snprintf(exemptions->texts[i], EXEMPTION_TEXT_MAX, "%s", text);
	return 0;
}

static void drop(struct exemptions *exemptions, unsigned i)
{
	unsigned last = --exemptions->n;

	exemptions->ranges[i] = exemptions->ranges[last];
	memmove(exemptions->texts[i], exemptions->texts[last], EXEMPTION_TEXT_MAX);
}

int exemptions_remove(struct exemptions *exemptions, const struct exemption *exemption)
{
	unsigned i = find(exemptions, exemption);

	if (i == exemptions->n)
		return -ENOENT;
	drop(exemptions, i);
	return 0;
}

void exemptions_age(struct exemptions *exemptions, uint64_t now_ns)
{
	for (unsigned i = exemptions->n; i-- > 0;) {
		if (now_ns >= exemptions->ranges[i].expires_ns)
			drop(exemptions, i);
	}
}

const char *exemptions_cover(
	const struct exemptions *exemptions, const struct flow_ends *ends, uint64_t now_ns)
{
	for (unsigned i = 0; i < exemptions->n; i++) {
		const struct exemption *exemption = &exemptions->ranges[i];

		if (now_ns < exemption->expires_ns &&
			(exemption_has(exemption, ends->address[0]) ||
				exemption_has(exemption, ends->address[1])))
			return exemptions->texts[i];
	}
	return NULL;
}
