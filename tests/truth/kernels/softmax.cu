// Softmax and layer normalization of the rows of a matrix, one block of 256 threads per row.

__device__ __forceinline__ float block_reduce(float v, bool maximum, float* shared) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        const float other = __shfl_xor_sync(~0u, v, d);
        v = maximum ? fmaxf(v, other) : v + other;
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
    __syncthreads();
    v = shared[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) v = maximum ? fmaxf(v, shared[i]) : v + shared[i];
    __syncthreads();
    return v;
}

// Three passes over the row in global memory.
extern "C" __global__ void softmax_passes(const float* __restrict__ in, float* __restrict__ out,
                                          int columns) {
    __shared__ float shared[8];
    const float* row = in + (size_t)blockIdx.x * columns;
    float top = -1e30f, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, row[i]);
    top = block_reduce(top, true, shared);
    for (int i = threadIdx.x; i < columns; i += 256) sum += __expf(row[i] - top);
    sum = 1.0f / block_reduce(sum, false, shared);
    for (int i = threadIdx.x; i < columns; i += 256)
        out[(size_t)blockIdx.x * columns + i] = __expf(row[i] - top) * sum;
}

// The row (4096 columns) stays in registers.
extern "C" __global__ void softmax_registers(const float4* __restrict__ in, float4* __restrict__ out,
                                             int columns) {
    __shared__ float shared[8];
    const size_t row = (size_t)blockIdx.x * (columns / 4);
    float4 v[4];
    float top = -1e30f, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i] = in[row + threadIdx.x + i * 256];
        top = fmaxf(fmaxf(fmaxf(top, v[i].x), v[i].y), fmaxf(v[i].z, v[i].w));
    }
    top = block_reduce(top, true, shared);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i].x = __expf(v[i].x - top);
        v[i].y = __expf(v[i].y - top);
        v[i].z = __expf(v[i].z - top);
        v[i].w = __expf(v[i].w - top);
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    sum = 1.0f / block_reduce(sum, false, shared);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i].x *= sum;
        v[i].y *= sum;
        v[i].z *= sum;
        v[i].w *= sum;
        out[row + threadIdx.x + i * 256] = v[i];
    }
}

extern "C" __global__ void softmax_layernorm(const float* __restrict__ in, float* __restrict__ out,
                                             int columns) {
    __shared__ float shared[8];
    const float* row = in + (size_t)blockIdx.x * columns;
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 256) sum += row[i];
    const float mean = block_reduce(sum, false, shared) / columns;
    for (int i = threadIdx.x; i < columns; i += 256) square += (row[i] - mean) * (row[i] - mean);
    const float scale = rsqrtf(block_reduce(square, false, shared) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += 256)
        out[(size_t)blockIdx.x * columns + i] = (row[i] - mean) * scale;
}
