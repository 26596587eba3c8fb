// SPDX-License-Identifier: BSD-3-Clause
// What records of content say, as the objects of EVE events: transfer, fileinfo, chat
// (docs/events.md). Pure.
#ifndef SLUICE_CONTENT_NEWS_JSON_H
#define SLUICE_CONTENT_NEWS_JSON_H

#include "audit/packet_file.h"
#include "audit/store.h"
#include "base/redact.h"
#include "pipeline/content/record.h"

// `redact`: of texts that people sent. Of HTTP `,"http":{...}` follows the object: what stands
// beside it in the record.
void news_put_transfer(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out);
// `began` and `ended` of one file; `result` NULL: its bytes were not looked at.
void news_put_fileinfo(const struct content_record *began, const struct content_record *ended,
	const struct store_result *result, const struct redact_rules *redact, struct json_out *out);
void news_put_evidence(const struct packet_file_result *result, struct json_out *out);
void news_put_chat(const struct content_record *record, const struct redact_rules *redact,
	struct json_out *out);

#endif
