/* test-names.c - ring/names.h: interning, limits, and what the recorder reads back. */
#include "ring/names.h"

#include "ring-world.h"

static struct world world;
static struct ring_memory *memory;
static struct ring_file file;
static struct name_table *table;

static int set_up(void **state)
{
	(void)state;
	world_set_up(&world, 2, OVERFLOW_WRAP);
	world_process(&world, &memory, &file);
	table = name_table_map();
	assert_non_null(table);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ring_file_close(&file);
	world_tear_down(&world);
	return 0;
}

static uint32_t intern(const char *name)
{
	return name_intern(table, &memory->process, name, strlen(name));
}

static void reads_back_as(uint32_t id, const char *expected, size_t expected_size)
{
	size_t size = 0;
	const uint8_t *text = name_in_file(file.map, file.first_name, id, &size);

	assert_non_null(text);
	assert_int_equal(size, expected_size);
	assert_memory_equal(text, expected, size);
}

static void same_content_same_id(void **state)
{
	char copy[] = "decode";
	uint32_t id = intern("decode");

	(void)state;
	assert_int_equal(id, NAME_FIRST);
	assert_int_equal(intern(copy), id);
	copy[0] = 'r';
	assert_int_equal(intern(copy), id + 1);
	assert_int_equal(intern("decode"), id);
	assert_int_equal(intern(""), id + 2);
	reads_back_as(id, "decode", 6);
	reads_back_as(id + 1, "recode", 6);
	reads_back_as(id + 2, "", 0);
	assert_int_equal(memory->process.header->names, id + 3);
}

/* At the limit, in the middle of a character of each length, and where there is no start of one. */
static void long_names_are_cut_between_characters(void **state)
{
	char name[2001];
	uint32_t id = NAME_FIRST;

	(void)state;
	memset(name, 'a', sizeof name - 1);
	name[NAME_MAX_BYTES] = '\0';
	reads_back_as(intern(name), name, NAME_MAX_BYTES);
	for (size_t length = 2; length <= 4; length++)
		for (size_t before = 1; before < length; before++) {
			static const char first[] = { 0, 0, (char)0xc3, (char)0xe2, (char)0xf0 };
			size_t start = NAME_MAX_BYTES - before;

			memset(name, 'a', sizeof name - 1);
			name[0] = (char)('0' + id++);
			name[sizeof name - 1] = '\0';
			name[start] = first[length];
			memset(name + start + 1, 0x80, length - 1);
			reads_back_as(intern(name), name, start);
		}
	memset(name, 0x80, sizeof name - 1);
	reads_back_as(intern(name), name, NAME_MAX_BYTES - 4);
}

static void too_many_names_are_refused(void **state)
{
	char name[32];
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < NAME_LIMIT - NAME_FIRST; i++) {
		snprintf(name, sizeof name, "name %u", i);
		id = intern(name);
		if (id != NAME_FIRST + i)
			assert_int_equal(id, NAME_FIRST + i);
	}
	assert_int_equal(intern("one more"), NAME_TOO_MANY);
	assert_int_equal(intern("name 0"), NAME_FIRST);
	assert_int_equal(intern(name), NAME_LIMIT - 1);
	reads_back_as(NAME_LIMIT - 1, name, strlen(name));
	assert_int_equal(memory->process.header->names, NAME_LIMIT);
}

/* 16 MiB of text are full before there are that many names. */
static void too_much_text_is_refused(void **state)
{
	char name[NAME_MAX_BYTES + 1];
	uint32_t fitting = NAME_TEXT_SIZE / (NAME_MAX_BYTES + 2);

	(void)state;
	memset(name, 'x', NAME_MAX_BYTES);
	name[NAME_MAX_BYTES] = '\0';
	for (uint32_t i = 0; i < fitting; i++) {
		snprintf(name, 9, "%08u", i);
		name[8] = 'x';
		assert_int_equal(intern(name), NAME_FIRST + i);
	}
	memcpy(name, "too many", 8);
	assert_int_equal(intern(name), NAME_TOO_MANY);
	snprintf(name, 9, "%08u", fitting - 1);
	name[8] = 'x';
	reads_back_as(NAME_FIRST + fitting - 1, name, NAME_MAX_BYTES);
}

/* A forked child goes on with its parent's table, in an arena of its own. */
static void a_child_goes_on(void **state)
{
	struct ring_memory *child;
	struct ring_file child_file;
	uint32_t parents = intern("parent's"), own;
	size_t size;

	(void)state;
	assert_int_equal(world_attach(&world, &child, table->next), 0);
	assert_int_equal(ring_file_open(&child_file, world.folder_fd, child->process.number, NULL), 0);
	assert_int_equal(name_intern(table, &child->process, "parent's", 8), parents);
	own = name_intern(table, &child->process, "child's", 7);
	assert_int_equal(own, parents + 1);
	assert_int_equal(child_file.first_name, own);
	assert_null(name_in_file(child_file.map, child_file.first_name, parents, &size));
	assert_memory_equal(name_in_file(child_file.map, child_file.first_name, own, &size), "child's", 7);
	assert_int_equal(size, 7);
	ring_file_close(&child_file);
}

/* Another session of the same process: what has remembered a number may go on using it. */
static void names_move_to_another_file(void **state)
{
	struct ring_memory *next;
	struct ring_file next_file;
	uint32_t decode = intern("decode"), function = name_intern(table, &memory->process, "m\0f\0/f.py\0001", 12);
	size_t size;

	(void)state;
	assert_int_equal(world_attach(&world, &next, NAME_FIRST), 0);
	assert_int_equal(ring_file_open(&next_file, world.folder_fd, next->process.number, NULL), 0);
	name_table_move(table, &next->process);
	ring_process_leave(&memory->process);
	assert_memory_equal(name_in_file(next_file.map, next_file.first_name, decode, &size), "decode", 6);
	assert_int_equal(size, 6);
	assert_memory_equal(name_in_file(next_file.map, next_file.first_name, function, &size), "m\0f\0/f.py\0001", 12);
	assert_int_equal(size, 12);
	assert_int_equal(name_intern(table, &next->process, "decode", 6), decode);
	assert_int_equal(name_intern(table, &next->process, "new", 3), function + 1);
	assert_int_equal(next->process.header->names, function + 2);
	ring_file_close(&next_file);
}

static void garbage_in_the_arena_is_no_name(void **state)
{
	static const uint32_t offsets[] = { NAME_TEXT_SIZE - 1, NAME_TEXT_SIZE, NAME_TEXT_SIZE + 1, UINT32_MAX,
					    UINT32_MAX - 1 };
	_Atomic uint32_t *index = layout_name_index(file.map);
	uint8_t *text = layout_name_text(file.map);
	uint16_t length = NAME_MAX_BYTES + 1;
	size_t size;

	(void)state;
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_NONE, &size));
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_TOO_MANY, &size));
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_FIRST, &size));
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_LIMIT, &size));
	assert_null(name_in_file(file.map, NAME_FIRST, UINT32_MAX, &size));
	for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
		index[0] = offsets[i];
		assert_null(name_in_file(file.map, NAME_FIRST, NAME_FIRST, &size));
	}
	index[0] = 1;
	memcpy(text, &length, 2);
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_FIRST, &size)); /* longer than names are */
	index[0] = NAME_TEXT_SIZE - 2;
	length = 2;
	memcpy(text + NAME_TEXT_SIZE - 3, &length, 2);
	assert_null(name_in_file(file.map, NAME_FIRST, NAME_FIRST, &size)); /* beyond the end */
	length = 1;
	memcpy(text + NAME_TEXT_SIZE - 3, &length, 2);
	assert_non_null(name_in_file(file.map, NAME_FIRST, NAME_FIRST, &size)); /* up to the end */
	assert_int_equal(size, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_content_same_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_names_are_cut_between_characters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_names_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_much_text_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_child_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_move_to_another_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage_in_the_arena_is_no_name, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
