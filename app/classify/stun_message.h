// SPDX-License-Identifier: BSD-3-Clause
// Messages of STUN (RFC 8489 5) and TURN (RFC 8656), of the older STUN without a cookie (RFC 3489
// 11.1) and the drafts of TURN in its manner: taken apart, and what they tell of the application
// that calls. Pure, any core; no heap.
#ifndef SLUICE_STUN_MESSAGE_H
#define SLUICE_STUN_MESSAGE_H

#include "classify/text.h"

#define STUN_HEADER_BYTES 20

enum stun_type { // RFC 8489 18.2, RFC 8656 17; class in bits 0x0110
	STUN_BINDING = 0x0001,
	STUN_BINDING_ANSWER = 0x0101,
	STUN_BINDING_ERROR = 0x0111,
	STUN_SECRET = 0x0002, // RFC 3489
	STUN_ALLOCATE = 0x0003,
};

enum stun_attribute_type {
	STUN_MAPPED_ADDRESS = 0x0001,
	STUN_RESPONSE_ADDRESS = 0x0002,
	STUN_CHANGE_REQUEST = 0x0003,
	STUN_SOURCE_ADDRESS = 0x0004,
	STUN_CHANGED_ADDRESS = 0x0005,
	STUN_REFLECTED_FROM = 0x000b,
	STUN_OLD_COOKIE = 0x000f, // draft-rosenberg-midcom-turn-08 9.2
	STUN_REALM = 0x0014,
	STUN_FINGERPRINT = 0x8028,
};

struct stun_message {
	struct text whole; // as its header says; in a stream perhaps less
	struct text attributes;
	uint16_t type;
	bool cookie;   // RFC 8489's; else it is of RFC 3489 or of nobody
	bool cut;      // not all of it is here
	bool unpadded; // its attributes follow each other without the octets that fill them up
};

struct stun_attribute {
	struct text value;
	uint16_t type;
};

enum stun_fingerprint {
	STUN_FINGERPRINT_NONE,
	STUN_FINGERPRINT_RIGHT,
	STUN_FINGERPRINT_WRONG,
};

// A datagram that is one message from its first byte to its last, attributes and all. With a cookie
// also one whose attributes are not filled up to four octets: relays of calls are asked, and
// answer, so (clients of WhatsApp, servers of Teams).
bool stun_read(struct text datagram, struct stun_message *message);
// What a stream begins with: a message with a cookie, as it is (RFC 8489 6.2.2) or behind two bytes
// of its length (RFC 4571, RFC 6544 3). At least its header is here.
bool stun_read_stream(struct text half, struct stun_message *message);
// False: there is no further one, or not in full.
bool stun_take_attribute(
	struct text *rest, const struct stun_message *message, struct stun_attribute *attribute);
// RFC 8489 14.7.
enum stun_fingerprint stun_fingerprint(const struct stun_message *message);
// Without a cookie: attributes of RFC 3489 whose form is known, and none else.
bool stun_is_classic(const struct stun_message *message);
// The realm that a server asks a client to log in to (RFC 8489 14.9); empty if there is none.
struct text stun_realm(const struct stun_message *message);
// The id of the application whose attributes or realm these are, or NULL.
const char *stun_application(const struct stun_message *message);

#endif
