// A plain timing loop to check `kneck bench` against: load a cubin, launch one kernel, take the
// median of CUDA event times. It shares no code with kneck.
//
//   independent CUBIN KERNEL GX GY GZ BX BY BZ SMEM WARMUP REPETITIONS ARG...
//
// ARG: f16:COUNT f32:COUNT i8:COUNT i32:COUNT for arrays of random values, cycle:COUNT for one
// cycle of indices, i32=VALUE and f32=VALUE for scalars. Prints the median in milliseconds.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                   \
    do {                                                                              \
        int status = static_cast<int>(call);                                          \
        if (status) {                                                                 \
            std::fprintf(stderr, "%s: error %d (line %d)\n", #call, status, __LINE__); \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__device__ uint32_t noise(uint64_t i) {
    uint64_t x = i * 0x9e3779b97f4a7c15ull + 12345;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ull;
    return static_cast<uint32_t>(x >> 32);
}
__global__ void fill(char kind, void* out, uint64_t n) {
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n; i += uint64_t(gridDim.x) * blockDim.x) {
        float unit = noise(i) * 0x1p-31f - 1;
        if (kind == 'h') static_cast<half*>(out)[i] = __float2half(unit);
        if (kind == 'f') static_cast<float*>(out)[i] = unit;
        if (kind == 'b') static_cast<int8_t*>(out)[i] = static_cast<int8_t>(noise(i));
        if (kind == 'i') static_cast<uint32_t*>(out)[i] = noise(i) % n;
        if (kind == 'c') static_cast<uint32_t*>(out)[i] = (i * 1664525 + 1013904223) & (n - 1);
    }
}
__global__ void read_all(const float4* data, uint64_t n, float* out) {
    float sum = 0;
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < n; i += uint64_t(gridDim.x) * blockDim.x)
        sum += data[i].x + data[i].w;
    if (sum == 12345.0f) *out = sum;
}

int main(int argc, char** argv) {
    if (argc < 12) return 2;
    auto number = [&](int i) { return std::atoi(argv[i]); };
    CHECK(cudaFree(nullptr));
    cudaLibrary_t library;
    cudaKernel_t handle;
    CHECK(cudaLibraryLoadFromFile(&library, argv[1], nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&handle, library, argv[2]));
    const void* kernel = reinterpret_cast<const void*>(handle);
    dim3 grid(number(3), number(4), number(5)), block(number(6), number(7), number(8));
    int smem = number(9), warm_up = number(10), repetitions = number(11);
    if (smem > 0) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    std::vector<uint64_t> cells(argc);
    std::vector<void*> parameters;
    for (int i = 12; i < argc; ++i) {
        std::string text = argv[i];
        size_t colon = text.find(':'), equals = text.find('=');
        if (colon != std::string::npos) {
            std::string type = text.substr(0, colon);
            uint64_t count = std::strtoull(text.c_str() + colon + 1, nullptr, 10);
            char kind = type == "f16" ? 'h' : type == "f32" ? 'f' : type == "i8" ? 'b' : type == "cycle" ? 'c' : 'i';
            uint64_t size = kind == 'h' ? 2 : kind == 'b' ? 1 : 4;
            void* array;
            CHECK(cudaMalloc(&array, count * size));
            fill<<<1024, 256>>>(kind, array, count);
            cells[i] = reinterpret_cast<uint64_t>(array);
        } else if (text.substr(0, equals) == "f32") {
            *reinterpret_cast<float*>(&cells[i]) = std::strtof(text.c_str() + equals + 1, nullptr);
        } else {
            *reinterpret_cast<int32_t*>(&cells[i]) = std::atoi(text.c_str() + equals + 1);
        }
        parameters.push_back(&cells[i]);
    }
    uint64_t cache_bytes = 256 << 20;
    float4* cache;
    CHECK(cudaMalloc(&cache, cache_bytes));
    CHECK(cudaMemset(cache, 0, cache_bytes));
    CHECK(cudaDeviceSynchronize());
    std::vector<cudaEvent_t> starts(warm_up + repetitions), ends(warm_up + repetitions);
    for (size_t i = 0; i < starts.size(); ++i) {
        CHECK(cudaEventCreate(&starts[i]));
        CHECK(cudaEventCreate(&ends[i]));
    }
    for (size_t i = 0; i < starts.size(); ++i) {
        read_all<<<1056, 256>>>(cache, cache_bytes / 16, reinterpret_cast<float*>(cache));
        CHECK(cudaEventRecord(starts[i]));
        CHECK(cudaLaunchKernel(kernel, grid, block, parameters.data(), smem));
        CHECK(cudaEventRecord(ends[i]));
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<float> times;
    for (size_t i = warm_up; i < starts.size(); ++i) {
        float ms;
        CHECK(cudaEventElapsedTime(&ms, starts[i], ends[i]));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::printf("%.6f\n", times[times.size() / 2]);
}
