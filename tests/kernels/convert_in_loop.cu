// Weights in s8, activations in f32: every weight is converted (I2F) where it is used.

extern "C" __global__ void __launch_bounds__(256)
    convert_in_loop(float* __restrict__ y, const signed char* __restrict__ w,
                    const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; k += 4) {
        const char4 q = *reinterpret_cast<const char4*>(w + (static_cast<size_t>(k) / 4 * n + i) * 4);
        sum += static_cast<float>(q.x) * x[k];
        sum += static_cast<float>(q.y) * x[k + 1];
        sum += static_cast<float>(q.z) * x[k + 2];
        sum += static_cast<float>(q.w) * x[k + 3];
    }
    y[i] = sum;
}
