/*
 * output.h - the trace that importers write.
 *
 * An importer names things as its file does: process 4711, thread 12, device
 * 0, stream 7.  Here they become the numbers of the trace, each made when it is
 * first named and described again when more is known.  Names are of one file:
 * process 1 of two files is two processes.  Functions that return numbers
 * return OUTPUT_NONE when out of memory; the failure is kept and comes back
 * from output_event().
 *
 * Times are nanoseconds of the file's own clock, wherever that has its zero;
 * output_base_time() says how it relates to the time of day.
 */
#ifndef IMPORT_OUTPUT_H
#define IMPORT_OUTPUT_H

#include "base/buffer.h"
#include "import/import.h"
#include "ring/event.h"
#include "trace/writer.h"

#define OUTPUT_NONE UINT32_MAX
#define OUTPUT_METADATA_MAX 7000u /* bytes of an event's arguments; what is beyond is cut and counted */

enum { DEVICE_CUDA = 1, DEVICE_OPENCL = 2, DEVICE_HIP = 3, DEVICE_OTHER = 4 };

struct output;

/* import.c: for each file. */
int output_new(struct output **ret, struct trace_writer *writer, const struct import_options *options);
int output_begin_file(struct output *o, const char *path, struct import_report *report, struct error *err);
int output_end_file(struct output *o, struct error *err); /* says what there is to say about the source */
int output_end(struct output *o, struct error *err);      /* after the last file: the start of the trace */
int output_failure(const struct output *o);              /* the first one of the trace itself, or 0 */
void output_free(struct output *o);

/* What the file says about itself as a whole. */
void output_format(struct output *o, enum import_format format);
void output_hostname(struct output *o, const char *text, size_t size);
void output_rank(struct output *o, int64_t rank, int64_t world_size); /* of the file's processes, also those to come */
void output_base_time(struct output *o, int64_t ns); /* to be added to all its times, whenever it comes */
void output_property(struct output *o, const char *key, const void *msgpack, size_t size); /* one value; kept under "properties" */

uint32_t output_string(struct output *o, const char *text, size_t size); /* interned; "" is 0 */

uint32_t output_process(struct output *o, uint64_t pid);
void output_process_name(struct output *o, uint32_t process, const char *text, size_t size);
void output_process_command(struct output *o, uint32_t process, const char *text, size_t size);
void output_process_rank(struct output *o, uint32_t process, int64_t rank);

/* Threads have a number, or only a name: then key is a hash of it and the name is given at once. */
uint32_t output_thread(struct output *o, uint32_t process, uint64_t tid);
uint32_t output_process_track(struct output *o, uint32_t process); /* what belongs to the process as a whole, such as counters */
/* What was seen from outside: of a thread, and of the machine. */
uint32_t output_states(struct output *o, uint32_t process, uint64_t tid);
uint32_t output_host_track(struct output *o);
void output_track_name(struct output *o, uint32_t track, const char *text, size_t size);

/* The device of that number in the file; described any time. */
uint32_t output_device(struct output *o, uint64_t index);
void output_device_describe(struct output *o, uint32_t device, unsigned kind, const char *name, size_t name_size,
			    const void *properties, size_t properties_size); /* a MessagePack map; parts may be 0 */
/* A queue of the device; process OUTPUT_NONE when not known. */
uint32_t output_stream(struct output *o, uint32_t device, uint32_t process, uint64_t stream);

struct import_event {
	uint8_t kind, phase;        /* enum event_kind, enum event_phase */
	uint32_t track, name;
	int64_t time;               /* ns */
	uint32_t present;           /* bit f: field[f] counts; FIELD_DURATION is ns, FIELD_VALUE the bits of a double */
	uint64_t field[FIELD_LIMIT]; /* need not be set where the bit is not */
	const void *metadata;       /* a MessagePack map, or NULL */
	size_t metadata_size;
};
static inline void import_event_set(struct import_event *e, enum event_field field, uint64_t value)
{
	e->field[field] = value;
	e->present |= 1u << field;
}

/* Begins and ends are told apart by phase; their depth is counted here, track by track in the order they come. */
int output_event(struct output *o, const struct import_event *event, struct error *err);

bool output_lean(const struct output *o);
struct import_report *output_report(struct output *o); /* of the file at hand: the importer counts there what it skipped */
/* A place that could not be read. */
void output_damage(struct output *o, uint64_t offset, uint64_t size, const char *reason);

#endif
