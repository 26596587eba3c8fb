// SPDX-License-Identifier: BSD-3-Clause
// A small gateway that keeps the law, in the plainest way, and mutations of it: the test of the
// streams' model. It keeps every byte it ever saw of a half.
#ifndef SLUICE_MODEL_STREAM_FAKE_H
#define SLUICE_MODEL_STREAM_FAKE_H

#include "stream_world.h"

enum fake_mutation {
	FAKE_RIGHT,
	FAKE_NO_REWRITE,    // conflicts are forwarded
	FAKE_TAIL,          // but for their last byte
	FAKE_NO_CHECKSUM,   // rewritten, the checksum is not
	FAKE_FORGETS,       // what was inspected is not kept
	FAKE_SKIPS_COPIES,  // a hole is filled, the copies behind it are not inspected
	FAKE_LAST_WINS,     // a copy takes the bytes that came later
	FAKE_OVERTAKES,     // what is held is passed by what comes next
	FAKE_LOSES,         // a held packet is lost, and not counted
	FAKE_TWICE,         // a held packet leaves twice
	FAKE_RST_ENDS,      // a RST ends inspection
	FAKE_BELIEVES,      // any acknowledgement
	FAKE_BAD_CHECKSUMS, // are inspected
	FAKE_LATE,          // a byte is inspected when it has left already
	FAKE_REFUSES,       // retransmissions are dropped
	FAKE_MUTATIONS,
};

struct stream_gateway stream_fake(enum fake_mutation mutation);

#endif
