// SPDX-License-Identifier: BSD-3-Clause
// The repository's own table of hosts and its signatures of user agents: each host tells its
// application, what is shared with others tells none.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rig *rig;

static const char *asked(const char *before, const char *host)
{
	char request[400];
	int length = snprintf(request, sizeof(request),
		"GET /x HTTP/1.1\r\nAccept: */*\r\nHost: %s%s\r\n\r\n", before, host);

	return rig_first(rig, IPPROTO_TCP, HALF_C2S, request, (size_t)length);
}

static void every_host_tells_its_application(void **state)
{
	uint32_t n = user_apps_n_hosts(rig->hosts);

	(void)state;
	assert_true(n > 100);
	for (uint32_t i = 0; i < n; i++) {
		uint16_t app, longest;
		const char *host = user_apps_host(rig->hosts, i, &app);

		assert_string_equal(asked("", host), app_get(app)->name);
		assert_string_equal(asked("a.b.", host), app_get(app)->name);
		longest = user_apps_of_host(
			rig->hosts, (const uint8_t *)host, (uint32_t)strlen(host));
		if (longest == APP_NONE)
			longest = user_apps_of_shared_host(
				rig->hosts, (const uint8_t *)host, (uint32_t)strlen(host));
		assert_int_equal(longest, app);
		// A suffix is whole labels; what is left of this one may be a shared host.
		char other[300];
		int length = snprintf(other, sizeof(other), "xq7%s", host);

		if (user_apps_of_shared_host(
			    rig->hosts, (const uint8_t *)other, (uint32_t)length) != app)
			assert_string_not_equal(asked("xq7", host), app_get(app)->name);
	}
}

static void a_port_is_no_part_of_a_name(void **state)
{
	static const struct {
		const char *name, *app;
	} cases[] = {
		{"static.skypeassets.com:443", "skype"},
		{"static.skypeassets.com.:443", "skype"},
		{"static.skypeassets.com:443:1", "skype"},
		{"static.skypeassets.com:", "skype"},
		{":static.skypeassets.com", ""},
		{"[2001:db8::1]:443", ""},
		{"2001:db8::1", ""},
		{":", ""},
	};
	(void)state;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		uint16_t app = user_apps_of_host(rig->hosts, (const uint8_t *)cases[i].name,
			(uint32_t)strlen(cases[i].name));

		assert_string_equal(app == APP_NONE ? "" : app_get(app)->name, cases[i].app);
	}
}

// Where one application has a name below another's, or below what others share.
static void the_longest_suffix_wins(void **state)
{
	static const struct {
		const char *host, *app;
	} cases[] = {
		{"static.skypeassets.com", "skype"},
		{"a.secure.skypeassets.com", "teams"},
		{"apps.skype.com", "skype"},
		{"api.asm.skype.com", "teams"},
		{"x.urlp.sfbassets.com", "teams"},
		{"wx.qlogo.cn", "wechat"},
		{"v.qq.com", "tencent-video"},
		{"weixin.qq.com", "wechat"},
		{"short.weixin.qq.com", "wechat"},
		{"res.wx.qq.com", "wechat"},
		{"work.weixin.qq.com", "wecom"},
		{"a.qyapi.weixin.qq.com", "wecom"},
		{"xweixin.qq.com", "qq"},
		{"xwx.qq.com", "qq"},
		{"xwork.weixin.qq.com", "wechat"},
		{"im.qq.com", "qq"},
		{"snap.api.mapbox.com", "snapchat"},
		{"slack-assets2.s3-us-west-2.amazonaws.com", "slack"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(asked("", cases[i].host), cases[i].app);
}

// A name that clients of other applications ask for, too, hints at its own: shown above the
// carrier, no reason to block, and what is sure stands above it.
static void a_shared_host_is_a_hint(void **state)
{
	static const char request[] = "GET /x HTTP/1.1\r\nHost: edge-mqtt.facebook.com\r\n\r\n";
	static const char agent[] = "GET /x HTTP/1.1\r\nHost: edge-mqtt.facebook.com\r\n"
				    "User-Agent: Viber/6.0\r\n\r\n";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(request));
	rig_feed(&flow, HALF_S2C, LITERAL("HTTP/1.1 200 OK\r\n\r\n"));
	assert_string_equal(rig_app(&flow), "messenger");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	rig_end(&flow);
	for (size_t cut = 0; cut < sizeof(request) - 1; cut++) {
		flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
		rig_feed(&flow, HALF_C2S, request, cut);
		assert_true(flow.verdict.confidence < CONFIDENCE_DPI);
		rig_feed(&flow, HALF_C2S, request + cut, sizeof(request) - 1 - cut);
		assert_string_equal(rig_app(&flow), "messenger");
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);
	rig_feed(&flow, HALF_C2S, LITERAL(agent));
	assert_string_equal(rig_app(&flow), "viber");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
	assert_string_equal(asked("x", "edge-mqtt.facebook.com"), "http");
	assert_string_equal(asked("edge-mqtt.", "messenger.com"), "messenger");
}

static void what_others_share_tells_none(void **state)
{
	static const char *const hosts[] = {"www.facebook.com", "graph.facebook.com",
		"facebook.com", "scontent.xx.fbcdn.net", "www.microsoft.com", "login.live.com",
		"outlook.office.com", "login.microsoftonline.com", "s3.amazonaws.com",
		"x.cloudfront.net", "appspot.com", "www.google.com", "mtalk.google.com",
		"www.apple.com", "naver.jp", "www.tencent.com", "www.alibaba.com", "a.akamaihd.net",
		"www.cisco.com", "yahoo.com", "mail.yahoo.com", "aol.com", "msn.com",
		"cloudflare.com", "com", "us", "localhost", "192.0.2.1", "api.mapbox.com",
		"s3-us-west-2.amazonaws.com", "x.s3-us-west-2.amazonaws.com", "q.qlogo.cn",
		"x.trafficmanager.net", "www.iqiyi.com", "preimage1.qiyipic.com",
		"iqiyi.com"}; // the site, no peers

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++)
		assert_string_equal(asked("", hosts[i]), "http");
}

// The packets of the budget are over before the name is here: it is waited for, as long as there is
// room in the prefix.
static void a_name_behind_many_segments(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	char line[101];
	unsigned n = 0;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "X: ", 3);
	memcpy(line + 98, "\r\n", 3);
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.1\r\n"));
	for (unsigned i = 0; i < 14; i++)
		rig_feed(&flow, HALF_C2S, line, 100);
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_C2S, LITERAL("Host: web.whatsapp.com\r\n\r\n"));
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "whatsapp");
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.1\r\n"));
	for (; !flow.verdict.final && n < 100; n++)
		rig_feed(&flow, HALF_C2S, line, 100);
	assert_int_equal(n, (CLASSIFY_PREFIX_BYTES - 16 + 99) / 100);
	assert_string_equal(rig_app(&flow), "http");
}

static void agents(void **state)
{
	static const struct {
		const char *line, *app;
	} cases[] = {
		{"User-Agent: Transmission/3.00", "bittorrent"},
		{"user-agent: qBittorrent/4.5.2", "bittorrent"},
		{"User-Agent: rtorrent/0.9.8/0.13.8", "bittorrent"},
		{"User-Agent: Deluge/2.0.3 libtorrent/1.2.5.0", "bittorrent"},
		{"User-Agent: uTorrent/355(111915644)(46038)", "bittorrent"},
		{"User-Agent: Azureus 5.7.6.0;Windows 10;Java 1.8.0_144", "bittorrent"},
		{"User-Agent: WhatsApp/2.12.367 Android/5.0", "whatsapp"},
		{"User-Agent: Viber/13.3.0", "viber"},
		{"User-Agent: MicroMessenger Client", "wechat"},
		{"User-Agent: Mozilla/5.0 (Linux) Mobile MicroMessenger/8.0.2 NetType/WIFI",
			"wechat"},
		{"User-Agent: Mozilla/5.0 wxwork/3.1.6 MicroMessenger/7.0.1 Language/zh", "wecom"},
		{"User-Agent: Mozilla/5.0 wxwork/3.1.6 (MicroMessenger/6.2)", "wecom"},
		{"User-Agent: NotMicroMessenger/8.0", "http"},
		{"User-Agent: MicroMessengers/8.0", "http"},
		{"User-Agent: Mozilla/5.0 xwxwork/3", "http"},
		{"User-Agent: Mozilla/5.0 wxwork", "http"},
		{"X-Agent: MicroMessenger/8.0", "http"},
		{"X-Line-Application: IOSIPAD\t8.14.2\tiPhone OS\t11.2.5", "line"},
		{"User-Agent: Mozilla/5.0 (X11) Transmission/3.00", "http"},
		{"User-Agent: Transmissions/3.00", "http"},
		{"User-Agent: WhatsApp", "http"},
		{"X-Agent: Viber/13.3.0", "http"},
		{"Referer: User-Agent: Viber/13.3.0", "http"},
	};
	char request[400];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int length = snprintf(request, sizeof(request),
			"GET /x HTTP/1.1\r\nHost: a.example\r\n%s\r\nAccept: */*\r\n\r\n",
			cases[i].line);

		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, request, (size_t)length, cases[i].app);
	}
	// What the body of an answer or of a request quotes is nothing.
	int length = snprintf(request, sizeof(request),
		"POST /x HTTP/1.1\r\nHost: a.example\r\n\r\nGET / HTTP/1.1\r\n%s\r\n\r\n",
		cases[0].line);

	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, request, (size_t)length), "http");
}

static int set_up(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_host_tells_its_application),
		cmocka_unit_test(the_longest_suffix_wins),
		cmocka_unit_test(a_port_is_no_part_of_a_name),
		cmocka_unit_test(a_shared_host_is_a_hint),
		cmocka_unit_test(what_others_share_tells_none),
		cmocka_unit_test(a_name_behind_many_segments),
		cmocka_unit_test(agents),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
