// SPDX-License-Identifier: BSD-3-Clause
// Files that were refused, so that they stay refused: who asks for a part of one, over whatever
// connection, is refused at the request, also where the rule could not decide any more (the type of
// a file is in its first bytes, which a range leaves out). The whole of it is decided as at first.
//
// A file is remembered by marks, keyed hashes of who sends it and
//   path       the host and the path that it was asked by (GET, PUT, RETR, STOR)
//   name       the last component of that path, where a command named it: a part of a file that a
//              command asks for from another folder is the same, as nothing else says
//   validator  the host, the path without its query, its strong ETag and its size: the same file,
//              also the whole of it, whatever is asked behind '?'. An ETag is its resource's alone
//              (RFC 9110 section 8.8.3): two files of one time and size have the same one of nginx
//   id         the content id that names it in its request ("/uri-res/N2R?urn:sha1:...", RFC 2169),
//              or by which its protocol names it (struct content_whole): the same file, also the
//              whole of it. A torrent's id names all of its files, and is none of theirs
// An entry is made only of flows whose both ends are heard, and holds for the sender that sent the
// file: nobody can have another's files refused. Of a file that is infected also its SHA-1 and
// SHA-256, as the gateway has made them of its bytes, refuse requests that name one of them, to
// whomever: who chooses the id of a request and the bytes of its answer cannot have a file refused
// that has other bytes. An entry applies while the rule that refused the file is
// in force, may refuse files, and matches the flow that asks.
//
// Each data lcore has its own table, and fills those of the others by hints. A lost hint costs an
// lcore its memory of that file, not its own judgement.
// The owning lcore only, but for refused_files_new and refused_files_free.
#ifndef SLUICE_CONTENT_REFUSED_H
#define SLUICE_CONTENT_REFUSED_H

#include "content/content.h"
#include "pipeline/lcore/lcore.h"

struct refused_files;

struct refused_marks { // 0: there is none
	uint64_t path, name, validator;
	uint64_t id;     // of the sender
	uint64_t digest; // the same id as anybody's; is learned of ids that are proven alone
};

struct refused_file {
	struct refused_marks marks;
	uint64_t expires_ns;
	uint32_t rule_uid;
	uint8_t action; // enum content_action
};

// `files` at least can be remembered, each for `ttl_s`. NULL: no memory.
struct refused_files *refused_files_new(uint32_t files, uint32_t ttl_s, int socket);
void refused_files_free(struct refused_files *refused); // NULL is allowed

// Nothing is remembered: no marks need to be made in order to find one.
bool refused_files_are_empty(const struct refused_files *refused, uint64_t now_ns);
// The marks of a file of this flow.
struct refused_marks refused_marks_of(
	const struct lcore *lcore, uint32_t ref, const struct content_file *file);
// The file was refused by that rule, here (`ours`, its hint goes to the other lcores) or on another
// lcore.
void refused_files_learn(struct lcore *lcore, struct refused_files *refused,
	const struct refused_marks *marks, uint32_t rule_uid, uint8_t action);
// The same of the bytes of an infected file, whoever sends them.
void refused_files_learn_digests(struct lcore *lcore, struct refused_files *refused,
	const uint8_t sha1[20], const uint8_t sha256[32], uint32_t rule_uid, uint8_t action);
// An id whose bytes are proven, and infected: whoever names it is refused.
void refused_files_learn_id(struct lcore *lcore, struct refused_files *refused,
	const struct content_id *id, uint32_t rule_uid, uint8_t action);
// The marks of an id that is named, of which no file comes.
struct refused_marks refused_marks_of_id(const struct lcore *lcore, const struct content_id *id);
void refused_files_hint(
	struct lcore *lcore, struct refused_files *refused, const struct refused_file *file);
// NULL: it is not remembered. `partial`: a part of the file is asked for. A path, and a name of a
// command, refuse parts alone: the whole of a file is judged by its bytes, and another one may
// stand there now. Good until the next call that learns.
const struct refused_slot *refused_files_find(const struct lcore *lcore,
	const struct refused_files *refused, const struct refused_marks *marks, bool partial);

struct refused_slot {
	uint64_t mark; // 0: the slot is free
	uint64_t expires_ns;
	uint32_t rule_uid;
	uint8_t action;
};

#endif
