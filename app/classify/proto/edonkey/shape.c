// SPDX-License-Identifier: BSD-3-Clause
// Recognizes obfuscated connections of eMule by the lengths of their handshake.
#include "classify/proto/edonkey/shape.h"
#include <netinet/in.h>
#include "classify/randomness.h"
#include "classify/proto/bittorrent/mse.h"
#include "classify/text.h"

enum {
	CLIENT_FIRST_MIN = 12,
	CLIENT_SECOND_MIN = 6,
	CLIENT_PADDING_MAX = 254,
	CLIENT_HELLO_MIN = 94,
	CLIENT_HELLO_MAX = 176,
	CLIENT_ANSWER_MIN = 80, // so much of it has to be here
};

enum {                   // words of the memo; word 0 is that of the shape with servers
	WORD_FIRST = 1,  // octets of A's first flight, which was over when B began; DEAD: no
	WORD_SECOND = 2, // of B's
	WORD_HELLO = 3,  // of A's both flights
};
#define DEAD UINT32_MAX

// The protocols in clear: eDonkey, eMule, packed, Kad, packed.
static bool is_marker(uint8_t octet)
{
	return octet == 0xe3 || octet == 0xc5 || octet == 0xd4 || octet == 0xe4 || octet == 0xe5;
}

// Too short for statistics: few zeros, and few values twice.
static bool short_looks_random(const uint8_t *bytes, uint32_t length)
{
	uint32_t seen[8] = {0}, distinct = 0, zeros = 0;

	for (uint32_t i = 0; i < length; i++) {
		uint32_t bit = 1u << (bytes[i] & 31), *word = &seen[bytes[i] >> 5];

		distinct += !(*word & bit);
		*word |= bit;
		zeros += !bytes[i];
	}
	return zeros <= 1 && 4 * distinct >= 3 * length;
}

static bool looks_random(const uint8_t *bytes, uint32_t length)
{
	return length < CHANCE_MIN_BYTES ? short_looks_random(bytes, length)
					 : randomness_looks_random(bytes, length);
}

static bool is_client_first(const uint8_t *bytes, uint32_t length)
{
	return length >= CLIENT_FIRST_MIN && length <= CLIENT_FIRST_MIN + CLIENT_PADDING_MAX &&
	       !is_marker(bytes[0]) && looks_random(bytes, length);
}

static bool is_client_second(const uint8_t *bytes, uint32_t length, uint32_t first)
{
	return length >= CLIENT_SECOND_MIN && length <= CLIENT_SECOND_MIN + CLIENT_PADDING_MAX &&
	       (length < MSE_KEY_BYTES || first < MSE_KEY_BYTES) && looks_random(bytes, length);
}

static bool is_client_hello(const uint8_t *bytes, uint32_t length)
{
	return length >= CLIENT_HELLO_MIN && length <= CLIENT_HELLO_MAX &&
	       randomness_looks_random(bytes, length);
}

static bool client_answers(const struct probe *probe, uint32_t *word)
{
	uint32_t hello;

	if (!word[WORD_FIRST]) {
		word[WORD_FIRST] = is_client_first(probe->peer, probe->peer_length)
					   ? probe->peer_length
					   : DEAD;
		return false;
	}
	if (!word[WORD_SECOND]) // its flight goes on
		return false;
	hello = probe->peer_length - word[WORD_FIRST];
	if (!word[WORD_HELLO] && is_client_hello(probe->peer + word[WORD_FIRST], hello))
		word[WORD_HELLO] = probe->peer_length;
	if (word[WORD_HELLO] != probe->peer_length) {
		word[WORD_FIRST] = DEAD;
		return false;
	}
	return probe->length >= word[WORD_SECOND] + CLIENT_ANSWER_MIN &&
	       randomness_looks_random(probe->bytes + word[WORD_SECOND], CLIENT_ANSWER_MIN);
}

enum verify edonkey_shape(const struct probe *probe)
{
	uint32_t *word = probe->memo->word;
	bool of_server = probe->half == HALF_S2C;

	if (probe->midstream || word[WORD_FIRST] == DEAD ||
		(of_server ? probe->sport : probe->dport) < MSE_PORT_FIRST)
		return VERIFY_NO;
	if (of_server)
		return client_answers(probe, word) ? VERIFY_PARTIAL : VERIFY_NO;
	if (!word[WORD_FIRST] || word[WORD_SECOND])
		return VERIFY_NO;
	if (is_client_second(probe->peer, probe->peer_length, word[WORD_FIRST]))
		word[WORD_SECOND] = probe->peer_length;
	else
		word[WORD_FIRST] = DEAD;
	return VERIFY_NO;
}

bool edonkey_disguised(const struct span *span, uint8_t l4_proto)
{
	const struct text first = span_text(span);

	if (l4_proto == IPPROTO_TCP)
		return !span->offset64 && is_client_first(first.at, first.length);
	return first.length >= 10 && !is_marker(first.at[0]) &&
	       looks_random(first.at, first.length);
}
