// A gather over a strided box whose three indices are found by division in every iteration: mostly
// integer instructions.

extern "C" __global__ void __launch_bounds__(256)
    index_in_loop(float* __restrict__ y, const float* __restrict__ x, int nx, int ny, int pitch,
                  int slice, int boxes, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < boxes; ++k) {
        const int column = k % nx, row = k / nx % ny, plane = k / nx / ny;
        sum += x[i + column + row * pitch + plane * slice];
    }
    y[i] = sum;
}
