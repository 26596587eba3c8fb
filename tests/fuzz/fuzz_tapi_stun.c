// SPDX-License-Identifier: BSD-3-Clause
// A datagram as STUN. Held: what is taken has the head of an answer and a length that fits, its id
// is the wire's, a success has an address of a family, and what follows a right FINGERPRINT is
// nothing; a request of ours with that id is never taken for an answer.
#include <stdlib.h>
#include <string.h>

#include "transportapi/proto/stun.h"
#include "transportapi/base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1), request[TAPI_STUN_REQUEST_BYTES];
	struct tapi_stun_answer answer, ours;

	must(exact);
	memcpy(exact, bytes, len); // so that one octet too far is seen
	if (tapi_stun_decode(&answer, exact, len) == TAPI_OK) {
		must(tapi_stun_is(exact, len));
		must(len % 4 == 0 && len == 20u + tapi_get16(exact + 2));
		must(memcmp(answer.id, exact + 8, sizeof(answer.id)) == 0);
		if (answer.kind == TAPI_STUN_MAPPED) {
			must(tapi_get16(exact) == 0x0101);
			must(answer.mapped.family == 4 || answer.mapped.family == 6);
			must(len >= 20 + (answer.mapped.family == 4 ? 12u : 24u));
		} else {
			must(answer.mapped.family == 0);
			must(answer.code <= 7 * 100 + 255);
		}
		if (len >= 28 && tapi_get32(exact + len - 8) == 0x80280004 &&
			answer.kind == TAPI_STUN_MAPPED && len == 40) {
			exact[len - 1] ^= 1; // head, one address, FINGERPRINT: it was looked at
			must(tapi_stun_decode(&answer, exact, len) != TAPI_OK);
		}
		tapi_stun_request(request, answer.id);
		must(tapi_stun_is(request, sizeof(request)));
		must(tapi_stun_decode(&ours, request, sizeof(request)) == TAPI_EFORMAT);
	}
	free(exact);
	return 0;
}
