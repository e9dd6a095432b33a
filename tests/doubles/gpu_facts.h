/* The two GPUs that libcuda and libnvidia-ml agree on. */
#ifndef DOUBLES_GPU_FACTS_H
#define DOUBLES_GPU_FACTS_H

#define GPU_MAX 8
#define GPU_COUNT 2                             /* DOUBLE_DEVICES says otherwise */
#define GPU_NAME "Double GPU"
#define GPU_MEMORY (24ull << 30)
#define GPU_UUID_BYTES { (char)0xd0, 0x0b, 0x1e, 0x00, 0x11, 0x22, 0x43, 0x44, \
	(char)0x85, 0x66, 0x77, (char)0x88, (char)0x99, (char)0xaa, (char)0xbb, 0x00 }
#define GPU_UUID_FORMAT "GPU-d00b1e00-1122-4344-8566-778899aabb%02x"
#define GPU_PCI_FORMAT "00000000:%02X:00.0"     /* the bus is the index + 1 */
#define GPU_MAJOR 9
#define GPU_MINOR 0
#define GPU_MULTIPROCESSORS 132
#define GPU_DRIVER_VERSION 13040                /* DOUBLE_DRIVER_VERSION says otherwise */

#endif
