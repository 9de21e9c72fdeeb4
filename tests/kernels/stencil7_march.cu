// Seven-point stencil on an nx x ny x nz grid: each thread marches along z and keeps the column in
// registers, so that a plane is read once from global memory per block.

extern "C" __global__ void __launch_bounds__(256)
    stencil7_march(float* __restrict__ y, const float* __restrict__ x, float centre, float side,
                   int nx, int ny, int nz) {
    const int i = blockIdx.x * 32 + threadIdx.x % 32;
    const int j = blockIdx.y * 8 + threadIdx.x / 32;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) {
        return;
    }
    const int plane = nx * ny;
    int at = plane + j * nx + i;
    float below = x[at - plane];
    float here = x[at];
#pragma unroll 1
    for (int k = 1; k < nz - 1; ++k) {
        const float above = x[at + plane];
        y[at] = centre * here +
                side * ((x[at - 1] + x[at + 1]) + (x[at - nx] + x[at + nx]) + (below + above));
        below = here;
        here = above;
        at += plane;
    }
}
