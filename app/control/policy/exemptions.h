// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the operator has exempted from the connection cache while the gateway runs, as the
// control core knows them; the lcores have a copy each (conn_cache.h). Control core only.
#ifndef SLUICE_EXEMPTIONS_H
#define SLUICE_EXEMPTIONS_H

#include "pipeline/cache/conn_cache.h"

#define EXEMPTION_TEXT_MAX 56 // a network of IPv6 with its prefix

struct exemptions {
	unsigned n;
	struct exemption ranges[EXEMPTIONS_MAX];
	char texts[EXEMPTIONS_MAX][EXEMPTION_TEXT_MAX];
};

// An address or network as text -> its first and last address. As address_set_add: -EINVAL,
// -ERANGE (host bits), -ENOMEM.
int exemption_read(const char *text, struct exemption *out);
// Adds it, or sets the end of the one that is there. -ENOSPC.
int exemptions_add(
	struct exemptions *exemptions, const struct exemption *exemption, const char *text);
// -ENOENT.
int exemptions_remove(struct exemptions *exemptions, const struct exemption *exemption);
// Forgets those that have ended.
void exemptions_age(struct exemptions *exemptions, uint64_t now_ns);
// Text of the first that covers one of the ends; NULL: none.
const char *exemptions_cover(
	const struct exemptions *exemptions, const struct flow_ends *ends, uint64_t now_ns);

#endif
