/*
 * torch.h - PyTorch's operators, in every thread.
 *
 * libtorch calls back at the begin and the end of each operator, each node of
 * the backward pass and each torch.profiler.record_function.  We hang into that
 * from C, with the mangled names of what we need, so that nothing of libtorch
 * is linked and a program without it pays nothing.
 *
 *      torch.c            finds libtorch, starts, stops, and checks before it trusts
 *      torch_ops.c        the callbacks
 *      torch_rest.c       for a part of the time, when asked for
 *      torch_sequence.c   which backward node belongs to which operator
 *      torch_shapes.c     sizes of the tensors that go in, when asked for
 */
#ifndef RUNTIME_TORCH_H
#define RUNTIME_TORCH_H

#include <stdint.h>

/*
 * Flags as in inside.h.  To be called with no other call of these two under way.
 *
 *       1  recording
 *       0  libtorch is not loaded (yet), or nobody records: try again, it is cheap
 *      -1  cannot be, and a note says why
 *      -2  not in this way, and a note says why: the caller may enter torch.autograd.profiler.emit_itt() instead, which
 *          only Python code can
 *
 * While it says 1, asking again is cheap too, and says -2 when libtorch turned out to be another one than we know.
 */
int inferscope_torch_start(uint32_t flags);

/* What is open stays so until its end comes. */
void inferscope_torch_stop(void);

#endif
