/* gpu_table.c - see gpu_table.h. */
#include "record/gpu_table.h"

#include <stdio.h>
#include <string.h>

/* The first reason counts. */
static void take_status(struct gpu_table *t, const struct gpu_packet *p)
{
	if (p->device < NVML_DEVICES)
		t->gpus[p->device].looked = false;
	if (t->why[0])
		return;
	if (p->device >= NVML_DEVICES)
		snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, p->u.status);
	else
		snprintf(t->why, sizeof t->why, "GPU %u: %.*s", p->device, (int)sizeof t->why - 20, p->u.status);
}

static void take_device(struct gpu_row *row, const struct gpu_packet *p)
{
	row->there = true;
	memcpy(row->uuid, p->u.about.uuid, NVML_TEXT);
	memcpy(row->name, p->u.about.name, NVML_TEXT);
}

void gpu_table_take(struct gpu_table *t, const struct gpu_packet *p)
{
	if (p->kind == GPU_PACKET_STATUS) {
		take_status(t, p);
	} else if (p->kind == GPU_PACKET_DEVICE) {
		take_device(&t->gpus[p->device], p);
	} else {
		t->gpus[p->device].look = p->u.look;
		t->gpus[p->device].looked = true;
	}
}
