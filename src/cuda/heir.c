/*
 * heir.c - goes on where a program was killed.
 *
 * CUPTI gives buffers back now and then, and a program that is killed, or ends
 * without its last handlers, takes with it what it had not.  But that is in the
 * door's memory, which is a file (memory.c).  So the recorder makes a process, in
 * which it loads this library and calls inferscope_cuda_heir().
 *
 * What is missing then is what CUPTI had not written itself: times that were still
 * on the device, and names of kernels that the program had never used before.
 */
#include <unistd.h>

#include "cuda/cuda.h"

__attribute__((visibility("default"))) int inferscope_cuda_heir(const char *folder, uint32_t number, bool apart);

/* 0: all that there was is in the rings of the process with this number; `apart`: as events of another thread than the door's. */
int inferscope_cuda_heir(const char *folder, uint32_t number, bool apart)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!cuda_memory_inherit(folder, number) || !cuda_door_map())
		return -1;
	cuda_door->inherited = true;
	if (!cuda_door_sound() || !inferscope_inherit(folder, number, apart ? 0 : cuda_door->serial, cuda_door->tid) ||
	    !emit_enter(&inferscope_runtime, t))
		return -1;
	gpu_streams_inherit();
	cuda_buffers_inherit();
	emit_leave(t);
	ring_producer_exit(t->producer);
	cuda_memory_settle(true);
	return 0;
}
