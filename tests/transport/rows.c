// SPDX-License-Identifier: BSD-3-Clause
#include "rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

// '#' is the number of the node. The members of a wish come in the place of %s: those of the
// transport, then those of chaos; '$' is the seed.
#define BIND(section, address, more) "\"" section "\": {\"bind\": [\"" address "#\"]" more "%s}"
#define CHAOS(below)                 ", \"chaos\": {\"below\": \"" below "\", \"seed\": $%s}"
#define NONE                         "\"null\": {\"mtu\": 65000%s}"
#define RAW4                         BIND("raw-ip", "127.0.0.", "")
#define RAW6                         BIND("raw-ip", "fd00::", "")
#define TCP4                         BIND("tcp", "127.0.0.", ", \"port\": 4703")
#define TCP6                         BIND("tcp", "fd00::", ", \"port\": 4704")
#define UDP4                         BIND("udp", "127.0.0.", ", \"port\": 4701")
#define UDP6                         BIND("udp", "fd00::", ", \"port\": 4702")
#define UNIX                         "\"unix\": {\"path\": \"@/unix#\"%s}"

#define NONE_IS 65000, 1, TAPI_SEND_ONLY
#define RAW_IS  1440, 90, TAPI_SESSIONLESS
#define TCP_IS  32768, 200, TAPI_BIDIRECTIONAL | TAPI_STREAM
#define UDP_IS  1432, 100, TAPI_BIDIRECTIONAL
#define UNIX_IS 65000, 1, TAPI_BIDIRECTIONAL | TAPI_STREAM

#define INET  (ROW_ACL | ROW_NAT)
#define BOUND (INET | ROW_EXCLUSIVE) // no other instance has that address
#define RAW   (INET | ROW_RAW_SOCKET)

// name, transport, sections, below | family, scheme, number, mtu, cost, flags, traits
const struct row rows[] = {
	{"null", "null", NONE, NULL, NULL, "null:", 91, NONE_IS, ROW_SILENT},
	{"raw-ip", "raw-ip", RAW4, NULL, "127.0.0.", "ip://127.0.0.", 253, RAW_IS, RAW},
	{"raw-ip6", "raw-ip", RAW6, NULL, "fd00::", "ip://[fd00::", 253, RAW_IS, RAW},
	{"tcp", "tcp", TCP4, NULL, "127.0.0.", "tcp://127.0.0.", 6, TCP_IS | TAPI_ORDERED, BOUND},
	{"tcp6", "tcp", TCP6, NULL, "fd00::", "tcp://[fd00::", 6, TCP_IS | TAPI_ORDERED, BOUND},
	{"udp", "udp", UDP4, NULL, "127.0.0.", "udp://127.0.0.", 17, UDP_IS, BOUND},
	{"udp6", "udp", UDP6, NULL, "fd00::", "udp://[fd00::", 17, UDP_IS, BOUND},
	{"unix", "unix", UNIX, NULL, NULL, "unix:/", 90, UNIX_IS | TAPI_ORDERED, ROW_EXCLUSIVE},

	{"null-object", "null", NONE, NULL, NULL, "null:", 91, NONE_IS, ROW_SILENT | ROW_OBJECT},
	{"tcp-object", "tcp", TCP4, NULL, "127.0.0.", "tcp://127.0.0.", 6, TCP_IS | TAPI_ORDERED,
		BOUND | ROW_OBJECT},
	{"udp-object", "udp", UDP4, NULL, "127.0.0.", "udp://127.0.0.", 17, UDP_IS,
		BOUND | ROW_OBJECT},
	{"unix-object", "unix", UNIX, NULL, NULL, "unix:/", 90, UNIX_IS | TAPI_ORDERED,
		ROW_EXCLUSIVE | ROW_OBJECT},

	{"chaos-null", "chaos", NONE CHAOS("null"), "null", NULL, "chaos+null:", 92,
		NONE_IS | TAPI_RELAYED, ROW_SILENT},
	{"chaos-raw-ip", "chaos", RAW4 CHAOS("raw-ip"), "raw-ip", "127.0.0.", "chaos+ip://127.0.0.",
		92, RAW_IS | TAPI_RELAYED, RAW},
	{"chaos-raw-ip6", "chaos", RAW6 CHAOS("raw-ip"), "raw-ip",
		"fd00::", "chaos+ip://[fd00::", 92, RAW_IS | TAPI_RELAYED, RAW},
	{"chaos-tcp", "chaos", TCP4 CHAOS("tcp"), "tcp", "127.0.0.", "chaos+tcp://127.0.0.", 92,
		TCP_IS | TAPI_RELAYED, BOUND},
	{"chaos-tcp6", "chaos", TCP6 CHAOS("tcp"), "tcp", "fd00::", "chaos+tcp://[fd00::", 92,
		TCP_IS | TAPI_RELAYED, BOUND},
	{"chaos-udp", "chaos", UDP4 CHAOS("udp"), "udp", "127.0.0.", "chaos+udp://127.0.0.", 92,
		UDP_IS | TAPI_RELAYED, BOUND},
	{"chaos-udp6", "chaos", UDP6 CHAOS("udp"), "udp", "fd00::", "chaos+udp://[fd00::", 92,
		UDP_IS | TAPI_RELAYED, BOUND},
	{"chaos-unix", "chaos", UNIX CHAOS("unix"), "unix", NULL, "chaos+unix:/", 92,
		UNIX_IS | TAPI_RELAYED, ROW_EXCLUSIVE},
	{0},
};
const struct row *row;

bool row_is(unsigned flags)
{
	return (row->flags & flags) == flags;
}

bool row_has(unsigned traits)
{
	return (row->traits & traits) == traits;
}

// One wish's text into the place of %s, '#' and '@' replaced.
const char *row_conf(unsigned node, const struct row_wish *wish)
{
	static char whole[4096];
	const struct row_wish none = {0};
	const char *scratch = getenv("ROW_SCRATCH");
	const char *members[2];
	size_t used;
	unsigned n = 0;

	wish = wish ? wish : &none;
	members[0] = wish->extra;
	members[1] = wish->chaos;
	used = (size_t)snprintf(whole, sizeof(whole), "{\"acl\": {\"local\": true%s%s}, ",
		wish->acl ? ", " : "", wish->acl ? wish->acl : "");
	for (const char *in = row->sections; *in; in++) {
		assert_true(used + 256 < sizeof(whole));
		if (in[0] == '%' && in[1] == 's') {
			assert_true(n < 2);
			if (members[n])
				used += (size_t)snprintf(
					&whole[used], sizeof(whole) - used, ", %s", members[n]);
			n++;
			in++;
		} else if (in[0] == '#') {
			whole[used++] = (char)('1' + node);
		} else if (in[0] == '$') {
			used += (size_t)snprintf(&whole[used], sizeof(whole) - used, "%s",
				wish->seed ? wish->seed : "7");
		} else if (in[0] == '@') {
			used += (size_t)snprintf(
				&whole[used], sizeof(whole) - used, "%s", scratch ? scratch : ".");
		} else {
			whole[used++] = *in;
		}
	}
	snprintf(&whole[used], sizeof(whole) - used, "}");
	return whole;
}

struct rig_node *row_node(struct rig *rig, unsigned index, const struct row_wish *wish)
{
	struct rig_node *node =
		rig_load(rig, index, row->transport, row_has(ROW_OBJECT) ? MODULE_DIRECTORY : NULL,
			row_has(ROW_OBJECT), row_conf(index, wish));
	enum tapi_result result = rig_start(node);

	if (result != TAPI_OK)
		fail_msg("start_server: %s; log: %s", tapi_result_name(result), rig->log);
	return node;
}

struct tapi_helo row_helo(struct rig_node *from, struct rig_node *to)
{
	struct tapi_helo helo = {0};
	char text[64];
	size_t size = sizeof(helo.address);

	if (!row_has(ROW_SILENT))
		return rig_helo(to, 0);
	snprintf(text, sizeof(text), "%s%c", row->scheme, to->letter);
	assert_int_equal(
		from->api->string_to_address(from->api, text, helo.address, &size), TAPI_OK);
	helo.address_size = (uint16_t)size;
	helo.protocol = from->api->protocol;
	helo.mtu = from->api->mtu;
	return helo;
}

void row_pair_begin_as(
	struct row_pair *pair, const struct row_wish *wish_a, const struct row_wish *wish_b)
{
	struct tapi_helo helo;
	enum tapi_result result;

	rig_init(&pair->rig, 1);
	pair->a = row_node(&pair->rig, 0, wish_a);
	pair->b = row_node(&pair->rig, 1, wish_b);
	helo = row_helo(pair->b, pair->a);
	result = rig_connect(pair->b, &helo, &pair->out);
	if (result != TAPI_OK)
		fail_msg("connect: %s; log: %s", tapi_result_name(result), pair->rig.log);
}

void row_pair_begin(struct row_pair *pair)
{
	row_pair_begin_as(pair, NULL, NULL);
}

void row_pair_end(struct row_pair *pair)
{
	rig_end(&pair->rig);
}

struct rig_session *row_pair_meet(struct row_pair *pair)
{
	struct rig_session *in;

	assert_int_equal(rig_send(pair->out, 1, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair->a, 1));
	in = rig_inbound(pair->a);
	assert_non_null(in);
	return in;
}
