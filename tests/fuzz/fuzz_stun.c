// SPDX-License-Identifier: BSD-3-Clause
// STUN messages of any content, as a datagram and as what a stream begins with. Held, besides what
// the sanitizers see: the attributes of a message lie in it and fill it, a word that is reported is
// an application's, and what is a message with a cookie in a datagram is one in a stream, also in
// parts.
#include <stdlib.h>
#include <string.h>
#include "classify/stun_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

static bool inside(struct text part, struct text whole)
{
	return part.at >= whole.at && part.at + part.length <= whole.at + whole.length;
}

static void walk(struct text bytes, const struct stun_message *message, bool all)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;

	must(inside(message->whole, bytes) && inside(message->attributes, message->whole));
	while (stun_take_attribute(&rest, message, &attribute))
		must(inside(attribute.value, message->attributes));
	must(!all || !rest.length);
	const struct text realm = stun_realm(message);
	const char *word = stun_application(message);

	must(!realm.length || inside(realm, message->attributes));
	must(!word || app_find(word) != APP_NONE);
	must(!(message->cut && stun_fingerprint(message) == STUN_FINGERPRINT_RIGHT));
	stun_is_classic(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct stun_message message, part;
	uint8_t *exact = malloc(len ? len : 1);

	must(exact);
	memcpy(exact, bytes, len);
	const struct text whole = {exact, (uint32_t)len};

	if (stun_read_stream(whole, &message))
		walk(whole, &message, false);
	if (stun_read(whole, &message)) {
		walk(whole, &message, true);
		must(!message.cut && message.whole.length == whole.length);
		must(!message.cookie || message.unpadded || stun_read_stream(whole, &part));
		if (message.cookie && whole.length > STUN_HEADER_BYTES) {
			const struct text cut = {exact, whole.length - 1};

			must(stun_read_stream(cut, &part) && part.cut);
			must(!stun_read(cut, &part));
		}
	}
	free(exact);
	return 0;
}
