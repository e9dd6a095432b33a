/*
 * layout.h - the shared memory between profiled processes and the recorder.
 *
 * A session is a folder.  Its file "session" is one page that the recorder
 * makes and every process maps; each process makes one file of its own, "p" and
 * its number:
 *
 *      +----------------+ 0
 *      | process header |   who, counters
 *      +----------------+ PROCESS_RINGS_OFFSET
 *      | ring headers   |   one for each thread, 128 bytes
 *      +----------------+ PROCESS_NAME_INDEX_OFFSET
 *      | name index     |   id - first id of this process -> offset in the text + 1
 *      +----------------+ PROCESS_NAME_TEXT_OFFSET
 *      | name text      |   length (u16), bytes
 *      +----------------+ PROCESS_CHUNKS_OFFSET
 *      | chunk entries  |   whose chunk it is, and which of its slots it holds
 *      +----------------+ header.chunk_offset
 *      | chunks         |   64 KiB, 2048 slots each
 *      +----------------+
 *
 * The file is sparse.  Memory is committed before its first use (ring/memory.h)
 * because a store to a page that cannot be had would be a signal.
 *
 * A thread's slots are numbered from 0.  Its ring is the set of chunks that it
 * owns; chunk c holds slots [base, base + 2048) of its owner.  When a chunk is
 * full the thread takes its oldest chunk if that has been drained, else leases
 * another from the session's budget, else does what the overflow policy says.
 * When the budget runs out the recorder takes drained chunks away from threads
 * that once needed many, so that others can have them.
 *
 * The producer publishes `produced` after the slots.  The recorder copies
 * slots, and then looks whether the chunk still holds what it did: a chunk that
 * changed hands meanwhile is counted as lost, whole.  Nobody waits for anybody.
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/event.h"

#define SESSION_MAGIC 0x3130535346504e49ull /* "INPFSS01" */
#define PROCESS_MAGIC 0x3130435046504e49ull
#define SESSION_PAGE_SIZE 4096u
#define SESSION_FILE "session"

/* A process that has something to say to the user ("this Python has no extension") leaves it in the session's folder, as
 * a file of one line of UTF-8: "n", its pid, and, for more than one, "." and a number.  The recorder tells it. */
#define NOTE_MAX_BYTES 500u
#define NOTE_LIMIT 64u

/* What a process knows of itself that the trace is to have ("interpreter /usr/bin/python3") is in a file "f" and its pid: a line
 * for each, a word and what it says.  Of lines that begin with the same word the last one counts. */
#define FACT_MAX_BYTES 600u    /* of a line */
#define FACTS_MAX_BYTES 16384u /* of a file; what is beyond is not read */

#define RING_LIMIT 16384u
#define CHUNK_SIZE 65536u
#define CHUNK_SLOTS (CHUNK_SIZE / sizeof(struct event_slot))
#define CHUNK_LIMIT 1048576u /* 64 GiB, the largest budget */
#define NAME_LIMIT 131072u
#define NAME_TEXT_SIZE (16u << 20)
#define NAME_MAX_BYTES 1000u

/*
 * A name is bytes without NUL; or, when it stands for a function of the program, four parts with a NUL between them:
 *
 *      module NUL qualified name NUL file NUL line (decimal)
 */

/* Name ids are per process.  A forked child goes on where its parent stood; ids below its first one are its parent's. */
#define NAME_NONE 0u
#define NAME_TOO_MANY 1u
#define NAME_FIRST 2u

enum ring_overflow { OVERFLOW_WRAP = 0, OVERFLOW_DISCARD = 1, OVERFLOW_BLOCK = 2 };

/*
 * The door of CUDA has a file of its own, "c" and the number of its process: what the driver's library writes there is
 * translated in the process, and by the process's heir where it was killed before that was done (cuda/memory.c).
 */
#define CUDA_FILE_MAGIC 0x3230445543504e49ull

struct cuda_file {
	uint64_t magic;
	_Atomic uint32_t settled; /* there is nothing in it that is not in the ring */
	uint32_t taken;           /* bytes of what the door knows: how it lies there is private to the library, and changes with it */
};

struct session_page {
	uint64_t magic;
	uint32_t version;
	uint32_t clock_source;
	uint32_t overflow;
	uint32_t block_timeout_ms;
	uint32_t chunk_limit; /* the budget, for the whole session */
	uint32_t recorder_pid;
	char boot_id[40]; /* ticks mean something within one boot */
	int64_t start_ticks;
	_Alignas(64) _Atomic uint32_t closed; /* the recorder has ended: detach */
	_Atomic uint32_t gpus_unsampled; /* the driver tells the recorder nothing about GPUs: a door may ask */
	_Alignas(64) _Atomic uint32_t chunks_used;
	_Atomic uint32_t processes;         /* numbers given out */
	_Atomic uint64_t refused_processes; /* processes that could not make their file */
	_Atomic uint32_t refused_code;      /* errno of the first of them */
};
_Static_assert(sizeof(struct session_page) <= SESSION_PAGE_SIZE, "one page");

#define PROCESS_FORKED 1u
#define PROCESS_COMMAND_SIZE 2048u

struct process_header {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	uint32_t pid;
	uint32_t parent;     /* number + 1, 0: none; the process this one was forked from */
	uint32_t first_name; /* ids below are resolved in the parent */
	uint32_t chunk_limit;
	uint64_t chunk_offset;
	uint64_t file_size;
	uint64_t start_ticks;
	uint64_t pid_namespace; /* inode; the recorder asks for the pid only in its own */
	uint64_t birth;         /* when the kernel began it; a program that replaced another (exec) has the other's */
	uint32_t parent_pid;
	uint32_t reserved;
	uint32_t flags;
	uint32_t command_size;
	char command[PROCESS_COMMAND_SIZE]; /* arguments, NUL between them */

	_Alignas(64) _Atomic uint32_t ready;  /* all of the above is there */
	_Atomic uint32_t rings;               /* headers [0, rings) have been in use */
	_Atomic uint32_t chunks;              /* entries [0, chunks) have been in use */
	_Atomic uint32_t names;               /* largest id + 1 */
	_Atomic uint64_t names_refused;       /* events recorded as NAME_TOO_MANY */
	_Atomic uint64_t functions, functions_skipped; /* seen by a language's hook; of them, left out as asked */
	_Atomic uint64_t refused_no_ring;     /* events of threads that could not get a ring */
	_Atomic uint64_t short_ns;            /* functions whose calls take less were not looked into, for a time; 0: all were */
	_Atomic uint32_t streams;             /* of devices: numbers below have been given to one */
	_Alignas(64) _Atomic uint32_t free_rings;  /* hints, raised by the recorder: look for one */
	_Atomic uint32_t free_chunks, empty_chunks;
};
_Static_assert(sizeof(struct process_header) <= 4096, "one page");

/* Unused ones are what a new file is full of, and are taken by number; free ones by whoever finds them. */
enum ring_state { RING_UNUSED = 0, RING_LIVE = 1, RING_EXITED = 2, RING_FREE = 3 };

#define RING_FORKED 1u /* the thread that called fork: its open scopes are the parent's */

struct ring_header {
	/* the producer's line */
	_Atomic uint64_t produced; /* slots */
	_Atomic uint64_t extra;    /* of them, continuations and padding: events are the difference */
	_Atomic uint64_t refused_full;
	_Atomic uint64_t refused_no_chunk;
	_Atomic uint64_t refused_reentry;
	_Atomic uint32_t name;
	uint32_t tid;
	_Atomic uint32_t serial; /* of the thread, in its process; set last */
	uint32_t flags;
	uint64_t start_ticks;
	/* shared */
	_Alignas(64) _Atomic uint64_t drained; /* slots that are safely in the file; the recorder's */
	_Atomic uint32_t state;
	uint32_t reserved;
	_Atomic uint64_t skipped; /* calls left out as asked, as far as they are known; the producer's */
	_Atomic uint64_t short_calls; /* recorded without what they called */
	_Atomic uint64_t left_out;    /* not recorded, for being short and many; as far as they are known */
	uint32_t reserved2[6];
};
_Static_assert(sizeof(struct ring_header) == 128, "two cache lines");

#define CHUNK_UNUSED 0u
#define CHUNK_EMPTY 0xfffffffdu   /* without memory, and not in the budget: taken back by the recorder */
#define CHUNK_FREE 0xfffffffeu    /* given back by a thread of this process */
#define CHUNK_CLAIMED 0xffffffffu /* being leased, or emptied */
#define CHUNK_NO_BASE UINT64_MAX

struct chunk_entry {
	_Atomic uint32_t owner;     /* ring + 1, or one of the above */
	_Atomic uint32_t committed; /* slots that have memory; looking beyond them could be a signal */
	_Atomic uint64_t base;       /* number of its first slot; CHUNK_NO_BASE while it changes.  Who changes it to that, the
	                              * thread to use the chunk again or the recorder to take it away, has the chunk */
	_Atomic uint64_t extra_base; /* `extra` of the ring when it began this chunk */
	uint64_t reserved2;
};
_Static_assert(sizeof(struct chunk_entry) == 32, "two a cache line");

#define PROCESS_RINGS_OFFSET 4096u
#define PROCESS_NAME_INDEX_OFFSET (PROCESS_RINGS_OFFSET + RING_LIMIT * (uint64_t)sizeof(struct ring_header))
#define PROCESS_NAME_TEXT_OFFSET (PROCESS_NAME_INDEX_OFFSET + NAME_LIMIT * (uint64_t)sizeof(uint32_t))
#define PROCESS_CHUNKS_OFFSET (PROCESS_NAME_TEXT_OFFSET + NAME_TEXT_SIZE)

static inline uint64_t layout_chunk_offset(uint32_t chunk_limit)
{
	return (PROCESS_CHUNKS_OFFSET + chunk_limit * (uint64_t)sizeof(struct chunk_entry) + CHUNK_SIZE - 1) / CHUNK_SIZE *
	       CHUNK_SIZE;
}

static inline uint64_t layout_file_size(uint32_t chunk_limit)
{
	return layout_chunk_offset(chunk_limit) + chunk_limit * (uint64_t)CHUNK_SIZE;
}

/* The parts of a mapped process file. */
static inline struct ring_header *layout_rings(void *map)
{
	return (struct ring_header *)((char *)map + PROCESS_RINGS_OFFSET);
}

static inline _Atomic uint32_t *layout_name_index(void *map)
{
	return (_Atomic uint32_t *)((char *)map + PROCESS_NAME_INDEX_OFFSET);
}

static inline uint8_t *layout_name_text(void *map)
{
	return (uint8_t *)map + PROCESS_NAME_TEXT_OFFSET;
}

static inline struct chunk_entry *layout_chunks(void *map)
{
	return (struct chunk_entry *)((char *)map + PROCESS_CHUNKS_OFFSET);
}

/* A slot as four words: what both sides read and write, so that each word is whole. */
typedef _Atomic uint64_t slot_word;

static inline slot_word *layout_chunk(void *map, uint64_t chunk_offset, uint32_t chunk)
{
	return (slot_word *)((char *)map + chunk_offset + (uint64_t)chunk * CHUNK_SIZE);
}

#endif
