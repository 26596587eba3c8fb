// SPDX-License-Identifier: BSD-3-Clause
// Where FTP's data connection will be. Who may be named is as in app/classify/proto/ftp.c.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "content/ftp/session.h"
#include "content/http/text.h"
#include "pipeline/vocab/octets.h"

#define DATA_TTL_S 60

void ftp_report(const struct ftp_turn *turn, bool amends)
{
	const struct ftp_session *session = turn->session;
	const struct content_turn *to = turn->turn;
	struct expectation expect = {
		.port = session->port,
		.l4_proto = IPPROTO_TCP,
		.app = to->data_app,
		.as = EXPECTED_FTP_DATA,
		.amends = amends,
		.ttl_s = DATA_TTL_S,
		.label = session->label,
	};

	if (!session->port || !to->others || !to->others->expect || !to->ends)
		return;
	if (expect.label.what != TRANSFER_NOT_SAID)
		expect.label.half = session->sender == session->listens ? HALF_S2C : HALF_C2S;
	if (!expect.label.file[0]) // a listing
		expect.label.size = 0;
	memcpy(expect.address, to->ends->address[session->listens], 16);
	memcpy(expect.peer, to->ends->address[!session->listens], 16);
	to->others->expect(to->others->ctx, &expect);
}

// `address` NULL: that of the end itself. A third party's address is how ports are scanned and
// firewalls opened through FTP (RFC 2577 3): only the end itself may be named.
static void expect(
	const struct ftp_turn *turn, unsigned listens, const uint8_t address[16], uint16_t port)
{
	struct ftp_session *session = turn->session;
	struct transfer_label *label = &session->label;
	const struct flow_ends *ends = turn->turn->ends;

	session->port = 0;
	if (!ends || (address && memcmp(address, ends->address[listens], 16)))
		return;
	session->port = port;
	session->listens = (uint8_t)listens;
	if (!session->held) { // of the one before
		memset(label->file, 0, sizeof(label->file));
		label->what = TRANSFER_NOT_SAID;
		label->begins_cut = false;
		label->range_from = 0;
	}
	ftp_report(turn, false);
}

// Takes the bytes up to `separator`, all of them if it is not there, and the separator.
static struct content_text take(struct content_text *rest, uint8_t separator)
{
	struct content_text taken = {rest->bytes, http_until(*rest, separator)};

	*rest = http_text_from(
		*rest, taken.length < rest->length ? taken.length + 1 : taken.length);
	return taken;
}

static bool number(struct content_text text, uint64_t max, uint64_t *out)
{
	return text.length <= 19 && http_number(text, out) && *out <= max;
}

void ftp_expect_host_port(const struct ftp_turn *turn, unsigned listens, struct content_text rest)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff}, port[2];
	uint64_t octet;

	for (unsigned i = 0; i < 6; i++) {
		struct content_text word = take(&rest, ',');
		uint32_t digits = 0;

		while (i == 5 && digits < word.length && octets_digit(word.bytes[digits]))
			digits++;
		if (i == 5)
			word.length = digits; // ")." or blanks may follow
		if (!number(word, UINT8_MAX, &octet))
			return;
		if (i < 4)
			address[12 + i] = (uint8_t)octet;
		else
			port[i - 4] = (uint8_t)octet;
	}
	expect(turn, listens, address, (uint16_t)(port[0] << 8 | port[1]));
}

static bool parse_address(struct content_text protocol, struct content_text word, uint8_t out[16])
{
	char text[INET6_ADDRSTRLEN];

	if (!word.length || word.length >= sizeof(text))
		return false;
	memcpy(text, word.bytes, word.length);
	text[word.length] = '\0';
	memset(out, 0, 16);
	if (http_is(protocol, "2"))
		return inet_pton(AF_INET6, text, out) == 1;
	memset(out + 10, 0xff, 2);
	return http_is(protocol, "1") && inet_pton(AF_INET, text, out + 12) == 1;
}

// The delimiter is the sender's choice.
void ftp_expect_extended(const struct ftp_turn *turn, unsigned listens, struct content_text rest)
{
	uint8_t delimiter, address[16];
	uint64_t port;

	if (rest.length < 5 || rest.bytes[0] < 33 || rest.bytes[0] > 126 ||
		octets_digit(rest.bytes[0]))
		return;
	delimiter = rest.bytes[0];
	rest = http_text_from(rest, 1);
	struct content_text protocol = take(&rest, delimiter), host = take(&rest, delimiter);

	if (http_until(rest, delimiter) == rest.length ||
		!number(take(&rest, delimiter), UINT16_MAX, &port))
		return;
	if (!host.length)
		expect(turn, listens, NULL, (uint16_t)port);
	else if (parse_address(protocol, host, address))
		expect(turn, listens, address, (uint16_t)port);
}
