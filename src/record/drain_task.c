/*
 * drain_task.c - tasks (of asyncio, greenlets) and their tracks.
 *
 * A task's events come through the ring of the thread that runs it, and go to
 * a track of their own.  Tasks are numbered by the process; a number is looked
 * up in a table that grows with the tasks seen and not with what they claim.
 */
#include <stdlib.h>

#include "record/drain_state.h"
#include "trace/reader.h"

#define NAMES_MAX 16u /* a task that is called something else with every event costs more than it tells */
#define NAME_UNKNOWN UINT32_MAX /* not what any task says: its name is written when it is next heard of */

static struct drain_task *find_task(const struct drain_tasks *tasks, uint32_t number)
{
	uint32_t at = number * 0x9e3779b1u & (tasks->size - 1);

	while (tasks->places[at].used && tasks->places[at].number != number)
		at = (at + 1) & (tasks->size - 1);
	return &tasks->places[at];
}

static bool grow_tasks(struct drain_tasks *tasks)
{
	struct drain_tasks larger = { .size = tasks->size ? 2 * tasks->size : 64, .count = tasks->count };

	if (2 * (tasks->count + 1) <= tasks->size)
		return true;
	larger.places = calloc(larger.size, sizeof *larger.places);
	if (!larger.places)
		return false;
	for (uint32_t i = 0; i < tasks->size; i++)
		if (tasks->places[i].used)
			*find_task(&larger, tasks->places[i].number) = tasks->places[i];
	free(tasks->places);
	*tasks = larger;
	return true;
}

static struct drain_task *add_task(struct drain_process *p, struct drain_task task)
{
	struct drain_task *place = find_task(&p->tasks, task.number);

	if (!place->used)
		p->tasks.count++;
	*place = task;
	place->used = true;
	return place;
}

/* Calls itself what it says; a name may come later, or change. */
static void write_task(struct drain *d, struct drain_process *p, const struct drain_task *task)
{
	struct trace_track track = {
		.id = task->track,
		.kind = TRACK_TASK,
		.process = p->id,
		.os_id = task->number,
		.serial = task->number,
		.device = -1,
		.parent = task->thread == NO_TRACK ? -1 : (int64_t)task->thread,
		.name = drain_name(d, p, task->name),
	};

	(void)trace_writer_track(d->writer, &track);
}

const struct drain_task *drain_task(struct drain *d, struct drain_process *p, uint32_t thread, const struct event_slot *slot)
{
	uint32_t name = slot->value < NAME_UNKNOWN ? (uint32_t)slot->value : NAME_LIMIT;
	struct drain_task *task;

	if (!grow_tasks(&p->tasks))
		return NULL;
	task = find_task(&p->tasks, slot->aux);
	if (task->used && (task->name == name || task->names == NAMES_MAX))
		return task;
	if (!task->used && d->next_track >= d->task_limit)
		return NULL;
	if (!task->used)
		task = add_task(p, (struct drain_task){ .number = slot->aux, .track = d->next_track++, .thread = thread });
	task->name = name;
	task->names++;
	write_task(d, p, task);
	return task;
}

void drain_tasks_resume(struct drain *d, struct drain_process *p)
{
	size_t count = d->resumed ? trace_reader_track_count(d->resumed) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_track *t = trace_reader_track(d->resumed, i);

		if (t && t->kind == TRACK_TASK && t->process == (int64_t)p->id && t->os_id <= UINT32_MAX && grow_tasks(&p->tasks))
			(void)add_task(p, (struct drain_task){ .number = (uint32_t)t->os_id,
							       .track = i,
							       .name = NAME_UNKNOWN,
							       .thread = t->parent < 0 ? NO_TRACK : (uint32_t)t->parent });
	}
}
