// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.x of two ends, with gaps and ends anywhere: what is told does not depend on pieces,
// budgets or memory that was refused, and all memory is given back (lib/content/feed.c). The first
// two octets say how it is cut and which block is refused; then come records: what it is (SPAN_*,
// half in the highest bit), its length in two octets, its bytes.
#include "content/decoders.h"
#include "lib/content/conversation.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define INPUT_MAX 8192
#define GAP_MAX   1000
#define HALF_BIT  0x80

static struct transcript whole, other;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void read_records(const uint8_t *bytes, size_t len, struct conversation *conversation)
{
	for (unsigned n = 0; n < CONVERSATION_SAID && len >= 3; n++) {
		uint8_t kind = bytes[0];
		size_t length = (size_t)bytes[1] << 8 | bytes[2];
		bool gap = kind & SPAN_GAP;

		bytes += 3;
		len -= 3;
		if (gap)
			length %= GAP_MAX;
		if (!gap && length > len)
			length = len;
		conversation->said[n] = (struct said){kind & HALF_BIT ? HALF_S2C : HALF_C2S,
			kind & (SPAN_GAP | SPAN_MIDSTREAM | SPAN_FIN), (uint32_t)length,
			gap ? NULL : bytes};
		if (!conversation->said[n].flags && !length)
			return;
		bytes += gap ? 0 : length;
		len -= gap ? 0 : length;
	}
}

static void same(const struct conversation *conversation, struct feeding feeding)
{
	feeding.want = CONTENT_WANT_DATA;
	conversation_feed(&content_http, conversation, &feeding, &other);
	check(whole.told == other.told && !strcmp(whole.text, other.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct conversation conversation = {.name = "fuzz"};
	const struct feeding at_once = {.want = CONTENT_WANT_DATA, .budget = UINT32_MAX};

	if (len < 2 || len > INPUT_MAX)
		return 0;
	read_records(bytes + 2, len - 2, &conversation);
	uint32_t blocks = conversation_feed(&content_http, &conversation, &at_once, &whole);

	same(&conversation, (struct feeding){.piece = 1, .budget = UINT32_MAX});
	same(&conversation,
		(struct feeding){
			.seed = 1 + bytes[0], .budget = 1 + bytes[0] % 64, .rest_again = true});
	if (blocks)
		same(&conversation,
			(struct feeding){.refused = 1 + bytes[1] % blocks, .budget = UINT32_MAX});
	conversation_feed(&content_http, &conversation,
		&(struct feeding){.want = CONTENT_WANT_NAME, .budget = 1, .piece = 5}, &other);
	check(!other.told);
	return 0;
}
