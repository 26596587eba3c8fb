// SPDX-License-Identifier: BSD-3-Clause
// The linker puts this before hs_scan (--wrap): with the switch off a scan finds nothing and costs
// nothing, so that the same packets with and without it tell Hyperscan's own share from ours.
#include <hs.h>
#include <stdbool.h>

extern bool hyperscan_off;
bool hyperscan_off;

hs_error_t __real_hs_scan(const hs_database_t *db, const char *bytes, unsigned length,
	unsigned flags, hs_scratch_t *scratch, match_event_handler on_event, void *context);
hs_error_t __wrap_hs_scan(const hs_database_t *db, const char *bytes, unsigned length,
	unsigned flags, hs_scratch_t *scratch, match_event_handler on_event, void *context);

hs_error_t __wrap_hs_scan(const hs_database_t *db, const char *bytes, unsigned length,
	unsigned flags, hs_scratch_t *scratch, match_event_handler on_event, void *context)
{
	if (hyperscan_off)
		return HS_SUCCESS;
	return __real_hs_scan(db, bytes, length, flags, scratch, on_event, context);
}
