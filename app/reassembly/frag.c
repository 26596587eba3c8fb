// SPDX-License-Identifier: BSD-3-Clause
// The table of incomplete datagrams, with its limits and time-outs.
#include "reassembly/frag.h"

#include <assert.h>
#include <string.h>
#include <rte_common.h>
#include <rte_malloc.h>
#include "pipeline/vocab/chains.h"

#define NONE CHAIN_END

struct node { // a packet that is held
	struct frag_piece piece;
	uint32_t next; // in order of offsets; of free nodes
	uint32_t next_arrived;
};

struct entry { // a datagram
	struct frag_key key;
	uint64_t created_ns;
	uint32_t next;         // in its chain; of free entries
	uint32_t older, newer; // by age
	uint32_t first, last;  // nodes in order of offsets
	uint32_t first_arrived, last_arrived;
	uint32_t length; // of the datagram; 0: its last fragment has not come
	uint32_t bytes;  // that are here
	uint32_t n;      // packets
	bool given_up;
	uint8_t why; // enum frag_end
};

struct frag_table {
	struct frag_limits limits;
	frag_sink *sink;
	void *ctx;
	struct entry *entries;
	struct node *nodes;
	struct hash_seed seed;
	struct chains chains;
	uint32_t free_entry, free_node;
	uint32_t oldest, newest;
	uint32_t n_entries, n_packets;
	uint32_t held; // mbufs
	struct frag_whole whole;
};

static void *zeroed(size_t n, size_t size, int socket)
{
	return rte_zmalloc_socket("frag", n * size, RTE_CACHE_LINE_SIZE, socket);
}

struct frag_table *frag_table_new(const struct frag_limits *limits, const struct hash_seed *seed,
	frag_sink *sink, void *ctx, int socket)
{
	struct frag_table *table = zeroed(1, sizeof(*table), socket);

	if (!table)
		return NULL;
	uint32_t n_chains = rte_align32pow2(limits->datagrams * 2);
	// the fragment that is too many goes to the sink, too
	uint32_t most = limits->per_datagram + 1;

	table->limits = *limits;
	table->seed = *seed;
	table->sink = sink;
	table->ctx = ctx;
	table->entries = zeroed(limits->datagrams, sizeof(struct entry), socket);
	table->nodes = zeroed(limits->packets, sizeof(struct node), socket);
	uint32_t *heads = zeroed(n_chains, sizeof(uint32_t), socket);

	if (heads)
		chains_init(&table->chains, heads, n_chains);
	table->whole.arrived = zeroed(most, sizeof(struct rte_mbuf *), socket);
	table->whole.pieces = zeroed(most, sizeof(struct frag_piece), socket);
	if (!table->entries || !table->nodes || !heads || !table->whole.arrived ||
		!table->whole.pieces) {
		frag_table_free(table);
		return NULL;
	}
	for (uint32_t i = 0; i < limits->datagrams; i++)
		table->entries[i].next = i + 1 < limits->datagrams ? i + 1 : NONE;
	for (uint32_t i = 0; i < limits->packets; i++)
		table->nodes[i].next = i + 1 < limits->packets ? i + 1 : NONE;
	table->oldest = table->newest = NONE;
	return table;
}

void frag_table_free(struct frag_table *table)
{
	if (!table)
		return;
	rte_free(table->entries);
	rte_free(table->nodes);
	rte_free(table->chains.heads);
	rte_free(table->whole.arrived);
	rte_free(table->whole.pieces);
	rte_free(table);
}

static uint32_t *head_of(const struct frag_table *table, const struct frag_key *key)
{
	uint64_t words[sizeof(*key) / 8];

	memcpy(words, key, sizeof(words));
	return chains_head(&table->chains, hash_words(&table->seed, words, RTE_DIM(words)));
}

// *oldest: of the chain; NONE: it is empty.
static unsigned chain_length(const struct frag_table *table, uint32_t head, uint32_t *oldest)
{
	unsigned length = 0;

	*oldest = head;
	for (uint32_t at = head; at != NONE; at = table->entries[at].next) {
		if (table->entries[at].created_ns <= table->entries[*oldest].created_ns)
			*oldest = at;
		length++;
	}
	return length;
}

static struct entry *find(const struct frag_table *table, const struct frag_key *key)
{
	uint32_t at = *head_of(table, key);

	while (at != NONE && memcmp(&table->entries[at].key, key, sizeof(*key)) != 0)
		at = table->entries[at].next;
	return at == NONE ? NULL : &table->entries[at];
}

static void unlink_entry(struct frag_table *table, struct entry *e)
{
	uint32_t index = (uint32_t)(e - table->entries), oldest;
	uint32_t *link = head_of(table, &e->key);

	chains_shrink(&table->chains, chain_length(table, *link, &oldest));
	while (*link != index)
		link = &table->entries[*link].next;
	*link = e->next;
	if (e->older == NONE)
		table->oldest = e->newer;
	else
		table->entries[e->older].newer = e->newer;
	if (e->newer == NONE)
		table->newest = e->older;
	else
		table->entries[e->newer].older = e->older;
	e->next = table->free_entry;
	table->free_entry = index;
	table->n_entries--;
}

static uint32_t mbufs_of(const struct frag_piece *piece)
{
	return piece->m->nb_segs + piece->more_mbufs;
}

static uint32_t packets_of(const struct frag_piece *piece)
{
	return 1u + piece->more_packets;
}

// Its packets leave the table, in whole.arrived, in the order in which they came.
static unsigned take_packets(struct frag_table *table, struct entry *e)
{
	unsigned n = 0;

	for (uint32_t at = e->first_arrived; at != NONE;) {
		struct node *node = &table->nodes[at];
		uint32_t next = node->next_arrived;

		table->held -= mbufs_of(&node->piece);
		table->n_packets -= packets_of(&node->piece);
		table->whole.arrived[n++] = node->piece.m;
		node->next = table->free_node;
		table->free_node = at;
		at = next;
	}
	e->first = e->last = e->first_arrived = e->last_arrived = NONE;
	e->n = 0;
	return n;
}

static void end(struct frag_table *table, struct entry *e, enum frag_end why)
{
	unsigned n = take_packets(table, e);

	unlink_entry(table, e);
	if (n)
		table->sink(table->ctx, why, table->whole.arrived, n);
}

// What is left of it is its key, so that what comes later is known.
static enum frag_verdict give_up(
	struct frag_table *table, struct entry *e, enum frag_end why, struct rte_mbuf *m)
{
	unsigned n = take_packets(table, e);

	e->given_up = true;
	e->why = (uint8_t)why;
	table->whole.arrived[n++] = m;
	table->sink(table->ctx, why, table->whole.arrived, n);
	return FRAG_GIVEN_UP;
}

static struct entry *make(struct frag_table *table, const struct frag_key *key, uint64_t now_ns)
{
	uint32_t *chain = head_of(table, key), oldest;

	if (chain_length(table, *chain, &oldest) == CHAIN_MAX)
		end(table, &table->entries[oldest], FRAG_END_LIMIT);
	if (table->free_entry == NONE)
		end(table, &table->entries[table->oldest], FRAG_END_LIMIT);
	uint32_t index = table->free_entry;
	struct entry *e = &table->entries[index];

	chains_grow(&table->chains, chain_length(table, *chain, &oldest));
	table->free_entry = e->next;
	*e = (struct entry){
		.key = *key,
		.created_ns = now_ns,
		.next = *chain,
		.older = table->newest,
		.newer = NONE,
		.first = NONE,
		.last = NONE,
		.first_arrived = NONE,
		.last_arrived = NONE,
	};
	*chain = index;
	if (table->newest == NONE)
		table->oldest = index;
	else
		table->entries[table->newest].newer = index;
	table->newest = index;
	table->n_entries++;
	return e;
}

static uint32_t end_of(const struct frag_piece *piece)
{
	return piece->offset + piece->length;
}

// The next bytes of a packet that lie in one segment.
static const uint8_t *run(const struct rte_mbuf **m, uint32_t *at, uint32_t *n)
{
	while (*m && *at >= (*m)->data_len) {
		*at -= (*m)->data_len;
		*m = (*m)->next;
	}
	if (!*m)
		return NULL;
	*n = RTE_MIN(*n, (*m)->data_len - *at);
	return rte_pktmbuf_mtod_offset(*m, const uint8_t *, *at);
}

static bool same_bytes(const struct frag_piece *a, const struct frag_piece *b)
{
	const struct rte_mbuf *m_a = a->m, *m_b = b->m;
	uint32_t at_a = a->at, at_b = b->at, left = RTE_MIN(a->have, b->have);

	while (left) {
		uint32_t n = left;
		const uint8_t *p_a = run(&m_a, &at_a, &n), *p_b = run(&m_b, &at_b, &n);

		if (!p_a || !p_b)
			return false; // pkt_len promises more than the segments hold
		if (memcmp(p_a, p_b, n) != 0)
			return false;
		at_a += n;
		at_b += n;
		left -= n;
	}
	return true;
}

// Does it fit what is known of the datagram's length? What does, tells it.
static bool fits(const struct frag_table *table, struct entry *e, const struct frag_piece *piece)
{
	uint32_t ends = end_of(piece);

	if (!piece->length || ends > FRAG_DATAGRAM_MAX || (piece->more && piece->length % 8))
		return false;
	if (piece->more)
		return !e->length || ends <= e->length;
	if (e->length && e->length != ends)
		return false;
	if (e->last != NONE && end_of(&table->nodes[e->last].piece) > ends)
		return false;
	e->length = ends;
	return true;
}

// Where it belongs: behind *before (NONE: in front of all). False: it overlaps *other.
static bool place(const struct frag_table *table, const struct entry *e,
	const struct frag_piece *piece, uint32_t *before, uint32_t *other)
{
	*before = e->last; // in order, as nearly all come
	if (e->last == NONE || piece->offset >= end_of(&table->nodes[e->last].piece))
		return true;
	*before = NONE;
	for (uint32_t at = e->first; at != NONE; at = table->nodes[at].next) {
		const struct frag_piece *held = &table->nodes[at].piece;

		if (held->offset >= end_of(piece))
			return true;
		if (end_of(held) > piece->offset) {
			*other = at;
			return false;
		}
		*before = at;
	}
	return true;
}

// Room for a packet of so many mbufs. False: only at the cost of its own datagram.
static bool make_room(struct frag_table *table, const struct entry *e, uint32_t n)
{
	while (table->free_node == NONE || table->held + n > table->limits.packets) {
		struct entry *oldest = &table->entries[table->oldest];

		if (oldest == e)
			return false;
		end(table, oldest, FRAG_END_LIMIT);
	}
	return true;
}

static void insert(
	struct frag_table *table, struct entry *e, const struct frag_piece *piece, uint32_t before)
{
	uint32_t index = table->free_node;
	struct node *node = &table->nodes[index];
	uint32_t *link = before == NONE ? &e->first : &table->nodes[before].next;

	table->free_node = node->next;
	*node = (struct node){.piece = *piece, .next = *link, .next_arrived = NONE};
	*link = index;
	if (node->next == NONE)
		e->last = index;
	if (e->last_arrived == NONE)
		e->first_arrived = index;
	else
		table->nodes[e->last_arrived].next_arrived = index;
	e->last_arrived = index;
	e->bytes += piece->length;
	e->n += packets_of(piece);
	table->n_packets += packets_of(piece);
	table->held += mbufs_of(piece);
}

static enum frag_verdict complete(struct frag_table *table, struct entry *e)
{
	struct frag_whole *whole = &table->whole;
	unsigned n = 0;

	for (uint32_t at = e->first; at != NONE; at = table->nodes[at].next)
		whole->pieces[n++] = table->nodes[at].piece;
	whole->length = e->length;
	whole->n = take_packets(table, e);
	unlink_entry(table, e);
	return FRAG_WHOLE;
}

enum frag_verdict frag_add(struct frag_table *table, const struct frag_key *key,
	const struct frag_piece *piece, uint64_t now_ns, enum frag_end *why)
{
	struct entry *e = find(table, key);
	uint32_t before, other;

	if (e && now_ns - e->created_ns >= table->limits.timeout_ns && now_ns > e->created_ns) {
		end(table, e, FRAG_END_TIMEOUT); // nobody has come by for it yet
		e = NULL;
	}
	if (e && e->given_up) {
		*why = e->why;
		return FRAG_REFUSED;
	}
	if (!e)
		e = make(table, key, now_ns);
	if (!fits(table, e, piece))
		return give_up(table, e, FRAG_END_INVALID, piece->m);
	if (!place(table, e, piece, &before, &other)) {
		const struct frag_piece *held = &table->nodes[other].piece;

		if (held->offset == piece->offset && held->length == piece->length &&
			held->more == piece->more && same_bytes(held, piece))
			return FRAG_DUPLICATE;
		return give_up(table, e, FRAG_END_OVERLAP, piece->m);
	}
	if (e->n + packets_of(piece) > table->limits.per_datagram ||
		!make_room(table, e, mbufs_of(piece)))
		return give_up(table, e, FRAG_END_LIMIT, piece->m);
	insert(table, e, piece, before);
	return e->length && e->bytes == e->length ? complete(table, e) : FRAG_HELD;
}

const struct frag_whole *frag_whole(const struct frag_table *table)
{
	return &table->whole;
}

unsigned frag_age(struct frag_table *table, uint64_t now_ns, unsigned budget)
{
	unsigned n = 0;

	for (; n < budget && table->oldest != NONE; n++) {
		struct entry *oldest = &table->entries[table->oldest];

		if (now_ns < oldest->created_ns ||
			now_ns - oldest->created_ns < table->limits.timeout_ns)
			break;
		end(table, oldest, FRAG_END_TIMEOUT);
	}
	return n;
}

void frag_drain(struct frag_table *table)
{
	while (table->oldest != NONE)
		end(table, &table->entries[table->oldest], FRAG_END_DRAIN);
}

uint32_t frag_held(const struct frag_table *table)
{
	return table->held;
}

uint32_t frag_packets(const struct frag_table *table)
{
	return table->n_packets;
}

uint32_t frag_datagrams(const struct frag_table *table)
{
	return table->n_entries;
}

unsigned frag_longest_chain(const struct frag_table *table)
{
	return chains_longest(&table->chains);
}
