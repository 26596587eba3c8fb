// SPDX-License-Identifier: BSD-3-Clause
// unix and its peers: those that do not behave, and the paths that are addresses.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "lib/tapi/tapi_unix_end.h"
#include "transportapi/proto/frame.h"

#define S   1000000u
#define MTU UNIX_MTU

// TA10: to who does not read, whole messages go until the socket is full; the others are dropped,
// and the stream is right to the end.
static void test_peer_does_not_read(void **state)
{
	const struct tapi_transport_stats *stats;
	static uint8_t octets[TAPI_FRAME_HEAD_BYTES + MTU];
	unsigned taken = 0, dropped = 0;
	int fd;

	(void)state;
	unix_begin(&a, path_a, "");
	stats = a.api->stats(a.api);
	fd = unix_peer(&a, path_a);
	for (unsigned i = 0; i < 200; i++) {
		const enum tapi_result result =
			node_send(&a, a.messages[0].session, (uint8_t)i, i % 2 ? MTU : 100 + i);

		if (result != TAPI_OK)
			assert_int_equal(result, TAPI_DROPPED);
		taken += result == TAPI_OK;
		dropped += result == TAPI_DROPPED;
	}
	assert_in_range(taken, 2, 100);
	assert_int_equal(stats->sent_msgs, taken);
	assert_int_equal(stats->dropped_block, dropped);
	assert_int_equal(a.api->send_estimate(a.api, a.messages[0].session), 0);
	// now it reads, as much as there is; the loop sends the rest of what was begun
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	size_t have = 0, want = TAPI_WELCOME_BYTES;
	unsigned frames = 0;
	bool head = false;

	for (unsigned idle = 0; idle < 100;) {
		const ssize_t n = recv(fd, &octets[have], want - have, 0);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			node_run(&a, 1);
			idle++;
			continue;
		}
		assert_true(n > 0);
		idle = 0;
		have += (size_t)n;
		if (have < want)
			continue;
		if (want == TAPI_WELCOME_BYTES && frames == 0 && !head) {
			head = true; // of the first frame
			want = TAPI_FRAME_HEAD_BYTES;
		} else if (head) {
			want = (size_t)octets[0] << 24 | (size_t)octets[1] << 16 |
			       (size_t)octets[2] << 8 | octets[3];
			assert_in_range(want, 100, MTU);
			const uint8_t mark = octets[8];

			assert_int_equal(octets[5], mark & 1);
			assert_int_equal(want, mark % 2 ? MTU : 100u + mark);
			octets[0] = (uint8_t)~mark;
			head = false;
		} else {
			for (size_t i = 1; i < want; i++)
				assert_int_equal(octets[i], octets[0]);
			frames++;
			head = true;
			want = TAPI_FRAME_HEAD_BYTES;
		}
		have = 0;
	}
	assert_true(head && have == 0); // at the end of a frame
	assert_int_equal(frames, taken);
	assert_int_equal(node_send(&a, a.messages[0].session, 'z', MTU), TAPI_OK);
	assert_int_equal(a.n_downs, 0);
	close(fd);
	node_end(&a, donetransport_unix);
}

// Who says nothing, or something else first, is no session, and costs a place for a time only.
static void test_welcome_missing(void **state)
{
	const struct tapi_transport_stats *stats;
	uint8_t octets[128];
	int fd[4];

	(void)state;
	unix_begin(&a, path_a, "\"max_half_open\": 3, \"connect_timeout_s\": 10");
	stats = a.api->stats(a.api);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = unix_connect(path_a);
	node_run(&a, 3);
	assert_int_equal(stats->sessions_accepted, 3);
	fd[3] = unix_connect(path_a); // the oldest goes
	node_run(&a, 3);
	node_ahead(&a, 0);
	assert_int_equal(raw_read(fd[0], octets, 1), 0);
	assert_int_equal(stats->sessions_evicted, 1);
	// a frame where the WELCOME belongs
	raw_write(fd[1], octets, peer_frame(octets, 'f', 5));
	node_run(&a, 3);
	assert_int_equal(
		stats->bad_frame, 0); // 17 octets may be the begin of one: its size is wrong
	raw_write(fd[1], octets, 64);
	node_run(&a, 3);
	assert_int_equal(raw_read(fd[1], octets, 1), 0);
	assert_int_equal(stats->bad_frame, 1);
	node_ahead(&a, 9 * S);
	assert_int_equal(stats->sessions_closed, 2);
	node_ahead(&a, 1 * S);
	assert_int_equal(stats->sessions_closed, 4);
	assert_int_equal(raw_read(fd[2], octets, 1), 0);
	assert_int_equal(a.n_messages, 0);
	assert_int_equal(a.n_downs, 0); // the core had never seen them
	for (unsigned i = 0; i < 4; i++)
		close(fd[i]);
	// its end as soon as it says so
	fd[0] = unix_peer(&a, path_a);
	close(fd[0]);
	node_until(&a, &a.n_downs, 1);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_CLOSED);
	node_end(&a, donetransport_unix);
}

// No descriptor is left: who comes is refused, and it is reported once.
static void test_out_of_descriptors(void **state)
{
	struct rlimit before, none;
	unsigned logged;
	uint8_t octet;
	int fd[3], next;

	(void)state;
	unix_begin(&a, path_a, "");
	for (unsigned i = 0; i < 3; i++)
		fd[i] = unix_connect(path_a);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	next = dup(0); // the lowest one that is free
	close(next);
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	logged = a.n_logged;
	node_run(&a, 20);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(a.n_logged, logged + 1);
	assert_non_null(strstr(a.logged, "unix.max_sessions"));
	assert_int_equal(a.api->stats(a.api)->sessions_refused, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(raw_read(fd[i], &octet, 1), 0);
		close(fd[i]);
	}
	close(unix_peer(&a, path_a)); // as ever
	node_end(&a, donetransport_unix);
}

static enum tapi_result verified(struct node *node, const char *path)
{
	struct tapi_helo helo = {
		.protocol = 90, .mtu = MTU, .address_size = (uint16_t)strlen(path)};
	struct tapi_session *session;
	enum tapi_result result;

	memcpy(helo.address, path, helo.address_size);
	result = node->api->verify_helo(node->api, &helo);
	if (result != TAPI_OK)
		assert_int_equal(node->api->connect(node->api, &helo, &session), result);
	return result;
}

// A HELO of a stranger names no socket of this machine but those of peers (TA6), in one form.
static void test_folders(void **state)
{
	struct tapi_session *session;
	char deep[128], allowed[128];
	struct sockaddr_un mine;
	int fd, bound;

	(void)state;
	unix_begin(&a, path_a, "");
	unix_begin(&b, path_b, "");
	assert_int_equal(verified(&a, path_b), TAPI_OK);
	assert_int_equal(verified(&a, "/run/docker.sock"), TAPI_EACL);
	assert_int_equal(verified(&a, "/docker.sock"), TAPI_EACL);
	snprintf(deep, sizeof(deep), "%s/deep/b", folder);
	assert_int_equal(verified(&a, deep), TAPI_EACL);
	snprintf(deep, sizeof(deep), "%s/../run/x", folder);
	assert_int_equal(verified(&a, deep), TAPI_EADDR);
	snprintf(deep, sizeof(deep), "%s//b", folder);
	assert_int_equal(verified(&a, deep), TAPI_EADDR);
	snprintf(deep, sizeof(deep), "%s/", folder);
	assert_int_equal(verified(&a, deep), TAPI_EADDR);
	snprintf(deep, sizeof(deep), "%s/b\n", folder);
	assert_int_equal(verified(&a, deep), TAPI_EADDR);
	assert_int_equal(verified(&a, &path_b[1]), TAPI_EADDR); // relative
	session = node_connect(&a, unix_url(path_b));
	fd = unix_peer(&a, path_a);
	// who came in may have a path, too: nobody asks for it
	snprintf(deep, sizeof(deep), "%s/c", folder);
	bound = unix_socket();
	mine = unix_address(deep);
	assert_int_equal(bind(bound, (const struct sockaddr *)&mine, sizeof(mine)), 0);
	unlink(deep);
	mine = unix_address(path_a);
	assert_int_equal(connect(bound, (const struct sockaddr *)&mine, sizeof(mine)), 0);
	assert_int_equal(node_send(&a, session, 'f', 10), TAPI_OK);
	node_run(&a, 3);
	node_until(&b, &b.n_messages, 1);
	// a reload: what is not allowed any more ends, who came in has no path and stays
	assert_int_equal(
		node_reload(&a, unix_section(path_a, "\"folders\": [\"/run\", \"/\"]"), NULL),
		TAPI_OK);
	node_until(&a, &a.n_downs, 1);
	assert_ptr_equal(a.downs[0].session, session);
	assert_int_equal(a.downs[0].why, TAPI_DOWN_DENIED);
	assert_int_equal(verified(&a, path_b), TAPI_EACL);
	assert_int_equal(verified(&a, "/run/docker.sock"), TAPI_OK); // who says so
	assert_int_equal(verified(&a, "/docker.sock"), TAPI_OK);
	assert_int_equal(verified(&a, "/"), TAPI_EADDR);
	assert_int_equal(node_send(&a, a.messages[0].session, 'f', 10), TAPI_OK);
	snprintf(allowed, sizeof(allowed), "\"folders\": [\"%s\"]", folder);
	assert_int_equal(node_reload(&a, unix_section(path_a, allowed), NULL), TAPI_OK);
	session = node_connect(&a, unix_url(path_b));
	node_run(&a, 3);
	assert_int_equal(node_reload(&a, unix_section(path_a, allowed), NULL), TAPI_OK);
	node_run(&a, 3);
	assert_int_equal(a.n_downs, 1); // still allowed: lives on
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 1);
	close(bound);
	close(fd);
	node_end(&b, donetransport_unix);
	node_end(&a, donetransport_unix);
}

// A peer in another container binds its socket under a name that we do not know: what counts is the
// path that we connected to. A reload of the same keys ends nothing; one that denies the path does.
static void test_other_name(void **state)
{
	struct tapi_session *absolute, *relative;
	struct tapi_session_info info;
	char alias[64], one[80], two[80], sections[128], here[256];
	int fd;

	(void)state;
	snprintf(alias, sizeof(alias), "%s.alias", folder);
	snprintf(one, sizeof(one), "%s/b", alias);
	snprintf(two, sizeof(two), "%s/c", alias);
	assert_int_equal(symlink(folder, alias), 0);
	unix_begin(&b, path_b, "");
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(folder), 0);
	fd = unix_listen("c", 4);
	assert_int_equal(chdir(here), 0);
	snprintf(sections, sizeof(sections), "\"unix\": {\"folders\": [\"%s\"]}", alias);
	node_init(&a, inittransport_unix, 0xb1, sections);
	node_start(&a);
	absolute = node_connect(&a, unix_url(one));
	relative = node_connect(&a, unix_url(two));
	node_run(&a, 3);
	a.api->session_info(a.api, absolute, &info);
	assert_string_equal(info.remote, unix_url(one));
	a.api->session_info(a.api, relative, &info);
	assert_string_equal(info.remote, unix_url(two));
	assert_int_equal(node_reload(&a, sections, NULL), TAPI_OK);
	node_run(&a, 3);
	assert_int_equal(a.n_downs, 0);
	assert_int_equal(node_reload(&a, "\"unix\": {\"folders\": [\"/run\"]}", NULL), TAPI_OK);
	node_run(&a, 3);
	assert_int_equal(a.n_downs, 2);
	close(fd);
	snprintf(two, sizeof(two), "%s/c", folder);
	unlink(two);
	unlink(alias);
	node_end(&b, donetransport_unix);
	node_end(&a, donetransport_unix);
}

static void test_reload(void **state)
{
	char more[128];

	(void)state;
	unix_begin(&a, path_a, "");
	assert_int_equal(node_reload(&a, unix_section(path_b, "\"cost\": 7"), NULL), TAPI_ECONF);
	assert_non_null(strstr(a.logged, "unix.path"));
	assert_non_null(strstr(a.logged, "nothing was changed"));
	assert_non_null(strstr(a.logged, "path"));
	assert_int_equal(
		node_reload(&a, unix_section(path_a, "\"mode\": \"0666\", \"cost\": 7"), NULL),
		TAPI_ECONF);
	assert_non_null(strstr(a.logged, "mode"));
	snprintf(more, sizeof(more), "\"advertise\": [\"%s\"], \"cost\": 7", path_b);
	assert_int_equal(node_reload(&a, unix_section(path_a, more), NULL), TAPI_ECONF);
	assert_int_equal(
		node_reload(&a, unix_section(path_a, "\"folders\": [\"run\"], \"cost\": 7"), NULL),
		TAPI_ECONF);
	assert_non_null(strstr(a.logged, "unix.folders[0]"));
	assert_int_equal(a.api->cost, 1);
	assert_int_equal(verified(&a, path_b), TAPI_OK);
	assert_int_equal(node_reload(&a, unix_section(path_a, "\"cost\": 7"), NULL), TAPI_OK);
	assert_int_equal(a.api->cost, 7);
	close(unix_peer(&a, path_a));
	node_end(&a, donetransport_unix);
}

// Who refuses, also at once, is told from the loop.
static void test_refused(void **state)
{
	struct tapi_session_info info;
	struct tapi_session *session;
	int fd, waits[4];

	(void)state;
	unix_begin(&a, path_a, "");
	session = node_connect(&a, unix_url(path_b)); // nothing is there
	assert_int_equal(node_send(&a, session, 'x', 1), TAPI_EDOWN);
	a.api->session_info(a.api, session, &info);
	assert_string_equal(info.remote, unix_url(path_b));
	node_until(&a, &a.n_downs, 1);
	fd = unix_listen(path_b, 0);
	for (unsigned i = 0; i < 4; i++) { // its queue is full
		const struct sockaddr_un address = unix_address(path_b);

		waits[i] = unix_socket();
		fcntl(waits[i], F_SETFL, O_NONBLOCK);
		if (connect(waits[i], (const struct sockaddr *)&address, sizeof(address)) != 0)
			assert_int_equal(errno, EAGAIN);
	}
	session = node_connect(&a, unix_url(path_b));
	node_until(&a, &a.n_downs, 2);
	for (unsigned i = 0; i < 4; i++)
		close(waits[i]);
	close(fd); // dead: its file is there
	session = node_connect(&a, unix_url(path_b));
	node_until(&a, &a.n_downs, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(a.downs[i].why, TAPI_DOWN_ERROR);
	assert_ptr_equal(a.downs[2].session, session);
	assert_int_equal(a.api->stats(a.api)->sessions_closed, 3);
	unlink(path_b);
	node_end(&a, donetransport_unix);
}

// Without a path nobody comes in, what goes out goes out; `advertise` is what others see.
static void test_own_addresses(void **state)
{
	struct tapi_session_info info;
	struct tapi_session *session;
	struct tapi_helo helo;
	char text[TAPI_TEXT_BYTES], sections[128], from[64];

	(void)state;
	snprintf(sections, sizeof(sections), "\"unix\": {\"folders\": [\"%s\"]}", folder);
	node_init(&b, inittransport_unix, 0xb1, sections);
	assert_true(b.api->flags & TAPI_SEND_ONLY);
	node_start(&b);
	assert_int_equal(b.api->create_helo(b.api, 0, &helo), TAPI_ENOADDR);
	unix_begin(&a, path_a, "\"advertise\": [\"/srv/x/one\", \"/srv/x/two\"]");
	assert_false(a.api->flags & TAPI_SEND_ONLY);
	assert_int_equal(a.api->create_helo(a.api, 1, &helo), TAPI_OK);
	assert_int_equal(a.api->address_to_string(a.api, &helo, text, sizeof(text)), TAPI_OK);
	assert_string_equal(text, "unix:/srv/x/two");
	assert_int_equal(a.api->create_helo(a.api, 2, &helo), TAPI_ENOADDR);
	session = node_connect(&b, unix_url(path_a));
	assert_int_equal(node_send(&b, session, 's', 9), TAPI_OK);
	node_run(&b, 3);
	node_until(&a, &a.n_messages, 1);
	b.api->session_info(b.api, session, &info);
	assert_string_equal(info.remote, unix_url(path_a));
	assert_false(info.inbound);
	assert_int_equal(info.source.family, 0);
	a.api->session_info(a.api, a.messages[0].session, &info);
	snprintf(from, sizeof(from), "unix: process %d of user %u", (int)getpid(), geteuid());
	assert_string_equal(info.remote, from);
	assert_true(info.inbound);
	// answered on the session that came in
	assert_int_equal(a.api->associate(a.api, a.messages[0].session), TAPI_OK);
	assert_int_equal(node_send(&a, a.messages[0].session, 't', 8), TAPI_OK);
	node_until(&b, &b.n_messages, 1);
	assert_ptr_equal(b.messages[0].session, session);
	node_end(&b, donetransport_unix);
	node_end(&a, donetransport_unix);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, unix_setup, unix_teardown)
	const struct CMUnitTest tests[] = {
		T(test_peer_does_not_read),
		T(test_welcome_missing),
		T(test_out_of_descriptors),
		T(test_folders),
		T(test_other_name),
		T(test_reload),
		T(test_refused),
		T(test_own_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
