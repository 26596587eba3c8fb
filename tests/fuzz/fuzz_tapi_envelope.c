// SPDX-License-Identifier: BSD-3-Clause
// What a socket of datagrams hands over: u8 family (4, 6: of a raw socket; other: udp) | a
// datagram. Held: what is taken is an envelope to the octet, by the few lines below, and is written
// again the same; nothing else is taken; sender, message, flag and crc are those of the wire.
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "transportapi/proto/envelope.h"
#include "transportapi/transport/udp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

// The law of the header: version 4, of 5 to 15 words, all of them there, total length exact.
static ssize_t header(uint8_t family, const uint8_t *p, size_t len)
{
	if (family != 4)
		return 0;
	if (len < 20 || p[0] < 0x45 || p[0] > 0x4f || (size_t)(p[0] - 0x40) * 4 > len ||
		(size_t)p[2] * 256 + p[3] != len)
		return -1;
	return (p[0] - 0x40) * 4;
}

static bool is_envelope(const uint8_t *p, size_t len)
{
	return len >= 40 && (size_t)p[0] * 256 + p[1] == len && p[2] == 1 && p[3] <= 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct tapi_message_pack pack = {.size = 7};
	uint8_t head[TAPI_ENVELOPE_BYTES], *exact;
	enum tapi_result result;
	ssize_t skip = 0;
	uint8_t family;

	if (len < 1)
		return 0;
	family = *bytes++;
	len--;
	exact = malloc(len ? len : 1);
	must(exact);
	memcpy(exact, bytes, len);
	if (family == 4 || family == 6)
		skip = tapi_raw_ip_skip(family, exact, len);
	must(skip == header(family, exact, len));
	if (skip >= 0) {
		const uint8_t *p = exact + skip;

		len -= (size_t)skip;
		result = tapi_envelope_decode(&pack, p, len);
		must(result == (is_envelope(p, len) ? TAPI_OK : TAPI_EFORMAT));
		if (result == TAPI_OK) {
			must(pack.message == p + 40 && pack.size == len - 40);
			must(memcmp(pack.sender.octets, p + 8, 32) == 0);
			tapi_envelope_encode(
				head, &pack.sender, pack.size, pack.is_encrypted, pack.crc);
			must(memcmp(head, p, sizeof(head)) == 0);
		}
	}
	free(exact);
	return 0;
}
