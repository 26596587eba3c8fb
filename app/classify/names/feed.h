// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: what the readers of classify/names/follow.h share: the beginning of a head
// that is kept while its end is awaited.
#ifndef SLUICE_NAMES_FEED_H
#define SLUICE_NAMES_FEED_H

#include "classify/names/http_inner.h"
#include "classify/names/heads.h"
#include "classify/text.h"

enum asks {
	ASKS_NOTHING,
	ASKS_UPGRADE,
	ASKS_CONNECT,
	ASKS_HELLO,
};

struct feed {
	struct name_heads *heads;
	struct names_follow *follow;
	names_found_fn *found;
	void *ctx;
	const struct name_user *user;
	bool unread;             // of a hello more is kept than was read
	const uint8_t *searched; // of the span: no LF from the line at hand up to here; NULL: none
};

// The place is given back when the span is taken (settle): until then the next head may want it,
// and a span that is not taken leaves the flow with the place that it had.
static inline void names_drop(struct feed *feed)
{
	feed->follow->kept = 0;
	feed->follow->begins = HTTP_BEGINS_UNKNOWN;
}

// Keeps `part` behind what is kept. False: no place is free.
static inline bool names_keep(struct feed *feed, struct text part)
{
	struct names_follow *follow = feed->follow;

	if (!follow->head)
		follow->head = name_head_acquire(feed->heads, follow, feed->user);
	if (!follow->head)
		return false;
	memcpy(name_head_at(feed->heads, follow->head) + follow->kept, part.at, part.length);
	follow->kept = (uint16_t)(follow->kept + part.length);
	return true;
}

static inline struct text names_kept(const struct feed *feed)
{
	return (struct text){name_head_at(feed->heads, feed->follow->head), feed->follow->kept};
}

// Not HTTP, or nothing is known of it yet.
void names_begin_http(struct names_follow *follow, struct text half);
// Takes some of `rest`, in any phase of HTTP. False: no place is free.
bool names_feed_http(struct feed *feed, struct text *rest);
// Octets are missing.
void names_gap_http(struct feed *feed);
// What a server says to requests.
void names_answer_http(struct names_follow *follow, struct text rest);
// The client asks what is answered by a length without the body (HEAD): from here on no agreement
// is believed.
void names_answer_lost(struct names_follow *follow);

// `again`: in a tunnel, where nobody has read the hello before.
void names_begin_tls(struct names_follow *follow, struct text half, bool again);
// Takes some of `rest`. False: no place is free.
bool names_feed_tls(struct feed *feed, struct text *rest);
// Reads what is kept of a hello: once for all records of a span.
void names_read_tls(struct feed *feed);
// What a server says to a hello, where it begins with that: it wants another one, or has chosen.
bool names_tls_chosen(struct text half);

#endif
