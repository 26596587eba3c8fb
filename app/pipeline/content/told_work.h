// SPDX-License-Identifier: BSD-3-Clause
// Between the files that take what decoders tell (told*.c); nobody else includes it.
#ifndef SLUICE_TOLD_WORK_H
#define SLUICE_TOLD_WORK_H

#include "pipeline/content/state.h"

// The inside end sends that half.
bool told_is_upload(const struct feeding *feeding, unsigned half);
// The flow (or, of a datagram that stands for itself, that) is refused.
void told_refuse(struct feeding *feeding, uint32_t rule, enum action action);
enum action told_action_of(enum content_action action);
struct content_verdict told_ask_file(const struct feeding *feeding, const struct file_facts *facts);
// It is sure, and enforced.
bool told_refuses(const struct content_verdict *verdict);
// A record of the file is asked for, or an entry did something with it.
bool told_is_recorded(const struct content_verdict *verdict);
#define HOW_REQUESTED 1u // none of it came: it was refused when it was asked for
#define HOW_AGAIN     2u // as it was refused before
// What a record says of its flow and of the rule; its texts behind each other.
void told_identify(const struct feeding *feeding, struct content_record *record,
	const struct content_verdict *verdict);
void told_put_texts(struct content_record *record, const struct content_text *texts, unsigned n);
uint32_t told_length_of(struct content_text *texts, unsigned n);
uint32_t told_uid_of(const struct lcore *lcore, uint32_t rule);
// `id`: that it was named by, or NULL. Returns the number of its records; 0: there was no room.
uint64_t told_record_file(struct feeding *feeding, const struct content_file *file,
	const struct content_verdict *verdict, const struct content_id *id, bool stored,
	unsigned how);

// told_ids.c: a function of the sink, and the ids that a request to a tracker over HTTP names.
void told_id(void *ctx, const struct content_id *id, unsigned half);
void told_ids_of_request(struct feeding *feeding, const struct content_file *request);

#endif
