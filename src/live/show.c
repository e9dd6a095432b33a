/* show.c - see show.h. */
#include "live/show.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "live/output.h"
#include "live/terminal.h"

#define LOOK_MS 200      /* how soon another size, or the foreground, is noticed */
#define DRAW_MS 980      /* between draws that nobody asked for, whatever the interval, and in which there is nothing to act on */
#define OUTPUT_MS 480    /* between draws of what the program writes */
#define SUSPEND_MS 1000
#define END_MS 2000

enum wish { WISH_SHOWN, WISH_HIDDEN, WISH_END };

struct live_show {
	int fd; /* of the terminal */
	int wake_fd, done_fd;
	pthread_t thread;
	bool started;
	struct termios before; /* the terminal's settings */

	/* the caller's own */
	int64_t told_ms;
	uint8_t told_state;
	uint32_t told_alerts;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum wish wish;
	bool settled, ended; /* as the thread last told; settled: as wished */
	bool fresh;
	struct live_snapshot *next;

	/* the thread's own */
	struct live_terminal *terminal;
	struct live_output *output; /* NULL: the program's is somewhere else */
	struct live_snapshot *now;
	pid_t program;
	bool on_screen;
	bool left, gone; /* by the user; the terminal */
	bool typing;     /* the view has been left: all that is typed is for the program */
	bool redraw, soon; /* at once; when it has been long enough: what the program writes may be much */
	int64_t drawn_ms;
	struct winsize size;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void wake(const struct live_show *show)
{
	uint64_t one = 1;

	(void)!write(show->wake_fd, &one, sizeof one);
}

/* ---- Making one ------------------------------------------------------------------------ */

static int open_terminal(struct live_show *show, struct error *err)
{
	char name[256];

	if (ttyname_r(STDERR_FILENO, name, sizeof name) == 0)
		show->fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (show->fd < 0)
		show->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (show->fd < 0)
		return error_errno(err, -errno, "cannot open the terminal");
	return live_terminal_check(show->fd, err);
}

static int make_parts(struct live_show *show, const struct live_show_options *options, struct error *err)
{
	struct live_terminal_options terminal = { .color = options->color, .title = options->title, .hint = options->hint };
	int rc = open_terminal(show, err);

	if (rc == 0 && options->output)
		rc = live_output_new(&show->output, show->fd, LIVE_OUTPUT_KEPT, err);
	terminal.fd = show->fd;
	terminal.output = show->output;
	if (rc == 0)
		rc = live_terminal_new(&show->terminal, &terminal, err);
	if (rc != 0)
		return rc;
	show->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	show->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	show->next = calloc(1, sizeof *show->next);
	show->now = calloc(1, sizeof *show->now);
	if (show->wake_fd < 0 || show->done_fd < 0 || !show->next || !show->now)
		return error_set(err, -ENOMEM, "out of memory");
	(void)tcgetattr(show->fd, &show->before);
	return 0;
}

int live_show_new(struct live_show **ret, const struct live_show_options *options, struct error *err)
{
	struct live_show *show = calloc(1, sizeof *show);
	pthread_condattr_t monotonic;
	int rc;

	if (!show)
		return error_set(err, -ENOMEM, "out of memory");
	show->fd = show->wake_fd = show->done_fd = -1;
	pthread_mutex_init(&show->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&show->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	rc = make_parts(show, options, err);
	if (rc != 0) {
		live_show_free(show);
		return rc;
	}
	*ret = show;
	return 0;
}

void live_show_streams(const struct live_show *show, int streams[3])
{
	streams[0] = streams[1] = streams[2] = -1;
	if (show->output)
		live_output_streams(show->output, streams);
}

int live_show_done_fd(const struct live_show *show)
{
	return show->done_fd;
}

/* ---- The thread: on the screen or not ----------------------------------------------------- */

/* A terminal that is not ours to control has no foreground. */
static bool in_foreground(const struct live_show *show)
{
	pid_t group = tcgetpgrp(show->fd);

	return group < 0 || group == getpgrp();
}

/* What is typed is for the program, whose own pseudo-terminal shows and edits it. */
static void begin_typing(struct live_show *show)
{
	struct termios settings = show->before;

	if (!show->output || !live_output_has_input(show->output) || show->typing)
		return;
	settings.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	show->typing = tcsetattr(show->fd, TCSANOW, &settings) == 0;
}

static void end_typing(struct live_show *show)
{
	if (show->typing)
		(void)tcsetattr(show->fd, TCSANOW, &show->before);
	show->typing = false;
}

static void hide(struct live_show *show)
{
	live_terminal_hide(show->terminal);
	show->on_screen = false;
	if (show->output)
		live_output_print(show->output);
}

static void leave(struct live_show *show)
{
	uint64_t one = 1;

	show->left = true;
	(void)!write(show->done_fd, &one, sizeof one);
}

static void lose_terminal(struct live_show *show)
{
	show->gone = true;
	leave(show);
}

/* Nothing is shown before there is something to show. */
static bool is_wanted(const struct live_show *show, enum wish wish)
{
	return wish == WISH_SHOWN && !show->left && !show->gone && show->now->sequence > 0 && in_foreground(show);
}

static void enter(struct live_show *show)
{
	end_typing(show);
	(void)tcgetattr(show->fd, &show->before); /* who started us in the background may have had it otherwise */
	show->on_screen = live_terminal_show(show->terminal, NULL) == 0;
	show->redraw = true;
	if (!show->on_screen)
		leave(show);
}

static void tell(struct live_show *show)
{
	pthread_mutex_lock(&show->lock);
	show->settled = true;
	pthread_cond_broadcast(&show->changed);
	pthread_mutex_unlock(&show->lock);
}

static void adapt(struct live_show *show, enum wish wish)
{
	bool wanted = is_wanted(show, wish);

	if (wanted && !show->on_screen)
		enter(show);
	else if (!wanted && show->on_screen)
		hide(show);
	if (wish != WISH_SHOWN)
		end_typing(show);
	else if (show->left && !show->gone && in_foreground(show))
		begin_typing(show);
	tell(show);
}

static enum wish take_news(struct live_show *show)
{
	struct live_snapshot *before = show->now;
	uint64_t count;
	enum wish wish;

	(void)!read(show->wake_fd, &count, sizeof count);
	pthread_mutex_lock(&show->lock);
	wish = show->wish;
	if (show->fresh) {
		show->now = show->next;
		show->next = before;
		show->fresh = false;
		show->redraw = true;
	}
	pthread_mutex_unlock(&show->lock);
	if (show->now != before)
		live_terminal_note(show->terminal, show->now);
	return wish;
}

/* ---- The thread: what happens ------------------------------------------------------------- */

/* The program hears of it from the real terminal as well, maybe before its own has the new size. */
static void keep_size(struct live_show *show)
{
	struct winsize size;

	if (!show->output || ioctl(show->fd, TIOCGWINSZ, &size) != 0 ||
	    (size.ws_row == show->size.ws_row && size.ws_col == show->size.ws_col))
		return;
	live_output_resize(show->output, &size);
	if (show->size.ws_row && show->program > 0)
		(void)kill(show->program, SIGWINCH);
	show->size = size;
}

static void draw(struct live_show *show)
{
	int64_t now = now_ms();

	if (!show->on_screen || !(show->redraw || (show->soon && now - show->drawn_ms >= OUTPUT_MS)))
		return;
	live_terminal_draw(show->terminal, show->now);
	show->drawn_ms = now;
	show->redraw = show->soon = false;
}

static void take_output(struct live_show *show)
{
	if (!show->on_screen) {
		live_output_pass(show->output);
		return;
	}
	live_output_keep(show->output);
	show->soon = true;
}

static void take_typed(struct live_show *show)
{
	char bytes[256];
	ssize_t n = read(show->fd, bytes, sizeof bytes);

	if (n > 0)
		(void)live_output_type(show->output, bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR && in_foreground(show)))
		lose_terminal(show);
}

/* The terminal has something: keys, or its end. */
static void take_terminal(struct live_show *show, short events)
{
	enum live_key_result result;

	if (events & (POLLHUP | POLLERR | POLLNVAL)) {
		lose_terminal(show);
		return;
	}
	if (!in_foreground(show))
		return;
	if (show->typing) {
		take_typed(show);
		return;
	}
	result = live_terminal_keys(show->terminal);
	if (result == LIVE_KEY_QUIT)
		leave(show);
	if (result == LIVE_KEY_REDRAW) {
		show->redraw = true;
		draw(show);
	}
}

static void wait_for_news(struct live_show *show)
{
	bool keys = (show->on_screen || show->typing) && !show->gone;
	struct pollfd fds[] = {
		{ .fd = show->wake_fd, .events = POLLIN },
		{ .fd = show->gone ? -1 : show->fd, .events = keys ? POLLIN : 0 },
		{ .fd = show->output ? live_output_fd(show->output) : -1, .events = POLLIN },
	};

	if (poll(fds, 3, show->gone ? -1 : LOOK_MS) <= 0)
		return;
	if (fds[2].revents & POLLIN)
		take_output(show);
	if (fds[1].revents)
		take_terminal(show, fds[1].revents);
}

static void *run(void *arg)
{
	struct live_show *show = arg;
	enum wish wish;

	while ((wish = take_news(show)) != WISH_END) {
		adapt(show, wish);
		keep_size(show);
		if (show->on_screen && live_terminal_resized(show->terminal))
			show->redraw = true;
		draw(show);
		wait_for_news(show);
	}
	if (show->output)
		take_output(show);
	adapt(show, wish);
	pthread_mutex_lock(&show->lock);
	show->ended = true;
	pthread_cond_broadcast(&show->changed);
	pthread_mutex_unlock(&show->lock);
	return NULL;
}

/* ---- From other threads -------------------------------------------------------------------- */

int live_show_start(struct live_show *show, pid_t program, struct error *err)
{
	int rc;

	show->program = program;
	rc = pthread_create(&show->thread, NULL, run, show);
	if (rc != 0)
		return error_errno(err, -rc, "cannot start a thread for the view");
	show->started = true;
	return 0;
}

void live_show_update(struct live_show *show, const struct live_snapshot *snapshot)
{
	int64_t now = now_ms();

	if (snapshot->state == show->told_state && snapshot->active_alerts == show->told_alerts && now - show->told_ms < DRAW_MS)
		return;
	show->told_ms = now;
	show->told_state = snapshot->state;
	show->told_alerts = snapshot->active_alerts;
	pthread_mutex_lock(&show->lock);
	live_snapshot_copy(show->next, snapshot);
	show->fresh = true;
	pthread_mutex_unlock(&show->lock);
	wake(show);
}

/* Waits until the thread has done as wished, or for so long. */
static void wish_for(struct live_show *show, enum wish wish, int ms)
{
	struct timespec until;

	if (!show->started)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	pthread_mutex_lock(&show->lock);
	show->wish = wish;
	show->settled = false;
	wake(show);
	while (ms > 0 && !(wish == WISH_END ? show->ended : show->settled))
		if (pthread_cond_timedwait(&show->changed, &show->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&show->lock);
}

void live_show_suspend(struct live_show *show)
{
	wish_for(show, WISH_HIDDEN, SUSPEND_MS);
}

void live_show_resume(struct live_show *show)
{
	wish_for(show, WISH_SHOWN, 0);
}

void live_show_end(struct live_show *show)
{
	wish_for(show, WISH_END, END_MS);
}

void live_show_free(struct live_show *show)
{
	if (!show)
		return;
	if (show->started) {
		live_show_end(show);
		pthread_join(show->thread, NULL);
	}
	live_terminal_free(show->terminal);
	live_output_free(show->output);
	pthread_mutex_destroy(&show->lock);
	pthread_cond_destroy(&show->changed);
	if (show->fd >= 0)
		close(show->fd);
	if (show->wake_fd >= 0)
		close(show->wake_fd);
	if (show->done_fd >= 0)
		close(show->done_fd);
	free(show->next);
	free(show->now);
	free(show);
}
