// SPDX-License-Identifier: BSD-3-Clause
// Content ids as text, a line of a file: whatever it is, it is refused with a reason or names ids
// that are printed and read again as the same.
#include <stdint.h>
#include <stdlib.h>
#include "control/policy/id_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void holds(bool what)
{
	if (!what)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct content_id ids[CONTENT_ID_LINK_IDS], again[CONTENT_ID_LINK_IDS];
	const char *wrong = NULL, *text = (const char *)bytes;
	char printed[CONTENT_ID_TEXT];
	unsigned n;

	if (len > UINT16_MAX)
		return 0;
	n = content_id_parse(text, (uint32_t)len, ids, &wrong);
	holds(n <= CONTENT_ID_LINK_IDS && (n || wrong));
	for (unsigned i = 0; i < n; i++) {
		content_id_print(&ids[i], printed);
		holds(content_id_parse(printed, (uint32_t)strlen(printed), again, &wrong) == 1);
		holds(content_id_same(&ids[i], &again[0]));
	}
	n = id_line_parse(text, (uint32_t)len, ids, &wrong);
	holds(n <= CONTENT_ID_LINK_IDS && !(n && wrong));
	return 0;
}
