// SPDX-License-Identifier: BSD-3-Clause
// Creates classifiers and the pool of their states, with an owner and a rank for each state.
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "classify/handshake/mtproto.h"
#include "classify/states.h"
#include "pipeline/vocab/pages.h"

static_assert(APP_LINE_BYTES == CLASSIFY_PREFIX_BYTES, "4 KiB for both halves");
static_assert(sizeof(struct state) <= 4096 + 384, "a state is 4 KiB of bytes and little else");

static void list_shapes(struct classifier *classifier)
{
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);

		if (proto->shape_tcp)
			classifier->shapes[0][classifier->n_shapes[0]++] =
				(struct shape){proto, app};
		if (proto->shape_udp)
			classifier->shapes[1][classifier->n_shapes[1]++] =
				(struct shape){proto, app};
		if (proto->media_between)
			classifier->callers[classifier->n_callers++] = (struct shape){proto, app};
	}
}

static int by_port(const void *a, const void *b)
{
	const struct port_entry *x = a, *y = b;

	return x->port != y->port ? x->port - y->port : x->app - y->app;
}

static void list_ports(struct classifier *classifier)
{
	for (unsigned udp = 0; udp < 2; udp++) {
		struct port_entry *entries = classifier->ports[udp];
		unsigned n = 0;

		for (uint16_t app = 1; app <= app_count(); app++) {
			const struct app_proto *proto = app_get(app);
			const uint16_t *ports = udp ? proto->udp_ports : proto->tcp_ports;

			for (unsigned i = 0; i < 8 && ports[i]; i++)
				entries[n++] = (struct port_entry){ports[i], app};
		}
		qsort(entries, n, sizeof(*entries), by_port);
		classifier->n_ports[udp] = n;
	}
}

uint16_t port_app(const struct classifier *classifier, uint8_t l4_proto, uint16_t port)
{
	bool udp = l4_proto != IPPROTO_TCP;
	const struct port_entry *entries = classifier->ports[udp];
	unsigned low = 0, high = classifier->n_ports[udp];

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (entries[middle].port < port)
			low = middle + 1;
		else
			high = middle;
	}
	return low < classifier->n_ports[udp] && entries[low].port == port ? entries[low].app
									   : APP_NONE;
}

static void free_ciphers(struct classifier *classifier)
{
	mtproto_opener_free(classifier->mtproto);
	quic_crypto_free(classifier->crypto);
}

struct classifier *classifier_new(unsigned n_states, unsigned index, int socket)
{
	struct classifier *classifier = calloc(1, sizeof(*classifier));

	if (!classifier)
		return NULL;
	classifier->crypto = quic_crypto_new();
	classifier->mtproto = mtproto_opener_new();
	if (!classifier->crypto || !classifier->mtproto) {
		free_ciphers(classifier);
		free(classifier);
		return NULL;
	}
	classifier->media = app_find("rtp");
	classifier->telegram = app_find("telegram");
	list_shapes(classifier);
	list_ports(classifier);
	classifier->mapped_bytes = (n_states + 1) * sizeof(struct state);
	classifier->states = pages_new(classifier->mapped_bytes, socket);
	if (!classifier->states) {
		free_ciphers(classifier);
		free(classifier);
		return NULL;
	}
	// written when they are used first, as the states are
	classifier->links = pages_new((n_states + 1) * sizeof(struct state_link), socket);
	if (!classifier->links) {
		munmap(classifier->states, classifier->mapped_bytes);
		free_ciphers(classifier);
		free(classifier);
		return NULL;
	}
	classifier->index = index;
	classifier->n_states = n_states;
	classifier->n_free = n_states;
	classifier->first_free = n_states ? 1 : CLASSIFY_NO_STATE;
	return classifier;
}

void classifier_free(struct classifier *classifier)
{
	if (!classifier)
		return;
	SHOW(classifier->states, classifier->mapped_bytes); // whoever gets these pages next
	munmap(classifier->states, classifier->mapped_bytes);
	munmap(classifier->links, (classifier->n_states + 1) * sizeof(struct state_link));
	free_ciphers(classifier);
	free(classifier);
}

static void link_youngest(struct classifier *classifier, uint32_t ref, unsigned rank)
{
	struct state_link *link = &classifier->links[ref];

	link->rank = (uint8_t)rank;
	link->younger = CLASSIFY_NO_STATE;
	link->older = classifier->youngest_of[rank];
	if (link->older)
		classifier->links[link->older].younger = ref;
	else
		classifier->oldest_of[rank] = ref;
	classifier->youngest_of[rank] = ref;
}

static void unlink_state(struct classifier *classifier, uint32_t ref)
{
	const struct state_link *link = &classifier->links[ref];

	if (link->older)
		classifier->links[link->older].younger = link->younger;
	else
		classifier->oldest_of[link->rank] = link->younger;
	if (link->younger)
		classifier->links[link->younger].older = link->older;
	else
		classifier->youngest_of[link->rank] = link->older;
}

bool classifier_feeds(struct classifier *classifier, uint32_t owner, unsigned rank)
{
	classifier->owner = owner;
	classifier->rank = (uint8_t)rank;
	return classifier->n_free;
}

bool classifier_oldest(const struct classifier *classifier, unsigned rank, uint32_t *owner)
{
	uint32_t oldest = classifier->oldest_of[rank];

	*owner = classifier->links[oldest].owner;
	return oldest != CLASSIFY_NO_STATE;
}

void classifier_rank(struct classifier *classifier, uint32_t ref, unsigned rank)
{
	if (ref == CLASSIFY_NO_STATE)
		return;
	const struct state *state = state_at(classifier, ref, STATE_CLASSIFY);

	unlink_state(classifier, ref);
	link_youngest(classifier, ref, rank);
	if (state)
		classifier_rank(classifier, state->look.beside, rank);
}

unsigned classifier_states_free(const struct classifier *classifier)
{
	return classifier->n_free;
}

unsigned classifier_states_max(const struct classifier *classifier)
{
	return classifier->n_states;
}

uint64_t classifier_states_taken(const struct classifier *classifier)
{
	return classifier->n_taken;
}

// The free list is last in, first out, and a state that was never used is followed by its
// neighbour (`next` 0 in fresh pages): only as many pages are ever touched as flows were
// undecided at once.
struct state *state_take(struct classifier *classifier, enum state_use use, uint32_t *ref)
{
	uint32_t taken = classifier->first_free;

	if (!classifier->n_free)
		return NULL;
	struct state *state = &classifier->states[taken - 1];

	classifier->first_free = state->next ? state->next : taken + 1;
	classifier->n_free--;
	classifier->n_taken++;
	state->use = (uint8_t)use;
	classifier->links[taken].owner = classifier->owner;
	link_youngest(classifier, taken, classifier->rank);
	*ref = taken;
	return state;
}

struct state *state_at(struct classifier *classifier, uint32_t ref, enum state_use use)
{
	if (ref == CLASSIFY_NO_STATE || ref > classifier->n_states)
		return NULL;
	struct state *state = &classifier->states[ref - 1];

	return state->use == use ? state : NULL;
}

void state_give(struct classifier *classifier, uint32_t *ref)
{
	uint32_t given = *ref;

	*ref = CLASSIFY_NO_STATE;
	if (given == CLASSIFY_NO_STATE || given > classifier->n_states)
		return;
	struct state *state = &classifier->states[given - 1];

	if (state->use == STATE_FREE)
		return;
	unlink_state(classifier, given);
	state->use = STATE_FREE;
	state->next = classifier->first_free;
	classifier->first_free = given;
	classifier->n_free++;
}

void look_begin(struct look *look, const struct span *span, bool midstream)
{
	unsigned half = span->half & 1;

	if (look->length[half] || look->ended[half] || span_is_gap(span))
		return;
	look->begin64[half] = span->offset64;
	if (midstream || span->offset64)
		look->headless |= (uint8_t)(1u << half);
}

bool look_grow(struct look *look, struct state *state, const struct span *span)
{
	unsigned half = span->half & 1;
	uint32_t length = look->length[half];
	const uint8_t bit = (uint8_t)(1u << half);

	if (span_is_gap(span) || span->offset64 > look->begin64[half] + length) {
		// Beyond a full prefix this is the rest of the flow, else a hole.
		if (span_is_gap(span) && !(span->flags & SPAN_CUT))
			look->cut &= (uint8_t)~bit;
		else if (span_is_gap(span) && length && !look->ended[half])
			look->cut |= bit;
		look->ended[half] = true;
		return false;
	}
	const struct text bytes = span_text(span);
	uint32_t known = (uint32_t)(look->begin64[half] + length - span->offset64);
	uint32_t room = CLASSIFY_PREFIX_BYTES - length;

	if (look->ended[half] || known >= bytes.length || !room)
		return false;
	uint32_t here = bytes.length - known < room ? bytes.length - known : room;

	if (state) {
		SHOW(state->bytes[half] + length, here);
		memcpy(state->bytes[half] + length, bytes.at + known, here);
	} else {
		look->at[half] = bytes.at;
	}
	look->length[half] = (uint16_t)(length + here);
	return true;
}

bool look_grow_beyond(struct look *look, struct state *state, const struct span *span)
{
	unsigned half = span->half & 1;
	const struct text bytes = span_text(span);
	uint32_t at = (uint32_t)look->length[half] + look->beyond[half];
	uint32_t here = CLASSIFY_PREFIX_BYTES - at;

	if (here > bytes.length)
		here = bytes.length;
	if (!state || !here || !(look->cut >> half & 1))
		return false;
	SHOW(state->bytes[half] + at, here);
	memcpy(state->bytes[half] + at, bytes.at, here);
	look->beyond[half] = (uint16_t)(look->beyond[half] + here);
	return true;
}
