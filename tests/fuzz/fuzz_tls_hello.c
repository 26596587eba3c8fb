// SPDX-License-Identifier: BSD-3-Clause
// A ClientHello and a server's certificate, hostile: no report of a sanitizer; what a part has
// reported, the whole tells, too; lists lie in the message; texts of fingerprints are as long as
// they say. The input is an octet (what carries it: TCP as records, a message of TCP, QUIC, DTLS; a
// server's half) and bytes.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "classify/handshake/tls_certificate.h"
#include "classify/handshake/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_inside(struct text message, struct text list)
{
	check(!list.length ||
		(list.at >= message.at && list.at + list.length <= message.at + message.length));
}

static void check_prints(const struct tls_hello *hello)
{
	char text[TLS_JA3_TEXT_BYTES], a[TLS_JA4_A_BYTES + 1];

	static_assert(sizeof(text) >= TLS_JA4_TEXT_BYTES, "one buffer for all");
	check(tls_hello_ja3_text(hello, text) == strlen(text));
	bool told = tls_hello_ja4_a(hello, a);

	check(strlen(a) == (told ? TLS_JA4_A_BYTES : 0));
	check(tls_hello_ja4_b(hello, text) == strlen(text));
	check(tls_hello_ja4_c(hello, text) == strlen(text));
}

static enum tls_hello_seen read_message(
	struct text message, enum tls_carrier carrier, struct tls_hello *hello)
{
	enum tls_hello_seen seen = tls_hello_read(message, carrier, hello);
	const struct text lists[] = {hello->name, hello->alpn, hello->ciphers, hello->extensions,
		hello->groups, hello->formats, hello->signatures, hello->versions};

	check(seen <= TLS_HELLO_WHOLE);
	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		check_inside(message, lists[i]);
	check_prints(hello);
	return seen;
}

static void check_message(struct text message, enum tls_carrier carrier)
{
	struct tls_hello whole, part;
	enum tls_hello_seen seen = read_message(message, carrier, &whole);
	struct text half = {message.at, message.length / 2};
	enum tls_hello_seen before = read_message(half, carrier, &part);

	check(before != TLS_HELLO_WHOLE || seen == TLS_HELLO_WHOLE);
	check(before != TLS_HELLO_NONE || seen == TLS_HELLO_NONE);
	check(!part.name.length ||
		(part.name.at == whole.name.at && part.name.length == whole.name.length));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const enum tls_carrier carriers[] = {
		TLS_OVER_TCP, TLS_OVER_TCP, TLS_OVER_QUIC, TLS_OVER_DATAGRAMS};
	uint8_t moved[4096];
	struct host_name name;

	if (!len || len > sizeof(moved))
		return 0;
	uint8_t *exact = malloc(len > 1 ? len - 1 : 1);

	if (!exact)
		return 0;
	memcpy(exact, bytes + 1, len - 1);
	struct text input = {exact, (uint32_t)len - 1}, joined = input;

	if (bytes[0] % 5 == 4) {
		if (tls_certificate_name(input, &name) == HOST_FOUND)
			check(name.length && !memchr(name.bytes, '*', name.length));
	} else {
		if (bytes[0] % 5 == 0)
			tls_hello_join(input, input.length & 1, moved, &joined);
		check_message(joined, carriers[bytes[0] % 5]);
	}
	free(exact);
	return 0;
}
