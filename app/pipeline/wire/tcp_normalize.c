// SPDX-License-Identifier: BSD-3-Clause
// Removes MPTCP options and the urgent pointer from TCP headers.
#include "pipeline/wire/tcp_normalize.h"
#include <netinet/tcp.h>
#include <string.h>

#define HEADER_MIN   20
#define FLAGS_AT     13
#define CHECKSUM_AT  16
#define URGENT_AT    18
#define OPTION_MPTCP 30 // RFC 8684 section 3

// Timestamps and nothing else: as nearly all segments have it (RFC 7323 appendix A).
static bool only_timestamps(const uint8_t *options, unsigned length)
{
	static const uint8_t layout[] = {TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP, 10};

	return length == 12 && !memcmp(options, layout, sizeof(layout));
}

// The next MPTCP option from *at on, with its length; *at is where to go on from.
static uint8_t *next_mptcp(uint8_t *header, unsigned length, unsigned *at, unsigned *option_length)
{
	while (*at < length && header[*at] != TCPOPT_EOL) {
		uint8_t *option = header + *at;

		if (option[0] == TCPOPT_NOP) {
			(*at)++;
			continue;
		}
		if (*at + 1 >= length || option[1] < 2 || option[1] > length - *at)
			return NULL;
		*at += option[1];
		if (option[0] == OPTION_MPTCP) {
			*option_length = option[1];
			return option;
		}
	}
	return NULL;
}

struct tcp_normal tcp_normal_find(const uint8_t *header, unsigned length)
{
	struct tcp_normal found = {.urg = header[FLAGS_AT] & TH_URG};
	unsigned at = HEADER_MIN, option_length;
	uint8_t copy[TCP_HEADER_MAX];

	if (length == HEADER_MIN || only_timestamps(header + HEADER_MIN, length - HEADER_MIN))
		return found;
	memcpy(copy, header, length);
	found.mptcp = next_mptcp(copy, length, &at, &option_length);
	return found;
}

static uint16_t word_at(const uint8_t *header, unsigned at)
{
	uint16_t word;

	memcpy(&word, header + at, 2);
	return word;
}

// RFC 1624, equation 3. In the order in which the words lie in memory, as in checksum.h.
static void move_checksum(uint8_t *header, const uint8_t *before, unsigned length)
{
	uint32_t sum = (uint16_t)~word_at(before, CHECKSUM_AT);

	for (unsigned at = 0; at < length; at += 2)
		if (at != CHECKSUM_AT)
			sum += (uint32_t)(uint16_t)~word_at(before, at) + word_at(header, at);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	uint16_t checksum = (uint16_t)~sum;

	memcpy(header + CHECKSUM_AT, &checksum, 2);
}

void tcp_normal_apply(uint8_t *header, unsigned length, struct tcp_normal what)
{
	unsigned at = HEADER_MIN, option_length;
	uint8_t before[TCP_HEADER_MAX], *option;

	memcpy(before, header, length);
	while (what.mptcp && (option = next_mptcp(header, length, &at, &option_length)))
		memset(option, TCPOPT_NOP, option_length);
	if (what.urg) {
		header[FLAGS_AT] &= (uint8_t)~TH_URG;
		memset(header + URGENT_AT, 0, 2);
	}
	move_checksum(header, before, length);
}
