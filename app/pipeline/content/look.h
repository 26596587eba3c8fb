// SPDX-License-Identifier: BSD-3-Clause
// How the content of a flow stands, for who asks (query.h): copies of fixed size, nothing that
// belongs to the lcore. The owning data lcore fills them.
#ifndef SLUICE_CONTENT_LOOK_H
#define SLUICE_CONTENT_LOOK_H

#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/content_tally.h"

#define CONTENT_LOOK_FILES 8 // files of a flow that are open at a time: CONTENT_OPEN_MAX
#define CONTENT_LOOK_NAME  96

struct content_brief {       // of each flow of a list
	const char *decoder; // word of its decoder, which lives as long as the program; NULL: none
	uint64_t since_ns;   // it is in that state
	uint32_t rule_uid;   // refused: by it; 0: by none
	struct content_tally seen[2];
	uint8_t state;     // enum content_state
	uint8_t n_files;   // open now
	uint8_t n_pending; // of these, without a verdict
	bool is;           // there is something to say
	bool refused;
};

struct content_look_file {
	uint64_t size; // CONTENT_SIZE_UNKNOWN: nobody has said it
	uint64_t bytes, range_from, lost;
	uint64_t since_ns;
	uint32_t id;
	uint32_t rule_uid; // of the verdict; 0: no rule
	uint16_t type;     // file_type
	uint8_t action;    // enum content_action of the verdict
	uint8_t mode;      // enum mode of the rule
	bool type_known, upload, pending, recorded, stored;
	bool name_cut; // the beginning is missing
	uint8_t name_length;
	uint8_t name[CONTENT_LOOK_NAME]; // its end, as it was sent
};

struct content_look {      // of one flow
	uint64_t began_ns; // its decoder; 0: there is none
	uint64_t spent_ns[CONTENT_STATES_MAX];
	uint32_t text_length[2]; // by half: of a message that goes on, so far
	uint32_t n_files;
	struct content_look_file files[CONTENT_LOOK_FILES];
};

// `scanned`: a verdict of the scan engine is pending.
void content_brief(
	const struct lcore *lcore, uint32_t ref, bool scanned, struct content_brief *brief);
void content_look(const struct lcore *lcore, uint32_t ref, struct content_look *look);
// What the flow's event says at its end.
void content_summary(const struct lcore *lcore, uint32_t ref, struct content_summary *summary);

#endif
