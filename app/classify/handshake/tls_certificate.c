// SPDX-License-Identifier: BSD-3-Clause
// Of a certificate (X.690 8.1, RFC 5280 4.1) what stands before the name is stepped over, whatever
// is in it. Nothing is checked: who lies here is not believed by its client, either.
#include "classify/handshake/tls_certificate.h"
#include "classify/classify.h"
#include "classify/handshake/tls_hello.h"

enum message {
	SERVER_HELLO = 2,
	CERTIFICATE = 11,
	CERTIFICATE_STATUS = 22, // may come before, if not by the RFC
	SUPPLEMENTAL = 23,       // RFC 4680
};

enum tag {
	TAG_INTEGER = 0x02,
	TAG_OCTETS = 0x04,
	TAG_OID = 0x06,
	TAG_SEQUENCE = 0x30,
	TAG_SET = 0x31,
	TAG_VERSION = 0xa0,    // [0] of a TBSCertificate
	TAG_EXTENSIONS = 0xa3, // [3]
	TAG_DNS_NAME = 0x82,   // [2] of a GeneralName
};

// One value: what is here of its content.
struct value {
	uint8_t tag;
	bool whole;
	struct text content;
};

// False: not even its header is here, or it is none (indefinite length, more than three bytes of
// it). `rest` goes behind the value.
static bool take(struct text *rest, struct value *value)
{
	if (rest->length < 2)
		return false;
	uint32_t length = rest->at[1], header = 2;

	value->tag = rest->at[0];
	if (length & 0x80) {
		uint32_t n = length & 0x7f;

		if (!n || n > 3 || rest->length < 2 + n)
			return false;
		length = 0;
		for (uint32_t i = 0; i < n; i++)
			length = length << 8 | rest->at[2 + i];
		header += n;
	}
	*rest = text_from(*rest, header);
	value->whole = length <= rest->length;
	value->content = (struct text){rest->at, value->whole ? length : rest->length};
	*rest = text_from(*rest, length);
	return true;
}

static bool take_tagged(struct text *rest, enum tag tag, struct value *value)
{
	return take(rest, value) && value->tag == tag;
}

static bool is_oid(const struct value *value, const char *oid, uint32_t length)
{
	return value->tag == TAG_OID && value->content.length == length &&
	       !memcmp(value->content.at, oid, length);
}

// Letters, digits, dots, dashes, at least one dot; without a wildcard in front.
static bool take_host(struct text text, struct host_name *name)
{
	bool dot = false;

	if (text_begins(text, "*."))
		text = text_from(text, 2);
	if (!text.length || text.length > HOST_NAME_BYTES)
		return false;
	for (uint32_t i = 0; i < text.length; i++) {
		uint8_t byte = text.at[i];

		if (!text_is_letter(byte) && !octets_digit(byte) && byte != '-' && byte != '.' &&
			byte != '_')
			return false;
		dot |= byte == '.';
	}
	if (!dot)
		return false;
	memcpy(name->bytes, text.at, text.length);
	name->length = (uint8_t)text.length;
	return true;
}

// RFC 5280 4.1.2.4: a sequence of sets of (type, value); the last common name is the closest.
static bool common_name(struct text subject, struct host_name *name)
{
	struct value set, pair, type, value;
	bool found = false;

	while (take_tagged(&subject, TAG_SET, &set)) {
		struct text rest = set.content;

		while (take_tagged(&rest, TAG_SEQUENCE, &pair))
			if (take(&pair.content, &type) && is_oid(&type, "\x55\x04\x03", 3) &&
				take(&pair.content, &value) && value.whole)
				found = take_host(value.content, name);
	}
	return found;
}

// `names`: the content of subjectAltName.
static enum host_seen first_dns_name(struct text names, enum host_seen open, struct host_name *name)
{
	struct value list, entry;

	if (!take_tagged(&names, TAG_SEQUENCE, &list))
		return open;
	while (take(&list.content, &entry)) {
		if (entry.tag != TAG_DNS_NAME)
			continue;
		if (!entry.whole)
			return open;
		return take_host(entry.content, name) ? HOST_FOUND : HOST_NONE;
	}
	return list.whole ? HOST_NONE : open;
}

// What is behind the subject: its key, perhaps identifiers, extensions.
static enum host_seen alternative_name(
	struct text rest, enum host_seen open, struct host_name *name)
{
	struct value value, list, extension, id, content;

	do {
		if (!take(&rest, &value))
			return open;
	} while (value.tag != TAG_EXTENSIONS);
	if (!take_tagged(&value.content, TAG_SEQUENCE, &list))
		return open;
	while (take_tagged(&list.content, TAG_SEQUENCE, &extension)) {
		if (!take(&extension.content, &id) || !is_oid(&id, "\x55\x1d\x11", 3))
			continue;
		do { // "critical" may stand before it
			if (!take(&extension.content, &content))
				return open;
		} while (content.tag != TAG_OCTETS);
		return first_dns_name(content.content, open, name);
	}
	return list.whole ? HOST_NONE : open;
}

// `whole`: all of the certificate is here.
static enum host_seen certificate(struct text der, bool whole, struct host_name *name)
{
	enum host_seen open = whole ? HOST_NONE : HOST_MORE;
	struct value outer, tbs, value;

	if (!take(&der, &outer) || !take(&outer.content, &tbs))
		return open;
	if (outer.tag != TAG_SEQUENCE || tbs.tag != TAG_SEQUENCE)
		return HOST_NONE;
	struct text rest = tbs.content;

	if (!take(&rest, &value) || (value.tag == TAG_VERSION && !take(&rest, &value)))
		return open;
	if (value.tag != TAG_INTEGER) // the serial number
		return rest.length ? HOST_NONE : open;
	for (unsigned i = 0; i < 4; i++) { // algorithm, issuer, validity, subject
		if (!take(&rest, &value))
			return open;
		if (value.tag != TAG_SEQUENCE)
			return HOST_NONE;
	}
	if (!value.whole)
		return open;
	return common_name(value.content, name) ? HOST_FOUND : alternative_name(rest, open, name);
}

enum host_seen tls_certificate_name(struct text half, struct host_name *name)
{
	uint8_t bytes[CLASSIFY_PREFIX_BYTES];
	struct text rest;

	if (half.length > sizeof(bytes))
		half.length = sizeof(bytes);
	enum host_seen open = tls_hello_join(half, false, bytes, &rest) ? HOST_MORE : HOST_NONE;

	while (rest.length >= 4) {
		uint8_t type = rest.at[0];
		uint32_t length = text_be24(rest.at + 1);

		rest = text_from(rest, 4);
		if (type == CERTIFICATE) {
			if (rest.length < 6)
				return open;
			length = text_be24(rest.at + 3);
			rest = text_from(rest, 6);
			bool whole = length <= rest.length;

			if (whole)
				rest.length = length;
			enum host_seen seen = certificate(rest, whole, name);

			return seen == HOST_MORE ? open : seen;
		}
		if (type != SERVER_HELLO && type != CERTIFICATE_STATUS && type != SUPPLEMENTAL)
			return HOST_NONE;
		if (length > rest.length)
			return open;
		rest = text_from(rest, length);
	}
	return open;
}
