// Collectives by NCCL, opened when first needed. Host code only.
#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collectives.h"
#include "graph.h"
#include "library.h"
#include "runtime.h"

// What is used of nccl.h, which not every toolkit brings: the library's interface has been the same since 2.10.
extern "C" {
typedef struct ncclComm* ncclComm_t;
struct ncclUniqueId {
  char internal[128];
};
enum ncclResult_t { ncclSuccess = 0, ncclInProgress = 7 };
enum ncclDataType_t {
  ncclInt8, ncclUint8, ncclInt32, ncclUint32, ncclInt64, ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16
};
enum ncclRedOp_t { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg };
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int, ncclUniqueId, int);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommCount(ncclComm_t, int*);
ncclResult_t ncclCommUserRank(ncclComm_t, int*);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
const char* ncclGetErrorString(ncclResult_t);
const char* ncclGetLastError(ncclComm_t);
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
}

namespace tablerec {

struct Nccl {
  void* library = open_library("TABLEREC_NCCL", "libnccl.so.2", "a collective", "nvidia-nccl-cu13");
  LIBRARY_FUNCTION(ncclGetUniqueId);
  LIBRARY_FUNCTION(ncclCommInitRank);
  LIBRARY_FUNCTION(ncclCommDestroy);
  LIBRARY_FUNCTION(ncclCommCount);
  LIBRARY_FUNCTION(ncclCommUserRank);
  LIBRARY_FUNCTION(ncclCommGetAsyncError);
  LIBRARY_FUNCTION(ncclGetErrorString);
  LIBRARY_FUNCTION(ncclGetLastError);
  LIBRARY_FUNCTION(ncclAllReduce);
  LIBRARY_FUNCTION(ncclBroadcast);
  LIBRARY_FUNCTION(ncclReduce);
  LIBRARY_FUNCTION(ncclAllGather);
  LIBRARY_FUNCTION(ncclReduceScatter);
  LIBRARY_FUNCTION(ncclSend);
  LIBRARY_FUNCTION(ncclRecv);
  LIBRARY_FUNCTION(ncclGroupStart);
  LIBRARY_FUNCTION(ncclGroupEnd);
};
static Nccl& nccl() {
  static Nccl* only = new Nccl;
  return *only;
}
static ncclComm_t nccl(C_CCLComm communicator) { return reinterpret_cast<ncclComm_t>(communicator); }
static cudaStream_t cuda(C_Stream stream) { return reinterpret_cast<cudaStream_t>(stream); }

static C_Status check_nccl(ncclResult_t result, const char* what, ncclComm_t communicator = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return C_SUCCESS;
  throw std::runtime_error(std::string(device_name()) + ": " + what + ": NCCL: " + nccl().ncclGetErrorString(result) + ". " +
                           nccl().ncclGetLastError(communicator) + " NCCL_DEBUG=INFO tells more");
}

// ---- the watch: NCCL waits for a rank that is gone without end, and the device with it

struct Watched {
  cudaEvent_t done;
  ncclComm_t communicator;
  const char* name;
  int device;
  std::chrono::steady_clock::time_point start;
};
struct Watch {
  std::mutex mutex;
  std::deque<Watched> under_way;
  double limit = [] {
    const char* wanted = getenv("TABLEREC_COLLECTIVE_SECONDS");
    return wanted && *wanted ? atof(wanted) : 600;
  }();

  Watch() { std::thread([this] { run(); }).detach(); }

  void add(const char* name, ncclComm_t communicator, C_Stream stream) {
    if (capturing()) return;
    Watched one{nullptr, communicator, name, 0, std::chrono::steady_clock::now()};
    cudaGetDevice(&one.device);
    if (cudaEventCreateWithFlags(&one.done, cudaEventDisableTiming) != cudaSuccess) return;
    cudaEventRecord(one.done, cuda(stream));
    std::lock_guard<std::mutex> lock(mutex);
    under_way.push_back(one);
  }
  void forget(ncclComm_t communicator) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto one = under_way.begin(); one != under_way.end();)
      one = one->communicator == communicator ? (cudaEventDestroy(one->done), under_way.erase(one)) : one + 1;
  }
  void run() {
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::lock_guard<std::mutex> lock(mutex);
      while (!under_way.empty() && !capturing()) {
        Watched& one = under_way.front();
        cudaSetDevice(one.device);
        if (cudaEventQuery(one.done) == cudaErrorNotReady) {
          check(one);
          break;
        }
        cudaEventDestroy(one.done);
        under_way.pop_front();
      }
    }
  }
  // What comes after would compute with what was not exchanged: the process ends.
  void check(const Watched& one) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - one.start).count();
    ncclResult_t error = ncclSuccess;
    nccl().ncclCommGetAsyncError(one.communicator, &error);
    bool failed = error != ncclSuccess && error != ncclInProgress;
    if (!failed && seconds <= limit) return;
    int rank = 0, ranks = 0;
    nccl().ncclCommUserRank(one.communicator, &rank);
    nccl().ncclCommCount(one.communicator, &ranks);
    fprintf(stderr,
            "%s, rank %d of %d: %s has not ended after %.0f s (NCCL: %s): another rank has ended or does not call the same. See "
            "the messages of the others, and start all ranks again; TABLEREC_COLLECTIVE_SECONDS sets the limit\n",
            device_name(), rank, ranks, one.name, seconds, nccl().ncclGetErrorString(error));
    _exit(1);
  }
};
static Watch& watch() {
  static Watch* only = new Watch;
  return *only;
}

// ---- connecting

static C_Status get_communicator_name(C_CCLComm, char* name) {
  strcpy(name, "nccl");
  return C_SUCCESS;
}
static C_Status get_unique_id_size(size_t* size) {
  *size = sizeof(ncclUniqueId);
  return C_SUCCESS;
}
static C_Status get_unique_id(C_CCLRootId* id) {
  return check_nccl(nccl().ncclGetUniqueId(static_cast<ncclUniqueId*>(id->data)), "ncclGetUniqueId");
}
static C_Status connect(size_t ranks, C_CCLRootId* id, size_t rank, C_CCLComm* made) {
  ncclUniqueId unique;
  memcpy(&unique, id->data, sizeof(unique));
  return check_nccl(nccl().ncclCommInitRank(reinterpret_cast<ncclComm_t*>(made), int(ranks), unique, int(rank)), "ncclCommInitRank");
}
static C_Status disconnect(C_CCLComm communicator) {
  watch().forget(nccl(communicator));
  return nccl().ncclCommDestroy(nccl(communicator)) == ncclSuccess ? C_SUCCESS : C_ERROR;
}

// ---- the collectives. What is only moved is moved as bytes, of any type.

struct Reduction {
  ncclDataType_t type;
  ncclRedOp_t how;
};
static Reduction reduction_of(const char* name, C_DataType type, C_CCLReduceOp how) {
  static const ncclRedOp_t ways[] = {ncclSum, ncclAvg, ncclMax, ncclMin, ncclProd};
  auto refuse = [&] {
    throw std::runtime_error(std::string(name) + ": a " + name_of(how) + " of " + name_of(type) + " over ranks is not supported on " +
                             device_name());
  };
  switch (type) {
    case INT8: return {ncclInt8, ways[how]};
    case UINT8: return {ncclUint8, ways[how]};
    case INT32: return {ncclInt32, ways[how]};
    case UINT32: return {ncclUint32, ways[how]};
    case INT64: return {ncclInt64, ways[how]};
    case UINT64: return {ncclUint64, ways[how]};
    case FLOAT16: return {ncclFloat16, ways[how]};
    case BFLOAT16: return {ncclBfloat16, ways[how]};
    case FLOAT32: return {ncclFloat32, ways[how]};
    case FLOAT64: return {ncclFloat64, ways[how]};
    case BOOL:  // a sum must stay 0 or 1
      if (how == AVG) refuse();
      return {ncclUint8, how == SUM || how == MAX ? ncclMax : ncclMin};
    default: refuse();
  }
  return {};
}

// The work of a group begins at its end, and so does the watch over it.
struct Group {
  struct Call {
    const char* name;
    ncclComm_t communicator;
    C_Stream stream;
  };
  int depth = 0;
  std::vector<Call> calls;
};
static Group& group() {
  static thread_local Group mine;
  return mine;
}

template <class F> static C_Status enqueue(const char* name, C_CCLComm communicator, C_Stream stream, F call) {
  KernelScope scope(name, stream);
  C_Status status = check_nccl(call(nccl(communicator), cuda(stream)), name, nccl(communicator));
  if (group().depth) group().calls.push_back({name, nccl(communicator), stream});
  else watch().add(name, nccl(communicator), stream);
  return status;
}

static C_Status all_reduce(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, C_CCLComm c, C_Stream stream) {
  auto by = reduction_of("all_reduce", type, how);
  return enqueue("all_reduce", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclAllReduce(from, to, count, by.type, by.how, comm, s); });
}
static C_Status broadcast(void* at, size_t count, C_DataType type, size_t root, C_CCLComm c, C_Stream stream) {
  return enqueue("broadcast", c, stream, [=](auto comm, auto s) {
    return nccl().ncclBroadcast(at, at, count * size_of(type), ncclInt8, int(root), comm, s);
  });
}
static C_Status reduce_to_root(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, size_t root, C_CCLComm c,
                               C_Stream stream) {
  auto by = reduction_of("reduce", type, how);
  return enqueue("reduce", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclReduce(from, to, count, by.type, by.how, int(root), comm, s); });
}
static C_Status all_gather(void* from, void* to, size_t count, C_DataType type, C_CCLComm c, C_Stream stream) {
  return enqueue("all_gather", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclAllGather(from, to, count * size_of(type), ncclInt8, comm, s); });
}
// `count`: of what each rank gets.
static C_Status reduce_scatter(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, C_CCLComm c, C_Stream stream) {
  auto by = reduction_of("reduce_scatter", type, how);
  return enqueue("reduce_scatter", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclReduceScatter(from, to, count, by.type, by.how, comm, s); });
}
static C_Status begin_group() {
  ++group().depth;
  return check_nccl(nccl().ncclGroupStart(), "ncclGroupStart");
}
static C_Status end_group() {
  C_Status status = check_nccl(nccl().ncclGroupEnd(), "ncclGroupEnd");
  if (--group().depth) return status;
  for (auto& call : group().calls) watch().add(call.name, call.communicator, call.stream);
  group().calls.clear();
  return status;
}
static C_Status send(void* from, size_t count, C_DataType type, size_t peer, C_CCLComm c, C_Stream stream) {
  return enqueue("send", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclSend(from, count * size_of(type), ncclInt8, int(peer), comm, s); });
}
static C_Status receive(void* to, size_t count, C_DataType type, size_t peer, C_CCLComm c, C_Stream stream) {
  return enqueue("receive", c, stream,
                 [=](auto comm, auto s) { return nccl().ncclRecv(to, count * size_of(type), ncclInt8, int(peer), comm, s); });
}
static C_Status all_to_all(const void** from, const size_t* give, const C_DataType* give_types, void** to, const size_t* take,
                           const C_DataType* take_types, size_t, size_t ranks, C_CCLComm c, C_Stream stream) {
  return enqueue("all_to_all", c, stream, [=](auto comm, auto s) {
    ncclResult_t result = nccl().ncclGroupStart();
    for (size_t other = 0; other < ranks && result == ncclSuccess; ++other) {
      result = nccl().ncclSend(from[other], give[other] * size_of(give_types[other]), ncclInt8, int(other), comm, s);
      if (result == ncclSuccess)
        result = nccl().ncclRecv(to[other], take[other] * size_of(take_types[other]), ncclInt8, int(other), comm, s);
    }
    ncclResult_t end = nccl().ncclGroupEnd();
    return result == ncclSuccess ? end : result;
  });
}

}  // namespace tablerec

extern "C" void tablerec_add_collectives(C_DeviceInterface* table) {
  using namespace tablerec;
  TABLEREC_FILL_COLLECTIVES(table);
}
