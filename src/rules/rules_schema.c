/*
 * rules_schema.c - the tables that the analysis JSON becomes.
 *
 * A new figure in the JSON is a new word here; the suite compares the two.
 * Lists inside devices have the device_id and rank of theirs.
 */
#include <string.h>

#include "base/text.h"
#include "rules/rules_parts.h"

#define WINDOW "total_us busy_us compute_us exposed_comm_us exposed_copy_us idle_us"
#define ENTRY "name count total_us self_us mean_us min_us p50_us p99_us max_us"
#define DEVICE "device_id rank"

const struct rules_table rules_tables[] = {
	{ "analysis", "", true, "analysis_version straggler_rank" },
	{ "trace", "trace", true, "path format events duration_us hosts processes threads devices lost_events" },
	{ "program", "program", true, "failed exit_status signal exception message interpreter version running_count" },
	{ "killed", "program/killed", false, "signal count process_id name" },
	{ "running", "program/running", false, "process_id name" },
	{ "integrity", "integrity", true, "verdict" },
	{ "checks", "integrity/checks", false, "name status count detail" },
	{ "clock", "clock", false, "domain name slope offset_ns error_us assumed_error_us method device_id drift_ppm residual_us jumps pairs moved moved_max_us clamped" },
	{ "summary", "summary", true,
	  "end_to_end_latency_us total_cpu_time_us total_gpu_time_us total_h2d_us total_d2h_us total_idle_us framework_overhead_us" },
	{ "timeline_breakdown", "timeline_breakdown", false, "category label duration_us percentage" },
	{ "devices", "devices", false,
	  DEVICE " name " WINDOW " idle_low_us idle_high_us idle_range_why idle_causes_host_late_us idle_causes_sync_us "
	  "idle_causes_launch_latency_us idle_causes_dependency_us idle_causes_input_us idle_causes_jit_us idle_causes_no_work_us "
	  "idle_causes_unknown_us window copy_hidden_percent comm_hidden_percent concurrency_mean concurrency_max queue_depth_max "
	  "queue_depth_mean tensor_core_percent occupancy_percent" },
	{ "gpus", "gpus", false,
	  DEVICE " name samples utilization_percent utilization_max_percent memory_utilization_percent memory_used_max_bytes "
	  "memory_total_bytes program_memory_max_bytes sm_clock_mhz sm_clock_limit_mhz memory_clock_mhz memory_clock_limit_mhz power_w "
	  "power_max_w power_limit_w energy_j temperature_max_c throttled_percent throttled_power_percent throttled_thermal_percent" },
	{ "windows", "devices/windows", false, DEVICE " name from_us " WINDOW " comm_us copy_us work" },
	{ "gap_lengths", "devices/gap_lengths", false, DEVICE " length count total_us" },
	{ "longest_gaps", "devices/longest_gaps", false, DEVICE " start_us duration_us cause blocking_call on_top launch next" },
	{ "streams", "devices/streams", false,
	  DEVICE " stream_id name work states_empty_us states_queued_us states_blocked_us states_jit_us states_kernel_us states_h2d_us "
	  "states_d2h_us states_d2d_us states_other_us queue_depth_max queue_depth_mean" },
	{ "kernels", "devices/kernels", false, DEVICE " " ENTRY " class tensor_cores occupancy_percent blocks_per_multiprocessor" },
	{ "copies", "devices/copies", false, DEVICE " direction memory_from memory_to count bytes total_us exposed_us bandwidth_gbs" },
	{ "steps", "steps", false, "name number process_id start_us duration_us input_us device_id " WINDOW },
	{ "step_summary", "step_summary", true, "source count mean_us p50_us p99_us min_us max_us input_percent input_low_percent" },
	{ "threads", "threads", false,
	  "thread_id name process_id rank slices busy_us functions_us operators_us runtime_us blocked_us launches" },
	{ "scopes", "scopes", false, ENTRY },
	{ "operators", "operators", false, ENTRY },
	{ "functions", "functions", false, ENTRY },
	{ "runtime_calls", "runtime_calls", false, ENTRY },
	{ "collectives", "collectives", false,
	  "name index ranks last_rank start_skew_us end_skew_us transfer_us wait_total_us bytes bus_bandwidth_gbs" },
	{ "ranks", "ranks", false, "rank arrived_last wait_us caused_us" },
	{ "attribution", "attribution", true,
	  "unit from_us to_us steps steps_left_out thread_id seen_from_outside waits_sampled places_sampled run_percent queue_percent "
	  "blocked_percent workers_waited_for workers_at_work load_cpus load_program_cores load_demanded_cores load_other_cores load_idle_cores load_system_percent "
	  "load_throttled_percent load_busy_threads load_read_calls_per_second load_write_calls_per_second load_read_bytes_per_second "
	  "load_written_bytes_per_second load_disk_read_bytes_per_second load_page_faults_per_second load_memory_begin_bytes "
	  "load_memory_end_bytes" },
	{ "owners", "attribution/owners", false, "category duration_us percentage" },
	{ "tree", "attribution/tree", false, "node parent name depth total_us self_us" },
	{ "bottleneck", "bottleneck", true, "type headline primary_cause confidence" },
	{ "findings", "findings", false,
	  "id kind title severity share_percent owned_us gain_low_percent gain_percent gain_high_percent confidence frequency "
	  "optimization_potential" },
	{ "examples", "findings/examples", false, "track name start_us duration_us" },
	{ "suggestions", "suggestions", false, "priority action rationale estimated_improvement_percent finding" },
	{ NULL, NULL, false, NULL },
};

_Static_assert(sizeof rules_tables / sizeof *rules_tables <= RULES_TABLES_MAX, "more tables than are counted on");

const char *rules_table(size_t i, const char **ret_columns)
{
	if (i >= sizeof rules_tables / sizeof *rules_tables - 1)
		return NULL;
	*ret_columns = rules_tables[i].columns;
	return rules_tables[i].name;
}

unsigned rules_column_count(const struct rules_table *table)
{
	unsigned count = 1;

	for (const char *at = table->columns; *at; at++)
		count += *at == ' ';
	return count;
}

int rules_column(const struct rules_table *table, const char *name, size_t size)
{
	const char *at = table->columns;

	for (int i = 0; *at; i++) {
		size_t length = strcspn(at, " ");

		if (length == size && memcmp(at, name, size) == 0)
			return i;
		at += length + (at[length] == ' ');
	}
	return -1;
}

const struct rules_table *rules_table_with(const char *column)
{
	for (const struct rules_table *t = rules_tables; t->name; t++)
		if (!t->one_row && rules_column(t, column, strlen(column)) >= 0)
			return t;
	return NULL;
}

static const char *table_name(void *arg, size_t i)
{
	(void)arg;
	return rules_tables[i].name;
}

const char *rules_near_table(const char *word)
{
	return text_nearest(word, table_name, NULL);
}

/* An abbreviation is meant even when much is missing, as in text_nearest(). */
static size_t distance_of(const char *word, const char *name)
{
	size_t size = strlen(word);

	return size >= 3 && strncmp(name, word, size) == 0 ? 1 : text_distance(word, name);
}

const char *rules_near_column(const char *word, char *out)
{
	size_t best = strlen(word) / 2 + 1;

	out[0] = 0;
	for (const struct rules_table *t = rules_tables; t->name; t++)
		for (const char *at = t->columns; *at; at += strspn(at, " ")) {
			size_t size = strcspn(at, " "), distance;
			char name[RULES_COLUMN_MAX];

			memcpy(name, at, size);
			name[size] = 0;
			at += size;
			distance = distance_of(word, name);
			if (distance < best) {
				memcpy(out, name, size + 1);
				best = distance;
			}
		}
	return out[0] ? out : NULL;
}
