/*
 * workload_signals.c - calls from signal handlers, at a high rate and at every instruction.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "workload.h"

static volatile sig_atomic_t handled;

static void emit_from_handler(int number)
{
	(void)number;
	inferscope_scope_begin("handler");
	inferscope_mark_with("in handler", inferscope_int("handled", handled));
	inferscope_scope_end();
	handled++;
}

static void every_50_us(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval timer = { .it_interval = { 0, 50 }, .it_value = { 0, 50 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void stop_timer(void)
{
	struct itimerval timer = { 0 };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static int timer(char **argv)
{
	unsigned wanted = argument(argv, 2000);
	char name[] = "main-0";

	every_50_us(emit_from_handler);
	while ((unsigned)handled < wanted) {
		name[5] = (char)('0' + handled % 10);
		inferscope_scope_begin(name);
		inferscope_mark_with("mark", inferscope_string("key", name));
		inferscope_scope_end();
		tally->events += 3;
	}
	stop_timer();
	tally->events += 3ull * (unsigned)handled;
	return 0;
}

/* ---- A jump out of the handler ------------------------------------------------- */

static sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	handled++;
	siglongjmp(back, 1);
}

/* Events whose calls were jumped out of may be there or not, so they are bounded from both sides:
 * the tally has those that came back. */
static int jump_out(char **argv)
{
	unsigned wanted = argument(argv, 200);
	static volatile uint64_t done;

	every_50_us(jump_back);
	(void)sigsetjmp(back, 1);
	while ((unsigned)handled < wanted) {
		inferscope_mark("work");
		done++;
	}
	stop_timer();
	tally->events += done;
	return 0;
}

/* ---- At every instruction -------------------------------------------------------- */

#if defined(__x86_64__) && !defined(SANITIZED)

#define TRAP_FLAG 0x100

static volatile long steps_left;
static volatile bool stepped_through;
static void (*volatile on_step)(void);

/* After each instruction while the trap flag is set; at the chosen one it acts and steps no further. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	if (steps_left-- > 0)
		return;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	stepped_through = false;
	on_step();
}

static void step_into(void (*call)(void), long instruction, void (*action)(void))
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGTRAP, &sa, NULL);
	steps_left = instruction;
	stepped_through = true;
	on_step = action;
	__asm__ volatile("sub $128, %%rsp; pushfq; orq %0, (%%rsp); popfq; add $128, %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
	call();
	__asm__ volatile("sub $128, %%rsp; pushfq; andq %0, (%%rsp); popfq; add $128, %%rsp"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
}

static void call_mark(void)
{
	inferscope_mark("interrupted");
}

static void call_metadata(void)
{
	inferscope_mark_with("interrupted", inferscope_string("key", "a value"));
}

static void call_new_name(void)
{
	static unsigned number;
	char name[] = "interrupted-00000";
	unsigned n = number++;

	for (char *digit = name + sizeof name - 2; n; n /= 10)
		*digit-- = (char)('0' + n % 10);
	inferscope_mark(name);
}

static void (*const stepped_calls[])(void) = { call_mark, call_metadata, call_new_name };
#define STEPPED_CALLS (sizeof stepped_calls / sizeof stepped_calls[0])

static void emit_on_step(void)
{
	inferscope_scope_begin("handler");
	inferscope_scope_end();
	tally->events += 2;
}

/* A handler that emits, at each instruction of each call. */
static int step_emit(char **argv)
{
	(void)argv;
	for (size_t c = 0; c < STEPPED_CALLS; c++) {
		stepped_through = false;
		for (long i = 0; !stepped_through; i++) {
			step_into(stepped_calls[c], i, emit_on_step);
			tally->events++;
		}
	}
	return 0;
}

static volatile pid_t stepped_child;

static void fork_on_step(void)
{
	stepped_child = fork();
}

static int crashed(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) != pid || status != 0;
}

/* A handler that forks, at each instruction of each call; the child returns into the call, and emits some more.  Its
 * part of the interrupted call counts as much as its parent's: the tally has the parent's, and what children did after.
 */
static int step_fork(char **argv)
{
	long stride = (long)argument(argv, 1);
	int crashes = 0;

	for (size_t c = 0; c < STEPPED_CALLS; c++) {
		stepped_through = false;
		for (long i = 0; !stepped_through; i += stride) {
			stepped_child = -1;
			step_into(stepped_calls[c], i, fork_on_step);
			if (stepped_child == 0) {
				inferscope_mark("child");
				tally->events++;
				_exit(0);
			}
			tally->events++;
			if (stepped_child > 0 && crashed(stepped_child)) {
				fprintf(stderr, "crash: call %zu instruction %ld\n", c, i);
				crashes++;
			}
		}
	}
	return crashes != 0;
}

static sigjmp_buf step_back;

static void jump_on_step(void)
{
	siglongjmp(step_back, 1);
}

struct jump {
	void (*call)(void);
	long instruction;
	bool through;
};

static void *jump_in_thread(void *arg)
{
	struct jump *jump = arg;

	if (sigsetjmp(step_back, 1) == 0)
		step_into(jump->call, jump->instruction, jump_on_step);
	jump->through = stepped_through;
	inferscope_mark("after the jump");
	tally->events++;
	tally->threads++;
	return NULL;
}

/* A handler that jumps out, at each instruction of each call, in a thread of its own each time.  The tally has what is
 * emitted afterwards. */
static int step_jump(char **argv)
{
	(void)argv;
	for (size_t c = 0; c < STEPPED_CALLS; c++) {
		struct jump jump = { .call = stepped_calls[c] };

		for (jump.instruction = 0; !jump.through; jump.instruction += 7) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, jump_in_thread, &jump) != 0)
				return 1;
			pthread_join(thread, NULL);
		}
	}
	return 0;
}

#endif

const struct behaviour signal_behaviours[] = {
	{ "timer", timer, "N handlers that emit, every 50 us, in a program that does" },
	{ "jump", jump_out, "N handlers that jump out" },
#if defined(__x86_64__) && !defined(SANITIZED)
	{ "step-emit", step_emit, "a handler that emits, at every instruction" },
	{ "step-fork", step_fork, "a handler that forks, at every Nth instruction" },
	{ "step-jump", step_jump, "a handler that jumps out, at every seventh instruction" },
#endif
	{ 0 },
};
