// Asks NVIDIA's occupancy header, so that kneck's own arithmetic can be compared with it.
//
// Reads lines "major minor registers threads static dynamic carveout barriers virtual" and prints
// "blocks registers smem warps blocks_limit barriers virtual" for each; 2147483647 means no limit.
// The device properties are those that a driver reports, kept here apart from kneck's own files.

#include <cstdio>
#include <cstdlib>

#include <cuda_occupancy.h>

struct Chip {
    int major, minor, threads_per_sm;
    size_t smem_per_sm, smem_optin, smem_reserved;
};

static const Chip chips[] = {
    {7, 0, 2048, 98304, 98304, 0},       {7, 5, 1024, 65536, 65536, 0},
    {8, 0, 2048, 167936, 166912, 1024},  {8, 6, 1536, 102400, 101376, 1024},
    {8, 7, 1536, 167936, 166912, 1024},  {8, 9, 1536, 102400, 101376, 1024},
    {9, 0, 2048, 233472, 232448, 1024},  {10, 0, 2048, 233472, 232448, 1024},
    {10, 3, 2048, 233472, 232448, 1024}, {12, 0, 1536, 102400, 101376, 1024},
    {12, 1, 1536, 102400, 101376, 1024},
};

static const Chip *find(int major, int minor) {
    for (const Chip &chip : chips)
        if (chip.major == major && chip.minor == minor) return &chip;
    return nullptr;
}

int main() {
    int major, minor, registers, threads, carveout, barriers, virtual_resources;
    unsigned long static_smem, dynamic_smem;
    while (scanf("%d %d %d %d %lu %lu %d %d %d", &major, &minor, &registers, &threads, &static_smem,
                 &dynamic_smem, &carveout, &barriers, &virtual_resources) == 9) {
        const Chip *chip = find(major, minor);
        if (!chip) return 1;
        cudaOccDeviceProp device;
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = chip->threads_per_sm;
        device.regsPerBlock = 65536;
        device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 49152;
        device.sharedMemPerMultiprocessor = chip->smem_per_sm;
        device.numSms = 1;
        device.sharedMemPerBlockOptin = chip->smem_optin;
        device.reservedSharedMemPerBlock = chip->smem_reserved;

        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = static_smem;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = dynamic_smem;
        kernel.numBlockBarriers = barriers;
        kernel.virtualResourceCount = virtual_resources;

        cudaOccDeviceState state;
        state.carveoutConfig = carveout;

        cudaOccResult result;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads,
                                                    dynamic_smem) != CUDA_OCC_SUCCESS)
            return 2;
        printf("%d %d %d %d %d %d %d\n", result.activeBlocksPerMultiprocessor,
               result.blockLimitRegs, result.blockLimitSharedMem, result.blockLimitWarps,
               result.blockLimitBlocks, result.blockLimitBarriers, result.blockLimitVirtual);
    }
    return 0;
}
