// Five-point stencil in the plane, seven-point stencil in space.

extern "C" __global__ void stencil_plane(const float* __restrict__ in, float* __restrict__ out, int w,
                                         int h) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const float* at = in + (size_t)y * w + x;
    out[(size_t)y * w + x] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-w] + at[w]);
}

extern "C" __global__ void stencil_space(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z + 1;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    const size_t plane = (size_t)n * n, i = z * plane + (size_t)y * n + x;
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - plane] +
                                    in[i + plane]);
}

// The same, each thread walks along z and keeps three planes in registers.
extern "C" __global__ void stencil_walk(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    const size_t plane = (size_t)n * n;
    const float* at = in + (size_t)y * n + x;
    float below = at[0], here = at[plane];
    for (int z = 1; z < n - 1; ++z) {
        at += plane;
        const float above = at[plane];
        out[z * plane + (size_t)y * n + x] =
            0.4f * here + 0.1f * (at[-1] + at[1] + at[-n] + at[n] + below + above);
        below = here;
        here = above;
    }
}
