// SPDX-License-Identifier: BSD-3-Clause
// Four applications and a pattern checker, for tests of what reads configuration.
#include "fake_apps.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum verify verify_any(const struct probe *probe)
{
	(void)probe;
	return VERIFY_DPI;
}

static const struct app_proto apps[] = {
	{.name = "bittorrent",
		.group = "file-sharing",
		.category = APP_CATEGORY_P2P,
		.verify = verify_any},
	{.name = "edonkey", .group = "file-sharing", .category = APP_CATEGORY_P2P},
	{.name = "irc", .group = "chat", .category = APP_CATEGORY_IM},
	{.name = "http", .category = APP_CATEGORY_WEB},
	{.name = "kontiki", .category = APP_CATEGORY_MEDIA}, // of which nothing is decoded
};
static const char *const categories[] = {
	"p2p", "im", "web", "mail", "file", "network", "media", "other"};

unsigned app_count(void)
{
	return sizeof apps / sizeof *apps;
}

const struct app_proto *app_get(uint16_t app)
{
	return app >= 1 && app <= app_count() ? &apps[app - 1] : NULL;
}

uint16_t app_find(const char *name)
{
	for (uint16_t i = 1; i <= app_count(); i++)
		if (strcmp(apps[i - 1].name, name) == 0)
			return i;
	return APP_NONE;
}

const char *app_category_word(enum app_category category)
{
	return category <= APP_CATEGORY_OTHER ? categories[category] : "?";
}

int app_category_find(const char *word)
{
	for (int i = 0; i <= APP_CATEGORY_OTHER; i++)
		if (strcmp(categories[i], word) == 0)
			return i;
	return -1;
}

// "(" without ")" is bad.
int sigdb_check_pattern(const struct signature *signature, char *err, size_t err_len)
{
	if (!strchr(signature->pattern, '(') || strchr(signature->pattern, ')'))
		return 0;
	snprintf(err, err_len, "Missing close parenthesis");
	return -22;
}
