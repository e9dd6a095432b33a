/*
 * kernel_traits.c - what the name and the launch of a kernel tell about how it uses the device.
 *
 * Names: those who write kernels for matrix units say so in the name, each in
 * their own way.  The tables below have the marks of CUTLASS, cuBLAS, cuDNN,
 * xmma and nvjet, FlashAttention, TensorRT-LLM, Tensile and Composable Kernel.  A name
 * without any, of a family that does not tell (Triton's, say), stays unknown.
 */
#include <math.h>
#include <string.h>

#include "analyze/parts.h"

#define NAME_LOOKED_AT 4096u

static const char *const without[] = { "simt", "ffma", "_sgemm", "sgemm_", "dgemm_kernel", "gemv", "scudnn", "gemmk1", "gemmsn",
				       "convolve_sgemm", "winograd_nonfused", "magma_", "dgrad_engine", "wgrad_alg",
				       "dgrad2d", NULL };
static const char *const with[] = { "tensorop", "gmma", "tmaumma", "tcgen05", "xmma", "nvjet", "_wmma", "wmma_", "mfma",
				    "xdlops", "_xdl", "flash_fwd", "flash_bwd", "tensor16x8x", "tensor8x8x", "tensor4x8x", "tensor64x",
				    "fmhasm90", "fmhasm10", "bmm_bfloat16_", "bmm_mxe", "bmm_e4m3_", "bmm_e2m1_", NULL };
/* What only counts at the start of a word. */
static const char *const with_words[] = { "hmma", "imma", "qmma", "dmma", "bmma", "umma", NULL };
static const char *const elsewhere[] = { "elementwise", "reduce_kernel", "softmax", "layer_norm", "layernorm", "rms_norm",
					 "rmsnorm", "batch_norm", "bn_fw", "bn_bw", "pooling", "max_pool", "index", "gather_kernel", "scatter",
					 "embedding", "catarray", "memset", "memcpy", "fill", "splitkreduce", "dropout", "copy_device",
					 "sort", "scan", "dot_kernel", "nchwtonhwc", "nhwctonchw", "transpose",
					 "multi_tensor_apply", "act_and_mul", NULL };
/* Pointwise and reducing kernels of TorchInductor; those from its templates do not tell. */
static const char *const inductor[] = { "triton_poi_", "triton_red_", "triton_per_", NULL };

static bool has_any(const char *name, size_t size, const char *const *marks)
{
	for (; *marks; marks++)
		if (memmem(name, size, *marks, strlen(*marks)))
			return true;
	return false;
}

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool has_word(const char *name, size_t size, const char *const *words)
{
	for (; *words; words++) {
		const char *at = memmem(name, size, *words, strlen(*words));

		if (at && (at == name || !is_letter(at[-1])))
			return true;
	}
	return false;
}

/* "h884gemm", "s16816gemm", "i16832cudnn": a letter for the type, then the shape of one instruction. */
static bool has_shape(const char *name, size_t size)
{
	static const char *const shapes[] = { "884", "8816", "1688", "16816", "16832", "161616", "16864" };

	for (size_t i = 0; i < size; i++) {
		size_t digits = 0;

		if (!strchr("hsidbcz", name[i]) || (i > 0 && (is_letter(name[i - 1]) || (name[i - 1] >= '0' && name[i - 1] <= '9'))))
			continue;
		while (i + 1 + digits < size && digits < 7 && name[i + 1 + digits] >= '0' && name[i + 1 + digits] <= '9')
			digits++;
		for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
			if (digits == strlen(shapes[k]) && memcmp(name + i + 1, shapes[k], digits) == 0)
				return true;
	}
	return false;
}

/* Tensile: Cijk_..._MT128x128x32_MI16x16x16x1_...: MI is the matrix instruction. */
static enum tensor_use tensile_use(const char *name, size_t size)
{
	const char *at = memmem(name, size, "_mi", 3);

	for (; at; at = memmem(at + 1, (size_t)(name + size - at - 1), "_mi", 3))
		if (at + 3 < name + size && at[3] >= '1' && at[3] <= '9')
			return TENSOR_USED;
	return TENSOR_UNUSED;
}

/* GEMMs and convolutions that no mark says more of. */
static bool multiplies(const char *name, size_t size)
{
	static const char *const families[] = { "gemm", "matmul", "convolve", "wgrad", "dgrad", "fprop", NULL };

	return has_any(name, size, families);
}

static enum tensor_use use_of(const char *name, size_t size)
{
	if (size >= 5 && memcmp(name, "cijk_", 5) == 0)
		return tensile_use(name, size);
	if (has_any(name, size, inductor))
		return TENSOR_NO_MATRICES;
	if (memmem(name, size, "triton_", 7)) /* named after the operators that it was made of */
		return TENSOR_UNKNOWN;
	if (has_any(name, size, without))
		return TENSOR_UNUSED;
	if (has_any(name, size, with) || has_word(name, size, with_words) || has_shape(name, size))
		return TENSOR_USED;
	if (has_any(name, size, elsewhere))
		return TENSOR_NO_MATRICES;
	return TENSOR_UNKNOWN;
}

enum tensor_use kernel_tensor_use(const char *name, size_t size)
{
	char lower[NAME_LOOKED_AT];
	enum tensor_use use;

	if (size > sizeof lower)
		size = sizeof lower;
	for (size_t i = 0; i < size; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	use = use_of(lower, size);
	if (use == TENSOR_NO_MATRICES && multiplies(lower, size) && !memmem(lower, size, "splitkreduce", 12))
		return TENSOR_UNKNOWN;
	return use;
}

/* ---- Occupancy ---- */

static double blocks_in(const struct timeline_detail *detail)
{
	return (double)detail->grid[0] * detail->grid[1] * detail->grid[2];
}

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* How many blocks a multiprocessor holds at most, whatever is in them. */
static uint32_t block_limit(const struct timeline_device *device)
{
	switch (device->compute_major * 10 + device->compute_minor) {
	case 75:
	case 86:
	case 87:
		return 16;
	case 89:
		return 24;
	default:
		return 32;
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Registers are given to warps, 256 at a time; shared memory to blocks, with 1 kB more for the system since 8.0. */
static uint32_t resident_blocks(const struct timeline_device *device, const struct timeline_detail *detail, uint32_t warps,
				uint32_t warp)
{
	uint32_t blocks = least(block_limit(device), device->max_threads_per_multiprocessor / warp / warps);
	uint32_t registers = round_up(detail->registers * warp, 256);
	uint64_t shared = (uint64_t)detail->shared_memory + (device->compute_major >= 8 ? 1024 : 0);

	if (registers && device->registers_per_multiprocessor)
		blocks = least(blocks, device->registers_per_multiprocessor / registers / warps);
	if (detail->shared_memory && device->shared_memory_per_multiprocessor)
		blocks = least(blocks, (uint32_t)(device->shared_memory_per_multiprocessor / shared));
	return blocks;
}

/* A kernel that was run fitted, so at least one block does, whatever the figures say. */
double kernel_occupancy(const struct timeline_device *device, const struct timeline_detail *detail)
{
	uint64_t threads = (uint64_t)detail->block[0] * detail->block[1];
	uint32_t warp = device->warp_size && device->warp_size <= 128 ? device->warp_size : 32;
	uint32_t warps, resident;
	double held, asked;

	if (threads == 0 || threads > 1 << 16 || detail->block[2] == 0 || detail->block[2] > 1 << 16)
		return NAN;
	threads *= detail->block[2];
	if (threads > 1 << 16 || blocks_in(detail) <= 0 || device->multiprocessors == 0 || device->max_threads_per_multiprocessor == 0)
		return NAN;
	warps = (uint32_t)(threads + warp - 1) / warp;
	resident = resident_blocks(device, detail, warps, warp);
	if (resident == 0)
		resident = 1;
	held = (double)resident * warps * warp / device->max_threads_per_multiprocessor;
	asked = blocks_in(detail) / ((double)device->multiprocessors * resident);
	return fmin(1, held) * fmin(1, asked);
}

double kernel_blocks_per_multiprocessor(const struct timeline_device *device, const struct timeline_detail *detail)
{
	double blocks = blocks_in(detail);

	return blocks > 0 && device->multiprocessors ? blocks / device->multiprocessors : NAN;
}
