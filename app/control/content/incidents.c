// SPDX-License-Identifier: BSD-3-Clause
// Puts the packets of an incident together; those of several lcores come interleaved.
#include "control/content/incidents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "control/event/sink.h"
#include "pipeline/vocab/pkt.h"

struct incident {
	struct packet_file *evidence; // NULL: none is open
	struct event event;
};

struct incidents {
	struct packet_folder *folder;
	struct incident of[LCORES_MAX];
};

int incidents_new(const char *folder, uint64_t bytes, const char *software, struct incidents **out,
	char *err, size_t err_len)
{
	struct incidents *incidents = calloc(1, sizeof(*incidents));
	int rc = -ENOMEM;

	if (incidents)
		rc = packet_folder_open(folder, bytes, software, &incidents->folder, err, err_len);
	if (rc < 0) {
		free(incidents);
		return rc;
	}
	*out = incidents;
	return 0;
}

void incidents_free(struct incidents *incidents)
{
	if (!incidents)
		return;
	for (unsigned i = 0; i < LCORES_MAX; i++)
		packet_file_drop(incidents->of[i].evidence);
	packet_folder_close(incidents->folder);
	free(incidents);
}

// LINKTYPE_ of libpcap's registry.
static uint16_t link_type_of(uint8_t link)
{
	static const uint16_t types[] = {[LINK_ETHERNET] = 1,
		[LINK_RAW] = 101,
		[LINK_NULL] = 0,
		[LINK_SLL] = 113,
		[LINK_SLL2] = 276,
		[LINK_PPP] = 9,
		[LINK_C_HDLC] = 104};

	return link < sizeof(types) / sizeof(types[0]) ? types[link] : 147; // USER0
}

static void begin(
	struct incidents *incidents, struct incident *incident, const struct content_record *record)
{
	const struct event *event = &record->event;
	char comment[160], community[40];

	community_id(&event->ends, event->l4_proto, community, sizeof(community));
	snprintf(comment, sizeof(comment), "flow_id %" PRIu64 " community_id %s lcore %u",
		event->flow_id & INT64_MAX, community, event->lcore);
	incident->event = *event;
	incident->evidence =
		packet_file_begin(incidents->folder, comment, link_type_of(record->link));
}

static bool finish(
	struct incident *incident, struct event *event, struct packet_file_result *result)
{
	struct packet_file *evidence = incident->evidence;

	if (!evidence)
		return false;
	incident->evidence = NULL;
	*event = incident->event;
	packet_file_end(evidence, event->flow_id & INT64_MAX, result);
	return true;
}

bool incidents_take(struct incidents *incidents, unsigned lcore,
	const struct content_record *record, struct event *event, struct packet_file_result *result)
{
	struct incident *incident = &incidents->of[lcore];
	bool first = record->id == 1, last = !record->goes_on, done = false;

	if (first) { // of an earlier one the rest was lost
		done = finish(incident, event, result);
		begin(incidents, incident, record);
	}
	if (!incident->evidence)
		return done;
	packet_file_add(incident->evidence, record->at, record->bytes, record->length,
		(uint32_t)record->size, last ? "refused with this packet" : NULL);
	return done || (last && finish(incident, event, result));
}

void incidents_look(const struct incidents *incidents, struct packet_folder_counters *out)
{
	packet_folder_look(incidents->folder, out);
}
