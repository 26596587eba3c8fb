// SPDX-License-Identifier: BSD-3-Clause
// What explain says of scripted cases, through the real packet path, policies and signatures: the
// words, the rule, the signature, the generation. Here: how an application is known, and the cache.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/explained.h"

static void signature_verified(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, ",'dest_port':6999");

	explained_expect_evidence(told, "flow_made signature decision cache_learned resets");
	explained_expect_piece(told, "flow_made", 0,
		"how=syn src_ip=10.0.0.1 src_port=40001 dest_ip=10.0.0.2 dest_port=6999 proto=TCP");
	explained_expect_piece(told, "signature", 0,
		"signature=bittorrent-handshake app=bittorrent verifier=yes confidence=verified");
	const json_t *bytes = json_object_get(explained_piece(told, "signature", 0), "bytes");

	assert_string_equal(explained_text(bytes, "half"), "to_server");
	assert_string_equal(explained_text(bytes, "hex"), "546f7272656e742070726f746f636f6c");
	assert_int_equal(explained_number(bytes, "offset"), 4);
	assert_int_equal(explained_number(bytes, "length"), 16);
	assert_int_equal(explained_number(bytes, "looked_at"), 68);
	explained_expect_piece(told, "decision", 0,
		"rule=no-p2p action=reset app=bittorrent confidence=verified generation=1 "
		"final=true "
		"again=false signature=bittorrent-handshake");
	explained_expect_piece(told, "cache_learned", 0, "mode=tuple rule=no-p2p app=bittorrent");
	explained_expect_piece(told, "resets", 0, "sent=2");
	explained_expect_verdict(told, "blocked",
		"Reset by rule \"no-p2p\" (generation 1): bittorrent, verified by signature "
		"bittorrent-handshake in the first 68 bytes of what the client sent; the peer is "
		"in "
		"the connection cache until 22:18:20 UTC.");
	// the same by its number, with its entry, and the entry of the cache that it taught
	json_t *same = explained_by_id(gate, (uint64_t)explained_number(told, "flow_id"));

	assert_true(
		json_equal(json_object_get(told, "evidence"), json_object_get(same, "evidence")));
	assert_true(json_is_true(json_object_get(same, "live")));
	assert_string_equal(explained_text(json_object_get(same, "flow"), "state"), "condemned");
	const json_t *entry = json_array_get(json_object_get(same, "cache"), 0);

	assert_int_equal(explained_number(entry, "flow_id"), explained_number(same, "flow_id"));
	assert_string_equal(explained_text(entry, "rule"), "no-p2p");
	assert_int_equal(explained_number(entry, "dest_port"), 6999);
	assert_true(json_is_false(json_object_get(same, "truncated")));
	json_decref(same);
	json_decref(told);
	gate_free(gate);
}

static void signature_refused_by_its_verifier(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	// an eDonkey header whose message is none
	static const uint8_t edonkey[] = {0xe3, 0x05, 0, 0, 0, 0x01, 0xff, 0xff, 0xff, 0xff};

	struct gate_tcp tcp = gate_connect(gate, 1, 40001, 7000);

	gate_send(gate, &tcp, false, edonkey, sizeof(edonkey));
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(
		told, "signature", 0, "signature=edonkey-tcp verifier=no app=edonkey");
	explained_expect_evidence(told, "flow_made signature decision");
	explained_expect_piece(told, "decision", 0, "final=false action=pass rule=default");
	explained_expect_verdict(
		told, "undecided", "Passes for now: not decided yet after 1 data packets.");
	json_decref(told);
	gate_free(gate);
}

static void known_by_shape(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	// a DNS question for example.com
	static const uint8_t question[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 'e', 'x',
		'a', 'm', 'p', 'l', 'e', 3, 'c', 'o', 'm', 0, 0, 1, 0, 1};
	(void)state;

	gate_run(gate, &(struct pipe_packet){.proto = IPPROTO_UDP,
			       .dport = 53,
			       .payload = question,
			       .payload_length = sizeof(question)});
	json_t *told = explained_by_ends(gate, 1, ",'proto':'UDP'");

	explained_expect_piece(told, "flow_made", 0, "how=datagram proto=UDP dest_port=53");
	explained_expect_piece(told, "shape", 0, "app=dns");
	explained_expect_piece(told, "decision", 0, "app=dns action=pass rule=default final=true");
	explained_expect_verdict(told, "pass",
		"Passes by the policy's default (generation 1): dns, by the shape of a datagram of "
		"the client.");
	json_decref(told);
	gate_free(gate);
}

static void ten_packets(struct gate *gate, uint32_t client, uint16_t dport)
{
	struct gate_tcp tcp = gate_connect(gate, client, 40001, dport);

	static const char letters[64] = "\xfe?"; // each counts as a data packet

	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS; i++)
		gate_send(gate, &tcp, i % 2, letters, sizeof(letters));
}

static void port_guess_refused_by_min_confidence(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	ten_packets(gate, 1, 6881);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(
		told, "flow_made decision port_guess give_up too_unsure decision");
	explained_expect_piece(told, "port_guess", 0, "app=bittorrent confidence=port port=6881");
	explained_expect_piece(told, "give_up", 0, "budget=packets data_pkts=10");
	explained_expect_piece(told, "too_unsure", 0,
		"rule=no-p2p app=bittorrent confidence=port min_confidence=dpi");
	explained_expect_piece(
		told, "decision", 1, "rule=default action=pass confidence=port final=true");
	explained_expect_verdict(told, "pass",
		"Passes by the policy's default (generation 1): bittorrent, guessed by port 6881 "
		"alone; rule \"no-p2p\" (generation 1) names bittorrent, but asks for confidence "
		"dpi, and this is only port.");
	json_decref(told);
	gate_free(gate);
}

static void port_guess_accepted(void **state)
{
	struct gate *gate = gate_new(1,
		"'rules':[{'id':'by-port','match':{'app':['bittorrent'],'min_confidence':'port'},"
		"'action':'drop'}]");
	(void)state;

	ten_packets(gate, 1, 6881);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made decision port_guess give_up decision");
	explained_expect_piece(told, "decision", 1, "rule=by-port action=drop confidence=port");
	explained_expect_verdict(told, "blocked",
		"Dropped by rule \"by-port\" (generation 1): bittorrent, guessed by port 6881 "
		"alone.");
	json_decref(told);
	gate_free(gate);
}

static void expected_by_another_flow(void **state)
{
	struct gate *gate = gate_new(1,
		"'rules':[{'id':'no-ftp-data','match':{'app':['ftp-data'],'min_confidence':"
		"'cache'},'action':'reset'}]");
	(void)state;

	struct gate_tcp control = gate_connect(gate, 1, 40001, 21);

	gate_send(gate, &control, true, "220 ready\r\n", 11);
	gate_send(gate, &control, false, "USER a\r\n", 8);
	gate_send(gate, &control, true, "331 who\r\n", 9);
	gate_send(gate, &control, false, "PASV\r\n", 6);
	gate_send(gate, &control, true, "227 Entering (10,0,0,2,4,1)\r\n", 29);
	json_t *told = explained_by_ends(gate, 1, ",'dest_port':21");

	explained_expect_piece(told, "decoder", 0, "app=ftp");
	explained_expect_piece(told, "decision", 1, "app=ftp");
	json_decref(told);
	struct gate_tcp transfer = gate_connect(gate, 1, 40002, 1025);

	gate_send(gate, &transfer, true, "the file", 8);
	told = explained_by_ends(gate, 1, ",'dest_port':1025");
	explained_expect_evidence(told, "flow_made expected decision resets");
	explained_expect_piece(told, "expected", 0, "app=ftp-data confidence=cache");
	explained_expect_piece(
		told, "decision", 0, "rule=no-ftp-data action=reset confidence=cache");
	explained_expect_verdict(told, "blocked",
		"Reset by rule \"no-ftp-data\" (generation 1): ftp-data, because another flow "
		"announced it (ftp-data).");
	json_decref(told);
	gate_free(gate);
}

#define OWN                                                                                   \
	"'applications':[{'id':'wiki','sni':['wiki.example']},"                               \
	"{'id':'crm','regex':[{'pattern':'^CRM/[0-9]','protocol':'tcp'}]},"                   \
	"{'id':'old','ports':{'tcp':[7001]}},{'id':'lab','networks':['10.0.0.2']}],"          \
	"'rules':[{'id':'no-own','match':{'app':['wiki','crm','old','lab'],'min_confidence':" \
	"'port'},'action':'drop','cache':'none'}]"

// What the policy itself defines: by host, by pattern, by address, by port.
static void defined_by_the_policy(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: www.wiki.example\r\n\r\n";
	struct gate *gate = gate_new(1, OWN);
	(void)state;

	gate_run(gate, &(struct pipe_packet){.client = 9, .tcp_flags = TH_SYN});
	json_t *told = explained_by_ends(gate, 9, "");

	explained_expect_piece(told, "user_app", 0, "app=lab by=address");
	explained_expect_piece(told, "decision", 0, "app=lab confidence=ip rule=no-own");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Dropped by rule \"no-own\" (generation 1): lab, which the policy defines, by the "
		"responder's address"));
	json_decref(told);
	gate_free(gate);

	gate = gate_new(1, OWN);
	gate_policy(gate, "'default':'pass'");
	char without[1024];

	// the same without the network, which would say it first
	snprintf(without, sizeof(without), "%s", OWN);
	memcpy(strstr(without, "10.0.0.2"), "10.9.9.9", 8);
	gate_policy(gate, without);
	struct gate_tcp web = gate_connect(gate, 1, 40001, 80);

	gate_send(gate, &web, false, request, sizeof(request) - 1);
	told = explained_by_ends(gate, 1, "");
	explained_expect_piece(told, "user_app", 0, "app=wiki by=host host=www.wiki.example");
	explained_expect_piece(told, "decision", 0, "app=wiki rule=no-own generation=3");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"wiki, which the policy defines, by the host that the client asked for "
		"(www.wiki.example)"));
	json_decref(told);

	struct gate_tcp crm = gate_connect(gate, 3, 40001, 9000);

	gate_send(gate, &crm, false, "CRM/2 hello", 11);
	told = explained_by_ends(gate, 3, "");
	explained_expect_piece(told, "signature", 0, "app=crm verifier=none confidence=dpi");
	explained_expect_piece(told, "decision", 0, "app=crm rule=no-own action=drop");
	json_decref(told);

	ten_packets(gate, 4, 7001);
	told = explained_by_ends(gate, 4, "");
	explained_expect_piece(told, "user_app", 0, "app=old by=port port=7001 confidence=port");
	explained_expect_piece(told, "decision", 1, "app=old rule=no-own confidence=port");
	json_decref(told);
	gate_free(gate);
}

static void picked_up_midstream(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	struct gate_tcp tcp = {.client = 1, .sport = 40001, .dport = 80, .seq = {7000, 9000}};
	(void)state;

	gate_send(gate, &tcp, false, "in the middle of it", 19);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_piece(told, "flow_made", 0, "how=midstream");
	explained_expect_verdict(told, "undecided",
		"Passes for now: not decided yet after 1 data packets; its beginning was not "
		"seen.");
	json_decref(told);
	gate_free(gate);
}

static void given_up(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	ten_packets(gate, 1, 50001);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made decision give_up decision");
	explained_expect_verdict(told, "pass",
		"Passes by the policy's default (generation 1): no application was recognised "
		"within 10 data packets.");
	json_decref(told);
	gate_free(gate);
}

static void stopped_by_the_cache(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P);
	(void)state;

	explained_handshake(gate, 1, 40001);
	gate->pipe->now_ns += 5 * NS_PER_S;
	gate_connect(gate, 1, 40002, 6999);
	json_t *told =
		explained_by_ends(gate, 1, ",'src_port':40002,'dest_port':6999,'proto':'tcp'");
	json_t *first = explained_by_ends(gate, 1, ",'src_port':40001");
	char verdict[512];

	assert_null(json_object_get(told, "flow_id"));
	explained_expect_evidence(told, "cache_learned cache_hit");
	explained_expect_piece(
		told, "cache_hit", 0, "rule=no-p2p app=bittorrent mode=tuple passed=false");
	assert_int_equal(explained_number(explained_piece(told, "cache_hit", 0), "flow_id"),
		explained_number(first, "flow_id"));
	snprintf(verdict, sizeof(verdict),
		"Blocked: connections from 10.0.0.1 to 10.0.0.2 port 6999 are in the connection "
		"cache "
		"by rule \"no-p2p\" (generation 1), for bittorrent, taught by flow %lld; the peer "
		"is "
		"in the connection cache until 22:18:25 UTC (hit 3 times).",
		explained_number(first, "flow_id"));
	explained_expect_verdict(told, "blocked", verdict);
	json_decref(first);
	json_decref(told);
	gate_free(gate);
}

static void cache_that_only_learns(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P ",'conn_cache':{'learn_only':true}");
	(void)state;

	explained_handshake(gate, 1, 40001);
	gate->pipe->now_ns += NS_PER_S;
	gate_run(gate, &(struct pipe_packet){.sport = 40002, .dport = 6999, .tcp_flags = TH_SYN});
	json_t *told = explained_by_ends(gate, 1, ",'src_port':40002,'dest_port':6999");

	explained_expect_piece(told, "cache_hit", 0, "passed=true rule=no-p2p");
	assert_non_null(strstr(explained_text(told, "verdict"),
		"Passes, although connections from 10.0.0.1 to 10.0.0.2 port 6999 are in the "
		"connection cache by rule \"no-p2p\" (generation 1), for bittorrent, taught by "
		"flow "));
	assert_non_null(strstr(explained_text(told, "verdict"),
		"; the cache only learns (conn_cache.learn_only); the peer is in the connection "
		"cache until 22:18:21 UTC (hit once)."));
	assert_string_equal(explained_text(told, "outcome"), "monitored");
	json_decref(told);
	gate_free(gate);
}

static void exempt_by_the_policy(void **state)
{
	struct gate *gate = gate_new(1, BLOCK_P2P ",'conn_cache':{'exempt':['10.0.0.2']}");
	(void)state;

	explained_handshake(gate, 1, 40001);
	json_t *told = explained_by_ends(gate, 1, "");

	explained_expect_evidence(told, "flow_made signature decision cache_exempt resets");
	explained_expect_piece(told, "cache_exempt", 0, "mode=tuple rule=no-p2p");
	explained_expect_verdict(told, "blocked",
		"Reset by rule \"no-p2p\" (generation 1): bittorrent, verified by signature "
		"bittorrent-handshake in the first 68 bytes of what the client sent; the peer was "
		"not put into the connection cache: it is exempt.");
	json_decref(told);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signature_verified),
		cmocka_unit_test(signature_refused_by_its_verifier),
		cmocka_unit_test(known_by_shape),
		cmocka_unit_test(port_guess_refused_by_min_confidence),
		cmocka_unit_test(port_guess_accepted),
		cmocka_unit_test(expected_by_another_flow),
		cmocka_unit_test(defined_by_the_policy),
		cmocka_unit_test(picked_up_midstream),
		cmocka_unit_test(given_up),
		cmocka_unit_test(stopped_by_the_cache),
		cmocka_unit_test(cache_that_only_learns),
		cmocka_unit_test(exempt_by_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
