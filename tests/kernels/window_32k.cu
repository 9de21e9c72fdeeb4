// A window of 8,192 floats (32,768 B) for 64 threads: shared memory leaves few warps, each of them in
// a chain of dependent shared loads.

#include "window.cuh"

extern "C" __global__ void __launch_bounds__(64)
    window_32k(float* __restrict__ y, const float* __restrict__ x, int steps) {
    __shared__ float tile[8192];
    window_sum<8192, 64>(y, x, steps, tile);
}
