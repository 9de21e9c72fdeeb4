// y[r] = A[r,:] . x, f32: blocks take rows in turn, and reduce each row's sum in shared memory.

extern "C" __global__ void __launch_bounds__(256)
    row_dots(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ x,
             int rows, int columns) {
    __shared__ float sums[256];
#pragma unroll 1
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0f;
#pragma unroll 1
        for (int c = threadIdx.x; c < columns; c += blockDim.x) {
            sum += a[static_cast<size_t>(row) * columns + c] * x[c];
        }
        sums[threadIdx.x] = sum;
        __syncthreads();
#pragma unroll
        for (int half = 128; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                sums[threadIdx.x] += sums[threadIdx.x + half];
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            y[row] = sums[0];
        }
        __syncthreads();
    }
}
