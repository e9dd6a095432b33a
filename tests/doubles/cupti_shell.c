/* All that differs between the files of two releases, besides what they export. */
#include "cupti_state.h"

const int double_cupti_release = DOUBLE_RELEASE;
