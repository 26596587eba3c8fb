// SPDX-License-Identifier: BSD-3-Clause
// Reads long and repeated ClientHellos over TLS records for their server names.
#include "classify/names/host_name.h"
#include "classify/names/feed.h"
#include "classify/handshake/tls_record.h"

#define SHORT_HELLO    2000 // octets in one record: classification reads it
#define HELLOS_MAX     2    // RFC 8446 4.1.4: a server asks for another one once
#define EARLY_DATA_MAX 65535
#define MESSAGE_MASK   0xffffff // octets of a message

#define SERVER_HELLO     2
#define SERVER_RANDOM_AT (TLS_RECORD_BYTES + 4 + 2) // behind the message's header and version

// A hello has been read as far as its name, or its end; what is left of it is passed over.
static void end_hello(struct feed *feed, struct text message, const struct host_name *name)
{
	struct names_follow *follow = feed->follow;

	// The second one counts also if it asks for nobody: servers take it in place of the first.
	if (name->length || follow->hellos)
		feed->found(feed->ctx, name, false);
	follow->tls.skipped = (text_be24(message.at + 1) + 4 - message.length) & MESSAGE_MASK;
	names_drop(feed);
	if (++follow->hellos == HELLOS_MAX)
		follow->phase = NAMES_OVER;
}

// Octets of a handshake, kept as if they came in one record. False: no place is free.
static bool feed_hello(struct feed *feed, struct text *rest)
{
	static const uint8_t header[TLS_RECORD_BYTES] = {TLS_HANDSHAKE, 3, 1, 0x40, 0};
	struct names_follow *follow = feed->follow;

	if (!follow->kept && !names_keep(feed, (struct text){header, sizeof(header)}))
		return false;
	uint32_t room = NAME_HEAD_BYTES - follow->kept, before = follow->kept - TLS_RECORD_BYTES;
	struct text part = {
		rest->at, rest->length < follow->tls.record ? rest->length : follow->tls.record};

	if (part.length > room)
		part.length = room;
	names_keep(feed, part);
	struct text half = names_kept(feed), message = text_from(half, TLS_RECORD_BYTES);

	if (message.at[0] != 1) { // the server has chosen
		follow->phase = NAMES_OVER;
		return true;
	}
	uint32_t whole = message.length < 4 ? UINT32_MAX : text_be24(message.at + 1) + 4;

	// what is behind the message is another one's
	if (message.length > whole) {
		half.length = TLS_RECORD_BYTES + whole;
		message.length = whole;
	}
	part.length = message.length - before;
	follow->tls.record = (uint16_t)(follow->tls.record - part.length);
	*rest = text_from(*rest, part.length);
	follow->kept = (uint16_t)half.length;
	feed->unread = true;
	if (message.length == whole || half.length == NAME_HEAD_BYTES)
		names_read_tls(feed);
	return true;
}

void names_read_tls(struct feed *feed)
{
	struct text half = names_kept(feed), message = text_from(half, TLS_RECORD_BYTES);
	uint32_t whole = message.length < 4 ? UINT32_MAX : text_be24(message.at + 1) + 4;
	struct host_name name;
	enum host_seen seen = host_name_find(half.at, half.length, &name);

	feed->unread = false;
	if (seen == HOST_MORE && message.length < whole && half.length < NAME_HEAD_BYTES)
		return;
	if (seen != HOST_FOUND)
		name.length = 0;
	end_hello(feed, message, &name);
}

// A record's header, octet by octet. What servers pass over is passed over.
static void feed_record(struct names_follow *follow, struct text *rest)
{
	uint8_t byte = rest->at[0];

	*rest = text_from(*rest, 1);
	switch (follow->line++) {
	case 0:
		follow->tls.type = byte;
		follow->tls.record = 0;
		if (!tls_may_begin(byte))
			follow->phase = NAMES_OVER;
		return;
	case 1:
		if (byte >= 0x10)
			follow->phase = NAMES_OVER;
		return;
	case 2: return;
	default: follow->tls.record = (uint16_t)(follow->tls.record << 8 | byte);
	}
	if (follow->line < TLS_RECORD_BYTES)
		return;
	if (follow->tls.record > TLS_RECORD_MAX_BYTES)
		follow->phase = NAMES_OVER;
	if (follow->tls.type != TLS_DATA || !follow->tls.record)
		return;
	// RFC 8446 4.2.10: behind a hello it is early data, of which servers take 16 KiB
	if (!follow->hellos || follow->tls.record > EARLY_DATA_MAX - follow->tls.early)
		follow->phase = NAMES_OVER;
	else
		follow->tls.early = (uint16_t)(follow->tls.early + follow->tls.record);
}

bool names_feed_tls(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint32_t here = rest->length;

	if (follow->line < TLS_RECORD_BYTES) {
		feed_record(follow, rest);
		return true;
	}
	if (here > follow->tls.record)
		here = follow->tls.record;
	if (follow->tls.type == TLS_HANDSHAKE && here && !follow->tls.skipped) {
		if (!feed_hello(feed, rest))
			return false;
	} else {
		if (follow->tls.type == TLS_HANDSHAKE && here > follow->tls.skipped)
			here = follow->tls.skipped;
		if (follow->tls.type == TLS_HANDSHAKE)
			follow->tls.skipped = (follow->tls.skipped - here) & MESSAGE_MASK;
		follow->tls.record = (uint16_t)(follow->tls.record - here);
		*rest = text_from(*rest, here);
	}
	if (!follow->tls.record)
		follow->line = 0;
	return true;
}

// Most hellos are one record that classification reads in whole. One that is cut it may give up.
static bool is_short_hello(struct text half)
{
	return half.length > TLS_RECORD_BYTES + 4 && octets_be16(half.at + 3) < SHORT_HELLO &&
	       half.length - TLS_RECORD_BYTES >= octets_be16(half.at + 3) &&
	       half.at[TLS_RECORD_BYTES] == 1 &&
	       text_be24(half.at + TLS_RECORD_BYTES + 1) + 4 <= octets_be16(half.at + 3);
}

static void pass_hello(struct names_follow *follow, struct text half)
{
	follow->tls.skipped = (text_be24(half.at + TLS_RECORD_BYTES + 1) + 4) & MESSAGE_MASK;
	follow->hellos = 1;
}

void names_begin_tls(struct names_follow *follow, struct text half, bool again)
{
	follow->phase = NAMES_TLS;
	follow->asks = ASKS_HELLO;
	if (!again && is_short_hello(half))
		pass_hello(follow, half);
}

bool names_tls_chosen(struct text half)
{
	static const uint8_t again[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d,
		0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
		0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c}; // RFC 8446 4.1.3

	while (tls_is_record(half) && half.at[0] == TLS_ALERT)
		half = text_from(half, TLS_RECORD_BYTES + octets_be16(half.at + 3));
	return half.length >= SERVER_RANDOM_AT + sizeof(again) && tls_is_record(half) &&
	       half.at[0] == TLS_HANDSHAKE && half.at[TLS_RECORD_BYTES] == SERVER_HELLO &&
	       memcmp(half.at + SERVER_RANDOM_AT, again, sizeof(again)) != 0;
}
