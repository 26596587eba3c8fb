// SPDX-License-Identifier: BSD-3-Clause
// Applications as the layers above classify know them: a small number, and its names.
// 0 is "none yet"; ids 1..APPS_BUILTIN are the generated table of app/classify; later ids are
// user-defined. An id is stable within one process; files, events and policies use the name.
#ifndef SLUICE_APP_ID_H
#define SLUICE_APP_ID_H

#include <stdint.h>

#define APP_NONE 0
#define APPS_MAX 256 // bound of all tables and bitsets over applications

struct app_set { // a bitset over application ids
	uint64_t words[APPS_MAX / 64];
};

static inline void app_set_add(struct app_set *set, uint16_t app)
{
	if (app < APPS_MAX)
		set->words[app / 64] |= 1ull << (app % 64);
}

static inline int app_set_has(const struct app_set *set, uint16_t app)
{
	return app < APPS_MAX && (set->words[app / 64] >> (app % 64)) & 1;
}

#endif
