// SPDX-License-Identifier: BSD-3-Clause
// URNs by which Gnutella and its relatives name files (HUGE 0.94, RFC 2169): digests that several
// protocols write in several ways. Pure; any core.
#ifndef SLUICE_CONTENT_URN_H
#define SLUICE_CONTENT_URN_H

#include "content/content.h"

// What is named of one file.
struct urn_ids {
	struct content_id sha1, tth, other;
	bool has_sha1, has_tth;
	bool has_other; // of any other kind (content_id.h)
};

// "urn:sha1:", "urn:bitprint:", "urn:ttroot:", "urn:tree:tiger/:", "urn:kzhash:", "urn:ed2k:" ...
// and the digits, in any case; what follows them is not looked at. Adds to *ids; what is there
// stays. False: it names nothing.
bool urn_read(struct content_text urn, struct urn_ids *ids);
// "/uri-res/N2R?urn:..." (RFC 2169), with its percent escapes, and Kazaa's "/.hash=...". *whole:
// what is asked for is the file, not something about it.
bool urn_read_path(struct content_text path, struct urn_ids *ids, bool *whole);
// The one by which its parts are put together; NULL: none.
static inline const struct content_id *urn_main(const struct urn_ids *ids)
{
	return ids->has_sha1    ? &ids->sha1
	       : ids->has_tth   ? &ids->tth
	       : ids->has_other ? &ids->other
				: NULL;
}
// Each of them to the sink.
void urn_report(const struct urn_ids *ids, const struct content_sink *sink, unsigned half);

#endif
