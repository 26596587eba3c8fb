// SPDX-License-Identifier: BSD-3-Clause
// A message is a command line "MSG ...", a header and a body, all in lines; the frames of the
// peer-to-peer protocol put 48 octets before its text, and 4 behind, which spoil one line each.
#include "classify/proto/msn/offers.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include "classify/text.h"

#define DIRECT_TTL_S  120
#define ADDRESSES     4  // of one message: outer and inner ones
#define CONTEXT_FIXED 20 // octets before the name
#define CONTEXT_BYTES (CONTEXT_FIXED + 2 * TRANSFER_FILE_BYTES)

enum {                                        // in the memo: of the message at hand
	MEMO_ADDRESS,                         // IPv4, host order; ADDRESSES of them
	MEMO_HALF = MEMO_ADDRESS + ADDRESSES, // whose message it is, plus one
};

struct decoding {
	struct decoder_state *state;
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
};

static void begin_message(const struct decoding *d, unsigned half)
{
	memset(d->state->memo.word, 0, sizeof(d->state->memo.word));
	d->state->memo.word[MEMO_HALF] = half + 1;
}

// Of a host that is not the client's own, it is said that the client will connect there.
static void expect(
	const struct decoding *d, unsigned half, uint32_t host, uint64_t port, enum expected_as as)
{
	const uint8_t *client = d->ends->address[HALF_C2S];
	struct expectation expect = {
		.address = {[10] = 0xff,
			0xff,
			(uint8_t)(host >> 24),
			(uint8_t)(host >> 16),
			(uint8_t)(host >> 8),
			(uint8_t)host},
		.port = (uint16_t)port,
		.l4_proto = IPPROTO_TCP,
		.app = app_find("msn"),
		.as = (uint8_t)as,
		.ttl_s = DIRECT_TTL_S,
		.label = d->state->label,
	};
	bool own = !memcmp(expect.address, client, 16);

	if (port < 1024 || !host || own != (half == HALF_C2S))
		return;
	if (half == HALF_S2C)
		memcpy(expect.peer, client, 16);
	else
		memcpy(expect.label.user, d->state->own, sizeof(expect.label.user));
	d->sink->expect(d->sink->ctx, &expect);
}

static bool parse_v4(struct text word, uint32_t *host)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (!word.length || word.length >= sizeof(text))
		return false;
	memcpy(text, word.at, word.length);
	text[word.length] = '\0';
	if (inet_pton(AF_INET, text, &address) != 1)
		return false;
	*host = ntohl(address.s_addr);
	return true;
}

static void take_addresses(const struct decoding *d, struct text words)
{
	uint32_t *at = &d->state->memo.word[MEMO_ADDRESS], host;

	while (words.length && parse_v4(text_take_word(&words), &host)) {
		unsigned i = 0;

		while (i < ADDRESSES && at[i] && at[i] != host)
			i++;
		if (i < ADDRESSES)
			at[i] = host;
	}
}

static void take_port(
	const struct decoding *d, unsigned half, struct text word, enum expected_as as)
{
	uint64_t port;

	for (unsigned i = 0; i < ADDRESSES && text_number(word, UINT16_MAX, &port); i++)
		expect(d, half, d->state->memo.word[MEMO_ADDRESS + i], port, as);
}

// "10.0.0.1:4321 192.0.2.1:4321"
static void take_endpoints(const struct decoding *d, unsigned half, struct text words)
{
	for (unsigned i = 0; i < ADDRESSES && words.length; i++) {
		struct text word = text_take_word(&words), host = text_take(&word, ':');
		uint32_t address;
		uint64_t port;

		if (parse_v4(host, &address) && text_number(word, UINT16_MAX, &port))
			expect(d, half, address, port, EXPECTED_MSN_DIRECT);
	}
}

static int base64_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (octets_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static uint32_t base64_decode(struct text text, uint8_t *out, uint32_t max)
{
	uint32_t bits = 0, n = 0;
	unsigned have = 0;

	for (uint32_t i = 0; i < text.length && n < max; i++) {
		int value = base64_value(text.at[i]);

		if (value < 0)
			break;
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (uint8_t)(bits >> have);
		}
	}
	return n;
}

// UTF-16LE up to its NUL; surrogates are left to be two letters that nobody can show.
static void set_name(struct transfer_label *label, struct text name)
{
	uint8_t out[3 * TRANSFER_FILE_BYTES];
	size_t n = 0;

	for (uint32_t i = 0; i + 1 < name.length && n + 3 <= sizeof(out); i += 2) {
		uint16_t c = octets_le16(name.at + i);

		if (!c)
			break;
		if (c < 0x80) {
			out[n++] = (uint8_t)c;
		} else if (c < 0x800) {
			out[n++] = (uint8_t)(0xc0 | c >> 6);
			out[n++] = (uint8_t)(0x80 | (c & 0x3f));
		} else {
			out[n++] = (uint8_t)(0xe0 | c >> 12);
			out[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (uint8_t)(0x80 | (c & 0x3f));
		}
	}
	transfer_text_set(label->file, sizeof(label->file), out, n);
}

// Of an INVITE to a file: length u32, version u32, size u64, type u32, name; little endian.
static void take_context(const struct decoding *d, struct text value)
{
	struct transfer_label *label = &d->state->label;
	uint8_t bytes[CONTEXT_BYTES];
	uint32_t n = base64_decode(value, bytes, sizeof(bytes));

	if (n < CONTEXT_FIXED + 4 || octets_le32(bytes) < CONTEXT_FIXED ||
		octets_le32(bytes) > 4096 || octets_le32(bytes + 4) > 8)
		return;
	label->size = octets_le32(bytes + 8) | (uint64_t)octets_le32(bytes + 12) << 32;
	set_name(label, (struct text){bytes + CONTEXT_FIXED, n - CONTEXT_FIXED});
}

static void set_text(char *out, size_t size, struct text text)
{
	transfer_text_set(out, size, text.at, text.length);
}

// "MSG account nick length" from the server, "USR id account ..." and "ANS id account ..." to it.
static bool take_command(const struct decoding *d, unsigned half, struct text line)
{
	struct transfer_label *label = &d->state->label;
	struct text verb = text_take_word(&line), word = text_take_word(&line);

	if (text_is(verb, "MSG")) {
		begin_message(d, half);
		if (half == HALF_S2C && text_contains_byte(word, '@'))
			set_text(label->user, sizeof(label->user), word);
		return true;
	}
	if (half != HALF_C2S || (!text_is(verb, "USR") && !text_is(verb, "ANS")))
		return false;
	for (unsigned i = 0; i < 4 && !text_contains_byte(word, '@') && line.length; i++)
		word = text_take_word(&line);
	if (text_contains_byte(word, '@'))
		set_text(d->state->own, sizeof(d->state->own), text_take(&word, ';'));
	return true;
}

static void decode_line(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length)
{
	const struct decoding *d = ctx;
	struct transfer_label *label = &d->state->label;
	struct text value = {bytes, length}, name;
	uint64_t size;

	if (take_command(d, half, value) || d->state->memo.word[MEMO_HALF] != half + 1)
		return;
	name = text_take(&value, ':');
	while (value.length && value.at[0] == ' ')
		value = text_from(value, 1);
	if (text_is(name, "Application-File"))
		set_text(label->file, sizeof(label->file), value);
	else if (text_is(name, "Application-FileSize"))
		label->size = text_number(value, INT64_MAX, &size) ? size : 0;
	else if (text_is(name, "Context"))
		take_context(d, value);
	else if (text_is(name, "IP-Address") || text_is(name, "IP-Address-Internal") ||
		 text_is(name, "IPv4Internal-Addrs") || text_is(name, "IPv4External-Addrs"))
		take_addresses(d, value);
	else if (text_is(name, "Port"))
		take_port(d, half, value, EXPECTED_MSNFTP);
	else if (text_is(name, "IPv4Internal-Port") || text_is(name, "IPv4External-Port"))
		take_port(d, half, value, EXPECTED_MSN_DIRECT);
	else if (text_is(name, "IPv4Internal-AddrsAndPorts") ||
		 text_is(name, "IPv4External-AddrsAndPorts"))
		take_endpoints(d, half, value);
}

void msn_offers_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct decoding decoding = {state, ends, sink};

	decoder_lines(state, span, decode_line, &decoding);
}
