// SPDX-License-Identifier: BSD-3-Clause
// Follows a client's half for every host name in it, by the reader for TLS or for HTTP.
#include "classify/names/follow.h"
#include "classify/names/feed.h"
#include "classify/handshake/tls_record.h"

static void settle(struct feed *feed)
{
	struct names_follow *follow = feed->follow;

	if (follow->kept && follow->phase != NAMES_OVER)
		return;
	name_head_release(feed->heads, follow->head);
	follow->head = 0;
	follow->kept = 0;
}

static void begin(struct names_follow *follow, struct text half)
{
	bool again = follow->phase == NAMES_TUNNEL;

	if (tls_may_begin(half.at[0]))
		names_begin_tls(follow, half, again);
	else
		names_begin_http(follow, half);
}

static bool may_begin(const struct names_follow *follow, const struct span *span)
{
	return follow->phase == NAMES_TUNNEL ||
	       (!span->offset64 && !(span->flags & (SPAN_MIDSTREAM | SPAN_GAP)));
}

static void server_says(struct names_follow *follow, struct text half)
{
	if (follow->http)
		names_answer_http(follow, half);
	else if (follow->phase == NAMES_TLS && follow->hellos && names_tls_chosen(half))
		follow->phase = NAMES_OVER;
}

static bool feed_client(struct feed *feed, struct text rest)
{
	struct names_follow *follow = feed->follow;

	while (rest.length && follow->phase != NAMES_OVER) {
		bool taken = follow->phase == NAMES_TLS ? names_feed_tls(feed, &rest)
							: names_feed_http(feed, &rest);

		if (!taken)
			return false;
	}
	if (feed->unread)
		names_read_tls(feed);
	return true;
}

static void feed_gap(struct feed *feed, bool of_client)
{
	struct names_follow *follow = feed->follow;

	if (!of_client)
		follow->answer = UINT32_MAX;
	else if (follow->http && follow->phase != NAMES_TUNNEL)
		names_gap_http(feed);
	else
		follow->phase = NAMES_OVER;
}

static bool feed_span(struct feed *feed, const struct span *span)
{
	struct names_follow *follow = feed->follow;
	bool of_client = (span->half & 1) == HALF_C2S;

	if (span_is_gap(span))
		feed_gap(feed, of_client);
	if (span_is_gap(span) || !span_length(span))
		return true;
	struct text half = {span_bytes(span), span_length(span)};

	if (!of_client) {
		server_says(follow, half);
		return true;
	}
	if (follow->phase == NAMES_BEGIN || follow->phase == NAMES_TUNNEL) {
		if (may_begin(follow, span))
			begin(follow, half);
		else
			follow->phase = NAMES_OVER;
	}
	return feed_client(feed, half);
}

bool names_follow_feed(struct name_heads *heads, struct names_follow *follow,
	const struct span *span, const struct name_user *user, names_found_fn *found, void *ctx)
{
	struct feed feed = {heads, follow, found, ctx, user, false, NULL};
	struct names_follow before = *follow;

	if (follow->phase == NAMES_OVER)
		return true;
	if (follow->phase == NAMES_DISPLACED)
		return (span->half & 1) == HALF_S2C;
	if (!feed_span(&feed, span)) {
		*follow = before; // it had no place, or it would not be in want of one
		return false;
	}
	settle(&feed);
	return true;
}

void names_follow_end(struct name_heads *heads, struct names_follow *follow)
{
	name_head_release(heads, follow->head);
	follow->head = 0;
	follow->kept = 0;
	follow->phase = NAMES_OVER;
}
