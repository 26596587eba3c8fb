// SPDX-License-Identifier: BSD-3-Clause
// Keeps the best N connection cache entries while pages of them arrive.
#include "control/cache/conn_top.h"

void conn_top_init(struct conn_top *top, uint32_t n, unsigned n_lcores)
{
	*top = (struct conn_top){0};
	top_n_init(&top->best, n * (n_lcores ? n_lcores : 1), sizeof(struct conn_entry));
}

// The same for an entry in each replica, so that these stand together.
static uint64_t hash_of(const struct conn_key *key)
{
	union conn_words words = {.key = *key};
	uint64_t hash = 0;

	for (unsigned i = 0; i < 6; i++) {
		hash = (hash ^ words.words[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

void conn_top_offer(
	struct conn_top *top, unsigned lcore, const struct conn_entry *entry, uint64_t value)
{
	struct conn_entry *kept = top_n_offer(&top->best, value, hash_of(&entry->key));

	if (kept)
		*kept = *entry;
	top->n_offered++;
	top->offered[lcore]++;
}

void conn_top_list(struct conn_top *top, struct conn_list *out)
{
	for (uint32_t i = 0; i < top->best.n; i++)
		conn_list_add(out, top_n_at(&top->best, i));
	out->no_memory |= top->best.no_memory;
}

bool conn_top_has_left_out(const struct conn_top *top)
{
	return top->n_offered > top->best.n;
}

uint64_t conn_top_fullest(const struct conn_top *top)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < LCORES_MAX; i++)
		most = top->offered[i] > most ? top->offered[i] : most;
	return most;
}

void conn_top_free(struct conn_top *top)
{
	top_n_free(&top->best);
}
