// SPDX-License-Identifier: BSD-3-Clause
// The transfers that a connection remembers: found by what stanzas call them, begun and ended.
#include <string.h>
#include "content/memory.h"
#include "content/xmpp/stream.h"

struct xmpp_transfer *xmpp_transfer_of_sid(const struct xmpp_turn *to, uint64_t sid)
{
	struct xmpp_transfers *transfers = &to->state->transfers;

	for (unsigned i = 0; sid && i < XMPP_TRANSFERS; i++)
		if (transfers->all[i] && transfers->all[i]->sid == sid)
			return transfers->all[i];
	return NULL;
}

struct xmpp_transfer *xmpp_transfer_of_content(
	const struct xmpp_turn *to, uint64_t session, uint64_t content)
{
	struct xmpp_transfers *transfers = &to->state->transfers;

	for (unsigned i = 0; session && i < XMPP_TRANSFERS; i++) {
		struct xmpp_transfer *transfer = transfers->all[i];

		if (transfer && transfer->session == session && transfer->content == content)
			return transfer;
	}
	return NULL;
}

struct xmpp_transfer *xmpp_transfer_of_session(const struct xmpp_turn *to, uint64_t session)
{
	struct xmpp_transfers *transfers = &to->state->transfers;
	struct xmpp_transfer *newest = NULL;

	for (unsigned i = 0; session && i < XMPP_TRANSFERS; i++) {
		struct xmpp_transfer *transfer = transfers->all[i];

		if (transfer && transfer->session == session &&
			(!newest || transfer->began > newest->began))
			newest = transfer;
	}
	return newest;
}

struct xmpp_transfer *xmpp_transfer_answered(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;
	uint64_t id = to->half->work->id;

	for (unsigned i = 0; id && i < XMPP_TRANSFERS; i++) {
		struct xmpp_transfer *transfer = transfers->all[i];

		if (transfer && transfer->request == id && transfer->half != to->side)
			return transfer;
	}
	return NULL;
}

static bool is_whole(const struct xmpp_transfer *transfer, const struct xmpp_band *band)
{
	return transfer->range_from + band->raw.at == transfer->size;
}

static void end_bands(
	const struct xmpp_turn *to, struct xmpp_transfer *transfer, enum xmpp_ends why)
{
	for (unsigned half = 0; half < 2; half++) {
		struct xmpp_band *band = &transfer->bands[half];
		bool closes = why == XMPP_ENDS_CLOSED &&
			      (half == to->side || transfer->size == CONTENT_SIZE_UNKNOWN);

		content_raw_end(&band->raw, to->turn,
			closes || is_whole(transfer, band) ? CONTENT_END_CLOSED
							   : CONTENT_END_TRUNCATED,
			band->ends64);
	}
}

static void no_longer_at_hand(const struct xmpp_turn *to, const struct xmpp_transfer *transfer)
{
	for (unsigned half = 0; half < 2; half++) {
		struct xmpp_work *work = to->state->halves[half].work;

		if (work && work->transfer == transfer)
			work->transfer = NULL;
	}
}

static void give(const struct xmpp_turn *to, struct xmpp_transfer **slot, enum xmpp_ends why)
{
	end_bands(to, *slot, why);
	no_longer_at_hand(to, *slot);
	content_give(to->turn->memory, *slot);
	*slot = NULL;
}

void xmpp_transfer_end(
	const struct xmpp_turn *to, const struct xmpp_transfer *transfer, enum xmpp_ends why)
{
	struct xmpp_transfers *transfers = &to->state->transfers;

	for (unsigned i = 0; i < XMPP_TRANSFERS; i++)
		if (transfers->all[i] == transfer)
			give(to, &transfers->all[i], why);
}

void xmpp_transfers_over(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;

	for (unsigned i = 0; i < XMPP_TRANSFERS; i++)
		if (transfers->all[i])
			give(to, &transfers->all[i], XMPP_ENDS_OVER);
	content_give(to->turn->memory, transfers->spare);
	transfers->spare = NULL;
}

bool xmpp_transfers_take_spare(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;

	if (!transfers->spare)
		transfers->spare = content_take(to->turn->memory, sizeof(*transfers->spare));
	return transfers->spare;
}

static bool is_running(const struct xmpp_transfer *transfer)
{
	return transfer->bands[0].raw.id || transfer->bands[1].raw.id;
}

// One that sends nothing in band; of these, or of all, the one that began first.
static bool is_of_less_use(const struct xmpp_transfer *one, const struct xmpp_transfer *other)
{
	return is_running(one) != is_running(other) ? is_running(other) : one->began < other->began;
}

static struct xmpp_transfer **make_room(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;
	struct xmpp_transfer **slot = &transfers->all[0];

	for (unsigned i = 0; i < XMPP_TRANSFERS && *slot; i++)
		if (!transfers->all[i] || is_of_less_use(transfers->all[i], *slot))
			slot = &transfers->all[i];
	if (!*slot)
		return slot;
	if (is_running(*slot))
		xmpp_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->at64);
	transfers->forgot = true;
	give(to, slot, XMPP_ENDS_OVER);
	return slot;
}

static struct xmpp_transfer *begin(const struct xmpp_turn *to, struct xmpp_transfer *transfer)
{
	*transfer = (struct xmpp_transfer){
		.size = CONTENT_SIZE_UNKNOWN,
		.half = to->side,
		.began = ++to->state->transfers.n_begun,
	};
	for (unsigned half = 0; half < 2; half++)
		transfer->bands[half].gap = to->state->halves[half].was_lost;
	return transfer;
}

struct xmpp_transfer *xmpp_transfer_begin(const struct xmpp_turn *to)
{
	struct xmpp_transfers *transfers = &to->state->transfers;
	struct xmpp_transfer **slot = make_room(to);

	*slot = transfers->spare;
	transfers->spare = NULL;
	return begin(to, *slot);
}

struct xmpp_transfer *xmpp_transfer_begin_anew(
	const struct xmpp_turn *to, struct xmpp_transfer *transfer)
{
	end_bands(to, transfer, XMPP_ENDS_OVER);
	no_longer_at_hand(to, transfer);
	return begin(to, transfer);
}
