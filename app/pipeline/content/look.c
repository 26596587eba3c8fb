// SPDX-License-Identifier: BSD-3-Clause
// Copies out how the content of a flow stands.
#include <netinet/in.h>
#include <string.h>
#include "pipeline/content/look.h"
#include "pipeline/content/state.h"
#include "pipeline/flow/table.h"

static_assert(CONTENT_LOOK_FILES == CONTENT_OPEN_MAX, "room for each file that may be open");

static const struct flow_content *content_at(const struct lcore *lcore, uint32_t ref)
{
	uint16_t at = flow_cold_at(lcore->flows, ref)->content;

	return content_has_place(at) ? &lcore->content->flows[at] : NULL;
}

static bool has_seen(const struct content_tally *seen)
{
	static const struct content_tally nothing;

	return memcmp(seen, &nothing, sizeof(nothing)) != 0;
}

static void copy_seen(const struct lcore *lcore, uint32_t ref, struct content_tally seen[2])
{
	for (unsigned half = 0; half < 2; half++)
		seen[half] = flow_cold_at(lcore->flows, ref)->half[half].content;
}

// Somebody asks for content, and who carries it is still to be found out.
static bool may_come(const struct lcore *lcore, const struct flow *flow)
{
	return content_is_asked(lcore) && !(flow->flags & (FLOW_APP_FINAL | FLOW_FINAL)) &&
	       (flow->l4_proto == IPPROTO_TCP || flow->l4_proto == IPPROTO_UDP);
}

void content_brief(
	const struct lcore *lcore, uint32_t ref, bool scanned, struct content_brief *brief)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_content *content = content_at(lcore, ref);

	memset(brief, 0, sizeof(*brief));
	copy_seen(lcore, ref, brief->seen);
	brief->since_ns = flow->start_ns;
	brief->is = content || has_seen(&brief->seen[0]) || has_seen(&brief->seen[1]) ||
		    may_come(lcore, flow);
	if (content) {
		brief->decoder = content->decoder->app;
		brief->state = content->phase;
		brief->since_ns = content->since_ns;
		brief->n_files = (uint8_t)content->n_files;
		for (const struct open_file *file = content->files; file; file = file->next)
			brief->n_pending += file->undecided;
		brief->refused = content->refused;
		if (content->refused && content->rule != RULE_DEFAULT)
			brief->rule_uid = lcore->policy->rules[content->rule].uid;
	} else if (brief->seen[0].files + brief->seen[0].messages + brief->seen[1].files +
		   brief->seen[1].messages) {
		brief->state = CONTENT_STATE_RECEIVING;
	}
	if (brief->is && scanned)
		brief->state = CONTENT_STATE_PROCESSING;
}

static void look_at_file(const struct open_file *file, struct content_look_file *out)
{
	uint32_t n = RTE_MIN((uint32_t)file->kept[KEPT_NAME], (uint32_t)CONTENT_LOOK_NAME);

	*out = (struct content_look_file){
		.size = file->size,
		.bytes = file->bytes,
		.range_from = file->range_from,
		.lost = file->lost,
		.since_ns = file->since_ns,
		.id = file->id,
		.rule_uid = file->rule_uid,
		.type = file->type,
		.action = file->action,
		.mode = file->mode,
		.type_known = file->type_known,
		.upload = file->upload,
		.pending = file->undecided,
		.recorded = file->number,
		.stored = file->stored,
		.name_cut = n < file->kept[KEPT_NAME],
		.name_length = (uint8_t)n,
	};
	memcpy(out->name, file->texts + file->kept[KEPT_NAME] - n, n);
}

void content_look(const struct lcore *lcore, uint32_t ref, struct content_look *look)
{
	const struct flow_content *content = content_at(lcore, ref);

	memset(look, 0, sizeof(*look));
	if (!content)
		return;
	look->began_ns = content->began_ns;
	memcpy(look->spent_ns, content->spent_ns, sizeof(look->spent_ns));
	if (lcore->now_ns > content->since_ns)
		look->spent_ns[content->phase] += lcore->now_ns - content->since_ns;
	for (unsigned half = 0; half < 2; half++)
		look->text_length[half] = content->text_length[half];
	for (const struct open_file *file = content->files;
		file && look->n_files < CONTENT_LOOK_FILES; file = file->next)
		look_at_file(file, &look->files[look->n_files++]);
}

void content_summary(const struct lcore *lcore, uint32_t ref, struct content_summary *summary)
{
	struct content_brief brief;
	struct content_look look;

	*summary = (struct content_summary){0};
	if (ref & FLOW_REF_STUB)
		return;
	content_brief(lcore, ref, false, &brief);
	content_look(lcore, ref, &look);
	summary->is = look.began_ns || has_seen(&brief.seen[0]) || has_seen(&brief.seen[1]);
	summary->state = brief.state;
	summary->began_ns = look.began_ns;
	memcpy(summary->spent_ns, look.spent_ns, sizeof(summary->spent_ns));
	memcpy(summary->seen, brief.seen, sizeof(summary->seen));
}
