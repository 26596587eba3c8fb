// SPDX-License-Identifier: BSD-3-Clause
// What a client asks for over a TCP connection: pieces make no difference to the names that are
// found, places come back, and where a request is awaited, or servers differ, the one that follows
// is found. The first octet says how the rest is cut.
#include "classify/app_proto.h"
#include "pipeline/vocab/hash_seed.h"
#include "classify/names/host_name.h"
#include "classify/names/heads.h"
#include "classify/names/follow.h"
#include "classify/handshake/tls_record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define PLACES 2

static void check(bool holds)
{
	if (!holds)
		abort();
}

struct seen {
	uint32_t hash, n;
	bool wanted; // the name that is looked for
};

static void found(void *ctx, const struct host_name *name, bool also)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->hash = seen->hash * 31 + also + 1;
	for (unsigned i = 0; i < name->length; i++)
		seen->hash = seen->hash * 31 + name->bytes[i];
	seen->wanted |= name->length == 15 && !memcmp(name->bytes, "blocked.example", 15);
}

struct client {
	struct names_follow follow;
	struct seen seen;
	uint64_t said;
};

static struct name_heads *heads;

static void say(struct client *client, unsigned half, const void *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	if (!exact)
		abort();
	memcpy(exact, bytes, length);
	static const struct flow_ends ends;
	const struct name_user user = {.ends = &ends, .inside = true};
	const struct span span = {.offset64 = half == HALF_C2S ? client->said : 1,
		.unchecked = exact,
		.extent = (uint32_t)length,
		.half = (uint8_t)half};

	check(names_follow_feed(heads, &client->follow, &span, &user, found, &client->seen));
	check(client->follow.kept <= NAME_HEAD_BYTES &&
		!client->follow.kept == !client->follow.head);
	client->said += half == HALF_C2S ? length : 0;
	free(exact);
}

static void end(struct client *client)
{
	names_follow_end(heads, &client->follow);
	check(name_heads_left(heads) == PLACES);
}

// A request behind all that was said. Not in what all servers take for a body or for a header.
static void ask(struct client *client)
{
	static const char request[] = "\r\nGET / HTTP/1.1\r\nHost: blocked.example\r\n\r\n";
	const struct names_follow *follow = &client->follow;
	bool awaited = follow->phase == NAMES_HEAD && !follow->bits && !follow->kept;

	if (!follow->http || !names_follow_goes_on(follow) ||
		!(awaited || follow->http == NAMES_UNCLEAR))
		return;
	client->seen.wanted = false;
	say(client, HALF_C2S, request, sizeof(request) - 1);
	check(client->seen.wanted);
}

// What is looked at in whole alone: TLS, and the beginning of HTTP/2. What stands behind a CR in a
// line of no use is looked at as its part, or as a line.
static bool is_cut_freely(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] == '\r' && (i + 1 == length || bytes[i + 1] != '\n'))
			return false;
	return length && !tls_may_begin(bytes[0]) && bytes[0] != 'P';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	struct client whole = {.said = 0}, cut = {.said = 0}, answered = {.said = 0};

	if (len < 2 || len > 20000)
		return 0;
	if (!heads)
		heads = name_heads_new(PLACES, &HASH_SEED_FIXED);
	if (!heads)
		abort();
	size_t piece = bytes[0] % 64 + 1;

	bytes++;
	len--;
	say(&whole, HALF_C2S, bytes, len);
	for (size_t at = 0; at < len; at += piece)
		say(&cut, HALF_C2S, bytes + at, len - at < piece ? len - at : piece);
	if (is_cut_freely(bytes, len))
		check(whole.seen.n == cut.seen.n && whole.seen.hash == cut.seen.hash &&
			whole.follow.phase == cut.follow.phase &&
			whole.follow.http == cut.follow.http);
	ask(&whole);
	names_follow_end(heads, &whole.follow);
	ask(&cut);
	end(&cut);
	for (size_t at = 0; at < len; at += piece) {
		say(&answered, HALF_C2S, bytes + at, len - at < piece ? len - at : piece);
		say(&answered, HALF_S2C, answer, sizeof(answer) - 1);
	}
	end(&answered);
	return 0;
}
