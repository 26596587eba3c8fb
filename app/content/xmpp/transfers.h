// SPDX-License-Identifier: BSD-3-Clause
// What an XMPP connection remembers of files that were offered, or come in band (XEP-0047), until
// they are over. Bounded: the one that is of least use makes room. Inside app/content/xmpp.
#ifndef SLUICE_CONTENT_XMPP_TRANSFERS_H
#define SLUICE_CONTENT_XMPP_TRANSFERS_H

#include "content/base64.h"
#include "content/transfer.h"

#define XMPP_TRANSFERS  8 // of a connection
#define XMPP_HELD_BYTES 3

// What one half sends of it in band.
struct xmpp_band {
	struct content_raw raw;
	struct base64_stream base64; // of the block at hand
	uint64_t ends64;             // behind the last byte of its text
	uint64_t blocks;             // that have begun, or were lost
	uint32_t bytes;              // of the block at hand, decoded
	uint32_t full;               // ... of the first one
	bool gap;                    // bytes of this half were lost since its last block began
	bool torn;                   // ... inside of it
};

struct xmpp_transfer {
	// Hashes; 0: none.
	uint64_t session; // of the negotiation: SI's id, Jingle's sid
	uint64_t content; // the name of Jingle's content
	uint64_t request; // id of the stanza that offers
	uint64_t sid;     // of the stream in band
	uint64_t size;    // CONTENT_SIZE_UNKNOWN
	uint64_t range_from;
	uint32_t item;       // its number in records
	uint32_t block_size; // that its ends agreed on; 0: it is not known
	uint32_t began;      // which one of the connection it is
	uint8_t half;        // whose sender has the file
	bool offered;        // ... that is known
	bool partial;        // a part of it was asked for
	bool cut;            // the name was longer
	uint16_t length;
	uint8_t name[CONTENT_NAME_BYTES];
	struct xmpp_band bands[2]; // by half
};

struct xmpp_transfers {
	struct xmpp_transfer *all[XMPP_TRANSFERS]; // blocks of their own; NULL: free
	struct xmpp_transfer *spare;               // for the start tag at hand
	uint32_t n_begun;
	bool forgot; // one whose file may still come
};

#endif
