// C[M,N] = A[M,K] * B[K,N], f32, 32 tiles per iteration of the loop: about 10,000 instructions.
//
//     nvcc --cubin -arch=sm_86 -O2 -o sgemm_unrolled.sm_86.cubin sgemm_unrolled.cu

#include "../../kernels/sgemm.cuh"

using Shape = SgemmShape<64, 64, 8, 8, 4>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads)
    sgemm_unrolled(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                   int M, int N, int K) {
    __shared__ __align__(16) float a_tile[Shape::kTileK][Shape::kPitchA];
    __shared__ __align__(16) float b_tile[Shape::kTileK][Shape::kTileN];
    a += static_cast<size_t>(blockIdx.y) * Shape::kTileM * K;
    b += blockIdx.x * Shape::kTileN;
    c += static_cast<size_t>(blockIdx.y) * Shape::kTileM * N + blockIdx.x * Shape::kTileN;
    SgemmThread<Shape> thread;
#pragma unroll 1
    for (int k = 0; k < K; k += 32 * Shape::kTileK) {
#pragma unroll
        for (int tile = 0; tile < 32; ++tile) {
            thread.load(a, b, N, K);
            __syncthreads();
            thread.store(a_tile, b_tile);
            __syncthreads();
            thread.multiply(a_tile, b_tile);
            a += Shape::kTileK;
            b += static_cast<size_t>(Shape::kTileK) * N;
        }
    }
    thread.write(c, N);
}
