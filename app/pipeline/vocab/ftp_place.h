// SPDX-License-Identifier: BSD-3-Clause
// Where a line of FTP puts the data connection, as the programs read it that obey it. RFC 959
// 4.1.2, RFC 1639, RFC 2428. Any core.
//
// Clients look for a place in a reply each in its own way: the first number (wget), six numbers
// with commas anywhere (curl, lftp, Python), the last ones (busybox, .NET); behind the first
// parenthesis (curl, wget, lftp), the last one (Java, GVfs), or at the bars (busybox, KDE). Some
// keep of a number that is too large its last octet. What a server that means well writes gives
// the same port in all of them; where it does not, the line is `odd`.
#ifndef SLUICE_FTP_PLACE_H
#define SLUICE_FTP_PLACE_H

#include "pipeline/vocab/octets.h"

struct ftp_place {
	uint16_t port; // 0: none is there
	bool named;    // `address` is: of IPv4
	bool odd;      // programs differ in which place it is
	uint8_t address[4];
};

// Of two readings of the same, the first that found anything.
static inline void ftp_place_merge(struct ftp_place *place, const struct ftp_place *other)
{
	bool both = place->port && other->port;
	bool odd = place->odd | other->odd;

	if (both)
		odd |= place->port != other->port || place->named != other->named ||
		       memcmp(place->address, other->address, sizeof(place->address)) != 0;
	if (!place->port)
		*place = *other;
	place->odd = odd;
}

// Of digits that begin at *at, which goes behind them. More than `max`: *odd, and its last bits.
static inline uint32_t ftp_place_digits(
	const uint8_t *bytes, uint32_t length, uint32_t *at, uint32_t max, bool *odd)
{
	uint32_t value = 0;

	for (; *at < length && octets_digit(bytes[*at]); (*at)++) {
		value = 10 * value + (bytes[*at] - (uint32_t)'0');
		*odd |= value > max;
		value &= max;
	}
	return value;
}

// Numbers of an octet each with commas between them, as many as there are.
struct ftp_numbers {
	uint32_t n;
	uint8_t first[6];
	uint8_t last[2];
	bool odd;
};

// `at` is a digit. Returns where they end.
static inline uint32_t ftp_place_numbers(
	const uint8_t *bytes, uint32_t length, uint32_t at, struct ftp_numbers *numbers)
{
	*numbers = (struct ftp_numbers){0};
	for (;;) {
		uint8_t octet =
			(uint8_t)ftp_place_digits(bytes, length, &at, UINT8_MAX, &numbers->odd);
		uint32_t next = at + 1;

		if (numbers->n < sizeof(numbers->first))
			numbers->first[numbers->n] = octet;
		numbers->n++;
		numbers->last[0] = numbers->last[1];
		numbers->last[1] = octet;
		if (at >= length || bytes[at] != ',')
			return at;
		while (next < length &&
			(bytes[next] == ' ' || bytes[next] == '+' || bytes[next] == '-')) {
			numbers->odd |= bytes[next] == '-';
			next++;
		}
		if (next >= length || !octets_digit(bytes[next]))
			return at;
		at = next;
	}
}

// "h1,h2,h3,h4,p1,p2" wherever it stands: PORT, 227.
static inline struct ftp_place ftp_place_host_port(const uint8_t *bytes, uint32_t length)
{
	struct ftp_place place = {0};
	struct ftp_numbers numbers;
	uint16_t last = 0;

	for (uint32_t at = 0; at < length;) {
		if (!octets_digit(bytes[at])) {
			at++;
			continue;
		}
		at = ftp_place_numbers(bytes, length, at, &numbers);
		if (numbers.n < 2)
			continue;
		last = octets_be16(numbers.last);
		place.odd |= numbers.odd;
		if (numbers.n < 6 || place.named)
			continue;
		place.named = true;
		memcpy(place.address, numbers.first, 4);
		place.port = octets_be16(numbers.first + 4);
	}
	place.odd |= place.named && place.port != last;
	if (!place.port)
		place.port = last;
	return place;
}

// "4,4,h1,h2,h3,h4,2,p1,p2", also of IPv6: LPRT, 228. The port alone is taken.
static inline struct ftp_place ftp_place_long(const uint8_t *bytes, uint32_t length)
{
	struct ftp_place place = ftp_place_host_port(bytes, length);
	struct ftp_numbers numbers = {0};
	uint32_t at = 0;

	while (at < length && !octets_digit(bytes[at]))
		at++;
	if (at < length)
		ftp_place_numbers(bytes, length, at, &numbers);
	if (numbers.n >= 9)
		place = (struct ftp_place){.port = octets_be16(numbers.last), .odd = numbers.odd};
	return place;
}

// The number behind three delimiters that begin at `at`, whatever they and what is between them
// are; the first is the sender's choice.
static inline struct ftp_place ftp_place_delimited(
	const uint8_t *bytes, uint32_t length, uint32_t at)
{
	struct ftp_place place = {0};
	uint8_t delimiter = at < length ? bytes[at] : '0';

	if (delimiter <= ' ' || delimiter > '~' || octets_digit(delimiter))
		return place;
	for (unsigned n = 0; n < 3; n++) {
		while (at < length && bytes[at] != delimiter)
			at++;
		at += at < length;
	}
	while (at < length && (bytes[at] == ' ' || bytes[at] == '+'))
		at++;
	place.port = (uint16_t)ftp_place_digits(bytes, length, &at, UINT16_MAX, &place.odd);
	return place;
}

// The number between the last two bars.
static inline struct ftp_place ftp_place_last_bars(const uint8_t *bytes, uint32_t length)
{
	struct ftp_place place = {0};
	uint32_t end = length, at;

	while (end && bytes[end - 1] != '|')
		end--;
	if (!end)
		return place;
	at = --end;
	while (at && octets_digit(bytes[at - 1]))
		at--;
	if (at && bytes[at - 1] == '|')
		place.port = (uint16_t)ftp_place_digits(bytes, end, &at, UINT16_MAX, &place.odd);
	return place;
}

// "(|||6446|)" and what resembles it: 229. An address that it names is nobody's business, as the
// host is the control connection's (RFC 2428 3).
static inline struct ftp_place ftp_place_extended(const uint8_t *bytes, uint32_t length)
{
	const uint8_t *open = length ? memchr(bytes, '(', length) : NULL;
	const uint8_t *last = length ? memrchr(bytes, '(', length) : NULL;
	const uint8_t *bars = length ? memmem(bytes, length, "|||", 3) : NULL;
	const uint8_t *starts[] = {open ? open + 1 : bytes, last ? last + 1 : NULL, bars};
	struct ftp_place place = {0}, other;

	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (!starts[i])
			continue;
		other = ftp_place_delimited(bytes, length, (uint32_t)(starts[i] - bytes));
		ftp_place_merge(&place, &other);
	}
	other = ftp_place_last_bars(bytes, length);
	ftp_place_merge(&place, &other);
	return place;
}

// A reply to PASV, EPSV or LPSV, by its code: some clients take any that says yes.
static inline struct ftp_place ftp_place_reply(unsigned code, const uint8_t *bytes, uint32_t length)
{
	struct ftp_place place;

	if (code == 228)
		return ftp_place_long(bytes, length);
	if (code == 229) {
		place = ftp_place_extended(bytes, length);
		return place.port ? place : ftp_place_host_port(bytes, length);
	}
	place = ftp_place_host_port(bytes, length);
	return place.port ? place : ftp_place_extended(bytes, length);
}

#endif
