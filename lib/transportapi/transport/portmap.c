// SPDX-License-Identifier: BSD-3-Clause
// The program that talks to the router: mapping.h says why it is one, and what is said on its
// standard input and output. It keeps one mapping, and takes it back when its input ends, or at
// SIGTERM. As root it gives its rights away first: it has to read what any device of the local
// network says.
#include <arpa/inet.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_NATPMP
#include <natpmp.h>
#endif
#ifdef HAVE_UPNP
#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>
#endif

#define NOBODY      65534
#define ANSWER_MS   2000 // of NAT-PMP; UPnP is given as long to find routers
#define COMMAND_S   50   // who asked gives up after 60
#define FAREWELL_S  15
#define OTHER_PORTS 8 // tried where another host has ours (UPnP)

struct wish {
	bool tcp;
	struct in_addr local; // INADDR_ANY: any
	uint16_t port, wanted;
	uint32_t lease_s;
};

struct mapping {
	const char *by; // NULL: none
	struct wish wish;
	char address[16];
	uint16_t port;
	uint32_t lease_s;
};

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
	(void)number;
	ending = 1;
}

#ifdef HAVE_NATPMP
static int pmp_answer(natpmp_t *pmp, natpmpresp_t *out)
{
	struct timespec now;
	int64_t until_ms, now_ms;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	until_ms = now_ms + ANSWER_MS;
	do {
		struct pollfd fd = {.fd = pmp->s, .events = POLLIN};
		struct timeval wait = {.tv_sec = 0};
		int64_t wait_ms;

		getnatpmprequesttimeout(pmp, &wait);
		wait_ms = (int64_t)wait.tv_sec * 1000 + wait.tv_usec / 1000 + 1;
		if (wait_ms > until_ms - now_ms)
			wait_ms = until_ms - now_ms;
		poll(&fd, 1, wait_ms > 0 ? (int)wait_ms : 0);
		result = readnatpmpresponseorretry(pmp, out);
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	} while (result == NATPMP_TRYAGAIN && now_ms < until_ms && !ending);
	return result;
}

static bool pmp_begin(natpmp_t *pmp, const struct wish *wish, char *why, size_t room)
{
	struct sockaddr_in own;
	socklen_t length = sizeof(own);
	int result = initnatpmp(pmp, 0, 0);

	if (result < 0) {
		snprintf(why, room, "nat-pmp: no default route (%d)", result);
		return false;
	}
	if (wish->local.s_addr != INADDR_ANY &&
		(getsockname(pmp->s, (struct sockaddr *)&own, &length) ||
			own.sin_addr.s_addr != wish->local.s_addr)) {
		snprintf(why, room, "nat-pmp: what is bound is not our address on the way out");
		closenatpmp(pmp);
		return false;
	}
	return true;
}

static bool pmp_map(struct mapping *out, const struct wish *wish, char *why, size_t room)
{
	const int protocol = wish->tcp ? NATPMP_PROTOCOL_TCP : NATPMP_PROTOCOL_UDP;
	natpmpresp_t answer = {.type = 0};
	natpmp_t pmp;
	int result;

	if (!pmp_begin(&pmp, wish, why, room))
		return false;
	result = sendpublicaddressrequest(&pmp);
	if (result >= 0)
		result = pmp_answer(&pmp, &answer);
	if (result == 0 && answer.type != NATPMP_RESPTYPE_PUBLICADDRESS)
		result = NATPMP_TRYAGAIN; // to another question
	if (result == 0) {
		inet_ntop(AF_INET, &answer.pnu.publicaddress.addr, out->address,
			sizeof(out->address));
		result = sendnewportmappingrequest(
			&pmp, protocol, wish->port, wish->wanted, wish->lease_s);
		if (result >= 0)
			result = pmp_answer(&pmp, &answer);
		if (result == 0 && (answer.type != protocol ||
					   answer.pnu.newportmapping.privateport != wish->port))
			result = NATPMP_TRYAGAIN;
	}
	closenatpmp(&pmp);
	if (result != 0 || answer.pnu.newportmapping.lifetime == 0) {
		snprintf(why, room, "nat-pmp: %s (%d)",
			result == NATPMP_ERR_NOTAUTHORIZED    ? "the router refuses"
			: result == NATPMP_ERR_NETWORKFAILURE ? "the router is not connected"
							      : "no router answers",
			result);
		return false;
	}
	out->port = answer.pnu.newportmapping.mappedpublicport;
	out->lease_s = answer.pnu.newportmapping.lifetime;
	out->by = "nat-pmp";
	return true;
}

static void pmp_unmap(const struct mapping *mapping)
{
	natpmpresp_t answer;
	natpmp_t pmp;
	char why[128];

	if (!pmp_begin(&pmp, &mapping->wish, why, sizeof(why)))
		return;
	if (sendnewportmappingrequest(&pmp,
		    mapping->wish.tcp ? NATPMP_PROTOCOL_TCP : NATPMP_PROTOCOL_UDP,
		    mapping->wish.port, 0, 0) >= 0)
		pmp_answer(&pmp, &answer);
	closenatpmp(&pmp);
}
#endif

#ifdef HAVE_UPNP
static struct {
	bool known;
	struct UPNPUrls urls;
	struct IGDdatas about;
	char own[64]; // our address on that side
} router;

static void upnp_forget(void)
{
	if (router.known)
		FreeUPNPUrls(&router.urls);
	router.known = false;
}

static bool upnp_find(const struct wish *wish, char *why, size_t room)
{
	char local[INET_ADDRSTRLEN];
	struct UPNPDev *devices;
	int error = 0, found;

	inet_ntop(AF_INET, &wish->local, local, sizeof(local));
	devices = upnpDiscover(ANSWER_MS, wish->local.s_addr != INADDR_ANY ? local : NULL, NULL,
		UPNP_LOCAL_PORT_ANY, 0, 2, &error);
#if MINIUPNPC_API_VERSION >= 18
	char outside[64];

	found = UPNP_GetValidIGD(devices, &router.urls, &router.about, router.own,
		sizeof(router.own), outside, sizeof(outside));
#else
	found = UPNP_GetValidIGD(
		devices, &router.urls, &router.about, router.own, sizeof(router.own));
#endif
	freeUPNPDevlist(devices);
	router.known = found != 0;
	if (found == 1)
		return true;
	upnp_forget();
	snprintf(why, room, "upnp: %s",
		found == 0 ? "no router answers" : "the router says that it is not connected");
	return false;
}

static int upnp_add(const struct wish *wish, uint16_t wanted, uint32_t lease_s)
{
	char outer[8], inner[8], lease[16];

	snprintf(outer, sizeof(outer), "%u", wanted);
	snprintf(inner, sizeof(inner), "%u", wish->port);
	snprintf(lease, sizeof(lease), "%u", lease_s);
	return UPNP_AddPortMapping(router.urls.controlURL, router.about.first.servicetype, outer,
		inner, router.own, "transportapi", wish->tcp ? "TCP" : "UDP", NULL, lease);
}

static bool upnp_map(struct mapping *out, const struct wish *wish, char *why, size_t room)
{
	uint16_t wanted = wish->wanted;
	uint32_t lease_s = wish->lease_s;
	struct in_addr own;
	char outside[40];
	int result = 0;

	if (!router.known && !upnp_find(wish, why, room))
		return false;
	if (wish->local.s_addr != INADDR_ANY &&
		(inet_pton(AF_INET, router.own, &own) != 1 || own.s_addr != wish->local.s_addr)) {
		snprintf(why, room, "upnp: what is bound is not our address on the router's side");
		return false;
	}
	if (UPNP_GetExternalIPAddress(router.urls.controlURL, router.about.first.servicetype,
		    outside) != UPNPCOMMAND_SUCCESS ||
		inet_pton(AF_INET, outside, &own) != 1) {
		snprintf(why, room, "upnp: the router does not tell its address");
		upnp_forget();
		return false;
	}
	for (unsigned i = 0; i < OTHER_PORTS && !ending; i++) {
		result = upnp_add(wish, wanted, lease_s);
		if (result == 725) { // it knows no others than those that last for ever
			lease_s = 0;
			result = upnp_add(wish, wanted, lease_s);
		}
		if (result != 718) // another host has it
			break;
		wanted = (uint16_t)(20000 + (wanted + 7919u) % 40000);
	}
	if (result != UPNPCOMMAND_SUCCESS) {
		snprintf(why, room, "upnp: the router refuses (%d)", result);
		upnp_forget();
		return false;
	}
	inet_ntop(AF_INET, &own, out->address, sizeof(out->address));
	out->port = wanted;
	out->lease_s = lease_s;
	out->by = "upnp";
	return true;
}

static void upnp_unmap(const struct mapping *mapping)
{
	char outer[8];

	snprintf(outer, sizeof(outer), "%u", mapping->port);
	if (router.known)
		UPNP_DeletePortMapping(router.urls.controlURL, router.about.first.servicetype,
			outer, mapping->wish.tcp ? "TCP" : "UDP", NULL);
}
#endif

static void unmap(const struct mapping *mapping)
{
#ifdef HAVE_NATPMP
	if (mapping->by && strcmp(mapping->by, "nat-pmp") == 0)
		pmp_unmap(mapping);
#endif
#ifdef HAVE_UPNP
	if (mapping->by && strcmp(mapping->by, "upnp") == 0)
		upnp_unmap(mapping);
#endif
	(void)mapping;
}

// One way after the other; *why: of each that failed.
static bool map(
	struct mapping *out, const struct wish *wish, const char *how, char *why, size_t room)
{
	size_t n = 0;

	*out = (struct mapping){.wish = *wish};
	why[0] = '\0';
#ifdef HAVE_NATPMP
	if (strcmp(how, "upnp") != 0) {
		if (pmp_map(out, wish, why, room))
			return true;
		n = strlen(why);
	}
#endif
#ifdef HAVE_UPNP
	if (strcmp(how, "nat-pmp") != 0) {
		if (n != 0 && n + 3 < room)
			n += (size_t)snprintf(&why[n], room - n, "; ");
		if (upnp_map(out, wish, &why[n], room - n))
			return true;
		n = strlen(why);
	}
#endif
	if (n == 0)
		snprintf(why, room, "%s is not built in", how);
	return false;
}

static bool wish_read(struct wish *out, char how[8], const char *line)
{
	unsigned port, wanted, lease_s;
	char protocol[4], local[16];
	int used = 0;

	if (sscanf(line, "map %3[a-z] %15[0-9.] %5u %5u %9u %7[a-z-]%n", protocol, local, &port,
		    &wanted, &lease_s, how, &used) != 6 ||
		line[used] != '\n' || port == 0 || port > UINT16_MAX || wanted == 0 ||
		wanted > UINT16_MAX || inet_pton(AF_INET, local, &out->local) != 1)
		return false;
	out->tcp = strcmp(protocol, "tcp") == 0;
	out->port = (uint16_t)port;
	out->wanted = (uint16_t)wanted;
	out->lease_s = lease_s;
	return true;
}

// False: it is root still, as where a user namespace has no other user. What the local network says
// must not be read then.
static bool rights_drop(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	if (geteuid() != 0)
		return true;
	return !setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY) &&
	       setuid(0) != 0; // they do not come back
}

int main(void)
{
	// Without SA_RESTART: what waits for input sees it.
	struct sigaction end = {.sa_handler = on_signal}, none = {.sa_handler = SIG_IGN};
	struct mapping mapping = {.by = NULL};
	char line[256], why[200], how[8];
	struct wish wish;

	close_range(3, ~0u, 0); // of whoever started us
	if (fork() != 0)
		_exit(0); // nobody has to wait for the rest
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &none, NULL);
	sigaction(SIGHUP, &none, NULL);
	sigaction(SIGPIPE, &none, NULL);
	if (!rights_drop()) {
		printf("failed portmap cannot give up the rights of root, and ends\n");
		return 1;
	}
	while (!ending && fgets(line, sizeof(line), stdin)) {
		struct mapping fresh;

		alarm(COMMAND_S); // what hangs in a library ends with all; the lease ends, too
		if (!wish_read(&wish, how, line)) {
			printf("failed not understood\n");
		} else if (map(&fresh, &wish, how, why, sizeof(why))) {
			mapping = fresh;
			printf("mapped %s %u %u %s\n", mapping.address, mapping.port,
				mapping.lease_s, mapping.by);
		} else {
			printf("failed %s\n", why);
		}
		fflush(stdout);
		alarm(0);
	}
	ending = 0;
	alarm(FAREWELL_S);
	unmap(&mapping);
	return 0;
}
