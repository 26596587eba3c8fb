// SPDX-License-Identifier: BSD-3-Clause
// Where a direct connection will be. Who may be named is as in app/classify/proto/msn: the client
// names itself, and of what comes through the server it is the client who will connect.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "content/msn/fields.h"
#include "content/msn/msn.h"

void msn_places_add(struct msn_places *places, struct content_text words)
{
	char text[INET_ADDRSTRLEN];

	for (struct content_text word = msn_word(&words); word.length; word = msn_word(&words)) {
		uint8_t *address = places->addresses[places->n];

		if (places->n == sizeof(places->addresses) / sizeof(places->addresses[0]))
			return;
		if (word.length >= sizeof(text))
			continue;
		memcpy(text, word.bytes, word.length);
		text[word.length] = '\0';
		memset(address, 0, 10);
		memset(address + 10, 0xff, 2);
		if (inet_pton(AF_INET, text, address + 12) != 1 || !address[12])
			continue;
		for (unsigned i = 0; i <= places->n; i++) {
			if (i == places->n) {
				places->n++;
				break;
			}
			if (!memcmp(places->addresses[i], address, 16))
				break;
		}
	}
}

void msn_expect(const struct msn_turn *to, const struct msn_places *places,
	struct content_text port, enum expected_as as, const struct transfer_label *label,
	uint32_t item)
{
	const struct content_turn *turn = to->turn;
	struct expectation expect = {
		.l4_proto = IPPROTO_TCP,
		.app = turn->data_app,
		.as = (uint8_t)as,
		.ttl_s = MSN_TTL_S,
		.item = item,
	};
	uint64_t number;

	if (!turn->others || !turn->others->expect || !turn->ends || !http_number(port, &number) ||
		number < MSN_PORT_MIN || number > UINT16_MAX)
		return;
	if (label)
		expect.label = *label;
	expect.port = (uint16_t)number;
	if (to->side == HALF_S2C)
		memcpy(expect.peer, turn->ends->address[HALF_C2S], 16);
	for (unsigned i = 0; i < places->n; i++) {
		bool own = !memcmp(places->addresses[i], turn->ends->address[HALF_C2S], 16);

		if (own != (to->side == HALF_C2S))
			continue;
		memcpy(expect.address, places->addresses[i], 16);
		turn->others->expect(turn->others->ctx, &expect);
	}
}
