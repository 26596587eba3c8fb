// SPDX-License-Identifier: BSD-3-Clause
// Rules that ask for files or messages of applications that no decoder reads. The applications are
// those of lib/control/fake_apps.h: of bittorrent content ids are decoded, of irc and http files,
// of irc messages, of kontiki nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "classify/app_proto.h"
#include "control/policy/content_check.h"
#include "lib/control/policy_text.h"

#define TEXT(match, keys)                                                                    \
	"{'schema_version':1,'applications':[{'id':'wiki','sni':['wiki.example']}],"         \
	"'rules':[{'id':'other','match':{},'audit':{'chat':true}},{'id':'r','match':{" match \
	"}," keys "}]}"
#define NAMES   "'transfers':[{'name':['*.exe'],'action':'reset'}]"
#define IDS     "'transfers':[{'content_id':['" ID "'],'action':'reset'}]"
#define ID      "btih:00112233445566778899aabbccddeeff00112233"
#define KEYWORD "'chat':[{'keyword':['word'],'action':'reset'}]"

static struct config_errors checked(const char *text, bool has_hosts)
{
	struct app_table table = {.app = app_find("kontiki"), .n_hosts = has_hosts};
	const struct app_tables tables = {.tables = &table, .n_tables = 1};
	struct policy *policy = good(text);
	struct config_errors errors = {0};

	policy_check_content(policy, &tables, "p.json", &errors);
	policy_free(policy);
	return errors;
}

static void fine(const char *text)
{
	struct config_errors errors = checked(text, false);

	expect_count(&errors, 0);
	assert_int_equal(errors.n_warnings, 0);
}

#define DEAD(text, ...)                                              \
	do {                                                         \
		struct config_errors errors_ = checked(text, false); \
		EXPECT_LINE(&errors_, __VA_ARGS__);                  \
		expect_count(&errors_, 1);                           \
		assert_int_equal(errors_.n_warnings, 0);             \
		config_errors_free(&errors_);                        \
	} while (0)

// One warning, which begins so.
static void warned(const char *text, bool has_hosts, const char *wanted)
{
	struct config_errors errors = checked(text, has_hosts);

	expect_count(&errors, 0);
	assert_int_equal(errors.n_warnings, 1);
	assert_int_equal(strncmp(errors.warnings[0], wanted, strlen(wanted)), 0);
	config_errors_free(&errors);
}

static void what_is_decoded_is_fine(void **state)
{
	(void)state;
	fine(TEXT("", NAMES "," KEYWORD ",'opaque':'reset'"));
	fine(TEXT("'source':['10.0.0.0/8']", NAMES "," KEYWORD));
	fine(TEXT("'app':['http']", NAMES ",'opaque':'reset'"));
	fine(TEXT("'app':['irc']", KEYWORD "," NAMES ",'opaque':'drop','audit':{'chat':true}"));
	fine(TEXT("'app':['bittorrent']", IDS));
	fine(TEXT("'app':['http','bittorrent']", IDS));
	fine(TEXT("'app':['wiki']", NAMES ",'opaque':'reset'")); // its host may be asked over HTTP
}

static void what_nobody_decodes_can_never_act(void **state)
{
	(void)state;
	DEAD(TEXT("'app':['bittorrent','kontiki']", KEYWORD), "p.json: $.rules[1].chat: ",
		"rule \"r\" can never act: messages of bittorrent, kontiki are not decoded, "
		"those of directconnect, edonkey, ",
		": name one of these in match, or remove chat");
	DEAD(TEXT("'app':['http']", KEYWORD), "$.rules[1].chat", "messages of http");
	DEAD(TEXT("'app':['wiki']", KEYWORD), "$.rules[1].chat", "messages of wiki");
	DEAD(TEXT("'category':['media']", NAMES), "$.rules[1].transfers[0]",
		"files of kontiki are not decoded");
	DEAD(TEXT("'app':['kontiki']", IDS), "$.rules[1].transfers[0]", "content ids of kontiki");
	DEAD(TEXT("'app':['irc']", IDS), "content ids of irc", "bittorrent");
	DEAD(TEXT("'app':['kontiki']", "'audit':{'transfers':true}"),
		"$.rules[1].audit: ", "remove audit of transfers and files");
	DEAD(TEXT("'app':['kontiki']", "'audit':{'files':true}"), "$.rules[1].audit: ");
	DEAD(TEXT("'app':['http']", "'audit':{'chat':true}"), "$.rules[1].audit.chat: ");
	DEAD(TEXT("'app':['kontiki']", "'opaque':'reset'"), "$.rules[1].opaque: ", "remove opaque");
}

static void what_asks_for_nothing_is_fine(void **state)
{
	(void)state;
	fine(TEXT("'app':['kontiki']", "'opaque':'pass'"));
	fine(TEXT("'app':['kontiki']", "'audit':{'transfers':false,'files':false}"));
	fine(TEXT("'app':['kontiki']", "'audit':{'chat':false}"));
}

// Of entries of one kind the first is told, of each kind one.
static void each_kind_is_told_once(void **state)
{
	struct config_errors errors = checked(
		TEXT("'app':['kontiki']", "'transfers':[{'name':['a'],'action':'reset'},"
					  "{'name':['b'],'action':'pass'},"
					  "{'content_id':['" ID "'],'action':'drop'}]," KEYWORD),
		false);

	(void)state;
	EXPECT_LINE(&errors, "$.rules[1].transfers[0]", "files of");
	EXPECT_LINE(&errors, "$.rules[1].transfers[2]", "content ids of");
	EXPECT_LINE(&errors, "$.rules[1].chat");
	expect_count(&errors, 3);
	config_errors_free(&errors);
}

static void a_part_that_is_not_decoded_is_warned_of(void **state)
{
	(void)state;
	warned(TEXT("'app':['irc','kontiki']", KEYWORD), false,
		"p.json: $.rules[1].chat: rule \"r\": messages of kontiki are not decoded, and "
		"pass; those of directconnect, edonkey, ");
	warned(TEXT("'app':['kontiki']", NAMES), true,
		"p.json: $.rules[1].transfers[0]: rule \"r\": files of kontiki are decoded only "
		"where they come over HTTP/1 in clear");
}

#define ORDER(first, match)                                                          \
	"{'schema_version':1,'applications':[{'id':'wiki','sni':['wiki.example']}]," \
	"'rules':[{'id':'first'," first "},{'id':'second','match':{" match "}," NAMES "}]}"
#define PASS(match) "'match':{" match "},'action':'pass'"

static void shadowed(const char *text)
{
	warned(text, false,
		"p.json: $.rules[1]: what rule \"second\" says of files and messages never "
		"applies: rule \"first\" decides all flows that it matches; move it before that "
		"one ($.rules[0])");
}

static void what_stands_behind_a_rule_that_decides_all_is_warned_of(void **state)
{
	(void)state;
	shadowed(ORDER(PASS("'app':['http','irc']"), "'app':['http']"));
	shadowed(ORDER("'match':{'app':['http']},'action':'reset'", "'app':['http']"));
	shadowed(ORDER(PASS("'app':['http']") ",'mode':'monitor'", "'app':['http']"));
	shadowed(ORDER(PASS("'app':['http'],'min_confidence':'partial'"), "'app':['http']"));
	shadowed(ORDER(PASS("'ports':['80-90',443]"), "'ports':['81-82',443]"));
	shadowed(ORDER(PASS("'direction':'outbound'"), "'direction':'outbound'"));
	shadowed(ORDER(PASS("'protocol':'tcp'"), "'protocol':'tcp'"));
	shadowed(ORDER(PASS("'source':['10.0.0.0/9','10.128.0.0/9','2001:db8::/32']"),
		"'source':['10.64.0.0/10','10.127.0.0/16','2001:db8:ff::/48']"));
	shadowed(ORDER(PASS("'destination':['10.0.0.0/8']"), "'destination':['10.1.0.0/16']"));
	shadowed(ORDER(PASS("'host':['10.0.0.0/8']"), "'host':['10.1.0.0/16']"));
	shadowed(ORDER(PASS("'host':['10.0.0.0/8']"), "'destination':['10.1.0.0/16']"));
	shadowed(ORDER(PASS("'host':['10.0.0.0/8']"), "'source':['10.1.0.0/16']"));
}

static void what_is_left_some_flows_is_fine(void **state)
{
	(void)state;
	fine(ORDER("'match':{},'audit':{'transfers':true}", ""));
	fine(ORDER("'match':{'app':['http']},'action':'drop','mode':'monitor'", "'app':['http']"));
	fine(ORDER(PASS("'app':['http']"), ""));
	fine(ORDER(PASS("'app':['irc']"), "'app':['http']"));
	fine(ORDER(PASS("'app':['http','bittorrent']"), "'app':['irc','http']"));
	fine(ORDER(PASS("'app':['http'],'min_confidence':'verified'"), "'app':['http']"));
	fine(ORDER(PASS("'ports':['80-90']"), ""));
	fine(ORDER(PASS("'ports':['80-90']"), "'ports':['85-91']"));
	fine(ORDER(PASS("'ports':['80-90']"), "'ports':[80,443]"));
	fine(ORDER(PASS("'direction':'outbound'"), ""));
	fine(ORDER(PASS("'direction':'outbound'"), "'direction':'inbound'"));
	fine(ORDER(PASS("'protocol':'tcp'"), ""));
	fine(ORDER(PASS("'source':['10.0.0.0/8']"), ""));
	fine(ORDER(PASS("'source':['10.0.0.0/8']"), "'source':['10.0.0.0/7']"));
	fine(ORDER(PASS("'source':['10.0.0.0/8']"), "'source':['10.0.0.0/8','11.0.0.1']"));
	fine(ORDER(PASS("'source':['10.0.0.0/8']"), "'source':['10.0.0.0/8','2001:db8::/32']"));
	fine(ORDER(PASS("'source':['2001:db8:1::/48']"), "'source':['2001:db8::/32']"));
	fine(ORDER(PASS("'source':['10.0.0.0/8']"), "'destination':['10.0.0.0/8']"));
	fine(ORDER(PASS("'destination':['10.0.0.0/8']"), "'host':['10.0.0.0/8']"));
	fine(ORDER(PASS("'host':['10.0.0.0/8']"), "'source':['11.0.0.0/8']"));
	fine(ORDER(PASS("'vlan':[1]"), ""));
	fine(ORDER(PASS("'dscp':[1]"), ""));
	fine(ORDER(PASS("'mac':['02:00:00:00:00:01']"), ""));
	// rules on flows alone are not looked at
	fine("{'schema_version':1,'rules':[{'id':'first','match':{'protocol':'tcp'},'action':'pass'"
	     "},"
	     "{'id':'second','match':{'protocol':'tcp'},'action':'drop'}]}");
}

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define WITH(ids)                                                                            \
	"{'schema_version':1,'content_ids':{'list':['sha256:" HEX64 "'],'none':[]},'rules':" \
	"[{'id':'r','match':{},'transfers':[{'content_id':[" ids "],'action':'reset'}]}]}"

static void ids_that_nobody_finds_are_warned_of(void **state)
{
	const char *wanted = "p.json: $.rules[0].transfers[0].content_id: rule \"r\": no decoder "
			     "names files by these ids yet, so the entry never acts; btih, "
			     "btmh, ed2k, sha1, tth and kzhash are found";

	(void)state;
	warned(WITH("'sha256:" HEX64 "'"), false, wanted);
	warned(WITH("'list'"), false, wanted);
	fine(WITH("'list','ed2k:00112233445566778899aabbccddeeff'"));
	fine(WITH("'kzhash:00112233445566778899aabbccddeeff00112233'"));
	fine(WITH("'list','" ID "'"));
	fine(WITH("'btmh:1220" HEX64 "'"));
	fine(WITH("'none'"));
}

static void whole_files_are_for_http(void **state)
{
	(void)state;
	DEAD(TEXT("'app':['irc']", "'ranges':'whole'"), "p.json: $.rules[1].ranges: ",
		"rule \"r\" can never act: requests for parts of files of irc are not decoded, "
		"those of fasttrack, gnutella, http are: name one of these in match, or remove "
		"ranges");
	warned(TEXT("'app':['http','irc']", "'ranges':'whole'"), false,
		"p.json: $.rules[1].ranges: rule \"r\": requests for parts of files of irc are not "
		"decoded, and pass; those of fasttrack, gnutella, http are");
	fine(TEXT("'app':['http']", "'ranges':'whole'"));
	fine(TEXT("'app':['irc']", "'ranges':'pass'"));
	fine(TEXT("", "'ranges':'whole'"));
}

// How many warnings there are, and what the last says.
static void kept(const char *keys, bool audit, bool files, size_t n, const char *last)
{
	const struct content_kept places = {true, audit, files}, unknown = {0};
	struct policy *policy;
	struct config_errors errors = {0};
	char text[512];

	snprintf(
		text, sizeof text, "{'schema_version':1,'rules':[{'id':'r','match':{},%s}]}", keys);
	policy = good(text);
	policy_check_kept(policy, &unknown, "p.json", &errors);
	assert_int_equal(errors.n_warnings, 0);
	policy_check_kept(policy, &places, "p.json", &errors);
	assert_int_equal(errors.n_warnings, n);
	if (n)
		assert_non_null(strstr(errors.warnings[n - 1], last));
	expect_count(&errors, 0);
	config_errors_free(&errors);
	policy_free(policy);
}

#define CLOSE "'audit':{'chat':true,'on_lost':'close'}"
#define STORE \
	"'transfers':[{'name':['a'],'action':'pass'},{'name':['b'],'action':'pass','store':true}]"
static void what_is_kept_nowhere_is_warned_of(void **state)
{
	(void)state;
	kept(CLOSE, false, true, 1, "$.rules[0].audit.on_lost: rule \"r\": without paths.audit");
	kept(CLOSE, true, false, 0, NULL);
	kept("'audit':{'files':true}", true, false, 1,
		"$.rules[0].audit.files: rule \"r\": without paths.files");
	kept("'audit':{'files':true,'on_lost':'close'}", false, false, 2, "paths.files");
	kept("'audit':{'files':true}", false, true, 0, NULL);
	kept("'audit':{'files':false,'on_lost':'lose'}", false, false, 0, NULL);
	kept(STORE, true, false, 1,
		"$.rules[0].transfers[1].store: rule \"r\": without paths.files");
	kept(STORE, true, true, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_decoded_is_fine),
		cmocka_unit_test(what_nobody_decodes_can_never_act),
		cmocka_unit_test(what_asks_for_nothing_is_fine),
		cmocka_unit_test(each_kind_is_told_once),
		cmocka_unit_test(a_part_that_is_not_decoded_is_warned_of),
		cmocka_unit_test(what_stands_behind_a_rule_that_decides_all_is_warned_of),
		cmocka_unit_test(what_is_left_some_flows_is_fine),
		cmocka_unit_test(ids_that_nobody_finds_are_warned_of),
		cmocka_unit_test(whole_files_are_for_http),
		cmocka_unit_test(what_is_kept_nowhere_is_warned_of),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
