// SPDX-License-Identifier: BSD-3-Clause
// Looks applications up by id, name and ALPN.
#include "classify/app_proto_table.h"

#include <stddef.h>
#include <string.h>

unsigned app_count(void)
{
	return app_proto_count;
}

const struct app_proto *app_get(uint16_t app)
{
	return app <= app_proto_count ? app_proto_table[app] : NULL;
}

uint16_t app_find(const char *name)
{
	for (uint16_t app = 1; app <= app_proto_count; app++)
		if (!strcmp(app_proto_table[app]->name, name))
			return app;
	return APP_NONE;
}

uint16_t app_find_alpn(const uint8_t *name, uint32_t length)
{
	for (uint16_t app = 1; app <= app_proto_count; app++)
		for (const char *const *alpn = app_proto_table[app]->alpns; *alpn; alpn++)
			if (strlen(*alpn) == length && !memcmp(*alpn, name, length))
				return app;
	return APP_NONE;
}

static const char *const category_words[] = {
	[APP_CATEGORY_P2P] = "p2p",
	[APP_CATEGORY_IM] = "im",
	[APP_CATEGORY_WEB] = "web",
	[APP_CATEGORY_MAIL] = "mail",
	[APP_CATEGORY_FILE] = "file",
	[APP_CATEGORY_NETWORK] = "network",
	[APP_CATEGORY_MEDIA] = "media",
	[APP_CATEGORY_OTHER] = "other",
};

#define N_CATEGORIES (sizeof(category_words) / sizeof(category_words[0]))

const char *app_category_word(enum app_category category)
{
	return (unsigned)category < N_CATEGORIES ? category_words[category] : "?";
}

int app_category_find(const char *word)
{
	for (unsigned i = 0; i < N_CATEGORIES; i++)
		if (!strcmp(category_words[i], word))
			return (int)i;
	return -1;
}
