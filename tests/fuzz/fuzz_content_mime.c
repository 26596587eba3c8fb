// SPDX-License-Identifier: BSD-3-Clause
// Mails as they are, in a connection of SMTP that has nothing else in it (lib/content/records.h).
#include <string.h>
#include "content/decoders.h"
#include "lib/content/records.h"

#define FED  2 // octets that say how it is fed
#define MOST 8000u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static size_t add(uint8_t *at, unsigned half, const void *bytes, size_t length)
{
	at[0] = (uint8_t)(half << 7);
	at[1] = (uint8_t)(length >> 8);
	at[2] = (uint8_t)length;
	memcpy(at + 3, bytes, length);
	return length + 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const char command[] = "DATA\r\n", go[] = "220 x\r\n354 go\r\n", end[] = "\r\n.\r\n";
	static uint8_t records[MOST + 128];
	size_t n = FED;

	if (len < FED || len > MOST)
		return 0;
	memcpy(records, bytes, FED);
	n += add(records + n, HALF_C2S, command, sizeof(command) - 1);
	n += add(records + n, HALF_S2C, go, sizeof(go) - 1);
	n += add(records + n, HALF_C2S, bytes + FED, len - FED);
	n += add(records + n, HALF_C2S, end, sizeof(end) - 1);
	return records_fuzz(&content_smtp, records, n);
}
