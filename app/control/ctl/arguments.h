// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a command, one by one. Each reader answers the request with NOK and returns
// false if what is there is wrong; what is absent leaves `*out` as it was.
#ifndef SLUICE_ARGUMENTS_H
#define SLUICE_ARGUMENTS_H

#include "control/ctl/command.h"

// All of them are among those that the command's row in the table of commands names.
bool arguments_known(struct request *request, const json_t *arguments);
bool argument_given(const json_t *arguments, const char *key);

bool argument_text(
	struct request *request, const json_t *arguments, const char *key, const char **out);
bool argument_number(struct request *request, const json_t *arguments, const char *key,
	uint64_t min, uint64_t max, uint64_t *out);
bool argument_flag(struct request *request, const json_t *arguments, const char *key, bool *out);
// One of `words` (NULL ends them): its index.
bool argument_word(struct request *request, const json_t *arguments, const char *key,
	const char *const *words, unsigned *out);
// An address, not a network; IPv4 becomes v4-mapped.
bool argument_address(
	struct request *request, const json_t *arguments, const char *key, uint8_t out[16]);
// An address or a network; `*given` says whether it is there. `out` is the caller's to free, also
// after false.
bool argument_hosts(struct request *request, const json_t *arguments, const char *key,
	struct address_set *out, bool *given);
// "TCP", "tcp", 6 or "6".
bool argument_proto(
	struct request *request, const json_t *arguments, const char *key, uint8_t *out);
// A flow's number, which has to be there.
bool argument_flow_id(struct request *request, const json_t *arguments, uint64_t *out);
// An application, or "unknown" (APP_NONE).
bool argument_app(struct request *request, const json_t *arguments, const char *key, uint16_t *out);

#endif
