/* maps.c - MessagePack maps of events and devices. */
#include "timeline/build.h"

void map_each(const void *data, size_t size,
	      void (*take)(void *arg, const struct msgpack_value *key, const struct msgpack_value *value), void *arg)
{
	struct cursor in = cursor_of(data, size), before;
	struct msgpack_value map, key, value;

	if (!size || msgpack_read(&in, &map) || map.type != MSGPACK_MAP)
		return;
	for (uint32_t i = 0; i < map.count; i++) {
		if (msgpack_read(&in, &key) || key.type != MSGPACK_STRING)
			return;
		before = in;
		if (msgpack_read(&in, &value))
			return;
		if (value.type != MSGPACK_ARRAY && value.type != MSGPACK_MAP) {
			take(arg, &key, &value);
			continue;
		}
		in = before;
		if (msgpack_skip(&in))
			return;
	}
}
