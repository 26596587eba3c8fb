// SPDX-License-Identifier: BSD-3-Clause
// The decoders that learn of endpoints and names (bencode, DHT, trackers, peer exchange, DNS). An
// input is one octet of bits (1 DNS, else BitTorrent; 2 datagram; 4 the server speaks; 8 IPv6), one
// octet: bytes of a stream's pieces less one, then the payload. Held, besides what the sanitizers
// see: what is reported is well formed and bounded, and no state stays.
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "classify/classify.h"
#include "classify/dns_answer.h"
#include "classify/proto/bittorrent/peers.h"
#include "lib/classify/canned_requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static unsigned n_told;

static void endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	n_told++;
	if (!endpoint->port || endpoint->from >= LEARNED_FROM_MAX || endpoint->half > 1)
		abort();
}

static void name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	n_told++;
	if (!name->length || name->length > 253 || name->alias_length > 253 ||
		(name->alias && !name->alias_length) || memchr(name->name, 0, name->length))
		abort();
	for (uint32_t i = 0; i < name->length; i++)
		if (name->name[i] <= ' ' || name->name[i] >= 0x7f ||
			(name->name[i] >= 'A' && name->name[i] <= 'Z'))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct classifier *classifier;
	struct flow_ends ends = {.port = {40000, 6881}};
	struct asked asked;
	const struct decoder_sink sink = {.endpoint = endpoint, .name = name, .asked = &asked};
	uint32_t state = CLASSIFY_NO_STATE;

	if (len < 2)
		return 0;
	if (!classifier)
		classifier = classifier_new(4, 0, -1);
	uint16_t app = app_find(bytes[0] & 1 ? "dns" : "bittorrent");
	bool datagram = bytes[0] & 2;
	size_t piece = datagram ? len : bytes[1] + 1u;

	memset(ends.address, bytes[0] & 8 ? 0x20 : 0, sizeof(ends.address));
	for (unsigned half = 0; half < 2 && !(bytes[0] & 8); half++)
		memset(ends.address[half] + 10, 0xff, 2);
	canned_requests(classifier, bytes[0] & 1 ? "dns" : "bittorrent", &ends, &asked);
	for (size_t at = 2; at < len; at += piece) {
		size_t here = len - at < piece ? len - at : piece;
		uint8_t *exact = malloc(here); // of exact size, for AddressSanitizer

		if (!exact || !classifier)
			abort();
		memcpy(exact, bytes + at, here);
		const struct span span = {
			.offset64 = at - 2,
			.unchecked = exact,
			.extent = (uint32_t)here,
			.half = bytes[0] & 4 ? HALF_S2C : HALF_C2S,
			.flags = datagram ? SPAN_DATAGRAM : 0,
		};

		n_told = 0;
		int rc = decoder_feed(classifier, app, &ends, &span, &state, &sink);

		free(exact);
		// one span of a stream may end some messages, each of 6 octets and more
		if (n_told > (datagram ? PEERS_PER_MESSAGE + DNS_ANSWERS_MAX
				       : (here / 6 + 2) * PEERS_PER_MESSAGE))
			abort();
		if (rc == DECODER_DONE)
			break;
	}
	classify_end(classifier, &state);
	if (classifier_states_free(classifier) != classifier_states_max(classifier))
		abort();
	return 0;
}
