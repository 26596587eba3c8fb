// SPDX-License-Identifier: BSD-3-Clause
// Expected secondary flows through the packet path: a control connection announces,
// the flow that comes has its application, and whose file it is; liars, limits, and lcores.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/pipeline/pipe.h"
#include "pipeline/flow/expect.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/table.h"

#define CLIENT 7
#define SERVER 22
#define THIRD  99

static struct rig *rig; // the repository's signatures
static struct pipe *new_pipe(unsigned n_lcores, const struct lcore_limits *limits)
{
	struct pipe *pipe = pipe_new(n_lcores, limits);

	pipe_signatures(pipe, rig->db);
	return pipe;
}

struct connection {
	struct pipe *pipe;
	struct pipe_packet packet;
	uint32_t seq[2];
	unsigned piece; // bytes a segment; 0: all
};

static struct connection connection(
	struct pipe *pipe, uint32_t client, uint32_t server, uint16_t dport)
{
	static uint16_t sport = 20000;
	struct connection c = {.pipe = pipe,
		.packet = {.client = client, .server = server, .sport = ++sport, .dport = dport},
		.seq = {1000, 5000}};

	return c;
}

static void send_segment(
	struct connection *c, unsigned half, uint8_t flags, const void *bytes, size_t length)
{
	struct pipe_packet packet = c->packet;

	packet.from_outside = half == HALF_S2C;
	packet.tcp_flags = flags;
	packet.seq = c->seq[half];
	packet.ack = c->seq[!half];
	packet.payload = bytes;
	packet.payload_length = (uint16_t)length;
	pipe_run(c->pipe, packet.sport % c->pipe->dp.n_lcores, &packet);
	pipe_turns(c->pipe);
	c->seq[half] += (uint32_t)length + !!(flags & TH_SYN);
}

static void greet(struct connection *c)
{
	send_segment(c, HALF_C2S, TH_SYN, NULL, 0);
	send_segment(c, HALF_S2C, TH_SYN | TH_ACK, NULL, 0);
}

static void say(struct connection *c, unsigned half, const char *bytes, size_t length)
{
	size_t piece = c->piece ? c->piece : length;

	for (size_t at = 0; at < length; at += piece)
		send_segment(c, half, 0, bytes + at, length - at < piece ? length - at : piece);
}

static void client_says(struct connection *c, const char *text)
{
	say(c, HALF_C2S, text, strlen(text));
}

static void server_says(struct connection *c, const char *text)
{
	say(c, HALF_S2C, text, strlen(text));
}

static void passive_says(struct connection *c, const char *answer)
{
	client_says(c, "PASV\r\n");
	server_says(c, answer);
}

static struct connection ftp_login(struct pipe *pipe, bool v6)
{
	struct connection c = connection(pipe, CLIENT, SERVER, 21);

	c.packet.v6 = v6;
	greet(&c);
	server_says(&c, "220 FTP ready\r\n");
	client_says(&c, "USER alice\r\n");
	server_says(&c, "331 and the password?\r\n");
	client_says(&c, "PASS secret\r\n");
	server_says(&c, "230 in\r\n");
	return c;
}

// The flow of a connection, and which lcore has it.
static const struct flow *flow_of(
	const struct connection *c, struct lcore **lcore, const struct flow_cold **cold)
{
	for (unsigned l = 0; l < c->pipe->dp.n_lcores; l++) {
		struct flow_table *flows = c->pipe->dp.lcores[l]->flows;

		for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++) {
			if (!flow_at(flows, i)->gen)
				continue;
			*lcore = c->pipe->dp.lcores[l];
			*cold = flow_cold_at(flows, i);
			if ((*cold)->ends.port[HALF_C2S] == c->packet.sport &&
				(*cold)->ends.port[HALF_S2C] == c->packet.dport)
				return flow_at(flows, i);
		}
	}
	fail_msg("no flow");
	return NULL;
}

static uint64_t flow_id(const struct connection *c)
{
	const struct flow_cold *cold;
	struct lcore *lcore;
	const struct flow *flow = flow_of(c, &lcore, &cold);
	struct event event = {0};

	flow_event_identify(lcore, (uint32_t)(flow - flow_at(lcore->flows, 0)), &event);
	return event.flow_id;
}

// A secondary connection of which the first payload has come.
static void arrives(struct connection *c, unsigned first_speaker)
{
	greet(c);
	say(c, first_speaker, "\x01\x02 anything at all", 18);
}

static void is_not_expected(const struct connection *c)
{
	const struct flow_cold *cold;
	struct lcore *lcore;
	const struct flow *flow = flow_of(c, &lcore, &cold);

	assert_int_equal(flow->app, APP_NONE);
	assert_int_equal(cold->expected, EXPECT_NONE);
}

static void is_expected(const struct connection *c, const struct connection *parent,
	const char *app, const char *as, const char *user, const char *file, uint64_t size)
{
	const struct flow_cold *cold;
	struct event event;
	struct lcore *lcore;
	const struct flow *flow = flow_of(c, &lcore, &cold);
	const struct expected *expected = expect_at(lcore->expect, cold->expected);

	assert_int_equal(flow->app, app_find(app));
	assert_true(flow->confidence >= CONFIDENCE_CACHE);
	assert_non_null(expected);
	assert_string_equal(expected_as_word(expected->what.as), as);
	assert_string_equal(expected->what.label.user, user);
	assert_string_equal(expected->what.label.file, file);
	assert_int_equal(expected->what.label.size, size);
	assert_int_equal(expected->parent, flow_id(parent));
	// and a record says so
	assert_true(pipe_event(c->pipe, lcore->index, EVENT_TRANSFER, &event));
	assert_int_equal(event.flow_id, flow_id(c));
	assert_int_equal(event.parent, flow_id(parent));
	assert_string_equal(event.transfer.user, user);
	assert_string_equal(event.transfer.file, file);
	assert_int_equal(event.transfer.size, size);
	assert_int_equal(event.app, app_find(app));
}

static void ftp_passive_over(unsigned n_lcores, bool v6, unsigned piece)
{
	struct pipe *pipe = new_pipe(n_lcores, NULL);
	struct connection control = ftp_login(pipe, v6);
	struct connection listing = connection(pipe, CLIENT, SERVER, 40001);
	struct connection file = connection(pipe, CLIENT, SERVER, 40002);
	struct connection again = connection(pipe, CLIENT, SERVER, 40002);

	control.piece = piece;
	listing.packet.v6 = file.packet.v6 = again.packet.v6 = v6;
	client_says(&control, "EPSV\r\n");
	passive_says(&control, "229 Entering Extended Passive Mode (|||40001|)\r\n");
	client_says(&control, "MLSD\r\n");
	server_says(&control, "150 Here it comes\r\n");
	arrives(&listing, HALF_S2C);
	is_expected(&listing, &control, "ftp-data", "ftp-data", "alice", "", 0);
	server_says(&control, "226 Done\r\n");
	client_says(&control, v6 ? "EPSV\r\n" : "PASV\r\n");
	passive_says(&control, v6 ? "229 Extended (|||40002|)\r\n"
				  : "227 Entering Passive Mode (10,0,0,22,156,66).\r\n");
	greet(&file); // before it is said what it is for
	client_says(&control, "RETR dir/two words.iso\r\n");
	server_says(&control, "150 Opening BINARY mode data connection (1048576 bytes).\r\n");
	say(&file, HALF_S2C,
		"\x7f"
		"ELF",
		4);
	is_expected(&file, &control, "ftp-data", "ftp-data", "alice", "dir/two words.iso", 1048576);
	// one announcement, one flow, on whatever lcore
	arrives(&again, HALF_S2C);
	is_not_expected(&again);
	assert_int_equal(pipe_stats(pipe).expectations_told, 2);
	assert_int_equal(pipe_stats(pipe).classify_cache, 2);
	assert_int_equal(pipe_stats(pipe).expectations_active, 0);
	pipe_free(pipe);
}

static void ftp_passive(void **state)
{
	(void)state;
	ftp_passive_over(1, false, 0);
	ftp_passive_over(1, true, 0);
	ftp_passive_over(3, false, 0);
	ftp_passive_over(3, true, 1); // a byte a segment
	ftp_passive_over(1, false, 7);
}

static void ftp_active(void **state)
{
	struct pipe *pipe = new_pipe(2, NULL);
	struct connection control = ftp_login(pipe, false);
	struct connection up = connection(pipe, SERVER, CLIENT, 1025);
	(void)state;

	client_says(&control, "PORT 10,0,0,7,4,1\r\n");
	server_says(&control, "200 ok\r\n");
	client_says(&control, "STOR new.bin\r\n");
	arrives(&up, HALF_S2C);
	is_expected(&up, &control, "ftp-data", "ftp-data", "alice", "new.bin", 0);
	pipe_free(pipe);
}

// RFC 2577: who is logged in to a server that is his own, or only says so, announces others' flows.
static void third_parties_are_not_named(void **state)
{
	struct pipe *pipe = new_pipe(1, NULL);
	struct connection control = ftp_login(pipe, false);
	struct connection bounced = connection(pipe, SERVER, THIRD, 1025);
	struct connection stranger = connection(pipe, THIRD, SERVER, 40001);
	struct connection own = connection(pipe, CLIENT, SERVER, 40001);
	(void)state;

	client_says(&control, "PORT 10,0,0,99,4,1\r\n");
	client_says(&control, "STOR x\r\n");
	arrives(&bounced, HALF_C2S);
	is_not_expected(&bounced);
	// nor is the server's port open to whoever comes first
	passive_says(&control, "227 Entering Passive Mode (10,0,0,22,156,65)\r\n");
	arrives(&stranger, HALF_C2S);
	is_not_expected(&stranger);
	arrives(&own, HALF_C2S);
	is_expected(&own, &control, "ftp-data", "ftp-data", "alice", "", 0);
	// what is announced stays so for a minute
	struct connection late = connection(pipe, CLIENT, SERVER, 40003);

	passive_says(&control, "227 Entering Passive Mode (10,0,0,22,156,67)\r\n");
	pipe_advance(pipe, 61);
	arrives(&late, HALF_C2S);
	is_not_expected(&late);
	assert_int_equal(pipe_stats(pipe).expectations_expired, 2); // PORT's, too
	pipe_free(pipe);
}

static struct connection irc_login(struct pipe *pipe, uint32_t client)
{
	struct connection c = connection(pipe, client, SERVER, 6667);

	greet(&c);
	client_says(&c, "NICK bob\r\nUSER bob 0 * :Bob\r\n");
	server_says(&c, ":irc.example.net 001 bob_ :Welcome\r\n");
	return c;
}

static void dcc_of_irc(void **state)
{
	struct pipe *pipe = new_pipe(2, NULL);
	struct connection control = irc_login(pipe, CLIENT);
	struct connection mine = connection(pipe, THIRD, CLIENT, 43614);
	struct connection theirs = connection(pipe, CLIENT, THIRD, 5000);
	struct connection chat = connection(pipe, CLIENT, THIRD, 5001);
	struct connection other = connection(pipe, THIRD + 1, THIRD, 5002);
	(void)state;

	// 10.0.0.7 and 10.0.0.99 as numbers
	client_says(&control, "PRIVMSG al :\1DCC SEND \"my file.txt\" 167772167 43614 77\1\r\n");
	arrives(&mine, HALF_S2C);
	is_expected(&mine, &control, "irc", "dcc", "bob_", "my file.txt", 77);
	server_says(&control, ":bob_!b@h NICK :rob\r\n");
	server_says(&control, ":al!a@h PRIVMSG rob :\1DCC SEND f.iso 167772259 5000 4096\1\r\n");
	arrives(&theirs, HALF_S2C);
	is_expected(&theirs, &control, "irc", "dcc", "al", "f.iso", 4096);
	server_says(&control, ":al!a@h PRIVMSG rob :\1DCC CHAT chat 167772259 5001\1\r\n");
	arrives(&chat, HALF_C2S);
	is_expected(&chat, &control, "irc", "dcc", "al", "", 0);
	// what comes through the server is for this client alone
	server_says(&control, ":al!a@h PRIVMSG rob :\1DCC SEND f 167772259 5002 1\1\r\n");
	arrives(&other, HALF_C2S);
	is_not_expected(&other);
	client_says(&control, "PRIVMSG al :\1DCC RESUME f 5002 1\1\r\n");
	client_says(&control, "PRIVMSG al :\1DCC SEND g 167772167 43615 1\1\r\n");
	mine = connection(pipe, THIRD, CLIENT, 43615);
	arrives(&mine, HALF_S2C);
	is_expected(&mine, &control, "irc", "dcc", "rob", "g", 1);
	pipe_free(pipe);
}

// A rule for the application blocks the file, too, and what is blocked is reported with its name.
static void a_rule_blocks_the_file(void **state)
{
	struct pipe *pipe = new_pipe(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	struct connection control, second;
	struct event event;
	(void)state;

	pipe_rule_app(policy, 7, ACTION_DROP, "ftp-data")->min_confidence = CONFIDENCE_CACHE;
	pipe_publish(pipe, policy);
	control = ftp_login(pipe, false);
	passive_says(&control, "227 Entering Passive Mode (10,0,0,22,156,65)\r\n");
	client_says(&control, "RETR secret.doc\r\n");
	second = connection(pipe, CLIENT, SERVER, 40001);
	arrives(&second, HALF_S2C);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	assert_true(pipe_event(pipe, 0, EVENT_TRANSFER, &event));
	assert_string_equal(event.transfer.file, "secret.doc");
	assert_true(pipe_event(pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.parent, flow_id(&control));
	assert_int_equal(event.expected_as, EXPECTED_FTP_DATA + 1);
	pipe_free(pipe);
}

static void announce(struct connection *control, unsigned port)
{
	char line[80];

	snprintf(line, sizeof(line), "227 Entering Passive Mode (10,0,0,22,%u,%u)\r\n", port >> 8,
		port & 255);
	passive_says(control, line);
}

// 64 entries: of one client an eighth; the oldest goes when all are used.
static void liars_are_bounded(void **state)
{
	struct pipe *pipe = new_pipe(1, NULL);
	struct connection control = ftp_login(pipe, false), second;
	(void)state;

	for (unsigned i = 0; i < 20; i++)
		announce(&control, 40000 + i);
	assert_int_equal(pipe_stats(pipe).expectations_active, 64 / EXPECT_TELLER_SHARE);
	assert_int_equal(pipe_stats(pipe).expectations_refused, 12);
	announce(&control, 40003); // again: no more of them
	assert_int_equal(pipe_stats(pipe).expectations_refused, 12);
	for (uint32_t client = 100; client < 120; client++) {
		struct connection other = irc_login(pipe, client);

		for (unsigned port = 5000; port < 5006; port++) {
			char line[80];

			snprintf(line, sizeof(line),
				":al!a@h PRIVMSG bob :\1DCC SEND f 167772259 %u 4096\1\r\n", port);
			server_says(&other, line);
		}
	}
	assert_int_equal(pipe_stats(pipe).expectations_active, 64);
	assert_true(pipe_stats(pipe).expectations_evicted >= 50);
	second = connection(pipe, CLIENT, SERVER, 40003);
	arrives(&second, HALF_S2C); // long ago
	is_not_expected(&second);
	second = connection(pipe, 119, THIRD, 5005);
	arrives(&second, HALF_S2C);
	assert_int_equal(pipe_stats(pipe).expectations_active, 63);
	pipe_advance(pipe, 121);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).expectations_active, 0);
	pipe_free(pipe);
}

// Half of the entries are for flows that came; beyond that they are named, and no more is known.
static void taken_entries_are_bounded(void **state)
{
	struct lcore_limits limits = pipe_limits();
	limits.classifying = 64; // one end alone is heard: else the oldest would end
	struct pipe *pipe = new_pipe(1, &limits);
	struct connection control = ftp_login(pipe, false);
	const struct flow_cold *cold;
	struct lcore *lcore;
	unsigned untold = 0;
	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct connection second = connection(pipe, CLIENT, SERVER, (uint16_t)(40000 + i));
		announce(&control, 40000 + i);
		arrives(&second, HALF_S2C);
		assert_int_equal(flow_of(&second, &lcore, &cold)->app, app_find("ftp-data"));
		untold += cold->expected == EXPECT_UNTOLD;
	}
	assert_int_equal(untold, 8);
	// their flows end, and give them back
	pipe_advance(pipe, 8000);
	for (unsigned i = 0; i < 20; i++)
		pipe_turns(pipe);
	control = ftp_login(pipe, false);
	announce(&control, 39999);
	struct connection second = connection(pipe, CLIENT, SERVER, 39999);

	arrives(&second, HALF_S2C);
	flow_of(&second, &lcore, &cold);
	assert_non_null(expect_at(lcore->expect, cold->expected));
	pipe_free(pipe);
}

static void of_each_kind(void **state)
{
	static const char hash[] = "\5\1\0\3\x28"
				   "0123456789abcdef0123456789abcdef01234567\0\0";
	static const char pushed[] = "gggggggggggggggg\x40\1\0\x1a\0\0\0"
				     "0123456789abcdef"
				     "\1\0\0\0\x0a\0\0\x63\xca\x18";
	struct pipe *pipe = new_pipe(2, NULL);
	struct connection xmpp = connection(pipe, CLIENT, SERVER, 5222);
	struct connection msn = connection(pipe, CLIENT, SERVER, 1863);
	struct connection gnutella = connection(pipe, CLIENT, SERVER, 6346);
	struct connection second = connection(pipe, CLIENT, THIRD, 8010);
	(void)state;

	greet(&xmpp);
	client_says(&xmpp,
		"<?xml version='1.0'?><stream:stream to='b.example' xmlns='jabber:client' "
		"xmlns:stream='http://etherx.jabber.org/streams'>");
	server_says(&xmpp,
		"<iq from='al@b.example/y' to='me@b.example/x' type='set' id='1'><si id='s1'>"
		"<file name='x.zip' size='5'/></si></iq>");
	server_says(&xmpp,
		"<iq from='al@b.example/y' to='me@b.example/x' type='set' id='2'><query "
		"xmlns='http://jabber.org/protocol/bytestreams' sid='s1'>"
		"<streamhost jid='al@b.example/y' host='10.0.0.99' port='8010'/></query></iq>");
	greet(&second);
	say(&second, HALF_C2S, "\5\1\0", 3);
	is_expected(&second, &xmpp, "xmpp", "socks5", "al@b.example/y", "x.zip", 5);
	say(&second, HALF_S2C, "\5\0", 2);
	say(&second, HALF_C2S, hash, sizeof(hash) - 1);
	const struct flow_cold *cold;
	struct lcore *lcore;
	struct event event;

	assert_int_equal(flow_of(&second, &lcore, &cold)->app, app_find("xmpp"));
	assert_int_equal(flow_of(&second, &lcore, &cold)->confidence, CONFIDENCE_VERIFIED);

	greet(&msn);
	client_says(&msn, "ANS 1 me@a.example 123.456 789\r\n");
	server_says(&msn, "MSG al@b.example Al 90\r\n\r\nApplication-File: "
			  "n.doc\r\nApplication-FileSize: 9\r\n");
	client_says(&msn, "MSG 2 N 90\r\n\r\nIP-Address: 10.0.0.7\r\nPort: 6891\r\n");
	second = connection(pipe, THIRD, CLIENT, 6891);
	arrives(&second, HALF_C2S);
	is_expected(&second, &msn, "msn", "msnftp", "me@a.example", "n.doc", 9);

	greet(&gnutella);
	client_says(&gnutella, "GNUTELLA CONNECT/0.6\r\n\r\n");
	server_says(&gnutella, "GNUTELLA/0.6 200 OK\r\n\r\n");
	client_says(&gnutella, "GNUTELLA/0.6 200 OK\r\n\r\n");
	say(&gnutella, HALF_S2C, pushed, sizeof(pushed) - 1);
	second = connection(pipe, CLIENT, THIRD, 6346);
	greet(&second);
	client_says(&second, "GIV 1:0123456789ABCDEF0123456789ABCDEF/song.mp3\n\n");
	// announced without a name, so it is reported first; its own first line has it
	flow_of(&second, &lcore, &cold);
	assert_true(pipe_event(pipe, lcore->index, EVENT_TRANSFER, &event));
	assert_string_equal(event.transfer.file, "");
	is_expected(&second, &gnutella, "gnutella", "gnutella-push", "", "song.mp3", 0);
	pipe_free(pipe);
}

// ---- eMule's obfuscation, where the keys were seen; vectors by another implementation ----

#define NODE "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
#define USER "\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf"

static const struct flow *datagram(struct pipe *pipe, uint32_t client, uint16_t sport,
	uint16_t dport, const char *bytes, size_t length)
{
	struct connection c = connection(pipe, client, SERVER, dport);
	const struct flow_cold *cold;
	struct lcore *lcore;

	c.packet.proto = IPPROTO_UDP;
	c.packet.sport = sport;
	c.packet.payload = bytes;
	c.packet.payload_length = (uint16_t)length;
	pipe_run(pipe, sport % pipe->dp.n_lcores, &c.packet);
	pipe_turns(pipe);
	return flow_of(&c, &lcore, &cold);
}

static void opened_by_what_was_told(void **state)
{
	char hello[] = "\xe4\x11" NODE "\x36\x12\x08\0";
	static const char kad[] = "\x54\x37\x9a\x2e\x84\xce\x41\x2f\x0f\x7b\xb4\x20\x48\xe5\x66\x6b"
				  "\x94\x0e\xa6\xb8\x5d";
	static const char client[] = "\x55\x37\x9a\x74\xde\xe6\x33\x4f\x5b\x5d\x36\x09\xc7\x45\x7a"
				     "\x3b\xb3\xa2\x44\x91\x9f\xce\x8e\x5d\x6d\xa2";
	static const char stream[] = "\x99\x01\x02\x03\x04\xd7\x7d\xa4\xef\xc3\xfc\x54\x03\x4f\xdc";
	// to a client: hash, id, port 4662, one tag: UDP port 4672
	static const char login[] = "\xe3\x22\0\0\0\x01\x10" USER "\0\0\0\0\x36\x12\1\0\0\0\x83\xf9"
				    "\x40\x12\x40\x12";
	struct pipe *pipe = new_pipe(2, NULL);
	const struct flow_cold *cold;
	const struct flow *flow;
	struct connection tcp;
	struct lcore *lcore;
	char wrong[sizeof(kad)];

	(void)state;
	flow = datagram(pipe, 9, 30001, 4672, kad, sizeof(kad) - 1);
	assert_true(flow->confidence < CONFIDENCE_DPI);
	assert_int_equal(pipe_stats(pipe).uncloak_tried, 0);
	// SERVER answers somebody's hello, from the port that it listens on
	tcp = connection(pipe, SERVER, THIRD, 4672);
	tcp.packet.proto = IPPROTO_UDP;
	tcp.packet.sport = 4672;
	tcp.packet.payload = hello;
	tcp.packet.payload_length = sizeof(hello) - 1;
	for (unsigned answers = 0; answers < 2; answers++) {
		hello[1] = answers ? 0x19 : 0x11, tcp.packet.from_outside = !answers;
		pipe_run(pipe, 0, &tcp.packet);
	}
	pipe_turns(pipe);
	flow = datagram(pipe, 9, 30002, 4672, kad, sizeof(kad) - 1);
	assert_int_equal(flow->app, app_find("edonkey"));
	assert_int_equal(flow->confidence, CONFIDENCE_VERIFIED);
	assert_int_equal(pipe_stats(pipe).uncloak_opened, 1);
	memcpy(wrong, kad, sizeof(kad));
	wrong[5] ^= 1; // of the magic
	flow = datagram(pipe, 9, 30003, 4672, wrong, sizeof(kad) - 1);
	assert_true(flow->confidence < CONFIDENCE_DPI);
	flow = datagram(pipe, 9, 30004, 4672, kad, sizeof(kad) - 2); // no room for a message
	assert_true(flow->confidence < CONFIDENCE_DPI);
	flow = datagram(pipe, 9, 30005, 4673, kad, sizeof(kad) - 1); // another port: nobody's
	assert_true(flow->confidence < CONFIDENCE_DPI);
	// its user hash: datagrams between clients, keyed by the sender's address, too; and streams
	tcp = connection(pipe, SERVER, THIRD, 4662);
	greet(&tcp);
	say(&tcp, HALF_C2S, login, sizeof(login) - 1);
	flow = datagram(pipe, 9, 30006, 4672, client, sizeof(client) - 1);
	assert_int_equal(flow->confidence, CONFIDENCE_VERIFIED);
	flow = datagram(pipe, 8, 30007, 4672, client, sizeof(client) - 1);
	assert_true(flow->confidence < CONFIDENCE_DPI);
	flow = datagram(pipe, 9, 30008, 4672, kad, sizeof(kad) - 1); // the other stays
	assert_int_equal(flow->confidence, CONFIDENCE_VERIFIED);
	for (unsigned piece = sizeof(stream) - 1; piece; piece = piece > 1) { // whole, by octets
		tcp = connection(pipe, piece > 1 ? 9 : 7, SERVER, 4662);
		greet(&tcp);
		for (unsigned i = 0; i < sizeof(stream) - 1; i += piece)
			say(&tcp, HALF_C2S, stream + i, piece);
		flow = flow_of(&tcp, &lcore, &cold);
		assert_int_equal(flow->classify_state, CLASSIFY_NO_STATE); // it is over
		assert_int_equal(flow->confidence, CONFIDENCE_VERIFIED);
	}
	assert_int_equal(pipe_stats(pipe).uncloak_opened, 5);
	pipe_free(pipe);
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ftp_passive),
		cmocka_unit_test(ftp_active),
		cmocka_unit_test(third_parties_are_not_named),
		cmocka_unit_test(dcc_of_irc),
		cmocka_unit_test(a_rule_blocks_the_file),
		cmocka_unit_test(liars_are_bounded),
		cmocka_unit_test(taken_entries_are_bounded),
		cmocka_unit_test(of_each_kind),
		cmocka_unit_test(opened_by_what_was_told),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, teardown);
}
