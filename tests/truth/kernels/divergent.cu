// Branches on which the lanes of a warp disagree.

__device__ __forceinline__ float work(int kind, float v, int rounds) {
    if (kind == 0) {
        for (int r = 0; r < rounds; ++r) v = v * 1.0001f + 0.5f;
    } else if (kind == 1) {
        for (int r = 0; r < rounds; ++r) v = fabsf(v - 0.75f) * 0.99f;
    } else if (kind == 2) {
        for (int r = 0; r < rounds; ++r) v = fminf(v * v, 2.0f) + 0.125f;
    } else {
        for (int r = 0; r < rounds; ++r) v = fmaxf(v * 0.5f, 0.25f) - 0.0625f;
    }
    return v;
}

extern "C" __global__ void divergent_lanes(const float* __restrict__ in, float* __restrict__ out,
                                           int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = work(i % 4, in[i], rounds);
}

// The same work, sorted so that a warp agrees.
extern "C" __global__ void divergent_warps(const float* __restrict__ in, float* __restrict__ out,
                                           int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = work(i / 32 % 4, in[i], rounds);
}

// Iterations until escape: the trip count is a property of the point.
extern "C" __global__ void divergent_escape(int* __restrict__ out, int width, int height, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float cr = -2.0f + 3.0f * x / width, ci = -1.25f + 2.5f * y / height;
    float zr = 0.0f, zi = 0.0f;
    int count = 0;
    while (count < limit && zr * zr + zi * zi < 4.0f) {
        const float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        ++count;
    }
    out[y * width + x] = count;
}

// A data-dependent branch with two costly sides.
extern "C" __global__ void divergent_data(const float* __restrict__ in, float* __restrict__ out,
                                          int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    if (v > 0.5f) {
        for (int r = 0; r < rounds; ++r) v = __sinf(v) + 0.5f;
    } else {
        for (int r = 0; r < rounds; ++r) v = v * v + 0.25f;
    }
    out[i] = v;
}
