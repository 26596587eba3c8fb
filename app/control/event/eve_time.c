// SPDX-License-Identifier: BSD-3-Clause
// EVE timestamps, always UTC: a record must not depend on where it was written.
#include "control/event/sink.h"
#include "pipeline/vocab/tick.h"

#include <string.h>

static char *put_digits(char *at, uint32_t value, unsigned n)
{
	for (unsigned i = n; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + n;
}

void eve_timestamp(uint64_t now_ns, char *out, size_t out_len)
{
	uint64_t seconds = now_ns / NS_PER_S;
	uint32_t micros = (uint32_t)(now_ns % NS_PER_S / NS_PER_US);
	uint32_t of_day = (uint32_t)(seconds % 86400);
	// Days since 0000-03-01, so that the leap day is the last of its year; 400 years have
	// 146097 days. 64 bits of nanoseconds end in 2554, so four digits are enough.
	uint32_t days = (uint32_t)(seconds / 86400) + 719468;
	uint32_t era = days / 146097, day_of_era = days % 146097;
	uint32_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint32_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint32_t shifted = (5 * day_of_year + 2) / 153; // month, 0 is March
	uint32_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
	uint32_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	uint32_t year = year_of_era + era * 400 + (month <= 2);
	char text[32], *at = text;

	at = put_digits(at, year, 4);
	*at++ = '-';
	at = put_digits(at, month, 2);
	*at++ = '-';
	at = put_digits(at, day, 2);
	*at++ = 'T';
	at = put_digits(at, of_day / 3600, 2);
	*at++ = ':';
	at = put_digits(at, of_day / 60 % 60, 2);
	*at++ = ':';
	at = put_digits(at, of_day % 60, 2);
	*at++ = '.';
	at = put_digits(at, micros, 6);
	memcpy(at, "+0000", 6);
	if (out_len) {
		size_t n = out_len < sizeof "2023-09-18T06:13:41.532140+0000"
				   ? out_len
				   : sizeof "2023-09-18T06:13:41.532140+0000";
		memcpy(out, text, n);
		out[n - 1] = '\0';
	}
}
