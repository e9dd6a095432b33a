/*
 * outside_parts.h - what outside.c and its parts share.
 */
#ifndef LIVE_OUTSIDE_PARTS_H
#define LIVE_OUTSIDE_PARTS_H

#include <signal.h>

#include "live/outside.h"
#include "record/gpu_table.h"
#include "record/gpu_watch.h"
#include "system/disk_counters.h"
#include "system/machine_memory.h"
#include "system/network_counters.h"

#define OUTSIDE_SLOW_NS 1000000000 /* between readings of the machine's files */
#define OUTSIDE_READINGS 8u       /* of the machine's counters, over which rates are made: those of a second or so */

/* A process, and what the last two views that differ say about it. */
struct outside_process {
	struct watched_process_view now;
	double cpu, user; /* user: its part of cpu, 0 to 1 */
	double rank;      /* cpu over some time: its place in the list */
	double minor_faults, major_faults;
	double read_bytes, written_bytes, read_chars, written_chars, read_calls, write_calls;
	uint64_t mark_user_ns, mark_system_ns, mark_time; /* kernels tell these apart in steps of 10 ms */
	uint64_t own_ns, waited_ns;  /* of its processor time, and of that of children that it has waited for, what is counted */
	uint64_t mark_waited_ns;     /* the latter as it was at the last mark */
	bool recorded;
	bool stays;                  /* it is in the next view, too */
	char name[LIVE_NAME];
	uint32_t name_programs; /* the program that the name is of, plus one; 0: none */
	int64_t name_ns;        /* when it was read */
};

struct outside_thread {
	struct watched_thread_view now;
	double cpu, queue, blocked;
	double rank;
	char name[32];
	uint32_t names; /* times that it was read */
	int64_t name_ns;
};

/* One of a list that is being sorted. */
struct outside_rank {
	double rank; /* larger ones first */
	uint32_t number, index;
};

/* Both lists as of the last fill, with a table to find one by its number. */
struct outside_tree {
	struct outside_process *processes, *old_processes;
	size_t process_count, process_capacity, old_process_capacity;
	struct outside_thread *threads, *old_threads;
	size_t thread_count, thread_capacity, old_thread_capacity;
	uint32_t *slots; /* of the hash table: index plus one */
	size_t slot_capacity;
	struct outside_rank *order;
	size_t order_capacity;
};

/* How many each signal has ended, in the order in which they came. */
struct outside_deaths {
	uint64_t taken; /* from the watch */
	uint64_t counts[NSIG];
};

/* Processor time of all processes. */
struct outside_time {
	uint64_t begin_birth; /* processes that were begun before that, in ticks of the kernel, have a past that is not ours; 0: none */
	int64_t mark_ns;
	uint64_t total_ns;
	bool known;
};

struct outside_machine {
	struct {
		uint64_t time;
		struct machine_counters counters;
	} readings[OUTSIDE_READINGS];
	size_t reading_count; /* ever */
	struct machine_memory_files memory_files;
	struct disk_files disk_files;
	struct network_files network_files;
	int64_t next_slow_ns, disks_ns, limits_ns, network_opened_ns, files_ns;
	int files_folder; /* of the root's descriptors; -1 */
	double files, files_limit;
	struct machine_memory memory;
	size_t disk_count, interface_count;
	struct disk_counters disks[DISK_COUNTERS_MAX];
	struct network_counters interfaces[NETWORK_COUNTERS_MAX];
	struct live_disk disk_rates[LIVE_DISKS];
	uint32_t disk_rate_count;
	struct live_network network_rates;
	double available_cpus;
	uint32_t cpu_count;
};

struct outside_gpus {
	struct gpu_samples *const *samples; /* the recorder's; NULL: there is none */
	struct gpu_watch watch;
	struct gpu_sampler sampler;
	struct gpu_table *table; /* of our own sampler; NULL: there is none */
	bool driver_looked, driver, tried;
	bool pids_hold; /* the driver's numbers of processes are ours */
	bool anybody;   /* and it has named one, of whomever: there are drivers that name none */
	int64_t next_ns;
	uint32_t looks;
};

struct outside_self {
	int status; /* of /proc/self */
	int64_t cpu_ns, cpu_time_ns, rss_ns;
	double cpu, rss_bytes;
};

struct live_outside {
	struct watch *watch;
	pid_t root;
	enum clock_source clock; /* of the watch */
	double tick_s;
	const struct drain *drain; /* NULL: nobody records */
	int64_t attached_ns;
	int64_t loader_ns; /* when workers of a DataLoader were last looked at; 0: never */
	double loader_busy;
	struct outside_tree tree;
	struct outside_deaths deaths;
	struct outside_time time;
	struct outside_machine machine;
	struct outside_gpus gpus;
	struct outside_self self;
};

/* A rate: 0 for what went back, which only a counter that began anew does; NAN when no time has passed. */
double outside_rate(uint64_t now, uint64_t before, double seconds);
/* NAN adds nothing, and a sum of nothing else is NAN. */
void outside_add(double *sum, double value);

/* outside_tree.c: what a view says. */
void outside_tree_take(struct live_outside *o, const struct watch_view *view);
void outside_tree_release(struct outside_tree *tree);
struct outside_process *outside_tree_process(const struct outside_tree *tree, pid_t pid);

/* outside_time.c: processor time that was taken, as a sum that only grows. */
void outside_time_open(struct outside_time *time);
void outside_time_begin(const struct outside_time *time, struct outside_process *p); /* one that is new */
void outside_time_end(struct outside_tree *tree, size_t old_count, const struct outside_process *p); /* one that has gone */
void outside_time_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s);

/* outside_death.c: who was ended by a signal since then; their names are those of the tree. */
void outside_death_take(struct live_outside *o, const struct watch_view *view, struct live_snapshot *s);

/* outside_list.c: processes and threads, and their sums. */
void outside_list_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s);

/* outside_name.c */
void outside_name_process(struct outside_process *p, int64_t now_ns);
bool outside_name_thread(struct outside_thread *t, int64_t now_ns); /* whether a file was read */

/* From the text of /proc/PID/cmdline, of so many bytes: "python3 train.py", "infer model.bin", for who may see the process.  The length;
 * 0 when it says nothing. */
size_t outside_name_of_command(const char *text, size_t size, char *ret, size_t ret_size);

/* outside_machine.c */
void outside_machine_open(struct live_outside *o);
void outside_machine_close(struct live_outside *o);
void outside_machine_take(struct live_outside *o, const struct watch_view *view);
void outside_machine_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s);

/* outside_devices.c: disks and network interfaces. */
void outside_disks_read(struct outside_machine *m, double seconds);
void outside_network_read(struct outside_machine *m, double seconds);

/* outside_gpu.c */
void outside_gpu_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s);
void outside_gpu_release(struct outside_gpus *gpus);

#endif
