// SPDX-License-Identifier: BSD-3-Clause
// Where FTP's data connection will be. Who may be named is as in app/classify/proto/ftp.c.
#include <arpa/inet.h>
#include <netinet/in.h>

#include "content/ftp/session.h"
#include "content/http/text.h"
#include "pipeline/vocab/octets.h"

#define DATA_TTL_S 60

static bool is_v4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	return !memcmp(address, mapped, sizeof(mapped));
}

// 0.0.0.0/8, ::
static bool is_no_host(const uint8_t address[16])
{
	static const uint8_t none[16];

	return is_v4(address) ? !address[12] : !memcmp(address, none, sizeof(none));
}

static void report_at(const struct ftp_turn *turn, const uint8_t address[16], bool claimed,
	struct expectation *expect)
{
	const struct content_turn *to = turn->turn;

	memcpy(expect->address, address, 16);
	expect->claimed = claimed;
	to->others->expect(to->others->ctx, expect);
}

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
		.item = session->item,
		.label = session->label,
	};

	if (!session->port || !to->others || !to->others->expect || !to->ends)
		return;
	if (expect.label.what != TRANSFER_NOT_SAID)
		expect.label.half = session->sender == session->listens ? HALF_S2C : HALF_C2S;
	if (!expect.label.file[0]) // a listing
		expect.label.size = 0;
	memcpy(expect.peer, to->ends->address[!session->listens], 16);
	report_at(turn, to->ends->address[session->listens], false, &expect);
	if (session->elsewhere)
		report_at(turn, session->other, true, &expect);
}

// A third party's address is how ports are scanned and firewalls opened through FTP (RFC 2577 3).
// Most programs do not obey it, and connect to the end that has named it; some do. It is that end's
// word alone, for a connection of the other one.
static void set_other(struct ftp_session *session, const struct flow_ends *ends, unsigned listens,
	const uint8_t address[16])
{
	session->elsewhere = address && memcmp(address, ends->address[0], 16) != 0 &&
			     memcmp(address, ends->address[1], 16) != 0 &&
			     is_v4(address) == is_v4(ends->address[!listens]) &&
			     !is_no_host(address);
	if (session->elsewhere)
		memcpy(session->other, address, 16);
}

// `address` NULL: that of the end itself.
static void expect(
	const struct ftp_turn *turn, unsigned listens, const uint8_t address[16], uint16_t port)
{
	struct ftp_session *session = turn->session;
	struct transfer_label *label = &session->label;

	session->port = 0;
	if (!turn->turn->ends)
		return;
	set_other(session, turn->turn->ends, listens, address);
	session->port = port;
	session->listens = (uint8_t)listens;
	if (!session->held) { // of the one before
		memset(label->file, 0, sizeof(label->file));
		label->what = TRANSFER_NOT_SAID;
		label->begins_cut = false;
		label->range_from = 0;
		session->item = 0;
	}
	ftp_report(turn, false);
}

void ftp_expect_place(const struct ftp_turn *turn, unsigned listens, const struct ftp_place *place)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(address + 12, place->address, 4);
	expect(turn, listens, place->named ? address : NULL, place->port);
	if (place->odd)
		ftp_note(turn, CONTENT_NOTE_BAD_LINE);
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
