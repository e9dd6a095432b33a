/*
 * live_server.c - a server of made-up snapshots, for tests of the page, /metrics and /api.
 *
 *      live_server ADDRESS [TOKEN [open] [hostile] [large]]
 *
 * Prints the address to open, then does what lines of its input say, and answers each with "ok SEQUENCE":
 *
 *      run MS          publishes a snapshot every MS milliseconds from now on; 0: no more
 *      burst N US      publishes N at once, one every US microseconds; each is a second of the run
 *      alert           begins an alert, or ends it
 *      end STATUS      the program has ended
 *
 * At the end of its input it stops the server.
 */
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/serve.h"

#define HOSTILE "</script><img src=x onerror=alert(1)>\"\\\n\x1b[31m\xff\xe2\x80\xae"

static struct live_snapshot now;
static bool hostile, large, alarmed;

static const char *name(const char *plain)
{
	return hostile ? HOSTILE : plain;
}

static double wave(double period, double low, double high)
{
	return low + (high - low) * (0.5 + 0.5 * sin(now.run_s * 6.283 / period));
}

static void fill_machine(void)
{
	now.cpu = (struct live_cpu){ .share = wave(40, 0.4, 1.9), .user = 1, .system = 0.2, .queue = 0.1, .machine = wave(40, 0.2, 0.9),
				     .steal = 0, .throttled = 0, .available = 2, .count = 2, .frequency_mhz = 2600 };
	now.cpu.gil_wait = 2;
	now.cpu.time_s = 1.2 * now.run_s;
	now.memory.rss_bytes = 8e8 + 1e6 * fmod(now.run_s, 600);
	now.memory.total_bytes = 16e9;
	now.memory.available_bytes = 9e9;
	now.memory.used = 7.0 / 16;
	now.memory.minor_faults = 120;
	now.memory.major_faults = 0;
	now.io.read_bytes = wave(15, 0, 4e7);
	now.io.written_bytes = wave(22, 0, 9e6);
	now.io.disk_count = 1;
	now.io.disks[0] = (struct live_disk){ .read_bytes = now.io.read_bytes, .written_bytes = now.io.written_bytes,
					      .busy = wave(15, 0, 0.7) };
	snprintf(now.io.disks[0].name, sizeof now.io.disks[0].name, "%s", "vda");
	now.network.received_bytes = wave(60, 0, 2e6);
	now.network.sent_bytes = wave(33, 0, 3e5);
	now.network.interface_count = 1;
	now.network.interfaces[0] = (struct live_interface){ .received_bytes = now.network.received_bytes,
							     .sent_bytes = now.network.sent_bytes };
	snprintf(now.network.interfaces[0].name, sizeof now.network.interfaces[0].name, "%s", name("eth0"));
}

static void fill_gpus(void)
{
	now.gpu_count = large ? LIVE_GPUS : 1;
	for (uint32_t i = 0; i < now.gpu_count; i++) {
		struct live_gpu *gpu = &now.gpus[i];

		*gpu = (struct live_gpu){ .memory_used_bytes = 2.1e10, .memory_total_bytes = 4e10, .program_bytes = 2e10,
					  .utilization = wave(25, 0.5, 1), .memory_utilization = NAN, .sm_clock_mhz = 1410, .sm_clock_limit_mhz = 1410,
					  .power_watts = 300, .power_limit_watts = 400, .temperature_celsius = 61 };
		snprintf(gpu->name, sizeof gpu->name, "%s", name("NVIDIA A100-SXM4-40GB"));
		snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%08x", i);
	}
}

static void fill_threads(void)
{
	static const char *const states[] = { "running", "gil", "lock", "poll", "sleep", "file", "device" };
	static const char *const names[] = { "python", "pt_data_worker", "pt_autograd_0", "cuda-EvtHandlr", "jemalloc_bg_thd" };

	now.process_count = large ? LIVE_PROCESSES : 3;
	for (uint32_t i = 0; i < now.process_count; i++) {
		now.processes[i] = (struct live_process){ .pid = 4000 + (int)i, .parent = i ? 4000 : 1, .state = i ? 'S' : 'R', .threads = 6,
							  .cpu = i ? 0.2 : 0.9, .rss_bytes = 3e8, .read_bytes = 1e5, .written_bytes = NAN,
							  .recorded = true };
		snprintf(now.processes[i].name, sizeof now.processes[i].name, "%s", name(i ? "pt_data_worker" : "python train.py"));
	}
	now.thread_count = large ? LIVE_THREADS : 14;
	for (uint32_t i = 0; i < now.thread_count; i++) {
		struct live_thread *t = &now.threads[i];
		double cpu = i == 0 ? wave(11, 0.6, 0.98) : 0.3 / i;

		*t = (struct live_thread){ .pid = 4000, .tid = 4000 + (int)i, .cpu = cpu, .queue = 0.01, .blocked = 0.99 - cpu,
					   .waiting_s = i ? fmod(now.run_s, 7) : NAN, .depth = 3 };
		snprintf(t->name, sizeof t->name, "%s", name(names[i % 5]));
		snprintf(t->state, sizeof t->state, "%s", states[i % 7]);
		snprintf(t->what, sizeof t->what, "%s", i % 7 == 5 ? name("/data/imagenet/train/n01440764/shard-000123.tar") : "");
		snprintf(t->scope, sizeof t->scope, "%s", i < 2 ? name("train/forward") : "");
		snprintf(t->op, sizeof t->op, "%s", i == 0 ? "aten::conv2d" : "");
	}
}

static void add_slice(double begin, double duration, uint32_t depth, const char *kind, const char *what)
{
	struct live_slice *slice = &now.slices[now.slice_count++];

	*slice = (struct live_slice){ .begin_s = begin, .duration_s = duration, .depth = depth };
	snprintf(slice->kind, sizeof slice->kind, "%s", kind);
	snprintf(slice->name, sizeof slice->name, "%s", what);
}

static void fill_steps(void)
{
	static const char *const ops[] = { "aten::conv2d", "aten::batch_norm", "aten::relu", "aten::max_pool2d", "aten::linear" };
	double step = wave(30, 0.08, 0.16);

	now.steps.known = true;
	now.steps.last_s = step;
	now.steps.median_s = 0.12;
	now.steps.p95_s = 0.16;
	now.steps.rate = 1 / step;
	now.steps.since_s = 0.03;
	now.steps.input_wait = 0.18;
	now.steps.count += 8;
	now.steps.sum_s += 8 * step;
	now.steps.input_sum_s += 8 * step * 0.18;
	now.steps.buckets[7] += 5;
	now.steps.buckets[8] += 3;
	snprintf(now.steps.name, sizeof now.steps.name, "%s", name("train step"));
	now.slice_count = 0;
	add_slice(0, step, 0, "scope", name("train step"));
	add_slice(0, step * 0.18, 1, "scope", "next(loader)");
	add_slice(step * 0.18, step * 0.4, 1, "scope", "forward");
	for (int i = 0; i < 5; i++)
		add_slice(step * (0.19 + 0.075 * i), step * 0.07, 2, "op", ops[i]);
	add_slice(step * 0.58, step * 0.3, 1, "scope", "backward");
	add_slice(step * 0.9, step * 0.1, 1, "op", "Optimizer.step#AdamW.step");
	now.slices_left_out = 211;
	snprintf(now.steps.found, sizeof now.steps.found, "%s", "the name of a scope");
	now.doing = (struct live_doing){ .pid = 4000, .tid = 4000, .window_s = 10, .input = 0.1, .operators = 0.64, .scopes = 0.14,
					 .functions = 0, .running = 0.08, .queueing = 0, .waiting = 0.04 };
	snprintf(now.doing.thread, sizeof now.doing.thread, "%s", "the main thread");
	snprintf(now.doing.most, sizeof now.doing.most, "%s", name("aten::conv2d"));
	snprintf(now.doing.text, sizeof now.doing.text, "computing in operators 64 %% of the last 10 s, most in %s (30 %%)", name("aten::conv2d"));
	now.place_count = 6;
	for (uint32_t i = 0; i < now.place_count; i++) {
		now.places[i] = (struct live_place){ .calls = 8.0 * (i + 1), .share = 0.3 / (i + 1) };
		snprintf(now.places[i].kind, sizeof now.places[i].kind, "%s", i ? "op" : "scope");
		snprintf(now.places[i].name, sizeof now.places[i].name, "%s", i ? ops[i % 5] : name("train step"));
	}
}

static void fill_counters(void)
{
	now.counter_count = large ? LIVE_COUNTERS : 2;
	for (uint32_t i = 0; i < now.counter_count; i++) {
		now.counters[i].value = i ? 0.25 : 12;
		snprintf(now.counters[i].name, sizeof now.counters[i].name, "%s", name(i ? "loss" : "requests in queue"));
	}
}

static void set_alert(bool active)
{
	struct live_alert *alert = &now.alerts[0];

	if (active) {
		*alert = (struct live_alert){ .number = ++now.alerts_begun, .severity = LIVE_WARNING, .begin_s = now.run_s, .times = 1,
					      .value = 0.83, .threshold = 0.8 };
		snprintf(alert->kind, sizeof alert->kind, "%s", "memory_high");
		snprintf(alert->subject, sizeof alert->subject, "%s", hostile ? HOSTILE : "");
		snprintf(alert->text, sizeof alert->text, "%s", name("Memory is 83 % full: 13.3 of 16.0 GB"));
		snprintf(alert->advice, sizeof alert->advice, "%s",
			 "Look for what grows: a list of losses that keeps its graph, a cache without a bound.");
	}
	alert->active = active;
	alert->end_s = active ? (double)NAN : now.run_s;
	now.alert_count = 1;
	now.active_alerts = active;
	alarmed = active;
}

static void publish(struct live_serve *serve, double seconds)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	now.realtime_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	now.sequence++;
	now.run_s += seconds;
	now.interval_s = seconds;
	fill_machine();
	fill_gpus();
	fill_threads();
	fill_steps();
	fill_counters();
	now.events.rate = 61000;
	now.events.total += (uint64_t)(61000 * seconds);
	now.events.trace_bytes = 5 * now.events.total;
	live_serve_publish(serve, &now);
}

static void begin(void)
{
	live_snapshot_clear(&now);
	now.pid = 4000;
	now.start_ns = 1700000000123456789;
	now.events.recorded = true;
	now.own_cpu = 0.004;
	now.own_rss_bytes = 8.2e6;
	snprintf(now.command, sizeof now.command, "%s", name("python train.py --epochs 90"));
	snprintf(now.program, sizeof now.program, "%s", name("python train.py"));
	snprintf(now.gpu_source, sizeof now.gpu_source, "%s", "nvml");
}

static void burst(struct live_serve *serve, int count, int us)
{
	for (int i = 0; i < count; i++) {
		publish(serve, 1);
		usleep((useconds_t)us);
	}
}

static void obey(struct live_serve *serve, const char *line, int *interval)
{
	int a = 0, b = 0;

	if (sscanf(line, "run %d", &a) == 1) {
		*interval = a;
	} else if (sscanf(line, "burst %d %d", &a, &b) == 2) {
		burst(serve, a, b);
	} else if (strcmp(line, "alert\n") == 0) {
		set_alert(!alarmed);
		publish(serve, 0.1);
	} else if (sscanf(line, "end %d", &a) == 1) {
		now.state = LIVE_ENDED;
		now.exit_status = a;
		publish(serve, 0.1);
	}
	printf("ok %llu\n", (unsigned long long)now.sequence);
	fflush(stdout);
}

static void serve_until_end(struct live_serve *serve)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[256];
	int interval = 0;

	for (;;) {
		int ready = poll(&input, 1, interval > 0 ? interval : -1);

		if (ready == 0)
			publish(serve, interval / 1000.0);
		else if (!fgets(line, sizeof line, stdin))
			break;
		else
			obey(serve, line, &interval);
	}
}

int main(int argc, char **argv)
{
	struct live_serve_options options = { .address = argc > 1 ? argv[1] : "127.0.0.1:0",
					      .token = argc > 2 && argv[2][0] ? argv[2] : NULL };
	struct live_serve *serve = NULL;
	struct error err = { 0 };

	for (int i = 3; i < argc; i++) {
		options.open_metrics |= strcmp(argv[i], "open") == 0;
		hostile |= strcmp(argv[i], "hostile") == 0;
		large |= strcmp(argv[i], "large") == 0;
	}
	setvbuf(stdin, NULL, _IONBF, 0);
	begin();
	if (live_serve_start(&serve, &options, &err) < 0) {
		fprintf(stderr, "live_server: %s\n", err.text);
		return err.exit_code ? err.exit_code : 1;
	}
	publish(serve, 0.1); /* before anybody can ask: what is asked for first is the first snapshot */
	printf("%s\n", live_serve_url(serve));
	fflush(stdout);
	serve_until_end(serve);
	live_serve_stop(serve);
	return 0;
}
