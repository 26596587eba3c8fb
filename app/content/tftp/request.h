// SPDX-License-Identifier: BSD-3-Clause
// TFTP's requests and acknowledgments of options: RFC 1350, 2347 to 2349, 7440. Pure.
#ifndef SLUICE_CONTENT_TFTP_REQUEST_H
#define SLUICE_CONTENT_TFTP_REQUEST_H

#include "content/content.h"

enum tftp_opcode {
	TFTP_RRQ = 1,
	TFTP_WRQ = 2,
	TFTP_DATA = 3,
	TFTP_ACK = 4,
	TFTP_ERROR = 5,
	TFTP_OACK = 6,
};

struct tftp_options {
	uint64_t tsize;   // CONTENT_SIZE_UNKNOWN: not said
	uint32_t blksize; // 0: not said
	bool rollover_1;  // behind block 65535 comes 1, not 0
};

struct tftp_request {
	struct content_text name;
	struct tftp_options options;
	bool strict; // as RFC 1350 and 2347 have it, to its last octet
};

// `rest`: behind the opcode. False: no server can read a name.
bool tftp_request_read(struct content_text rest, struct tftp_request *request);
// Options in pairs, up to the first that is not whole.
struct tftp_options tftp_options_read(struct content_text rest);

#endif
