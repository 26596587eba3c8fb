// SPDX-License-Identifier: BSD-3-Clause
// Between the files that take what decoders report (report*.c); nobody else includes it.
#ifndef SLUICE_REPORT_WORK_H
#define SLUICE_REPORT_WORK_H

#include "pipeline/content/notice.h"
#include "pipeline/content/state.h"

// The inside end sends that half.
bool report_is_upload(const struct feeding *feeding, unsigned half);
// What is reported next has the next number: records, alert and evidence name it.
void report_next_item(struct feeding *feeding);
// The same of a file; of one that was announced what its announcement says.
void report_file_item(struct feeding *feeding, const struct content_file *file);
// What the policy is asked of the flow: as it stands, and where a file came before its application
// is final, as what its ends have shown to speak.
void report_input(
	const struct feeding *feeding, struct flow_ends *ends, struct decide_input *input);
// The flow (or, of a datagram that stands for itself, that) is refused.
void report_refuse(struct feeding *feeding, uint32_t rule, enum action action);
// A record of the flow, or bytes of its file, found no room: it is refused where the policy says
// so.
void report_unrecorded(struct feeding *feeding, unsigned half);
// The same of a record that was made, where its reader says that it can write none.
void report_if_unwritten(struct feeding *feeding, unsigned half);
enum action report_action_of(enum content_action action);
// `file`: that was asked about before, or NULL; evidence is kept of a verdict that is new. Of all
// names the one with the strictest verdict counts: the facts have it then.
struct content_verdict report_ask_file(const struct feeding *feeding, const struct open_file *file,
	struct file_facts *facts, const struct content_alias *aliases, unsigned n_aliases);
// For who asks how the file stands.
void report_note_verdict(const struct feeding *feeding, struct open_file *file,
	const struct content_verdict *verdict);
// It is sure, and enforced.
bool report_refuses(const struct content_verdict *verdict);
// A record of the file is asked for, or an entry did something with it.
bool report_is_recorded(const struct content_verdict *verdict);
#define HOW_REQUESTED 1u // none of it came: it was refused when it was asked for
#define HOW_AGAIN     2u // as it was refused before
// What a record says of its flow and of the rule; its texts behind each other.
void report_identify(const struct feeding *feeding, struct content_record *record,
	const struct content_verdict *verdict);
void report_put_texts(struct content_record *record, const struct content_text *texts, unsigned n);
uint32_t report_length_of(struct content_text *texts, unsigned n);
uint32_t report_uid_of(const struct lcore *lcore, uint32_t rule);
// `id`: that it was named by, or NULL. Returns the number of its records; 0: there was no room.
uint64_t report_record_file(struct feeding *feeding, const struct content_file *file,
	const struct content_verdict *verdict, const struct content_id *id, bool stored,
	unsigned how);

// notice.c: the answer to a file of that half, as things stand; and that a page is to stand for it,
// if the rule that refuses its flow wants one and nothing of the answer has left.
struct content_answer report_answer(const struct feeding *feeding, unsigned half);
void report_notice(struct feeding *feeding, const struct rule *rule,
	const struct content_answer *answer, enum content_notice_why why);

// report_again.c: something is remembered that may be refused; and a file that the policy does not
// decide about by what is known of it so far, but was refused before: the verdict is the one that
// it had. False: it was not.
bool report_remembers(const struct feeding *feeding);
bool report_refused_before(struct feeding *feeding, const struct content_file *reported,
	const struct refused_marks *marks, struct content_verdict *verdict);

// report_open.c: what is kept of a file while it is looked at; NULL: there is no room, which is
// counted where it `matters`.
struct open_file *report_open_file(struct feeding *feeding, const struct content_file *reported,
	const struct refused_marks *marks, bool matters);
struct content_text report_kept(const struct open_file *file, enum kept_text which);
// The file as it is recorded: by the name that the verdict is for.
struct content_file report_name_as(
	const struct content_file *reported, const struct file_facts *facts);
// As rules are asked about it.
struct file_facts report_facts_of(const struct open_file *file);
// What was found out behind a file's beginning makes a record of it.
void report_record_late(struct feeding *feeding, struct open_file *file,
	const struct content_verdict *verdict, const struct file_facts *facts);

// report_torrent.c: a file that says that it is a .torrent, or shows it by its bytes, is gathered,
// and what it lists is learned at its end.
bool report_learns(const struct feeding *feeding, const struct content_file *reported);
void report_learn_bytes(struct feeding *feeding, struct open_file *file, uint64_t at,
	const uint8_t *bytes, uint32_t length);
void report_learn_end(struct feeding *feeding, struct open_file *file);

// report_scan.c: files that the policy has scanned.
bool report_scans(const struct feeding *feeding, const struct content_file *reported);
void report_scan_begin(
	struct feeding *feeding, struct open_file *file, const struct content_file *reported);
void report_scan_bytes(struct feeding *feeding, struct open_file *file, uint64_t at,
	const uint8_t *bytes, uint32_t length);
// There is no memory to look at a file that is to be scanned: `busy`.
void report_scan_unseen(struct feeding *feeding, const struct content_file *reported);
// True: its end is recorded with its verdict.
bool report_scan_end(struct feeding *feeding, struct open_file *file);
void report_scan_drop(struct feeding *feeding, struct open_file *file);

// edit_request.c: a function of the sink.
bool report_word(void *ctx, const struct content_word *word);
static inline void report_count(uint16_t *counter)
{
	*counter = (uint16_t)(*counter + (*counter < UINT16_MAX));
}
// There is no memory to look at what a rule may refuse: it does not pass unseen.
void report_refuse_unseen(struct feeding *feeding);

// report_message.c: a function of the sink.
void report_message(void *ctx, const struct content_message *message);

// report_note.c: a function of the sink. Where what was said ahead of a file has had its flow
// refused, the file that is told next is what it was refused for: true, and the verdict says so.
void report_note(void *ctx, enum content_note note, unsigned half, uint64_t at64);
bool report_was_noted(struct feeding *feeding, unsigned half, struct content_verdict *verdict);
// The flow's application is surer now, and other rules apply: what was noted as opaque before is
// refused, if one of them says so.
void report_opaque_again(struct feeding *feeding);
// What was decoded is all: no such file has come.
void report_notes_over(struct feeding *feeding);

// report_ids.c: a function of the sink, and the ids that a request to a tracker over HTTP names.
void report_id(void *ctx, const struct content_id *id, unsigned half);
// A file of many that somebody lists, who need not have it: what its name is held against, and no
// more comes of it.
void report_listed(struct feeding *feeding, const struct content_file *file);
void report_ids_of_request(struct feeding *feeding, const struct content_file *request);

#endif
