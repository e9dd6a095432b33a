/*
 * report_parts.h - what the files of a report share.
 */
#ifndef REPORT_REPORT_PARTS_H
#define REPORT_REPORT_PARTS_H

#include "analyze/analysis.h"
#include "base/json_writer.h"

/* report_json.c */
void report_json_name(struct json_writer *j, const char *key, const struct timeline *t, uint32_t name);
void report_json_entry(struct json_writer *j, const struct timeline *t, const struct analysis_entry *e);

/* report_json_findings.c: bottleneck, findings, suggestions */
void report_json_findings(struct json_writer *j, const struct analysis *a);

/* report_json_device.c */
void report_json_devices(struct json_writer *j, const struct analysis *a);
void report_json_window(struct json_writer *j, const struct device_window *w);

/* report_device.c: for any report */

/* The part of a kernel's name that tells it from others: without "void", and well-known namespaces.  Still not safe to print. */
const char *report_short_name(const char *name, size_t *size);

/* Numbers of the longest gaps of a device, the longest first; at most `most` of them, allocated.  NULL when there are none
 * or no memory. */
uint32_t *report_longest_gaps(const struct device_states *states, uint32_t most, uint32_t *ret_count);
/* The slice that explains a gap best: the blocking call, what was on top, or the launch; TIMELINE_NONE. */
uint32_t report_gap_reason(const struct timeline_gap *gap);

#endif
