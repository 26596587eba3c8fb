// SPDX-License-Identifier: BSD-3-Clause
// A ClientHello as a handshake message (RFC 8446 4.1.2, RFC 5246 7.4.1.2; RFC 6347 4.2.1 of DTLS):
// the name asked for (RFC 6066 3), ALPN (RFC 7301), versions, ciphers, extensions, groups,
// signature algorithms, and the fingerprints JA3 and JA4 of these. Pure, any core; no heap, no
// state.
//
// The same reading for all that carry it: TLS records (tls_hello_join takes their headers out),
// CRYPTO frames of QUIC, DTLS (a message put together, without its sequence number and fragment
// fields: type, length in three bytes, body). Ask again with the message so far, from its first
// byte, whenever more of it is here.
#ifndef SLUICE_TLS_HELLO_H
#define SLUICE_TLS_HELLO_H

#include "classify/text.h"

enum tls_carrier { // the letter of JA4
	TLS_OVER_TCP = 't',
	TLS_OVER_QUIC = 'q',
	TLS_OVER_DATAGRAMS = 'd', // DTLS: a cookie, versions in one's complement
};

enum tls_hello_seen {
	TLS_HELLO_NONE, // it is no ClientHello, or a broken one
	TLS_HELLO_MORE, // a part; `out` holds what that part tells
	TLS_HELLO_WHOLE,
};

// Lists are as on the wire, without their length: numbers of two bytes (`formats`: of one byte;
// `alpn`: names, each behind a byte of its length). They point into the message. In a part, a list
// that is not here to its end is empty.
struct tls_hello {
	struct text name; // empty: none is asked for, or not yet seen
	struct text alpn;
	struct text ciphers;
	struct text extensions; // each: type, length, body; the last one's body may not be here
	struct text groups;
	struct text formats; // of points
	struct text signatures;
	struct text versions;    // supported_versions (RFC 8446 4.2.1)
	uint16_t legacy_version; // of the message itself
	uint8_t carrier;         // enum tls_carrier
	bool asks_name;          // there is a server_name extension, whatever is in it
};

enum tls_hello_seen tls_hello_read(
	struct text message, enum tls_carrier carrier, struct tls_hello *out);

// The handshake messages in what a half begins with, without the headers of the records that they
// come in (RFC 8446 5.1: they may be cut anywhere): in `half` itself, or moved together in `bytes`,
// which has room for half.length. `of_client`: what servers pass over before its first message is
// whole is passed over (alerts, ChangeCipherSpec). Empty records, and such of another version, are
// in either half. False: they are over, behind them is a record of another kind, or none; what
// stands before it counts.
bool tls_hello_join(struct text half, bool of_client, uint8_t *bytes, struct text *joined);

// RFC 8701: values that mean nothing and are there to be ignored.
static inline bool tls_is_grease(uint16_t value)
{
	return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff);
}

// The highest version that is offered; 0x0304 is TLS 1.3.
uint16_t tls_hello_version(const struct tls_hello *hello);
// The first name of the ALPN list; empty if there is none.
struct text tls_hello_protocol(const struct tls_hello *hello);
// The first application that has a name of the ALPN list; APP_NONE.
uint16_t tls_hello_application(const struct tls_hello *hello);

// Fingerprints of a whole hello, as texts: JA3 (salesforce/ja3: its MD5 is what is reported) and
// the three parts of JA4 (FoxIO's description of the TLS client fingerprint; of the second and
// third the first 12 digits of a SHA-256 are reported, or zeros where the text is empty).
#define TLS_LIST_MAX       256 // ciphers, extensions ...: a hello with more has no fingerprint
#define TLS_JA3_TEXT_BYTES (6 * 3 * TLS_LIST_MAX + 4 * TLS_LIST_MAX + 16)
#define TLS_JA4_TEXT_BYTES (2 * 5 * TLS_LIST_MAX + 16)
#define TLS_JA4_A_BYTES    10

// Lengths of the texts, which end with 0 besides; 0: a list is too long (or, of the parts of JA4,
// empty: that is no error, tls_hello_ja4_a says whether there is one).
uint32_t tls_hello_ja3_text(const struct tls_hello *hello, char text[TLS_JA3_TEXT_BYTES]);
bool tls_hello_ja4_a(const struct tls_hello *hello, char text[TLS_JA4_A_BYTES + 1]);
uint32_t tls_hello_ja4_b(const struct tls_hello *hello, char text[TLS_JA4_TEXT_BYTES]);
uint32_t tls_hello_ja4_c(const struct tls_hello *hello, char text[TLS_JA4_TEXT_BYTES]);

#endif
