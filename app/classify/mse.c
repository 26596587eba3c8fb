// SPDX-License-Identifier: BSD-3-Clause
#include "mse.h"
#include "chance.h"

bool mse_is_flight(const uint8_t *bytes, uint32_t length)
{
	return length >= MSE_KEY_BYTES && length <= MSE_KEY_BYTES + MSE_PAD_MAX &&
	       chance_looks_random(bytes, length) && !chance_is_framed(bytes, length);
}

// Both first flights are as long as eMule's: padding of MSE is that in one of a thousand.
static bool emule_sizes(uint32_t first, uint32_t second)
{
	return first >= 97 && first <= 112 && second >= 103 && second <= 118;
}

// The word: 0: nothing yet; else the length of A's first flight, when B had answered.
enum verify mse_shape(const struct probe *probe, uint32_t *word)
{
	bool of_server = probe->half == HALF_S2C;
	uint16_t port = of_server ? probe->sport : probe->dport;

	if (probe->midstream || port < MSE_PORT_FIRST)
		return VERIFY_NO;
	if (of_server) {
		// first octets alone decide nothing: what comes of the flight counts until A speaks
		if (!*word && mse_is_flight(probe->bytes, probe->length) &&
			mse_is_flight(probe->peer, probe->peer_length))
			*word = probe->peer_length;
		else if (*word && !mse_is_flight(probe->bytes, probe->length))
			*word = UINT32_MAX; // longer than a flight
		return *word == UINT32_MAX ? VERIFY_NO : VERIFY_MORE;
	}
	if (!*word || *word == UINT32_MAX || probe->length <= *word)
		return VERIFY_MORE;
	uint32_t third = probe->length - *word;

	if (third < MSE_THIRD_BYTES || emule_sizes(*word, probe->peer_length) ||
		!mse_is_flight(probe->peer, probe->peer_length) ||
		!chance_looks_random(probe->bytes + *word, third))
		return VERIFY_NO;
	return VERIFY_PARTIAL;
}

static bool is_marker(uint8_t octet)
{
	return octet == 0xe3 || octet == 0xc5 || octet == 0xd4;
}

// The word as above. The server's answer can be all of it at once only.
enum verify mse_emule_shape(const struct probe *probe, uint32_t *word)
{
	bool of_server = probe->half == HALF_S2C;
	uint16_t port = of_server ? probe->sport : probe->dport;

	if (probe->midstream || port < MSE_PORT_FIRST)
		return VERIFY_NO;
	if (of_server) {
		*word = 0;
		if (emule_sizes(probe->peer_length, probe->length) && !is_marker(probe->peer[0]) &&
			chance_looks_random(probe->peer + 1, probe->peer_length - 1) &&
			chance_looks_random(probe->bytes, probe->length))
			*word = probe->peer_length;
		return *word ? VERIFY_MORE : VERIFY_NO;
	}
	if (!*word || probe->length < *word + 6 || probe->length > *word + CHANCE_MAX_BYTES)
		return VERIFY_NO;
	return VERIFY_PARTIAL;
}
