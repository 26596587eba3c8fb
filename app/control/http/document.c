// SPDX-License-Identifier: BSD-3-Clause
// The table of paths that the HTTP server serves, and its cache of generated documents.
#include "control/http/document.h"

#include <stdlib.h>
#include <string.h>

#include "generated/page_files.h"
#include "pipeline/vocab/tick.h"

#define METRICS_MS 500
#define API_MS     200
#define CENSUS_MS  1000
#define JSON_TYPE  "application/json"

#define FILE_BYTES(array) .bytes = array, .length = sizeof array

static const struct http_place places[] = {
	{.path = "/", .type = "text/html; charset=utf-8", FILE_BYTES(page_index_html)},
	{.path = "/page.css", .type = "text/css; charset=utf-8", FILE_BYTES(page_page_css)},
	{.path = "/page.js", .type = "text/javascript; charset=utf-8", FILE_BYTES(page_page_js)},
	{.path = "/parts.js", .type = "text/javascript; charset=utf-8", FILE_BYTES(page_parts_js)},
	{.path = "/people.js",
		.type = "text/javascript; charset=utf-8",
		FILE_BYTES(page_people_js)},
	{.path = "/content.js",
		.type = "text/javascript; charset=utf-8",
		FILE_BYTES(page_content_js)},
	{.path = "/scan.js", .type = "text/javascript; charset=utf-8", FILE_BYTES(page_scan_js)},
	{.path = "/act.js", .type = "text/javascript; charset=utf-8", FILE_BYTES(page_act_js)},
	{.path = "/icon.svg", .type = "image/svg+xml", FILE_BYTES(page_icon_svg)},
	{.path = "/metrics",
		.type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
		.make = metrics_openmetrics,
		.fresh_ms = METRICS_MS},
	{.path = "/metrics",
		.type = "text/plain; version=0.0.4; charset=utf-8",
		.make = metrics_classic,
		.fresh_ms = METRICS_MS},
	{.path = "/api/summary.json", .type = JSON_TYPE, .make = api_summary, .fresh_ms = API_MS},
	{.path = "/api/apps.json", .type = JSON_TYPE, .make = api_apps, .fresh_ms = API_MS},
	{.path = "/api/verdicts.json", .type = JSON_TYPE, .make = api_verdicts, .fresh_ms = API_MS},
	{.path = "/api/cache.json", .type = JSON_TYPE, .make = api_cache, .fresh_ms = API_MS},
	{.path = "/api/health.json", .type = JSON_TYPE, .make = api_health, .fresh_ms = API_MS},
	{.path = "/api/hosts.json", .type = JSON_TYPE, .make = api_hosts, .fresh_ms = CENSUS_MS},
	{.path = "/api/users.json", .type = JSON_TYPE, .make = api_users, .fresh_ms = CENSUS_MS},
	{.path = "/api/content.json", .type = JSON_TYPE, .make = api_content, .fresh_ms = API_MS},
	{.path = "/api/scan.json", .type = JSON_TYPE, .make = api_scan, .fresh_ms = API_MS},
	{.path = "/api/content-names.json",
		.type = JSON_TYPE,
		.make = api_content_names,
		.fresh_ms = API_MS},
};
#define N_PLACES (sizeof places / sizeof places[0])
static_assert(N_PLACES <= HTTP_PLACES_MAX, "a slot for each place's document");

const struct http_place *http_place_find(const struct http_request *request)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		if (strcmp(places[i].path, request->path) != 0)
			continue;
		// The only place with two forms: the newer one comes first.
		if (places[i].make == metrics_openmetrics &&
			!http_accepts_openmetrics(request->accept))
			continue;
		return &places[i];
	}
	return NULL;
}

void http_document_put(struct http_document *document)
{
	if (!document || --document->refs)
		return;
	free(document->owned);
	free(document);
}

static struct http_document *document_make(
	const struct http_site *site, const struct http_place *place)
{
	struct http_document *document = calloc(1, sizeof *document);
	struct text text = {0};

	if (!document)
		return NULL;
	document->refs = 1;
	if (place->bytes) {
		document->bytes = (const char *)place->bytes;
		document->length = place->length;
		return document;
	}
	if (place->make(site, &text) < 0 || text.failed) {
		text_free(&text);
		free(document);
		return NULL;
	}
	document->owned = text.bytes;
	document->bytes = text.bytes;
	document->length = text.length;
	return document;
}

struct http_document *http_document_get(
	struct http_documents *documents, const struct http_place *place)
{
	size_t i = (size_t)(place - places);
	struct http_document *made = documents->made[i];
	uint64_t now_ns = documents->site->context->now_ns();

	if (!made ||
		(place->make && now_ns - documents->made_ns[i] >= place->fresh_ms * NS_PER_MS)) {
		made = document_make(documents->site, place);
		if (!made)
			return NULL;
		http_document_put(documents->made[i]);
		documents->made[i] = made;
		documents->made_ns[i] = now_ns;
	}
	made->refs++;
	return made;
}

void http_documents_free(struct http_documents *documents)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		http_document_put(documents->made[i]);
		documents->made[i] = NULL;
	}
}
