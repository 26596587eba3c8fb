// SPDX-License-Identifier: BSD-3-Clause
// The ring of evidence records, and the filters that find those of a flow.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/lcore/lcore.h"
#include "pipeline/event/evidence.h"
#include "pipeline/flow/ends.h"
#include "pipeline/flow/table.h"
#include "pipeline/policy/policy.h"

struct evidence_log *evidence_log_new(uint32_t records, int socket)
{
	struct evidence_log *log = rte_zmalloc_socket("evidence_log", sizeof(*log), 64, socket);

	if (!log)
		return NULL;
	log->size = records ? records : 1;
	log->records =
		rte_malloc_socket("evidence", sizeof(struct evidence) * log->size, 64, socket);
	if (log->records)
		return log;
	rte_free(log);
	return NULL;
}

void evidence_log_free(struct evidence_log *log)
{
	if (log)
		rte_free(log->records);
	rte_free(log);
}

struct evidence *evidence_add(struct lcore *lcore, enum evidence_kind kind, uint64_t flow_id)
{
	struct evidence_log *log = lcore->evidence;
	struct evidence *evidence = &log->records[log->at];

	if (++log->at == log->size)
		log->at = 0;
	if (log->written++ >= log->size)
		lcore->stats.evidence_overwritten++;
	lcore->stats.evidence_written++;
	*evidence = (struct evidence){
		.at_ns = lcore->now_ns,
		.flow_id = flow_id,
		.generation = lcore->policy ? (uint32_t)lcore->policy->generation : 0,
		.signature = UINT16_MAX,
		.kind = (uint8_t)kind,
	};
	return evidence;
}

struct evidence *evidence_add_loose(struct lcore *lcore, enum evidence_kind kind)
{
	struct evidence_log *log = lcore->evidence;

	if (lcore->now_ns - log->loose_window_ns >= NS_PER_S) {
		log->loose_window_ns = lcore->now_ns;
		log->loose_in_window = 0;
	}
	if (log->loose_in_window >= EVIDENCE_LOOSE_PER_S) {
		lcore->stats.evidence_limited++;
		return NULL;
	}
	log->loose_in_window++;
	return evidence_add(lcore, kind, 0);
}

void evidence_set_ref(struct evidence *evidence, const struct lcore *lcore, uint32_t ref)
{
	bool stub = ref & FLOW_REF_STUB;
	uint16_t flags =
		stub ? flow_stub_at(lcore->flows, ref)->flags : flow_at(lcore->flows, ref)->flags;
	int32_t pos = stub ? flow_stub_at(lcore->flows, ref)->key_pos
			   : flow_at(lcore->flows, ref)->key_pos;
	const union flow_key *key = flow_key_of(lcore->flows, pos, flags & FLOW_V6);
	uint16_t vlan[2] = {0};

	if (!stub)
		evidence->ends = flow_cold_at(lcore->flows, ref)->ends;
	else
		flow_ends_of(key, flags, &evidence->ends);
	evidence->l4_proto = stub ? flow_stub_at(lcore->flows, ref)->l4_proto
				  : flow_at(lcore->flows, ref)->l4_proto;
	if (realm_tags(parse_key_realm(key, flags & FLOW_V6), vlan))
		evidence->vlan = (uint16_t)(vlan[0] | 1u << 15);
	evidence->flags |= EVIDENCE_HAS_ENDS;
}

// Of a packet that parse refused: the addresses of the IP header at which it stopped, if there is
// one. No ports: the refusal may be about them.
static bool refused_ends(struct rte_mbuf *m, struct flow_ends *ends)
{
	const struct pkt *pkt = pkt_of(m);
	bool v6 = pkt->ethertype == 0x86dd;
	uint8_t buffer[40];

	if ((pkt->class != PKT_MALFORMED && pkt->class != PKT_UNSUPPORTED) ||
		(!v6 && pkt->ethertype != 0x0800) || (!pkt->l3_off && pkt->link != LINK_RAW))
		return false;
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, buffer);

	if (!ip || ip[0] >> 4 != (v6 ? 6 : 4))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		if (v6) {
			memcpy(ends->address[i], ip + 8 + 16 * i, 16);
		} else {
			memset(ends->address[i] + 10, 0xff, 2);
			memcpy(ends->address[i] + 12, ip + 12 + 4 * i, 4);
		}
	}
	return true;
}

void evidence_set_packet(struct evidence *evidence, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	evidence->vlan = pkt->n_vlan ? (uint16_t)(pkt->vlan[0] | 1u << 15) : 0;
	if (pkt->class == PKT_IP) {
		evidence->l4_proto = pkt->l4_proto;
		packet_ends(m, &evidence->ends);
	} else if (!refused_ends(m, &evidence->ends)) {
		return;
	}
	evidence->flags |= EVIDENCE_HAS_ENDS;
}

static void set_bytes(
	struct evidence *evidence, const struct span *span, const struct classify_step *step)
{
	// A prefix begins with its half; a datagram is numbered by itself.
	if (span->flags & SPAN_DATAGRAM)
		evidence->flags |= EVIDENCE_OF_DATAGRAM;
	evidence->offset = step->matched_to - step->n_bytes;
	evidence->length = step->n_bytes;
	evidence->looked_at = step->looked_at;
	evidence->n_bytes = step->n_bytes;
	memcpy(evidence->bytes, step->bytes, sizeof(evidence->bytes));
}

void evidence_steps(struct lcore *lcore, uint64_t flow_id, const struct span *span,
	const struct classify_work *work)
{
	static const uint8_t kinds[] = {
		[CLASSIFY_STEP_SIGNATURE] = EVIDENCE_SIGNATURE,
		[CLASSIFY_STEP_SHAPE] = EVIDENCE_SHAPE,
		[CLASSIFY_STEP_PORT] = EVIDENCE_PORT_GUESS,
		[CLASSIFY_STEP_HOST] = EVIDENCE_USER_APP,
	};

	static_assert(CLASSIFY_STEP_BYTES == EVIDENCE_BYTES, "bytes are copied whole");
	for (unsigned i = 0; i < work->n_steps; i++) {
		const struct classify_step *step = &work->steps[i];
		bool guess = step->kind == CLASSIFY_STEP_PORT;
		bool user = step->kind == CLASSIFY_STEP_HOST || (guess && step->app > app_count());
		struct evidence *evidence =
			evidence_add(lcore, user ? EVIDENCE_USER_APP : kinds[step->kind], flow_id);

		evidence->app = step->app;
		evidence->signature = step->signature;
		evidence->detail = step->answer;
		evidence->confidence = step->confidence;
		evidence->half = step->half;
		if (user)
			evidence->detail = guess ? EVIDENCE_BY_PORT : EVIDENCE_BY_HOST;
		if (guess)
			evidence->length = step->looked_at;
		else
			set_bytes(evidence, span, step);
	}
}

static bool end_matches(
	const struct flow_ends *ends, unsigned end, const struct flow_ends *wanted, unsigned as)
{
	return memcmp(ends->address[end], wanted->address[as], 16) == 0 &&
	       (!wanted->port[as] || !ends->port[end] || ends->port[end] == wanted->port[as]);
}

static bool between(const struct evidence_filter *filter, const struct flow_ends *ends)
{
	for (unsigned end = 0; end < 2; end++)
		if (end_matches(ends, end, &filter->ends, HALF_C2S) &&
			end_matches(ends, !end, &filter->ends, HALF_S2C))
			return true;
	return false;
}

static bool of_host(const struct evidence_filter *filter, const struct flow_ends *ends)
{
	uint16_t port = filter->ends.port[0];

	if (port && (ends->port[0] || ends->port[1]) && ends->port[0] != port &&
		ends->port[1] != port)
		return false;
	return memcmp(ends->address[0], filter->ends.address[0], 16) == 0 ||
	       memcmp(ends->address[1], filter->ends.address[0], 16) == 0;
}

static bool of_user(const struct lcore *lcore, const struct evidence_filter *filter,
	const struct flow_ends *ends)
{
	return flow_user_uid(lcore, ends, true) == filter->user_uid ||
	       flow_user_uid(lcore, ends, false) == filter->user_uid;
}

bool evidence_filter_has(const struct lcore *lcore, const struct evidence_filter *filter,
	const struct flow_ends *ends, uint8_t l4_proto, uint32_t rule_uid)
{
	// an entry of the connection cache of mode peer has neither port nor protocol
	if (filter->l4_proto && l4_proto && l4_proto != filter->l4_proto)
		return false;
	switch ((enum evidence_scope)filter->scope) {
	case EVIDENCE_SCOPE_ENDS: return between(filter, ends);
	case EVIDENCE_SCOPE_HOST: return of_host(filter, ends);
	case EVIDENCE_SCOPE_USER: return of_user(lcore, filter, ends);
	case EVIDENCE_SCOPE_RULE: return rule_uid == filter->rule_uid;
	}
	return false;
}

static bool is_of_rule(const struct evidence *evidence, uint32_t rule_uid)
{
	switch ((enum evidence_kind)evidence->kind) {
	case EVIDENCE_DECISION:
	case EVIDENCE_MONITOR: return evidence->rule_uid == rule_uid;
	case EVIDENCE_TOO_UNSURE:
	case EVIDENCE_CONTENT:
	case EVIDENCE_CONTENT_NOTE:
	case EVIDENCE_CACHE_LEARNED:
	case EVIDENCE_CACHE_HIT: // without a rule it is the operator's entry
		return rule_uid && evidence->rule_uid == rule_uid;
	default: return false;
	}
}

static bool is_one_of(uint64_t flow_id, const uint64_t flow_ids[EVIDENCE_FLOWS_MAX])
{
	for (unsigned i = 0; i < EVIDENCE_FLOWS_MAX && flow_ids[i]; i++)
		if (flow_ids[i] == flow_id)
			return true;
	return false;
}

bool evidence_matches(const struct lcore *lcore, const struct evidence *evidence,
	const struct evidence_filter *filter)
{
	if (filter->flow_ids[0])
		return is_one_of(evidence->flow_id, filter->flow_ids);
	if (filter->scope == EVIDENCE_SCOPE_RULE)
		return is_of_rule(evidence, filter->rule_uid);
	return evidence->flags & EVIDENCE_HAS_ENDS &&
	       evidence_filter_has(lcore, filter, &evidence->ends, evidence->l4_proto, 0);
}
