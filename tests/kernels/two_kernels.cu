// Two entry points in one file: a plain C name and an instantiated template with a mangled name.

namespace blas {

template <typename T, int kPerThread>
__global__ void scale(T* x, T a, int n) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
        if (first + j < n) {
            x[first + j] *= a;
        }
    }
}

template __global__ void scale<float, 4>(float*, float, int);

}  // namespace blas

extern "C" __global__ void dot_partial(float* __restrict__ partial, const float* __restrict__ x,
                                       const float* __restrict__ y, int n) {
    __shared__ float sums[8];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i] * y[i];
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
#pragma unroll
        for (int warp = 0; warp < 8; ++warp) {
            total += sums[warp];
        }
        partial[blockIdx.x] = total;
    }
}
