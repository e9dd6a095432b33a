/*
 * process_maps.h - what lies where in the memory of a process, as far as it tells where its threads run and what they wait
 * for: code and the file it is of, memory that is shared with others, and Python's runtime, in which the interpreter's lock
 * lies.
 *
 * Reading the maps of a large process takes a millisecond, so they are read when an address is met that they do not explain,
 * and ever more rarely, down to once a second: a program loads what it needs at its beginning.
 */
#ifndef SYSTEM_PROCESS_MAPS_H
#define SYSTEM_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"

struct process_map {
	uint64_t begin, end, offset, inode; /* inode 0: of no file */
	uint32_t path;                      /* see process_maps_path() */
	bool code;
	bool pool; /* code of a library whose threads wait for each other */
	bool shared;
	bool interpreter; /* code of Python's own */
	bool profiler;    /* code of ours */
};

/* A file that may hold Python's runtime, where its first byte is loaded. */
struct process_python {
	uint64_t begin, inode;
	char path[512];
};
#define PROCESS_PYTHONS 4

struct process_maps {
	struct process_map *maps; /* by address: code, and shared memory of files */
	size_t count, capacity;
	struct buffer paths;
	struct process_python pythons[PROCESS_PYTHONS];
	size_t python_count;
	uint64_t runtime_begin, runtime_end; /* _PyRuntime; 0 to 0: there is none */
	int64_t read_ns, next_read_ns; /* when they were looked at, and not before when again; CLOCK_MONOTONIC */
	int64_t pause_ns;
};
#define PROCESS_MAPS_INIT { 0 }

void process_maps_release(struct process_maps *maps);

/* Takes the text of a `maps` file; exe is the path of the program, or "".  Lines that are not understood are passed over.
 * 0 or -ENOMEM. */
int process_maps_parse(struct process_maps *maps, const char *text, const char *exe);

/* Reads the maps and looks for Python's runtime.  Negative when that is forbidden or the process has ended, and all is as it
 * was. */
int process_maps_read(struct process_maps *maps, pid_t pid);

/* What lies at the address; NULL when it is nothing of interest. */
const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);

/* The same, with another look at the maps when they do not explain the address and the last look was long enough ago.
 * now_ns: CLOCK_MONOTONIC. */
const struct process_map *process_maps_look_up(struct process_maps *maps, pid_t pid, uint64_t address, int64_t now_ns);

/* The path of the file, as the process sees it, and the last part of that; "[vdso]" and the like, or "", when it is none.
 * Until the maps are read again. */
const char *process_maps_path(const struct process_maps *maps, const struct process_map *map);
const char *process_maps_name(const struct process_maps *maps, const struct process_map *map);

/* Opens the file of a map.  A descriptor, or negative when it cannot be had: it is gone, or is another one by now. */
int process_maps_open(const struct process_maps *maps, pid_t pid, const struct process_map *map);

static inline bool process_maps_is_gil(const struct process_maps *maps, uint64_t address)
{
	return address >= maps->runtime_begin && address < maps->runtime_end;
}

#endif
