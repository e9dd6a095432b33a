/*
 * test-page-data.c - what the report page's streams say is what the timeline says: read back by page-streams.h, which
 * knows nothing but the document.
 */
#include "host-world.h"
#include "page-streams.h"

/* ---- Random traces ----------------------------------------------------------- */

static uint64_t seed;

static uint64_t any(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

struct case_world {
	struct world w;
	struct analysis *a;
	uint64_t correlation;
};

static void case_open(struct case_world *c, uint64_t number)
{
	*c = (struct case_world){ 0 };
	seed = number * 0x9e3779b97f4a7c15u + 1;
	world_open(&c->w);
}

static const struct analysis *case_analyze(struct case_world *c)
{
	struct error err = { 0 };

	world_build(&c->w);
	assert_int_equal(analysis_run(&c->a, c->w.t, NULL, &err), 0);
	return c->a;
}

static void case_close(struct case_world *c)
{
	analysis_free(c->a);
	world_close(&c->w);
}

/* Nested slices from a time on; some launch work. */
static int64_t put_tree(struct case_world *c, uint32_t thread, int64_t begin, unsigned depth, uint32_t stream, unsigned *left)
{
	static const uint8_t kinds[] = { EVENT_SCOPE, EVENT_OP, EVENT_CPU_CALL, EVENT_RUNTIME_CALL, EVENT_CPU_SYSCALL };
	char name[40];
	int64_t at = begin + (int64_t)any(2000), end;
	uint8_t kind = kinds[any(5)];
	uint64_t correlation = kind == EVENT_RUNTIME_CALL ? ++c->correlation : 0;

	if (*left == 0)
		return begin;
	--*left;
	for (uint64_t n = depth ? any(4) : 0; n > 0; n--)
		at = put_tree(c, thread, at, depth - 1, stream, left);
	end = at + (int64_t)any(3000);
	snprintf(name, sizeof name, kind == EVENT_RUNTIME_CALL ? "cudaLaunchKernel" : "name %u", (unsigned)any(30));
	world_work(&c->w, thread, kind, name, begin, end - begin, correlation);
	if (correlation && any(4)) {
		snprintf(name, sizeof name, "kernel %u", (unsigned)any(20));
		world_work(&c->w, stream, any(5) ? EVENT_GPU_KERNEL : EVENT_D2D_COPY, name, end + (int64_t)any(500), (int64_t)any(9000),
			   correlation);
	}
	return end;
}

static void put_random(struct case_world *c, unsigned slices)
{
	uint32_t device = world_device(&c->w, 3), streams[3], process[2];

	process[0] = world_process(&c->w, 20, -1);
	process[1] = world_process(&c->w, 10, -1);
	for (unsigned i = 0; i < 3; i++)
		streams[i] = world_track(&c->w, TRACK_STREAM, -1, device);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t thread = world_track(&c->w, i == 3 ? TRACK_TASK : i == 4 ? TRACK_PROCESS : TRACK_THREAD, process[i % 2], -1);
		unsigned left = slices;
		int64_t at = (int64_t)any(100000);

		while (left)
			at = put_tree(c, thread, at + (int64_t)any(4000), (unsigned)any(12), streams[any(3)], &left);
		if (i == 2) /* one that crosses */
			world_slice(&c->w, thread, EVENT_SCOPE, "crosses", at - 2500, 9000);
	}
	world_track(&c->w, TRACK_THREAD, process[0], -1); /* nothing is on it */
}

static const char *category_of(const struct analysis *a, uint32_t slice)
{
	if (a->states.class_of[slice] == WORK_COMMUNICATION)
		return "communication";
	switch (a->timeline->kind[slice]) {
	case EVENT_SCOPE:
		return strncmp(timeline_string(a->timeline, a->timeline->name[slice], NULL), "ProfilerStep#", 13) == 0 ? "step" : "scope";
	case EVENT_OP:
		return "operator";
	case EVENT_CPU_CALL:
		return "native";
	case EVENT_RUNTIME_CALL:
		return "runtime";
	case EVENT_GPU_KERNEL:
		return "kernel";
	case EVENT_D2D_COPY:
		return "copy";
	default:
		return "other";
	}
}

/* ---- Slices ------------------------------------------------------------------ */

/* Place of each slice of the timeline in the page, UINT32_MAX when it is not there; what has to be there is. */
static uint32_t *places(const struct page *p, const struct timeline *t)
{
	uint32_t *place = malloc((t->slice_count + 1) * sizeof *place);

	memset(place, 0xff, (t->slice_count + 1) * sizeof *place);
	for (size_t i = 0; i < p->track_count && p->exact; i++)
		for (uint32_t n = 0; n < t->tracks[p->tracks[i].id].count; n++)
			place[t->tracks[p->tracks[i].id].first + n] = p->tracks[i].first + n;
	return place;
}

/* What a page without all slices says is in it. */
static uint32_t *places_of_some(const struct page *p, const struct timeline *t)
{
	uint32_t *place = places(p, t), next = 0;
	bool *here = calloc(t->slice_count + 1, sizeof *here);

	for (uint32_t i = 0; i < t->slice_count; i++) {
		here[i] = t->end[i] - t->begin[i] >= p->least;
		for (size_t k = 0; k < p->window_count; k++)
			here[i] |= t->begin[i] < p->windows[k][1] && (t->end[i] > p->windows[k][0] || t->begin[i] >= p->windows[k][0]);
		for (uint32_t at = t->parent[i]; here[i] && at != TIMELINE_NONE; at = t->parent[at])
			here[at] = true;
	}
	for (size_t k = 0; k < p->track_count; k++) {
		const struct timeline_track *track = &t->tracks[p->tracks[k].id];

		assert_int_equal(p->tracks[k].first, next);
		for (uint32_t i = track->first; i < track->first + track->count; i++)
			if (here[i])
				place[i] = next++;
	}
	assert_int_equal(next, p->slices_here);
	free(here);
	return place;
}

/* The lowest row in which nothing runs any more. */
static uint32_t free_row(int64_t *ends, int64_t begin, int64_t end)
{
	uint32_t row = 0;

	while (row < 63 && ends[row] > begin)
		row++;
	ends[row] = end;
	return row;
}

static void check_slice(const struct page *p, const struct analysis *a, const uint32_t *place, uint32_t i, uint32_t row)
{
	const struct timeline *t = a->timeline;
	const struct shown_slice *s = &p->slices[place[i]];
	bool launched = timeline_is_device_work(t->kind[i]) && t->link[i] != TIMELINE_NONE;

	assert_int_equal(s->row, row);
	assert_int_equal(s->begin, rounded(t->begin[i], p->quantum));
	assert_int_equal(s->end, rounded(t->end[i], p->quantum));
	assert_string_equal(p->labels[s->label].text, timeline_string(t, t->name[i], NULL));
	assert_string_equal(p->labels[s->label].category, category_of(a, i));
	if (p->links && launched && place[t->link[i]] != UINT32_MAX)
		assert_int_equal(s->link, place[t->link[i]]);
	else
		assert_int_equal(s->link, -1);
}

static void check_slices(const struct page *p, const struct analysis *a)
{
	const struct timeline *t = a->timeline;
	uint32_t *place = p->exact ? places(p, t) : places_of_some(p, t), shown = 0, launched = 0;

	assert_int_equal(p->slices_all, t->slice_count);
	for (size_t k = 0; k < p->track_count; k++) {
		const struct timeline_track *track = &t->tracks[p->tracks[k].id];
		int64_t ends[64], rows = 0;

		memset(ends, 0xff, sizeof ends);
		for (uint32_t i = track->first; i < track->first + track->count; i++) {
			uint32_t row = track->kind == TRACK_STREAM ? free_row(ends, t->begin[i], t->end[i]) : t->depth[i];

			rows = row + 1 > rows ? row + 1 : rows;
			if (place[i] == UINT32_MAX)
				continue;
			check_slice(p, a, place, i, row);
			shown++;
			launched += p->slices[place[i]].link >= 0;
		}
		assert_int_equal(p->tracks[k].rows, rows);
	}
	assert_int_equal(shown, p->slices_here);
	assert_true(!p->exact || shown == t->slice_count);
	assert_true(!p->exact || !p->links || launched > 0);
	free(place);
}

/* Whoever is inside stays inside, whatever the quantum. */
static void check_nesting(const struct page *p, const struct timeline *t)
{
	uint32_t *place = p->exact ? places(p, t) : places_of_some(p, t);

	for (uint32_t i = 0; i < t->slice_count; i++) {
		uint32_t around = t->parent[i];

		if (place[i] == UINT32_MAX || around == TIMELINE_NONE)
			continue;
		assert_int_not_equal(place[around], UINT32_MAX);
		assert_true(p->slices[place[i]].begin >= p->slices[place[around]].begin);
		if (t->end[i] <= t->end[around])
			assert_true(p->slices[place[i]].end <= p->slices[place[around]].end);
	}
	free(place);
}

static void every_slice_is_there(void **state)
{
	(void)state;
	for (uint64_t number = 1; number <= 12; number++) {
		struct case_world c;
		struct page p;

		case_open(&c, number);
		put_random(&c, 300);
		page_make(&p, case_analyze(&c), 10000000);
		assert_true(p.exact && p.links && p.quantum == 1);
		check_slices(&p, c.a);
		check_nesting(&p, c.w.t);
		page_close(&p);
		case_close(&c);
	}
}

static void tracks_come_in_order(void **state)
{
	struct case_world c;
	struct page p;

	(void)state;
	case_open(&c, 5);
	put_random(&c, 100);
	page_make(&p, case_analyze(&c), 10000000);
	assert_int_equal(p.process_count, 2);
	assert_int_equal(p.track_count, 8); /* the empty thread is not there */
	for (size_t i = 1; i < p.track_count; i++)
		assert_true(p.tracks[i - 1].process == -1 ? p.tracks[i].process == -1
							  : p.tracks[i].process == -1 || p.tracks[i - 1].process <= p.tracks[i].process);
	/* pid 10 is the first: it has threads 1 and the task 3. */
	assert_int_equal(p.tracks[0].process, 0);
	assert_string_equal(p.tracks[0].kind, "thread");
	assert_int_equal(p.tracks[0].id, 4);
	assert_string_equal(p.tracks[0].name, "thread 104");
	assert_string_equal(p.tracks[1].kind, "task");
	assert_string_equal(p.tracks[1].name, "task 106");
	for (size_t i = 0; i < p.track_count; i++) {
		const struct timeline_track *track = &c.w.t->tracks[p.tracks[i].id];

		assert_int_equal(p.tracks[i].tid, track->os_id);
		assert_int_equal(p.tracks[i].device, track->kind == TRACK_STREAM ? 3 : -1);
		if (track->kind == TRACK_STREAM)
			assert_int_not_equal(p.tracks[i].process, -1); /* somebody launched its work */
	}
	for (size_t i = 1; i < p.label_count; i++) {
		size_t counts[2] = { 0 };

		for (size_t k = 0; k < p.slice_count; k++) {
			counts[0] += p.slices[k].label == i - 1;
			counts[1] += p.slices[k].label == i;
		}
		assert_true(counts[0] >= counts[1] && counts[1] > 0);
	}
	page_close(&p);
	case_close(&c);
}

/* ---- How much fits ----------------------------------------------------------- */

enum stage { STAGE_1, STAGE_10, STAGE_100, STAGE_1000, STAGE_NO_LINKS, STAGE_SOME, STAGE_COUNT };

static enum stage stage_of(const struct page *p)
{
	if (!p->exact)
		return STAGE_SOME;
	if (!p->links) {
		assert_int_equal(p->quantum, 1000);
		return STAGE_NO_LINKS;
	}
	return p->quantum == 1 ? STAGE_1 : p->quantum == 10 ? STAGE_10 : p->quantum == 100 ? STAGE_100 : STAGE_1000;
}

/* What it is when there is no room at all for slices. */
static size_t smallest(const struct analysis *a)
{
	struct page p;
	size_t size;

	page_make(&p, a, 0);
	size = p.html.size;
	page_close(&p);
	return size;
}

static void check_buckets(const struct page *p, const struct analysis *a);

static void fewer_bytes_are_less_exact(void **state)
{
	unsigned seen[STAGE_COUNT] = { 0 };
	enum stage before = STAGE_1;
	struct case_world c;
	size_t size, least;

	(void)state;
	case_open(&c, 77);
	put_random(&c, 4000);
	case_analyze(&c);
	least = smallest(c.a);
	for (size = 400000; size > least + 4000 && size > 20000; size = size / 100 * 97) {
		struct page p;
		enum stage stage;

		page_make(&p, c.a, size);
		stage = stage_of(&p);
		assert_true(p.html.size <= size);
		assert_true(stage >= before);
		before = stage;
		if (seen[stage]++ % 4 == 0) {
			check_slices(&p, c.a);
			check_nesting(&p, c.w.t);
			if (!p.exact)
				check_buckets(&p, c.a);
		}
		page_close(&p);
	}
	for (unsigned i = 0; i < STAGE_COUNT; i++)
		if (!seen[i])
			fail_msg("there is no size for stage %u", i);
	case_close(&c);
}

/* How long a row is busy in a bucket, and with what. */
static void check_bucket(const struct page *p, const struct analysis *a, size_t track, uint32_t row, int64_t bucket, unsigned full,
			 int64_t label)
{
	const struct timeline *t = a->timeline;
	const struct timeline_track *tr = &t->tracks[p->tracks[track].id];
	int64_t from = (int64_t)((__int128)p->duration * bucket / p->buckets);
	int64_t to = (int64_t)((__int128)p->duration * (bucket + 1) / p->buckets);
	int64_t ends[64], covered = 0, *times = calloc(p->label_count, sizeof *times), sum = 0, best = 0;
	double share;

	memset(ends, 0xff, sizeof ends);
	for (uint32_t i = tr->first; i < tr->first + tr->count; i++) {
		uint32_t r = tr->kind == TRACK_STREAM ? free_row(ends, t->begin[i], t->end[i]) : t->depth[i];
		int64_t begin = t->begin[i] > covered ? t->begin[i] : covered, end = t->end[i];

		if (r != row)
			continue;
		covered = end > covered ? end : covered;
		begin = begin > from ? begin : from;
		end = end < to ? end : to;
		for (size_t k = 0; k < p->label_count && begin < end; k++)
			if (strcmp(p->labels[k].text, timeline_string(t, t->name[i], NULL)) == 0 &&
			    strcmp(p->labels[k].category, category_of(a, i)) == 0)
				times[k] += end - begin;
	}
	for (size_t k = 0; k < p->label_count; k++) {
		sum += times[k];
		best = times[k] > best ? times[k] : best;
	}
	share = 255.0 * (double)sum / (double)(to - from);
	assert_true(fabs((double)full - share) <= 0.5001 || (full == 1 && share > 0 && share < 1));
	if (full)
		assert_int_equal(times[label], best);
	free(times);
}

static void check_buckets(const struct page *p, const struct analysis *a)
{
	struct cursor c = cursor_of(p->streams[P_BUCKETS].data, p->streams[P_BUCKETS].size);

	for (size_t k = 0; k < p->track_count && p->buckets; k++)
		for (uint32_t row = 0; row < p->tracks[k].rows; row++) {
			const uint8_t *full = cursor_bytes(&c, (uint64_t)p->buckets);

			assert_non_null(full);
			for (int64_t i = 0; i < p->buckets; i++) {
				int64_t label = full[i] ? (int64_t)cursor_uv(&c) : -1;

				assert_true(label < (int64_t)p->label_count);
				if (any(4000) == 0)
					check_bucket(p, a, k, row, i, full[i], label);
			}
		}
	assert_false(c.bad);
	assert_int_equal(cursor_left(&c), 0);
}

static void steps_and_examples_stay_whole(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t thread, process;
	int64_t at = 0;

	(void)state;
	case_open(&c, 3);
	process = world_process(&c.w, 1, -1);
	thread = world_track(&c.w, TRACK_THREAD, process, -1);
	for (unsigned step = 0; step < 40; step++) {
		char name[32];
		int64_t length = step == 17 ? 900000 : 400000 + (int64_t)any(1000);

		snprintf(name, sizeof name, "ProfilerStep#%u", step);
		world_slice(&c.w, thread, EVENT_SCOPE, name, at, length);
		for (unsigned i = 0; i < 200; i++) {
			snprintf(name, sizeof name, "aten::op%u", (unsigned)any(50));
			world_slice(&c.w, thread, EVENT_OP, name, at + 10 + 1900 * i, 100 + (int64_t)any(1500));
		}
		at += length + 100;
	}
	case_analyze(&c);
	assert_int_equal(c.w.t->step_count, 40);
	page_make(&p, c.a, smallest(c.a) + 6000);
	assert_false(p.exact);
	assert_int_equal(p.step_count, 40);
	assert_int_equal(p.steps[3][0], c.w.t->steps[3].begin);
	assert_int_equal(p.steps[3][1], c.w.t->steps[3].end);
	assert_int_equal(p.steps[3][2], c.w.t->steps[3].number);
	assert_true(p.window_count > 0 && p.slices_here > 200 && p.slices_here < p.slices_all);
	for (size_t i = 0, slowest = 0; i < p.window_count; i++) {
		slowest += p.windows[i][0] <= c.w.t->steps[17].begin && p.windows[i][1] >= c.w.t->steps[17].end;
		assert_true(i + 1 < p.window_count || slowest == 1);
	}
	check_slices(&p, c.a);
	check_buckets(&p, c.a);
	page_close(&p);
	case_close(&c);
}

/* ---- A part of the run ------------------------------------------------------- */

static bool is_in(const struct timeline *t, uint32_t slice, const int64_t *range)
{
	return t->begin[slice] <= range[1] && (t->end[slice] > range[0] || t->begin[slice] >= range[0]);
}

static size_t count_in(const struct timeline *t, const int64_t *range)
{
	size_t count = 0;

	for (uint32_t i = 0; i < t->slice_count; i++)
		count += is_in(t, i, range);
	return count;
}

/* To the nanosecond. */
static void check_range(const struct page *p, const struct timeline *t, const int64_t *range)
{
	uint32_t *place = places_of_some(p, t);

	for (uint32_t i = 0; i < t->slice_count; i++) {
		if (!is_in(t, i, range))
			continue;
		assert_int_not_equal(place[i], UINT32_MAX);
		assert_int_equal(p->slices[place[i]].begin * p->quantum, t->begin[i]);
		assert_int_equal(p->slices[place[i]].end * p->quantum, t->end[i]);
		assert_string_equal(p->labels[p->slices[place[i]].label].text, timeline_string(t, t->name[i], NULL));
	}
	free(place);
}

static void a_range_is_whole(void **state)
{
	struct case_world c;
	size_t least;

	(void)state;
	case_open(&c, 78);
	put_random(&c, 4000);
	case_analyze(&c);
	least = smallest(c.a);
	for (unsigned part = 0; part < 20; part++) {
		int64_t range[2] = { c.w.t->duration / 20 * part, c.w.t->duration / 20 * (part + 1) };
		size_t size = least + 8 * count_in(c.w.t, range) + 12000;
		struct page p;

		page_make_of(&p, c.a, "t.sbt", &(struct page_options){ size, range[0], range[1] });
		assert_false(p.exact);
		assert_true(p.facts.range && p.facts.range_whole);
		assert_true(p.html.size <= size && p.html.size > size / 10 * 8);
		assert_int_equal(p.quantum, 1);
		assert_int_equal(p.view[0], range[0]);
		assert_int_equal(p.view[1], range[1]);
		check_range(&p, c.w.t, range);
		check_slices(&p, c.a);
		check_nesting(&p, c.w.t);
		page_close(&p);
	}
	case_close(&c);
}

/* The finest quantum that there is room for; then none of it is special. */
static void a_range_may_be_too_large(void **state)
{
	int64_t before = 1;
	unsigned coarser = 0, not_whole = 0;
	struct case_world c;
	size_t least;

	(void)state;
	case_open(&c, 79);
	put_random(&c, 4000);
	case_analyze(&c);
	least = smallest(c.a);
	for (size_t size = least + 60000; size > least + 4000; size -= 4000) {
		const int64_t range[2] = { c.w.t->duration / 4, c.w.t->duration / 2 };
		struct page p;

		page_make_of(&p, c.a, "t.sbt", &(struct page_options){ size, range[0], range[1] });
		assert_true(!p.exact && p.facts.range && p.html.size <= size);
		assert_int_equal(p.view[0], range[0]);
		assert_true(not_whole == 0 || !p.facts.range_whole);
		if (p.facts.range_whole) {
			assert_true(p.quantum >= before);
			before = p.quantum;
			coarser += p.quantum > 1;
		} else {
			not_whole++;
			assert_int_equal(p.quantum, 100);
		}
		check_slices(&p, c.a);
		page_close(&p);
	}
	assert_true(coarser > 0 && not_whole > 0);
	case_close(&c);
}

static void a_range_of_what_fits_anyway(void **state)
{
	struct case_world c;
	struct page p, q;

	(void)state;
	case_open(&c, 80);
	put_random(&c, 100);
	page_make(&q, case_analyze(&c), 1000000);
	assert_true(q.view[0] == 0 && q.view[1] == 0);
	page_make_of(&p, c.a, "t.sbt", &(struct page_options){ 1000000, 5000, INT64_MAX });
	assert_true(p.exact && p.quantum == 1 && p.window_count == 0 && p.facts.range_whole);
	assert_int_equal(p.view[0], 5000);
	assert_int_equal(p.view[1], c.w.t->duration);
	assert_int_equal(p.streams[P_GAP].size, q.streams[P_GAP].size);
	assert_memory_equal(p.streams[P_GAP].data, q.streams[P_GAP].data, p.streams[P_GAP].size);
	page_close(&p);
	page_make_of(&p, c.a, "t.sbt", &(struct page_options){ 0, c.w.t->duration + 1, INT64_MAX }); /* nothing is there */
	assert_true(p.view[1] == 0 && !p.facts.range);
	page_close(&p);
	page_close(&q);
	case_close(&c);
}

static void the_command_is_for_a_shell(void **state)
{
	static const char *const paths[][2] = {
		{ "/tmp/a-b_c.1.sbt", "/tmp/a-b_c.1.sbt" },
		{ "", "''" },
		{ "my run.sbt", "'my run.sbt'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "$(rm x);`y`\"&|<>*~\\", "'$(rm x);`y`\"&|<>*~\\'" },
		{ "a=b", "'a=b'" },
		{ "~/t.sbt", "'~/t.sbt'" },
		{ "-o", "./-o" },
		{ "-o x", "./'-o x'" },
		{ "a\nb\x1b[2Jc", "'a'?'b'?'[2Jc'" },
		{ "a\x7f\xe2\x80\xae" "b\xff", "'a'?''?'b'?''" },
		{ "\xc3\xa4.sbt", "'\xc3\xa4.sbt'" },
		{ "8 files", "FILE..." },
		{ "a.json and 7 more", "FILE..." },
		{ "ranks/ and 1 more (9 files)", "FILE..." },
		{ "my ranks (8 files)", "'my ranks'" },
		{ "ranks/ (8 files)", "ranks/" },
		{ "a ( files)", "'a ( files)'" },
		{ " files)", "' files)'" },
	};
	struct case_world c;

	(void)state;
	case_open(&c, 81);
	put_random(&c, 5);
	case_analyze(&c);
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct page p;

		page_make_of(&p, c.a, paths[i][0], &(struct page_options){ .size_most = 100000 });
		assert_int_equal(strncmp(p.command, "inferscope analyze ", 19), 0);
		assert_string_equal(p.command + 19, paths[i][1]);
		page_close(&p);
	}
	case_close(&c);
}

static void the_same_again(void **state)
{
	struct case_world c;

	(void)state;
	case_open(&c, 9);
	put_random(&c, 700);
	case_analyze(&c);
	for (size_t size = 30000; size <= 3000000; size *= 10) {
		struct page p, q;

		page_make(&p, c.a, size);
		page_make(&q, c.a, size);
		assert_int_equal(p.html.size, q.html.size);
		assert_memory_equal(p.html.data, q.html.data, p.html.size);
		page_close(&p);
		page_close(&q);
	}
	case_close(&c);
}

/* Texts are cut only where there is no other way. */
static void a_huge_analysis_is_cut(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t thread;
	struct json_value all, item;
	struct json_text key;
	bool seen = false;

	(void)state;
	case_open(&c, 4);
	thread = world_track(&c.w, TRACK_THREAD, world_process(&c.w, 1, -1), -1);
	for (unsigned i = 0; i < 50; i++) {
		char name[8001];

		for (unsigned k = 0; k < 8000; k++)
			name[k] = any(9) ? (char)(' ' + any(90)) : "\"\\\n"[any(3)];
		name[8000] = '\0';
		world_slice(&c.w, thread, EVENT_OP, name, 100 * i, 50);
	}
	page_make(&p, case_analyze(&c), 300000);
	assert_true(p.html.size <= 300000 && p.exact && p.slice_count == 50);
	all = (struct json_value){ JSON_OBJECT, { (const char *)p.streams[P_ANALYSIS].data, p.streams[P_ANALYSIS].size, false } };
	FOR_MEMBERS(&all, key, item)
		seen |= JSON_IS(&key, "operators") && page_elements(&item) == 50;
	assert_true(seen);
	page_close(&p);
	case_close(&c);
}

static void the_analysis_is_the_same_json(void **state)
{
	const struct report_source source = { .path = "/tmp/trace.sbt", .format = "sbt", .version = "1" };
	struct buffer json = BUFFER_INIT;
	struct case_world c;
	struct page p;

	(void)state;
	case_open(&c, 4);
	put_random(&c, 50);
	page_make(&p, case_analyze(&c), 1000000);
	assert_int_equal(report_json(c.a, &source, &json), 0);
	assert_int_equal(json.size, p.streams[P_ANALYSIS].size);
	assert_memory_equal(json.data, p.streams[P_ANALYSIS].data, json.size);
	buffer_release(&json);
	page_close(&p);
	case_close(&c);
}

/* ---- Flame ------------------------------------------------------------------- */

struct shown_node {
	uint64_t label, track, wall, processor, device;
	size_t depth;
};

static struct shown_node *read_flame(const struct page *p, size_t *ret_count)
{
	struct cursor c = cursor_of(p->streams[P_FLAME].data, p->streams[P_FLAME].size);
	uint64_t count = cursor_uv(&c);
	struct shown_node *nodes = calloc(count + 1, sizeof *nodes);
	int64_t depth = -1;

	for (uint64_t i = 0; i < count; i++) {
		depth = depth + 1 - (int64_t)cursor_uv(&c);
		assert_true(depth >= 0);
		nodes[i].depth = (size_t)depth;
		nodes[i].label = cursor_uv(&c);
		nodes[i].track = nodes[i].label ? nodes[i - 1].track : cursor_uv(&c);
		assert_int_equal(nodes[i].depth == 0, nodes[i].label == 0);
		assert_true(nodes[i].label <= p->label_count + 1 && nodes[i].track < p->track_count);
		nodes[i].wall = cursor_uv(&c);
		nodes[i].processor = cursor_uv(&c);
		nodes[i].device = cursor_uv(&c);
		assert_true(nodes[i].processor <= nodes[i].wall);
	}
	assert_false(c.bad);
	assert_int_equal(cursor_left(&c), 0);
	*ret_count = count;
	return nodes;
}

static uint64_t busy_of(const struct analysis *a, uint32_t track)
{
	const struct timeline *t = a->timeline;
	int64_t covered = 0, busy = 0;

	for (uint32_t i = t->tracks[track].first; i < t->tracks[track].first + t->tracks[track].count; i++) {
		int64_t begin = t->begin[i] > covered ? t->begin[i] : covered;

		busy += t->end[i] > begin ? t->end[i] - begin : 0;
		covered = t->end[i] > covered ? t->end[i] : covered;
	}
	return (uint64_t)busy;
}

/* Also of a thread's own figures. */
static void check_busy(const struct analysis *a, uint32_t track, uint64_t wall)
{
	assert_int_equal(wall, busy_of(a, track));
	for (size_t i = 0; i < a->thread_count; i++)
		if (a->threads[i].track == track)
			assert_int_equal(wall, a->threads[i].busy);
}

static void flame_has_all_time(void **state)
{
	(void)state;
	for (uint64_t number = 20; number < 26; number++) {
		struct case_world c;
		struct page p;
		struct shown_node *nodes;
		uint64_t wall[16] = { 0 }, device = 0, launched = 0;
		size_t count;
		bool folded = false;

		case_open(&c, number);
		put_random(&c, number % 2 ? 200 : 3000);
		page_make(&p, case_analyze(&c), 10000000);
		nodes = read_flame(&p, &count);
		for (size_t i = 0; i < count; i++) {
			wall[nodes[i].track] += nodes[i].wall;
			device += nodes[i].device;
			assert_int_equal(nodes[i].wall, nodes[i].processor);
			folded |= nodes[i].label == p.label_count + 1;
		}
		for (size_t i = 0; i < p.track_count; i++)
			if (strcmp(p.tracks[i].kind, "stream") != 0)
				check_busy(c.a, (uint32_t)p.tracks[i].id, wall[i]);
		for (uint32_t i = 0; i < c.w.t->work_count; i++)
			launched += (uint64_t)(c.w.t->end[c.w.t->work[i]] - c.w.t->begin[c.w.t->work[i]]);
		assert_int_equal(device, launched);
		assert_true(device > 0);
		assert_true(folded || number % 2);
		free(nodes);
		page_close(&p);
		case_close(&c);
	}
}

static const struct shown_node *node_named(const struct page *p, const struct shown_node *nodes, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (nodes[i].label && nodes[i].label <= p->label_count && strcmp(p->labels[nodes[i].label - 1].text, name) == 0)
			return &nodes[i];
	fail_msg("there is no node %s", name);
	return nodes;
}

/* Nothing of it is narrow, so that it has to be folded by depth. */
static void a_deep_flame_is_folded(void **state)
{
	struct case_world c;
	struct page p;
	struct shown_node *nodes;
	uint64_t wall = 0;
	uint32_t thread;
	size_t count, deepest = 0;

	(void)state;
	case_open(&c, 8);
	thread = world_track(&c.w, TRACK_THREAD, world_process(&c.w, 1, -1), -1);
	for (int64_t i = 0; i < 9000; i++) {
		char name[20];

		snprintf(name, sizeof name, "f%u", (unsigned)any(1000));
		world_slice(&c.w, thread, EVENT_CPU_CALL, name, i * 1000, 100000000 - 2000 * i + (int64_t)any(900));
	}
	page_make(&p, case_analyze(&c), 200000);
	nodes = read_flame(&p, &count);
	for (size_t i = 0; i < count; i++) {
		wall += nodes[i].wall;
		deepest = nodes[i].depth > deepest ? nodes[i].depth : deepest;
	}
	assert_int_equal(wall, busy_of(c.a, thread));
	assert_true(deepest < 8000 && deepest > 100);
	assert_int_equal(nodes[count - 1].label, p.label_count + 1);
	assert_true(p.html.size <= 200000);
	free(nodes);
	page_close(&p);
	case_close(&c);
}

static void flame_knows_the_processor(void **state)
{
	struct host_world w;
	struct host_thread main, other;
	uint32_t program;
	struct shown_node *nodes;
	const struct shown_node *n;
	struct page p;
	size_t count;

	(void)state;
	host_open(&w);
	program = host_process(&w, 10);
	main = host_thread(&w, program, 10);
	other = host_thread(&w, program, 11);
	host_call(&w, main, own(&w, "run"), 0, 100 * MS);
	host_call(&w, main, own(&w, "wait"), 20 * MS, 50 * MS);
	host_call(&w, main, own(&w, "late"), 110 * MS, 10 * MS);
	host_state(&w, main, "running", 10 * MS, 20 * MS);
	host_state(&w, main, "lock", 30 * MS, 45 * MS);
	host_state(&w, main, "running", 75 * MS, 10 * MS);
	host_state(&w, main, "sleep", 85 * MS, 15 * MS);
	host_call(&w, other, own(&w, "unseen"), 5 * MS, 40 * MS);
	page_make(&p, host_analyze(&w), 1000000);
	nodes = read_flame(&p, &count);
	n = node_named(&p, nodes, count, "__main__.run");
	assert_int_equal(n->depth, 1);
	assert_int_equal(n->wall, 50 * MS);
	assert_int_equal(n->processor, 30 * MS); /* 0 to 10: nobody looked; 10 to 20; 75 to 85 */
	n = node_named(&p, nodes, count, "__main__.wait");
	assert_int_equal(n->depth, 2);
	assert_int_equal(n->wall, 50 * MS);
	assert_int_equal(n->processor, 10 * MS);
	n = node_named(&p, nodes, count, "__main__.late");
	assert_int_equal(n->processor, 10 * MS); /* nobody looked any more */
	n = node_named(&p, nodes, count, "__main__.unseen");
	assert_int_equal(n->processor, 40 * MS);
	assert_string_equal(p.labels[n->label - 1].category, "python");
	free(nodes);
	page_close(&p);
	host_close(&w);
}

/* ---- States and counters ----------------------------------------------------- */

static void states_are_as_seen(void **state)
{
	static const struct {
		const char *name;
		int64_t begin, duration, place;
	} seen[] = { { "running", 0, 10, 0 }, { "lock", 10, 20, 2 }, { "socket_network", 40, 5, 8 }, { "what", 50, 10, 14 } };
	struct host_world w;
	struct host_thread main, idle;
	struct cursor c;
	int64_t at = 0;
	struct page p;
	uint32_t program, quiet;

	(void)state;
	host_open(&w);
	program = host_process(&w, 10);
	main = host_thread(&w, program, 10);
	idle = host_thread(&w, program, 12);
	quiet = host_track(&w, TRACK_STATES, program, 13, -1); /* of a thread without a track */
	host_call(&w, main, own(&w, "run"), 0, 100 * MS);
	for (size_t i = 0; i < 4; i++)
		host_state(&w, main, seen[i].name, seen[i].begin * MS, seen[i].duration * MS);
	host_state(&w, idle, "poll", 3 * MS, 5 * MS);
	host_state(&w, (struct host_thread){ 0, quiet }, "sleep", 1 * MS, 2 * MS);
	page_make(&p, host_analyze(&w), 1000000);
	assert_int_equal(p.track_count, 3);
	assert_int_equal(p.state_count, 3);
	assert_int_equal(p.states[0][0], 0);
	assert_int_equal(p.states[0][1], 4);
	assert_int_equal(p.tracks[1].id, idle.calls);
	assert_int_equal(p.tracks[1].slices, 0);
	assert_int_equal(p.tracks[2].id, quiet);
	assert_string_equal(p.tracks[2].kind, "thread");
	assert_string_equal(p.tracks[2].name, "thread 13");
	c = cursor_of(p.streams[P_STATES].data, p.streams[P_STATES].size);
	for (size_t i = 0; i < 4; i++) {
		at += cursor_sv(&c);
		assert_int_equal(at, seen[i].begin * MS);
		at += (int64_t)cursor_uv(&c);
		assert_int_equal(at, (seen[i].begin + seen[i].duration) * MS);
		assert_int_equal(cursor_uv(&c), seen[i].place);
	}
	assert_int_equal(cursor_sv(&c), 3 * MS);
	assert_int_equal(cursor_uv(&c), 5 * MS);
	assert_int_equal(cursor_uv(&c), 5);
	assert_int_equal(cursor_sv(&c), 1 * MS);
	assert_int_equal(cursor_uv(&c), 2 * MS);
	assert_int_equal(cursor_uv(&c), 4);
	assert_int_equal(cursor_left(&c), 0);
	page_close(&p);
	host_close(&w);
}

/* What takes the most of a cell stands for it. */
static void many_states_become_few(void **state)
{
	struct host_world w;
	struct host_thread main;
	struct cursor c;
	struct page p;
	int64_t at = 0, locked = 0, ran = 0;

	(void)state;
	seed = 99;
	host_open(&w);
	main = host_thread(&w, host_process(&w, 10), 10);
	host_call(&w, main, own(&w, "run"), 0, 40000 * MS);
	for (int64_t i = 0; i < 20000; i++) { /* a second of which most is locked, and one of which most is running */
		bool lock = i / 500 % 2 ? i % 2 : i % 10 == 0;

		host_state(&w, main, lock ? "lock" : "running", i * 2 * MS, lock && i / 500 % 2 ? 2 * MS : 1 * MS + (int64_t)any(100000));
	}
	page_make(&p, host_analyze(&w), 8000);
	assert_true(p.streams[P_STATES].there && p.states[0][1] >= 39 && p.states[0][1] < 1000);
	c = cursor_of(p.streams[P_STATES].data, p.streams[P_STATES].size);
	for (int64_t i = 0; i < p.states[0][1]; i++) {
		int64_t gap = cursor_sv(&c), length = (int64_t)cursor_uv(&c), what = (int64_t)cursor_uv(&c);

		assert_true(gap >= 0 && length > 0 && (what == 0 || what == 2));
		at += gap + length;
		*(what ? &locked : &ran) += length;
	}
	assert_int_equal(cursor_left(&c), 0);
	assert_true(at * p.quantum >= 39900 * MS && at * p.quantum <= 40600 * MS);
	assert_true(llabs((locked - ran) * p.quantum) < 4000 * MS); /* 20 seconds each */
	page_close(&p);
	host_close(&w);
}

struct shown_point {
	int64_t time;
	double value;
};

static struct shown_point *read_counter(const struct page *p, const char *name, const struct shown_counter **ret)
{
	struct cursor c = cursor_of(p->streams[P_COUNTERS].data, p->streams[P_COUNTERS].size);

	for (size_t i = 0; i < p->counter_count; i++) {
		const struct shown_counter *counter = &p->counters[i];
		struct shown_point *points = calloc((size_t)counter->count + 1, sizeof *points);
		int64_t time = 0, value = 0;

		for (int64_t k = 0; k < counter->count; k++) {
			time += (int64_t)cursor_uv(&c);
			value += cursor_sv(&c);
			points[k] = (struct shown_point){ time * counter->quantum, (double)value / counter->scale };
		}
		assert_false(c.bad);
		if (strcmp(counter->name, name) == 0) {
			*ret = counter;
			return points;
		}
		free(points);
	}
	*ret = NULL;
	return NULL;
}

static void put_counters(struct host_world *w, uint32_t track, uint32_t host)
{
	for (int64_t i = 0; i < 20; i++) {
		host_counter_at(w, track, "rss_bytes", i * 10 * MS, 1000000 + i % 3 * 4096);
		host_counter_at(w, track, "threads", i * 10 * MS, 7);
		host_counter_at(w, track, "user_ns", i * 10 * MS, 5000 + i * 4 * MS);
		host_counter_at(w, track, "wait_ns", i * 10 * MS, i % 2 ? 500 : 1500); /* no sum: it falls */
		host_counter_at(w, host, "host_busy_ns", i * 10 * MS, i * i * MS);
	}
	for (int64_t i = 0; i < 30000; i++)
		world_put(&w->w, &(struct world_event){ .track = track, .kind = EVENT_COUNTER, .phase = PHASE_INSTANT, .name = "load",
							.time = i * 10000, .value = i == 12345 ? 9.5 : i == 23456 ? -2.25 : (double)(i % 7) / 7 });
}

static void counters_are_values_or_rates(void **state)
{
	const struct shown_counter *counter;
	struct shown_point *points;
	struct host_world w;
	uint32_t program, track, host;
	struct host_thread main;
	struct page p;
	double most = 0, least = 0;

	(void)state;
	host_open(&w);
	program = host_process(&w, 10);
	main = host_thread(&w, program, 10);
	track = host_track(&w, TRACK_PROCESS, program, 10, -1);
	host = host_track(&w, TRACK_HOST, -1, 0, -1);
	host_call(&w, main, own(&w, "run"), 0, 300 * MS);
	put_counters(&w, track, host);
	page_make(&p, host_analyze(&w), 10000000);

	points = read_counter(&p, "rss_bytes", &counter);
	assert_non_null(counter);
	assert_string_equal(counter->unit, "bytes");
	assert_true(counter->process == 0 && counter->count == 20 && counter->scale == 1 && !counter->rate);
	for (int64_t i = 0; i < 20; i++) {
		assert_int_equal(points[i].time, i * 10 * MS);
		assert_int_equal(points[i].value, 1000000 + i % 3 * 4096);
	}
	free(points);

	assert_null(read_counter(&p, "threads", &counter)); /* it never changes */
	points = read_counter(&p, "user_ns", &counter);
	assert_true(counter && counter->rate && counter->count == 20);
	assert_string_equal(counter->unit, "ns");
	for (int64_t i = 0; i < 20; i++)
		assert_true(fabs(points[i].value - 4e8) < 1000);
	free(points);
	points = read_counter(&p, "wait_ns", &counter);
	assert_true(counter && !counter->rate);
	free(points);
	points = read_counter(&p, "host_busy_ns", &counter);
	assert_true(counter && counter->rate && counter->process == -1);
	assert_true(fabs(points[3].value - 7e8) < 1000); /* 16 - 9 ms in 10 ms */
	free(points);

	points = read_counter(&p, "load", &counter);
	assert_true(counter && counter->count <= 4004 && counter->count > 2000);
	for (int64_t i = 0; i < counter->count; i++) {
		assert_true(i == 0 || points[i].time >= points[i - 1].time);
		most = points[i].value > most ? points[i].value : most;
		least = points[i].value < least ? points[i].value : least;
	}
	assert_true(fabs(most - 9.5) < 1e-5 && fabs(least + 2.25) < 1e-5);
	free(points);
	page_close(&p);
	host_close(&w);
}

/* ---- Edges ------------------------------------------------------------------- */

static void an_empty_trace(void **state)
{
	struct case_world c;
	struct page p;

	(void)state;
	case_open(&c, 1);
	page_make(&p, case_analyze(&c), 100000);
	assert_true(p.exact && p.slices_all == 0 && p.track_count == 0 && p.label_count == 0);
	assert_true(p.streams[P_ANALYSIS].there);
	for (unsigned i = P_ROW; i < PAGE_STREAMS; i++)
		assert_false(p.streams[i].there);
	page_close(&p);
	page_make(&p, c.a, 0);
	assert_int_equal(p.slices_all, 0);
	page_close(&p);
	case_close(&c);
}

static void names_may_be_any_bytes(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t thread;
	char *huge = malloc(100001);

	(void)state;
	case_open(&c, 1);
	thread = world_track(&c.w, TRACK_THREAD, world_process(&c.w, 1, -1), -1);
	for (size_t i = 0; i < 100000; i++)
		huge[i] = "\xc3\xa4"[i % 2]; /* a umlauts */
	huge[100000] = '\0';
	world_slice(&c.w, thread, EVENT_SCOPE, "</script><!--\xff\x01\"\\", 0, 5);
	world_slice(&c.w, thread, EVENT_SCOPE, "", 10, 5);
	world_slice(&c.w, thread, EVENT_SCOPE, huge, 20, 5);
	page_make(&p, case_analyze(&c), 1000000);
	assert_int_equal(p.slice_count, 3);
	assert_string_equal(p.labels[p.slices[0].label].text, "</script><!--\xef\xbf\xbd\x01\"\\");
	assert_string_equal(p.labels[p.slices[1].label].text, "");
	assert_in_range(strlen(p.labels[p.slices[2].label].text), 505, 512);
	assert_non_null(strstr(p.labels[p.slices[2].label].text, "\xc3\xa4\xe2\x80\xa6\xc3\xa4"));
	assert_null(strstr(p.labels[p.slices[2].label].text, "\xef\xbf\xbd"));
	free(huge);
	page_close(&p);
	case_close(&c);
}

/* Many texts that do not get smaller: they are cut, and the rest is told by its kind. */
static void many_names_leave_room(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t thread;
	size_t others = 0;

	(void)state;
	case_open(&c, 11);
	thread = world_track(&c.w, TRACK_THREAD, world_process(&c.w, 1, -1), -1);
	for (unsigned i = 0; i < 6000; i++) {
		char name[301];

		for (unsigned k = 0; k < 300; k++)
			name[k] = (char)('!' + any(90));
		name[300] = '\0';
		world_slice(&c.w, thread, i % 2 ? EVENT_SCOPE : EVENT_OP, name, 10 * i, 5);
	}
	page_make(&p, case_analyze(&c), 4900000);
	assert_true(p.exact && p.slice_count == 6000 && p.html.size < 4900000);
	assert_true(p.label_count == 6000);
	assert_true(strlen(p.labels[0].text) < 300);
	page_close(&p);
	page_make(&p, c.a, 600000);
	assert_true(p.label_count < 6000);
	for (size_t i = 0; i < p.label_count; i++)
		others += strcmp(p.labels[i].text, "(other names)") == 0;
	assert_int_equal(others, 2);
	page_close(&p);
	case_close(&c);
}

static void very_deep_and_very_long(void **state)
{
	const int64_t longest = (int64_t)1 << 59;
	struct case_world c;
	struct page p;
	uint32_t thread, place;

	(void)state;
	case_open(&c, 1);
	thread = world_track(&c.w, TRACK_THREAD, world_process(&c.w, 1, -1), -1);
	for (int64_t i = 0; i < 3000; i++)
		world_slice(&c.w, thread, EVENT_CPU_CALL, i % 2 ? "even.py:1" : "odd.py:1", i, longest - 2 * i);
	world_slice(&c.w, thread, EVENT_CPU_CALL, "last.py:1", longest + 10, longest / 2);
	page_make(&p, case_analyze(&c), 10000000);
	assert_int_equal(p.quantum, 1000); /* the finest in which a time has 52 bits */
	assert_int_equal(p.tracks[0].rows, 3000);
	for (place = 0; place < 3000; place++) {
		assert_int_equal(p.slices[place].row, place);
		assert_int_equal(p.slices[place].begin, rounded(c.w.t->begin[place], 1000));
		assert_int_equal(p.slices[place].end, rounded(c.w.t->end[place], 1000));
	}
	assert_int_equal(p.slices[3000].row, 0);
	assert_int_equal(p.slices[3000].end, rounded(c.w.t->end[3000], 1000));
	page_close(&p);
	page_make(&p, c.a, 1000);
	assert_false(p.exact);
	page_close(&p);
	case_close(&c);
}

/* A thousand at once: rows are bounded, and no row overlaps itself. */
static void crowded_streams(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t stream;
	int64_t ends[64] = { 0 };
	unsigned last = 0;

	(void)state;
	case_open(&c, 1);
	stream = world_track(&c.w, TRACK_STREAM, -1, world_device(&c.w, 0));
	for (int64_t i = 0; i < 1000; i++)
		world_work(&c.w, stream, EVENT_GPU_KERNEL, "kernel", i * 10, 5000 + (int64_t)any(3000), 0);
	page_make(&p, case_analyze(&c), 1000000);
	assert_int_equal(p.slice_count, 1000);
	assert_int_equal(p.tracks[0].rows, 64);
	for (size_t i = 0; i < p.slice_count; i++) {
		assert_true(p.slices[i].begin >= ends[p.slices[i].row]);
		assert_true(p.slices[i].end >= p.slices[i].begin);
		ends[p.slices[i].row] = p.slices[i].end;
		last += p.slices[i].row == 63;
		if (p.slices[i].row < 63)
			assert_int_equal(p.slices[i].end - p.slices[i].begin, c.w.t->end[i] - c.w.t->begin[i]);
	}
	assert_true(last > 500);
	page_close(&p);
	case_close(&c);
}

static void thousands_of_tracks(void **state)
{
	struct case_world c;
	struct page p;
	uint32_t process, i;

	(void)state;
	case_open(&c, 6);
	process = world_process(&c.w, 1, -1);
	for (i = 0; i < 3000; i++) {
		uint32_t thread = world_track(&c.w, TRACK_THREAD, process, -1);

		world_slice(&c.w, thread, EVENT_SCOPE, "outer", 10 * i, 100000 + (int64_t)any(900000));
		world_slice(&c.w, thread, EVENT_OP, "inner", 10 * i + 5, (int64_t)any(90000));
	}
	page_make(&p, case_analyze(&c), 10000000);
	assert_int_equal(p.track_count, 3000);
	for (i = 0; i < 3000; i++)
		assert_int_equal(p.slices[2 * i].begin, 10 * i);
	page_close(&p);
	page_make(&p, c.a, smallest(c.a) + 3000);
	assert_false(p.exact);
	check_slices(&p, c.a);
	page_close(&p);
	case_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slice_is_there),
		cmocka_unit_test(tracks_come_in_order),
		cmocka_unit_test(fewer_bytes_are_less_exact),
		cmocka_unit_test(steps_and_examples_stay_whole),
		cmocka_unit_test(a_range_is_whole),
		cmocka_unit_test(a_range_may_be_too_large),
		cmocka_unit_test(a_range_of_what_fits_anyway),
		cmocka_unit_test(the_command_is_for_a_shell),
		cmocka_unit_test(the_same_again),
		cmocka_unit_test(the_analysis_is_the_same_json),
		cmocka_unit_test(a_huge_analysis_is_cut),
		cmocka_unit_test(flame_has_all_time),
		cmocka_unit_test(a_deep_flame_is_folded),
		cmocka_unit_test(flame_knows_the_processor),
		cmocka_unit_test(states_are_as_seen),
		cmocka_unit_test(many_states_become_few),
		cmocka_unit_test(counters_are_values_or_rates),
		cmocka_unit_test(an_empty_trace),
		cmocka_unit_test(names_may_be_any_bytes),
		cmocka_unit_test(many_names_leave_room),
		cmocka_unit_test(very_deep_and_very_long),
		cmocka_unit_test(crowded_streams),
		cmocka_unit_test(thousands_of_tracks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
