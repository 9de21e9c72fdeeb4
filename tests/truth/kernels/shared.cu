// Shared-memory bandwidth: one word per lane, with conflicts, and 16 bytes per lane.

template <int kStride>
__device__ __forceinline__ void read_words(float* out, int rounds) {
    __shared__ float line[4096];
    for (int j = threadIdx.x; j < 4096; j += 256) line[j] = j;
    __syncthreads();
    float sum = 0.0f;
    int at = threadIdx.x * kStride;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sum += line[(at + j * 32) & 4095];
        at += 256;
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

extern "C" __global__ void shared_words(float* __restrict__ out, int rounds) {
    read_words<1>(out, rounds);
}

extern "C" __global__ void shared_conflict(float* __restrict__ out, int rounds) {
    read_words<8>(out, rounds);
}

extern "C" __global__ void shared_vectors(float* __restrict__ out, int rounds) {
    __shared__ float4 line[1024];
    for (int j = threadIdx.x; j < 1024; j += 256) line[j] = make_float4(j, j, j, j);
    __syncthreads();
    float sum = 0.0f;
    int at = threadIdx.x;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float4 v = line[(at + j * 64) & 1023];
            sum += v.x + v.y + v.z + v.w;
        }
        at += 32;
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
