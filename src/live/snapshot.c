/* snapshot.c - see snapshot.h. */
#include "live/snapshot.h"

#include <math.h>
#include <string.h>

void live_snapshot_clear(struct live_snapshot *s)
{
	memset(s, 0, sizeof *s);
	s->exit_status = -1;
	s->own_cpu = s->own_rss_bytes = NAN;
	s->cpu = (struct live_cpu){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN };
	s->memory = (struct live_memory){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, false, NAN, NAN, NAN };
	s->io.read_bytes = s->io.written_bytes = s->io.read_chars = s->io.written_chars = NAN;
	s->io.read_calls = s->io.write_calls = s->io.waiting = s->io.pressure = NAN;
	s->network.received_bytes = s->network.sent_bytes = NAN;
	s->steps.last_s = s->steps.median_s = s->steps.p95_s = s->steps.rate = NAN;
	s->steps.since_s = s->steps.input_wait = s->steps.begin_s = NAN;
	s->events.rate = NAN;
}
