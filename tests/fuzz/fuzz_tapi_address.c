// SPDX-License-Identifier: BSD-3-Clause
// Addresses of udp, tcp, raw-ip and unix (TA6, TA27): u8 bits (1: with a port, 2: text, 4: a path)
// | octets of a HELO, or a text. Held: what is taken has one form, on the wire and as text, and
// comes back by each; it needs no scope and is no IPv4 address in disguise.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "transportapi/base/inet_address.h"
#include "transportapi/transport/unix_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool good)
{
	if (!good)
		abort();
}

static void must_be_sound(const struct tapi_source *address, bool has_port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_storage name;
	struct tapi_source again;
	socklen_t length = tapi_inet_to_sockaddr(&name, address);

	must(address->family == 4 || address->family == 6);
	must(has_port == (address->port != 0));
	if (address->family == 6) {
		must(address->address[0] != 0xfe || (address->address[1] & 0xc0) != 0x80);
		must(memcmp(address->address, mapped, sizeof(mapped)) != 0);
	}
	must(tapi_inet_from_sockaddr(&again, (const struct sockaddr *)&name, length));
	must(tapi_inet_equal(&again, address));
}

static void both_ways(const struct tapi_source *address, bool has_port)
{
	uint8_t octets[TAPI_INET_WIRE_BYTES_MAX];
	size_t length = tapi_inet_encode(octets, address, has_port);
	struct tapi_source again;
	char text[TAPI_TEXT_BYTES];

	must(length == (address->family == 4 ? 4u : 16u) + (has_port ? 2 : 0));
	must(tapi_inet_decode(&again, octets, length, has_port) == TAPI_OK);
	must(tapi_inet_equal(&again, address));
	must(tapi_inet_print(text, sizeof(text), "udp", address, has_port) == TAPI_OK);
	must(tapi_inet_parse(&again, text, "udp", has_port) == TAPI_OK);
	must(tapi_inet_equal(&again, address));
	must(tapi_inet_parse(&again, text, "ip", has_port) != TAPI_OK);
	for (size_t room = 0; room <= strlen(text); room++) { // never half of it
		char less[TAPI_TEXT_BYTES];

		must(tapi_inet_print(less, room, "udp", address, has_port) != TAPI_OK);
	}
}

// A path that is taken is as it came, is a name for the system, and its folder is one.
static void path(const uint8_t *octets, size_t length)
{
	struct tapi_unix_path taken, folder, again;
	struct sockaddr_un name;

	if (tapi_unix_path_parse(&taken, octets, length) != NULL) {
		must(length == 1 || tapi_unix_folder_parse(&folder, octets, length) != NULL);
		return;
	}
	must(taken.length == length && length <= 107 && memcmp(taken.text, octets, length) == 0);
	must(strlen(taken.text) == length && taken.text[0] == '/');
	must(!strstr(taken.text, "/../") && !strstr(taken.text, "/./") &&
		!strstr(taken.text, "//"));
	tapi_unix_path_folder(&folder, &taken);
	must(tapi_unix_folder_parse(&again, folder.text, folder.length) == NULL);
	must(strncmp(taken.text, folder.text, folder.length) == 0);
	must(!strchr(&taken.text[folder.length + (folder.length > 1)], '/'));
	tapi_unix_path_sockaddr(&name, &taken);
	must(name.sun_family == AF_UNIX && strcmp(name.sun_path, taken.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct tapi_source address;
	enum tapi_result result;
	uint8_t *exact;
	bool has_port, is_text;

	if (len < 1 || len > 512)
		return 0;
	has_port = bytes[0] & 1;
	is_text = bytes[0] & 2;
	exact = malloc(len); // a NUL in the place of the first octet, or the octets alone
	must(exact);
	memcpy(exact, bytes + 1, len - 1);
	exact[len - 1] = 0;
	if (bytes[0] & 4) {
		path(exact, len - 1);
		free(exact);
		return 0;
	}
	if (is_text) {
		result = tapi_inet_parse(&address, (const char *)exact, "udp", has_port);
	} else {
		exact = realloc(exact, len > 1 ? len - 1 : 1);
		must(exact);
		result = tapi_inet_decode(&address, exact, len - 1, has_port);
		if (result == TAPI_OK) {
			uint8_t octets[TAPI_INET_WIRE_BYTES_MAX];

			must(tapi_inet_encode(octets, &address, has_port) == len - 1);
			must(memcmp(octets, exact, len - 1) == 0);
		}
	}
	must(result == TAPI_OK || result == TAPI_EADDR);
	if (result == TAPI_OK) {
		must_be_sound(&address, has_port);
		both_ways(&address, has_port);
	}
	free(exact);
	return 0;
}
