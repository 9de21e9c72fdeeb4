// Every thread reads or writes one word; neighbours lie `stride` words apart.

extern "C" __global__ void strided_read(const float* __restrict__ in, float* __restrict__ out, int n,
                                        int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(size_t)i * stride];
}

extern "C" __global__ void strided_write(const float* __restrict__ in, float* __restrict__ out, int n,
                                         int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[(size_t)i * stride] = in[i];
}

// Array of structures of eight floats: three members are used.
extern "C" __global__ void strided_structure(const float* __restrict__ in, float* __restrict__ out,
                                             int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(size_t)i * 8] + in[(size_t)i * 8 + 2] * in[(size_t)i * 8 + 5];
}

// The same data as three planes.
extern "C" __global__ void strided_planes(const float* __restrict__ in, float* __restrict__ out,
                                          int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + in[i + (size_t)n] * in[i + (size_t)n * 2];
}
