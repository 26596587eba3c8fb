// SPDX-License-Identifier: BSD-3-Clause
// BODYSTRUCTURE (RFC 3501 7.4.2): what the parts of a message are, and how they are encoded, for
// parts that are fetched without their heads. Pure; any core.
#ifndef SLUICE_CONTENT_IMAP_STRUCTURE_H
#define SLUICE_CONTENT_IMAP_STRUCTURE_H

#include "content/content.h"

#define IMAP_STRUCTURES_BYTES 16384 // of those that were seen last
#define IMAP_MADE_BYTES       2048  // of a head that is made of one

// Structures as they were sent, each behind its message's number; literals without line ends.
struct imap_structures {
	uint8_t *bytes; // IMAP_STRUCTURES_BYTES; NULL: none
	uint32_t length;
	uint32_t begins; // of the one that comes
	bool comes;
};

// One begins, of that message; what is known of the message is forgotten.
void imap_structure_begin(struct imap_structures *structures, uint32_t number);
// The next bytes of it; for want of room the oldest are forgotten.
void imap_structure_add(struct imap_structures *structures, const uint8_t *bytes, uint32_t n);
void imap_structure_end(struct imap_structures *structures);

// A head as the part's own says it, into IMAP_MADE_BYTES at `to`; NULL: nothing is written. `path`:
// "2.1". Its length; 0: the part is not known.
uint32_t imap_structure_head(const struct imap_structures *structures, uint32_t number,
	struct content_text path, uint8_t *to);

#endif
