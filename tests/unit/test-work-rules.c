/* test-work-rules.c - which names of kernels are communication. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/states_build.h"

static bool is(const struct work_rules *rules, const char *name)
{
	return work_rules_communication(rules, name, strlen(name));
}

static void knows_communication(void **state)
{
	static const char *const names[] = {
		"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
		"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
		"void rcclKernel_Broadcast<4>(int)",
		"hcclAllReduce",
		"hcom_allGather_",
		"oneccl_allreduce_ring",
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*, RankSignals)",
		"void aiter::reduce_scatter_cross_device_store<float>()",
		"one_shot_all_reduce_kernel",
		"void two_shot_all_reduce_kernel<c10::BFloat16, 16>(unsigned int)",
		"void tensorrt_llm::kernels::oneShotAllReduceKernel<float>()",
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<2>()",
		"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
		"void c10d::symmetric_memory::barrier_kernel()",
		"dpsk::ep::internode::cached_notify<true>",
		"void dpsk::ep::internode::dispatch<false, 4, 8>(int4*, float*)",
		"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(__nv_bfloat16*, float*)",
		"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
		"mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>",
		"nvshmemi_transfer_rma_get",
		"mscclpp_allreduce_kernel",
		"void quickreduce::allreduce_prototype_twoshot<int>()",
		"all_to_all_single_kernel",
		"NCCLDEVKERNEL_ALLTOALL",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!is(NULL, names[i]))
			fail_msg("%s is communication", names[i]);
}

static void knows_what_only_sounds_so(void **state)
{
	static const char *const names[] = {
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >()",
		"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>()",
		"void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64> >(Flash_fwd_params)",
		"_combined_routing_compute",
		"void cublasLt::splitKreduce_kernel<32, 16, int, float>()",
		"void at::native::_scatter_gather_elementwise_kernel<128, 4>()",
		"void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, long*> >()",
		"paged_attention_ll4mi_reduce_kernel",
		"ampere_sgemm_128x64_tn",
		"void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)",
		"void gather_kernel()",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is(NULL, names[i]))
			fail_msg("%s is compute", names[i]);
}

static void takes_more_rules(void **state)
{
	struct work_rules *rules;
	char pattern[WORK_PATTERN_MAX + 2];

	(void)state;
	assert_int_equal(work_rules_new(&rules), 0);
	assert_false(is(rules, "my_exchange_v2"));
	assert_int_equal(work_rules_add(rules, "my_EXCHANGE*"), 0);
	assert_true(is(rules, "my_exchange_v2"));
	assert_false(is(rules, "not my_exchange_v2"));
	assert_true(is(rules, "ncclKernel"));
	assert_int_equal(work_rules_add(rules, "!nccl*"), 0);
	assert_false(is(rules, "ncclKernel"));
	assert_int_equal(work_rules_add(rules, "ncclKernel?"), 0);
	assert_true(is(rules, "ncclKernel2"));
	assert_false(is(rules, "ncclKernel"));

	assert_int_equal(work_rules_add(rules, ""), -EINVAL);
	assert_int_equal(work_rules_add(rules, "!"), -EINVAL);
	memset(pattern, 'x', sizeof pattern);
	pattern[WORK_PATTERN_MAX + 1] = '\0';
	assert_int_equal(work_rules_add(rules, pattern), -E2BIG);
	pattern[WORK_PATTERN_MAX] = '\0';
	assert_int_equal(work_rules_add(rules, pattern), 0);
	for (int i = 4; i < WORK_RULES_MAX; i++)
		assert_int_equal(work_rules_add(rules, "?"), 0);
	assert_int_equal(work_rules_add(rules, "?"), -E2BIG);
	work_rules_free(rules);
	work_rules_free(NULL);
}

static bool matches(const char *pattern, const char *text)
{
	char folded[PATTERN_TEXT_MAX];

	return pattern_matches(pattern, strlen(pattern), folded, pattern_fold(folded, text, strlen(text)));
}

/* The plain definition. */
static bool by_definition(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (*pattern == '*')
		return by_definition(pattern + 1, text) || (*text && by_definition(pattern, text + 1));
	return *text && (*pattern == '?' || *pattern == *text) && by_definition(pattern + 1, text + 1);
}

/* All patterns of up to five signs against all texts of up to five letters. */
static void matches_as_defined(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5u * 5 * 5 * 5 * 5; i++)
		for (unsigned k = 0; k < 3u * 3 * 3 * 3 * 3; k++) {
			char pattern[6] = "", text[6] = "";
			unsigned x = i, y = k;

			for (size_t n = 0; n < 5 && x % 5; n++, x /= 5)
				pattern[n] = " ab*?"[x % 5];
			for (size_t n = 0; n < 5 && y % 3; n++, y /= 3)
				text[n] = " ab"[y % 3];
			if (matches(pattern, text) != by_definition(pattern, text))
				fail_msg("'%s' against '%s'", pattern, text);
		}
}

static void matches_patterns(void **state)
{
	(void)state;
	assert_true(matches("*", ""));
	assert_true(matches("", ""));
	assert_false(matches("", "a"));
	assert_false(matches("?", ""));
	assert_true(matches("a*b*c", "aXbYbZc"));
	assert_false(matches("a*b*c", "aXbYbZ"));
	assert_true(matches("*ab", "aab"));
	assert_true(matches("a?c", "aBC"));
	assert_false(matches("a*?", "a"));
	assert_true(matches("a*?", "ab"));
	assert_true(matches("*a?c*", "abbabcx"));
	assert_false(matches("*ab*abc", "ababab"));
	assert_true(matches("*ab?*cd", "ababcdxcd"));
	assert_true(matches("**a**", "a"));
	assert_false(matches("a", "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_communication),
		cmocka_unit_test(knows_what_only_sounds_so),
		cmocka_unit_test(takes_more_rules),
		cmocka_unit_test(matches_patterns),
		cmocka_unit_test(matches_as_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
