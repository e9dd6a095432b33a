/*
 * serve_stream.c - see serve_http.h: the clients that are told of every snapshot.
 *
 * A client is a place in the sequence of frames.  Its connection sleeps while there is nothing for it; one that is slow
 * holds one frame, finds the others gone and goes on with all of the newest.
 */
#include <stdlib.h>
#include <string.h>

#include "live/serve_http.h"

#define BLOCK (32u << 10)
#define BEAT_NS 15000000000

enum stage { STAGE_HELLO, STAGE_HISTORY, STAGE_FOLLOW, STAGE_END };

struct serve_client {
	struct serve_server *server;
	struct MHD_Connection *connection;
	struct serve_client *next;
	struct serve_frame *frame; /* that is being sent */
	size_t sent;               /* of it */
	uint64_t id;               /* of the snapshot that it has; 0: none */
	enum stage stage;
	bool asleep, beat;
	int64_t told_ns;
};

static struct serve_frame *ending(const struct serve_server *s)
{
	return serve_frame_text(s->lost ? "event: end\ndata: {\"reason\": \"lost\"}\n\n" :
					  "event: end\ndata: {\"reason\": \"ended\"}\n\n");
}

static struct serve_frame *follow(struct serve_client *c)
{
	struct serve_server *s = c->server;
	struct serve_frame *frame = s->frames.id ? serve_frames_after(&s->frames, c->id, s->snapshot) : NULL;

	if (frame) {
		c->id = frame->id;
		return frame;
	}
	if (s->over) {
		c->stage = STAGE_END;
		return ending(s);
	}
	if (!c->beat)
		return NULL;
	return serve_frame_text(": still here\n\n");
}

static struct serve_frame *next_frame(struct serve_client *c)
{
	struct serve_server *s = c->server;

	switch (c->stage) {
	case STAGE_HELLO:
		c->stage = c->id ? STAGE_FOLLOW : STAGE_HISTORY;
		return serve_frame_text("retry: 500\n\n");
	case STAGE_HISTORY:
		c->stage = STAGE_FOLLOW;
		return serve_frames_history(&s->frames, &s->history);
	case STAGE_FOLLOW:
		return follow(c);
	case STAGE_END:
		break;
	}
	return NULL;
}

static void sleep_until_news(struct serve_client *c)
{
	c->asleep = true;
	c->server->lib.suspend_connection(c->connection);
}

/* The library wants more to send. */
static ssize_t read_more(void *client, uint64_t position, char *out, size_t most)
{
	struct serve_client *c = client;
	size_t size;

	(void)position;
	if (!c->frame) {
		if (c->stage == STAGE_END)
			return MHD_CONTENT_READER_END_OF_STREAM;
		c->frame = next_frame(c);
		c->sent = 0;
		c->beat = false;
		c->told_ns = c->server->now_ns;
	}
	if (!c->frame) {
		sleep_until_news(c);
		return 0;
	}
	size = c->frame->text.size - c->sent < most ? c->frame->text.size - c->sent : most;
	memcpy(out, c->frame->text.data + c->sent, size);
	c->sent += size;
	if (c->sent == c->frame->text.size) {
		serve_frame_release(c->frame);
		c->frame = NULL;
	}
	return (ssize_t)size;
}

static void forget(void *client)
{
	struct serve_client *c = client, **at = &c->server->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->server->client_count--;
	serve_frame_release(c->frame);
	free(c);
}

static struct serve_client *new_client(struct serve_server *s, struct MHD_Connection *connection)
{
	const char *last = s->lib.lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID");
	struct serve_client *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	*c = (struct serve_client){ .server = s, .connection = connection, .id = serve_frames_id(&s->frames, last),
				    .told_ns = s->now_ns, .next = s->clients };
	s->clients = c;
	s->client_count++;
	return c;
}

/* Another status than 200 would make a browser give up for good. */
static struct MHD_Response *come_later(struct serve_server *s)
{
	static char text[] = "retry: 5000\n\n";

	return s->lib.create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result serve_stream(struct serve_server *s, struct MHD_Connection *connection)
{
	struct serve_client *c = s->client_count < SERVE_CLIENTS ? new_client(s, connection) : NULL;
	struct MHD_Response *response;
	enum MHD_Result result;

	response = c ? s->lib.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_more, c, forget) : come_later(s);
	if (!response) {
		if (c)
			forget(c);
		return MHD_NO;
	}
	serve_common_headers(s, response, "text/event-stream; charset=utf-8");
	result = s->lib.queue_response(connection, MHD_HTTP_OK, response);
	s->lib.destroy_response(response);
	return result;
}

static void wake(struct serve_client *c)
{
	if (!c->asleep)
		return;
	c->asleep = false;
	c->server->lib.resume_connection(c->connection);
}

void serve_stream_wake(struct serve_server *s)
{
	for (struct serve_client *c = s->clients; c; c = c->next)
		wake(c);
}

void serve_stream_beat(struct serve_server *s)
{
	for (struct serve_client *c = s->clients; c; c = c->next)
		if (c->asleep && s->now_ns - c->told_ns >= BEAT_NS) {
			c->beat = true;
			wake(c);
		}
}
