/* lines.c - see lines.h. */
#include "live/lines.h"

#include <stdbool.h>
#include <string.h>

#include "live/numbers.h"
#include "report/columns.h"

/* Untrusted text in so many columns; 0: as many as it needs. */
static int append_cell(struct buffer *out, const char *text, size_t columns)
{
	const struct columns_options options = { .columns = columns };
	int used = columns_append(out, text, strlen(text), &options);

	if (used < 0)
		return used;
	return (size_t)used < columns ? buffer_printf(out, "%*s", (int)columns - used, "") : 0;
}

/* ---- One line --------------------------------------------------------------------------- */

static int append_machine(struct buffer *out, const struct live_snapshot *s)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE], d[NUMBER_SIZE], e[NUMBER_SIZE], f[NUMBER_SIZE];

	return buffer_printf(out, "%8.1f s  cpu %5s of %-4s  memory %8s %6s  disk %10s read %10s written", s->run_s,
			     number_plain(a, s->cpu.share), number_count(f, s->cpu.available), number_bytes(b, s->memory.rss_bytes),
			     number_share(c, s->memory.used), number_rate(d, s->io.read_bytes), number_rate(e, s->io.written_bytes));
}

static int append_gpus(struct buffer *out, const struct live_snapshot *s)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE];
	int rc = 0;

	for (uint32_t i = 0; i < s->gpu_count && i < LIVE_GPUS && rc == 0; i++)
		rc = buffer_printf(out, "  gpu%u %6s %8s", s->gpus[i].number, number_share(a, s->gpus[i].utilization),
				   number_bytes(b, s->gpus[i].memory_used_bytes));
	return rc;
}

static int append_steps(struct buffer *out, const struct live_snapshot *s)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];

	if (!s->steps.known)
		return 0;
	return buffer_printf(out, "  step %9s %7s/s input %6s", number_seconds(a, s->steps.last_s), number_plain(b, s->steps.rate),
			     number_share(c, s->steps.input_wait));
}

static int append_counts(struct buffer *out, const struct live_snapshot *s)
{
	char a[NUMBER_SIZE];
	int rc = buffer_printf(out, "  threads %4u  alerts %u", s->thread_count + s->threads_left_out, s->active_alerts);

	if (rc == 0 && s->events.recorded)
		rc = buffer_printf(out, "  events %8s/s lost %llu", number_plain(a, s->events.rate), (unsigned long long)s->events.lost);
	if (rc == 0 && s->state == LIVE_STOPPED)
		rc = buffer_printf(out, "  stopped");
	return rc;
}

int live_line(struct buffer *out, const struct live_snapshot *s)
{
	int rc = append_machine(out, s);

	if (rc == 0)
		rc = append_gpus(out, s);
	if (rc == 0)
		rc = append_steps(out, s);
	if (rc == 0)
		rc = append_counts(out, s);
	return rc ? rc : buffer_append(out, "\n", 1);
}

/* ---- What it does ------------------------------------------------------------------------- */

int live_doing_line(struct buffer *out, const struct live_snapshot *s)
{
	int rc = buffer_printf(out, "%8.1f s  now: ", s->run_s);

	if (rc == 0)
		rc = append_cell(out, s->doing.text, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

int live_steps_line(struct buffer *out, const struct live_snapshot *s)
{
	int rc = buffer_printf(out, "%8.1f s  steps: ", s->run_s);

	if (rc == 0 && s->steps.known)
		rc = buffer_printf(out, "found by %s, from ", s->steps.found);
	if (rc == 0)
		rc = append_cell(out, s->steps.known ? s->steps.name : s->steps.trouble, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

/* ---- Alerts ------------------------------------------------------------------------------ */

static const char *severity_name(unsigned severity)
{
	static const char *const names[] = { "info", "warning", "critical" };

	return names[severity <= LIVE_CRITICAL ? severity : LIVE_CRITICAL];
}

int live_alert_line(struct buffer *out, const struct live_alert *a, bool color)
{
	const char *colour = a->severity >= LIVE_CRITICAL ? "\033[31m" : "\033[33m";
	bool advice = a->active && a->advice[0], worse = a->active && a->worse_s > 0;
	int rc = buffer_printf(out, "%8.1f s  %salert %s%s%s ", worse ? a->worse_s : a->active ? a->begin_s : a->end_s,
			       color && a->active ? colour : "", worse ? "now " : "", a->active ? severity_name(a->severity) : "ended",
			       color && a->active ? "\033[0m" : "");

	if (rc == 0)
		rc = append_cell(out, a->kind, 0);
	if (rc == 0 && a->subject[0])
		rc = buffer_append(out, " ", 1);
	if (rc == 0)
		rc = append_cell(out, a->subject, 0);
	if (rc == 0)
		rc = buffer_append(out, ": ", 2);
	if (rc == 0)
		rc = append_cell(out, a->text, 0);
	if (rc == 0 && advice)
		rc = buffer_append(out, " -> ", 4);
	if (rc == 0 && advice)
		rc = append_cell(out, a->advice, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

/* ---- All of it ---------------------------------------------------------------------------- */

static int append_head(struct buffer *out, const struct live_snapshot *s)
{
	int rc = buffer_printf(out, "pid %d  ", (int)s->pid);

	if (rc == 0)
		rc = append_cell(out, s->command, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

static int append_process(struct buffer *out, const struct live_process *p)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE];
	int rc = buffer_printf(out, "%8d  %8d  %c  %6s  %8s  %7u  ", (int)p->pid, (int)p->parent, p->state ? p->state : '-',
			       number_share(a, p->cpu), number_bytes(b, p->rss_bytes), p->threads);

	if (rc == 0)
		rc = append_cell(out, p->name, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

static int append_thread(struct buffer *out, const struct live_thread *t)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE];
	int rc = buffer_printf(out, "%8d  %8d  %6s  %9s  ", (int)t->pid, (int)t->tid, number_share(a, t->cpu), number_seconds(b, t->waiting_s));

	if (rc == 0)
		rc = append_cell(out, t->name, 16);
	if (rc == 0)
		rc = buffer_append(out, "  ", 2);
	if (rc == 0)
		rc = append_cell(out, t->state, 12);
	if (rc == 0)
		rc = buffer_append(out, "  ", 2);
	if (rc == 0)
		rc = append_cell(out, t->what, 0);
	return rc ? rc : buffer_append(out, "\n", 1);
}

static int append_left_out(struct buffer *out, uint32_t count)
{
	return count ? buffer_printf(out, "%8u more are not shown\n", count) : 0;
}

static int append_gpu_lines(struct buffer *out, const struct live_snapshot *s)
{
	char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE];
	int rc = 0;

	if (s->gpu_count == 0)
		rc = buffer_printf(out, "\nGPUs: ");
	if (rc == 0 && s->gpu_count == 0)
		rc = append_cell(out, s->gpu_source[0] ? s->gpu_source : "not known", 0);
	for (uint32_t i = 0; i < s->gpu_count && i < LIVE_GPUS && rc == 0; i++) {
		rc = buffer_printf(out, "\ngpu %u  %s  %s of %s  ", s->gpus[i].number, number_share(a, s->gpus[i].utilization),
				   number_bytes(b, s->gpus[i].memory_used_bytes), number_bytes(c, s->gpus[i].memory_total_bytes));
		if (rc == 0)
			rc = append_cell(out, s->gpus[i].name, 0);
	}
	return rc ? rc : buffer_append(out, "\n", 1);
}

int live_text(struct buffer *out, const struct live_snapshot *s)
{
	int rc = append_head(out, s);

	if (rc == 0)
		rc = live_line(out, s);
	if (rc == 0)
		rc = append_gpu_lines(out, s);
	if (rc == 0)
		rc = buffer_printf(out, "\n     PID    PARENT  S     CPU    MEMORY  THREADS  PROCESS\n");
	for (uint32_t i = 0; i < s->process_count && i < LIVE_PROCESSES && rc == 0; i++)
		rc = append_process(out, &s->processes[i]);
	if (rc == 0)
		rc = append_left_out(out, s->processes_left_out);
	if (rc == 0)
		rc = buffer_printf(out, "\n     PID    THREAD     CPU        FOR  NAME              STATE         WAITS FOR\n");
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS && rc == 0; i++)
		rc = append_thread(out, &s->threads[i]);
	return rc ? rc : append_left_out(out, s->threads_left_out);
}
