// SPDX-License-Identifier: BSD-3-Clause
// Transports that break the contract, one way each, as objects to be loaded: -DBROKEN=0 and more.
// The last one breaks nothing. Each writes into the environment that it was loaded.
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/transport.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

#define REFUSES   0
#define VERSION   1
#define OWN_NAME  2
#define METHOD    3
#define PROTOCOL  4
#define MTU       5
#define NO_DONE   6
#define NO_INIT   7
#define UNDAMAGED 8

#if BROKEN == NO_INIT
#define INIT JOIN(begintransport_, NAME) // which nobody looks for
#else
#define INIT JOIN(inittransport_, NAME)
#endif
#if BROKEN == NO_DONE
#define DONE JOIN(endtransport_, NAME)
#else
#define DONE JOIN(donetransport_, NAME)
#endif
TAPI_EXPORT tapi_init_fn INIT;
TAPI_EXPORT tapi_done_fn DONE;

__attribute__((constructor)) static void loaded(void)
{
	setenv("BROKEN_LOADED", TEXT(NAME), 1);
}

static enum tapi_result helo(struct tapi_transport_api *self, const struct tapi_helo *unused)
{
	(void)self;
	(void)unused;
	return TAPI_EADDR;
}

static enum tapi_result create_helo(
	struct tapi_transport_api *self, unsigned index, struct tapi_helo *out)
{
	(void)self;
	(void)index;
	(void)out;
	return TAPI_ENOADDR;
}

static enum tapi_result connect_to(
	struct tapi_transport_api *self, const struct tapi_helo *to, struct tapi_session **out)
{
	(void)self;
	(void)to;
	(void)out;
	return TAPI_EADDR;
}

static enum tapi_result send_to(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	(void)self;
	(void)session;
	(void)message;
	(void)size;
	(void)is_encrypted;
	(void)crc;
	return TAPI_EDOWN;
}

static enum tapi_result session_to(struct tapi_transport_api *self, struct tapi_session *session)
{
	(void)self;
	(void)session;
	return TAPI_EDOWN;
}

static enum tapi_result server(struct tapi_transport_api *self)
{
	(void)self;
	return TAPI_OK;
}

static uint64_t turn(struct tapi_transport_api *self, uint64_t now_us)
{
	(void)self;
	(void)now_us;
	return UINT64_MAX;
}

static enum tapi_result to_string(
	struct tapi_transport_api *self, const struct tapi_helo *to, char *out, size_t size)
{
	(void)self;
	(void)to;
	(void)out;
	(void)size;
	return TAPI_EADDR;
}

static enum tapi_result to_address(
	struct tapi_transport_api *self, const char *text, uint8_t *out, size_t *size)
{
	(void)self;
	(void)text;
	(void)out;
	(void)size;
	return TAPI_EADDR;
}

static void info(struct tapi_transport_api *self, const struct tapi_session *session,
	struct tapi_session_info *out)
{
	(void)self;
	(void)session;
	(void)out;
}

static const struct tapi_transport_stats *stats(struct tapi_transport_api *self)
{
	static const struct tapi_transport_stats none;

	(void)self;
	return &none;
}

struct tapi_transport_api *INIT(const struct tapi_core_api *core)
{
	static const struct tapi_transport_api whole = {
		.version = BROKEN == VERSION ? TAPI_VERSION + 1 : TAPI_VERSION,
		.protocol = BROKEN == PROTOCOL ? 1 : 120,
		.mtu = BROKEN == MTU ? 0 : 1000,
		.cost = 1,
		.name = BROKEN == OWN_NAME ? "udp" : TEXT(NAME),
		.verify_helo = helo,
		.create_helo = create_helo,
		.connect = connect_to,
		.send = BROKEN == METHOD ? NULL : send_to,
		.associate = session_to,
		.disconnect = session_to,
		.start_server = server,
		.stop_server = server,
		.reload_configuration = server,
		.turn = turn,
		.address_to_string = to_string,
		.string_to_address = to_address,
		.session_info = info,
		.stats = stats,
	};
	struct tapi_transport_api *api;

	(void)core;
	if (BROKEN == REFUSES || !(api = malloc(sizeof(*api))))
		return NULL;
	memcpy(api, &whole, sizeof(whole));
	return api;
}

void DONE(struct tapi_transport_api *self)
{
	free(self);
}
