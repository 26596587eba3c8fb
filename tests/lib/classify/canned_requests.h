// SPDX-License-Identifier: BSD-3-Clause
// The requests that the answers of tests and fuzz seeds are to, fed to a decoder as datagrams of
// the client: answers with other tokens teach nothing (requested_host.h).
#ifndef SLUICE_TEST_CANNED_REQUESTS_H
#define SLUICE_TEST_CANNED_REQUESTS_H

#include <string.h>
#include "classify/classify.h"

struct canned_request {
	const char *app;
	uint8_t half;
	const char *bytes;
	uint32_t length;
};

#define CANNED_TARGET "abcdefghij012345"
#define CANNED_HASH \
	"\xab"      \
	"bcdefghijklmnop"
#define CANNED(app, half, bytes)                    \
	{                                           \
		app, half, bytes, sizeof(bytes) - 1 \
	}

// Fills `asked`, as it is after these requests of `app`.
static inline void canned_requests(struct classifier *classifier, const char *app,
	const struct flow_ends *ends, struct asked *asked)
{
	static const struct canned_request requests[] = {
		CANNED("bittorrent", HALF_C2S,
			"d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe"),
		CANNED("bittorrent", HALF_S2C,
			"d1:rd2:id20:abcdefghij01234567895:token1:xe1:t2:aa1:y1:re"),
		CANNED("bittorrent", HALF_C2S, "\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0conn"),
		CANNED("bittorrent", HALF_S2C, "\0\0\0\0conn\x09\x08\x07\x01\x02\x03\x04\x05"),
		CANNED("bittorrent", HALF_S2C, "\0\0\0\0connconnecti"),
		CANNED("dns", HALF_C2S, "\x12\x34\x01\0\0\1\0\0\0\0\0\0\4chat\7example\0\0\1\0\1"),
		CANNED("dns", HALF_C2S,
			"\x12\x34\x01\0\0\1\0\0\0\0\0\0\4CHAT\7example\0\0\x1c\0\1"),
		CANNED("edonkey", HALF_C2S, "\xe4\x01"),
		CANNED("edonkey", HALF_C2S, "\xe4\x11" CANNED_TARGET "\x36\x12\x08\0"),
		CANNED("edonkey", HALF_C2S, "\xe4\x21\x02" CANNED_TARGET CANNED_TARGET),
		CANNED("edonkey", HALF_C2S, "\xe4\x34" CANNED_TARGET "0123456789"),
		CANNED("edonkey", HALF_C2S, "\xe4\x60"),
		CANNED("edonkey", HALF_C2S, "\xe3\x9a" CANNED_HASH),
	};
	const struct decoder_sink silent = {.asked = asked};
	char announce[98] = {[11] = 1, 'a', 'b', 'c', 'd'};
	uint32_t state = CLASSIFY_NO_STATE;
	struct span span = {.flags = SPAN_DATAGRAM};

	memset(asked, 0, sizeof(*asked));
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].app, app) != 0)
			continue;
		span.unchecked = (const uint8_t *)requests[i].bytes;
		span.extent = requests[i].length;
		span.half = requests[i].half;
		decoder_feed(classifier, app_find(app), ends, &span, &state, &silent);
	}
	span.unchecked = (const uint8_t *)announce;
	span.extent = sizeof(announce);
	span.half = HALF_C2S;
	if (!strcmp(app, "bittorrent"))
		decoder_feed(classifier, app_find(app), ends, &span, &state, &silent);
}

#endif
