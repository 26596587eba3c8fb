// SPDX-License-Identifier: BSD-3-Clause
// Counters, one struct per data lcore: one writer (that lcore), any reader (the control core
// sums them; a reader may see a value a loop old). X(name, help): the struct field, the name in
// `sluicectl stats`, in the EVE stats record and (with sluice_ and _total) in metrics.
#ifndef SLUICE_STATS_H
#define SLUICE_STATS_H

#include <assert.h>
#include <stdint.h>
#include "pipeline/vocab/app_id.h"
#include "pipeline/vocab/egress_kind.h"
#include "pipeline/vocab/verdict.h"

#define STATS_COUNTERS(X)                                                                 \
	/* the ledger: received + injected == sent + dropped + held + consumed */         \
	X(received_pkts, "packets taken from ports")                                      \
	X(received_bytes, "bytes taken from ports")                                       \
	X(injected_pkts, "packets made by the gateway (RST, ICMP)")                       \
	X(sent_pkts, "packets accepted by a driver")                                      \
	X(sent_bytes, "bytes accepted by a driver")                                       \
	X(dropped_bytes, "bytes dropped, all reasons")                                    \
	X(consumed_pkts, "packets that ended here on purpose")                            \
	/* parse */                                                                       \
	X(ipv4_pkts, "IPv4 packets")                                                      \
	X(ipv6_pkts, "IPv6 packets")                                                      \
	X(vlan_pkts, "packets with at least one VLAN tag")                                \
	X(link_pkts, "packets that are not IP")                                           \
	X(arp_pkts, "ARP packets")                                                        \
	X(malformed_pkts, "packets that no host accepts")                                 \
	X(unsupported_pkts, "packets with more headers or tunnels than we follow")        \
	X(unsupported_headers, "of these, with headers too far behind")                   \
	X(unsupported_tunnels, "of these, in more tunnels than are followed")             \
	X(unsupported_routing, "of these, on their way to a segment of their route")      \
	X(unsupported_fragments, "of these, fragments within too many others")            \
	X(linktype_pkts, "packets of an unknown link type (replay)")                      \
	X(fragment_pkts, "IP fragments")                                                  \
	X(tunnel_pkts, "packets whose inner flow is inspected")                           \
	X(tunnel_undecoded_pkts, "tunnel packets whose inside is not decoded")            \
	X(icmp_error_pkts, "ICMP errors that embed a packet of a flow")                   \
	X(icmp_errors_receiver, "of these, not sent to the quoted source")                \
	X(icmp_errors_zone, "of these, from the quoted sender's own zone")                \
	X(icmp_errors_unsent, "of these, about a packet that was never sent")             \
	X(icmp_errors_window, "of these, about a TCP segment not in flight")              \
	X(icmp_errors_oversize, "of these, longer than hosts make them")                  \
	X(icmp_errors_limited, "of these, dropped by the rate limit")                     \
	X(icmp_redirects, "ICMP redirects")                                               \
	X(multiseg_pkts, "packets of more than one mbuf segment")                         \
	X(bad_checksum_pkts, "packets with a wrong L4 checksum")                          \
	X(checksum_verified_pkts, "L4 checksums verified in software")                    \
	/* fragments */                                                                   \
	X(datagrams_whole, "datagrams put together from fragments")                       \
	X(datagrams_handoff, "of these, given to the lcore that owns the flow")           \
	X(datagrams_overlap, "datagrams given up because fragments overlapped")           \
	X(datagrams_invalid, "datagrams given up because their lengths contradict")       \
	X(datagrams_timeout, "datagrams given up because parts did not come in time")     \
	X(datagrams_limit, "datagrams given up because a limit was reached")              \
	X(fragment_duplicates, "fragments that came twice")                               \
	/* sharing */                                                                     \
	X(handoff_out_pkts, "packets given to the lcore that owns the flow")              \
	X(handoff_in_pkts, "packets taken from another lcore")                            \
	X(tx_handoff_pkts, "packets given to the lcore that owns the tx queue")           \
	X(bypassed_pkts, "packets sent uninspected for a stalled lcore")                  \
	X(bypassed_bytes, "bytes of these")                                               \
	/* impairment */                                                                  \
	X(impaired_pkts, "packets taken by the impairment stage")                         \
	X(impaired_delayed, "of these, packets that had to wait")                         \
	X(impaired_reordered, "of these, packets that skipped the delay")                 \
	X(impaired_duplicated, "duplicates made by the impairment stage")                 \
	X(impaired_corrupted, "packets with a bit flipped by the impairment stage")       \
	X(impaired_queue_full, "packets that found the impaired line's queue full")       \
	X(impaired_nomem, "duplicates not made because the mbuf pool was empty")          \
	X(hints_sent, "hints broadcast to other lcores")                                  \
	X(hints_received, "hints taken from other lcores")                                \
	X(hints_lost, "hints lost to a full ring")                                        \
	/* flows */                                                                       \
	X(flows_embryonic, "embryonic entries made")                                      \
	X(flows_created, "flows made (first payload seen, or a FIN ahead of it)")         \
	X(flows_ended, "flows and embryonic entries ended")                               \
	X(flows_condemned, "flows torn down or dropped by policy")                        \
	X(refused_unheard, "packets refused while not both ends are heard")               \
	X(alerts_limited, "alerts of these withheld by a rate limit")                     \
	X(flows_evicted, "entries ended early because a table was full")                  \
	X(inspections_evicted, "of these, for want of states or memory to inspect")       \
	X(flows_over_share, "entries beyond their source's share, the first to go")       \
	X(flow_table_full, "packets for which no entry could be made")                    \
	X(flows_midstream, "TCP flows picked up without their SYN")                       \
	X(emergency_entered, "times that a flow table passed 90 %")                       \
	X(elephants, "flows that were fast for long (gateway.json: elephant)")            \
	/* stream and classification */                                                   \
	X(tcp_gaps, "gaps told to consumers")                                             \
	X(tcp_ahead_pkts, "segments ahead of the next byte")                              \
	X(tcp_old_pkts, "segments with nothing new")                                      \
	X(tcp_gap_bytes, "bytes of these gaps, never seen")                               \
	X(tcp_copied_pkts, "segments forwarded ahead of a hole, with a copy kept")        \
	X(tcp_copied_bytes, "bytes of these copies")                                      \
	X(tcp_held_pkts, "segments held behind a job of ours")                            \
	X(tcp_held_timeout_pkts, "held segments dropped by their time-out")               \
	X(tcp_absorbed_pkts, "retransmissions of held bytes, absorbed")                   \
	X(tcp_released_pkts, "held segments sent after their verdict")                    \
	X(tcp_overlap_pkts, "segments with bytes that were sent or kept before")          \
	X(tcp_conflict_pkts, "segments with other bytes than were sent before")           \
	X(tcp_conflict_bytes, "bytes that differed")                                      \
	X(tcp_rewritten_pkts, "segments rewritten to the bytes that were sent first")     \
	X(tcp_edited_pkts, "segments in which bytes of a message were blanked")           \
	X(tcp_edited_bytes, "bytes blanked, in those sent again, too")                    \
	X(tcp_memory_drops, "segments dropped: reassembly memory was used up")            \
	X(tcp_half_limit_drops, "segments dropped: their half kept too much")             \
	X(tcp_held_limit_drops, "segments dropped: too many were held")                   \
	X(tcp_not_tracked, "flows for which no tracker state was free")                   \
	X(tcp_paws_pkts, "segments with an older timestamp than their half's (PAWS)")     \
	X(tcp_window_pkts, "segments outside their receiver's window")                    \
	X(tcp_acks_made, "ACKs made in place of those inside held segments")              \
	X(tcp_closing_pkts, "segments after a RST, tracked still")                        \
	X(mptcp_stripped, "segments whose options of multipath TCP were taken out")       \
	X(flows_mptcp, "multipath TCP flows that passed (tcp.mptcp: pass)")               \
	X(urg_cleared, "segments whose URG flag was cleared")                             \
	X(flows_midstream_passed, "flows passed for lack of a SYN (tcp.midstream)")       \
	X(flows_law_waived, "flows that passed uninspected bytes for want of room")       \
	X(classify_pkts, "data packets given to the classifier")                          \
	X(classify_scans, "Hyperscan calls")                                              \
	X(classify_hits, "signature hits before verification")                            \
	X(classify_refused, "signature hits that a verifier refused")                     \
	X(classify_quic_tried, "Initial packets of QUIC tried to be opened")              \
	X(classify_quic_opened, "Initial packets of QUIC opened")                         \
	X(classify_mtproto_tried, "connections tried as Telegram's transport")            \
	X(classify_mtproto_opened, "connections of Telegram's transport")                 \
	X(classify_mtproto_limited, "connections not tried: too many in a second")        \
	X(classify_hello_refused, "Datagrams that would hide the name a client asks for") \
	X(classify_done, "flows classified by payload")                                   \
	X(classify_cache, "flows classified by an expectation")                           \
	X(expectations_told, "secondary flows announced by others")                       \
	X(expectations_refused, "announcements without room, or too many of one")         \
	X(expectations_expired, "announced flows that did not come in time")              \
	X(expectations_evicted, "announcements evicted by younger ones")                  \
	X(uncloak_tried, "payloads tried to be opened by secrets that others told")       \
	X(uncloak_opened, "payloads opened by them")                                      \
	X(endpoints_learned, "endpoints of peers told by flows in clear")                 \
	X(endpoints_refused, "endpoints and names not believed, or too many of one")      \
	X(endpoints_replicated, "endpoints and names learned from another lcore")         \
	X(endpoints_hits, "flows classified by the endpoint cache")                       \
	X(endpoints_wrong, "endpoints taken out: a flow was something else")              \
	X(endpoints_expired, "endpoints and names expired")                               \
	X(endpoints_evicted, "endpoints and names evicted by younger ones")               \
	X(chain_full, "entries evicted or refused because their hash chain was full")     \
	X(names_learned, "addresses of names told by DNS answers")                        \
	X(names_hits, "flows classified by the name cache")                               \
	X(classify_giveup, "flows whose budget ended without an application")             \
	X(classify_again, "datagrams at which a known flow was classified again")         \
	X(classify_changed, "flows that were found to be another application then")       \
	X(classify_nomem, "data packets that found no classifier state free")             \
	/* content */                                                                     \
	X(content_flows, "flows whose files or messages were decoded")                    \
	X(content_files, "files whose transfer was seen")                                 \
	X(content_messages, "chat messages that were seen")                               \
	X(content_scans, "calls of Hyperscan for names of files and messages")            \
	X(content_edited, "chat messages that were dropped or masked on their way")       \
	X(content_edit_late, "chat messages that could not be: their flow was reset")     \
	X(content_ranges, "Range fields of requests that were renamed on their way")      \
	X(content_ranges_late, "Range fields that could not be: their flow was reset")    \
	X(content_codings, "codings that requests named, and were renamed on their way")  \
	X(content_refused, "flows refused for a file or message")                         \
	X(content_ids, "content ids that were named while a list of ids was in force")    \
	X(content_ids_refused, "of these, refused: its flow, or a datagram")              \
	X(refused_files_learned, "refused files that are remembered")                     \
	X(refused_files_again, "flows refused as they asked for a refused file again")    \
	X(refused_files_evicted, "refused files forgotten for younger ones")              \
	X(torrents_learned, "torrents whose list of files has come")                      \
	X(torrents_evicted, "torrents forgotten for younger ones")                        \
	X(torrents_full, "torrents that found no room, as all are in use")                \
	X(torrents_unread, "torrents whose list is broken, or too long")                  \
	X(content_ambiguous, "places where hosts may differ, or a limit was met")         \
	X(content_ambiguous_refused, "flows refused for such a place")                    \
	X(content_opaque, "flows that went on in a form that is not decoded")             \
	X(content_nomem, "spans of content that found no room for their decoder")         \
	X(content_over_share, "of these, as their source has its share of the places")    \
	X(content_lost, "files or messages that found no room to be recorded")            \
	X(content_lost_closed, "flows refused as they could not be recorded")             \
	X(decode_nomem, "spans of known flows that found no decoder state free")          \
	X(greetings_told, "hellos and requests told to the control core")                 \
	X(greetings_lost, "the same, left out while the event ring was half full")        \
	X(greetings_nomem, "hellos in parts left out while states were scarce")           \
	/* decision and teardown */                                                       \
	X(decisions, "policy evaluations")                                                \
	X(decisions_again, "evaluations of live flows after a reload")                    \
	X(monitor_hits, "would have been blocked, but for monitor mode")                  \
	X(resets_sent, "RST packets sent")                                                \
	X(resets_limited, "RST packets withheld by the rate limit")                       \
	X(resets_impossible, "teardowns by drop because no RST could be built")           \
	X(notices_sent, "pages sent to clients in place of a refused answer")             \
	X(notices_again, "of these, sent again as they had not arrived")                  \
	X(notices_late, "answers reset without a page, which could not stand for them")   \
	X(notices_full, "answers reset without a page, as no place was free")             \
	X(notices_unread, "pages that no client has acknowledged: it was reset")          \
	X(make_nomem, "RST and ICMP packets not made because the mbuf pool was empty")    \
	X(icmp_rejects_sent, "ICMP unreachables sent")                                    \
	X(icmp_rejects_limited, "ICMP unreachables withheld by the rate limit")           \
	/* scanning */                                                                    \
	X(scan_jobs, "jobs given to the scan engine")                                     \
	X(scan_clean, "verdicts: clean")                                                  \
	X(scan_infected, "verdicts: infected")                                            \
	X(scan_unscanned, "verdicts: unscanned")                                          \
	X(scan_errors, "verdicts: error, or no ring took the job")                        \
	X(scan_timeouts, "jobs that nobody answered in time")                             \
	X(scan_stale, "verdicts that nobody waited for")                                  \
	X(scan_abandoned, "jobs whose flow ended before their verdict")                   \
	X(scan_ring_full, "jobs that found their ring full")                              \
	X(scan_flows_full, "flows for which no place under scan was free")                \
	X(scan_evicted, "halves of flows that were evicted while a file waited")          \
	X(scan_files_full, "files for which there was no place, or no room in the arena") \
	X(swarm_full, "files in parts for which there was no place, or no room")          \
	X(swarm_busy, "segments of these whose file another lcore had for too long")      \
	X(swarm_differs, "segments of files in parts with other bytes than came before")  \
	X(swarm_poisoned, "of these, whose place was proven: they were not taken")        \
	X(swarm_proven, "pieces of files in parts, or files, that have their digest")     \
	X(swarm_bad, "pieces, or files, that have another: pieces are thrown away")       \
	X(swarm_condemned, "ids of files in parts that were found to be infected")        \
	X(swarm_forgotten, "files in parts that were not whole when they were given up")  \
	/* connection cache */                                                            \
	X(cache_hits, "packets dropped by the connection cache")                          \
	X(cache_saved_bytes, "bytes dropped by the connection cache")                     \
	X(cache_learned, "entries learned here")                                          \
	X(cache_replicated, "entries learned from another lcore")                         \
	X(cache_expired, "entries expired")                                               \
	X(cache_evicted, "entries evicted because the cache was full")                    \
	X(cache_exempt, "entries not made because the peer is exempt")                    \
	X(cache_learn_only, "hits let through by learn-only mode")                        \
	X(cache_healed, "entries removed because the policy no longer blocks")            \
	/* evidence */                                                                    \
	X(evidence_written, "pieces of evidence kept for explain")                        \
	X(evidence_overwritten, "pieces of evidence that newer ones overwrote")           \
	X(evidence_limited, "pieces without a flow left out by their rate limit")         \
	/* events */                                                                      \
	X(events_sent, "events given to the control core")                                \
	X(events_lost, "events lost to a full ring")                                      \
	X(events_unheard_lost, "events of unheard flows left out while the ring filled")  \
	X(anomalies, "anomalies seen: conflicts, gaps, fragments (docs/events.md)")       \
	X(anomalies_limited, "anomalies without a record of theirs: the rate limit")      \
	X(names_requests, "requests, long and second hellos whose host was read")         \
	X(names_changed, "flows that asked for another name later")                       \
	X(names_nomem, "packets without room for a long head")                            \
	X(names_displaced, "flows that lost the place for their head to another")         \
	X(trace_lost, "steps of traced packets not told: the event ring was half full")

// Of reassembly; gauges, kept up to date or stored at the end of each loop. X(name, help).
#define STATS_GAUGES(X)                                                              \
	X(expectations_active, "announced flows that are waited for")                \
	X(endpoints_active, "entries of the endpoint cache")                         \
	X(names_active, "entries of the name cache")                                 \
	X(slab_blocks, "memory blocks for copies and sent bytes")                    \
	X(slab_blocks_used, "of these, in use")                                      \
	X(tracked_limit, "TCP flows that can be tracked at a time")                  \
	X(tracked_active, "TCP flows that are tracked")                              \
	X(tcp_holes_active, "halves that wait for a segment, with copies behind it") \
	X(tcp_held_limit, "segments that can be held at a time")                     \
	X(tcp_held_active, "segments that are held behind a job of ours")            \
	X(scan_flows, "TCP flows that are under scan")                               \
	X(scan_files, "files that are under scan")                                   \
	X(scan_pending, "scan jobs that wait for a verdict")                         \
	X(swarm_files, "files in parts that are known")                              \
	X(swarm_bytes, "memory of these")                                            \
	STATS_LONGEST(X)

// Of these, what does not add up: of all lcores together it is the greatest.
#define STATS_LONGEST(X)                                                            \
	X(chain_flows, "entries of the longest chain of the flow table")            \
	X(chain_conn_cache, "entries of the longest chain of the connection cache") \
	X(chain_endpoints, "entries of the longest chain of the endpoint cache")    \
	X(chain_names, "entries of the longest chain of the name cache")            \
	X(chain_expectations, "entries of the longest chain of announced flows")    \
	X(chain_fragments, "entries of the longest chain of datagrams in fragments")

struct stats {
#define X(name, help) uint64_t name;
	STATS_COUNTERS(X)
#undef X
	uint64_t dropped_pkts[DROP_REASONS_MAX];
	// Of packets that leave, by kind: entered == sent + dropped behind the entry point + held.
	// [EGRESS_NONE]: dropped before it; sent: none.
	uint64_t egress_entered[EGRESS_KINDS_MAX];
	uint64_t egress_sent[EGRESS_KINDS_MAX];
	uint64_t egress_dropped[EGRESS_KINDS_MAX];
	// Gauges, stored at the end of each loop.
	uint64_t held_pkts;      // in keepers of this lcore, and the rings it consumes
	uint64_t fragments_held; // of these, fragments of datagrams that are not whole
	uint64_t datagrams_held; // datagrams that these belong to, or that were given up
	uint64_t flows_active;
	uint64_t embryos_active;
	uint64_t elephants_active; // kept up to date as it changes
	uint64_t cache_entries;
#define X(name, help) uint64_t name;
	STATS_GAUGES(X)
#undef X
	uint64_t loops;
	uint64_t busy_loops;    // loops that took at least one packet
	uint64_t busy_ns;       // time in these
	uint64_t loop_ns;       // time in all of them, and in naps between them
	uint64_t busy_permille; // busy_ns of loop_ns in the last whole second
	uint64_t heartbeat_ns;  // `now_ns` of the last loop
} __attribute__((aligned(64)));

#define STATS_MEMBER_COUNT(name, help) +1
enum {
	STATS_COUNTERS_MAX = 0 STATS_COUNTERS(STATS_MEMBER_COUNT),
};
#undef STATS_MEMBER_COUNT
static_assert(sizeof(uint64_t) * STATS_COUNTERS_MAX <= sizeof(struct stats), "counters fit");

// What an application uses (flow/app_usage.h); one more is of flows that are not known yet.
#define APP_USAGE_PENDING APPS_MAX // struct flow.usage_app of a flow that is not known yet

struct app_usage {
	uint64_t pkts[2];  // by half
	uint64_t bytes[2]; // frames, as received
	uint64_t flows;    // that came to be known as this application
	uint64_t flows_active;
	uint64_t flows_blocked;
} __attribute__((aligned(64)));

#endif
