// Five-point stencil on an nx x ny grid, one point per thread; the neighbours come from L1.

extern "C" __global__ void __launch_bounds__(256)
    stencil5(float* __restrict__ y, const float* __restrict__ x, float centre, float side, int nx,
             int ny) {
    const int i = blockIdx.x * 64 + threadIdx.x % 64;
    const int j = blockIdx.y * 4 + threadIdx.x / 64;
    if (i < 1 || i >= nx - 1 || j < 1 || j >= ny - 1) {
        return;
    }
    const int at = j * nx + i;
    y[at] = centre * x[at] + side * ((x[at - 1] + x[at + 1]) + (x[at - nx] + x[at + nx]));
}
