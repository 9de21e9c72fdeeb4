// Every load gives the address of the next: nothing but latency.

extern "C" __global__ void __launch_bounds__(32)
    pointer_chase(int* __restrict__ last, const int* __restrict__ next, int steps) {
    int at = threadIdx.x + blockIdx.x * 32;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
        at = next[at];
    }
    last[threadIdx.x + blockIdx.x * 32] = at;
}
