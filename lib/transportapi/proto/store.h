// SPDX-License-Identifier: BSD-3-Clause
// Known peers, kept over a restart: the HELOs that were validated, one file, replaced at once
// whole, mode 0600. What is read is checked by the caller like one from the wire (tapi_helo_check);
// validation begins anew. One writer per path: a second one would take its unfinished file away.
#ifndef TRANSPORTAPI_STORE_H
#define TRANSPORTAPI_STORE_H

#include "transportapi/proto/helo.h"

struct tapi_store_record {
	struct tapi_helo helo;
	uint64_t validated_us; // wall clock
};

// At most `most`. A file that is damaged gives what is whole before the damage, and says so in
// *error with TAPI_EFORMAT; absent: TAPI_OK and nothing.
enum tapi_result tapi_store_read(const char *path, unsigned most,
	void (*each)(void *context, const struct tapi_store_record *record), void *context,
	struct tapi_error *error);

struct tapi_store_writer;
enum tapi_result tapi_store_begin(
	struct tapi_store_writer **out, const char *path, struct tapi_error *error);
// TAPI_EFORMAT: it is malformed, and left out. TAPI_ESYS: commit will fail.
enum tapi_result tapi_store_add(
	struct tapi_store_writer *writer, const struct tapi_store_record *record);
// Takes the writer, whatever comes. After an error the old file is as it was.
enum tapi_result tapi_store_commit(struct tapi_store_writer *writer, struct tapi_error *error);

#endif
