// SPDX-License-Identifier: BSD-3-Clause
// What a client says over datagrams. An input is one octet (0 to 11 a version whose Initial packets
// are sealed here around the frames that follow, else the datagrams are fed as they are), then
// datagrams: an octet (1 another connection id, 2 coalesced with the one before, 16 of the server,
// 32 not filled up), length u16 BE, bytes. Held, besides what the sanitizers see: the packets that
// are opened are bounded; a name lies in what was fed; fed again, it is the same.
#include <stdlib.h>
#include <string.h>
#include "classify/handshake/datagram_hello.h"
#include "lib/packet/quic_craft.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define SEALED_MAX 1024 // bytes of frames

struct seen {
	struct datagram_hello hellos[2]; // by half
	enum tls_hello_seen last;
	uint32_t name_length;
	unsigned n_fed, n_opened;
	bool serves[2];
};

static const uint32_t versions[] = {1, QUIC_VERSION_2, 0xff000016, 0xff000017, 0xff00001d,
	0xff000021, 0xfaceb001, 0xfaceb002, 0xfaceb00e, QUIC_VERSION_Q050, 0x54303530, 0x54303531};

static void must(bool good)
{
	if (!good)
		abort();
}

static bool inside(struct text part, const uint8_t *at, size_t length)
{
	return part.at >= at && part.at + part.length <= at + length;
}

// In a heap block of exact size.
static void feed(struct quic_crypto *crypto, struct seen *seen, unsigned half, const uint8_t *bytes,
	size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);
	struct datagram_hello *hello = &seen->hellos[half], *other = &seen->hellos[!half];
	struct datagram_asks asks;

	must(exact);
	memcpy(exact, bytes, length);
	const struct text datagram = {exact, (uint32_t)length};

	if (datagram_hello_may_be(datagram)) {
		seen->last = datagram_hello_feed(crypto, hello,
			datagram_hello_begun(other) ? other : NULL, seen->serves[half], datagram,
			&asks);
		seen->serves[half] |= asks.serves;
		must(!asks.answered || datagram_hello_begun(other));
		seen->n_opened += hello->quic.n_opened + other->quic.n_opened;
		seen->name_length = asks.name.length;
		seen->n_fed++;
		must(!asks.name.length || inside(asks.name, exact, length) ||
			inside(asks.name, hello->parts.bytes, HELLO_PARTS_BYTES));
	}
	must(hello->quic.n_tries <= 3 * QUIC_PACKETS_MAX &&
		hello->quic.n_opened <= hello->quic.n_tries);
	must(other->quic.n_tries <= QUIC_PACKETS_MAX &&
		other->quic.n_opened <= other->quic.n_tries);
	must(hello_parts_length(&hello->parts) <= HELLO_PARTS_BYTES);
	free(exact);
}

static void run(struct quic_crypto *crypto, struct seen *seen, const uint8_t *bytes, size_t len)
{
	static const uint8_t ids[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9}};
	bool sealed = bytes[0] < sizeof(versions) / sizeof(versions[0]);
	uint8_t datagram[4 * 2048];
	size_t filled = 0;
	uint32_t number = 0, version = sealed ? versions[bytes[0]] : 0;

	memset(seen, 0, sizeof(*seen));
	for (unsigned half = 0; half < 2; half++)
		datagram_hello_clear(&seen->hellos[half]);
	for (bytes++, len--; len >= 3;) {
		uint8_t bits = bytes[0];
		size_t length = (size_t)bytes[1] << 8 | bytes[2];

		bytes += 3;
		len -= 3;
		if (length > len)
			length = len;
		if (!sealed) {
			feed(crypto, seen, bits >> 4 & 1, bytes, length);
		} else {
			const struct quic_packet packet = {.version = version,
				.cid = ids[bits & 1],
				.cid_length = 8,
				.number = number++,
				.number_length = 1 + (bits >> 2 & 3),
				.of_server = bits & 16,
				.padded_to = bits & 32 ? 0 : 1200};
			size_t take = length < SEALED_MAX ? length : SEALED_MAX;
			bool joins = bits & 2 && filled && filled < 3 * 2048;

			if (!joins)
				filled = 0;
			filled += quic_seal(&packet, bytes, take, datagram + filled);
			feed(crypto, seen, bits >> 4 & 1, datagram, filled);
		}
		bytes += length;
		len -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct quic_crypto *crypto;
	static struct seen first, again;

	if (!len)
		return 0;
	if (!crypto)
		crypto = quic_crypto_new();
	must(crypto);
	run(crypto, &first, bytes, len);
	run(crypto, &again, bytes, len);
	must(first.last == again.last && first.name_length == again.name_length &&
		first.n_fed == again.n_fed && first.n_opened == again.n_opened);
	return 0;
}
