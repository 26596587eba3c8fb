// SPDX-License-Identifier: BSD-3-Clause
// Packets of refused flows, as data lcores record them, to files of evidence (audit/packet_file.h).
// The reader's thread only.
#ifndef SLUICE_CONTENT_INCIDENTS_H
#define SLUICE_CONTENT_INCIDENTS_H

#include "audit/packet_file.h"
#include "pipeline/content/record.h"

struct incidents;

// -errno with a message. `folder`: of the files; `bytes`: that they may take together, 0: no limit.
int incidents_new(const char *folder, uint64_t bytes, const char *software, struct incidents **out,
	char *err, size_t err_len);
void incidents_free(struct incidents *incidents); // NULL is allowed

// A record of a packet. True: an incident is complete, and `result` says what became of it; `event`
// is whose it is.
bool incidents_take(struct incidents *incidents, unsigned lcore,
	const struct content_record *record, struct event *event,
	struct packet_file_result *result);
void incidents_look(const struct incidents *incidents, struct packet_folder_counters *out);

#endif
