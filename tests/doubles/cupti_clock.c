/* Time: CLOCK_REALTIME, or what a client's callback says; and the devices' clocks translated into it.

   A device's clock is compared to the client's when its first operation is over and every 100 ms from then on; in between, the line
   through the first and the latest comparison is believed. */
#include "cupti_state.h"

#include <time.h>

#include "faults.h"
#include "settings.h"

#define COMPARE_NS 100000000u
#define STEADY_NS 10000000u             /* two points nearer than this say nothing about the rate */
#define CLOSE_NS 500u
#define FAULT_STEP_AFTER 500000000ll
#define FAR_OFF 100000000000000ull

static uint64_t raw_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The system's clock, or one that was set while we looked. */
static uint64_t real_now(void)
{
	static uint64_t first;
	static long long at, by = -1;
	struct timespec time;
	uint64_t now;

	clock_gettime(CLOCK_REALTIME, &time);
	now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	if (!first) {
		long long step_at = FAULT_STEP_AFTER, step_by = fault_number(FAULT_clock_step);

		(void)setting_pair("DOUBLE_REALTIME_STEP_NS", &step_at, &step_by);
		at = step_at;
		by = step_by;
		first = raw_now();
	}
	return by && (int64_t)(raw_now() - first) >= at ? now + (uint64_t)by : now;
}

uint64_t client_now(struct client *client)
{
	return client->clock ? client->clock() : real_now();
}

/* Both clocks at the same moment: several tries, since we may be kept off the processor between two readings. */
static uint64_t read_both(CUpti_TimestampCallbackFunc function, uint64_t *ret_theirs)
{
	uint64_t best = UINT64_MAX, raw = 0;

	for (int i = 0; i < 50 && best > CLOSE_NS; i++) {
		uint64_t before = raw_now(), time = function ? function() : real_now(), after = raw_now();

		if (after - before < best) {
			best = after - before;
			raw = before + best / 2;
			*ret_theirs = time;
		}
	}
	return raw;
}

static void compare(struct client *client, uint32_t device, struct clock_map *map)
{
	uint64_t theirs, raw = read_both(client->clock, &theirs);
	int point = map->set;

	map->device[point] = driver()->device_clock(device, raw);
	map->client[point] = theirs;
	if (!map->set) {
		map->device[1] = map->device[0];
		map->client[1] = map->client[0];
	}
	map->set = true;
}

void client_map(struct client *client, uint32_t device, uint64_t raw, uint64_t *ret_time)
{
	struct clock_map *map = &client->maps[device % GPU_MAX];
	uint64_t ticks = driver()->device_clock(device, raw);
	double rate = client->rate ? client->rate : 1;

	if (!map->set || (int64_t)(ticks - map->device[1]) > COMPARE_NS)
		compare(client, device, map);
	if (map->device[1] - map->device[0] > STEADY_NS)
		rate = (double)(map->client[1] - map->client[0]) / (double)(map->device[1] - map->device[0]);
	*ret_time = map->client[1] + (uint64_t)(int64_t)((double)(int64_t)(ticks - map->device[1]) * rate);
	if (client->bad_stamps > 0)
		*ret_time += FAR_OFF;
}

/* A client's clock need not count nanoseconds: how fast it is, before comparisons lie far enough apart. */
static double measure_rate(CUpti_TimestampCallbackFunc function)
{
	struct timespec time = { 0, STEADY_NS };
	uint64_t theirs, later, raw = read_both(function, &theirs);

	nanosleep(&time, NULL);
	raw = read_both(function, &later) - raw;
	return (double)(later - theirs) / (double)raw;
}

/* Not forbidden a second time, only wrong: with the fault, some records are then far off. */
CUptiResult client_set_clock(struct client *client, CUpti_TimestampCallbackFunc function)
{
	double rate = measure_rate(function);

	pthread_mutex_lock(&cupti_lock);
	client->clock = function;
	client->rate = rate;
	for (int i = 0; i < GPU_MAX; i++)
		client->maps[i].set = false;
	client->bad_stamps += fault_number(FAULT_second_registration) * client->clock_registrations;
	client->clock_registrations++;
	pthread_mutex_unlock(&cupti_lock);
	return CUPTI_SUCCESS;
}
