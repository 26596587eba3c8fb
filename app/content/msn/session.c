// SPDX-License-Identifier: BSD-3-Clause
// Files of the peer-to-peer frames, by the number of their session: bytes in the order of their
// offsets, as clients send them. What comes behind a hole, or again, is not what they do: it is
// noted, as who receives may write it where it says.
#include "content/http/text.h"
#include "content/msn/msn.h"

struct msn_session *msn_session_of(const struct msn_turn *to, uint32_t id)
{
	struct msn_more *more = to->state->more;

	for (unsigned i = 0; i < MSN_SESSIONS; i++)
		if (more->sessions[i].used && more->sessions[i].id == id)
			return &more->sessions[i];
	return NULL;
}

struct msn_session *msn_session_carried(const struct msn_turn *to, uint32_t id)
{
	struct msn_more *more = to->state->more;

	for (unsigned i = 0; i < MSN_SESSIONS; i++)
		if (more->sessions[i].used && more->sessions[i].id == id &&
			more->sessions[i].label.half == to->side)
			return &more->sessions[i];
	return NULL;
}

struct msn_session *msn_session_by_call(const struct msn_turn *to, uint32_t call)
{
	struct msn_more *more = to->state->more;

	for (unsigned i = 0; i < MSN_SESSIONS; i++)
		if (more->sessions[i].used && more->sessions[i].call == call)
			return &more->sessions[i];
	return NULL;
}

void msn_session_end(const struct msn_turn *to, struct msn_session *session)
{
	content_raw_end(&session->raw, to->turn, CONTENT_END_TRUNCATED, session->raw.begins64);
}

// `before` begins anew, if it is not NULL; else the oldest place does.
struct msn_session *msn_session_new(
	const struct msn_turn *to, struct msn_session *before, uint32_t id)
{
	struct msn_more *more = to->state->more;
	struct msn_session *session = before;

	if (!session) {
		session = &more->sessions[more->next_session];
		more->next_session = (uint8_t)((more->next_session + 1) % MSN_SESSIONS);
		if (session->raw.id)
			msn_note(to, CONTENT_NOTE_TOO_MANY_REQUESTS, to->half->begin64);
	}
	msn_session_end(to, session);
	*session = (struct msn_session){.used = true, .id = id};
	return session;
}

static struct content_file file_of(const struct msn_session *session)
{
	const struct transfer_label *label = &session->label;
	struct content_file file =
		content_file_of_path(content_label_text(label->file, sizeof(label->file)),
			content_label_text(label->user, sizeof(label->user)));

	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	file.name_cut |= label->begins_cut && !file.path.length;
	if (label->size)
		file.size = label->size;
	return file;
}

static void open_file(const struct msn_turn *to, struct msn_session *session, uint64_t at)
{
	struct content_file file = file_of(session);

	session->base = at;
	file.half = to->side;
	file.announced = session->announced;
	file.partial = at;
	file.range_from = at;
	file.item = session->announced ? NULL : &session->item;
	content_raw_open(&session->raw, to->turn, &file, &to->state->files, msn_at64(to));
}

uint32_t msn_session_put(const struct msn_turn *to, struct msn_session *session, uint64_t at,
	uint64_t total, const uint8_t *bytes, uint32_t length)
{
	if (!session->raw.id)
		open_file(to, session, at);
	uint64_t reached = session->base + session->raw.at;

	if (session->label.size && session->label.size != total)
		msn_note(to, CONTENT_NOTE_TWO_LENGTHS, to->half->begin64);
	if (at < reached) {
		msn_note(to, CONTENT_NOTE_RESENT_DIFFERS, to->half->begin64);
		return length < reached - at ? length : (uint32_t)(reached - at);
	}
	if (at > reached) {
		if (!to->half->gapped)
			msn_note(to, CONTENT_NOTE_BAD_CHUNK, to->half->begin64);
		content_raw_lose(&session->raw, at - reached);
	}
	return content_raw_put(&session->raw, to->turn, bytes, length);
}

void msn_session_rest(
	const struct msn_turn *to, struct msn_session *session, uint64_t total, uint64_t ends64)
{
	if (session->base + session->raw.at >= total)
		content_raw_end(&session->raw, to->turn, CONTENT_END_CLOSED, ends64);
}

void msn_tell_offer(const struct msn_turn *to, unsigned half, struct content_text name,
	struct content_text alias, struct transfer_label *label, uint32_t *item)
{
	const struct content_sink *sink = to->turn->sink;
	struct content_file file =
		content_file_of_path(name, content_label_text(label->user, sizeof(label->user)));

	if (file.name.length)
		file.name_source = CONTENT_NAME_OFFER;
	if (alias.length && file.name.length) {
		file.aliases[0].name = alias;
		file.aliases[0].source = CONTENT_NAME_OFFER;
		file.n_aliases = 1;
	}
	file.id = ++to->state->files;
	file.half = (uint8_t)half;
	file.elsewhere = true;
	if (label->size)
		file.size = label->size;
	file.item = item;
	label->what = TRANSFER_FILE;
	content_label_file(label, name);
	sink->file(sink->ctx, &file);
}
