// SPDX-License-Identifier: BSD-3-Clause
// Parses messages of STUN and TURN, with the attributes that name the application.
#include "classify/stun_message.h"
#include "classify/digest.h"

#define COOKIE          0x2112a442u
#define OLD_COOKIE      0x72c64bc6u
#define FINGERPRINT_XOR 0x5354554eu
#define ATTRIBUTE_BYTES 4
#define CLASSIC_LAST    0x0016u // of the attributes of RFC 3489 and the drafts of TURN

static bool take(struct text *rest, bool unpadded, struct stun_attribute *attribute)
{
	if (rest->length < ATTRIBUTE_BYTES)
		return false;
	uint32_t length = octets_be16(rest->at + 2);
	uint32_t here = unpadded ? length : (length + 3) & ~3u;

	if (here > rest->length - ATTRIBUTE_BYTES)
		return false;
	attribute->type = octets_be16(rest->at);
	attribute->value = (struct text){rest->at + ATTRIBUTE_BYTES, length};
	*rest = text_from(*rest, ATTRIBUTE_BYTES + here);
	return true;
}

bool stun_take_attribute(
	struct text *rest, const struct stun_message *message, struct stun_attribute *attribute)
{
	return take(rest, message->unpadded, attribute);
}

// The header; the two bits in front are clear in STUN alone of all that shares its ports (RFC
// 7983).
static bool read_header(struct text bytes, struct stun_message *message)
{
	message->unpadded = false;
	if (bytes.length < STUN_HEADER_BYTES || bytes.at[0] & 0xc0)
		return false;
	uint32_t length = STUN_HEADER_BYTES + (uint32_t)octets_be16(bytes.at + 2);

	message->type = octets_be16(bytes.at);
	message->cookie = octets_be32(bytes.at + 4) == COOKIE;
	message->cut = length > bytes.length;
	message->whole = (struct text){bytes.at, message->cut ? bytes.length : length};
	message->attributes = text_from(message->whole, STUN_HEADER_BYTES);
	return true;
}

// RFC 8489 5: messages are as long as a multiple of four octets.
static bool is_padded(const struct stun_message *message)
{
	return !(message->whole.length & 3);
}

static bool are_attributes(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;

	while (stun_take_attribute(&rest, message, &attribute))
		;
	return !rest.length;
}

bool stun_read(struct text datagram, struct stun_message *message)
{
	if (!read_header(datagram, message) || message->cut ||
		message->whole.length != datagram.length)
		return false;
	if (is_padded(message) && are_attributes(message))
		return true;
	message->unpadded = message->cookie;
	return message->unpadded && are_attributes(message);
}

bool stun_read_stream(struct text half, struct stun_message *message)
{
	if (read_header(half, message) && message->cookie && !(half.at[3] & 3))
		return true;
	if (half.length < 2 + STUN_HEADER_BYTES || !read_header(text_from(half, 2), message) ||
		!message->cookie || half.at[5] & 3)
		return false;
	return octets_be16(half.at) == STUN_HEADER_BYTES + octets_be16(half.at + 4);
}

enum stun_fingerprint stun_fingerprint(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;

	while (stun_take_attribute(&rest, message, &attribute)) {
		if (attribute.type != STUN_FINGERPRINT || rest.length)
			continue;
		const struct text before = {message->whole.at,
			message->whole.length - ATTRIBUTE_BYTES - attribute.value.length};

		return attribute.value.length == 4 && !message->cut &&
				       octets_be32(attribute.value.at) ==
					       (~digest_crc32(
							UINT32_MAX, before.at, before.length) ^
						       FINGERPRINT_XOR)
			       ? STUN_FINGERPRINT_RIGHT
			       : STUN_FINGERPRINT_WRONG;
	}
	return STUN_FINGERPRINT_NONE;
}

// RFC 3489 11.2.1: nothing, family, port, address.
static bool is_address(struct text value)
{
	return (value.length == 8 && value.at[0] == 0 && value.at[1] == 1) ||
	       (value.length == 20 && value.at[0] == 0 && value.at[1] == 2);
}

static bool has_known_form(struct stun_attribute attribute)
{
	switch (attribute.type) {
	case STUN_MAPPED_ADDRESS:
	case STUN_RESPONSE_ADDRESS:
	case STUN_SOURCE_ADDRESS:
	case STUN_CHANGED_ADDRESS:
	case STUN_REFLECTED_FROM: return is_address(attribute.value);
	case STUN_CHANGE_REQUEST: // 11.2.4: two bits of it mean something
		return attribute.value.length == 4 && !(octets_be32(attribute.value.at) & ~6u);
	case STUN_OLD_COOKIE:
		return attribute.value.length == 4 && octets_be32(attribute.value.at) == OLD_COOKIE;
	default: return false;
	}
}

bool stun_is_classic(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;
	unsigned n_known = 0;

	while (stun_take_attribute(&rest, message, &attribute)) {
		bool known = has_known_form(attribute);

		if (!known && (attribute.type <= STUN_CHANGED_ADDRESS ||
				      (attribute.type > CLASSIC_LAST && attribute.type < 0x8000)))
			return false;
		n_known += known;
	}
	return n_known > 0;
}

struct text stun_realm(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;

	while (stun_take_attribute(&rest, message, &attribute))
		if (attribute.type == STUN_REALM)
			return attribute.value;
	return (struct text){NULL, 0};
}

// Attributes that one maker has. Those of libwebrtc (0xc057 to 0xc060, GOOG-...) are no mark of
// Google's: every browser sends them.
static const struct mark {
	const char *app;
	uint16_t attribute;
	uint16_t min, max; // length of its value
	uint16_t method;   // 0: any
} marks[] = {
	// [MS-TURN] 2.2.2.17 MS-Version, [MS-TURN] Service Quality, MS-Multiplexed-TURN-Session-ID;
	// [MS-ICE2] 2.2 Candidate-Identifier, Implementation-Version. IANA has given none of these
	// numbers to anybody. What Skype for Business left is Teams now.
	{"teams", 0x8008, 4, 4, 0},
	{"teams", 0x8054, 1, 4, 0},
	{"teams", 0x8055, 4, 4, 0},
	{"teams", 0x8070, 4, 4, 0},
	{"teams", 0x8095, 8, 8, 0},
	// Relays of WhatsApp's calls: what is asked for, first and from a second port on, and where
	// one has been seen before, in a range where IANA has registered nothing (nDPI's dissector
	// of STUN has the same).
	{"whatsapp", 0x4000, 16, 512, STUN_ALLOCATE},
	{"whatsapp", 0x4001, 16, 512, STUN_ALLOCATE},
	{"whatsapp", 0x4002, 8, 8, STUN_ALLOCATE},
	// IANA, STUN attributes: CISCO-WEBEX-FLOW-INFO
	{"webex", 0xc003, 1, 512, 0},
};

// Realms that are no host of the application's, or of a host that others use, too. Source:
// nDPI's dissector of STUN, and the applications' own hosts of config/signatures; 2026-11.
static const struct realm {
	const char *app;
	const char *realm;
} realms[] = {
	{"googlechat", "turn.l.google.com"}, // Meet and Duo
	{"messenger", "turner.facebook"},
	{"signal", "whispersystems.org"},
	{"signal", "signal.org"},
	{"telegram", "telegram.org"},
	{"viber", "viber.com"},
};

static const char *app_of_mark(const struct stun_message *message, struct stun_attribute attribute)
{
	for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *mark = &marks[i];

		if (mark->attribute == attribute.type && attribute.value.length >= mark->min &&
			attribute.value.length <= mark->max &&
			(!mark->method || mark->method == (message->type & ~0x0110)))
			return mark->app;
	}
	return NULL;
}

// The realm itself, or one below it.
static const char *app_of_realm(struct text realm)
{
	for (unsigned i = 0; i < sizeof(realms) / sizeof(realms[0]); i++) {
		uint32_t n = (uint32_t)strlen(realms[i].realm);

		if (realm.length < n || (realm.length > n && realm.at[realm.length - n - 1] != '.'))
			continue;
		if (text_is(text_from(realm, realm.length - n), realms[i].realm))
			return realms[i].app;
	}
	return NULL;
}

// Zoom's clients ask its servers in the form of RFC 3489 with one attribute of their own, 20
// digits; the answer is of a type that answers nothing else, with one attribute, too (Michel et
// al., "Enabling Passive Measurement of Zoom Performance", 2022; Wireshark and nDPI know the
// numbers).
static bool is_zoom(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;

	if (message->cookie || !stun_take_attribute(&rest, message, &attribute) || rest.length)
		return false;
	if (message->type == STUN_SECRET)
		return attribute.type == 0x0103 && attribute.value.length == 8;
	if (message->type != STUN_BINDING || attribute.type != 0x0101 ||
		attribute.value.length != 20)
		return false;
	struct text digits = attribute.value;

	if (!digits.at[digits.length - 1]) // a string of C, with its end
		digits.length--;
	for (unsigned i = 0; i < digits.length; i++)
		if (!octets_digit(digits.at[i]))
			return false;
	return true;
}

const char *stun_application(const struct stun_message *message)
{
	struct text rest = message->attributes;
	struct stun_attribute attribute;
	const char *app = NULL;

	if (!message->cookie)
		return is_zoom(message) ? "zoom" : NULL;
	while (!app && stun_take_attribute(&rest, message, &attribute))
		app = attribute.type == STUN_REALM ? app_of_realm(attribute.value)
						   : app_of_mark(message, attribute);
	return app;
}
