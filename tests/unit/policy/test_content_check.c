// SPDX-License-Identifier: BSD-3-Clause
// Rules that ask for files or messages of applications that no decoder reads. The applications are
// those of lib/control/fake_apps.h: of bittorrent content ids are decoded, of irc and http files,
// of irc messages, of edonkey nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
	struct app_table table = {.app = app_find("edonkey"), .n_hosts = has_hosts};
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

static void warned(const char *text, bool has_hosts, const char *wanted)
{
	struct config_errors errors = checked(text, has_hosts);

	expect_count(&errors, 0);
	assert_int_equal(errors.n_warnings, 1);
	assert_string_equal(errors.warnings[0], wanted);
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
	DEAD(TEXT("'app':['bittorrent','edonkey']", KEYWORD), "p.json: $.rules[1].chat: ",
		"rule \"r\" can never act: messages of bittorrent, edonkey are not decoded, "
		"those of irc, xmpp are: name one of these in match, or remove chat");
	DEAD(TEXT("'app':['http']", KEYWORD), "$.rules[1].chat", "messages of http");
	DEAD(TEXT("'app':['wiki']", KEYWORD), "$.rules[1].chat", "messages of wiki");
	DEAD(TEXT("'category':['p2p']", NAMES), "$.rules[1].transfers[0]",
		"files of bittorrent, edonkey are not decoded");
	DEAD(TEXT("'app':['edonkey']", IDS), "$.rules[1].transfers[0]", "content ids of edonkey");
	DEAD(TEXT("'app':['irc']", IDS), "content ids of irc", "bittorrent, http");
	DEAD(TEXT("'app':['edonkey']", "'audit':{'transfers':true}"),
		"$.rules[1].audit: ", "remove audit of transfers and files");
	DEAD(TEXT("'app':['edonkey']", "'audit':{'files':true}"), "$.rules[1].audit: ");
	DEAD(TEXT("'app':['http']", "'audit':{'chat':true}"), "$.rules[1].audit.chat: ");
	DEAD(TEXT("'app':['edonkey']", "'opaque':'reset'"), "$.rules[1].opaque: ", "remove opaque");
}

static void what_asks_for_nothing_is_fine(void **state)
{
	(void)state;
	fine(TEXT("'app':['edonkey']", "'opaque':'pass'"));
	fine(TEXT("'app':['edonkey']", "'audit':{'transfers':false,'files':false}"));
	fine(TEXT("'app':['edonkey']", "'audit':{'chat':false}"));
}

// Of entries of one kind the first is told, of each kind one.
static void each_kind_is_told_once(void **state)
{
	struct config_errors errors = checked(
		TEXT("'app':['edonkey']", "'transfers':[{'name':['a'],'action':'reset'},"
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
	warned(TEXT("'app':['irc','edonkey']", KEYWORD), false,
		"p.json: $.rules[1].chat: rule \"r\": messages of edonkey are not decoded, and "
		"pass; those of irc, xmpp are");
	warned(TEXT("'app':['edonkey']", NAMES), true,
		"p.json: $.rules[1].transfers[0]: rule \"r\": files of edonkey are decoded only "
		"where they come over HTTP/1 in clear");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_decoded_is_fine),
		cmocka_unit_test(what_nobody_decodes_can_never_act),
		cmocka_unit_test(what_asks_for_nothing_is_fine),
		cmocka_unit_test(each_kind_is_told_once),
		cmocka_unit_test(a_part_that_is_not_decoded_is_warned_of),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
