// sgemm, one output per thread, both operands read from global memory for every product.

extern "C" __global__ void __launch_bounds__(256)
    sgemm_naive(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                int M, int N, int K) {
    const int column = blockIdx.x * 16 + threadIdx.x % 16;
    const int row = blockIdx.y * 16 + threadIdx.x / 16;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < K; ++k) {
        sum += a[static_cast<size_t>(row) * K + k] * b[static_cast<size_t>(k) * N + column];
    }
    c[static_cast<size_t>(row) * N + column] = sum;
}
