// SPDX-License-Identifier: BSD-3-Clause
// The last files of which a connection has said name or size, by id and by who has them.
#ifndef SLUICE_CONTENT_EDONKEY_KNOWN_H
#define SLUICE_CONTENT_EDONKEY_KNOWN_H

#include "content/edonkey/session.h"

// Places are there. False: no memory.
bool ed2k_known_ready(const struct ed2k_turn *to);
void ed2k_known_give(const struct ed2k_turn *to);
// The place of the file that the sender of `half` has: its own, or that of the one that was used
// longest ago. `listed`: none is taken for it from files that were named otherwise; NULL: there is
// none. Places are ready.
struct ed2k_known *ed2k_known_claim(
	const struct ed2k_turn *to, const uint8_t *hash, unsigned half, bool listed);
// The sender of the half at hand gives the file that name: a file that is named anew is reported.
void ed2k_known_name(
	const struct ed2k_turn *to, struct ed2k_known *known, struct content_text name, bool cut);
// What is known of it, for a report; *whole is filled, and goes with it.
struct content_file ed2k_known_file(
	const struct ed2k_turn *to, struct ed2k_known *known, struct content_whole *whole);

#endif
