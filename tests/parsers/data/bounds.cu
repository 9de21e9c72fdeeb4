// Launch bounds, clusters, named barriers, large and odd parameters.
struct Big { float values[5000]; };
struct Odd { char bytes[3]; };

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256)
clustered(Big big, Odd odd, float* out) { out[threadIdx.x] = big.values[threadIdx.x] + odd.bytes[1]; }

extern "C" __global__ void named_barrier() {
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x] = 1;
    asm volatile("bar.sync 5, 64;");
}

extern "C" __global__ void __block_size__((16, 8, 1)) required(float* out) {
    __shared__ char tile[100];
    tile[threadIdx.x] = out[0];
    __syncthreads();
    out[threadIdx.x] = tile[3];
}
