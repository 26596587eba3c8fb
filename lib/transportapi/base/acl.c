// SPDX-License-Identifier: BSD-3-Clause
// Networks are sorted by length of prefix, then by address: a look-up is one binary search per
// length that there is, from the longest on.
#include "transportapi/base/acl.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST_MAX    65536
#define LENGTHS     129 // 0 to 128
#define PREFIX_TEXT 64

const struct tapi_conf_key tapi_acl_keys[] = {
	{"deny", TAPI_CONF_TEXTS, 0, LIST_MAX, 0, NULL, true, "networks to keep away from"},
	{"allow", TAPI_CONF_TEXTS, 0, LIST_MAX, 0, NULL, true, "networks of these that are good"},
	{"private", TAPI_CONF_BOOL, 0, 1, 1, NULL, true,
		"whether networks of RFC 1918, RFC 6598 and fc00::/7 are good"},
	{"local", TAPI_CONF_BOOL, 0, 1, 0, NULL, true, "whether 127.0.0.0/8 and ::1 are good"},
	{"deny_ports", TAPI_CONF_UINTS, 0, 65535, 0, NULL, true,
		"ports to keep away from, besides those that are abused for amplification"},
	{"deny_peers", TAPI_CONF_TEXTS, 0, LIST_MAX, 0, NULL, true,
		"peers to keep away from: their id, and until when (2027-01-31T00:00:00Z)"},
	{.name = NULL},
};

// Of no use to anybody but attackers, in HELOs of strangers.
static const char *const never[] = {"0.0.0.0/8", "169.254.0.0/16", "192.0.2.0/24", "224.0.0.0/3",
	"::/128", "ff00::/8", "fe80::/10", NULL};
static const char *const local[] = {"127.0.0.0/8", "::1/128", NULL};
static const char *const private[] = {
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", NULL};
static const uint16_t ports[] = {0, 19, 53, 111, 123, 137, 161, 389, 1900, 5353, 11211};

enum standing { // what counts most of two that name the same network comes first
	STANDING_ALLOW,
	STANDING_DENY,
	STANDING_DEFAULT, // denied unless the configuration says otherwise
};

struct network {
	uint8_t address[16];
	uint8_t length;
	uint8_t standing;
	int index; // in the list of the configuration
};

struct networks { // of one family
	struct network *all;
	size_t count, room;
	size_t first[LENGTHS + 1]; // of each length, where it begins
};

struct denied_peer {
	struct tapi_peer_id id;
	uint64_t until_us;
};

struct tapi_acl {
	struct networks v4, v6;
	struct denied_peer *peers;
	size_t n_peers;
	uint8_t ports[65536 / CHAR_BIT];
};

static const uint8_t mapped[12] = {[10] = 0xff, 0xff}; // ::ffff:0:0/96

static void mask(uint8_t out[16], const uint8_t address[16], unsigned length)
{
	unsigned whole = length / 8;

	memset(out, 0, 16);
	memcpy(out, address, whole);
	if (length % 8)
		out[whole] = (uint8_t)(address[whole] & 0xff00 >> length % 8);
}

// A network as text: 192.0.2.0/24, 192.0.2.1, 2001:db8::/32. What is wrong with it, or NULL.
static const char *parse_network(struct network *out, uint8_t *family, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char address[PREFIX_TEXT];
	unsigned most;

	*out = (struct network){.length = 0};
	if (length >= sizeof(address))
		return "is no address";
	memcpy(address, text, length);
	address[length] = '\0';
	*family = strchr(address, ':') ? 6 : 4;
	if (inet_pton(*family == 6 ? AF_INET6 : AF_INET, address, out->address) != 1)
		return "is no address";
	most = *family == 6 ? 128 : 32;
	if (slash) {
		char *end = NULL;
		unsigned long bits = strtoul(slash + 1, &end, 10);

		if (slash[1] < '0' || slash[1] > '9' || *end || bits > most)
			return *family == 6 ? "has no prefix length from 0 to 128"
					    : "has no prefix length from 0 to 32";
		out->length = (uint8_t)bits;
	} else {
		out->length = (uint8_t)most;
	}
	if (*family == 6 && out->length >= 96 && memcmp(out->address, mapped, 12) == 0) {
		*family = 4;
		out->length = (uint8_t)(out->length - 96);
		memmove(out->address, out->address + 12, 4);
		memset(out->address + 4, 0, 12);
	}
	return NULL;
}

static bool add_network(struct networks *to, const struct network *network)
{
	if (to->count == to->room) {
		size_t room = to->room ? 2 * to->room : 32;
		struct network *more = realloc(to->all, room * sizeof(*more));

		if (!more)
			return false;
		to->all = more;
		to->room = room;
	}
	to->all[to->count++] = *network;
	return true;
}

static enum tapi_result out_of_memory(struct tapi_error *error)
{
	tapi_error_format(error, "acl: out of memory");
	return TAPI_ENOMEM;
}

static enum tapi_result add_default(
	struct tapi_acl *acl, const char *const *list, struct tapi_error *error)
{
	for (; *list; list++) {
		struct network network;
		uint8_t family;

		parse_network(&network, &family, *list);
		network.standing = STANDING_DEFAULT;
		if (!add_network(family == 6 ? &acl->v6 : &acl->v4, &network))
			return out_of_memory(error);
	}
	return TAPI_OK;
}

static enum tapi_result add_list(struct tapi_acl *acl, const struct tapi_conf *conf,
	const char *name, enum standing standing, struct tapi_error *error)
{
	const char *text;

	for (unsigned i = 0; (text = tapi_conf_item(conf, "acl", name, i)); i++) {
		struct network network;
		uint8_t family, whole[16];
		const char *fault = parse_network(&network, &family, text);

		if (fault)
			return tapi_conf_wrong(conf, "acl", name, (int)i, error,
				"\"%.64s\" %s: write 192.0.2.0/24 or 2001:db8::/32", text, fault);
		mask(whole, network.address, network.length);
		if (memcmp(whole, network.address, sizeof(whole)) != 0) {
			char right[PREFIX_TEXT];

			inet_ntop(family == 6 ? AF_INET6 : AF_INET, whole, right, sizeof(right));
			return tapi_conf_wrong(conf, "acl", name, (int)i, error,
				"\"%.64s\" has bits behind its prefix: write %s/%u, or the "
				"address alone",
				text, right, network.length);
		}
		network.standing = (uint8_t)standing;
		network.index = (int)i;
		if (!add_network(family == 6 ? &acl->v6 : &acl->v4, &network))
			return out_of_memory(error);
	}
	return TAPI_OK;
}

static int compare_place(const struct network *a, const struct network *b)
{
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->address, b->address, sizeof(a->address));
}

static int compare_networks(const void *a, const void *b)
{
	const struct network *one = a, *two = b;
	int order = compare_place(one, two);

	return order ? order : one->standing - two->standing;
}

// Sorted, each network once. One that is to be denied and allowed is a mistake.
static enum tapi_result finish(
	struct networks *networks, const struct tapi_conf *conf, struct tapi_error *error)
{
	size_t kept = 0;

	qsort(networks->all, networks->count, sizeof(*networks->all), compare_networks);
	for (size_t i = 0; i < networks->count; i++) {
		const struct network *network = &networks->all[i];
		const struct network *last = kept ? &networks->all[kept - 1] : NULL;

		if (!last || compare_place(last, network) != 0)
			networks->all[kept++] = *network;
		else if (last->standing == STANDING_ALLOW && network->standing == STANDING_DENY)
			return tapi_conf_wrong(conf, "acl", "allow", last->index, error,
				"the same network stands in deny[%d]: take one of them away",
				network->index);
	}
	networks->count = kept;
	for (unsigned length = 0, i = 0; length <= LENGTHS; length++) {
		while (i < kept && networks->all[i].length < length)
			i++;
		networks->first[length] = i;
	}
	return TAPI_OK;
}

static bool is_denied(const struct networks *networks, const uint8_t address[16])
{
	for (unsigned length = LENGTHS; length-- > 0;) {
		size_t low = networks->first[length], high = networks->first[length + 1];
		uint8_t whole[16];

		if (low == high)
			continue;
		mask(whole, address, length);
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			const struct network *network = &networks->all[middle];
			int order = memcmp(whole, network->address, sizeof(whole));

			if (order == 0)
				return network->standing != STANDING_ALLOW;
			if (order < 0)
				high = middle;
			else
				low = middle + 1;
		}
	}
	return false;
}

// "2027-01-31T00:00:00Z", exactly.
static bool parse_time(const char *text, uint64_t *out_us)
{
	static const char format[] = "%Y-%m-%dT%H:%M:%SZ";
	struct tm tm = {.tm_isdst = 0};
	const char *end = strptime(text, format, &tm);
	char again[32];
	time_t seconds;

	if (!end || *end)
		return false;
	seconds = timegm(&tm); // makes a March of the 30th of February
	if (seconds < 0 || !strftime(again, sizeof(again), format, &tm) || strcmp(again, text) != 0)
		return false;
	*out_us = (uint64_t)seconds * 1000000;
	return true;
}

static int compare_peers(const void *a, const void *b)
{
	const struct denied_peer *one = a, *two = b;
	int order = memcmp(one->id.octets, two->id.octets, sizeof(one->id.octets));

	if (order)
		return order;
	return one->until_us > two->until_us ? -1 : one->until_us < two->until_us;
}

static enum tapi_result read_peers(
	struct tapi_acl *acl, const struct tapi_conf *conf, struct tapi_error *error)
{
	size_t count = 0, kept = 0;
	const char *text;

	while (tapi_conf_item(conf, "acl", "deny_peers", (unsigned)count))
		count++;
	acl->peers = calloc(count + 1, sizeof(*acl->peers));
	if (!acl->peers)
		return out_of_memory(error);
	for (unsigned i = 0; (text = tapi_conf_item(conf, "acl", "deny_peers", i)); i++) {
		struct denied_peer *peer = &acl->peers[i];
		const size_t digits = TAPI_PEER_TEXT_BYTES - 1;
		char id[TAPI_PEER_TEXT_BYTES] = "";

		peer->until_us = UINT64_MAX;
		if (strlen(text) >= digits)
			memcpy(id, text, digits);
		if (tapi_peer_id_parse(&peer->id, id) != TAPI_OK ||
			(text[digits] && text[digits] != ' '))
			return tapi_conf_wrong(conf, "acl", "deny_peers", (int)i, error,
				"\"%.80s\" does not begin with the 64 hex digits of a peer", text);
		if (text[digits] && !parse_time(text + digits + 1, &peer->until_us))
			return tapi_conf_wrong(conf, "acl", "deny_peers", (int)i, error,
				"\"%.32s\" is no time: write 2027-01-31T00:00:00Z",
				text + digits + 1);
	}
	qsort(acl->peers, count, sizeof(*acl->peers), compare_peers);
	for (size_t i = 0; i < count; i++) // of two about one peer, the longer
		if (!kept || !tapi_peer_id_equal(&acl->peers[kept - 1].id, &acl->peers[i].id))
			acl->peers[kept++] = acl->peers[i];
	acl->n_peers = kept;
	return TAPI_OK;
}

static void deny_port(struct tapi_acl *acl, uint64_t port)
{
	acl->ports[port / CHAR_BIT] |= (uint8_t)(1u << port % CHAR_BIT);
}

static void read_ports(struct tapi_acl *acl, const struct tapi_conf *conf)
{
	uint64_t port;

	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		deny_port(acl, ports[i]);
	for (unsigned i = 0; tapi_conf_number(conf, "acl", "deny_ports", i, &port); i++)
		deny_port(acl, port);
}

static enum tapi_result fill(
	struct tapi_acl *acl, const struct tapi_conf *conf, struct tapi_error *error)
{
	enum tapi_result result = tapi_conf_check(conf, "acl", tapi_acl_keys, error);

	if (!result)
		result = add_default(acl, never, error);
	if (!result && !tapi_conf_bool(conf, "acl", tapi_acl_keys, "local"))
		result = add_default(acl, local, error);
	if (!result && !tapi_conf_bool(conf, "acl", tapi_acl_keys, "private"))
		result = add_default(acl, private, error);
	if (!result)
		result = add_list(acl, conf, "deny", STANDING_DENY, error);
	if (!result)
		result = add_list(acl, conf, "allow", STANDING_ALLOW, error);
	if (!result)
		result = finish(&acl->v4, conf, error);
	if (!result)
		result = finish(&acl->v6, conf, error);
	if (!result)
		result = read_peers(acl, conf, error);
	if (!result)
		read_ports(acl, conf);
	return result;
}

enum tapi_result tapi_acl_new(
	struct tapi_acl **out, const struct tapi_conf *conf, struct tapi_error *error)
{
	struct tapi_acl *acl = calloc(1, sizeof(*acl));
	enum tapi_result result;

	*out = NULL;
	if (!acl)
		return out_of_memory(error);
	result = fill(acl, conf, error);
	if (result)
		tapi_acl_free(acl);
	else
		*out = acl;
	return result;
}

void tapi_acl_free(struct tapi_acl *acl)
{
	if (!acl)
		return;
	free(acl->v4.all);
	free(acl->v6.all);
	free(acl->peers);
	free(acl);
}

enum tapi_result tapi_acl_address(
	const struct tapi_acl *acl, const struct tapi_source *source, bool check_port)
{
	uint8_t address[16] = {0};
	bool denied;

	if (source->family == 0) // the medium has none
		return TAPI_OK;
	if (source->family == 4) {
		memcpy(address, source->address, 4);
		denied = is_denied(&acl->v4, address);
	} else if (source->family == 6 && memcmp(source->address, mapped, sizeof(mapped)) == 0) {
		memcpy(address, source->address + sizeof(mapped), 4);
		denied = is_denied(&acl->v4, address);
	} else {
		denied = source->family != 6 || is_denied(&acl->v6, source->address);
	}
	if (!denied && check_port)
		denied = acl->ports[source->port / CHAR_BIT] & 1u << source->port % CHAR_BIT;
	return denied ? TAPI_EACL : TAPI_OK;
}

enum tapi_result tapi_acl_peer(
	const struct tapi_acl *acl, const struct tapi_peer_id *peer, uint64_t wall_us)
{
	size_t low = 0, high = acl->n_peers;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(peer->octets, acl->peers[middle].id.octets, TAPI_PEER_ID_BYTES);

		if (order == 0)
			return wall_us < acl->peers[middle].until_us ? TAPI_EACL : TAPI_OK;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return TAPI_OK;
}
