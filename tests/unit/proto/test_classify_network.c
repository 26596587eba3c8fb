// SPDX-License-Identifier: BSD-3-Clause
// Services beside those that carry others: of each its first message, the same with an octet that
// counts changed, every truncation, random bytes behind what it begins with.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/peers/classify_talk.h"

static struct rig *rig;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UDP          IPPROTO_UDP
#define TCP          IPPROTO_TCP

// `length`: with octets without a pattern behind the text; `odd`: octets that count, up to -1.
static const struct one {
	const char *app;
	uint8_t l4;
	struct packet packet;
	uint16_t dport;
	int odd[6];
} all[] = {
	{"ntp", UDP, ZEROS(C2S, "\x1b", 48), 123, {0, -1}},
	{"ntp", UDP, ZEROS(S2C, "\x24\x02\x06\xe9\0\0\x12\0\0\0\x13\0\x0a\1\2\3", 48), 123,
		{0, 1, 2, 3, -1}},
	{"snmp", UDP,
		SAYS(C2S,
			"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x04\1\2\3\4\x02\1\0\x02\1"
			"\0",
			40),
		161, {0, 2, 3, 4, 5, 13}},
	{"snmp", UDP, SAYS(C2S, "\x30\x3e\x02\x01\x03\x30\x11\x02\x04\1\2\3\4\x02\3\0\xff\xe3", 64),
		161, {0, 2, 3, 4, 5, 7}},
	{"rdp", TCP,
		SAYS(C2S,
			"\x03\0\0\x2b\x26\xe0\0\0\0\0\0"
			"Cookie: mstshash=me\r\n\1\0\x08\0\3\0\0\0",
			43),
		3389, {0, 1, 5, 6, 11, -1}},
	{"rdp", TCP, SAYS(C2S, "\x03\0\0\x13\x0e\xe0\0\0\0\0\0\1\0\x08\0\x0b\0\0\0", 19), 3389,
		{0, 1, 5, 6, 11, 13}},
	{"vnc", TCP, SAYS(S2C, "RFB 003.008\n", 12), 5900, {0, 1, 2, 3, 6, 11}},
	{"mqtt", TCP,
		SAYS(C2S,
			"\x10\x1a\0\4MQTT\4\2\0\x3c\0\x0e"
			"0123456789abcd",
			28),
		1883, {0, 2, 3, 4, 7, 8}},
	{"mqtt", TCP, SAYS(C2S, "\x10\x12\0\6MQIsdp\3\2\0\x3c\0\4abcd", 20), 1883,
		{0, 2, 3, 4, 9, 10}},
	{"sip", UDP,
		SAYS(C2S, "REGISTER sip:a.example SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1\r\n\r\n",
			63),
		5060, {0, 9, 12, 23, 27, 30}},
	{"sip", UDP, SAYS(S2C, "SIP/2.0 200 OK\r\n\r\n", 18), 5060, {0, 4, 7, 8, 11, -1}},
	{"sip", TCP, SAYS(C2S, "INVITE sips:a@b.example SIP/2.0\r\n\r\n", 35), 5060,
		{0, 7, 11, 24, 31, -1}},
	{"sip", TCP, SAYS(C2S, "BYE sip:a@b.example SIP/2.0\r\n\r\n", 31), 5070,
		{4, 7, 20, 26, 27, -1}}, // MSN has one, too
	{"rtsp", TCP, SAYS(C2S, "DESCRIBE rtsp://a.example/b RTSP/1.0\r\nCSeq: 2\r\n\r\n", 49), 554,
		{0, 28, 32, 33, 36, -1}},
	{"rtsp", TCP, SAYS(S2C, "RTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n", 28), 554, {0, 4, 5, 9, -1}},
	{"ssdp", UDP, SAYS(C2S, "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n\r\n", 51),
		1900, {0, 1, 9, 11, -1}},
	{"ssdp", UDP, SAYS(C2S, "NOTIFY * HTTP/1.1\r\nNTS: ssdp:alive\r\n\r\n", 37), 1900,
		{0, 7, 9, 15, -1}},
	{"ssdp", UDP,
		SAYS(S2C,
			"HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age=1800\r\nST: "
			"upnp:rootdevice\r\n\r\n",
			69),
		40001, {0, 5, 9, 13, -1}},
	{"wireguard", UDP, SAYS(C2S, "\1\0\0\0", 148), 51820, {0, 1, 2, 3, -1}},
	{"wireguard", UDP, SAYS(S2C, "\2\0\0\0", 92), 51820, {0, 1, 2, 3, -1}},
	{"wireguard", UDP, SAYS(S2C, "\3\0\0\0", 64), 51820, {0, 1, 2, 3, -1}},
	{"ipsec", UDP, SAYS(C2S, "ABCDEFGH\0\0\0\0\0\0\0\0\x21\x20\x22\x08\0\0\0\0\0\0\1\x4c", 332),
		500, {8, 15, 16, 17, 18, 20}},
	{"ipsec", UDP, SAYS(C2S, "ABCDEFGH\0\0\0\0\0\0\0\0\1\x10\2\0\0\0\0\0\0\0\1\x4c", 332), 500,
		{8, 15, 16, 17, 18, 20}},
	{"ipsec", UDP,
		SAYS(C2S, "\0\0\0\0ABCDEFGH\0\0\0\0\0\0\0\0\x21\x20\x22\x08\0\0\0\0\0\0\1\x4c",
			336),
		4500, {12, 19, 20, 21, 22, 24}},
	{"postgresql", TCP, SAYS(C2S, "\0\0\0\x08\x04\xd2\x16\x2f", 8), 5432, {0, 1, 2, 4, 5, 6}},
	{"postgresql", TCP, SAYS(C2S, "\0\0\0\x14\0\3\0\0user\0joe\0\0\0\0", 20), 5432,
		{0, 1, 5, 8, 11, 12}},
	{"mysql", TCP,
		SAYS(S2C,
			"\x4a\0\0\0\x0a"
			"5.7.33-0ubuntu0.18.04.1\0",
			78),
		3306, {1, 2, 3, 4, 5, 6}},
	{"redis", TCP, SAYS(C2S, "*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\n", 22), 6379,
		{0, 1, 2, 4, 8, 11}},
	{"telnet", TCP, SAYS(S2C, "\xff\xfd\x18\xff\xfd\x20\xff\xfd\x23", 9), 23,
		{0, 1, 2, 3, 4, 5}},
	{"ldap", TCP, SAYS(C2S, "\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0", 14), 389,
		{0, 2, 5, 7, 8, 10}},
	{"syslog", UDP, SAYS(C2S, "<34>Oct 11 22:14:15 host su: text", 33), 514,
		{0, 1, 3, 4, 8, 11}},
	{"syslog", UDP, SAYS(C2S, "<165>1 2003-10-11T22:14:15.003Z a b - ID47 - x", 45), 514,
		{0, 4, 5, 6, 11, -1}},
	{"dropbox", UDP,
		SAYS(C2S,
			"{\"host_int\": 123456789, \"version\": [2, 0], \"displayname\": \"\", "
			"\"port\": 17500, \"namespaces\": [1]}",
			95),
		17500, {0, 1, 2, 12, 24, 35}},
};

static void each_begins(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		const struct one *one = &all[i];
		const struct talk talk = {rig, &one->packet, 1, one->l4, one->dport, one->app};

		assert_string_equal(talk_after(&talk, 1, -1, -1), one->app);
		for (size_t k = 0; k < COUNT(one->odd) && one->odd[k] >= 0; k++)
			assert_string_not_equal(talk_after(&talk, 0, one->odd[k], -1), one->app);
		for (int cut = 0; cut < one->packet.length; cut++) {
			const char *app = talk_after(&talk, 0, -1, cut);

			assert_true(!strcmp(app, one->app) || !strcmp(app, ""));
		}
	}
}

// What has one length is nothing with another.
static void lengths_count(void **state)
{
	static const struct packet longer[] = {SAYS(C2S, "\1\0\0\0", 149),
		SAYS(C2S, "\2\0\0\0", 91), SAYS(C2S, "\3\0\0\0", 65), ZEROS(C2S, "\x1b", 47)};

	(void)state;
	for (size_t i = 0; i < COUNT(longer); i++) {
		const struct talk talk = {rig, &longer[i], 1, UDP, i == 3 ? 123 : 51820, ""};

		assert_string_equal(talk_after(&talk, 1, -1, -1), "");
	}
	const struct talk elsewhere = {rig, &all[0].packet, 1, UDP, 1234, ""};

	assert_string_equal(talk_after(&elsewhere, 1, -1, -1), ""); // NTP is on its port
}

static void dhcp(void **state)
{
	uint8_t bytes[300] = {1, 1, 6, 0, [236] = 0x63, 0x82, 0x53, 0x63, 53, 1, 1, 255};

	(void)state;
	assert_string_equal(rig_first(rig, UDP, HALF_C2S, bytes, sizeof(bytes)), "dhcp");
	assert_string_equal(rig_first(rig, UDP, HALF_C2S, bytes, 239), "");
	for (size_t i = 236; i < 240; i++) {
		bytes[i]++;
		assert_string_equal(rig_first(rig, UDP, HALF_C2S, bytes, sizeof(bytes)), "");
		bytes[i]--;
	}
	bytes[0] = 3;
	assert_string_equal(rig_first(rig, UDP, HALF_C2S, bytes, sizeof(bytes)), "");
}

// A clock says how far it is from its root: seconds, not hours.
static void far_clocks(void **state)
{
	static const struct {
		unsigned at;
		uint8_t octet;
		const char *app;
	} clocks[] = {{4, 0, "ntp"}, {4, 0xff, "ntp"}, {4, 1, ""}, {4, 0x80, ""}, {8, 1, ""}};

	(void)state;
	for (unsigned i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		uint8_t answer[48] = "\x24\x02\x06\xe9\0\0\x12\0\0\0\x13\0";
		struct rig_flow flow = rig_flow(rig, UDP, 40000, 123);

		answer[clocks[i].at] = clocks[i].octet;
		rig_feed(&flow, HALF_S2C, answer, sizeof(answer));
		assert_string_equal(rig_app(&flow), clocks[i].app);
		rig_end(&flow);
	}
}

static void random_bytes(void **state)
{
	(void)state;
	rig_random(rig, UDP, LITERAL("\x30"), "snmp");
	rig_random(rig, TCP, LITERAL("\x03\0\0"), "rdp");
	rig_random(rig, TCP, LITERAL("\x10"), "mqtt");
	rig_random(rig, UDP, LITERAL("\1\0"), "wireguard");
	rig_random(rig, UDP, LITERAL("\0\0\0\0"), "ipsec");
	rig_random(rig, TCP, LITERAL("\0\0\0\x08"), "postgresql");
	rig_random(rig, TCP, LITERAL("\x4a\0\0\0\x0a"), "mysql");
	rig_random(rig, TCP, LITERAL("\xff"), "telnet");
	rig_random(rig, TCP, LITERAL("\x30"), "ldap");
	rig_random(rig, UDP, LITERAL("\x1b"), "ntp");
	rig_random(rig, UDP, LITERAL("\1\1\6"), "dhcp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_begins),
		cmocka_unit_test(lengths_count),
		cmocka_unit_test(dhcp),
		cmocka_unit_test(far_clocks),
		cmocka_unit_test(random_bytes),
	};
	int failed;

	rig = rig_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
