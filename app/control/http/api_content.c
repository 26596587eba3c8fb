// SPDX-License-Identifier: BSD-3-Clause
// /api/content.json and /api/content-names.json: the latest transfers and chat verdicts. The first
// has nothing that a sender wrote; the second has it, unless http.names of gateway.json is false.
#include "control/http/api.h"

#include "control/content/recent.h"
#include "control/ctl/recent_json.h"
#include "control/http/site.h"

#define SHOWN 50 // of each

static void put_kind(json_t **root, const struct http_site *site, enum recent_kind kind,
	const char *key, bool names)
{
	const struct content_recent *recent = site->context->recent;
	const struct recent_entry *entry;
	json_t *object = json_object(), *list = json_array();

	for (uint32_t i = 0; recent && i < SHOWN && (entry = content_recent_at(recent, kind, i));
		i++) {
		json_t *item = recent_json(site->context, entry, kind, names);

		api_put_ms(&item, "time_ms", entry->event.now_ns);
		put_item(&list, item);
	}
	put_number(&object, "seen", recent ? content_recent_seen(recent, kind) : 0);
	put_json(&object, "recent", list);
	put_json(root, key, object);
}

static int make(const struct http_site *site, bool names, struct text *out)
{
	json_t *root = api_begin(site);

	put_bool(&root, "names", names);
	put_bool(&root, "may_show", site->names);
	put_kind(&root, site, RECENT_TRANSFERS, "transfers", names);
	put_kind(&root, site, RECENT_CHAT, "chat", names);
	return api_finish(root, out);
}

int api_content(const struct http_site *site, struct text *out)
{
	return make(site, false, out);
}

int api_content_names(const struct http_site *site, struct text *out)
{
	return make(site, site->names, out);
}
