// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.0 to 1.3 and SSL 3 on any port: RFC 8446, RFC 5246, RFC 6101; the SSL 2 form of a hello
// (RFC 5246 E.2). The first record of either half is held against the structure of a hello; a
// flow that was picked up midstream against the chain of its records.
#include "classify/classify.h"
#include "classify/handshake/tls_hello.h"
#include "classify/handshake/tls_record.h"

#define HANDSHAKE_BYTES 4
#define RANDOM_BYTES    32

enum handshake {
	CLIENT_HELLO = 1,
	SERVER_HELLO = 2,
};

// RFC 8446 4.1.2: version, random, session id <0..32>, cipher suites <2..2^16-2>, compression
// <1..2^8-1>, extensions. `rest` is what is here of the body of `length` bytes.
static enum verify verify_client_hello(struct text rest, uint32_t length)
{
	uint32_t at = 2 + RANDOM_BYTES, suites;

	if (rest.length <= at)
		return VERIFY_DPI;
	if (rest.at[at] > 32)
		return VERIFY_NO;
	at += 1u + rest.at[at];
	if (rest.length < at + 2)
		return at + 2 > length ? VERIFY_NO : VERIFY_DPI;
	suites = octets_be16(rest.at + at);
	if (suites < 2 || suites & 1 || at + 2 + suites + 2 > length)
		return VERIFY_NO;
	at += 2 + suites;
	if (rest.length <= at)
		return VERIFY_DPI;
	return rest.at[at] && at + 1 + rest.at[at] <= length ? VERIFY_YES : VERIFY_NO;
}

static enum verify verify_server_hello(struct text rest, uint32_t length)
{
	uint32_t at = 2 + RANDOM_BYTES;

	if (rest.length <= at)
		return VERIFY_DPI;
	if (rest.at[at] > 32 || at + 1 + rest.at[at] + 3 > length)
		return VERIFY_NO;
	return VERIFY_YES;
}

// `record` begins with a record of the handshake type.
static enum verify verify_handshake(struct text record)
{
	struct text rest = text_from(record, TLS_RECORD_BYTES);
	uint32_t in_record = octets_be16(record.at + 3), length;

	if (rest.length < HANDSHAKE_BYTES + 2)
		return VERIFY_MORE;
	length = text_be24(rest.at + 1);
	// A message may go on in the next record, and another may follow in this one; but no hello
	// is shorter than its fixed fields, nor is any longer than 128 KiB.
	if (in_record < HANDSHAKE_BYTES + 2 || length < 2 + RANDOM_BYTES + 1 || length > 1u << 17)
		return VERIFY_NO;
	if (rest.at[4] != 3 || rest.at[5] > 4)
		return VERIFY_NO;
	uint8_t type = rest.at[0];

	rest = text_from(rest, HANDSHAKE_BYTES);
	if (in_record < length + HANDSHAKE_BYTES && rest.length > in_record - HANDSHAKE_BYTES)
		rest.length = in_record - HANDSHAKE_BYTES;
	if (type == CLIENT_HELLO)
		return verify_client_hello(rest, length);
	return type == SERVER_HELLO ? verify_server_hello(rest, length) : VERIFY_NO;
}

// RFC 5246 E.2: length with the high bit set, 1, version, then the lengths of cipher specs
// (threes), session id and challenge, which add up. The version is any, as for OpenSSL 3.0.
static enum verify verify_ssl2(struct text half)
{
	if (half.length < 11)
		return VERIFY_MORE;
	uint32_t length = octets_be16(half.at) & 0x7fff, specs = octets_be16(half.at + 5);
	uint32_t session = octets_be16(half.at + 7), challenge = octets_be16(half.at + 9);

	return half.at[0] & 0x80 && half.at[2] == CLIENT_HELLO && specs && specs % 3 == 0 &&
			       (session == 0 || session == 16) && challenge >= 16 &&
			       challenge <= 32 && length == 9 + specs + session + challenge
		       ? VERIFY_YES
		       : VERIFY_NO;
}

// A hello in records that no specification has and servers take: of another version, empty ones
// first, cut anywhere. What the records do not prove, the message has to.
static enum verify verify_odd(struct text half)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text message;
	struct tls_hello hello;

	if (!tls_may_be_record(half))
		return VERIFY_NO;
	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	bool goes_on = tls_hello_join(half, true, bytes, &message);
	enum tls_hello_seen seen = tls_hello_read(message, TLS_OVER_TCP, &hello);

	if (seen == TLS_HELLO_MORE && !hello.ciphers.length)
		return goes_on ? VERIFY_MORE : VERIFY_NO;
	return seen == TLS_HELLO_NONE ? VERIFY_NO : VERIFY_YES;
}

// RFC 5246 7.2: an alert in clear is two bytes, its level 1 or 2.
static bool is_clear_alert(struct text half)
{
	return half.length >= 7 && octets_be16(half.at + 3) == 2 &&
	       (half.at[5] == 1 || half.at[5] == 2);
}

// A record without content is against RFC 8446 5.1 in a handshake, and is sent all the same, by
// programs that only want to look like TLS. Two of them, one from either side, are records.
static bool is_empty_record(struct text half)
{
	return half.length >= TLS_RECORD_BYTES && half.at[0] >= TLS_CHANGE_CIPHER &&
	       half.at[0] <= TLS_DATA && half.at[1] == 3 && half.at[2] <= 4 && !half.at[3] &&
	       !half.at[4];
}

static enum verify verify_empty(struct text half, struct text peer)
{
	if (peer.length < TLS_RECORD_BYTES)
		return VERIFY_MORE;
	return peer.at[1] == half.at[1] && peer.at[2] == half.at[2] &&
			       (is_empty_record(peer) || tls_is_record(peer))
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

// Ports where nothing but TLS is to be expected (HTTPS, DNS and mail inside TLS).
static bool is_port(uint16_t port)
{
	static const uint16_t ports[] = {443, 465, 853, 990, 993, 995, 8443};

	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		if (ports[i] == port)
			return true;
	return false;
}

// Records one after the other up to the end of what is here. The header of one that goes on is
// four bytes of evidence: too little but for the ports above.
static enum verify verify_chain(const struct probe *probe)
{
	struct text half = probe_text(probe);
	enum verify weak =
		is_port(probe->sport) || is_port(probe->dport) ? VERIFY_PARTIAL : VERIFY_MORE;
	unsigned whole = 0;

	while (half.length) {
		if (half.length < TLS_RECORD_BYTES)
			return whole ? VERIFY_PARTIAL : VERIFY_MORE;
		if (!tls_is_record(half))
			return VERIFY_NO;
		uint32_t length = TLS_RECORD_BYTES + (uint32_t)octets_be16(half.at + 3);

		if (half.length < length)
			return whole ? VERIFY_DPI : weak;
		half = text_from(half, length);
		whole++;
	}
	return VERIFY_DPI;
}

// Of a half whose first record is no part of a hello that is seen.
static enum verify verify_regular(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (is_empty_record(half))
		return verify_empty(half, (struct text){probe->peer, probe->peer_length});
	// The server refuses before a hello of its own.
	return tls_is_record(half) && half.at[0] == TLS_ALERT && is_clear_alert(half) ? VERIFY_DPI
										      : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length < TLS_RECORD_BYTES)
		return VERIFY_MORE;
	if (half.at[0] & 0x80)
		return verify_ssl2(half);
	if (tls_is_record(half) && half.at[0] == TLS_HANDSHAKE) {
		enum verify hello = verify_handshake(half);

		if (hello != VERIFY_NO)
			return hello;
	}
	if (probe->midstream)
		return tls_is_record(half) ? verify_chain(probe) : verify_regular(probe);
	enum verify odd = probe->half == HALF_C2S ? verify_odd(half) : VERIFY_NO;
	enum verify regular = verify_regular(probe);

	return odd == VERIFY_YES || (odd == VERIFY_MORE && regular == VERIFY_NO) ? odd : regular;
}

const struct app_proto app_proto_tls = {
	.name = "tls",
	.title = "TLS",
	.group = "web",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.carrier = true,
	.tcp_ports = {443, 8443, 853},
};
