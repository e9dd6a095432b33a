/* Compiled against real headers, never against ours: our offsets and sizes are theirs.  The struct of a kind has a number in its name that
   grows with the release, so run.py writes the checks, generated.h. */
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_callbacks.h>
#include <cupti_activity.h>
#include <stddef.h>
#include <stdio.h>

#include "cupti_layout.h"

static int wrong;

static void check(const char *record, const char *field, size_t ours, size_t theirs)
{
	if (ours != theirs) {
		printf("%s.%s is at %zu, not %zu\n", record, field, theirs, ours);
		wrong++;
	}
}

static void check_size(const char *record, int kind, size_t theirs)
{
	if (layout_size(RELEASE, kind) != theirs) {
		printf("%s is %zu bytes long, not %zu\n", record, theirs, layout_size(RELEASE, kind));
		wrong++;
	}
}

int main(void)
{
#include "generated.h"
	check("CUlaunchConfig", "hStream", 32, offsetof(CUlaunchConfig, hStream));
	check("CUlaunchAttribute", "value", 8, offsetof(CUlaunchAttribute, value));
	check("CUlaunchAttribute", "size", 72, sizeof(CUlaunchAttribute));
	check("attribute", "cluster", 4, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
	check("CUDA_KERNEL_NODE_PARAMS_v2", "kernelParams", 40, offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
	check("CUmemPoolProps", "size", 88, sizeof(CUmemPoolProps));
	check("CUpti_CallbackData", "correlationId", 64, offsetof(CUpti_CallbackData, correlationId));
#if RELEASE >= 1302
	check("CUpti_SubscriberParams", "allowMultipleSubscribers", 32, offsetof(CUpti_SubscriberParams, allowMultipleSubscribers));
	check("CUpti_SubscriberParams", "size", 40, sizeof(CUpti_SubscriberParams));
	check("attribute", "thread ids", 21, CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE);
	check("attribute", "clock", 22, CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK);
#endif
	return wrong != 0;
}
