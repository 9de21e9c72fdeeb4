// add_scalar with loads and stores of 16 bytes.

extern "C" __global__ void __launch_bounds__(256)
    add_vector(float* __restrict__ z, const float* __restrict__ x, const float* __restrict__ y,
               int n) {
    const int first = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (first + 3 < n) {
        const float4 a = *reinterpret_cast<const float4*>(x + first);
        const float4 b = *reinterpret_cast<const float4*>(y + first);
        *reinterpret_cast<float4*>(z + first) =
            make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}
