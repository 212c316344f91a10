// Collectives of simulated devices in several processes of one host.
//
// Ranks share a file of memory without a name: the unique id says where the first rank has it open. In it there is a ring
// of bytes for each pair of ranks and direction, and every collective is a set of messages through these rings. A
// message begins with what its sender was asked for, so that ranks which do not call the same say so. Streams of this
// device run at once, and so do collectives: a call returns when its work is done.
//
// Each rank holds a lock on a byte of the file, which the kernel takes back when the process ends, however it ends.
#include "collectives.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "counters.h"
#include "paddle/phi/common/bfloat16.h"
#include "paddle/phi/common/float16.h"
#include "runtime.h"

namespace tablerec {

static constexpr int kMostRanks = 64;
static constexpr size_t kRingBytes = 1 << 22;  // what a rank can send before another receives; NCCL has as much

// TABLEREC_COLLECTIVE_SECONDS: how long a rank waits for another.
static double patience() {
  const char* wanted = getenv("TABLEREC_COLLECTIVE_SECONDS");
  return wanted && *wanted ? atof(wanted) : 600;
}

// ---- what the ranks share

struct Ring {
  std::atomic<uint64_t> written, read;  // bytes so far
  char bytes[kRingBytes];
};
struct Shared {
  uint64_t token;
  std::atomic<uint32_t> bell;  // rung whenever a ring changes
  std::atomic<int> pid[kMostRanks];
  std::atomic<int> failed;  // 1: somebody writes the problem, 2: it is there
  char problem[512];
  alignas(64) Ring rings[1];  // from rank a to rank b: [a * ranks + b]
};

// What rank and process the file belongs to, as the unique id tells it.
struct Address {
  int pid, file;
  uint64_t token;
};

// What was asked for; the head of every message.
struct Call {
  enum Kind : uint32_t { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kAllToAll, kSend };
  Kind kind;
  uint32_t type, how, root;
  uint64_t count, number;  // of elements; of the collective
  bool operator==(const Call& other) const { return !memcmp(this, &other, sizeof(Call)); }
};
static const char* name_of(Call::Kind kind) {
  static const char* names[] = {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "send"};
  return names[kind];
}
static std::string describe(const Call& call) {
  std::string text = std::string(name_of(call.kind)) + " of " + std::to_string(call.count) + " " + name_of(C_DataType(call.type));
  bool reduces = call.kind == Call::kAllReduce || call.kind == Call::kReduce || call.kind == Call::kReduceScatter;
  if (reduces) text += std::string(" (") + name_of(C_CCLReduceOp(call.how)) + ")";
  if (call.kind == Call::kBroadcast || call.kind == Call::kReduce) text += ", root " + std::to_string(call.root);
  return text;
}

// A message on its way, of which `done` bytes, head and body, have gone through the ring.
struct Message {
  bool goes_out;
  int peer;
  Call call;
  char* body;
  size_t bytes, done = 0;
  Call seen = {};
  bool finished() const { return done == sizeof(Call) + bytes; }
};

struct Communicator {
  int rank, ranks, file, given_file;  // the latter is the first rank's, in its process alone
  Shared* shared;
  size_t bytes;
  uint64_t collectives = 0;
  std::mutex mutex;

  Ring& ring(int from, int to) { return shared->rings[from * ranks + to]; }

  // All ranks hear of the first problem, and none goes on with this communicator.
  [[noreturn]] void fail(const std::string& problem) {
    std::string told = std::string(device_name()) + ", rank " + std::to_string(rank) + ": " + problem;
    int none = 0;
    if (shared->failed.compare_exchange_strong(none, 1)) {
      snprintf(shared->problem, sizeof(shared->problem), "%s", told.c_str());
      shared->failed = 2;
      ring_bell();
    }
    throw std::runtime_error(told);
  }
  void ring_bell() {
    ++shared->bell;
    syscall(SYS_futex, &shared->bell, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
  }
  // Sleeps until the bell is not what it was, for at most 50 ms.
  void wait_for_bell(uint32_t was) {
    timespec most = {0, 50 * 1000 * 1000};
    syscall(SYS_futex, &shared->bell, FUTEX_WAIT, was, &most, nullptr, 0);
  }

  // Whether a rank that was here has ended: the kernel has taken its lock back.
  bool has_ended(int other) const {
    int pid = shared->pid[other];
    if (!pid || pid == getpid()) return false;
    struct flock lock = {};
    lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = other, lock.l_len = 1;
    return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  }

  // Moves what the ring can take or give now; whether that was anything.
  bool advance(Message& m) {
    Ring& r = m.goes_out ? ring(rank, m.peer) : ring(m.peer, rank);
    bool moved = false;
    while (!m.finished()) {
      uint64_t written = r.written, read = r.read;
      bool in_head = m.done < sizeof(Call);
      char* part = in_head ? reinterpret_cast<char*>(m.goes_out ? &m.call : &m.seen) + m.done : m.body + (m.done - sizeof(Call));
      size_t left = in_head ? sizeof(Call) - m.done : sizeof(Call) + m.bytes - m.done;
      uint64_t at = (m.goes_out ? written : read) % kRingBytes;
      size_t room = m.goes_out ? kRingBytes - (written - read) : written - read;
      size_t step = std::min({left, room, size_t(kRingBytes - at)});
      if (!step) break;
      if (m.goes_out) memcpy(r.bytes + at, part, step), r.written = written + step;
      else memcpy(part, r.bytes + at, step), r.read = read + step;
      m.done += step;
      moved = true;
      if (!m.goes_out && m.done == sizeof(Call) && !(m.seen == m.call))
        fail("call " + std::to_string(m.seen.number) + " of rank " + std::to_string(m.peer) + " asked for " + describe(m.seen) + ", call " +
             std::to_string(m.call.number) + " of rank " + std::to_string(rank) + " for " + describe(m.call) +
             ": all ranks must call the same in the same order, with the same shapes and types");
    }
    return moved;
  }

  // Until all messages have gone. Those to a peer go in their order, and so do those from it.
  void exchange(std::vector<Message>& messages) {
    auto start = std::chrono::steady_clock::now();
    const double limit = patience();
    while (true) {
      if (shared->failed == 2) throw std::runtime_error(shared->problem);
      uint32_t bell = shared->bell;
      bool moved = false;
      const Message* waiting = nullptr;
      std::vector<char> taken(2 * ranks);
      for (auto& m : messages) {
        char& line = taken[2 * m.peer + m.goes_out];
        if (m.finished() || line) continue;
        moved |= advance(m);
        if (!m.finished()) line = 1, waiting = &m;
      }
      if (moved) ring_bell(), start = std::chrono::steady_clock::now();
      if (!waiting) return;
      if (moved) continue;
      wait_for_bell(bell);
      if (bell != shared->bell) continue;
      for (auto& m : messages)
        if (!m.finished() && has_ended(m.peer))
          fail("rank " + std::to_string(m.peer) + " of " + std::to_string(ranks) + " has ended during " + describe(m.call) +
               ": see its own messages, and start all ranks again");
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > limit)
        fail("waited " + std::to_string(int(seconds)) + " s for rank " + std::to_string(waiting->peer) + " in " +
             describe(waiting->call) + ": it lives but does not call the same; TABLEREC_COLLECTIVE_SECONDS sets the limit");
    }
  }
};

static Communicator& communicator(C_CCLComm given) { return *reinterpret_cast<Communicator*>(given); }

// ---- connecting

static C_Status get_communicator_name(C_CCLComm, char* name) {
  strcpy(name, "simulated");
  return C_SUCCESS;
}
static C_Status get_unique_id_size(size_t* size) {
  *size = sizeof(Address);
  return C_SUCCESS;
}
static C_Status get_unique_id(C_CCLRootId* id) {
  Address address = {getpid(), memfd_create("tablerec_collectives", MFD_CLOEXEC), 0};
  if (address.file < 0 || getentropy(&address.token, sizeof(address.token))) return C_ERROR;
  if (pwrite(address.file, &address.token, sizeof(address.token), 0) != sizeof(address.token)) return C_ERROR;
  memcpy(id->data, &address, sizeof(address));
  return C_SUCCESS;
}

static std::string missing_ranks(const Communicator& c) {
  std::string text;
  for (int other = 0; other < c.ranks; ++other)
    if (!c.shared->pid[other]) text += (text.empty() ? "" : ", ") + std::to_string(other);
  return text;
}

static C_Status connect(size_t ranks, C_CCLRootId* id, size_t rank, C_CCLComm* made) {
  auto refuse = [&](const std::string& problem) {
    throw std::runtime_error(std::string(device_name()) + ", rank " + std::to_string(rank) + ": " + problem);
  };
  if (ranks > kMostRanks) refuse(std::to_string(ranks) + " ranks; the simulated device connects at most " + std::to_string(kMostRanks));
  Address address;
  memcpy(&address, id->data, sizeof(address));
  std::string path = "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.file);
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  size_t bytes = offsetof(Shared, rings) + ranks * ranks * sizeof(Ring);
  if (file < 0 || ftruncate(file, bytes))
    refuse("cannot open the memory of the first rank (process " + std::to_string(address.pid) + ", " + strerror(errno) +
           "): the simulated device connects processes of one user on one host, and the first rank must still run");
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  auto* c = new Communicator{int(rank), int(ranks), file, address.pid == getpid() ? address.file : -1, static_cast<Shared*>(mapped), bytes};
  if (mapped == MAP_FAILED || c->shared->token != address.token) refuse("the memory of the first rank is not what its unique id says");
  struct flock lock = {};
  lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = rank, lock.l_len = 1;
  fcntl(file, F_SETLK, &lock);
  c->shared->pid[rank] = getpid();
  c->ring_bell();
  auto start = std::chrono::steady_clock::now();
  for (std::string missing; !(missing = missing_ranks(*c)).empty();) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > patience())
      refuse("of " + std::to_string(ranks) + " ranks these did not come: " + missing + "; TABLEREC_COLLECTIVE_SECONDS sets how long to wait");
    c->wait_for_bell(c->shared->bell);
  }
  *made = reinterpret_cast<C_CCLComm>(c);
  return C_SUCCESS;
}
static C_Status disconnect(C_CCLComm given) {
  Communicator* c = &communicator(given);
  munmap(c->shared, c->bytes);
  close(c->file);
  if (c->given_file >= 0) close(c->given_file);
  delete c;
  return C_SUCCESS;
}

// ---- combining what the ranks gave, in their order: all ranks get the same bits

template <class T> struct Wide { using type = T; };
template <> struct Wide<phi::dtype::float16> { using type = float; };
template <> struct Wide<phi::dtype::bfloat16> { using type = float; };

template <class T> void combine(const std::vector<const char*>& parts, size_t count, C_CCLReduceOp how, char* to) {
  using W = typename Wide<T>::type;
  auto* out = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) {
    W value = W(reinterpret_cast<const T*>(parts[0])[i]);
    for (size_t k = 1; k < parts.size(); ++k) {
      W next = W(reinterpret_cast<const T*>(parts[k])[i]);
      if (how == PRODUCT) value = W(value * next);
      else if (how == MAX) value = value != value || value > next ? value : next;
      else if (how == MIN) value = value != value || value < next ? value : next;
      else value = W(value + next);
    }
    if (how == AVG) value = W(value / W(parts.size()));
    out[i] = T(value);
  }
}
static void combine(Communicator& c, const std::vector<const char*>& parts, size_t count, C_DataType type, C_CCLReduceOp how, char* to) {
  switch (type) {
    case BOOL: return combine<bool>(parts, count, how, to);
    case UINT8: return combine<uint8_t>(parts, count, how, to);
    case INT8: return combine<int8_t>(parts, count, how, to);
    case INT16: return combine<int16_t>(parts, count, how, to);
    case INT32: return combine<int32_t>(parts, count, how, to);
    case INT64: return combine<int64_t>(parts, count, how, to);
    case FLOAT16: return combine<phi::dtype::float16>(parts, count, how, to);
    case BFLOAT16: return combine<phi::dtype::bfloat16>(parts, count, how, to);
    case FLOAT32: return combine<float>(parts, count, how, to);
    case FLOAT64: return combine<double>(parts, count, how, to);
    default: c.fail(std::string("a ") + name_of(how) + " of " + name_of(type) + " over ranks is not supported");
  }
}

// ---- the collectives

// A call of this rank, with its elements in the view that the host may touch.
struct Task {
  Communicator& c;
  Call call;
  size_t each;  // bytes of an element
  std::vector<Message> messages;

  Task(C_CCLComm given, Call::Kind kind, C_DataType type, size_t count, C_CCLReduceOp how = SUM, size_t root = 0)
      : c(communicator(given)), call{kind, uint32_t(type), uint32_t(how), uint32_t(root), count, ++c.collectives}, each(size_of(type)) {}
  template <class P> static char* seen(P* address) {
    return const_cast<char*>(reinterpret_cast<const char*>(address)) + (address ? kernel_view_offset() : 0);
  }
  void give(int peer, char* from, size_t count) { messages.push_back({true, peer, call, from, count * each}); }
  void take(int peer, char* to, size_t count) { messages.push_back({false, peer, call, to, count * each}); }
  void run() {
    c.exchange(messages);
    messages.clear();
  }
  void copy(const char* from, char* to, size_t count) const {
    if (from != to && count) memmove(to, from, count * each);
  }
};

// The sum of part `own` of what all have, where this rank's whole is `mine`; `first(rank)` and `size(rank)` in elements.
template <class First, class Size>
static void reduce_parts(Task& t, char* mine, int own, First first, Size size, char* to) {
  int ranks = t.c.ranks, rank = t.c.rank;
  size_t bytes = size(own) * t.each;
  std::vector<char> memory(bytes * ranks + 1);
  std::vector<const char*> parts(ranks);
  for (int other = 0; other < ranks; ++other) {
    parts[other] = other == rank ? mine + first(own) * t.each : memory.data() + other * bytes;
    if (other == rank) continue;
    t.give(other, mine + first(other) * t.each, size(other));
    t.take(other, memory.data() + other * bytes, size(own));
  }
  t.run();
  std::vector<char> result(bytes + 1);  // `to` may lie in `mine`
  combine(t.c, parts, size(own), C_DataType(t.call.type), C_CCLReduceOp(t.call.how), result.data());
  t.copy(result.data(), to, size(own));
}

static void do_all_reduce(Task t, char* from, char* to, size_t count) {
  auto first = [&](int rank) { return count * rank / t.c.ranks; };
  auto size = [&](int rank) { return first(rank + 1) - first(rank); };
  char* own = to + first(t.c.rank) * t.each;
  reduce_parts(t, from, t.c.rank, first, size, own);
  for (int other = 0; other < t.c.ranks; ++other) {
    if (other == t.c.rank) continue;
    t.give(other, own, size(t.c.rank));
    t.take(other, to + first(other) * t.each, size(other));
  }
  t.run();
}
static void do_broadcast(Task t, char* at, size_t count) {
  int root = int(t.call.root);
  if (t.c.rank == root) {
    for (int other = 0; other < t.c.ranks; ++other)
      if (other != root) t.give(other, at, count);
  } else {
    t.take(root, at, count);
  }
  t.run();
}
static void do_reduce(Task t, char* from, char* to, size_t count) {
  int root = int(t.call.root);
  if (t.c.rank != root) {
    t.give(root, from, count);
    return t.run();
  }
  std::vector<char> memory(count * t.each * t.c.ranks + 1);
  std::vector<const char*> parts(t.c.ranks);
  for (int other = 0; other < t.c.ranks; ++other) {
    parts[other] = other == root ? from : memory.data() + other * count * t.each;
    if (other != root) t.take(other, memory.data() + other * count * t.each, count);
  }
  t.run();
  combine(t.c, parts, count, C_DataType(t.call.type), C_CCLReduceOp(t.call.how), to);
}
static void do_all_gather(Task t, char* from, char* to, size_t count) {
  t.copy(from, to + t.c.rank * count * t.each, count);
  for (int other = 0; other < t.c.ranks; ++other) {
    if (other == t.c.rank) continue;
    t.give(other, from, count);
    t.take(other, to + other * count * t.each, count);
  }
  t.run();
}
static void do_reduce_scatter(Task t, char* from, char* to, size_t count) {
  reduce_parts(t, from, t.c.rank, [&](int rank) { return count * rank; }, [&](int) { return count; }, to);
}

// In a group, collectives wait for its end and go in their order; messages between two ranks then go together.
struct Group {
  int depth = 0;
  std::vector<std::function<void()>> collectives;
  std::vector<std::pair<Communicator*, std::vector<Message>>> messages;
};
static Group& group() {
  static thread_local Group mine;
  return mine;
}
static void in_order(Communicator& c, const char* name, C_Stream stream, std::function<void()> work) {
  auto run = [&c, name, stream, work] {
    std::lock_guard<std::mutex> lock(c.mutex);
    KernelScope scope(name, stream);
    work();
  };
  if (group().depth) group().collectives.push_back(run);
  else run();
}
static C_Status begin_group() {
  ++group().depth;
  return C_SUCCESS;
}
static C_Status end_group() {
  if (--group().depth) return C_SUCCESS;
  Group now;
  std::swap(now, group());
  for (auto& collective : now.collectives) collective();
  for (auto& of_one : now.messages) {
    std::lock_guard<std::mutex> lock(of_one.first->mutex);
    of_one.first->exchange(of_one.second);
  }
  return C_SUCCESS;
}

static C_Status all_reduce(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, C_CCLComm c, C_Stream stream) {
  in_order(communicator(c), "all_reduce", stream,
           [=] { do_all_reduce(Task(c, Call::kAllReduce, type, count, how), Task::seen(from), Task::seen(to), count); });
  return C_SUCCESS;
}
static C_Status broadcast(void* at, size_t count, C_DataType type, size_t root, C_CCLComm c, C_Stream stream) {
  in_order(communicator(c), "broadcast", stream,
           [=] { do_broadcast(Task(c, Call::kBroadcast, type, count, SUM, root), Task::seen(at), count); });
  return C_SUCCESS;
}
static C_Status reduce_to_root(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, size_t root, C_CCLComm c,
                               C_Stream stream) {
  in_order(communicator(c), "reduce", stream,
           [=] { do_reduce(Task(c, Call::kReduce, type, count, how, root), Task::seen(from), Task::seen(to), count); });
  return C_SUCCESS;
}
static C_Status all_gather(void* from, void* to, size_t count, C_DataType type, C_CCLComm c, C_Stream stream) {
  in_order(communicator(c), "all_gather", stream,
           [=] { do_all_gather(Task(c, Call::kAllGather, type, count), Task::seen(from), Task::seen(to), count); });
  return C_SUCCESS;
}
// `count`: of what each rank gets.
static C_Status reduce_scatter(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp how, C_CCLComm c, C_Stream stream) {
  in_order(communicator(c), "reduce_scatter", stream,
           [=] { do_reduce_scatter(Task(c, Call::kReduceScatter, type, count, how), Task::seen(from), Task::seen(to), count); });
  return C_SUCCESS;
}
// Each pair has a count of its own, and with it a type.
static C_Status all_to_all(const void** from, const size_t* give, const C_DataType* give_types, void** to, const size_t* take,
                           const C_DataType* take_types, size_t, size_t, C_CCLComm given, C_Stream stream) {
  Communicator& c = communicator(given);
  uint64_t number = ++c.collectives;
  std::vector<Message> messages;
  for (int other = 0; other < c.ranks; ++other) {
    Call out{Call::kAllToAll, uint32_t(give_types[other]), 0, 0, give[other], number};
    Call in{Call::kAllToAll, uint32_t(take_types[other]), 0, 0, take[other], number};
    messages.push_back({true, other, out, Task::seen(from[other]), give[other] * size_of(give_types[other])});
    messages.push_back({false, other, in, Task::seen(to[other]), take[other] * size_of(take_types[other])});
  }
  in_order(c, "all_to_all", stream, [&c, messages]() mutable { c.exchange(messages); });
  return C_SUCCESS;
}

static C_Status pass(bool goes_out, void* at, size_t count, C_DataType type, size_t peer, C_CCLComm given, C_Stream stream) {
  Communicator& c = communicator(given);
  KernelScope scope(goes_out ? "send" : "receive", stream);
  Message message{goes_out, int(peer), {Call::kSend, uint32_t(type), 0, 0, count, 0}, Task::seen(at), count * size_of(type)};
  if (!group().depth) {
    std::lock_guard<std::mutex> lock(c.mutex);
    std::vector<Message> one{message};
    c.exchange(one);
    return C_SUCCESS;
  }
  auto& all = group().messages;
  auto of_this = std::find_if(all.begin(), all.end(), [&](auto& known) { return known.first == &c; });
  if (of_this == all.end()) of_this = all.insert(all.end(), {&c, {}});
  of_this->second.push_back(message);
  return C_SUCCESS;
}
static C_Status send(void* from, size_t count, C_DataType type, size_t peer, C_CCLComm c, C_Stream stream) {
  return pass(true, from, count, type, peer, c, stream);
}
static C_Status receive(void* to, size_t count, C_DataType type, size_t peer, C_CCLComm c, C_Stream stream) {
  return pass(false, to, count, type, peer, c, stream);
}

}  // namespace tablerec

extern "C" void tablerec_add_collectives(C_DeviceInterface* table) {
  using namespace tablerec;
  TABLEREC_FILL_COLLECTIVES(table);
}
