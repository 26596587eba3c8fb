// SPDX-License-Identifier: BSD-3-Clause
// The table of application protocols, and look-ups in it by id, name and ALPN.
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include "classify/app_proto.h"
#include "generated/app_proto_list.h"

#define X(name) extern const struct app_proto app_proto_##name;
APP_PROTO_LIST(X)
#undef X

static const struct app_proto *const protocols[] = {NULL, // APP_NONE
#define X(name) &app_proto_##name,
	APP_PROTO_LIST(X)
#undef X
};

#define N_PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]) - 1)
static_assert(N_PROTOCOLS < APPS_MAX, "user-defined applications need ids, too");

unsigned app_count(void)
{
	return N_PROTOCOLS;
}

const struct app_proto *app_get(uint16_t app)
{
	return app <= N_PROTOCOLS ? protocols[app] : NULL;
}

uint16_t app_find(const char *name)
{
	for (uint16_t app = 1; app <= N_PROTOCOLS; app++)
		if (!strcmp(protocols[app]->name, name))
			return app;
	return APP_NONE;
}

uint16_t app_find_alpn(const uint8_t *name, uint32_t length)
{
	for (uint16_t app = 1; app <= N_PROTOCOLS; app++)
		for (const char *const *alpn = protocols[app]->alpns; *alpn; alpn++)
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
