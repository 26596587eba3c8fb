// SPDX-License-Identifier: BSD-3-Clause
#include "model/sample_pattern.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS_MAX 4 // of what may come any number of times

static const char *skip_escape(const char *at)
{
	return at + (at[1] == 'x' ? 4 : 2);
}

// Behind a literal, a class or a group; a quantifier's signs count as literals.
static const char *skip_atom(const char *at)
{
	if (*at == '\\')
		return skip_escape(at);
	if (*at == '[') {
		at += at[1] == '^' ? 2 : 1;
		for (at += *at == ']'; *at != ']';)
			at = *at == '\\' ? skip_escape(at) : at + 1;
		return at + 1;
	}
	if (*at != '(')
		return at + 1;
	for (at++; *at != ')';)
		at = skip_atom(at);
	return at + 1;
}

static void die(const char *what, const char *at)
{
	fprintf(stderr, "sample_pattern: %s: %s\n", what, at);
	abort();
}

static unsigned hex(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

static void add_range(bool set[256], unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		set[i] = true;
}

// The octet of an escape, or its class added to the set: -1.
static int take_escape(const char *at, bool set[256])
{
	switch (at[1]) {
	case 'x': return (int)(hex(at[2]) << 4 | hex(at[3]));
	case 'r': return '\r';
	case 'n': return '\n';
	case 't': return '\t';
	case 's':
		add_range(set, '\t', '\r');
		set[' '] = true;
		return -1;
	case 'd': add_range(set, '0', '9'); return -1;
	default: break;
	}
	if ((at[1] >= 'a' && at[1] <= 'z') || (at[1] >= 'A' && at[1] <= 'Z') ||
		(at[1] >= '0' && at[1] <= '9'))
		die("an escape that is not known", at);
	return (uint8_t)at[1];
}

static void take_class(const char *at, const char *end, bool set[256])
{
	bool inverse = at[1] == '^';
	int before = -1;

	for (at += inverse ? 2 : 1; at < end - 1;) {
		bool range = *at == '-' && before >= 0 && at + 1 < end - 1;

		at += range;
		int octet = *at == '\\' ? take_escape(at, set) : (uint8_t)*at;

		at = *at == '\\' ? skip_escape(at) : at + 1;
		if (octet >= 0)
			add_range(set, range ? (unsigned)before : (unsigned)octet, (unsigned)octet);
		before = octet;
	}
	for (unsigned i = 0; inverse && i < 256; i++)
		set[i] = !set[i];
}

static void emit(struct sample *sample, const bool set[256])
{
	uint8_t members[256];
	unsigned n = 0, log = 0;

	for (unsigned i = 0; i < 256; i++)
		if (set[i])
			members[n++] = (uint8_t)i;
	if (!n || sample->n == SAMPLE_MAX)
		die("nothing matches, or too much", "");
	while (1u << log < n)
		log++;
	sample->bits[sample->n] = (uint8_t)(8 - log);
	sample->at[sample->n++] = members[sample->below(n)];
}

static void sample_any_of(struct sample *sample, const char *at, const char *end);

static void sample_atom(struct sample *sample, const char *at, const char *end)
{
	bool set[256] = {0};

	switch (*at) {
	case '^':
	case '$': return;
	case '(':
		at++;
		if (*at == '?' && at[1] != ':')
			die("a group that is not known", at);
		sample_any_of(sample, at + (*at == '?' ? 2 : 0), end - 1);
		return;
	case '[': take_class(at, end, set); break;
	case '.':
		add_range(set, 0, 255);
		set['\n'] = sample->dotall;
		break;
	case '\\': {
		int octet = take_escape(at, set);

		if (octet >= 0)
			set[octet] = true;
		break;
	}
	default: set[(uint8_t)*at] = true; break;
	}
	emit(sample, set);
}

// How often the atom before `at` comes; returns what is behind.
static const char *quantifier(const char *at, unsigned *least, unsigned *most)
{
	char *end;

	*least = *most = 1;
	switch (*at) {
	case '?': *least = 0; return at + 1;
	case '*':
		*least = 0;
		*most = REPEATS_MAX;
		return at + 1;
	case '+': *most = REPEATS_MAX; return at + 1;
	case '{': break;
	default: return at;
	}
	*least = *most = (unsigned)strtoul(at + 1, &end, 10);
	if (*end == ',') {
		*most = (unsigned)strtoul(end + 1, &end, 10);
		if (*most < *least || *most > *least + REPEATS_MAX)
			*most = *least + REPEATS_MAX;
	}
	if (*end != '}')
		die("a quantifier that is not known", at);
	return end + 1;
}

static void sample_sequence(struct sample *sample, const char *at, const char *end)
{
	while (at < end) {
		const char *behind = skip_atom(at);
		unsigned least, most;
		const char *next = quantifier(behind, &least, &most);
		unsigned times = least + sample->below(most - least + 1);

		for (unsigned i = 0; i < times; i++)
			sample_atom(sample, at, behind);
		at = next;
	}
}

static void sample_any_of(struct sample *sample, const char *at, const char *end)
{
	const char *begins = at;
	unsigned n = 1;

	for (const char *i = at; i < end; i = skip_atom(i))
		n += *i == '|';
	for (unsigned which = sample->below(n); which; at = skip_atom(at))
		if (*at == '|' && !--which)
			begins = at + 1;
	at = begins;
	while (at < end && *at != '|')
		at = skip_atom(at);
	sample_sequence(sample, begins, at);
}

void sample_pattern(struct sample *sample, const char *pattern)
{
	sample->n = 0;
	sample_any_of(sample, pattern, pattern + strlen(pattern));
}
