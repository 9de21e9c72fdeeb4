// Eight independent polynomials in packed f16: HFMA2.

#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256)
    hfma2_polynomial(__half2* __restrict__ y, const __half2* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const __half2 a = x[i];
    __half2 sum[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        sum[j] = __hadd2(a, __half2half2(__int2half_rn(j)));
    }
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int j = 0; j < 32; ++j) {
            sum[j % 8] = __hfma2(sum[j % 8], a, sum[(j + 3) % 8]);
        }
    }
    y[i] = __hadd2(__hadd2(__hadd2(sum[0], sum[1]), __hadd2(sum[2], sum[3])),
                   __hadd2(__hadd2(sum[4], sum[5]), __hadd2(sum[6], sum[7])));
}
