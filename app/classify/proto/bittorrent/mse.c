// SPDX-License-Identifier: BSD-3-Clause
// Recognizes the encrypted handshake of BitTorrent by the lengths and order of its messages.
#include "classify/proto/bittorrent/mse.h"
#include "classify/randomness.h"

bool mse_is_flight(const uint8_t *bytes, uint32_t length)
{
	return length >= MSE_KEY_BYTES && length <= MSE_KEY_BYTES + MSE_PAD_MAX &&
	       randomness_looks_random(bytes, length) && !randomness_is_framed(bytes, length);
}

bool mse_begins(const uint8_t *bytes, uint32_t length)
{
	return length >= MSE_KEY_BYTES && randomness_looks_random(bytes, MSE_KEY_BYTES) &&
	       !randomness_is_framed(bytes, length);
}

// Both first flights are as long as eMule's: padding of MSE is that in one of a thousand.
static bool emule_sizes(uint32_t first, uint32_t second)
{
	return first >= 97 && first <= 112 && second >= 103 && second <= 118;
}

// The word: 0: B has not spoken; DEAD: it is something else; else the length of A's first flight,
// which was over when B began. A flight ends where the other end speaks.
#define DEAD UINT32_MAX

// B has spoken: its flight grows. False: it is not that.
static bool answers(const struct probe *probe, uint32_t *word, bool good)
{
	if (!*word)
		*word = good ? probe->peer_length : DEAD;
	else if (probe->peer_length != *word)
		*word = DEAD; // A has spoken in between
	return *word != DEAD;
}

enum verify mse_shape(const struct probe *probe, uint32_t *word)
{
	bool of_server = probe->half == HALF_S2C;
	uint16_t port = of_server ? probe->sport : probe->dport;

	if (probe->midstream || port < MSE_PORT_FIRST || *word == DEAD)
		return VERIFY_NO;
	if (of_server)
		return answers(probe, word, mse_is_flight(probe->peer, probe->peer_length))
			       ? VERIFY_MORE
			       : VERIFY_NO;
	if (!*word || probe->length <= *word)
		return VERIFY_MORE;
	uint32_t third = probe->length - *word;

	if (emule_sizes(*word, probe->peer_length) ||
		!mse_is_flight(probe->peer, probe->peer_length)) {
		*word = DEAD;
		return VERIFY_NO;
	}
	return third >= MSE_THIRD_BYTES && randomness_looks_random(probe->bytes + *word, third)
		       ? VERIFY_PARTIAL
		       : VERIFY_MORE;
}

static bool is_marker(uint8_t octet)
{
	return octet == 0xe3 || octet == 0xc5 || octet == 0xd4;
}

// The word as above.
enum verify mse_emule_shape(const struct probe *probe, uint32_t *word)
{
	bool of_server = probe->half == HALF_S2C;
	uint16_t port = of_server ? probe->sport : probe->dport;

	if (probe->midstream || port < MSE_PORT_FIRST || *word == DEAD)
		return VERIFY_NO;
	if (of_server) {
		bool good = emule_sizes(probe->peer_length, 103) && !is_marker(probe->peer[0]) &&
			    randomness_looks_random(probe->peer + 1, probe->peer_length - 1);

		return answers(probe, word, good) ? VERIFY_MORE : VERIFY_NO;
	}
	if (!*word || probe->length < *word + MSE_EMULE_THIRD)
		return VERIFY_NO;
	bool good = emule_sizes(*word, probe->peer_length) &&
		    randomness_looks_random(probe->peer, probe->peer_length) &&
		    randomness_looks_random(probe->bytes + *word, probe->length - *word);

	*word = good ? *word : DEAD;
	return good ? VERIFY_PARTIAL : VERIFY_NO;
}
