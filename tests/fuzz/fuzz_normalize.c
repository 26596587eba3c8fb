// SPDX-License-Identifier: BSD-3-Clause
// What is taken out of TCP headers. The input is a header, cut to 20 to 60 bytes in steps of 4.
// Whatever it is: nothing is left of what was named, nothing else has changed, and the sum of its
// words is what it was.
#include <stdlib.h>
#include <string.h>
#include "pipeline/wire/tcp_normalize.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

// As hosts read them: marks the bytes of options of kind 30.
static unsigned mark(const uint8_t *header, unsigned length, uint8_t *marks)
{
	unsigned n = 0;

	memset(marks, 0, TCP_HEADER_MAX);
	for (unsigned at = 20; at < length && header[at] != 0;) {
		if (header[at] == 1) {
			at++;
			continue;
		}
		if (length - at < 2 || header[at + 1] < 2 || header[at + 1] > length - at)
			break;
		if (header[at] == 30) {
			memset(marks + at, 1, header[at + 1]);
			n++;
		}
		at += header[at + 1];
	}
	return n;
}

static unsigned sum(const uint8_t *header, unsigned length)
{
	unsigned total = 0;

	for (unsigned i = 0; i < length; i += 2)
		total += (unsigned)(header[i] << 8 | header[i + 1]);
	return total % 0xffff;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	unsigned length = len > TCP_HEADER_MAX ? TCP_HEADER_MAX : (unsigned)len & ~3u;
	uint8_t marks[TCP_HEADER_MAX], after[TCP_HEADER_MAX];

	if (length < 20)
		return 0;
	uint8_t *header = malloc(length);

	if (!header)
		abort();
	for (unsigned what = 0; what < 4; what++) {
		memcpy(header, bytes, length);
		struct tcp_normal found = tcp_normal_find(header, length);
		struct tcp_normal wanted = {
			.mptcp = found.mptcp && what & 1, .urg = found.urg && what & 2};

		must(!memcmp(header, bytes, length));
		must(found.mptcp == (mark(bytes, length, marks) > 0));
		must(found.urg == ((bytes[13] & 0x20) != 0));
		tcp_normal_apply(header, length, wanted);
		must(sum(header, length) == sum(bytes, length));
		for (unsigned i = 0; i < length; i++) {
			uint8_t expected = wanted.mptcp && marks[i] ? 1 : bytes[i];

			if (wanted.urg && i == 13)
				expected &= (uint8_t)~0x20;
			if (wanted.urg && (i == 18 || i == 19))
				expected = 0;
			must(header[i] == expected || i == 16 || i == 17);
		}
		found = tcp_normal_find(header, length);
		must(!(wanted.mptcp && mark(header, length, marks)));
		must(!(wanted.mptcp && found.mptcp) && !(wanted.urg && found.urg));
		memcpy(after, header, length);
		tcp_normal_apply(header, length, wanted);
		must(sum(header, length) == sum(after, length));
	}
	free(header);
	return 0;
}
