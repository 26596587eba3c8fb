// SPDX-License-Identifier: BSD-3-Clause
// The decoders that announce flows (FTP, IRC, TFTP, XMPP, MSN, Gnutella), and eMule's obfuscation.
// An input is one octet (low 3 bits: which of `apps`; 8 datagram; 16 IPv6), one octet: bytes of a
// stream's pieces less one, then the payload; an octet 0xff in a stream changes who speaks. Held,
// besides what the sanitizers see: what is announced has an end of the flow in it, texts end, and
// no state stays.
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "classify/classify.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const apps[8] = {
	"ftp", "irc", "tftp", "xmpp", "msn", "gnutella", "edonkey", "xmpp"};
static struct flow_ends ends = {.port = {40000, 5222}};

static void check_label(const struct transfer_label *label)
{
	if (label->user[sizeof(label->user) - 1] || label->file[sizeof(label->file) - 1])
		abort();
}

static void expect(void *ctx, const struct expectation *expectation)
{
	bool of_end = false;

	(void)ctx;
	for (unsigned half = 0; half < 2; half++)
		of_end |= !memcmp(expectation->address, ends.address[half], 16) ||
			  !memcmp(expectation->peer, ends.address[half], 16);
	if (!of_end || !expectation->port || !expectation->ttl_s || !app_get(expectation->app) ||
		expectation->as >= EXPECTED_AS_MAX ||
		(expectation->l4_proto != IPPROTO_TCP && expectation->l4_proto != IPPROTO_UDP))
		abort();
	check_label(&expectation->label);
}

static void transfer(void *ctx, const struct transfer_label *label)
{
	(void)ctx;
	check_label(label);
}

static void uncloak(const struct app_proto *proto, const struct span *span, bool datagram)
{
	struct endpoint_secret secret = {.has_node = 1, .has_user = 1};

	if (!proto->uncloaks)
		return;
	memset(secret.node, 0x11, sizeof(secret.node));
	memset(secret.user, 0xa1, sizeof(secret.user));
	proto->uncloaks(span, &ends, datagram ? IPPROTO_UDP : IPPROTO_TCP, &secret);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct classifier *classifier;
	const struct decoder_sink sink = {.expect = expect, .transfer = transfer};
	uint32_t state = CLASSIFY_NO_STATE;
	uint64_t offset[2] = {0};
	unsigned half = HALF_C2S;

	if (len < 2)
		return 0;
	if (!classifier)
		classifier = classifier_new(4, 0, -1);
	uint16_t app = app_find(apps[bytes[0] & 7]);
	bool datagram = bytes[0] & 8;
	size_t piece = datagram ? len : bytes[1] + 1u;

	memset(ends.address, 0, sizeof(ends.address));
	for (unsigned i = 0; i < 2; i++) {
		memcpy(ends.address[i] + 10, "\xff\xff\x0a\0\0\7", 6);
		if (bytes[0] & 16)
			memset(ends.address[i], 0x20, 12);
		ends.address[i][15] = (uint8_t)(7 + 15 * i);
	}
	for (size_t at = 2; at < len;) {
		size_t here = len - at < piece ? len - at : piece;
		const uint8_t *turn = datagram ? NULL : memchr(bytes + at, 0xff, here);

		if (turn == bytes + at) {
			half = !half;
			at++;
			continue;
		}
		if (turn)
			here = (size_t)(turn - bytes) - at;
		uint8_t *exact = malloc(here); // of exact size, for AddressSanitizer

		if (!exact || !classifier)
			abort();
		memcpy(exact, bytes + at, here);
		const struct span span = {
			.offset64 = offset[half],
			.unchecked = exact,
			.extent = (uint32_t)here,
			.half = (uint8_t)half,
			.flags = datagram ? SPAN_DATAGRAM : 0,
		};
		uncloak(app_get(app), &span, datagram);
		int rc = decoder_feed(classifier, app, &ends, &span, &state, &sink);

		free(exact);
		offset[half] += here;
		at += here;
		if (rc == DECODER_DONE)
			break;
	}
	classify_end(classifier, &state);
	if (classifier_states_free(classifier) != classifier_states_max(classifier))
		abort();
	return 0;
}
