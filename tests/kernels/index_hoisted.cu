// index_in_loop with one loop per index and an address that is only advanced.

extern "C" __global__ void __launch_bounds__(256)
    index_hoisted(float* __restrict__ y, const float* __restrict__ x, int nx, int ny, int pitch,
                  int slice, int boxes, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int planes = boxes / (nx * ny);
    float sum = 0.0f;
#pragma unroll 1
    for (int plane = 0; plane < planes; ++plane) {
#pragma unroll 1
        for (int row = 0; row < ny; ++row) {
            const float* from = x + i + plane * slice + row * pitch;
#pragma unroll 4
            for (int column = 0; column < nx; ++column) {
                sum += from[column];
            }
        }
    }
    y[i] = sum;
}
