/* words.c - see words.h; docs/analysis.md says what each of them means. */
#include "analyze/words.h"

#include <stddef.h>
#include <string.h>

static const struct words all[] = {
	/* whose the time of the main thread is (host.h) */
	{ "python", "Python", "Python code", NULL },
	{ "operators", "operators", "framework operators", NULL },
	{ "native", "native code", "native code of libraries", NULL },
	{ "data_loading", "data loading", "data loading", "starves" },
	{ "messages", "messages", "messages between processes", NULL },
	{ "logging", "logging", "writing logs", NULL },
	{ "garbage_collection", "garbage collection", "collecting garbage", "delays" },
	{ "compilation", "compiling", "compiling code", NULL },
	{ "imports", "imports", "importing modules", NULL },
	{ "file_calls", "file calls", "reading and writing files", NULL },
	{ "new_memory", "new memory", "getting new memory from the kernel", NULL },
	{ "kernel", "kernel", "work of the kernel", NULL },
	{ "wait_disk", "wait for disk", "waiting for disks", NULL },
	{ "wait_fsync", "wait for fsync", "waiting until files are on the disk", NULL },
	{ "wait_network", "wait for network", "waiting for the network", NULL },
	{ "wait_clients", "wait for clients", "waiting for clients", NULL },
	{ "sleep", "sleep", "sleeping", NULL },
	{ "wait_gil", "wait for GIL", "waiting for Python's lock (GIL)", NULL },
	{ "wait_lock", "wait for lock", "waiting for locks", NULL },
	{ "wait_workers", "wait for workers", "waiting for its own threads and processes", NULL },
	{ "wait_child", "wait for child", "waiting for programs that it started", NULL },
	{ "wait_pool", "wait for pool", "waiting for a library's threads", NULL },
	{ "wait_device", "wait for device", "waiting for the device", NULL },
	{ "wait_unresolved", "unexplained waits", "waiting, and it cannot be told for what", NULL },
	{ "start_and_end", "start and end", "starting and ending the interpreter", NULL },
	{ "profiler", "recording", "recording itself", NULL },
	{ "unknown", "unknown", "in nothing that was recorded", NULL },
	/* where nobody looked from outside (breakdown.c) */
	{ "scopes", "scopes", "code in scopes", NULL },
	{ "runtime", "runtime calls", "calls of the GPU's runtime", NULL },
	{ "waiting", "waiting", "waiting for the GPU", NULL },
	{ "other", "other", "other work", NULL },
	/* what devices do */
	{ "gpu_compute", "compute", "computing on the GPU", "delays" },
	{ "communication", "communication", "communicating between GPUs", "delays" },
	{ "copy", "copies", "copying to and from the GPU", NULL },
	{ "no_gpu_work", "no GPU work", "before and after the GPU's work", NULL },
	{ "idle_host_late", "idle, host late", "the GPU's wait for late launches", NULL },
	{ "idle_sync", "idle, host waits", "the GPU's wait while the host waits for it", NULL },
	{ "idle_launch_latency", "idle, launch", "the GPU's wait for launches to arrive", NULL },
	{ "idle_dependency", "idle, dependency", "the GPU's wait for other work of its own", NULL },
	{ "idle_input", "idle, input", "the GPU's wait for input", NULL },
	{ "idle_jit", "idle, compiling", "the GPU's wait while code is compiled", NULL },
	{ "idle_no_work", "idle, no work", "the GPU's wait for work", NULL },
	{ "idle_unknown", "idle, unknown", "the GPU's wait, and the trace does not tell why", NULL },
	/* why they are idle */
	{ "host_late", "host late", "the host launches late", NULL },
	{ "sync", "host waits", "the host waits for it", NULL },
	{ "launch_latency", "launch latency", "launches take their time", NULL },
	{ "dependency", "dependency", "it waits for other work of its own", NULL },
	{ "input", "input", "it waits for input", NULL },
	{ "jit", "compiling", "code is compiled", NULL },
	{ "no_work", "no work", "there is nothing to do", NULL },
	/* what findings are about */
	{ "preprocessing", "preprocessing", "preparing data", "starves" },
	{ "synchronization", "synchronization", "waiting for results", "delays" },
	{ "kernel_launch", "kernel launches", "late launches", "starve" },
	{ "cpu_computation", "computing on the CPU", "computing on the CPU", "delays" },
	{ "startup", "starting up", "starting up", "delays" },
	{ "jit_compilation", "compiling code", "compiling code", "delays" },
	{ "gpu_transfer", "copies to and from the GPU", "copying to and from the GPU", "delays" },
	{ "straggler", "slowest rank", "waiting for the slowest rank", "delays" },
	{ "i_o_operation", "reading and writing", "reading and writing", "delays" },
	{ "network_latency", "waiting for the network", "waiting for the network", "delays" },
	{ "memory_allocation", "allocating memory", "allocating memory", "delays" },
	{ "memory_pressure", "lack of memory", "a lack of memory", "delays" },
	{ "gil_contention", "waiting for the GIL", "waiting for Python's lock (GIL)", "delays" },
	{ "lock_contention", "waiting for locks", "waiting for locks", "delays" },
	{ "oversubscription", "too many threads", "waiting for a processor", "delays" },
	/* the bottleneck in one word */
	{ "cpu_bound", "limited by the CPU", "limited by the CPU", NULL },
	{ "gpu_bound", "limited by the GPU", "limited by the GPU", NULL },
	{ "memory_bound", "limited by memory", "limited by memory", NULL },
	{ "balanced", "balanced", "limited by neither processor nor memory", NULL },
	/* checks of integrity; what they found is a sentence of its own */
	{ "call_detail", "detail of calls", "the detail of calls", NULL },
	{ "clock_sync", "clocks", "how well clocks agree", NULL },
	{ "complete", "complete", "whether the recording is complete", NULL },
	{ "damaged_trace", "damage", "damage of the file", NULL },
	{ "gpu_recording", "recording of GPUs", "the recording of GPUs", NULL },
	{ "gpu_throttling", "throttled GPUs", "GPUs that are throttled", NULL },
	{ "gpu_work_before_launch", "GPU work before its launch", "GPU work before its launch", NULL },
	{ "gpu_work_without_launch", "GPU work without a launch", "GPU work without a launch", NULL },
	{ "graph_work_missing", "missing work of graphs", "missing work of graphs", NULL },
	{ "huge_durations", "huge durations", "events that last very long", NULL },
	{ "launches_without_gpu_work", "launches without GPU work", "launches without GPU work", NULL },
	{ "lost_records", "lost events", "events that were lost", NULL },
	{ "missing_host_events", "missing events of the host", "missing events of the host", NULL },
	{ "missing_sync_events", "missing waits for GPUs", "missing waits for GPUs", NULL },
	{ "rank_clocks", "clocks of ranks", "how well clocks of ranks agree", NULL },
	{ "repaired_input", "repaired events", "events that had to be repaired", NULL },
	{ "same_stream_overlaps", "overlaps in a stream", "work of a stream that overlaps", NULL },
	{ "stray_gpu_work", "stray GPU work", "GPU work far from all other", NULL },
	{ "unrecognized_communication", "communication not recognized", "communication that is not recognized", NULL },
	{ "zero_durations", "durations of zero", "events that take no time", NULL },
};

const struct words *words_of(const char *identifier)
{
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].identifier, identifier) == 0)
			return &all[i];
	return NULL;
}

const char *words_label(const char *identifier)
{
	const struct words *words = words_of(identifier);

	return words ? words->label : identifier;
}

const char *words_phrase(const char *identifier)
{
	const struct words *words = words_of(identifier);

	return words ? words->phrase : identifier;
}
